"""The frontier: error against average cost of everything people use and of what is here, by one protocol.

A data set is drawn into train, validation and test parts, anew for each seed. Each method of
`ipforest.experiments.methods` trains on the first part, chooses on the second and is measured on the third. Methods are
compared seed by seed. The page `docs/frontier-protocol.md` says in advance what is compared and what counts as a loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from inspect import getsource, getsourcefile, isfunction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ipforest import datasets
from ipforest._internal.arrays import Array
from ipforest.costs import FeatureCosts
from ipforest.datasets import Dataset
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.frontier_summary import COMPOSED, ERROR_OF_CLASSES, ERROR_OF_NUMBERS, draw, summarise
from ipforest.experiments.methods import METHODS, OF_NUMBERS, available, choices_within
from ipforest.experiments.metrics import area_under_roc, clipped_log_loss
from ipforest.experiments.options import Option
from ipforest.experiments.parts import Parts, half_and_quarters
from ipforest.experiments.tasks import Method, Task
from ipforest.frontiers.budget_boost import BoostSearch, BudgetBoost
from ipforest.frontiers.budget_forest import BudgetForest, ForestSearch
from ipforest.frontiers.joint_frontier import JointFrontier

__all__ = ["ABLATIONS", "budgets_for", "frontier_experiment"]

N_BUDGETS = 8

PARTS = (15_000, 7500, 7500)
"""Most examples to train on, to choose on and to test on."""

UNMIXED = ("auc", "log_loss", "hindsight_error")
"""Measures of a method that are not told of its mixtures."""

PROTOCOL = {"protocol": 3}
"""Part of every cell; another number where methods or measures change, so that earlier cells are run again."""

ABLATIONS: Mapping[str, JointFrontier] = {
    "BudgetBoost": BudgetBoost(),
    "BudgetBoost, no pruning": BudgetBoost(search=BoostSearch(n_prunings=0)),
    "BudgetBoost, no refit": BudgetBoost(search=BoostSearch(refit=None)),
    "BudgetBoost, regrown": BudgetBoost(search=BoostSearch(refit="alternate")),
    "BudgetBoost, no single price": BudgetBoost(search=BoostSearch(single_price=False)),
    "BudgetBoost, no stopping": BudgetBoost(search=BoostSearch(stopping=())),
    "BudgetForest": BudgetForest(),
    "BudgetForest, no pruning": BudgetForest(search=ForestSearch(n_prunings=0)),
    "BudgetForest, not regrown": BudgetForest(search=ForestSearch(regrow=False)),
    "BudgetForest, not nested": BudgetForest(search=ForestSearch(nested=False)),
    "BudgetForest, no stopping": BudgetForest(search=ForestSearch(stopping=())),
    "BudgetForest, no lookahead": BudgetForest(search=ForestSearch(n_lookahead=0)),
}
"""The two with each ingredient switched off alone, and boosting regrown on what is bought."""

KNOWN = {**METHODS, **ABLATIONS}
"""Everything that `run` can train to predict classes, by its name."""

OwnMethods: TypeAlias = Mapping[str, Method | JointFrontier]
"""Methods that are not of this package, by names that no other has."""


def loaded(name: str) -> Dataset:
    """Load a data set by its name; "letter" is A-M against N-Z."""
    data = datasets.load(name)
    if name != "letter":
        return data
    half = len(data.class_names) // 2
    return replace(data, y=(data.y < half).astype(np.int64), class_names=("N to Z", "A to M"))


def drawn(data: Dataset, seed: int, n_rows: int = PARTS[0]) -> tuple[Parts, FeatureCosts]:
    """Draw half, a quarter and a quarter of a data set, and no more than `PARTS`.

    Numbers to predict have mean 0 and variance 1 on the first part.

    Parameters
    ----------
    data : Dataset
    seed, n_rows : int
        At most so many examples to train on, and half as many to choose on.
    """
    y = data.y.astype(np.float64) if data.is_regression else data.y
    parts = half_and_quarters(data.X, y, seed, most=(n_rows, n_rows // 2, PARTS[2]))
    return (parts.standardised() if data.is_regression else parts), data.costs


def budgets_for(costs: FeatureCosts) -> tuple[float, ...]:
    """Return budgets on a logarithmic scale: from two of the cheapest units to six tenths of all."""
    paid = costs.positive_costs
    return tuple(float(f"{budget:.3g}") for budget in np.geomspace(2 * min(paid), 0.6 * sum(paid), N_BUDGETS))


def run(tables: Mapping[str, Dataset], cell: Cell, own: OwnMethods | None = None) -> list[Record]:
    """Train one method on one seed's parts, and choose for each budget on the validation part."""
    name = cell["data"]
    data = tables[name] if name in tables else loaded(name)
    parts, costs = drawn(data, cell["seed"], cell.get("most", PARTS[0]))
    task = Task(parts, costs, budgets_for(costs), cell["trees"], cell["seed"])
    choices = choices_within({**task.either(KNOWN, OF_NUMBERS), **(own or {})}[cell["method"]], task)
    return [
        {
            "budget": budget,
            **plain.means,
            **_of_probabilities(parts.y_test, plain),
            "hindsight_error": hindsight,
            **{f"mixed_{measure}": value for measure, value in mixed.means.items()},
            **{f"mixed_{measure}": None for measure in UNMIXED},
            "seconds": choices.seconds,
        }
        for budget, plain, mixed, hindsight in zip(
            task.budgets, choices.plain, choices.mixed, choices.hindsight, strict=True
        )
    ]


