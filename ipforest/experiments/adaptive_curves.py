"""Curves of adaptive approximations, and what they save within one percent of the best accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ipforest.adaptive import AdaptGbrt
from ipforest.adaptive.adapt_gbrt import BoostedSearch, PairGrowth
from ipforest.adaptive.approximation import Accounting, AdaptiveApproximation
from ipforest.adaptive.candidates import MeasuredPair, frontier_of
from ipforest.classifier_trees.ranking import average_precision_at
from ipforest.estimator import BudgetedEstimator
from ipforest.experiments.experiment import OURS, Record
from ipforest.experiments.options import Option
from ipforest.experiments.paper_data import PaperData
from ipforest.experiments.rows import averaged, grouped
from ipforest.growing.acquisition import Charge

HALF, ANY_THRESHOLD, NO_GATE = "at one half", "any threshold", ""
"""Where a gate sends an example to the full model; of the second kind the threshold is chosen, too."""

GATE_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

GAMMAS = (*np.logspace(-1, 1, 8), *np.logspace(1.2, 3, 8))
"""The authors' lambdas: what a unit of price is worth in squared error, halved and summed over the examples."""

TOLERANCE = 0.01
"""How much worse than the best, or the full model's, the error may be."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is swept for Adapt-Gbrt, and how its pairs are grown and measured.

    Parameters
    ----------
    shares : tuple of float
    lambdas : tuple of float or int
        See `AdaptGbrt`, as the others.
    learning_rates : tuple of float
    n_estimators, n_readouts, trees_per_step, max_regrowths : int
    charge : {"path", "tree", "node"}
    gate_shares : tuple of float
    accounting : {"union", "full model only"}
        What an example pays that goes to the full model; see `AdaptiveApproximation.measure`.
    """

    shares: tuple[float, ...]
    lambdas: tuple[float, ...] | int
    learning_rates: tuple[float, ...] = (0.5,)
    n_estimators: int = 100
    n_readouts: int = 10
    trees_per_step: int = 2
    max_regrowths: int = 0
    charge: Charge = "path"
    gate_shares: tuple[float, ...] = GATE_SHARES
    accounting: Accounting = "union"

    def under(self, settings: str, n_train: int) -> Sweep:
        """Return the sweep under a setting of the paper, the authors' lambdas being for so many training examples."""
        if settings == OURS:
            return self
        sweep = replace(self, gate_shares=(), n_estimators=50)
        if settings == "printed":
            return replace(sweep, trees_per_step=10, charge="tree")
        gammas = tuple(gamma / n_train for gamma in GAMMAS[::6])
        return replace(
            sweep, shares=(0.5, 0.8), lambdas=gammas, max_regrowths=50, charge="node", accounting="full model only"
        )

    def models(self, full_model: Any, data: PaperData, n_folds: int, seed: int) -> list[AdaptGbrt]:
        """Describe Adapt-Gbrt before a full model, which may have prices of its own, once per learning rate."""
        costs = None if isinstance(full_model, BudgetedEstimator) else data.costs
        return [
            AdaptGbrt(
                full_model,
                search=BoostedSearch(
                    shares=self.shares,
                    lambdas=self.lambdas,
                    n_readouts=self.n_readouts,
                    gate_shares=self.gate_shares,
                    n_folds=n_folds,
                ),
                growth=PairGrowth(
                    learning_rate=rate,
                    trees_per_step=self.trees_per_step,
                    max_regrowths=self.max_regrowths,
                    charge=self.charge,
                ),
                n_estimators=self.n_estimators,
                feature_costs=costs,
                random_state=seed,
            )
            for rate in self.learning_rates
        ]

    def points(self, full_model: Any, data: PaperData, n_folds: int, seed: int) -> list[Record]:
        """Fit Adapt-Gbrt before a full model, and measure it; see `adaptive_points`."""
        return adaptive_points(self.models(full_model, data, n_folds, seed), data, self.accounting)


def adaptive_points(
    models: Sequence[AdaptiveApproximation], data: PaperData, accounting: Accounting = "union"
) -> list[Record]:
    """Fit models before the same full model; measure the latter, and each pair that some budget would take.

    Where documents are ranked, the error is one less the average precision of the first five.

    Parameters
    ----------
    models : sequence of AdaptiveApproximation
    data : PaperData
    accounting : {"union", "full model only"}
    """
    for model in models:
        model.fit(*data.parts.to_fit)
    return fitted_points(models, data, accounting)


