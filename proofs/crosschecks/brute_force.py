"""The definition as an algorithm: every pruning of a small forest, one by one."""

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from ipforest._internal.rational import nonnegative_fraction
from ipforest.instance import PruningInstance
from ipforest.results import Pruning, PruningResult

MAX_PRUNINGS = 1_000_000


def count_prunings(instance: PruningInstance) -> int:
    """Count the prunings of the forest: at each internal node 1 + the product over its children."""
    ways = [1] * instance.n_nodes
    internal = set(instance.internal_nodes.tolist())
    total = 1
    for node in range(instance.n_nodes - 1, -1, -1):
        if node in internal:
            ways[node] += 1
        parent = int(instance.node_parent[node])
        if parent < 0:
            total *= ways[node]
        else:
            ways[parent] *= ways[node]
    return total


def prunings(instance: PruningInstance) -> Iterator[Pruning]:
    """Yield every pruning: every set of internal nodes that is closed under parents."""
    kept = np.zeros(instance.n_internal, dtype=bool)

    def extend(node: int) -> Iterator[Pruning]:
        if node == instance.n_internal:
            yield Pruning(kept.copy())
            return
        yield from extend(node + 1)
        above = instance.parent[node]
        if above < 0 or kept[above]:
            kept[node] = True
            yield from extend(node + 1)
            kept[node] = False

    return extend(0)


def brute_force(instance: PruningInstance, lam: object) -> PruningResult:
    """Try every pruning; of those with the least objective return the one that keeps fewest nodes.

    Raises
    ------
    ValueError
        The forest has more than a million prunings, or lambda is negative.
    """
    count = count_prunings(instance)
    if count > MAX_PRUNINGS:
        raise ValueError(f"instance: expected at most {MAX_PRUNINGS} prunings for brute force, got {count}")
    started = perf_counter()
    exact_lam = nonnegative_fraction(lam, "lam")
    p, q = instance.scaled_lambda(exact_lam)
    best = min(
        prunings(instance),
        key=lambda pruning: (q * instance.integer_error(pruning) + p * instance.integer_cost(pruning), pruning.n_kept),
    )
    return PruningResult.of(
        best,
        instance.evaluate(best),
        exact_lam,
        instance.objective(best, exact_lam),
        runtime_s=perf_counter() - started,
        method="brute-force",
        iterations=count,
    )
