"""Methods side by side: test error within budgets, everything chosen on validation data, over seeds.

The protocol: train, validation and test parts; a method trains its candidates on the first; for each budget the one of
least error on the second is taken among those whose average cost there is within the budget; it is measured on the
third. Each seed draws parts and models anew, and methods are compared seed by seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier

from ipforest._internal.arrays import Array, FloatArray
from ipforest._internal.records import records_to_csv
from ipforest.choice import best_affordable
from ipforest.costs import FeatureCosts
from ipforest.datasets import Dataset
from ipforest.ensemble.forest import Forest
from ipforest.experiments.demo import Parts, split
from ipforest.experiments.metrics import standard_error
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.pruning_baselines import CostComplexity
from ipforest.progress import ProgressCallback, silent

__all__ = ["METHODS", "Candidate", "Comparison", "Method", "Outcome", "compare"]

N_ALPHAS = 30
"""Prunings by cost complexity, evenly spread over the path."""


class Candidate(Protocol):
    """A trained model that pays for features."""

    def predict(self, X: Array) -> Array:
        """Predict classes, shape (n_samples,)."""

    def cost(self, X: Array) -> FloatArray:
        """Compute what each example pays, shape (n_samples,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a method is given.

    Parameters
    ----------
    parts : Parts
        Train on the first, choose on the second; the third is not to be looked at.
    costs : FeatureCosts
    budgets : sequence of float
    n_trees : int
    max_features : {"sqrt", None}
        Features tried at a split; None for all.
    seed : int
    """

    parts: Parts
    costs: FeatureCosts
    budgets: Sequence[float]
    n_trees: int
    max_features: str | None
    seed: int

    def forest(self, **settings: Any) -> RandomForestClassifier:
        """Describe the random forest that all methods start from."""
        return RandomForestClassifier(self.n_trees, max_features=self.max_features, random_state=self.seed, **settings)


Method: TypeAlias = Callable[[Task], Iterator[Candidate]]


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """A forest on some of the features, with its prices.

    Parameters
    ----------
    model : Forest, or a classifier where there are no columns
    columns : ndarray of int64
        What it was trained on.
    costs : FeatureCosts
    """

    model: Any
    columns: Array
    costs: FeatureCosts

    def predict(self, X: Array) -> Array:
        """Predict classes."""
        return np.asarray(self.model.predict(X[:, self.columns]))

    def cost(self, X: Array) -> FloatArray:
        """Compute what each example pays for the features that its paths test."""
        tests = np.zeros(X.shape, dtype=np.int32)
        if self.columns.size:
            tests[:, self.columns] = self.model.feature_usage(X[:, self.columns])
        return self.costs.cost_of(tests)


def pruned_forest(task: Task) -> Iterator[Candidate]:
    """Prune one random forest to each budget: what this package is for."""
    parts = task.parts
    fitted = task.forest().fit(parts.X_train, parts.y_train)
    model = BudgetPrune(fitted, feature_costs=task.costs, budget=0).fit(parts.X_validation)
    yield from (model.at_budget(budget) for budget in (0, *task.budgets))
    yield model.at_lambda(0)


def k_best_features(task: Task) -> Iterator[Candidate]:
    """Retrain the forest on its k most important features per price, for each k: the simple thing to do."""
    parts, whole = task.parts, np.arange(task.costs.n_features)
    importance = task.forest().fit(parts.X_train, parts.y_train).feature_importances_
    alone = task.costs.cost_of(np.eye(whole.size, dtype=bool))
    order = np.argsort(-importance / np.where(alone > 0, alone, alone[alone > 0].min(initial=1)), kind="stable")
    yield majority(task)
    for k in _spread(whole.size):
        chosen = np.sort(order[:k])
        fitted = task.forest().fit(parts.X_train[:, chosen], parts.y_train)
        yield Priced(Forest.from_sklearn(fitted), chosen, task.costs)


def cost_complexity(task: Task) -> Iterator[Candidate]:
    """Prune the trees of the forest by cost complexity, blind to prices: scikit-learn's ``ccp_alpha``.

    As in `pruned_forest`, trees that are pruned to their root do not vote.
    """
    parts, whole = task.parts, np.arange(task.costs.n_features)
    fitted = task.forest().fit(parts.X_train, parts.y_train)
    model = CostComplexity(fitted, feature_costs=task.costs, loss="gini", n_prunings=N_ALPHAS).fit(parts.X_validation)
    yield majority(task)
    for pruning in model.sequence_.prunings:
        yield Priced(model.forest_.prune(pruning).without_bare_roots(), whole, task.costs)


def majority(task: Task) -> Candidate:
    """Predict the most frequent class, for nothing."""
    nothing = np.array([], dtype=np.int64)
    dummy = DummyClassifier().fit(np.empty((task.parts.y_train.size, 0)), task.parts.y_train)
    return Priced(dummy, nothing, task.costs)


def _spread(n: int) -> list[int]:
    """Return numbers of features to try: all up to 10, then in steps of a quarter."""
    tried = [*range(1, min(n, 10) + 1)]
    while tried[-1] < n:
        tried.append(min(n, tried[-1] * 5 // 4))
    return tried


METHODS: Mapping[str, Method] = {
    "pruned forest": pruned_forest,
    "k best features, retrained": k_best_features,
    "cost-complexity pruning": cost_complexity,
}


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

    def summary(self) -> list[dict[str, Any]]:
        """Return one record per budget and method: means and standard errors over seeds.

        ``difference`` is the method's test error minus that of the first method, seed by seed.
        """
        first = self.methods[0]
        return [
            {
                "budget": budget,
                "method": method,
                **_mean_and_error("test_error", self.values(method, budget)),
                **_mean_and_error("test_cost", self.values(method, budget, "test_cost")),
                **_mean_and_error("difference", self.values(method, budget) - self.values(first, budget)),
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


def _mean_and_error(name: str, values: FloatArray) -> dict[str, float]:
    return {name: float(values.mean()), f"{name}_se": standard_error(values)}


def compare(
    data: Dataset,
    budgets: Sequence[float],
    seeds: Sequence[int],
    methods: Mapping[str, Method] = METHODS,
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

    Returns
    -------
    Comparison
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
    method: Method,
    data: Dataset,
    budgets: Sequence[float],
    n_trees: int,
    max_features: str | None,
    seed: int,
) -> list[Outcome]:
    parts = split(data, seed)
    candidates = list(method(Task(parts, data.costs, budgets, n_trees, max_features, seed)))
    measured = [_measure(candidate, parts.X_validation, parts.y_validation) for candidate in candidates]
    errors, costs = zip(*measured, strict=True)
    outcomes = []
    for budget in budgets:
        best = best_affordable(costs, errors, budget)
        test = _measure(candidates[best], parts.X_test, parts.y_test)
        outcomes.append(Outcome(name, seed, budget, *measured[best], *test))
    return outcomes


def _measure(candidate: Candidate, X: Array, y: Array) -> tuple[float, float]:
    return float(np.mean(candidate.predict(X) != y)), float(candidate.cost(X).mean())
