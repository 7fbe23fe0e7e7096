"""What the estimators that stop one of several candidates share: their candidates, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ipforest._internal.arrays import FloatArray
from ipforest._internal.examples import Labelled
from ipforest.estimator import PricedEstimator
from ipforest.estimator.base import FittedWithWeights
from ipforest.estimator.checks import check_integer
from ipforest.estimator.given import Given
from ipforest.settings import checked
from ipforest.stopping.paths import FittedRule, StageOutputs, StoppingPaths, StoppingRule
from ipforest.stopping.rules import Curve, LearntStopping, check_stopping, learn_stopping, stopped_by
from ipforest.stopping.scored import recorded, scorer_on


class Stoppable(NamedTuple):
    """What buys, what held-out examples see of it when none stops, and the rules that may stop it.

    Parameters
    ----------
    policy : TreesInOrder or StagesInOrder
    paths : StoppingPaths
    learnt : tuple of LearntStopping
    """

    policy: Any
    paths: StoppingPaths
    learnt: tuple[LearntStopping, ...]


@dataclass(eq=False, repr=False, kw_only=True)
class StoppedEstimator(FittedWithWeights, PricedEstimator):
    """Base of the estimators that take one of several candidates, a rule that stops it, and a level of the rule.

    Attributes
    ----------
    rule_, level_, curve_, paths_
        See `EarlyExit`.
    """

    takes_scorers = True
    must_hold_out = True

    stopping: StoppingRule | Sequence[StoppingRule] | None = checked(None, check_stopping)
    max_cost: Any = None
    class_costs: Any = None
    scoring: Any = None
    n_folds: int = checked(5, check_integer, 1)

    rule_: FittedRule = field(init=False)
    curve_: Curve = field(init=False)

    def _train_and_choose(self, training: Labelled, validation: Labelled, given: Given, **options: Any) -> None:
        self._groups_held_out = given.groups_held_out
        super()._train_and_choose(training, validation, given, **options)

    @property
    def _taken(self) -> str:
        return f"{self.policy().name}, {'never stopped' if self.level_ == -inf else stopped_by(self.rule_)}"  # type: ignore[attr-defined]  # trees or stages

    @property
    def _offered(self) -> FloatArray:
        return self.curve_.cost

    def _learnt(
        self, policy: Any, held_out: Labelled, record: Callable[[StageOutputs | None], StoppingPaths]
    ) -> Stoppable:
        """Learn when to stop what buys so, from what held-out examples see of it."""
        paths, score = recorded(record, scorer_on(self._scorer, *held_out, self._seller()), self._groups_held_out)
        return Stoppable(policy, paths, learn_stopping(self.stopping, paths, self.n_folds, score))

    def _take_best(self, candidates: Sequence[Stoppable], advice: str = "") -> Stoppable:
        """Take the first candidate, rule and level of least error, or cost and error, within the budget.

        ``advice`` is for where nothing is bought, and none of the candidates is better.
        """
        ways = [(candidate, learnt) for candidate in candidates for learnt in candidate.learnt]
        offers = [self._as_chosen_by(learnt.curve.frontier) for _, learnt in ways]
        levels = [offer.within(self.budget) for offer in offers]
        criteria = [offer.criterion[level] for offer, level in zip(offers, levels, strict=True)]
        best = int(np.argmin(criteria))
        better = np.concatenate([offer.cost[offer.criterion < criteria[best]] for offer in offers])
        self._warn_if_nothing_is_bought(float(offers[best].cost[levels[best]]), better, advice)
        chosen, (self.rule_, self.curve_) = ways[best]
        self.level_, self.paths_ = float(self.curve_.level[levels[best]]), chosen.paths
        return chosen
