"""Methods that keep a budget: what each can do with the parts of a data set. One list, for every comparison.

A method trains on the first part. Of all that it can do with its models (prefixes, prunings, levels of stopping) the
option of least error on the second part within each budget is taken, and measured on the third. An estimator that
computes its own frontier also selects from it, on the same validation examples. Peers and our own methods have the same
rounds, the same validation examples to stop early on, and the same right to mix two options at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ipforest._internal.arrays import evenly_spread
from ipforest.experiments.acquisition_peers import dime, gdfs
from ipforest.experiments.options import (
    Option,
    between,
    choose,
    constant,
    least_error_in_hindsight,
    levels,
    mix,
    of_model,
)
from ipforest.experiments.peers import (
    PENALTIES,
    RATES,
    catboost_penalties,
    cegb_coupled,
    cegb_early_exit,
    cegb_lazy,
    coai,
    forward_forest,
    forward_lightgbm,
    selected_forest,
    selected_lightgbm,
    selected_xgboost,
    streed,
)
from ipforest.experiments.tasks import N_LEVELS, RULES, Method, Task, at_budgets, fitted_to, trains_with, whole
from ipforest.frontiers.budget_boost import BudgetBoost, BudgetBoostRegressor
from ipforest.frontiers.budget_forest import BudgetForest, BudgetForestRegressor
from ipforest.frontiers.budget_linear import BudgetLinear, BudgetLinearRegressor
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier, BudgetedRegressor
from ipforest.frontiers.joint_frontier import JointFrontier
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.budget_rf import BudgetRF, GreedyGrowth
from ipforest.learners.greedy_miser import GreedyMiser, GreedyMiserRegressor
from ipforest.learners.priced_booster import PricedGrowth
from ipforest.learners.pruning_baselines import CostComplexity
from ipforest.stopping.nested import NestedCascade

__all__ = ["FRONT_ENDS", "METHODS", "OF_NUMBERS", "OURS", "Choices", "available", "choices_within"]

ALPHAS = (0, 2, 4, 8, 15, 25, 45)
"""Thresholds of BudgetRF's impurity, as far as its authors went."""

N_ALPHAS = 30
"""Prunings by cost complexity, evenly spread over the path."""

N_HINDSIGHT = 40
"""Points of a frontier that are measured to tell what could have been chosen, evenly spread."""


def cost_complexity(task: Task) -> Iterator[Option]:
    """Prune a random forest by cost complexity, blind to prices; trees that are pruned to their root do not vote."""
    parts = task.parts
    fitted = task.trained(task.forest().fit, parts.X_train, parts.y_train)
    loss = task.either("gini", "squared_error")
    model = CostComplexity(fitted, feature_costs=task.costs, loss=loss, n_prunings=N_ALPHAS)
    task.trained(model.fit, parts.X_validation)
    for pruning in model.sequence_.prunings:
        yield whole(model.forest_.prune(pruning).without_bare_roots(), task)


@trains_with(predicts_numbers=False)
def budget_rf(task: Task) -> Iterator[Option]:
    """BudgetRF as its authors ran it: every cut, alpha from 0 to 45, as many trees as the budget allows."""
    model = fitted_to(
        BudgetRF(40, growth=GreedyGrowth(alpha=ALPHAS), feature_costs=task.costs, random_state=task.seed), task
    )
    return at_budgets(model, task, task.budgets)


def budget_prune(task: Task) -> Iterator[Option]:
    """BudgetPrune: one random forest, pruned exactly to each budget."""
    parts = task.parts
    fitted = task.trained(task.forest().fit, parts.X_train, parts.y_train)
    model = BudgetPrune(fitted, feature_costs=task.costs, budget=0)
    task.trained(model.fit, parts.X_validation)
    yield from at_budgets(model, task, (0, *task.budgets))
    yield whole(model.at_lambda(0).pruned_, task)


def greedy_miser(task: Task) -> Iterator[Option]:
    """GreedyMiser: features are paid for once for all examples, over prices and learning rates."""
    for lam, rate in product(np.geomspace(0.1, 1e-5, PENALTIES), RATES[1:]):
        scaled = lam / (sum(float(cost) for cost in task.costs.unit_costs) / task.costs.n_units)
        model = task.either(GreedyMiser, GreedyMiserRegressor)(
            task.n_rounds,
            lam=float(scaled),
            growth=PricedGrowth(learning_rate=rate, max_depth=4, max_bins=64),
            feature_costs=task.costs,
            random_state=task.seed,
        )
        yield from at_budgets(fitted_to(model, task), task, task.budgets)


def nested_cascade(task: Task) -> Iterator[Option]:
    """Forests on the 1, 2, 3, ... most useful units, stopped when sure."""
    base = task.either(RandomForestClassifier, RandomForestRegressor)(task.n_trees, random_state=task.seed)
    model = fitted_to(NestedCascade(base, feature_costs=task.costs, stopping=RULES, random_state=task.seed), task)
    yield from levels(RULES, model.paths_, model.paths_of(task.parts.X_test, task.parts.y_test), N_LEVELS)


