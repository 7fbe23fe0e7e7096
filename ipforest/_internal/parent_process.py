"""Processes that end with the one that started them, also where that was killed and could tell them nothing."""

from __future__ import annotations

import multiprocessing
import os
from functools import cache
from threading import Thread
from time import sleep

LOOK_EVERY_S = 1.0


@cache
def end_with_parent() -> None:
    """End this process when the one that started it has ended; one that Python's multiprocessing did not start stays.

    Python is told of the end of the parent. A worker of loky is not, but on POSIX it gets another parent then.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def end() -> None:
        try:
            parent.join()
        except ValueError:
            while os.getppid() == parent.pid:
                sleep(LOOK_EVERY_S)
        os._exit(1)

    Thread(target=end, daemon=True).start()
