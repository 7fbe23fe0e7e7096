"""Total unimodularity beside CMR: the answer is asserted before it is timed.

Run with ``pytest tests/benchmarks/test_bench_unimodularity.py --benchmark-enable --benchmark-group-by=param:name``.
"""

from functools import cache, reduce

import numpy as np
import pytest
from unimodular_matrices import two_sum

from formulations.arrays import linear_program
from formulations.specification import specify
from proofs.claims.pruning_claims import fitted_instance
from proofs.unimodularity.cmr import CmrMissingError, cmr_violator
from proofs.unimodularity.formulation_networks import formulation_matrix
from proofs.unimodularity.known_matrices import r10_hoffman, random_network_matrix
from proofs.unimodularity.total_unimodularity import is_totally_unimodular


@cache
def matrices():
    rng = np.random.default_rng(2)
    network = random_network_matrix(rng, 200, 200)
    changed = network.copy()
    changed[tuple(rng.choice(np.argwhere(changed)))] *= -1
    half = random_network_matrix(rng, 100, 100)
    return {
        "network": (network, True),
        "transpose": (network.T, True),
        "one sign changed": (changed, False),
        "2-sums with R10": (two_sum(two_sum(half, r10_hoffman()), half.T), True),
        "forty R10 in a chain": (reduce(two_sum, 40 * [r10_hoffman()]), True),
    }


def large_program():
    return formulation_matrix(fitted_instance(3, n_trees=81, depth=12, n_examples=269), "ip3")


@cache
def program(name, n_trees, depth, n_examples):
    instance = fitted_instance(3, n_trees, depth, n_examples)
    return linear_program(specify(name, instance, relaxed=True, **({"budget": 1} if name == "lp1" else {"lam": 1}))).A


SMALL = ("one sign changed",)
SLOW = ("transpose", "forty R10 in a chain", "2-sums with R10", "IP3, 129,000 rows")
LONG = ("network",)


def accepted_by_cmr(matrix):
    return cmr_violator(matrix) is None


@pytest.mark.parametrize("decide", [is_totally_unimodular, accepted_by_cmr], ids=["ours", "cmr"])
@pytest.mark.parametrize(
    "name",
    [
        *SMALL,
        *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
        *(pytest.param(name, marks=(pytest.mark.slow, pytest.mark.long)) for name in LONG),
    ],
)
def test_deciding(benchmark, name, decide):
    matrix, expected = matrices()[name] if name in matrices() else (large_program(), True)
    try:
        assert bool(decide(matrix)) is expected
    except CmrMissingError as missing:
        pytest.skip(str(missing))
    benchmark(decide, matrix)


@pytest.mark.parametrize("decide", [is_totally_unimodular, accepted_by_cmr], ids=["ours", "cmr"])
@pytest.mark.parametrize(("name", "size"), [("ip1", (5, 4, 28)), ("lp1", (5, 4, 28))])
def test_saying_no(benchmark, name, size, decide):
    matrix = program(name, *size)
    try:
        assert not decide(matrix)
    except CmrMissingError as missing:
        pytest.skip(str(missing))
    benchmark(decide, matrix)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("ip1", (81, 12, 269)), ("lp1", (20, 8, 240))])
def test_saying_no_at_once_to_large_programs(benchmark, name, size):
    matrix = program(name, *size)
    assert not is_totally_unimodular(matrix)
    benchmark(is_totally_unimodular, matrix)
