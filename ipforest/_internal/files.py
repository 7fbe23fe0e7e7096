"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_file(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Write a file whole or not at all: to a new file of another name in the same folder, then renamed.

    Each call has a new file of its own, so of several threads or processes that write one path the last one wins. A
    symbolic link at `path` is replaced, not followed.

    Parameters
    ----------
    path : str or Path
    write : callable
        Writes to the path that it is given, which has the suffix of `path`.

    Raises
    ------
    OSError
        The disk is full, say; the message names the file, and an older file of that name stays as it was. Devices and
        pipes, which a new file would replace, are refused.
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(f"{path}: expected a file or a new name, got a device or a pipe; nothing was written")
    temporary = path.with_name(f".{path.stem[:64]}.{secrets.token_hex(8)}.partial{path.suffix}")
    try:
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            write(temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())  # so that no crash leaves the new name without the content
            temporary.replace(path)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()  # which a file system that cannot be written refuses by another error
    except OSError as problem:
        raise OSError(
            f"{path}: expected to write it whole, got: {problem.strerror or problem}; nothing was left"
        ) from None
    return path


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file in UTF-8, with the line breaks of the text, whole or not at all; see `write_file`."""
    return write_file(path, lambda temporary: temporary.write_bytes(text.encode("utf-8")))


def write_figure(path: str | Path, figure: Any) -> Path:
    """Write a figure of matplotlib whole or not at all; see `write_file`."""
    return write_file(path, lambda temporary: figure.savefig(temporary, dpi=150, bbox_inches="tight"))
