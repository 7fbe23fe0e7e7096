"""Curves of adaptive approximations, and what they save within one percent of the best accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.adaptive.approximation import AdaptiveApproximation
from ipforest.adaptive.candidates import Candidate, undominated
from ipforest.experiments.curves import mean_and_deviation
from ipforest.experiments.demo import Parts
from ipforest.experiments.experiment import Record

HALF, ANY_THRESHOLD, NO_GATE = "at one half", "any threshold", ""
"""Where a gate sends an example to the full model; of the second kind the threshold is chosen, too."""

TOLERANCE = 0.01
"""How much worse than the best, or the full model's, the error may be."""

COLUMNS = (
    "full_cost",
    "full_error",
    "best_error",
    "cost",
    "error",
    "saved",
    "cost_as_full",
    "error_as_full",
    "saved_as_full",
)


def adaptive_points(model: AdaptiveApproximation, parts: Parts) -> list[Record]:
    """Fit a model; measure the full model alone, and every candidate that some budget would take.

    Parameters
    ----------
    model : AdaptiveApproximation
    parts : Parts
    """
    model.fit(parts.X_train, parts.y_train, parts.X_validation, parts.y_validation)
    variants = {ANY_THRESHOLD: model.candidates_}
    if len(model.gate_shares):
        variants[HALF] = [candidate for candidate in model.candidates_ if candidate.pair.threshold == 0]
    return [
        {"gate": name, **point}
        for name, candidates in variants.items()
        for point in _points(model, parts, [model.candidates_[0], *undominated(candidates)])
    ]


def _points(model: AdaptiveApproximation, parts: Parts, taken: list[Candidate]) -> list[Record]:
    tested = model.measure(parts.X_test, parts.y_test, taken)
    return [
        {
            "validation_cost": held_out.cost,
            "validation_error": held_out.error,
            "cost": test.cost,
            "error": test.error,
            "full_share": test.full_share,
            "share": held_out.pair.share,
            "lambda": min(held_out.pair.lam, np.finfo(float).max),
            "rounds": held_out.pair.n_rounds,
            "is_full": number == 0,
        }
        for number, (held_out, test) in enumerate(zip(taken, tested, strict=True))
    ]


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
    rows = []
    for key in dict.fromkeys(tuple(record[name] for name in keys) for record in records):
        of_method = [record for record in records if tuple(record[name] for name in keys) == key]
        seeds = sorted({record["seed"] for record in of_method})
        runs = [_saving([point for point in of_method if point["seed"] == seed]) for seed in seeds]
        rows.append({**dict(zip(keys, key, strict=True)), **mean_and_deviation(runs, COLUMNS), "runs": len(runs)})
    return rows


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


def first_rows(parts: Parts, n_rows: int | None) -> Parts:
    """Take the first examples of each part."""

    def taken(array: Array) -> Any:
        return array if n_rows is None else array[:n_rows]

    return Parts(
        taken(parts.X_train),
        taken(parts.y_train),
        taken(parts.X_validation),
        taken(parts.y_validation),
        taken(parts.X_test),
        taken(parts.y_test),
    )
