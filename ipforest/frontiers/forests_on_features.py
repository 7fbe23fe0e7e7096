"""Averaged trees on many sets of features of the same examples: settings are chosen on a few sets and kept for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from ipforest._internal.arrays import Array, FloatArray, IntArray, evenly_spread
from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.frontiers.averaged_trees import AveragedTrees, AveragedTreesRegressor, Grown, OutOfBag, TreeSettings
from ipforest.frontiers.tasks import Task
from ipforest.growing import AcquisitionState, CodedExamples, GrownTree, GrownTrees, bootstrap_counts

N_CHOOSING = 3
"""On so many sets of features settings are chosen; evenly spread over the sizes of the sets, both ends among them."""

SURE = 2
"""What gets better by so many standard errors is no luck."""

AT_ONCE = 2**16
"""Trees are grown on so many examples, together, before the time is looked at."""


SEED = 0
"""Of the forests that only measure what features are worth."""


class Trained(NamedTuple):
    """Averaged trees, on how many columns, and how those of each kind were grown."""

    model: Any
    n_columns: int
    settings: Sequence[TreeSettings]


@dataclass(frozen=True, slots=True, eq=False)
class ForestsOnFeatures:
    """Trains averaged trees on sets of features.

    The kinds of trees, the sizes of leaves and what splits choose from are chosen as in `AveragedTrees`, out of bag, on
    `N_CHOOSING` of the sets; the other sets take the settings of the one among these that is nearest to them in size.
    Trees are grown on the codes of all examples, which the sets share. Those of extremely randomised trees, for which
    no sums per code are needed, are finer.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_columns)
    coded, finer : CodedExamples
        The same, for random forests and for extremely randomised trees.
    encoded : ndarray, shape (n_samples,)
        Numbers of classes, or targets.
    weight : ndarray of float64, shape (n_samples,)
    task : Task
    n_trees : int
        Of each kind.
    leaf_sizes : sequence of int
        Fewest examples per leaf that are tried, ascending.
    max_samples : int, optional
        Examples that a tree is grown on at most; see `n_drawn`.
    check : callable ()
        Called before a few trees each; what it raises ends training.
    """

    X: npt.NDArray[np.float32]
    coded: CodedExamples
    finer: CodedExamples
    encoded: Array
    weight: FloatArray
    task: Task
    n_trees: int
    leaf_sizes: Sequence[int]
    max_samples: int | None = None
    check: Callable[[], None] = lambda: None

    def on_rows(self, rows: IntArray) -> Self:
        """Return what trains on some of the examples."""
        if rows.size == self.encoded.size:
            return self
        columns = np.arange(self.coded.n_features)
        coded, finer = self.coded.part(columns, rows), self.finer.part(columns, rows)
        encoded, weight = self.encoded[rows], self.weight[rows]
        return replace(self, X=self.X[rows], coded=coded, finer=finer, encoded=encoded, weight=weight)

    def with_best_leaves(self) -> tuple[Forest, FloatArray]:
        """Train a random forest on all columns, with larger and larger leaves until its score out of bag rises.

        Returns
        -------
        Forest
        ndarray of float64, shape (n_samples, n_outputs)
            What it answers out of bag.
        """
        grow = self._growing(np.arange(self.coded.n_features), SEED)
        _, forest, answers = self._judge.best_leaves(grow, False, self.leaf_sizes)
        return forest, answers

    def random_forest(self, min_samples_leaf: int) -> Forest:
        """Train a random forest on all columns."""
        return self._bagged(TreeSettings(False, min_samples_leaf), np.arange(self.coded.n_features), SEED)[0]

    def trained(self, sets: Sequence[IntArray], seeds: Sequence[int], n_jobs: int | None = None) -> list[Trained]:
        """Train on each set of columns, in threads; their number changes nothing.

        Parameters
        ----------
        sets : sequence of ndarray of int64
            None empty.
        seeds : sequence of int
        n_jobs : int, optional
        """
        ascending = np.argsort([columns.size for columns in sets], kind="stable")
        choosing = ascending[evenly_spread(len(sets), N_CHOOSING)].tolist()
        run = Parallel(n_jobs=n_jobs, prefer="threads")
        known = run(delayed(self._best)(sets[place], seeds[place]) for place in choosing)
        others = [place for place in range(len(sets)) if place not in choosing]
        alike = self.trained_like(known, [sets[place] for place in others], [seeds[place] for place in others], n_jobs)
        trained = dict(zip([*choosing, *others], [*known, *alike], strict=True))
        return [trained[place] for place in range(len(sets))]

    def trained_like(
        self, known: Sequence[Trained], sets: Sequence[IntArray], seeds: Sequence[int], n_jobs: int | None = None
    ) -> list[Trained]:
        """Train on each set of columns with the settings of the known trees that are on about as many."""

        def train(columns: IntArray, seed: int) -> Trained:
            nearest = min(known, key=lambda each: abs(np.log(each.n_columns / columns.size)))
            forests = [self._bagged(settings, columns, seed)[0] for settings in nearest.settings]
            return self._averaged(nearest.settings, forests, seed)

        return list(Parallel(n_jobs=n_jobs, prefer="threads")(map(delayed(train), sets, seeds)))

    def _best(self, columns: IntArray, seed: int) -> Trained:
        """Train on a set of columns with the settings that are best there."""
        chosen = self._judge.best_kinds(self._growing(columns, seed), self.leaf_sizes, columns.size)
        return self._averaged([each.settings for each in chosen], [each.trees for each in chosen], seed)

    @property
    def _judge(self) -> OutOfBag:
        return OutOfBag(self.task, self.encoded, self.weight)

    def _growing(self, columns: IntArray, seed: int) -> Callable[[TreeSettings], Grown]:
        def grow(settings: TreeSettings) -> Grown:
            forest, out_of_bag = self._bagged(settings, columns, seed)
            return Grown(settings, forest, answers_out_of_bag(forest, out_of_bag, self.X[:, columns]))

        return grow

    def _bagged(self, settings: TreeSettings, columns: IntArray, seed: int) -> tuple[Forest, FloatArray]:
        coded = (self.finer if settings.one_random_cut else self.coded).part(columns)
        grower = settings.grower(coded.n_features, self.task.impurity)
        free = AcquisitionState.per_tree(free_features(coded.n_features))

        def grow(drawn: FloatArray, seeds: Sequence[int]) -> list[GrownTrees]:
            self.check()
            return [self.task.growing(grower)(coded, self.encoded, acquisition=free, weights=drawn, seeds=seeds)]

        trees, out_of_bag = bagged(grow, self.n_trees, self.weight, np.random.RandomState(seed), self.max_samples)
        return self.task.forest(trees, coded.n_features), out_of_bag

    def _averaged(self, settings: Sequence[TreeSettings], forests: Sequence[Forest], seed: int) -> Trained:
        kind = AveragedTreesRegressor if self.task.classes is None else AveragedTrees
        model = kind(self.n_trees, min_samples_leaf=self.leaf_sizes, random_state=seed)
        return Trained(model._take_trees(forests, settings).rest(), forests[0].n_features, settings)


@lru_cache
def free_features(n_features: int) -> FeatureCosts:
    """Return prices of 0."""
    return FeatureCosts([0] * n_features)


def n_drawn(n_samples: int, max_samples: int | None) -> int:
    """Count the examples drawn for a tree: as many as there are, but no more than ``max_samples``."""
    return n_samples if max_samples is None else min(n_samples, max_samples)


def bagged(
    grow: Callable[[FloatArray, Sequence[int]], Sequence[GrownTree]],
    n_trees: int,
    weight: FloatArray,
    random: Any,
    max_samples: int | None = None,
) -> tuple[list[GrownTree], FloatArray]:
    """Grow trees on bootstrap samples, as many at a time as take a moment.

    Parameters
    ----------
    grow : callable (weights, seeds) -> sequence of GrownTree
        With a row of weights, and a seed, for each tree.
    n_trees : int
    weight : ndarray of float64, shape (n_samples,)
    random : RandomState
    max_samples : int, optional
        See `n_drawn`.

    Returns
    -------
    list of GrownTree
    ndarray of float64, shape (n_samples, n_trees)
        Weights of the examples that each tree was not grown on, else 0.
    """
    drawn, seeds = np.empty((n_trees, weight.size)), []
    for row in drawn:
        row[:] = bootstrap_counts(weight.size, random, n_drawn(weight.size, max_samples)) * weight
        if not row.any():
            row[:] = weight
        seeds.append(int(random.randint(2**31)))
    at_once = max(1, AT_ONCE // weight.size)
    trees: list[GrownTree] = []
    for first in range(0, n_trees, at_once):
        trees += grow(drawn[first : first + at_once], seeds[first : first + at_once])
    return trees, np.where(drawn == 0, weight, 0.0).T


def is_clearly_better(before: FloatArray, after: FloatArray, weight: FloatArray, least_share: float = 0.0) -> bool:
    """Tell whether examples lose less: by a share of what they lost before, and by more than luck.

    Parameters
    ----------
    before, after : ndarray of float64, shape (n_samples,)
        What each example loses.
    weight : ndarray of float64, shape (n_samples,)
    least_share : float, default=0
    """
    if not weight.size:
        return False
    gain = weight * (before - after)
    by_luck = SURE * float(gain.std()) * np.sqrt(gain.size)
    return bool(gain.sum() > max(least_share * float(weight @ before), by_luck))


def impurity_reductions(forest: Forest) -> FloatArray:
    """Sum up by how much the tests of each feature lower the impurity of the training examples (mean decrease)."""
    total = forest.weight * forest.impurity
    inner = forest.internal_nodes
    lowered = total[inner] - total[forest.left[inner]] - total[forest.right[inner]]
    return np.asarray(np.bincount(forest.feature[inner], lowered, forest.n_features), dtype=np.float64)


def answers_out_of_bag(forest: Forest, out_of_bag: FloatArray, X: Array) -> FloatArray:
    """Average what the trees answer on examples that they were not grown on, shape (n_samples, n_outputs).

    Where there are none, class shares are 0, and a target is the mean of the roots.
    """
    answers, n_unseen = np.zeros((X.shape[0], forest.value.shape[1])), (out_of_bag > 0).sum(axis=1)
    for leaves, weight in zip(forest.leaves(X), out_of_bag.T, strict=True):
        unseen = weight > 0
        answers[unseen] += forest.value[leaves[unseen]]
    if not forest.is_classifier:
        answers[n_unseen == 0] = forest.value[forest.tree_offsets[:-1]].mean(axis=0)
    return np.asarray(answers / np.maximum(n_unseen, 1)[:, None])
