"""Optimally pruning decision tree ensembles, table 1: joint against individual pruning of BudgetRF's trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from sklearn.model_selection import StratifiedKFold

from ipforest._internal.arrays import Array
from ipforest._internal.examples import Labelled
from ipforest.costs import FeatureCosts
from ipforest.experiments.condensed import columns
from ipforest.experiments.curves import COLOURS, pairs_forest
from ipforest.experiments.experiment import OURS, Cell, Experiment, Record, Steps, settings_of
from ipforest.experiments.paper_data import available, load_parts, load_whole
from ipforest.experiments.parts import Parts
from ipforest.experiments.routed_examples import RoutedExamples, Score
from ipforest.experiments.rows import grouped, panels
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.learners.forest_pruner import pruning_set
from ipforest.learners.pruning_baselines import without_sharing
from ipforest.path_search import prune_path
from ipforest.results import Pruning


class Setting(NamedTuple):
    """How BudgetRF's trees are grown, and on which training examples the errors of a pruning are counted."""

    cuts: str
    errors: str


SETTINGS = {
    "printed": Setting("random", "in-bag"),
    "authors": Setting("all", "training"),
    OURS: Setting("all", "in-bag"),
}

FOLDS = 10
METHODS = ("joint", "individual")
LAMBDAS = tuple(np.geomspace(1e-5, 1.0, 61).tolist())
PRINTED = {
    "miniboone": ((37.0671, 0.0725), (25.2960, 35.2219, 0.0724), (16.0018, 20.4584, 0.0766)),
    "forest": ((13.9005, 0.1122), (12.2463, 12.9604, 0.1135), (9.0577, 10.9565, 0.1220)),
    "cifar10": ((186.5456, 0.3152), (172.3720, 173.5255, 0.3165), (140.6308, 145.2933, 0.3227)),
    "sonar": ((49.9715, 0.1539), (22.5860, 37.1355, 0.1838), (8.2349, 14.0479, 0.2121)),
    "heart": ((12.1670, 0.1721), (8.9133, 11.7052, 0.1711), (5.8094, 9.2301, 0.1977)),
}
"""Unpruned cost and error; then, at the low and the high level, joint cost, individual cost, and joint error."""


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per repetition and data set."""
    small = [
        {"data": data, "seed": seed + run, "trees": 90, "folds": FOLDS, "examples": None}
        for run in range(1 if quick else 100)
        for data in ("sonar", "heart")
    ]
    large = [
        {"data": data, "seed": seed + run, "trees": 40, "folds": 0, "examples": 2500 if quick else None}
        for run in range(1 if quick else 10)
        for data in ("miniboone", "forest", "cifar10")
        if available(data)
    ]
    return small + large


def run(cell: Cell) -> list[Record]:
    """Measure both ways of pruning over lambda, on the test part or on each fold."""
    if not cell["folds"]:
        data = load_parts(cell["data"], cell["examples"])
        return _both(data.parts, data.costs, cell)
    X, y = load_whole(cell["data"])
    costs = FeatureCosts.uniform(X.shape[1])
    records = []
    for fold, parts in enumerate(folds_of(X, y, cell["folds"], cell["seed"])):
        records += [{"fold": fold, **record} for record in _both(parts, costs, cell)]
    return records


def folds_of(X: Array, y: Array, n_folds: int, seed: int) -> list[Parts]:
    """Part examples for cross-validation; the training part is the validation part, too."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y)
    return [Parts.of_rows(X, y, (train, train, test)) for train, test in folds]


def _both(parts: Parts, costs: FeatureCosts, cell: Cell) -> list[Record]:
    setting = SETTINGS[settings_of(cell)]
    fitted = pairs_forest(cell["trees"], cell["seed"], cuts=setting.cuts).fit(parts.X_train, parts.y_train)
    forest = fitted.to_forest()
    training = Labelled(parts.X_train, parts.y_train, np.ones(parts.y_train.size))
    instance = PruningInstance.from_forest(
        forest,
        parts.X_validation,
        costs,
        error_data=pruning_set(setting.errors, fitted, training),
        resolution=FITS_PATH,
    )
    test = RoutedExamples.of(forest, parts.X_test, parts.y_test, costs)
    return [{"fold": 0, **record} for record in over_lambda(instance, test)]


