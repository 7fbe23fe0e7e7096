"""The plugin of pytest: checks as tests, from the command line alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from ipforest.testing.subjects import find_formulation, find_solver

MINE = """
from ipforest import solve


def gives_nothing(instance, lam):
    return None


def as_min_cut(instance, lam):
    return solve(instance, lam)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.mark.parametrize("text", ["def half(:", "raise OSError('gone')", "import nothing_of_that_name"])
def test_files_that_do_not_run_are_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"odd\.py: expected a file that runs, got (Syntax|OS|ModuleNotFound)Error: "):
        find_formulation(f"{path}:half")


def test_subjects_are_found_by_name_or_in_a_file(file: Path) -> None:
    assert find_formulation("ip3").name == "ip3"
    assert find_solver("min-cut") == "min-cut"
    assert find_solver(f"{file}:gives_nothing").__name__ == "gives_nothing"
    with pytest.raises(ValueError, match=r"mine\.py: expected .* define 'other', got nothing of that name"):
        find_solver(f"{file}:other")
    with pytest.raises(FileNotFoundError):
        find_solver("none.py:other")


@pytest.mark.slow
def test_each_check_is_a_test(file: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "ipforest.testing.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    options = ["--check-solver", f"{file}:gives_nothing", "--check-solver", f"{file}:as_min_cut"]
    done = subprocess.run([*command, *options], cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    failed = {line for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert any("gives_nothing-" in line for line in failed)
    assert not any("as_min_cut-" in line for line in failed)
    wrong = [*command, "--check-formulation", f"{file}:other"]
    refused = subprocess.run(wrong, cwd=file.parent, capture_output=True, text=True, check=False)
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--check-formulation: " in refused.stderr
