"""What a sweep gives: pairs of gate and cheap model, what they are worth, and those that are worth having."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def undominated(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that have a lower error than every cheaper one, by rising cost."""
    kept: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda candidate: (candidate.cost, candidate.error)):
        if not kept or candidate.error < kept[-1].error:
            kept.append(candidate)
    return kept


def lower_hull(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates on the lower hull of error over cost, by rising cost."""
    hull: list[Candidate] = []
    for candidate in undominated(candidates):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], candidate):
            hull.pop()
        hull.append(candidate)
    return hull


def _turns_up(first: Candidate, middle: Candidate, last: Candidate) -> bool:
    """Whether the middle one lies on or above the line of the other two."""
    rise = (last.error - first.error) * (middle.cost - first.cost)
    return (middle.error - first.error) * (last.cost - first.cost) >= rise
