"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def write_file(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Write a file whole or not at all: to a temporary name beside it, then renamed.

    Parameters
    ----------
    path : str or Path
    write : callable
        Writes to the path that it is given.

    Raises
    ------
    OSError
        The disk is full, say; the message names the file, and an older file of that name stays as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as problem:
        raise OSError(
            f"{path}: expected to write it whole, got: {problem.strerror or problem}; nothing was left"
        ) from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return path


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file whole or not at all; see `write_file`."""
    return write_file(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
