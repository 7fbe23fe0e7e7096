import errno
import gc
import importlib
import os
import pickle
import subprocess
import sys
from _thread import interrupt_main
from pathlib import Path
from shutil import copytree, ignore_patterns
from time import perf_counter, sleep
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Listener, install_listener
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import ipforest
from ipforest._internal import kernel_cache as _kernel_cache
from ipforest._internal import kernels as _numba
from ipforest._internal.kernels import clock, run_in_slices
from ipforest.costs import FeatureCosts
from ipforest.ensemble import Forest, first_uses, routing
from ipforest.policy import TreesInOrder
from ipforest.walks import trees as walks
from ipforest.walks.purse import Purse

PROGRAM = """
import numpy as np
from ipforest.ensemble.routing import extremes_below
lowest, highest = np.array([[9], [2], [5]]), np.array([[0], [2], [5]])
extremes_below(np.array([1, -1, -1]), np.array([2, -1, -1]), lowest, highest)
print(lowest.ravel(), highest.ravel(), extremes_below.stats.cache_path)
"""


NOWHERE = (
    "numba's cache cannot be written (there is no folder to write to; NUMBA_CACHE_DIR may name one); kernels are "
    "compiled in memory, each time anew"
)


@pytest.mark.slow
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
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert finished.stderr == NOWHERE + "\n"
    assert finished.stdout == "[2 2 5] [5 2 5] None\n"


def test_the_clock_stands_still_while_a_kernel_is_compiled():
    compiled = numba.njit(lambda x: x + 1)
    started, working = perf_counter(), clock()
    compiled(1)
    assert clock() - working < 0.5 * (perf_counter() - started)


def test_the_clock_does_not_go_back_when_another_thread_has_compiled_since_before(monkeypatch):
    started = clock()
    monkeypatch.setattr(_numba, "_compiling", SimpleNamespace(done=True, duration=np.inf))
    assert clock() - started >= 0


def test_an_interrupt_waits_until_a_kernel_is_compiled():
    """What numba and LLVM do by halves ends in an error at each later kernel, or in a segmentation fault."""
    done = []

    def compiled_in_the_middle_of_an_interrupt(*arguments):
        interrupt_main()
        sleep(0.05)
        done.append(arguments)
        return len

    with pytest.raises(KeyboardInterrupt):
        _numba._at_a_stretch(compiled_in_the_middle_of_an_interrupt)(1, 2)
    assert done == [(1, 2)]


def test_a_kernel_is_compiled_in_no_thread_that_an_interrupt_reaches():
    files = set()
    kernel = _numba.njit(lambda x: x + 1)
    sys.setprofile(lambda frame, event, argument: files.add(frame.f_code.co_filename))
    try:
        assert kernel(1) == 2
    finally:
        sys.setprofile(None)
    assert any("undisturbed" in file for file in files)
    assert not [file for file in files if "llvmlite" in file or "codegen" in file or "compiler" in file]


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
@pytest.mark.parametrize("n_steps", [0, _numba.MIN_WORK])
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
    for n_steps in (0, _numba.MIN_WORK):
        parts = run_in_slices(lambda part: np.arange(part.start, part.stop), 10, n_steps)
        assert np.concatenate(parts).tolist() == list(range(10))


def test_an_error_in_a_slice_is_raised(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)

    def fail(part):
        raise ZeroDivisionError(part)

    with pytest.raises(ZeroDivisionError):
        run_in_slices(fail, 4, _numba.MIN_WORK)


NAMED, CALLED, CALLING = "kernels_named", "kernels_called", "kernels_calling"
KERNELS = {
    NAMED: """
from typing import NamedTuple
STEP = 10
class Pair(NamedTuple):
    first: int
    second: int
""",
    CALLED: """
from ipforest._internal.kernels import inlined, inner_njit, shared
from kernels_named import STEP
@shared
def half(x):
    return x // 2
@inlined
def short(x):
    return half(x) + STEP
@inner_njit
def called(x):
    return short(x) + 100
""",
    CALLING: """
from ipforest._internal.kernels import njit
from kernels_called import called
from kernels_named import Pair
@njit
def calling(pair):
    return called(pair.first)
""",
}
"""Modules with kernels that call each other."""