def fitted_points(models: Sequence[AdaptiveApproximation], data: PaperData, accounting: Accounting) -> list[Record]:
    """Measure fitted models; see `adaptive_points`."""
    of_models = [
        model.candidates_
        if accounting == "union" and data.queries is None
        else _measured(model, data, 1, model.candidates_, accounting)
        for model in models
    ]
    candidates = [candidate for of_model in of_models for candidate in of_model]
    at_half = [candidate for candidate in candidates if candidate.pair.threshold == 0]
    variants = {HALF if len(at_half) == len(candidates) else ANY_THRESHOLD: candidates}
    if len(models[0].get_params().get("search__gate_shares", ())):
        variants[HALF] = at_half
    points = []
    for name, of_gate in variants.items():
        taken = [candidates[0], *(of_gate[place] for place in frontier_of(of_gate).undominated())]
        tested: dict[int, MeasuredPair] = {}
        for model, of_model in zip(models, of_models, strict=True):
            its_own = set(map(id, of_model))
            theirs = [candidate for candidate in taken if id(candidate) in its_own]
            tested |= dict(zip(map(id, theirs), _measured(model, data, 2, theirs, accounting), strict=True))
        for number, held_out in enumerate(taken):
            points.append({"gate": name, **_point(held_out, tested[id(held_out)]), "is_full": number == 0})
    return points


def _measured(
    model: AdaptiveApproximation, data: PaperData, part: int, candidates: Sequence[MeasuredPair], accounting: Accounting
) -> list[MeasuredPair]:
    """Measure candidates on the validation (1) or test (2) part."""
    X, y = data.parts.held_out[part - 1]
    if data.queries is None:
        return model.measure(X, y, candidates, accounting)
    queries = data.queries[part]
    return model.measure(
        X, y, candidates, accounting, lambda outputs: 1 - average_precision_at(y, outputs[:, 1], queries)
    )


def _point(held_out: MeasuredPair, test: MeasuredPair) -> Record:
    return {
        **Option(held_out.cost, held_out.error, test.cost, test.error).means,
        "full_share": test.full_share,
        "share": held_out.pair.share,
        "lambda": min(held_out.pair.lam, np.finfo(float).max),
        "rounds": held_out.pair.n_rounds,
    }


def savings(records: list[Record], keys: tuple[str, ...]) -> list[Record]:
    """Find what each method saves against the full model, everything chosen on validation data.

    Parameters
    ----------
    records : list of dict
        Points of curves; those of the full model alone are marked ``is_full``.
    keys : tuple of str
        What tells the methods apart.

    Returns
    -------
    list of dict
        The keys; mean and deviation over seeds of cost and error on test data: of the full model, of the best point,
        of the cheapest within one percent of the best accuracy, and of the cheapest within one percent of the full
        model's; and the shares of the full model's cost that these save. Where the full model is the best, both agree.
    """
    runs = [
        {**dict(zip(keys, key, strict=False)), **_saving(points)}
        for key, points in sorted(grouped(records, *keys, "seed").items(), key=lambda item: item[0][-1])
    ]
    first = list(grouped(records, *keys))
    rows = averaged(runs, keys, [column for column in runs[0] if column not in keys] if runs else [])
    return sorted(rows, key=lambda row: first.index(tuple(row[key] for key in keys)))


def _saving(points: list[Record]) -> Record:
    full = next(point for point in points if point["is_full"])
    best = min(points, key=lambda point: (point["validation_error"], point["validation_cost"]))
    near_best, near_full = (_cheapest(points, point["validation_error"] + TOLERANCE) for point in (best, full))
    return {
        "full_cost": full["cost"],
        "full_error": full["error"],
        "best_error": best["error"],
        "cost": near_best["cost"],
        "error": near_best["error"],
        "saved": 1 - near_best["cost"] / full["cost"],
        "cost_as_full": near_full["cost"],
        "error_as_full": near_full["error"],
        "saved_as_full": 1 - near_full["cost"] / full["cost"],
    }


def _cheapest(points: list[Record], most: float) -> Record:
    """Find the cheapest point with at most this error on validation data."""
    good = [point for point in points if point["validation_error"] <= most]
    return min(good, key=lambda point: (point["validation_cost"], point["validation_error"]))
