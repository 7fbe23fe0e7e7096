"""The two trees of the papers' figures, with the one example the papers route through them.

Optimal-pruning paper, Figure 1 (BudgetPrune, Figures 1 and 4). Tree 1 has the nodes 1..5: node 1 tests feature 1 and
has the children 2 and 3, node 3 tests feature 2 and has the children 4 and 5; the example goes to leaf 4. Tree 2 has
the nodes 6..12; the text names neither its arcs nor its features, but its printed network matrix does: -r1 =
-(z6 + z7 + z8), r1-r2 = z8 - z9, r2-r3 = z7 + z9 - z10 - z11 and r3-r4 = z11 - z12 put 8, 9 below 7 and 11, 12 below
10; r4-r5 = z12 - w_{3,1} puts feature 3 at node 10, so feature 2 is at node 6 (`network_form` checks this). Which
feature node 7 tests is not determined: the example, which goes to leaf 11, never meets it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ipforest.instance import PruningInstance

NODES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
"""The papers' node numbers, tree 1 then tree 2."""

_PARENTS = ((-1, 0, 0, 2, 2), (-1, 0, 1, 1, 0, 4, 4))
_ERRORS = ((5, 1, 2, 0, 1), (6, 2, 0, 1, 3, 0, 1))  # the papers give none; any numbers do
_LEAF = (3, 5)  # nodes 4 and 11, counted within the tree
_USES = ({0: 1, 2: 2}, {0: 2, 4: 3})  # node within the tree -> feature, on the example's path


def figure_instance(*trees: int) -> PruningInstance:
    """Build the instance of tree 1, tree 2, or both (the default), with one example and unit costs.

    Parameters
    ----------
    *trees : int
        1 and / or 2, ascending.

    Returns
    -------
    PruningInstance
        Units 1, 2, 3 are the papers' features; unit 0 is unused, so that the numbers agree.
    """
    chosen = trees or (1, 2)
    offsets = np.cumsum([0] + [len(_PARENTS[tree - 1]) for tree in chosen]).tolist()
    starts = list(zip(chosen, offsets, strict=False))
    parents = [above + start if above >= 0 else -1 for tree, start in starts for above in _PARENTS[tree - 1]]
    internal = sorted({above for above in parents if above >= 0})
    uses = {node + start: feature for tree, start in starts for node, feature in _USES[tree - 1].items()}
    features = sorted(set(uses.values()))
    rows = [[features.index(uses[node])] if node in uses else [] for node in internal]
    return PruningInstance(
        tree_offsets=np.array(offsets),
        node_parent=np.array(parents),
        errors=np.concatenate([_ERRORS[tree - 1] for tree in chosen]),
        indptr=np.cumsum([0] + [len(row) for row in rows]),
        indices=np.array([index for row in rows for index in row]),
        acquisition_unit=np.array(features),
        acquisition_example=np.zeros(len(features), dtype=np.int64),
        acquisition_cost=np.ones(len(features), dtype=np.int64),
        split_cost=np.zeros(len(internal), dtype=np.int64),
        error_unit=Fraction(1, len(chosen)),
        cost_unit=Fraction(1),
        n_units=4,
        n_examples=1,
        example_leaf=np.array([[start + _LEAF[tree - 1]] for tree, start in starts]),
    )
