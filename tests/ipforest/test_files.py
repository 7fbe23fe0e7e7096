"""Files are written whole or not at all."""

import errno
import os
import subprocess
import sys
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ipforest._internal.arrays import load_array, load_arrays, save_arrays
from ipforest._internal.files import write_file, write_text
from proofs.certificates.archive import instance_parts, read_archive, write_archive
from tests.proofs.certificates.handmade import STANDARD


def test_a_file_is_there_when_it_is_whole(tmp_path) -> None:
    assert write_text(tmp_path / "a.txt", "new") == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_text() == "new"
    save_arrays(tmp_path / "a.npz", {"x": np.arange(3)})
    assert load_arrays(tmp_path / "a.npz", "file")["x"].tolist() == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "a.txt"]


@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, problem) -> None:
    (tmp_path / "a.txt").write_text("old")

    def fail(temporary):
        temporary.write_text("half")
        raise problem

    with pytest.raises(type(problem)) as caught:
        write_file(tmp_path / "a.txt", fail)
    if isinstance(problem, OSError):
        assert str(caught.value).startswith(f"{tmp_path / 'a.txt'}: expected to write it whole, got: No space left")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_names_the_file() -> None:
    with pytest.raises(OSError, match=r"absent/a\.txt: expected to write it whole"):
        write_text("/absent/a.txt", "x")


def test_a_read_only_disk_names_the_file(monkeypatch) -> None:
    """Where it refuses to remove what was never written, too."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(OSError, match=r"^disk/a\.txt: expected to write it whole, got: Read-only file system; nothing"):
        write_text("disk/a.txt", "x")


WRITERS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from ipforest._internal.files import write_text
number, file = sys.argv[1:]
with ThreadPoolExecutor(6) as pool:
    list(pool.map(lambda i: write_text(file, f"{number}-{i % 10} " * 20_000), range(30)))
"""


@pytest.mark.slow
def test_threads_and_processes_that_write_one_file_do_not_meet(tmp_path) -> None:
    file = tmp_path / "a.txt"
    processes = [subprocess.Popen([sys.executable, "-c", WRITERS, str(n), str(file)]) for n in range(3)]
    while any(process.poll() is None for process in processes):
        if file.exists():
            text = file.read_text()
            assert text == text[:4] * 20_000
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_threads_write_one_model_and_one_certificate(tmp_path) -> None:
    header, arrays = instance_parts(STANDARD, {})

    def write(number: int) -> None:
        write_archive(tmp_path / "a.cert", {**header, "format": "ipforest x"}, arrays)
        save_arrays(tmp_path / "a.npz", {"x": np.full(10_000, number)})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(36)))
    assert read_archive(tmp_path / "a.cert")[0]["format"] == "ipforest x"
    assert np.ptp(load_arrays(tmp_path / "a.npz", "file")["x"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cert", "a.npz"]


def test_links_are_not_followed(tmp_path) -> None:
    (tmp_path / "target").write_text("kept")
    for name in ("a.txt", "a.txt.unfinished", "a.cert", "a.cert.unfinished"):
        (tmp_path / name).symlink_to(tmp_path / "target")
    write_text(tmp_path / "a.txt", "new")
    header, arrays = instance_parts(STANDARD, {})
    write_archive(tmp_path / "a.cert", {**header, "format": "ipforest x"}, arrays)
    assert (tmp_path / "target").read_text() == "kept"
    assert (tmp_path / "a.txt").read_text() == "new"
    assert not (tmp_path / "a.txt").is_symlink()


def test_a_new_file_has_the_usual_permissions(tmp_path) -> None:
    write_text(tmp_path / "a.txt", "x")
    (tmp_path / "b.txt").write_text("x")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


def test_a_long_name_is_written(tmp_path) -> None:
    name = "a" * 250 + ".txt"
    assert write_text(tmp_path / name, "x").read_text() == "x"


def test_archives_unpack_to_little_more_than_they_are(tmp_path) -> None:
    few, many = {"x": np.zeros(1 << 20)}, {"x": np.zeros(10 << 20)}
    np.savez_compressed(tmp_path / "few.npz", **few)
    assert load_arrays(tmp_path / "few.npz", "file")["x"].size == 1 << 20
    np.savez_compressed(tmp_path / "many.npz", **many)
    with pytest.raises(
        ValueError, match=r"many\.npz: .* unpacked bytes where at most 67108864 are taken; save without"
    ):
        load_arrays(tmp_path / "many.npz", "file")


@pytest.mark.parametrize("name", ["x", "x.npy"])
def test_an_array_stands_once(tmp_path, name: str) -> None:
    save_arrays(tmp_path / "a.npz", {"x": np.arange(3)})
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr(name, archive.read("x.npy"))
    with pytest.raises(ValueError, match="an array that stands twice"):
        load_arrays(tmp_path / "a.npz", "file")


@pytest.mark.parametrize("content", [b"", b"PK\5\6" + b"\0" * 18, b"\x80\x04N.", b"\x93NUMPY\1\0\x10\0{'a': 1}\n"])
def test_what_is_no_array_is_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npy: expected a complete matrix \(\.npy\), got: ."):
        load_array(tmp_path / "a.npy", "matrix")


def test_a_header_that_ends_within_a_statement_is_refused(tmp_path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,\x00 }".ljust(117) + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(24))
    with pytest.raises(ValueError, match=r"a\.npy: expected a complete matrix \(\.npy\), got: "):
        load_array(tmp_path / "a.npy", "matrix")


def test_devices_and_pipes_are_not_replaced(tmp_path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    (tmp_path / "link.csv").symlink_to(pipe)
    for path in (pipe, tmp_path / "link.csv"):
        with pytest.raises(OSError, match="expected a file or a new name, got a device or a pipe; nothing was written"):
            write_text(path, "new")
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "pipe.csv"]