METHODS: Mapping[str, Method | JointFrontier] = {
    "CEGB lazy": cegb_lazy,
    "CEGB coupled": cegb_coupled,
    "CatBoost penalties": catboost_penalties,
    "k best, forest": selected_forest,
    "k best, LightGBM": selected_lightgbm,
    "k best, XGBoost": selected_xgboost,
    "forward, forest": forward_forest,
    "forward, LightGBM": forward_lightgbm,
    "CoAI": coai,
    "cost-complexity": cost_complexity,
    "BudgetRF": budget_rf,
    "GreedyMiser": greedy_miser,
    "STreeD": streed,
    "GDFS": gdfs,
    "DIME": dime,
    "BudgetPrune": budget_prune,
    "CEGB early exit": cegb_early_exit,
    "NestedCascade": nested_cascade,
    "BudgetForest": BudgetForest(),
    "BudgetBoost": BudgetBoost(),
    "BudgetLinear": BudgetLinear(),
    "BudgetedClassifier": BudgetedClassifier(),
}
"""Options to choose among on validation, or an estimator that chooses itself."""

FRONT_ENDS = ("BudgetedClassifier", "BudgetedRegressor")
"""What is recommended, for classes and for numbers."""

OURS = ("BudgetPrune", "CEGB early exit", "NestedCascade", "BudgetForest", "BudgetBoost", "BudgetLinear", *FRONT_ENDS)
"""What is of this package; the rest is what people use."""

OF_NUMBERS: Mapping[str, Method | JointFrontier] = {
    **{
        name: method
        for name, method in METHODS.items()
        if not isinstance(method, JointFrontier) and getattr(method, "predicts_numbers", True)
    },
    "BudgetForest": BudgetForestRegressor(),
    "BudgetBoost": BudgetBoostRegressor(),
    "BudgetLinear": BudgetLinearRegressor(),
    "BudgetedRegressor": BudgetedRegressor(),
}
"""The same where a number is predicted."""


def available(methods: Iterable[str]) -> list[str]:
    """Return the methods whose libraries are installed."""
    needed = {name: getattr(METHODS.get(name), "libraries", ()) for name in methods}
    return [name for name, libraries in needed.items() if all(map(find_spec, libraries))]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a method comes to within the budgets of a task.

    Parameters
    ----------
    plain : tuple of Option
        One option for each budget.
    mixed : tuple of Option
        Where two options may be mixed at random: the average cost has to keep the budget.
    hindsight : tuple of float
        The least test error of all options within each budget; of an estimator that computes its own frontier, of at
        most `N_HINDSIGHT` points of it.
    seconds : float
        Processor time of all training.
    """

    plain: tuple[Option, ...]
    mixed: tuple[Option, ...]
    hindsight: tuple[float, ...]
    seconds: float


def choices_within(method: Method | JointFrontier, task: Task) -> Choices:
    """Train a method, and choose for each budget on the validation part, without and with mixing."""
    if isinstance(method, JointFrontier):
        plain, mixed, options = _own_choices(method, task)
    else:
        options = [constant(task.parts), *_options_of(method, task)]
        plain, mixed = ([take(options, budget) for budget in task.budgets] for take in (choose, mix))
    hindsight = [least_error_in_hindsight(options, budget) for budget in task.budgets]
    return Choices(tuple(plain), tuple(mixed), tuple(hindsight), task.training.seconds)


def _options_of(method: Method, task: Task) -> list[Option]:
    """Let a method train.

    Raises
    ------
    TypeError
        It does not give options.
    """
    answer, name = method(task), getattr(method, "__name__", "method")
    options = [*answer] if isinstance(answer, Iterable) else [answer]
    for option in options:
        if not isinstance(option, Option):
            raise TypeError(
                f"{name}: expected options, as of Option.measured(task.parts, answer), got {type(option).__name__}"
            )
    return options


def _own_choices(estimator: JointFrontier, task: Task) -> tuple[list[Option], list[Option], list[Option]]:
    """Measure what an estimator that computes its own frontier selects for each budget, mixes, and could select."""
    model = fitted_to(clone(estimator).set_params(feature_costs=task.costs, random_state=task.seed), task)
    expected = model.frontier_.cost[[model.frontier_.within(budget) for budget in task.budgets]]
    measured = at_budgets(model, task, task.budgets)
    plain = [replace(option, validation_cost=cost) for option, cost in zip(measured, expected.tolist(), strict=True)]
    mixtures = [model.mixture(budget) for budget in task.budgets]
    ends = ([of_model(one, task.parts) for one in (each.cheap, each.costly)] for each in mixtures)
    mixed = [between(cheap, costly, each.share) for each, (cheap, costly) in zip(mixtures, ends, strict=True)]
    costs = model.frontier_.cost
    spread = costs[evenly_spread(costs.size, N_HINDSIGHT)].tolist()
    along = zip(spread, at_budgets(model, task, spread), strict=True)
    return plain, mixed, [*plain, *(replace(option, validation_cost=cost) for cost, option in along)]
