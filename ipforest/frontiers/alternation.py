"""Prune, refit, grow on what is bought, prune again: boosted trees of ever lower loss plus lambda times cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ipforest._internal.rational import nonnegative_fraction
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.refitting import mean_loss, refit_jointly
from ipforest.growing.boosting import Boosting
from ipforest.growing.grower import Grower
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.path_search import prune_path

__all__ = ["Alternation", "alternate", "penalised_loss"]

MILDER = 4
"""Where a pruning does not lower the objective, prunings for a fourth of lambda are tried, and so on."""


@dataclass(frozen=True, slots=True, eq=False)
class Alternation:
    """What alternating came to.

    Parameters
    ----------
    trees : BoostedTrees
    objectives : tuple of float
        Loss plus lambda times cost on the training examples, at the start and after each step; it never rises.
    """

    trees: BoostedTrees
    objectives: tuple[float, ...]


def penalised_loss(data: Boosting, trees: BoostedTrees, lam: float) -> float:
    """Compute the average loss on the training examples, plus lambda times their average cost."""
    loss = mean_loss(trees, data.examples, data.y, data.weight)
    return loss + lam * float(trees.cost(data.examples, data.costs).mean())


def alternate(
    data: Boosting,
    trees: BoostedTrees,
    lam: object,
    grower: Grower,
    *,
    n_rounds: int = 10,
    n_steps: int = 2,
    l2: float = 1.0,
    tolerance: float = 1e-3,
) -> Alternation:
    """Prune, refit and regrow until the objective stands still.

    The pruning is optimal for its surrogate (`ipforest.losses.stage_errors`), which may raise the objective itself;
    then milder prunings are tried, and of every step only what does not raise it is taken.

    Parameters
    ----------
    data : Boosting
        The training examples.
    trees : BoostedTrees
    lam : number
        What a unit of cost is worth in loss.
    grower : Grower
        Of the trees that are grown afterwards, at its own ``price_weight``; what is bought is free for them.
    n_rounds : int
        Rounds grown in each step; 0 to grow none.
    n_steps : int
        Most steps.
    l2 : float
        Of the refit; see `refit_jointly`.
    tolerance : float
        A step that lowers the objective by less than this share is the last.

    Returns
    -------
    Alternation
    """
    price = nonnegative_fraction(lam, "lam")
    objectives = [penalised_loss(data, trees, float(price))]
    for _ in range(n_steps):
        pruned, objective = _prune_and_refit(data, trees, price, objectives[-1], l2)
        objectives.append(objective)
        grown = data.go_on(pruned, n_rounds, grower) if n_rounds else pruned
        objective = penalised_loss(data, grown, float(price))
        trees = grown if objective <= objectives[-1] else pruned
        objectives.append(min(objective, objectives[-1]))
        if objectives[-1] > (1 - tolerance) * objectives[-3]:
            break
    return Alternation(trees, tuple(objectives))


def _prune_and_refit(
    data: Boosting, trees: BoostedTrees, lam: Fraction, best: float, l2: float
) -> tuple[BoostedTrees, float]:
    """Prune and refit, at lambda or the largest of its fourths, sixteenths, ... that does not raise the objective."""
    errors = (data.examples, data.y, data.weight)
    instance = PruningInstance.from_boosted(trees, data.examples, data.costs, errors, resolution=FITS_PATH)
    path = prune_path(instance)
    tried = lam
    while True:
        pruning = path.pruning(tried)
        refitted = refit_jointly(trees.prune(pruning), data.examples, data.y, data.weight, l2=l2)
        objective = penalised_loss(data, refitted, float(lam))
        if objective <= best:
            return refitted, objective
        if bool(np.all(pruning.kept)) or not path.breakpoints or tried < path.breakpoints[0]:
            return trees, best
        tried /= MILDER
