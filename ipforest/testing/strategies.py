"""Hypothesis strategies: small pruning problems that visit the corners, prices, lambdas, matrices of known status.

All shrink towards few trees, nodes, examples and small numbers. Test with ``settings(deadline=None)``: the first call
of a solver compiles, or loads what was compiled.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

try:
    from hypothesis import strategies as st
except ImportError as problem:
    raise ImportError(
        "hypothesis: expected it to be installed for ipforest.testing, got none; run pip install hypothesis"
    ) from problem

if TYPE_CHECKING:
    from ipforest.costs import FeatureCosts
    from ipforest.ensemble.forest import Forest
    from ipforest.instance import PruningInstance

__all__ = [
    "budgets",
    "feature_costs",
    "forests",
    "instances",
    "lambdas",
    "network_matrices",
    "not_unimodular_matrices",
    "prices",
    "transposed_network_matrices",
    "unimodular_matrices",
]

Matrix = NDArray[np.int64]

lambdas: st.SearchStrategy[Fraction] = st.one_of(
    st.just(Fraction(0)),
    st.fractions(min_value=0, max_value=4, max_denominator=24),
    st.fractions(min_value=0, max_value=50, max_denominator=1000),
)
"""Errors per cost: 0, and fractions among which many tie."""

budgets: st.SearchStrategy[Fraction] = st.fractions(min_value=0, max_value=12, max_denominator=6)
"""Average costs of an example, from nothing to more than a small instance needs."""

prices: st.SearchStrategy[Fraction] = st.one_of(
    st.just(Fraction(0)), st.fractions(min_value=0, max_value=20, max_denominator=10)
)
"""Prices of one feature; many are 0."""


@st.composite
def instances(draw: st.DrawFn, max_internal: int = 8, max_trees: int = 3) -> PruningInstance:
    """Draw an instance; see `proofs.crosschecks.random_instances.draw_instance`.

    Among them are bare leaves, ties, zero costs, nodes that need two units, split costs, errors that rise from parent
    to children, and knapsacks of stumps.

    Parameters
    ----------
    max_internal : int
        Internal nodes in all.
    max_trees : int
        With fewer than three there are no knapsacks.
    """
    from proofs.crosschecks.random_instances import draw_instance

    return draw_instance(lambda low, high: draw(st.integers(low, high)), max_internal, max_trees)


@st.composite
def feature_costs(draw: st.DrawFn, n_features: int) -> FeatureCosts:
    """Draw prices of features, some of them in groups with a fee of their own."""
    from ipforest.costs import FeatureCosts

    costs = draw(st.lists(prices, min_size=n_features, max_size=n_features))
    n_groups = draw(st.integers(0, min(2, n_features)))
    if not n_groups:
        return FeatureCosts(costs)
    groups = draw(st.lists(st.integers(-1, n_groups - 1), min_size=n_features, max_size=n_features))
    return FeatureCosts(costs, groups=groups, group_fees=draw(st.lists(prices, min_size=n_groups, max_size=n_groups)))


@st.composite
def forests(draw: st.DrawFn, max_trees: int = 3, max_depth: int = 3) -> tuple[Forest, NDArray[np.float64]]:
    """Draw a random forest of scikit-learn's that is trained on a few drawn examples; give it with these examples.

    Values are whole numbers, so that many thresholds and gains tie.

    Returns
    -------
    tuple of Forest and ndarray of float64, shape (n_examples, n_features)
    """
    from sklearn.ensemble import RandomForestClassifier

    from ipforest.ensemble.forest import Forest

    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, 4, size=(draw(st.integers(4, 12)), draw(st.integers(1, 4)))).astype(np.float64)
    y = rng.integers(0, 2, size=len(X))
    trees, depth = draw(st.integers(1, max_trees)), draw(st.integers(1, max_depth))
    model = RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=0).fit(X, y)
    return Forest.from_sklearn(model), X


@st.composite
def network_matrices(draw: st.DrawFn, max_rows: int = 8, max_columns: int = 10) -> Matrix:
    """Draw a network matrix, which is totally unimodular: arcs of a tree (rows) against paths in it (columns)."""
    from proofs.unimodularity.known_matrices import random_network_matrix

    rows, columns = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    return random_network_matrix(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), rows, columns)


def transposed_network_matrices(max_rows: int = 10, max_columns: int = 8) -> st.SearchStrategy[Matrix]:
    """Draw the transpose of a network matrix, which is totally unimodular, too."""
    return network_matrices(max_columns, max_rows).map(lambda matrix: np.ascontiguousarray(matrix.T))


def unimodular_matrices(largest: int = 8) -> st.SearchStrategy[Matrix]:
    """Draw a totally unimodular matrix: a network matrix, the transpose of one, or both as blocks."""
    network, transposed = network_matrices(largest, largest), transposed_network_matrices(largest, largest)
    return st.one_of(network, transposed, st.tuples(network, transposed).map(lambda pair: _blocks(*pair)))


@st.composite
def not_unimodular_matrices(draw: st.DrawFn, largest: int = 8) -> Matrix:
    """Draw a matrix that is not totally unimodular: one that is, with an odd hole planted, in random order.

    The hole is the vertex-edge matrix of an odd cycle, of determinant 2; other entries do not matter.
    """
    matrix = draw(unimodular_matrices(largest))
    length = draw(st.sampled_from([3, 5, 7]))
    hole = np.eye(length, dtype=np.int64) + np.roll(np.eye(length, dtype=np.int64), 1, axis=1)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    planted = _blocks(hole, matrix)
    planted[:length, length:] = rng.integers(-1, 2, size=(length, matrix.shape[1])) * draw(st.integers(0, 1))
    shuffled: Matrix = planted[rng.permutation(len(planted))][:, rng.permutation(planted.shape[1])]
    return shuffled


def _blocks(one: Matrix, two: Matrix) -> Any:
    (m, n), (more, wider) = one.shape, two.shape
    zero, below = np.zeros((m, wider), dtype=np.int64), np.zeros((more, n), dtype=np.int64)
    return np.block([[one, zero], [below, two]])