def over_lambda(instance: PruningInstance, test: RoutedExamples) -> list[Record]:
    """Measure the unpruned forest, and the prunings at each of `LAMBDAS`, joint and tree by tree."""
    records: list[Record] = [{"method": "unpruned", "lam": 0.0, **test.score(instance.unpruned)._asdict()}]
    for method, path in zip(METHODS, (prune_path(instance), prune_path(without_sharing(instance))), strict=True):
        level, scores = path.node_lambda.astype(np.float64), dict[int, Score]()
        for lam in LAMBDAS:
            pruning = Pruning(level > lam)
            if pruning.n_kept not in scores:
                scores[pruning.n_kept] = test.score(pruning)
            records.append({"method": method, "lam": lam, **scores[pruning.n_kept]._asdict()})
    return records


def summarise(records: list[Record]) -> list[Record]:
    """Match errors: the least cost at which each method's mean curve has the paper's rise of error over the forest.

    Standard errors are the jackknife's over runs; those of a single run are 0.
    """
    rows = []
    for (data,), of_data in grouped(records, "data").items():
        curves = {method: _curves(of_data, method) for method in ("unpruned", *METHODS)}
        runs = np.arange(len(curves["unpruned"]))
        paper_whole, *paper_levels = PRINTED[data]
        for level, (paper_joint, paper_individual, paper_error) in zip(("low", "high"), paper_levels, strict=True):
            rise = max(0.0, paper_error - paper_whole[1])
            cost, error, joint, individual, saved = matched = _matched(curves, runs, rise)
            without_one = [_matched(curves, np.delete(runs, run), rise) for run in runs if runs.size > 1]
            errors = np.sqrt(runs.size - 1) * np.std(without_one or [matched], axis=0)
            rows.append(
                {
                    "data": data,
                    "level": level,
                    "unpruned_cost": round(cost, 3),
                    "unpruned_error": round(error, 4),
                    "error": round(error + rise, 4),
                    "joint_cost": round(joint, 3),
                    "joint_se": round(float(errors[2]), 3),
                    "individual_cost": round(individual, 3),
                    "individual_se": round(float(errors[3]), 3),
                    "saved": round(saved, 3),
                    "saved_se": round(float(errors[4]), 3),
                    "joint_share": round(100 * joint / cost, 1),
                    "individual_share": round(100 * individual / cost, 1),
                    "runs": runs.size,
                    "paper_unpruned_cost": paper_whole[0],
                    "paper_error": paper_error,
                    "paper_joint_cost": paper_joint,
                    "paper_individual_cost": paper_individual,
                }
            )
    return rows


def _matched(curves: dict[str, Array], runs: Array, rise: float) -> tuple[float, float, float, float, float]:
    """Match the mean curves of some runs: unpruned cost and error, joint and individual cost, and their difference."""
    whole, joint, individual = (curves[method][runs].mean(axis=0) for method in ("unpruned", *METHODS))
    cost, error = (float(value) for value in whole[:, 0])
    of_joint, of_individual = (cost_at_error(curve[0], curve[1], error + rise) for curve in (joint, individual))
    return cost, error, of_joint, of_individual, of_individual - of_joint


def _curves(records: list[Record], method: str) -> Array:
    """Average costs and errors over the folds of each run at each lambda, shape (n_runs, 2, n_lambdas)."""
    own = [record for record in records if record["method"] == method]
    places = [np.unique([record[key] for record in own], return_inverse=True) for key in ("seed", "lam")]
    (runs, run), (lams, lam) = places
    cells = run * lams.size + lam
    sums = [np.bincount(cells, weights=[record[key] for record in own]) for key in ("cost", "error")]
    curves: Array = np.stack(sums).reshape(2, runs.size, lams.size) / np.bincount(cells).reshape(runs.size, lams.size)
    return curves.swapaxes(0, 1)


