"""BudgetPrune (NIPS 2016), table 1: how often features are used, before and after pruning."""

from __future__ import annotations

from matplotlib.figure import Figure

from ipforest.experiments.condensed import columns
from ipforest.experiments.curves import entropy_forest
from ipforest.experiments.experiment import OURS, Cell, Experiment, Record, Steps, settings_of
from ipforest.experiments.metrics import error_rate, feature_usage_table
from ipforest.experiments.paper_data import load_parts
from ipforest.experiments.rows import averaged
from ipforest.learners import BudgetPrune
from ipforest.learners.forest_pruner import PruningSettings

ERRORS = {OURS: "in-bag", "authors": "training"}
"""The training examples on which the errors of a pruning are counted, by setting."""

TOLERANCE = 0.002
"""The pruning taken is the cheapest whose validation error is at most this above the least on the path."""
COLUMNS = ("unused", "up_to_seven", "more", "cost", "error")
PRINTED = {"unpruned": (0.073, 0.917, 0.01, 42.0, 0.066), "BudgetPrune": (0.683, 0.315, 0.002, 24.3, 0.067)}


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per run."""
    trees, runs = (20, 2) if quick else (40, 10)
    return [{"data": "miniboone", "seed": seed + run, "trees": trees} for run in range(runs)]


def run(cell: Cell) -> list[Record]:
    """Train a forest, prune it, and count uses of features on the test examples."""
    data = load_parts(cell["data"])
    parts = data.parts
    forest = entropy_forest(cell["trees"], cell["seed"])
    errors = ERRORS[settings_of(cell)]
    model = BudgetPrune(forest, feature_costs=data.costs, pruning=PruningSettings(errors=errors)).fit(
        parts.X_train, parts.y_train, parts.X_validation
    )
    n_prunings = len(model.path_.costs)
    places = (n_prunings * step // 200 for step in range(200))
    tried = [model.forest_.prune(model.path_.pruning_at(place)).without_bare_roots() for place in places]
    missed = [error_rate(parts.y_validation, forest.predict(parts.X_validation)) for forest in tried]
    cheapest = max(place for place, error in enumerate(missed) if error <= min(missed) + TOLERANCE)
    X, y = parts.X_test, parts.y_test
    return [
        {"forest": name, **feature_usage_table(of.feature_usage(X), of.cost(X, data.costs), y, of.predict(X))}
        for name, of in (("unpruned", model.forest_), ("BudgetPrune", tried[cheapest]))
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Average over runs, with the paper's figures."""
    paper = [f"paper_{column}" for column in COLUMNS]
    rows = averaged(records, ("forest",), COLUMNS)
    return [{**row, **dict(zip(paper, PRINTED[row["forest"]], strict=True))} for row in rows]


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw the shares as bars, ours next to the paper's."""
    figure = Figure(figsize=(6.5, 3.6))
    axes = figure.add_subplot()
    bars = [(f"{row['forest']}{', paper' * bool(prefix)}", prefix, row) for row in rows for prefix in ("", "paper_")]
    left = [0.0] * len(bars)
    for column, label in zip(COLUMNS[:3], ("not used", "1 to 7 times", "more often"), strict=True):
        widths = [row[prefix + column] for _, prefix, row in bars]
        axes.barh([name for name, _, _ in bars], widths, left=left, label=label)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, (_, prefix, row) in enumerate(bars):
        axes.text(
            1.01, place, f"cost {row[prefix + 'cost']:.1f}, error {100 * row[prefix + 'error']:.1f}%", va="center"
        )
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    axes.set_xlabel("share of the pairs of test example and feature")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=3)
    return figure


EXPERIMENT = Experiment(
    name="budgetprune2016/table1",
    title="How often features are used, before and after pruning",
    source="BudgetPrune (NIPS 2016), section 1, table 1",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "MiniBooNE: the authors' public sample of 5,000 events (2000/1000/2000), unless miniboone.npz is in the data "
        "folder; smaller trees use fewer features",
        "The paper does not print its lambda: here the cheapest pruning whose validation error is within 0.2 points "
        "of the least on the path",
    ),
    quick="20 trees, 2 runs",
    settings={
        OURS: "as printed: errors are counted in the bag, costs on validation examples",
        "authors": "errors are counted on all training examples, in the bag or not",
    },
    data=("miniboone",),
    reasons=(
        "The forests are grown on 2,000 events, not on 45,523: the trees are smaller, test fewer features of an "
        "example even before pruning, and have a higher error. The direction is the paper's, and so is what is saved",
    ),
    condense=columns(
        *("forest", "unused", "paper_unused", "up_to_seven", "paper_up_to_seven", "more", "paper_more"),
        *("cost", "paper_cost", "error", "paper_error", "runs"),
    ),
    minutes=1,
)
