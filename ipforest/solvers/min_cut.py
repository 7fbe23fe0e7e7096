"""The default solver: one exact minimum cut of the closure network, by the package's own compiled kernel."""

from __future__ import annotations

from fractions import Fraction

from ipforest._internal.kernels import clock
from ipforest.instance import PruningInstance
from ipforest.maxflow.network import Lambda
from ipforest.maxflow.single_cut import dual_bound, minimum_cut
from ipforest.results import DualFlow, PruningResult


def solve_min_cut(instance: PruningInstance, lam: Fraction, start: DualFlow | None = None) -> PruningResult:
    """Find the smallest optimal set of kept nodes as the source side of a minimum cut.

    Presolve (`ipforest.maxflow.presolve`), then the pseudoflow algorithm (`ipforest.maxflow.pseudoflow`), in integers.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
        At least 0.
    start : DualFlow, optional
        Flow at another lambda to start from; it need not be feasible at this one.

    Returns
    -------
    PruningResult
        With the maximum flow on the arcs of the instance as certificate.

    Raises
    ------
    ValueError
        A start of another size.
    OverflowError
        Gains or costs at this lambda reach 2^62 in integer units.
    """
    started = clock()
    pruning, flow, n_mergers = minimum_cut(instance, Lambda(*instance.scaled_lambda(lam)), start)
    return PruningResult.of(
        pruning,
        instance.evaluate(pruning),
        lam,
        dual_bound(instance, flow),
        method="min-cut",
        runtime_s=clock() - started,
        flow=flow,
        iterations=n_mergers,
    )
