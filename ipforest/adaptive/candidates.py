"""What a sweep gives: pairs of gate and cheap model, what they are worth, and those that are worth having."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ipforest.choosing.choice import falling_hull, undominated
from ipforest.policy import Policy


@dataclass(frozen=True, slots=True, eq=False)
class GatedPair:
    """A gate and a cheap model, and the setting that they were learnt with.

    Parameters
    ----------
    gate, cheap : Policy
        One score; class probabilities.
    share, lam : float
        P_full and gamma of the paper.
    n_rounds : int
        Rounds of boosting, or of alternation.
    threshold : float
        An example goes to the full model if the gate's score exceeds this.
    """

    gate: Policy
    cheap: Policy
    share: float
    lam: float
    n_rounds: int
    threshold: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A gated pair with what it is worth on held-out examples.

    Parameters
    ----------
    pair : GatedPair
    error, cost : float
        Error rate, or with class costs what mistakes cost on average; what examples pay on average.
    full_share : float
        Share of the examples that go to the full model.
    """

    pair: GatedPair
    error: float
    cost: float
    full_share: float


def best_for_cost(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that have a lower error than every cheaper one, by rising cost."""
    return [candidates[place] for place in undominated(*_measures(candidates))]


def lower_hull(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates on the lower hull of error over cost, by rising cost."""
    return [candidates[place] for place in falling_hull(*_measures(candidates))]


def _measures(candidates: Sequence[Candidate]) -> tuple[list[float], list[float]]:
    return [candidate.cost for candidate in candidates], [candidate.error for candidate in candidates]
