"""An interrupt at any moment of a search leaves a state that, continued, gives the right path."""

import signal
import subprocess
import sys
import threading
from contextlib import suppress

import joblib
import numpy as np
import pytest
from interrupted_searches import ONE_CUT_A_CALL, interrupted_search
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from ipforest import Status
from ipforest import path_search as path_module
from ipforest._internal import undisturbed
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow import checkpoint, parametric_cut, subproblems, threads
from ipforest.path_search import PathSearch, prune_path
from proofs.certificates.path_optimality import verify_path

MODULES = (path_module, threads, parametric_cut, subproblems, checkpoint, undisturbed)
SEARCH_FILES = {module.__file__ for module in MODULES}


class Trace:
    """Raises KeyboardInterrupt before the instruction of this thread, in the search's files, with a given number.

    Python itself raises it between instructions, in the main thread alone.

    Attributes
    ----------
    seen : dict
        For each instruction of the code, the numbers of its first and its last execution.
    """

    def __init__(self, place=0):
        self.place, self.passed, self.seen = place, 0, {}

    def __enter__(self):
        sys.settrace(self._enter_frame)
        return self

    def __exit__(self, *error):
        sys.settrace(None)

    def _enter_frame(self, frame, event, argument):
        if frame.f_code.co_filename not in SEARCH_FILES:
            return None
        frame.f_trace_opcodes = True
        return self._at_instruction

    def _at_instruction(self, frame, event, argument):
        if event == "opcode":
            self.passed += 1
            first, _ = self.seen.setdefault((frame.f_code, frame.f_lasti), (self.passed, None))
            self.seen[frame.f_code, frame.f_lasti] = first, self.passed
            if self.passed == self.place:
                raise KeyboardInterrupt
        return self._at_instruction


@pytest.fixture(scope="module")
def instance():
    return synthetic_instance(2, 20, 6, max_price=9, seed=5)


@pytest.fixture(scope="module")
def whole(instance):
    return prune_path(instance)


def assert_true(path, whole):
    assert path.status is Status.OPTIMAL
    assert path.breakpoints == whole.breakpoints
    assert (path.errors, path.costs) == (whole.errors, whole.costs)
    assert np.array_equal(path.node_breakpoint, whole.node_breakpoint)
    assert verify_path(path.instance, path)


def run(search, file):
    search.run()


def run_and_save_each_step(search, file):
    search.run_saved(file, every_s=0)


def look_and_save(search, file):
    search.path()
    search.save(file)


@pytest.mark.slow
@pytest.mark.parametrize("act", [run, run_and_save_each_step, look_and_save])
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(151, id="some"),
        pytest.param(23, id="more", marks=pytest.mark.slow),
        pytest.param(1, id="all", marks=[pytest.mark.slow, pytest.mark.long]),
    ],
)
def test_an_interrupt_at_any_instruction_loses_nothing(instance, whole, tmp_path, act, step):
    def new_search():
        return interrupted_search(instance, 3) if act is look_and_save else PathSearch(instance, small=ONE_CUT_A_CALL)

    with Trace() as trace:
        act(new_search(), tmp_path / "untouched.npz")
    assert len(whole.breakpoints) > 3
    assert len(trace.seen) > 250
    for place in sorted({place for ends in trace.seen.values() for place in ends})[::step]:
        search, file = new_search(), tmp_path / "search.npz"
        file.unlink(missing_ok=True)
        with Trace(place), suppress(KeyboardInterrupt):
            act(search, file)
        if file.exists():
            assert_goes_on(PathSearch.load(file, instance), whole)
        search.save(file)
        assert_goes_on(search, whole)
        assert_goes_on(PathSearch.load(file, instance), whole)


def assert_goes_on(search, whole):
    search.run()
    assert_true(search.path(), whole)


ALARMS = """
import json, signal, sys, time
from pathlib import Path
from random import Random
from ipforest.cli import main
from ipforest.experiments import training_benchmarks
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.path_search import PathSearch, prune_path

left = 0

def ring(number, frame):
    global left
    if left > 0:
        left -= 1
        signal.raise_signal(signal.SIGINT)

def interrupted(act, first, n):
    '''Act with `n` interrupts, the first after so many seconds, the next an impatient 10 ms later.'''
    global left
    signal.setitimer(signal.ITIMER_REAL, 0)
    left = n
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, first, 0.01)
            return act()
        finally:
            left = 0
    except KeyboardInterrupt:
        return None

signal.signal(signal.SIGALRM, ring)
signal.signal(signal.SIGINT, signal.default_int_handler)
random = Random(7)
"""

