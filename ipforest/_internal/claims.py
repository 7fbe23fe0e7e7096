"""Files that several processes make together: each is claimed by a lock of the operating system.

Such a lock ends with the process that holds it, however it ends, so that nothing claimed is left behind.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

HELD = (errno.EACCES, errno.EAGAIN)
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
"""What a file system answers that knows no locks: there each process claims for itself."""


class Claims:
    """The files that a process makes, and no other meanwhile; they are let go at the end of a ``with`` block."""

    def __init__(self) -> None:
        self._locks: dict[Path, IO[bytes]] = {}

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        for file in list(self._locks):
            self.release(file)

    def take(self, file: Path) -> bool:
        """Claim a file that is to be made; False where another process, or another `Claims`, makes it."""
        while True:
            lock = _lock_of(file).open("ab")
            if not _is_locked(lock):
                lock.close()
                return False
            if os.fstat(lock.fileno()).st_nlink:
                self._locks[file] = lock
                return True
            lock.close()  # it was let go between the two calls

    def release(self, file: Path) -> None:
        """Let a file go that was taken."""
        lock = self._locks.pop(file)
        if sys.platform == "win32":  # which removes no open file
            lock.close()
            with suppress(PermissionError):  # another process has opened it since, and may lock it now
                _lock_of(file).unlink(missing_ok=True)
        else:
            _lock_of(file).unlink(missing_ok=True)
            lock.close()


def _lock_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.lock")


def _is_locked(lock: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in HELD:
            return False
        if problem.errno not in NO_LOCKS:
            raise
    return True
