"""Boosting whose trees pay for the units that an example has not bought yet, from nothing or after trees that stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, FloatArray
from ipforest.costs import FeatureCosts
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.margin_losses import MARGIN_LOSSES, encode_targets
from ipforest.growing.acquisition import AcquisitionState
from ipforest.growing.codes import CodedExamples
from ipforest.growing.grower import Grower, GrownTrees, forest_of

__all__ = ["Boosting", "constant_margins"]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Where examples stand after some trees.

    Parameters
    ----------
    trees : BoostedTrees
    margins : ndarray of float64, shape (n_samples, n_margins)
        Of the training examples.
    bought : ndarray of bool, shape (n_samples, n_units)
    held_out : ndarray of float64, shape (n_held_out, n_margins)
        Margins of the examples held out.
    """

    trees: BoostedTrees
    margins: FloatArray
    bought: BoolArray
    held_out: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Boosting:
    """What trees are boosted on.

    Parameters
    ----------
    examples : ndarray of float32, shape (n_samples, n_features)
        NaN where a value is missing.
    coded : CodedExamples
        The same, in bins.
    y : ndarray, shape (n_samples,)
    weight : ndarray of float64, shape (n_samples,)
    classes : ndarray or None
        Class labels; None for regression.
    costs : FeatureCosts
    learning_rate : float
        What the Newton step of a leaf is multiplied by.
    held_out : ndarray of float32, shape (n_held_out, n_features), optional
        Examples whose margins are kept up to date as well, as those of new trees are added.
    """

    examples: npt.NDArray[np.float32]
    coded: CodedExamples
    y: Array
    weight: FloatArray
    classes: Array | None
    costs: FeatureCosts
    learning_rate: float
    held_out: npt.NDArray[np.float32] | None = None

    def start(self) -> BoostedTrees:
        """Return the best constant margins as bare roots, one per margin."""
        targets = encode_targets(self.y, self.classes)
        link = link_for(self.classes)
        base = constant_margins(targets, self.weight, link)
        return BoostedTrees(
            tree_offsets=np.arange(base.size + 1),
            left=np.full(base.size, -1),
            right=np.full(base.size, -1),
            feature=np.full(base.size, -1),
            threshold=np.zeros(base.size),
            missing_left=np.zeros(base.size, dtype=bool),
            n_features=self.examples.shape[1],
            value=np.zeros((base.size, 1)),
            cover=np.full(base.size, np.count_nonzero(self.weight)),
            first_output=np.arange(base.size, dtype=np.int32),
            base_score=base,
            classes=self.classes,
            link=link,
        )

    def standing(self, trees: BoostedTrees) -> Standing:
        """Compute where the training examples stand after trees: their margins, and what they have bought."""
        leaves = trees.leaves(trees.checked_examples(self.examples))
        state = AcquisitionState.per_example(self.costs, self.y.shape[0])
        state.record_trees(trees, leaves)
        margins = np.tile(trees.base_score, (self.y.shape[0], 1))
        for reached, columns in zip(leaves, trees.output_columns(), strict=True):
            margins[:, columns] += trees.value[reached]
        return Standing(trees, margins, state.bought, self._added(trees))

    def _added(self, trees: BoostedTrees, before: FloatArray | None = None) -> FloatArray:
        """Add what trees say of the examples held out."""
        if self.held_out is None:
            return np.empty((0, trees.base_score.size))
        return trees.margins(self.held_out, before)

    def go_on(self, trees: BoostedTrees, n_rounds: int, grower: Grower) -> BoostedTrees:
        """Return the trees followed by new ones; see `grow`."""
        return self.grow(self.standing(trees), n_rounds, grower).trees

    def grow(
        self,
        standing: Standing,
        n_rounds: int,
        grower: Grower,
        seed: int = 0,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Standing:
        """Return where examples stand after more trees.

        What the training examples need in the trees that stand is theirs already; a split costs what the others at the
        node have to buy, times the grower's ``price_weight``. Growing ends early when no tree of a round is worth a
        split.

        Parameters
        ----------
        standing : Standing
            Stays as it is.
        n_rounds : int
            Rounds of one new tree per margin.
        grower : Grower
            With `Gradient` as its impurity.
        seed : int
        is_over : callable () -> bool
            Asked before each round; where it says so, no more are grown.
        """
        trees, margins = standing.trees, standing.margins
        loss, targets = MARGIN_LOSSES[trees.link], encode_targets(self.y, self.classes)
        state = AcquisitionState.per_example(self.costs, self.y.shape[0])
        state.bought[:] = standing.bought
        grown: list[GrownTrees] = []
        n_margins = margins.shape[1]
        for number in range(n_rounds):
            if is_over():
                break
            gradient, hessian = loss.derivatives(margins, targets)
            seeds = range(seed + number * n_margins, seed + (number + 1) * n_margins)
            trees_of_round = grower.grow_regressors(
                self.coded, gradient.T, hessian.T, state, self.weight[None], seeds, self.examples
            )
            if trees_of_round.n_nodes == n_margins:
                break
            trees_of_round.value[:] *= self.learning_rate
            margins = margins + trees_of_round.answers.T
            grown.append(trees_of_round)
        if not grown:
            return standing
        more = _boosted(trees, grown)
        return Standing(trees.followed_by(more), margins, state.bought, self._added(more, standing.held_out))


def _boosted(like: BoostedTrees, grown: list[GrownTrees]) -> BoostedTrees:
    forest = forest_of(grown, like.n_features, None, "squared_error")
    structure = {
        name: getattr(forest, name)
        for name in (
            *("tree_offsets", "left", "right", "feature", "threshold", "missing_left", "category_set"),
            *("left_categories", "value"),
        )
    }
    cover = forest.n_samples.astype(np.float64)
    return replace(
        like, **structure, cover=cover, first_output=(np.arange(forest.n_trees) % like.base_score.size).astype(np.int32)
    )


def link_for(classes: Array | None) -> str:
    """Return the link of targets, of two classes, or of more."""
    if classes is None:
        return "identity"
    return "logit" if len(classes) == 2 else "multinomial logit"


def constant_margins(targets: FloatArray, weight: FloatArray, link: str) -> FloatArray:
    """Compute the margins of least loss that are the same for all examples, for the links of `link_for`."""
    means = np.average(targets, axis=0, weights=weight)
    if link == "identity":
        return means
    shares = np.clip(means, 1e-9, 1 - 1e-9)
    constants: FloatArray = np.log(shares / (1 - shares)) if link == "logit" else np.log(shares)
    return constants
