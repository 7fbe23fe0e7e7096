"""The frontier: error against average cost of everything people use and of what is here, by one protocol.

A data set is drawn into train, validation and test parts, anew for each seed. A method trains at most `N_SETTINGS`
models on the first part, the k best features' forest twice as many; of all that it can do with them (prefixes,
prunings, levels of stopping) the option of least validation error within each budget is taken, and measured on the
third part. An estimator that makes a frontier itself chooses itself, on the same validation examples. Methods are
compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest._internal.arrays import Array
from ipforest.costs import FeatureCosts
from ipforest.datasets import Dataset
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read
from ipforest.estimator import BudgetedEstimator
from ipforest.experiments.critical_difference import MeanRanks, draw_ranks, rank_methods
from ipforest.experiments.demo import Parts
from ipforest.experiments.experiment import Cell, Experiment, Record
from ipforest.experiments.metrics import standard_error
from ipforest.experiments.options import Option, choose, levels, majority, record_both
from ipforest.experiments.own.early_exit import penalised_trees, split_parts
from ipforest.frontiers.averaged_trees import LEAF_SIZES, MANY_FEATURES, with_best_leaves
from ipforest.frontiers.budget_boost import BudgetBoost
from ipforest.frontiers.budget_forest import BudgetForest
from ipforest.frontiers.budgeted_classifier import BudgetedClassifier
from ipforest.frontiers.joint_frontier import JointFrontier
from ipforest.learners.budget_prune import BudgetPrune
from ipforest.learners.budget_rf import BudgetRF
from ipforest.learners.greedy_miser import GreedyMiser
from ipforest.policy import TreesInOrder
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.rules import OptimalStopping, ThresholdStopping

__all__ = ["ABLATIONS", "METHODS", "OURS", "Task", "frontier_experiment"]

N_SETTINGS = 16
N_BUDGETS = 8
PARTS = (15_000, 7500, 7500)
"""Most examples to train on, to choose on and to test on."""

PREFIXES = (3, 6, 12, 25, 50)
"""Boosted ensembles may also be cut off after so many trees."""

ALPHAS = (0, 2, 4, 8, 15, 25, 45)
"""Thresholds of BudgetRF's impurity."""

N_LEVELS = 100
"""Levels of a stopping rule that are measured, evenly spread over cost."""

AREA = "area"
"""Stands for the budget in rows of the mean error over budgets on a logarithmic scale."""

ALL = "all"
"""Stands for the data set in rows of means over data sets."""

TINY = 1e-12

RULES = (ThresholdStopping(), OptimalStopping())


class Task(NamedTuple):
    """What a method is given: train on the first part, choose on the second, report the third."""

    parts: Parts
    costs: FeatureCosts
    budgets: tuple[float, ...]
    n_trees: int
    seed: int

    @property
    def prices(self) -> list[float]:
        """What each feature costs alone, a typical one 1."""
        alone = self.costs.cost_of(np.eye(self.costs.n_features, dtype=bool))
        return [float(price) for price in alone / (np.median(alone[alone > 0]) if (alone > 0).any() else 1.0)]


Method: TypeAlias = Callable[[Task], Iterable[Option]]


def whole(trees: Forest | BoostedTrees, task: Task, columns: Array | None = None) -> Option:
    """Measure an ensemble, perhaps of some of the columns, when no example stops."""
    measured = []
    for X, y in _held_out(task):
        seen = X if columns is None else X[:, columns]
        usage = np.zeros(X.shape, dtype=np.int32)
        usage[:, slice(None) if columns is None else columns] = trees.feature_usage(seen)
        measured += [float(task.costs.cost_of(usage).mean()), float(np.mean(trees.predict(seen) != y))]
    return Option(*measured)


def prefixes(trees: BoostedTrees, task: Task) -> Iterator[Option]:
    """Measure boosted trees, whole and cut off."""
    n_margins = trees.base_score.size
    for size in sorted({*(n * n_margins for n in PREFIXES), trees.n_trees}):
        if size <= trees.n_trees:
            yield whole(trees.first(size), task)


def stopped(trees: Forest | BoostedTrees, task: Task) -> Iterator[Option]:
    """Measure an ensemble at the levels of each stopping rule, cross-fitted on the validation examples."""
    paths = record_both(TreesInOrder(trees), task.parts, task.costs)
    yield from levels(RULES, *paths, N_LEVELS)


