"""Settings of all tests: no display, no figure left open, reproducible examples, no deadline, interrupts that come."""

import os
import signal
import time

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import settings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # for the workers, which inherit it: their threads would wait for each other
os.environ.setdefault("MPLBACKEND", "Agg")
plt.switch_backend("Agg")
settings.register_profile("ipforest", deadline=None, derandomize=True)
settings.load_profile("ipforest")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of what a script starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":  # kernels compute hashes with integers that wrap around
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


def pytest_addoption(parser):
    parser.addoption(
        "--until", type=int, metavar="SECONDS", help="skip tests that have not begun by this time since the epoch"
    )


def pytest_collection_modifyitems(config, items):
    """Begin elsewhere each time, where time may end before the tests do."""
    first = (config.getoption("--until") or 0) % max(len(items), 1)
    items[:] = items[first:] + items[:first]


def pytest_runtest_setup(item):
    """Leave to another run what is asked to begin no more: a machine of half the speed has no time for all."""
    until = item.config.getoption("--until")
    if until is not None and time.time() > until:
        pytest.skip("no time is left")


def pytest_sessionstart(session):
    """Compile the cuts on one worker, while the others, which collect alike, compile what grows trees."""
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        from ipforest.solvers.warm_up import warm_up

        warm_up()


@pytest.fixture(autouse=True)
def seed_numpy():
    """Draw the same where nobody passes a seed."""
    np.random.seed(0)  # noqa: NPY002, scikit-learn draws from this generator where random_state is None


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")
