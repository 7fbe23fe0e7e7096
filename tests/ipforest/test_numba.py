import gc
import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns
from time import perf_counter

import numba
import numpy as np
import pytest
from numba.core.event import Listener, install_listener

import ipforest
from ipforest import _numba
from ipforest._numba import clock, run_in_slices

PROGRAM = """
import numpy as np
from ipforest.ensemble.routing import extremes_below
lowest, highest = np.array([[9], [2], [5]]), np.array([[0], [2], [5]])
extremes_below(np.array([1, -1, -1]), np.array([2, -1, -1]), lowest, highest)
print(lowest.ravel(), highest.ravel(), extremes_below.stats.cache_path)
"""


def test_kernels_work_uncached_where_nothing_can_be_written(tmp_path):
    """Regular files stand where folders would be needed, which stops the superuser, too."""
    package = copytree(Path(ipforest.__file__).parent, tmp_path / "ipforest", ignore=ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "folder")
    environment = os.environ | dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), nowhere)
    environment |= {"PYTHONPATH": str(tmp_path)}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert finished.stderr == ""
    assert finished.stdout == "[2 2 5] [5 2 5] None\n"


def test_the_clock_stands_still_while_a_kernel_is_compiled():
    compiled = numba.njit(lambda x: x + 1)
    started, working = perf_counter(), clock()
    compiled(1)
    assert clock() - working < 0.5 * (perf_counter() - started)


class CollectorWatch(Listener):
    def __init__(self):
        self.enabled = []

    def on_start(self, event):
        self.enabled.append(gc.isenabled())

    def on_end(self, event):
        pass


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_waits_while_a_kernel_is_compiled(enabled):
    called = numba.njit(lambda x: x + 1)
    was_enabled = gc.isenabled()
    try:
        gc.enable() if enabled else gc.disable()
        with install_listener("numba:run_pass", CollectorWatch()) as watch:
            numba.njit(lambda x: called(x) + 1)(1)
        assert watch.enabled
        assert not any(watch.enabled)
        assert gc.isenabled() == enabled
    finally:
        gc.enable() if was_enabled else gc.disable()


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_steps", [0, _numba.LEAST_WORK])
def test_slices_are_all_things_once(n, n_threads, n_steps, monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", n_threads)
    times = np.zeros(n, dtype=int)
    slices = []

    def count(part):
        slices.append(part)
        times[part] += 1

    run_in_slices(count, n, n_steps)
    assert times.tolist() == [1] * n
    assert len(slices) == (max(min(n, n_threads), 1) if n_steps else 1)


def test_what_slices_return_comes_in_their_order(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)
    for n_steps in (0, _numba.LEAST_WORK):
        parts = run_in_slices(lambda part: np.arange(part.start, part.stop), 10, n_steps)
        assert np.concatenate(parts).tolist() == list(range(10))


def test_an_error_in_a_slice_is_raised(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)

    def fail(part):
        raise ZeroDivisionError(part)

    with pytest.raises(ZeroDivisionError):
        run_in_slices(fail, 4, _numba.LEAST_WORK)
