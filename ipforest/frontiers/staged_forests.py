"""Forests for the stages of cascades: what plans want is trained, categories encoded, and settings shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import IntArray
from ipforest._internal.examples import Labelled
from ipforest.frontiers.forests_on_features import ForestsOnFeatures, Trained
from ipforest.frontiers.shares_of_categories import SharesOfCategories
from ipforest.frontiers.tasks import Task
from ipforest.frontiers.work import Work
from ipforest.growing import CodedExamples
from ipforest.growing.codes import MAX_BINS
from ipforest.stopping.stages import Stage

Wanted = tuple[IntArray, IntArray]
"""Features that a model sees, and the training examples that it learns from."""


class StagePlans(Protocol):
    """Cascades whose stages have no models yet: nested forests, forests that branch, cascades by context.

    Attributes
    ----------
    share_of_trees : float
        Each stage has so many trees of each of two kinds, as a share of ``n_estimators``.
    """

    share_of_trees: float

    def wanted(self) -> Sequence[Wanted]:
        """Say on which features and training examples each model is to be trained."""

    def cascades(self, models: Sequence[Any]) -> Sequence[tuple[Stage, ...]]:
        """Give the stages of each cascade, in order.

        Parameters
        ----------
        models : sequence of fitted estimators
            As `wanted`.
        """


@dataclass(frozen=True, slots=True, eq=False)
class EncodedExamples:
    """Training examples with class shares, or mean targets, in place of categories, and in bins.

    Parameters
    ----------
    training : Labelled
    X : ndarray of float32, shape (n_samples, n_columns)
        What stands for each category, then the features that are numbers.
    coded, finer : CodedExamples
        The same, in bins as for the other trees and in as many as a byte counts.
    of_feature : list of ndarray of int64
        The columns that stand for each feature.
    shares : SharesOfCategories
    task : Task
    """

    training: Labelled
    X: npt.NDArray[np.float32]
    coded: CodedExamples
    finer: CodedExamples
    of_feature: list[IntArray]
    shares: SharesOfCategories
    task: Task

    @classmethod
    def of(cls, training: Labelled, categories: tuple[int, ...], max_bins: int | None, task: Task) -> Self:
        """Encode training examples."""
        X = np.ascontiguousarray(training.X, dtype=np.float32)
        shares = SharesOfCategories.of(X, training.y, categories, task)
        numbers = np.setdiff1d(np.arange(X.shape[1]), categories)
        n_shares = shares.numbers.shape[1]
        of_number = {feature: np.array([n_shares + place]) for place, feature in enumerate(numbers.tolist())}
        of_feature = [columns for _, columns in sorted((shares.of_feature | of_number).items())]
        if categories:
            X = np.hstack([shares.columns(X), X[:, numbers]])
        coded, finer = (CodedExamples.from_examples(X, bins) for bins in (max_bins, MAX_BINS if max_bins else None))
        return cls(training, X, coded, finer, of_feature, shares, task)

    def columns(self, features: IntArray) -> IntArray:
        """List the columns that stand for features, those of categories first."""
        return np.concatenate([columns for _, columns in self._listed(features)])

    def _listed(self, features: IntArray) -> list[tuple[int, IntArray]]:
        """List the places of features with the columns that stand for them, those of categories first."""
        is_number = ~np.isin(features, [*self.shares.of_feature])
        places = np.argsort(is_number, kind="stable").tolist()
        return [(place, self.of_feature[features[place]]) for place in places]

    def as_tests_of_categories(self, trained: Trained, features: IntArray) -> Trained:
        """Have trees on the columns that stand for features test categories themselves, if there are any."""
        places, own = zip(*self._listed(features), strict=True)
        columns = np.concatenate(own)
        if columns[0] >= self.shares.numbers.shape[1]:
            return trained
        place_of_column = np.repeat(places, [each.size for each in own])
        forests = [
            self.shares.as_tests_of_categories(forest, columns, place_of_column) for forest in trained.model.ensembles_
        ]
        return trained._replace(model=trained.model._take_trees(forests, trained.settings).rest())


@dataclass(frozen=True, slots=True, eq=False)
class StagedForests:
    """Trains the models that plans want: on no features a constant, else averaged trees of two kinds.

    Parameters
    ----------
    examples : EncodedExamples
    n_estimators : int
    leaf_sizes : sequence of int
        Fewest examples per leaf that are tried, ascending.
    max_samples : int or None
        Examples that a tree is grown on at most.
    random : RandomState
        Draws a seed for each model.
    work : Work
    n_jobs : int, optional
    """

    examples: EncodedExamples
    n_estimators: int
    leaf_sizes: Sequence[int]
    max_samples: int | None
    random: np.random.RandomState
    work: Work
    n_jobs: int | None = None

    def growing(self, n_trees: int) -> ForestsOnFeatures:
        """Return what grows so many trees of each kind on columns of the encoded examples."""
        of, check = self.examples, self.work.check
        targets, weight = of.task.encoded(of.training.y), of.training.weight
        settings = self.leaf_sizes, self.max_samples, check
        return ForestsOnFeatures(of.X, of.coded, of.finer, targets, weight, of.task, n_trees, *settings)

    def trained(self, plans: StagePlans, alike: Sequence[Trained] = ()) -> list[Trained]:
        """Train what plans want, those of the same examples in threads.

        Parameters
        ----------
        plans : StagePlans
        alike : sequence of Trained, optional
            Trees are grown as those of these that are on about as many columns.
        """
        of, wanted = self.examples, plans.wanted()
        models = [Trained(None, 0, ())] * len(wanted)
        seeds = [int(self.random.randint(2**31)) if features.size else 0 for features, _ in wanted]
        of_part: dict[bytes, list[int]] = {}
        for place, (features, rows) in enumerate(wanted):
            if features.size:
                of_part.setdefault(rows.tobytes(), []).append(place)
            else:
                part = of.training.rows(rows)
                models[place] = Trained(of.task.constant().fit(part.X, part.y, part.weight), 0, ())
        everywhere = self.growing(ceil(plans.share_of_trees * self.n_estimators))
        alike = [each for each in alike if each.n_columns]
        for places in of_part.values():
            forests = everywhere.on_rows(wanted[places[0]][1])
            train = partial(forests.trained_like, alike) if alike else forests.trained
            sets, own = [of.columns(wanted[place][0]) for place in places], [seeds[place] for place in places]
            for place, trees in zip(places, train(sets, own, self.n_jobs), strict=True):
                models[place] = of.as_tests_of_categories(trees, wanted[place][0])
        return models
