"""What a sweep gives: pairs of gate and cheap model, and what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ipforest.choosing.frontier import Frontier
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
class MeasuredPair:
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


def frontier_of(measured: Sequence[MeasuredPair]) -> Frontier:
    """Collect what pairs cost and lose, in their order."""
    return Frontier.of_points((pair.cost, pair.error) for pair in measured)
