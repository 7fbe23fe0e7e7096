"""Files are written whole or not at all."""

import errno

import numpy as np
import pytest

from ipforest._arrays import load_arrays, save_arrays
from ipforest._files import write_file, write_text


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