SEARCHES = """
instance = synthetic_instance(10, 600, 20, n_training=2000, max_price=9, seed=2)
prune_path(instance)
started = time.perf_counter()
whole = prune_path(instance)
seconds = time.perf_counter() - started
n_interrupted = 0
for trial in range(25):
    search = PathSearch(instance, small=random.choice([-1, 2000]))
    for _ in range(random.choice([1, 3])):
        interrupted(search.run, random.uniform(0, 1.2) * seconds, random.choice([1, 2]))
        if random.random() < 0.3:
            interrupted(search.path, random.uniform(0, 0.2) * seconds, 1)
        n_interrupted += not search._ended
    search.run()
    path = search.path()
    assert path.status == "optimal", path
    assert path.records() == whole.records()
signal.setitimer(signal.ITIMER_REAL, 0)
print(n_interrupted)
"""

COMMANDS = """
*command, folder = sys.argv[1:]
command += ["--json"]
for place in ("first", "whole"):
    started = time.perf_counter()
    assert main([*command, "--out", f"{folder}/{place}"]) == 0
seconds = time.perf_counter() - started
n_interrupted = 0
for trial in range(2):
    own = [*command, "--out", f"{folder}/{trial}"]
    code = None
    while code != 0:
        code = interrupted(lambda: main(own), random.uniform(0, 1.1) * seconds, random.choice([1, 2]))
        assert code in (0, 130, None), code
        n_interrupted += code != 0
    for name in ("path.csv", "path.json"):
        stated, true = (Path(folder, place, name).read_text() for place in (str(trial), "whole"))
        if name == "path.json":
            stated, true = ({**json.loads(text), "runtime_s": 0} for text in (stated, true))
        assert stated == true, name
    assert main(["verify", f"{folder}/{trial}/path.cert"]) == 0
    assert not Path(folder, str(trial), "path.unfinished.npz").exists()
signal.setitimer(signal.ITIMER_REAL, 0)
print(n_interrupted, file=sys.stderr)
"""


def run_with_alarms(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", ALARMS + program, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_signals_at_random_moments_lose_nothing():
    finished = run_with_alarms(SEARCHES)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert int(finished.stdout) > 5


@pytest.mark.slow
def test_the_command_writes_the_same_files_after_signals_at_random_moments(tmp_path):
    X, y = make_classification(1000, 12, n_informative=8, random_state=0)
    joblib.dump(RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2]), tmp_path / "model.joblib")
    np.save(tmp_path / "examples.npy", X[1::2])
    files = ("--allow-pickle", "--model", tmp_path / "model.joblib", "--examples", tmp_path / "examples.npy")
    finished = run_with_alarms(COMMANDS, "path", *files, tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert int(finished.stderr.splitlines()[-1]) > 0


@pytest.mark.skipif(
    not hasattr(signal, "pthread_sigmask"), reason="Windows has no pthread_sigmask to put interrupts off"
)
def test_processes_that_are_started_without_interrupts_see_none_and_this_one_sees_its_own_afterwards():
    blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    started = []

    def start():
        with undisturbed.started_without_interrupts():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            started.append(subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=True))

    with pytest.raises(KeyboardInterrupt):
        start()
    assert started[0].stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


INTERRUPTED_MEASUREMENT = """
import multiprocessing, os, signal, threading, time
from ipforest.experiments.benchmark_rows import in_own_process

signal.signal(signal.SIGINT, signal.default_int_handler)
other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(100,))
other.start()
threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    in_own_process(time.sleep, 100)
except KeyboardInterrupt:
    print(time.monotonic() - start < 50, multiprocessing.active_children() == [other])
other.kill()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="on Windows os.kill ends the process at once")
def test_an_interrupted_measurement_ends_its_process_and_no_other():
    """In a process of its own, as of threads that other tests have left any may get the signal."""
    finished = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_MEASUREMENT], capture_output=True, text=True, check=False
    )
    assert (finished.returncode, finished.stdout) == (0, "True True\n"), finished.stderr


KILLED_MEASUREMENT = """
from ipforest.experiments.benchmark_rows import in_own_process

in_own_process(exec, "import time; print('begun', flush=True); time.sleep(100)")
"""


KILLED_EXPERIMENT = """
import time
from pathlib import Path
from joblib import Parallel, delayed
from ipforest.experiments.experiment import _run_cell

def run(cell):
    print("begun", flush=True)
    time.sleep(100)

Parallel(2)(delayed(_run_cell)(run, Path("none"), cell) for cell in ({}, {}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("script", [KILLED_MEASUREMENT, KILLED_EXPERIMENT], ids=["measurement", "experiment"])
def test_the_processes_of_a_command_end_with_one_that_is_killed(script):
    """They hold the output, which is read to its end."""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as measuring:
        assert measuring.stdout.readline() == "begun\n"
        if script is KILLED_EXPERIMENT:
            assert measuring.stdout.readline() == "begun\n"
        measuring.kill()
        assert measuring.communicate(timeout=60) == ("", None)
    assert measuring.returncode == (1 if sys.platform == "win32" else -signal.SIGKILL)
