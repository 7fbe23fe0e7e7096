"""What the leaves of boosted trees add, learnt anew: tree by tree by Newton steps, or all together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_array

from ipforest._internal.arrays import Array, FloatArray, Int32Array
from ipforest._internal.examples import require_rows_in_order
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.margin_losses import checked_weights, encode_targets

__all__ = ["fill_inner_values", "mean_loss", "refit_by_newton", "refit_jointly"]

TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Examples as the refits take them: what trees compare, encoded targets, and weights."""

    trees: BoostedTrees
    examples: Array
    targets: FloatArray
    weight: FloatArray

    @classmethod
    def of(
        cls, trees: BoostedTrees, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
    ) -> _Sample:
        require_rows_in_order(X, y)
        require_rows_in_order(X, sample_weight, "sample_weight")
        examples = trees.checked_examples(X)
        n_samples = examples.shape[0]
        targets = encode_targets(y, trees.classes, n_samples)
        return cls(trees, examples, targets, checked_weights(sample_weight, n_samples))

    def leaves(self) -> Int32Array:
        return self.trees.leaves(self.examples)


def mean_loss(
    trees: BoostedTrees, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> float:
    """Compute the average loss of the margins on examples, that of the link; see `BoostedTrees.margin_loss`."""
    sample = _Sample.of(trees, X, y, sample_weight)
    losses = trees.margin_loss.value(trees.margins_at(sample.leaves()), sample.targets)
    return float(np.average(losses, weights=sample.weight))


def fill_inner_values(trees: BoostedTrees, X: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Any:
    """Return the trees with values at internal nodes: the mean of the leaves below over the examples that reach them.

    It is what a node adds if it becomes a leaf, for trees of libraries that only store their leaves. Nodes that no
    example reaches get 0.
    """
    leaves = trees.leaves(trees.checked_examples(X))
    weight = checked_weights(sample_weight, leaves.shape[1])
    columns = [np.where(trees.is_leaf, column, 0.0)[leaves] * weight for column in trees.value.T]
    total, *sums = trees.reach_sums(leaves, [weight, *columns]).T
    means = np.column_stack(sums) / np.maximum(total, TINY)[:, None]
    return replace(trees, value=np.where(trees.is_leaf[:, None], trees.value, means))


def refit_by_newton(
    trees: BoostedTrees,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    learning_rate: float = 0.1,
    l2: float = 1.0,
    leaves: Iterable[Int32Array] | None = None,
    check: Callable[[], None] = lambda: None,
) -> BoostedTrees:
    r"""Refit the values of all nodes tree by tree, each by one Newton step at the margins of the trees before it.

    A node adds :math:`-\eta G / (H + l_2)` with the sums of gradients and Hessians of the examples that pass it. Nodes
    that none passes keep their value.

    Parameters
    ----------
    trees : BoostedTrees
    X, y, sample_weight
        Examples, shape (n_samples, n_features), their targets and, optionally, weights.
    learning_rate : float
        :math:`\eta`.
    l2 : float
        Penalty on squared values.
    leaves : iterable of ndarray of int32, shape (n_samples,), optional
        Where the examples end in one tree after another, if it is known; see `BoostedTrees.leaves`.
    check : callable ()
        Called before each tree; what it raises ends refitting.
    """
    sample, value = _Sample.of(trees, X, y, sample_weight), trees.value.copy()
    n_samples = sample.weight.size
    course = trees.margin_loss.course_from(np.tile(trees.base_score, (n_samples, 1)), sample.targets)
    ones = np.ones((n_samples, value.shape[1]))
    of_trees = zip(trees, trees.output_columns(), sample.leaves() if leaves is None else leaves, strict=True)
    for number, ((start, stop), columns, reached) in enumerate(of_trees):
        check()
        G, H, W = trees.sums_of_tree(number, reached, sample.weight, *course.derivatives(columns), ones)
        value[start:stop] = np.where(W > 0, -learning_rate * G / np.maximum(H + l2, TINY), value[start:stop])
        course.add(value[reached], columns)
    return replace(trees, value=value)


def refit_jointly(
    trees: BoostedTrees,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    l2: float = 1.0,
    max_iter: int = 30,
) -> BoostedTrees:
    r"""Refit all leaf values together: ridge regression from where they are, for any loss.

    Minimises :math:`\sum_i \ell(y_i, F_i) + \frac{l_2}{2} \lVert v - v_0 \rVert^2` over the leaf values v, by L-BFGS
    from the present values v_0: the loss on the examples never rises. Internal nodes keep their values.

    Parameters
    ----------
    trees : BoostedTrees
    X, y, sample_weight
        Examples, shape (n_samples, n_features), their targets and, optionally, weights.
    l2 : float
        Penalty on what is added to the values.
    max_iter : int
        Most iterations.
    """
    sample = _Sample.of(trees, X, y, sample_weight)
    leaves, loss = sample.leaves(), trees.margin_loss
    start = trees.margins_at(leaves)
    n_trees, n_samples = leaves.shape
    number = np.cumsum(trees.is_leaf) - 1
    n_leaves, n_values = int(number[-1]) + 1, trees.value.shape[1]
    indptr = np.arange(0, n_trees * n_samples + 1, n_trees)
    columns = trees.output_columns()
    designs = []
    for first in sorted({block.start for block in columns}):
        mine = np.array([block.start == first for block in columns], dtype=np.float64)
        ends = csr_array((np.tile(mine, n_samples), number[leaves.T].ravel(), indptr.copy()), (n_samples, n_leaves))
        ends.eliminate_zeros()
        designs.append((slice(first, first + n_values), ends, ends.T.tocsr()))

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        change = flat.reshape(n_leaves, n_values)
        margins = start.copy()
        for block, ends, _ in designs:
            margins[:, block] += ends @ change
        lost = float(sample.weight @ loss.value(margins, sample.targets))
        slope = sample.weight[:, None] * loss.derivatives(margins, sample.targets)[0]
        gradient = l2 * change
        for block, _, transposed in designs:
            gradient = gradient + transposed @ slope[:, block]
        return lost + l2 / 2 * float(np.square(change).sum()), gradient.ravel()

    found = minimize(
        objective, np.zeros(n_leaves * n_values), jac=True, method="L-BFGS-B", options={"maxiter": max_iter}
    )
    value = trees.value.copy()
    value[trees.is_leaf] += found.x.reshape(n_leaves, n_values)
    return replace(trees, value=value)