def at_budgets(model: BudgetedEstimator, task: Task, budgets: Sequence[float]) -> Iterator[Option]:
    """Measure a model that has budgets itself."""
    for budget in budgets:
        chosen, measured = model.at_budget(budget), []
        for X, y in _held_out(task):
            sessions = chosen.sessions(y.size)
            sessions.see(X)
            measured += [float(sessions.paid.mean()), float(np.mean(sessions.labels(sessions.outputs) != y))]
        yield Option(*measured)


def _held_out(task: Task) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    parts = task.parts
    return (parts.X_validation, parts.y_validation), (parts.X_test, parts.y_test)


def _fit(estimator: Any, task: Task) -> Any:
    parts = task.parts
    return estimator.fit(parts.X_train, parts.y_train, parts.X_validation, parts.y_validation)


def _penalised_lightgbm(task: Task, penalty: str) -> Iterator[BoostedTrees]:
    """Train LightGBM with penalties on features (CEGB), eight tradeoffs for each of two sizes."""
    per_feature = {f"cegb_penalty_feature_{penalty}": _per_kind(task, penalty)}
    for tradeoff, leaves in product(np.geomspace(2, 0.002, N_SETTINGS // 2), (8, 32)):
        yield penalised_trees(task.parts, task.n_trees, task.seed, leaves, tradeoff, **per_feature)


def _per_kind(task: Task, penalty: str) -> list[float]:
    """Return prices per feature; coupled penalties are paid once for all examples, lazy ones by each."""
    factor = len(task.parts.y_train) / 10 if penalty == "coupled" else 1.0
    return [factor * price for price in task.prices]


def cegb_lazy(task: Task) -> Iterator[Option]:
    """LightGBM; each example pays for a feature once."""
    for trees in _penalised_lightgbm(task, "lazy"):
        yield from prefixes(trees, task)


def cegb_coupled(task: Task) -> Iterator[Option]:
    """LightGBM; a feature is paid for once for all examples."""
    for trees in _penalised_lightgbm(task, "coupled"):
        yield from prefixes(trees, task)


def cegb_early_exit(task: Task) -> Iterator[Option]:
    """LightGBM with lazy penalties, stopped when sure."""
    for trees in _penalised_lightgbm(task, "lazy"):
        yield from prefixes(trees, task)
        yield from stopped(trees, task)


def catboost_penalties(task: Task) -> Iterator[Option]:
    """CatBoost with penalties that each example pays once per feature."""
    from catboost import CatBoostClassifier

    for coefficient in np.geomspace(1, 0.001, N_SETTINGS):
        model = CatBoostClassifier(
            iterations=task.n_trees,
            depth=5,
            per_object_feature_penalties=task.prices,
            penalties_coefficient=coefficient,
            random_seed=task.seed,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        )
        trees = read(model.fit(task.parts.X_train, task.parts.y_train))
        yield whole(trees, task)


def _selected(task: Task, fitted: Callable[[Array, Array], Any]) -> Iterator[Option]:
    """Retrain on the k most important features per price, for several k."""
    parts = task.parts
    importance = np.asarray(fitted(parts.X_train, parts.y_train).feature_importances_, dtype=np.float64)
    prices = np.array(task.prices)
    order = np.argsort(-importance / np.where(prices > 0, prices, prices[prices > 0].min(initial=1.0)), kind="stable")
    sizes = np.unique(np.geomspace(1, order.size, N_SETTINGS).round().astype(int))
    for k in sizes.tolist():
        columns = np.sort(order[:k])
        yield whole(read(fitted(parts.X_train[:, columns], parts.y_train)), task, columns)


def selected_forest(task: Task) -> Iterator[Option]:
    """Retrain a random forest on its k most important features per price, with the leaves that help out of bag.

    Validation examples choose between the two ways to split that `BudgetForest` tries: on the best of the square root
    of the features, and on the best of half of them. So this method has twice `N_SETTINGS`.
    """
    for max_features in ("sqrt", MANY_FEATURES):
        forest = RandomForestClassifier(task.n_trees, max_features=max_features, random_state=task.seed)
        yield from _selected(task, partial(with_best_leaves, forest, LEAF_SIZES))


def selected_lightgbm(task: Task) -> Iterator[Option]:
    """LightGBM retrained on its k most important features per price."""
    from lightgbm import LGBMClassifier

    settings = {"min_child_samples": 10, "importance_type": "gain", "verbose": -1}
    model = LGBMClassifier(n_estimators=task.n_trees, random_state=task.seed, n_jobs=1, **settings)
    return _selected(task, lambda X, y: clone(model).fit(X, y))


def cost_complexity(task: Task) -> Iterator[Option]:
    """Prune a random forest by cost complexity, blind to prices."""
    for alpha in (0.0, *np.geomspace(1e-4, 0.2, N_SETTINGS - 1)):
        forest = RandomForestClassifier(task.n_trees, ccp_alpha=alpha, random_state=task.seed)
        yield whole(Forest.from_sklearn(forest.fit(task.parts.X_train, task.parts.y_train)), task)


def budget_rf(task: Task) -> Iterator[Option]:
    """BudgetRF as its authors ran it: every cut, alpha from 0 to 45, as many trees as the budget allows."""
    model = _fit(BudgetRF(40, alpha=ALPHAS, feature_costs=task.costs, random_state=task.seed), task)
    return at_budgets(model, task, task.budgets)


def budget_prune(task: Task) -> Iterator[Option]:
    """BudgetPrune: one random forest, pruned exactly to each budget."""
    forest = RandomForestClassifier(min(task.n_trees, 40), random_state=task.seed)
    fitted = forest.fit(task.parts.X_train, task.parts.y_train)
    model = BudgetPrune(fitted, feature_costs=task.costs, budget=0).fit(task.parts.X_validation)
    return at_budgets(model, task, (*task.budgets, 2 * task.budgets[-1]))


def greedy_miser(task: Task) -> Iterator[Option]:
    """GreedyMiser: features are paid for once for all examples."""
    for lam in np.geomspace(0.1, 1e-5, N_SETTINGS // 2):
        scaled = lam / (sum(float(cost) for cost in task.costs.unit_costs) / task.costs.n_units)
        model = GreedyMiser(
            task.n_trees // 2,
            lam=float(scaled),
            learning_rate=0.2,
            max_depth=4,
            max_bins=64,
            feature_costs=task.costs,
            random_state=task.seed,
        )
        _fit(model, task)
        yield from at_budgets(model, task, task.budgets)


def nested_cascade(task: Task) -> Iterator[Option]:
    """Forests on the 1, 2, 3, ... most useful units, stopped when sure."""
    base = RandomForestClassifier(task.n_trees, random_state=task.seed)
    model = _fit(NestedCascade(base, feature_costs=task.costs, stopping=RULES, random_state=task.seed), task)
    yield from levels(RULES, model.paths_, model.paths_of(task.parts.X_test, task.parts.y_test), N_LEVELS)


def own_choices(estimator: JointFrontier, task: Task) -> list[Option]:
    """Measure what an estimator that makes a frontier itself takes from it for each budget."""
    model = _fit(clone(estimator).set_params(feature_costs=task.costs, random_state=task.seed), task)
    expected = model.frontier_.cost[[model.frontier_.within(budget) for budget in task.budgets]]
    measured = at_budgets(model, task, task.budgets)
    return [option._replace(validation_cost=cost) for option, cost in zip(measured, expected.tolist(), strict=True)]


METHODS: Mapping[str, Method | JointFrontier] = {
    "CEGB lazy": cegb_lazy,
    "CEGB coupled": cegb_coupled,
    "CatBoost penalties": catboost_penalties,
    "k best, forest": selected_forest,
    "k best, LightGBM": selected_lightgbm,
    "cost-complexity": cost_complexity,
    "BudgetRF": budget_rf,
    "GreedyMiser": greedy_miser,
    "BudgetPrune": budget_prune,
    "CEGB early exit": cegb_early_exit,
    "NestedCascade": nested_cascade,
    "BudgetForest": BudgetForest(),
    "BudgetBoost": BudgetBoost(),
    "BudgetedClassifier": BudgetedClassifier(),
}
"""Options to choose among on validation, or an estimator that chooses itself."""

OURS = ("BudgetPrune", "CEGB early exit", "NestedCascade", "BudgetForest", "BudgetBoost", "BudgetedClassifier")
"""What is of this package; the rest is what people use."""

NEEDS = {
    "CatBoost penalties": "catboost",
    **dict.fromkeys(("CEGB lazy", "CEGB coupled", "CEGB early exit", "k best, LightGBM"), "lightgbm"),
}
"""The library that a method needs, where it needs one."""

ABLATIONS: Mapping[str, JointFrontier] = {
    "BudgetBoost": BudgetBoost(),
    "BudgetBoost, no pruning": BudgetBoost(n_prunings=0),
    "BudgetBoost, no refit": BudgetBoost(refit=None),
    "BudgetBoost, regrown": BudgetBoost(refit="alternate"),
    "BudgetBoost, no single price": BudgetBoost(single_price=False),
    "BudgetBoost, no stopping": BudgetBoost(stopping=()),
    "BudgetForest": BudgetForest(),
    "BudgetForest, no pruning": BudgetForest(n_prunings=0),
    "BudgetForest, not regrown": BudgetForest(regrow=False),
    "BudgetForest, not nested": BudgetForest(nested=False),
    "BudgetForest, no stopping": BudgetForest(stopping=()),
    "BudgetForest, no lookahead": BudgetForest(n_lookahead=0),
}
"""The two with each ingredient switched off alone, and boosting regrown on what is bought."""

KNOWN = {**METHODS, **ABLATIONS}
"""Everything that `run` can train, by its name."""


def available(methods: Iterable[str]) -> list[str]:
    """Return the methods whose library is installed."""
    return [name for name in methods if name not in NEEDS or find_spec(NEEDS[name]) is not None]


def drawn(data: Dataset, seed: int) -> tuple[Parts, FeatureCosts]:
    """Draw half, a quarter and a quarter of a data set, and no more than `PARTS`; "letter" is A-M against N-Z."""
    X, y = data.X.astype(np.float64), data.y
    if data.name == "letter":
        y = (y < len(data.class_names) // 2).astype(np.int64)
    shares = [min(most, int(share * y.size)) for most, share in zip(PARTS, (0.5, 0.25, 0.25), strict=True)]
    return split_parts(X, y, (shares[0], shares[1], shares[2]), seed), data.costs


def budgets_for(costs: FeatureCosts) -> tuple[float, ...]:
    """Return budgets on a logarithmic scale: from two of the cheapest units to six tenths of all."""
    paid = costs.positive_costs
    return tuple(float(f"{budget:.3g}") for budget in np.geomspace(2 * min(paid), 0.6 * sum(paid), N_BUDGETS))


def run(tables: Mapping[str, Dataset], cell: Cell) -> list[Record]:
    """Train one method on one seed's parts, and choose for each budget on the validation part."""
    name = cell["data"]
    parts, costs = drawn(tables[name] if name in tables else datasets.load(name), cell["seed"])
    task = Task(parts, costs, budgets_for(costs), cell["trees"], cell["seed"])
    method = KNOWN[cell["method"]]
    if isinstance(method, JointFrontier):
        chosen = own_choices(method, task)
    else:
        options = [majority(parts), *method(task)]
        chosen = [choose(options, budget) for budget in task.budgets]
    return [{"budget": budget, **option._asdict()} for budget, option in zip(task.budgets, chosen, strict=True)]


BEST: dict[str, Callable[[str], bool]] = {
    "best of others": lambda method: method not in OURS,
    "best of ours": lambda method: method in OURS,
}
"""Chosen on validation, seed by seed and budget by budget: of equal errors, up to rounding, the cheapest."""


def with_best(records: Sequence[Record]) -> list[Record]:
    """Add what choosing among the methods on validation comes to."""
    groups: dict[tuple[str, int, float], list[Record]] = {}
    for record in records:
        groups.setdefault((record["data"], record["seed"], record["budget"]), []).append(record)
    chosen = []
    for group in groups.values():
        for name, belongs in BEST.items():
            members = [record for record in group if record["method"] in METHODS and belongs(record["method"])]
            if members:
                key = min(members, key=lambda record: (round(record["validation_error"], 9), record["validation_cost"]))
                chosen.append({**key, "method": name})
    return [*records, *chosen]


def summarise(records: list[Record]) -> list[Record]:
    """Average over seeds: a row per data set, method and budget, and one for `AREA`, the mean over log budgets.

    Errors are in per cent; ``difference`` is to the best of others, seed by seed, and ``relative`` the same in per cent
    of it; ``rank`` is the mean rank among the methods, 1 the best. Rows of the data set `ALL` are means over the data
    sets that all methods finished, their standard errors those over data sets.
    """
    rows: list[Record] = []
    for data, methods in _table(with_best(records)).items():
        reference = methods.get("best of others", {})
        ranks = _mean_ranks({name: runs for name, runs in methods.items() if name not in BEST})
        for method, runs in methods.items():
            seeds = sorted(runs)
            errors = _with_area(np.array([runs[seed][1] for seed in seeds]))
            shared = [place for place, seed in enumerate(seeds) if seed in reference]
            others = _with_area(np.array([reference[seeds[place]][1] for place in shared])) if shared else None
            for place, budget in enumerate([*runs[seeds[0]][0], AREA]):
                apart = np.zeros(1) if others is None else errors[shared, place] - others[:, place]
                relative = np.zeros(1) if others is None else 100 * apart / np.maximum(others[:, place], TINY)
                rows.append(
                    {
                        "data": data,
                        "method": method,
                        "seeds": len(seeds),
                        "budget": budget,
                        "error": float(errors[:, place].mean()),
                        "error_se": standard_error(errors[:, place]),
                        "difference": float(apart.mean()),
                        "difference_se": standard_error(apart),
                        "relative": float(relative.mean()),
                        "relative_se": standard_error(relative),
                        "rank": float(ranks[method][place]) if method in ranks else 0.0,
                    }
                )
    return rows + _over_all(rows)


def _over_all(rows: Sequence[Record]) -> list[Record]:
    """Average areas over the data sets that all methods finished; without two of them there is nothing to average."""
    areas = areas_by_method(rows)
    data_sets = list(next(iter(areas.values()), {}))
    if len(data_sets) < 2:
        return []
    found = mean_ranks(rows)
    ranks = {} if found is None else dict(zip(found.methods, found.ranks.tolist(), strict=True))
    return [
        {
            "data": ALL,
            "method": method,
            "seeds": min(lines[data]["seeds"] for data in data_sets),
            "budget": AREA,
            **{
                f"{measure}{ending}": summed([lines[data][measure] for data in data_sets])
                for measure in ("error", "difference", "relative")
                for ending, summed in (("", _mean), ("_se", standard_error))
            },
            "rank": ranks.get(method, 0.0),
        }
        for method, lines in areas.items()
    ]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def areas_by_method(rows: Sequence[Record]) -> dict[str, dict[str, Record]]:
    """Sort the rows of `AREA`: method, then data set; of those data sets only that have a row of every method."""
    areas: dict[str, dict[str, Record]] = {}
    for row in rows:
        if row["budget"] == AREA and row["data"] != ALL:
            areas.setdefault(row["method"], {})[row["data"]] = row
    complete = [row["data"] for row in rows if all(row["data"] in lines for lines in areas.values())]
    return {method: {data: lines[data] for data in dict.fromkeys(complete)} for method, lines in areas.items()}


def mean_ranks(rows: Sequence[Record]) -> MeanRanks | None:
    """Rank the methods by their areas, or return None where there are too few methods or data sets to test."""
    errors = {
        method: [row["error"] for row in lines.values()]
        for method, lines in areas_by_method(rows).items()
        if method not in BEST
    }
    if len(errors) < 3 or len(next(iter(errors.values()))) < 2:
        return None
    return rank_methods(errors)


def _with_area(errors: Array) -> Array:
    """Add the mean over budgets, which lie evenly on a logarithmic scale, as a last column; in per cent."""
    return 100 * np.column_stack([errors, errors.mean(axis=1)])


Runs: TypeAlias = dict[int, tuple[tuple[float, ...], Array]]


def _table(records: Sequence[Record]) -> dict[str, dict[str, Runs]]:
    """Sort records: data set, method, seed; then budgets and test errors."""
    lines: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for record in records:
        key = (record["data"], record["method"], record["seed"])
        lines.setdefault(key, []).append((record["budget"], record["error"]))
    table: dict[str, dict[str, Runs]] = {}
    for (data, method, seed), line in lines.items():
        budgets, errors = zip(*sorted(line), strict=True)
        table.setdefault(data, {}).setdefault(method, {})[seed] = (budgets, np.array(errors))
    return table


def _mean_ranks(methods: dict[str, Runs]) -> dict[str, Array]:
    """Rank the methods at each budget and overall, on the seeds that all have; return their mean ranks, 1 the best."""
    seeds = set.intersection(*(set(runs) for runs in methods.values())) if methods else set()
    if not seeds:
        return {}
    errors = np.array([[runs[seed][1] for seed in sorted(seeds)] for runs in methods.values()])
    ranks = rankdata(errors, axis=0).mean(axis=1)
    return dict(zip(methods, np.column_stack([ranks, ranks.mean(axis=1)]), strict=True))


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw test error against budget, one panel per data set; below them the mean ranks, if there are enough."""
    table, found = _table(with_best(records)), mean_ranks(rows)
    n_lines = -(-len(table) // 3)
    figure = Figure(figsize=(5 * min(3, len(table)), 4 * (n_lines + (found is not None))), layout="constrained")
    upper: Any = figure
    if found is not None:
        halves: Any = figure.subfigures(2, 1, height_ratios=[n_lines, 1])
        upper = halves[0]
        draw_ranks(halves[1].add_subplot(), found)
    for place, (data, methods) in enumerate(table.items(), start=1):
        axes = upper.add_subplot(n_lines, min(3, len(table)), place)
        shown = {*BEST, *OURS, *(METHODS if "best of others" not in methods else ())}
        for method, runs in methods.items():
            if method in shown:
                errors = 100 * np.array([errors for _, errors in runs.values()])
                budgets = next(iter(runs.values()))[0]
                spread = [standard_error(column) for column in errors.T]
                width = 2.5 if method.startswith("best") else 1
                axes.errorbar(budgets, errors.mean(axis=0), spread, label=method, marker=".", lw=width)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(data)
        axes.set_xlabel("average cost, at most")
        axes.set_ylabel("test error, %")
    axes.legend(fontsize=7)
    return figure


def frontier_experiment(
    data_sets: Sequence[str | Dataset], methods: Sequence[str] | None = None, n_seeds: int = 5, n_trees: int = 100
) -> Experiment:
    """Describe the comparison of methods on data sets, as `ipforest.experiments.experiment.reproduce` runs it.

    Parameters
    ----------
    data_sets : sequence of str or Dataset
        Names for `ipforest.datasets.load`, or data sets of your own, whose names are others.
    methods : sequence of str, optional
        Keys of `METHODS` or `ABLATIONS`; by default all of the first whose library is installed.
    n_seeds : int
    n_trees : int
        Trees of the forests and boosted ensembles of other people's methods.

    Raises
    ------
    ValueError
        An unknown method, or two data sets of one name.
    """
    tables = {data.name: data for data in data_sets if isinstance(data, Dataset)}
    named = [data if isinstance(data, str) else data.name for data in data_sets]
    repeated = [name for name in named if named.count(name) > 1 or (name in tables and name in datasets.names())]
    if repeated:
        raise ValueError(f"data_sets: expected a name for each, got {repeated[0]!r} twice; name your own differently")
    chosen = available(METHODS) if methods is None else list(methods)
    unknown = [name for name in chosen if name not in KNOWN]
    if unknown:
        raise ValueError(f"methods: expected some of {', '.join(map(repr, KNOWN))}, got {unknown[0]!r}")

    told = {name: {"rows": data.fingerprint()} for name, data in tables.items()}

    def cells(quick: bool, seed: int) -> list[Cell]:
        return [
            {"data": name, "method": method, "trees": n_trees, "seed": seed + number, **told.get(name, {})}
            for number in range(1 if quick else n_seeds)
            for name in named
            for method in chosen
        ]

    return Experiment(
        name="frontier",
        title="Error against average cost: everything people use, and what is here",
        source="this package",
        cells=cells,
        run=partial(run, tables),
        summarise=summarise,
        draw=draw,
        differences=lambda quick: [
            f"at most {N_SETTINGS} models per method; at most {PARTS} examples to train, choose and test on",
            "everything is chosen on validation examples; stopping levels are cross-fitted there",
            "area is the mean test error over budgets on a logarithmic scale; difference is to the best of others",
        ],
    )
