"""A few methods side by side: test error within budgets, everything chosen on validation data, over seeds.

The methods and the protocol are those of `ipforest.experiments.methods`, at one setting of the forest; each seed draws
parts and models anew, and methods are compared seed by seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ipforest._internal.arrays import FloatArray
from ipforest._internal.axes import MARKERS, Axes, axes_or_new, draw_line, finish, literal
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.records import records_to_csv
from ipforest.datasets import Dataset
from ipforest.experiments.methods import METHODS, choices_within
from ipforest.experiments.parts import split
from ipforest.experiments.rows import mean_and_error
from ipforest.experiments.tasks import Method, Task
from ipforest.frontiers.joint_frontier import JointFrontier

__all__ = ["SIMPLE", "Comparison", "Outcome", "compare"]

SIMPLE = {
    name: METHODS[key]
    for name, key in {
        "pruned forest": "BudgetPrune",
        "k best features, retrained": "k best, forest",
        "cost-complexity pruning": "cost-complexity",
    }.items()
}
"""What to do with one forest: prune it to a budget, retrain it on few features, or prune it blind to prices."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One method within one budget, on one seed; errors are rates, costs averages per example."""

    method: str
    seed: int
    budget: float
    validation_error: float
    validation_cost: float
    test_error: float
    test_cost: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All outcomes.

    Parameters
    ----------
    data : str
    currency : str
    outcomes : tuple of Outcome
        One per (method, seed, budget).
    """

    data: str
    currency: str
    outcomes: tuple[Outcome, ...]

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order they were given."""
        return list(dict.fromkeys(outcome.method for outcome in self.outcomes))

    @property
    def budgets(self) -> list[float]:
        """Budgets, ascending."""
        return sorted({outcome.budget for outcome in self.outcomes})

    def values(self, method: str, budget: float, quantity: str = "test_error") -> FloatArray:
        """Return a quantity of a method within a budget, one entry per seed in ascending order."""
        chosen = [outcome for outcome in self.outcomes if (outcome.method, outcome.budget) == (method, budget)]
        return np.array([getattr(outcome, quantity) for outcome in sorted(chosen, key=lambda outcome: outcome.seed)])

    @property
    def n_seeds(self) -> int:
        """Number of seeds."""
        return len({outcome.seed for outcome in self.outcomes})

    def curve(self, method: str) -> tuple[FloatArray, FloatArray]:
        """Return mean test errors and their standard errors, one entry per budget."""
        chosen = [record for record in self.summary() if record["method"] == method]
        errors, spread = (np.array([record[name] for record in chosen]) for name in ("test_error", "test_error_se"))
        return errors, spread

    def plot(self, *, path: tuple[FloatArray, FloatArray] | None = None, ax: Axes | None = None) -> Axes:
        """Draw test error within budgets for each method: means over seeds, bands of one standard error.

        Parameters
        ----------
        path : tuple (costs, errors), optional
            Test costs and test errors of every pruning on one path, drawn as small dots behind the means.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        """
        axes, budgets = axes_or_new(ax), np.array(self.budgets)
        if path is not None:
            axes.plot(*path, ".", color="0.75", markersize=2.5, label="every optimal pruning of one forest")
        for number, method in enumerate(self.methods):
            errors, spread = self.curve(method)
            draw_line(axes, budgets, errors, f"C{number}", literal(method), MARKERS[number % len(MARKERS)])
            axes.fill_between(budgets, errors - spread, errors + spread, color=f"C{number}", alpha=0.2, linewidth=0)
        finish(axes, f"budget: average cost of an example ({literal(self.currency)})", "test error")
        title = f"{literal(self.data)}: means over {self.n_seeds} seeds, bands of one standard error"
        axes.set_title(title, fontsize=9)
        return axes

    def summary(self) -> list[dict[str, Any]]:
        """Return one record per budget and method: means and standard errors over seeds.

        ``difference`` is the method's test error minus that of the first method, seed by seed.
        """
        first = self.methods[0]
        return [
            {
                "budget": budget,
                "method": method,
                **mean_and_error("test_error", self.values(method, budget)),
                **mean_and_error("test_cost", self.values(method, budget, "test_cost")),
                **mean_and_error("difference", self.values(method, budget) - self.values(first, budget)),
            }
            for budget in self.budgets
            for method in self.methods
        ]

    def to_csv(self) -> str:
        """Return all outcomes as CSV with a header."""
        return records_to_csv([asdict(outcome) for outcome in self.outcomes])

    def to_json(self) -> str:
        """Return summary and outcomes as JSON."""
        outcomes = [asdict(outcome) for outcome in self.outcomes]
        record = {"data": self.data, "currency": self.currency, "summary": self.summary(), "outcomes": outcomes}
        return json.dumps(record, indent=1)


def compare(
    data: Dataset,
    budgets: Sequence[float],
    seeds: Sequence[int],
    methods: Mapping[str, Method | JointFrontier] = SIMPLE,
    n_trees: int = 40,
    max_features: str | None = "sqrt",
    progress: ProgressCallback = silent,
    n_jobs: int | None = None,
) -> Comparison:
    """Run methods on a data set.

    Parameters
    ----------
    data : Dataset
    budgets : sequence of float
        What an example may cost on average.
    seeds : sequence of int
    methods : mapping of name to method
        The first is what others are compared with.
    n_trees : int
    max_features : {"sqrt", None}
        Features that the forests of all methods try at a split; None for all.
    progress : callable
    n_jobs : int, optional
        Seeds at a time; joblib's backend may be a cluster (`joblib.parallel_config`).
    """
    cells = [(name, method, seed) for seed in seeds for name, method in methods.items()]
    work = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run)(name, method, data, tuple(budgets), n_trees, max_features, seed) for name, method, seed in cells
    )
    outcomes: list[Outcome] = []
    for number, found in enumerate(work, start=1):
        outcomes += found
        progress(number / len(cells), f"{cells[number - 1][0]}, seed {cells[number - 1][2]}")
    return Comparison(data.name, data.currency, tuple(outcomes))


def _run(
    name: str,
    method: Method | JointFrontier,
    data: Dataset,
    budgets: tuple[float, ...],
    n_trees: int,
    max_features: str | None,
    seed: int,
) -> list[Outcome]:
    task = Task(split(data, seed), data.costs, budgets, n_trees, seed, (max_features,), (1,))
    return [
        Outcome(name, seed, budget, option.validation_error, option.validation_cost, option.error, option.cost)
        for budget, option in zip(budgets, choices_within(method, task).plain, strict=True)
    ]