@pytest.fixture
def load_kernels(tmp_path, monkeypatch):
    """Write the modules to a folder, with a change; return the last one, imported anew as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(_kernel_cache, "warn_once", _kernel_cache.warn_once.__wrapped__)

    def load(module=None, old="", new=""):
        for name, text in KERNELS.items():
            assert name != module or old in text
            (tmp_path / f"{name}.py").write_text(text.replace(old, new) if name == module else text)
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module(CALLING)

    yield load
    for name in KERNELS:
        sys.modules.pop(name, None)


def result_and_hits(kernels):
    result = kernels.calling(kernels.Pair(2, 4))
    return result, sum(kernels.calling.stats.cache_hits.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "old", "new", "result"),
    [
        (CALLED, "+ 100", "+ 200", 211),
        (CALLED, "// 2", "* 2", 114),
        (CALLED, "half(x) + STEP", "half(x) - STEP", 91),
        (NAMED, "STEP = 10", "STEP = 20", 121),
        (NAMED, "    first: int\n    second: int", "    second: int\n    first: int", 112),
    ],
    ids=["kernel", "shared", "inlined", "constant", "fields"],
)
def test_a_change_of_anything_that_a_kernel_is_compiled_from_is_seen(load_kernels, module, old, new, result):
    assert result_and_hits(load_kernels()) == (111, 0)
    assert result_and_hits(load_kernels()) == (111, 1)
    assert result_and_hits(load_kernels(module, old, new)) == (result, 0)
    assert result_and_hits(load_kernels(module, old, new)) == (result, 1)


def test_a_comment_elsewhere_keeps_what_is_compiled(load_kernels):
    assert result_and_hits(load_kernels()) == (111, 0)
    assert result_and_hits(load_kernels(NAMED, "STEP = 10", "STEP = 10  # steps")) == (111, 1)


def cache_files(tmp_path, ending):
    files = list((tmp_path / "__pycache__").glob(f"*.{ending}"))
    assert len(files) == 2
    return files


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_truncated_files_of_the_cache_are_passed_over_and_written_anew(load_kernels, tmp_path, caplog, ending, share):
    load_kernels().calling(load_kernels().Pair(2, 4))
    for file in cache_files(tmp_path, ending):
        data = file.read_bytes()
        file.write_bytes(data[: int(share * len(data))])
    assert result_and_hits(load_kernels()) == (111, 0)
    assert "numba's cache cannot be read" in caplog.text
    caplog.clear()
    assert result_and_hits(load_kernels()) == (111, 1)
    assert not caplog.records


def test_code_of_another_version_that_an_index_refers_to_is_not_used(load_kernels, tmp_path):
    """As after a full disk, or a signal, between the two files that numba writes."""
    load_kernels().calling(load_kernels().Pair(2, 4))
    old = {file: file.read_bytes() for file in cache_files(tmp_path, "nbc")}
    assert result_and_hits(load_kernels(CALLED, "+ 100", "+ 200")) == (211, 0)
    for file, data in old.items():
        file.write_bytes(data)
    assert result_and_hits(load_kernels(CALLED, "+ 100", "+ 200")) == (211, 0)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written_is_done_without(load_kernels, tmp_path, monkeypatch, caplog, number):
    def no_space(self, path):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", no_space)
    assert result_and_hits(load_kernels()) == (111, 0)
    assert f"cannot be written (OSError: [Errno {number}]" in caplog.text.replace("PermissionError", "OSError")
    assert not list((tmp_path / "__pycache__").glob("*.nb?"))


def test_a_package_that_nothing_can_be_written_beside_says_so_once(load_kernels, monkeypatch, caplog):
    """As in a container without a home: each process compiled all kernels, which takes a minute, and did not say so."""
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    _numba.warn_once.cache_clear()
    assert load_kernels().calling(load_kernels().Pair(2, 4)) == 111
    assert caplog.messages == [NOWHERE]


def test_a_warning_comes_once(caplog):
    _kernel_cache.warn_once.cache_clear()
    for place in ("here", "there"):
        _kernel_cache._warn(place, "read", EOFError("Ran out of input"))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


RETURNED_AFTER_A_WARM_UP = """
import sys
from numba.core.dispatcher import Dispatcher
from numba.core.types import BaseNamedTuple
from ipforest.solvers.warm_up import warm_up

warm_up()
kernels = [
    kernel
    for name, module in sorted(sys.modules.items())
    if name.split(".")[0] in ("ipforest", "proofs")
    for kernel in vars(module).values()
    if isinstance(kernel, Dispatcher) and not kernel.targetoptions.get("no_cpython_wrapper")
]
returned = {
    kernel.py_func.__qualname__: overload.signature.return_type
    for kernel in kernels
    for overload in kernel.overloads.values()
}
assert "solve" in returned
print([name for name, kind in returned.items() if isinstance(kind, BaseNamedTuple)])
"""


@pytest.mark.slow
def test_no_kernel_makes_a_named_tuple_for_python():
    """numba calls Python code to make one, and crashes when a signal raises an exception there.

    In a process of its own: tests of single kernels call some from Python that nothing else does.
    """
    code = [sys.executable, "-c", RETURNED_AFTER_A_WARM_UP]
    assert subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_kernels_are_compiled_for_one_kind_of_table_and_trees():
    """Those that were pickled can be written into, and tables of pandas lie column by column."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y))
    costs = FeatureCosts(np.ones(X.shape[1]))
    kernels = routing._add_values, routing._reach_leaves, first_uses._first_needs, walks._walk_trees

    def answers(trees, table):
        walk = TreesInOrder(trees).at_once(Purse.of(costs, np.zeros(costs.n_features, dtype=bool), None, None))
        return trees.predict_proba(table), trees.apply(table), trees.cost(table, costs), walk(table.astype(float))[0]

    expected = answers(forest, X)
    compiled = [kernel.signatures for kernel in kernels]
    for table in (np.asfortranarray(X), X[:, ::-1].copy()[:, ::-1]):
        for found, right in zip(answers(pickle.loads(pickle.dumps(forest)), table), expected, strict=True):
            np.testing.assert_array_equal(found, right)
    assert [kernel.signatures for kernel in kernels] == compiled


def test_kernels_are_compiled_once_for_all_values_of_an_argument():
    add = _numba.inner_njit(lambda x, y: x + y)
    kernel = _numba.njit(lambda x: add(x, 0) + add(x, -1) + add(x, x))
    assert kernel(2) == 7
    assert len(add.signatures) == 1
