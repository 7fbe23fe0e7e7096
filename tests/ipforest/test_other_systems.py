"""What differs between systems: the default encoding, line breaks, open files, modules that one of them lacks."""

import ast
import errno
import importlib.util
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ipforest._internal import claims
from ipforest._internal.files import write_text
from ipforest.cli import main
from ipforest.cli.exit_codes import BAD_INPUT
from ipforest.experiments import benchmark_rows

ROOT = Path(__file__).parent.parent.parent
BYTES_ALWAYS = ("archive", "gzip", "os", "tarfile")
"""What opens bytes, whatever the mode."""


def calls_without_encoding(text: str) -> Iterator[str]:
    """Each call that reads or writes text in the encoding of the system."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
            owner, _, name = ast.unparse(node.func).rpartition(".")
            named = {each.arg for each in node.keywords}
            opens = name == "open" and owner not in BYTES_ALWAYS and not any("b" in mode for mode in texts(node))
            is_of_path = bool(owner) and name in ("read_text", "write_text")
            if (opens or is_of_path or "text" in named) and "encoding" not in named:
                yield ast.unparse(node)


def texts(call: ast.Call) -> list[str]:
    values = [*call.args, *(each.value for each in call.keywords)]
    return [str(value.value) for value in values if isinstance(value, ast.Constant)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("path.read_text()", ["path.read_text()"]),
        ("open(path)", ["open(path)"]),
        ("Path(name).open('w')", ["Path(name).open('w')"]),
        ("subprocess.run(command, text=True)", ["subprocess.run(command, text=True)"]),
        ("path.open('rb'); path.read_text(encoding='utf-8'); gzip.open(path); open(path, 'r', encoding='ascii')", []),
    ],
)
def test_calls_without_encoding_are_found(text: str, found: list[str]) -> None:
    assert list(calls_without_encoding(text)) == found


def test_no_file_is_read_in_the_encoding_of_the_system() -> None:
    """It is cp1252 or another one on Windows, and ASCII where LC_ALL is C."""
    files = [path for package in ("ipforest", "formulations", "proofs") for path in (ROOT / package).rglob("*.py")]
    assert {path.name: found for path in files if (found := [*calls_without_encoding(path.read_text("utf-8"))])} == {}


def test_a_file_has_the_line_breaks_of_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where a file that is written as text gets others, and its checksum is another one."""
    opened = io.open

    def as_on_windows(
        file: Any, mode: str, buffering: int, encoding: str | None, errors: str | None, newline: str | None
    ) -> Any:
        return opened(file, mode, buffering, encoding, errors, "\r\n" if mode == "w" and newline is None else newline)

    monkeypatch.setattr(io, "open", as_on_windows)
    assert write_text(tmp_path / "a.json", "a\nλ\r\n").read_bytes() == "a\nλ\r\n".encode()


@pytest.mark.parametrize(
    ("encoding", "errors"), [("cp1252", "strict"), ("ascii", "strict"), ("ascii", "surrogateescape")]
)
def test_what_the_output_cannot_hold_is_printed_in_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, errors: str
) -> None:
    """The last is what Python opens where the locale is C and its UTF-8 mode is off."""
    program = tmp_path / "λ é.lp"
    program.write_text("Minimize\n obj: x\nSubject To\n c: x >= 1\nEnd\n", encoding="utf-8")
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=errors)
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["integral", str(program)]) == 0
    assert output.errors == errors
    printed = output.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]  # typed as any text
    assert r"\u03bb " + ("é" if encoding == "cp1252" else r"\xe9") + ".lp:" in printed


def test_commands_run_without_an_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pythonw and some services start Python."""
    (tmp_path / "a.csv").write_text("a,y\n" + "1,x\n2,z\n" * 20, encoding="utf-8")
    (tmp_path / "p.csv").write_text("feature,cost\na,1\n", encoding="utf-8")
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    files = ["--csv", str(tmp_path / "a.csv"), "--prices", str(tmp_path / "p.csv"), "--out", str(tmp_path / "model")]
    assert main(["fit", *files, "--target", "y", "--budget", "1", "--trees", "2"]) == 0
    assert (sys.stdout, sys.stderr) == (None, None)
    assert (tmp_path / "model" / "report.json").is_file()


class _Full(io.StringIO):
    """A log on a disk that is full, or a pipe whose reader has ended."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_command_does_its_work_where_its_log_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a,y\n" + "1,x\n2,z\n" * 20, encoding="utf-8")
    files = ["--csv", str(tmp_path / "a.csv"), "--out", str(tmp_path / "model")]
    log = _Full()
    monkeypatch.setattr(sys, "stderr", log)
    assert main(["fit", *files, "--target", "y", "--budget", "1", "--trees", "2"]) == 0
    assert (tmp_path / "model" / "report.json").is_file()
    assert main(["fit", *files, "--target", "nothing"]) == BAD_INPUT
    assert sys.stderr is log


def test_without_the_module_resource_peak_memory_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, which has no /proc either."""
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(Path, "exists", lambda path: False)
    peak = benchmark_rows._peak_mib()
    assert peak is None
    assert benchmark_rows.row_of("path", {}, {"seconds": 1.0, "peak_mib": peak})["peak_mib"] == ""


def test_a_lock_that_another_process_opens_when_it_is_let_go_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows removes no open file; whoever opened it finds it unlocked."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=lambda *_: None, LK_NBLCK=2))
    spec = importlib.util.spec_from_file_location("claims_on_windows", claims.__file__)
    assert spec is not None
    assert spec.loader is not None
    on_windows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(on_windows)

    def refused(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "used by another process", str(path))

    monkeypatch.setattr(Path, "unlink", refused)
    with on_windows.Claims() as first:
        assert first.take(tmp_path / "a.json")
    with on_windows.Claims() as second:
        assert second.take(tmp_path / "a.json")


@pytest.mark.slow
def test_checks_that_assert_are_refused_where_python_leaves_assertions_out() -> None:
    program = """from ipforest.testing import check_formulation, check_solver
for checks in (check_solver("min-cut"), check_formulation("ip3")):
    try:
        next(checks)
    except RuntimeError as problem:
        print(problem)
"""
    done = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.count("expected a Python that keeps assert statements") == 2
