"""Fuzz the recogniser of networks and the test of total unimodularity with matrices whose answer is known.

    python tests/fuzz_networks.py [--seconds S] [--seed N]

Network matrices of every shape, with signs, in random and in all orders of their columns, must be found; their
transposes and sums must be called totally unimodular with a certificate that checks; with one entry changed the answer
must check, and where exhaustive search is quick be that of the definition. Prints the counts, and every matrix that
gets another answer; exits with 1 if there is one.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import permutations

import numpy as np
from unimodular_matrices import Matrix, composed, random_graphic_matrices, scrambled

from proofs.unimodularity.network_recognition import find_network
from proofs.unimodularity.small_matrices import by_eulerian_submatrices
from proofs.unimodularity.total_unimodularity import is_totally_unimodular

ALL_ORDERS_UP_TO = 5
"""Matrices with so few columns are tried in every order of them."""
SEARCHED_UP_TO = 8
"""Shorter sides up to which changed matrices are compared with the exhaustive test."""


def networks(random: np.random.Generator, counts: Counter[str]) -> str | None:
    """Recognise one network matrix, in every order of its columns if they are few."""
    matrix = next(random_graphic_matrices(random, largest=int(random.choice([5, 8, 12, 30]))))
    columns = range(matrix.shape[1])
    orders = permutations(columns) if len(columns) <= ALL_ORDERS_UP_TO else [tuple(columns)]
    for order in orders:
        counts["networks"] += 1
        permuted = matrix[:, order]
        found = find_network(permuted)
        if found is None:
            return f"no network is found for {permuted.tolist()}"
        if not found.check(permuted):
            return f"{found.check()} for {permuted.tolist()}"
    return None


def transposes(random: np.random.Generator, counts: Counter[str]) -> str | None:
    """Decide the transpose of a network matrix, after a few pivots."""
    matrix = next(random_graphic_matrices(random)).T
    counts["transposes"] += 1
    return _fault_of_yes(scrambled(random, matrix, int(random.integers(4))) if matrix.any() else matrix)


def sums(random: np.random.Generator, counts: Counter[str]) -> str | None:
    """Decide 1-, 2- and 3-sums of networks, transposes and R10."""
    for matrix in composed(random, int(random.integers(3, 12))).values():
        counts["sums"] += 1
        fault = _fault_of_yes(scrambled(random, matrix, int(random.integers(6))))
        if fault:
            return fault
    return None


def changed(random: np.random.Generator, counts: Counter[str]) -> str | None:
    """Decide a network matrix with one entry changed."""
    matrix = next(random_graphic_matrices(random, largest=SEARCHED_UP_TO)).copy()
    place = tuple(int(random.integers(side)) for side in matrix.shape)
    matrix[place] = (matrix[place] + 1 + random.integers(1, 3)) % 3 - 1
    counts["one entry changed"] += 1
    answer = is_totally_unimodular(matrix)
    if not answer.check():
        return f"{answer.check()} for {matrix.tolist()}"
    if bool(answer) is not bool(by_eulerian_submatrices(matrix)):
        return f"{answer} for {matrix.tolist()}"
    counts["of these not totally unimodular"] += not answer
    return None


def _fault_of_yes(matrix: Matrix) -> str | None:
    answer = is_totally_unimodular(matrix)
    return None if answer and answer.check() else f"{answer} for {matrix.tolist()}"


KINDS: tuple[Callable[[np.random.Generator, Counter[str]], str | None], ...] = (networks, transposes, sums, changed)
SHARES = (0.5, 0.2, 0.1, 0.2)
"""How the time is divided among the kinds."""


def fuzz(seconds: float, seed: int) -> tuple[Counter[str], list[str]]:
    """Try matrices of each kind for its share of the time; return the counts, and what went wrong."""
    random = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    faults = []
    for kind, share in zip(KINDS, SHARES, strict=True):
        stop = time.monotonic() + share * seconds
        while time.monotonic() < stop:
            fault = kind(random, counts)
            if fault:
                faults.append(f"{kind.__name__}: {fault}")
    return counts, faults


def main() -> int:
    """Fuzz, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, metavar="S")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    options = parser.parse_args()
    counts, faults = fuzz(options.seconds, options.seed)
    for fault in faults:
        print(fault)
    print(", ".join(f"{counts[name]:,} {name}" for name in counts), f"- {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
