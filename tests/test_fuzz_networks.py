"""A fixed amount of the fuzzing that `fuzz_networks.py` does by the clock."""

from collections import Counter

import numpy as np
import pytest
from fuzz_networks import changed, networks, sums, transposes


def faults(kind, count, seed):
    random, counts = np.random.default_rng(seed), Counter()
    return [fault for fault in (kind(random, counts) for _ in range(count)) if fault]


@pytest.mark.parametrize(("kind", "count"), [(networks, 8), (transposes, 15), (sums, 1), (changed, 15)])
def test_matrices_with_known_answers_get_them(kind, count):
    assert faults(kind, count, seed=51) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [(networks, 100), (transposes, 200), (sums, 8), (changed, 200)])
def test_many_matrices_with_known_answers_get_them(kind, count):
    assert faults(kind, count, seed=52) == []