def _of_probabilities(y: Array, option: Option) -> dict[str, float | None]:
    """Measure the probabilities of an option on the test examples; None where they are not known."""
    if option.outputs is None:
        return {"auc": None, "log_loss": None}
    return {"auc": area_under_roc(y, option.outputs), "log_loss": clipped_log_loss(y, option.outputs)}


def _source_of(method: Method | JointFrontier) -> str:
    """Return the SHA-256 of what defines a method: its file, in a notebook its lines, and an estimator's settings."""
    definition: Any = method if isfunction(method) else type(method)
    file = getsourcefile(definition)
    text = Path(file).read_text(encoding="utf-8") if file and Path(file).is_file() else getsource(definition)
    settings = "" if isfunction(method) else repr(method)
    return sha256(f"{text}\n{settings}".encode()).hexdigest()


def frontier_experiment(
    data_sets: Sequence[str | Dataset],
    methods: Sequence[str] | None = None,
    n_seeds: int = 5,
    n_trees: int = 100,
    n_rows: int = PARTS[0],
    own_methods: OwnMethods | None = None,
) -> Experiment:
    """Describe the comparison of methods on data sets, as `ipforest.experiments.experiment.reproduce` runs it.

    Parameters
    ----------
    data_sets : sequence of str or Dataset
        Names for `ipforest.datasets.load`, or data sets of your own, whose names are others. Either all have classes,
        or in all a number is predicted; the error is then the squared error as a share of the variance of training.
    methods : sequence of str, optional
        Keys of `METHODS` or `ABLATIONS`, or of `OF_NUMBERS`; by default all of the first, or of the last, whose library
        is installed. Your own come in addition.
    n_seeds : int
    n_trees : int
        Trees of the forests of other people's methods; boosting has up to four times as many rounds.
    n_rows : int
        Most examples to train on, and half of it to choose on.
    own_methods : mapping from str to callable or estimator, optional
        See `ipforest.experiments.tasks.Method`. Cells that are there are used as long as the file that defines the
        method stays the same.

    Raises
    ------
    ValueError
        An unknown method, a method of yours that has the name of another, two data sets of one name, or data sets of
        classes together with such of numbers.
    """
    own = dict(own_methods or {})
    tables = {data.name: data for data in data_sets if isinstance(data, Dataset)}
    named = [data if isinstance(data, str) else data.name for data in data_sets]
    repeated = [name for name in named if named.count(name) > 1 or (name in tables and name in datasets.names())]
    if repeated:
        raise ValueError(f"data_sets: expected a name for each, got {repeated[0]!r} twice; name your own differently")
    of_numbers = {name for name, data in tables.items() if data.is_regression}
    if of_numbers and of_numbers != {*named}:
        others = ", ".join(sorted({*named} - of_numbers))
        raise ValueError(
            f"data_sets: expected classes in all, or numbers, got numbers in {', '.join(sorted(of_numbers))} and "
            f"classes in {others}; compare them apart"
        )
    known = OF_NUMBERS if of_numbers else KNOWN
    chosen = available(OF_NUMBERS if of_numbers else METHODS) if methods is None else list(methods)
    taken = [name for name in own if name in known or name in COMPOSED]
    if taken:
        raise ValueError(f"own_methods: expected names that no other method has, got {taken[0]!r}")
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise ValueError(f"methods: expected some of {', '.join(map(repr, known))}, got {unknown[0]!r}")

    told = {name: {"rows": data.fingerprint()} for name, data in tables.items()}
    written = {name: {"source": _source_of(method)} for name, method in own.items()}
    limit = {} if n_rows == PARTS[0] else {"most": n_rows}

    def cells(quick: bool, seed: int) -> list[Cell]:
        return [
            {
                "data": name,
                "method": method,
                "trees": n_trees,
                "seed": seed + number,
                **told.get(name, {}),
                **written.get(method, {}),
                **limit,
                **PROTOCOL,
            }
            for number in range(1 if quick else n_seeds)
            for name in named
            for method in (*chosen, *own)
        ]

    measure = ERROR_OF_NUMBERS if of_numbers else ERROR_OF_CLASSES
    return Experiment(
        name="frontier",
        title="Error against average cost: everything people use, and what is here",
        source="this package",
        steps=Steps(cells, partial(run, tables, own=own), summarise, partial(draw, measure=measure)),
        differs=(
            f"at most {n_rows}, {n_rows // 2} and {PARTS[2]} examples to train, choose and test on",
            "everything is chosen on validation examples; stopping levels are cross-fitted there",
            "area is the mean test error over budgets on a logarithmic scale; difference is to the best of others",
            "seconds are the processor's, of training alone; ours measure and choose on validation while they train",
        ),
    )