def cost_at_error(costs: Sequence[float] | Array, errors: Sequence[float] | Array, target: float) -> float:
    """Find the least cost at which a curve's error is the target, between points by a line.

    Parameters
    ----------
    costs, errors : sequence of float
        Of prunings by rising lambda, so by falling cost.
    target : float
        An error that no pruning reaches is matched by the whole forest.
    """
    reached = np.flatnonzero(np.asarray(errors) <= target)
    if reached.size == 0:
        return float(costs[0])
    last = int(reached[-1])
    if last == len(costs) - 1:
        return float(costs[-1])
    share = (target - errors[last]) / (errors[last + 1] - errors[last])
    return float(costs[last] + share * (costs[last + 1] - costs[last]))


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw mean error against mean cost over lambda, with the matched levels."""
    figure, parts = panels(rows, "data", width=4.2, height=3.8)
    for data, levels, axes in parts:
        of_data = [record for record in records if record["data"] == data]
        for method, colour in (("joint", COLOURS["BudgetPrune"]), ("individual", COLOURS["individual"])):
            costs, errors = _curves(of_data, method).mean(axis=0)
            axes.plot(costs, errors, ".-", color=colour, label=f"{method} pruning")
        for row in levels:
            axes.plot([row["joint_cost"], row["individual_cost"]], [row["error"]] * 2, "k|--", linewidth=0.8)
        whole = levels[-1]
        axes.plot(whole["unpruned_cost"], whole["unpruned_error"], "ks", markersize=4, label="unpruned")
        top = max(row["error"] for row in levels)
        axes.set_ylim(top=top + 0.6 * (top - whole["unpruned_error"]) + 0.01)
        axes.set(title=data, xlabel="average features of a test example", ylabel="test error")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="upper right")
    return figure


EXPERIMENT = Experiment(
    name="pruning2016/table1",
    title="Joint and individual pruning of BudgetRF's trees at matched errors: average features used",
    source="Optimally pruning decision tree ensembles with feature cost, section 6, table 1",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "Sonar, Heart: 10-fold cross-validation, repeated 100 times as in the paper (20 under printed); costs from the "
        "training folds, as no validation part is named",
        "Levels: the paper matches errors and does not print how. Here the paper's rise of error over its own unpruned "
        "forest (none for Heart's low level, where it prints a fall of 0.1 points) is added to ours, and each method's "
        "mean curve over lambda is read off where it last has that error",
        "MiniBooNE: the authors' public sample of 5,000 events; Forest: our 16% sample of Covertype, unless "
        "miniboone.npz and forest.npz are in the data folder; CIFAR-10 needs the user's cifar10.npz",
    ),
    quick="1 run; at most 2,500 examples per part",
    settings={
        "printed": "BudgetRF tries 80, 40 or 20 random cuts per feature, and errors are counted in the bag",
        "authors": "BudgetRF tries every cut, and errors are counted on all training examples, in the bag or not",
        OURS: "BudgetRF tries every cut, and errors are counted in the bag",
    },
    data=tuple(PRINTED),
    reasons=(
        "The unpruned costs of Sonar and Heart are those of BudgetRF with every cut (50.2 and 12.2, print 50.0 and "
        "12.2), as in the released program; the random cuts of its paper give 52.7 and 12.4.",
        "With errors on all training examples Heart's costs are nearer to the print (11.2 and 12.0, 6.6 and 8.8) than "
        "with errors in the bag; which pruning set the table used is not printed.",
        "Sonar: at the printed costs our pruned costs vary over folds as in the print, but our test errors are higher, "
        "unpruned and pruned, so costs at matched errors are higher, too. `pruning2016/ablation` excludes how trees "
        "are grown, their number, the pruning set, the loss, the examples that pay, the leaves and the vote.",
        "The record of `printed` was made when trees pruned to their root still voted; on Sonar that changes errors by "
        "at most .003 at the printed costs.",
    ),
    condense=columns(
        *("data", "level", "unpruned_cost", "error", "joint_cost", "paper_joint_cost"),
        *("individual_cost", "paper_individual_cost", "saved", "saved_se", "runs"),
    ),
    minutes=60,
)
