"""Compile the kernels, or load them from the cache on disk, before anything is timed."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from ipforest._internal.progress import ProgressCallback, silent
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.maxflow.parametric_cut import ParametricCut
from ipforest.maxflow.presolve import presolve
from ipforest.maxflow.subproblems import moved
from ipforest.maxflow.threads import MIN_ENTRIES_FOR_HELPERS, CutThreads, search_for
from ipforest.path_search import prune_path
from ipforest.solvers import solve, solve_budget


def warm_up(progress: ProgressCallback = silent) -> None:
    """Make every kernel ready that leads from a fitted forest to its instance, a path, a solve and a budget.

    The first time, kernels are compiled, which takes some seconds; later they come from numba's cache, unless there is
    no folder to write it to.

    Parameters
    ----------
    progress : callable
        Called with the share of the work that is done, about, and a message.
    """
    progress(0.0, "compiling: routes")
    examples = np.array(list(product(range(3), range(2), range(2))))
    tree = DecisionTreeClassifier(random_state=0).fit(examples, [0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1])
    forest = Forest.from_sklearn(tree)
    instance = PruningInstance.from_forest(forest, examples, FeatureCosts([1, 3, 0]))  # a free one, three breakpoints
    progress(0.1, "compiling: minimum cut")
    solve(instance, 0)
    progress(0.6, "compiling: path")
    path = prune_path(instance)
    path.result(0)
    progress(0.7, "compiling: large cuts")
    cut = ParametricCut(presolve(instance), small=0)
    search_for(cut.network, cut.network.whole, MIN_ENTRIES_FOR_HELPERS)
    CutThreads(cut).resolve(None, silent, 1.0)
    cut.done.append(moved(cut.done.pop()))
    cut.gather()
    progress(0.8, "compiling: budget")
    solve_budget(instance, path.costs[0] / 2, "mip", path=path)  # exchanges of both kinds
    progress(1.0, "")
