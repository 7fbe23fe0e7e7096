"""What the estimators have in common that choose among members: each buys in its own way, and rules may stop it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np

from ipforest._internal.arrays import BoolArray, FloatArray
from ipforest._internal.examples import Labelled
from ipforest.choosing.measures import HeldOutScorer
from ipforest.estimator import PricedEstimator
from ipforest.estimator.base import FittedWithWeights
from ipforest.estimator.checks import check_integer
from ipforest.policy import Policy, TreesInOrder
from ipforest.settings import checked
from ipforest.stopping.early_exit_policy import EarlyExitPolicy, record_paths
from ipforest.stopping.paths import FittedRule, StageOutputs, StoppingPaths, StoppingRule
from ipforest.stopping.rules import Curve, LearntStopping, ScoreOfStops, check_stopping, learn_stopping, stopped_by
from ipforest.stopping.stages import StagesInOrder


class Member(NamedTuple):
    """An ensemble, or the stages of a cascade, and the rules that may stop it.

    Parameters
    ----------
    policy : TreesInOrder or StagesInOrder
        How it buys when no example stops.
    cost, loss : float
        Averages over the held-out examples when no example stops. Where a scorer chooses, the loss is the negative of
        its score, here and in what is learnt.
    learnt : tuple of LearntStopping
        Rules that may stop it, measured by cross-fitting on the same examples.
    source : str
        The estimator that made it, if it was one of several.
    paths : StoppingPaths
        What the held-out examples see of it when none stops; None where that is not kept.
    """

    policy: Any
    cost: float
    loss: float
    learnt: tuple[LearntStopping, ...]
    source: str = ""
    paths: Any = None

    @property
    def name(self) -> str:
        """What it is, and which estimator made it."""
        return f"{self.policy.name} of {self.source}" if self.source else self.policy.name

    def stopped(self, rule: FittedRule, level: float, free: BoolArray, class_costs: FloatArray | None = None) -> Policy:
        """Say how it buys when a rule stops it; features that are free are no stage of trees."""
        if isinstance(self.policy, StagesInOrder):
            return self.policy.stopped(rule, level)
        return EarlyExitPolicy(self.policy, rule, level, free, class_costs)

    def compact(self, policy: StagesInOrder, rule: int) -> Self:
        """Return it with a compact policy, stopped by one of its rules, or by none, in place of its own."""
        learnt = [LearntStopping(policy._rule, self.learnt[rule].curve)] if rule >= 0 else []
        return self._replace(policy=policy, learnt=(*self.learnt[: max(rule, 0)], *learnt))


@dataclass(eq=False, repr=False, kw_only=True)
class MemberEstimator(FittedWithWeights, PricedEstimator):
    """Base of the estimators that take one of several members, a rule that stops it, or none, and its level."""

    takes_scorers = True
    must_hold_out = True

    max_cost: Any = None
    scoring: Any = None

    @property
    @abstractmethod
    def _way(self) -> tuple[Member, FittedRule | None, float]:
        """The member that was taken, what stops it, None where nothing does, and at which level."""

    def _member(
        self,
        policy: TreesInOrder | StagesInOrder,
        held_out: Labelled,
        loss: Any,
        stopping: StoppingRule | Sequence[StoppingRule] | None,
        n_folds: int,
    ) -> Member:
        """Measure what buys so when no example stops, and learn when to stop it; see `_noted` and `learn_stopping`."""
        paths, score = self._noted(policy, held_out, loss)
        lost = float(paths.loss[:, -1].mean()) if score is None else -score(paths.last)
        learnt = learn_stopping(stopping, paths, n_folds, score)
        return Member(policy, float(paths.cost[:, -1].mean()), lost, learnt, paths=paths)

    def _noted(
        self, policy: TreesInOrder | StagesInOrder, held_out: Labelled, loss: Any
    ) -> tuple[StoppingPaths, ScoreOfStops | None]:
        """Note what examples see at every stage, and how a scorer, if there is one, judges where they stop.

        Parameters
        ----------
        policy : TreesInOrder or StagesInOrder
        held_out : Labelled
        loss : callable (outputs, y) -> ndarray, shape (n_samples,), or None
            See `record_paths`; with stages it is given.
        """
        X, y, _ = held_out
        scorer, answers = self._scorer_on(held_out), StageOutputs()
        noted = None if scorer is None else answers
        if isinstance(policy, StagesInOrder):
            paths = policy.paths_of(X, y, loss, noted)
        else:
            paths = record_paths(policy, self._seller(), X, y, self.max_cost, loss, noted)
        paths = paths.grouped(self._groups_held_out)
        return paths, None if scorer is None else lambda stages: scorer(answers.at(stages), paths.cost_at(stages))

    def _scorer_on(self, held_out: Labelled) -> HeldOutScorer | None:
        """Say how choices are scored, unless by their losses."""
        seller = self._seller()
        return None if self._scorer is None else HeldOutScorer(self._scorer, *held_out, seller.classes, seller.labels)

    def policy(self) -> Policy:
        """Say how the fitted model buys features and what it answers."""
        member, rule, level = self._way
        policy: Policy = member.policy
        if rule is not None:
            policy = member.stopped(rule, level, self._seller().free_features, self.class_costs_)
        if isinstance(policy, StagesInOrder) and (cap := self._cap_of(policy)) is not self.max_cost:
            return policy.within(cap)
        return policy

    def _keep_held_out(self, examples: Labelled | None) -> None:
        super()._keep_held_out(examples)
        self._n_held_out = 0 if examples is None else examples.y.size

    @property
    def _n_measured(self) -> int:
        return int(self.__dict__.get("_n_held_out", 0))


@dataclass(eq=False, repr=False, kw_only=True)
class StoppedEstimator(MemberEstimator):
    """Base of the estimators that learn to stop one of several candidates by rules that they are given.

    Attributes
    ----------
    rule_, level_, curve_, paths_
        See `EarlyExit`.
    """

    stopping: StoppingRule | Sequence[StoppingRule] | None = checked(None, check_stopping)
    class_costs: Any = None
    n_folds: int = checked(5, check_integer, 1)

    rule_: FittedRule = field(init=False)
    curve_: Curve = field(init=False)

    @property
    def _way(self) -> tuple[Member, FittedRule, float]:
        return self._chosen, self.rule_, self.level_

    @property
    def _taken(self) -> str:
        member, rule, level = self._way
        return f"{member.name}, {'never stopped' if level == -inf else stopped_by(rule)}"

    @property
    def _offered(self) -> FloatArray:
        return self.curve_.cost

    @property
    def paths_(self) -> StoppingPaths:
        """What held-out examples see and pay when no example stops."""
        paths: StoppingPaths = self._chosen.paths
        return paths

    def _take_best(self, candidates: Sequence[Member], advice: str = "") -> None:
        """Take the candidate, rule and level of least error, or cost and error, within the budget.

        Of equals it is the cheapest. ``advice`` is for where nothing is bought, and none of the candidates is better.
        """
        ways = [(candidate, learnt) for candidate in candidates for learnt in candidate.learnt]
        offers = [self._as_chosen_by(learnt.curve.frontier) for _, learnt in ways]
        levels = [offer.within(self.budget) for offer in offers]
        taken = [(offer.criterion[level], offer.cost[level]) for offer, level in zip(offers, levels, strict=True)]
        best = min(range(len(ways)), key=taken.__getitem__)
        least, cost = taken[best]
        better = np.concatenate([offer.cost[offer.criterion < least] for offer in offers])
        self._warn_if_nothing_is_bought(float(cost), better, advice)
        self._chosen, (self.rule_, self.curve_) = ways[best]
        self.level_ = float(self.curve_.level[levels[best]])
