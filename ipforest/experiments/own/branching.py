"""What it brings that the next purchase depends on what was seen: branching cascades compared with nested ones."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest._internal.arrays import Array, FloatArray
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.options import Option, choose, levels
from ipforest.experiments.own import early_exit
from ipforest.experiments.own.early_exit import N_LEVELS
from ipforest.experiments.parts import Parts, split_parts
from ipforest.experiments.rows import compared, draw_errors, panels
from ipforest.stopping.branching import BranchingCascade
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.stopped import Member
from ipforest.stopping.threshold_stopping import ThresholdStopping

BUDGETS = (2, 3, 4, 6, 8, 10)
SIZES = {"cube": (2000, 1000, 4000), "cube_nm": (2000, 1000, 4000), "digits": (900, 400, 497)}
"""Examples to train on, to choose on and to test on, where early-exit does not say."""

DATA = ("cube", "cube_nm", "digits", "letters", "miniboone_5k")
RULES = (ThresholdStopping(), OptimalStopping())
NESTED, ALWAYS, BRANCHING = "nested", "always branching", "branching where it pays"


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set and seed."""
    data, n_seeds, trees = (("digits",), 1, 20) if quick else (DATA, 4, 60)
    return [{"data": name, "trees": trees, "seed": seed + run} for run in range(n_seeds) for name in data]


def run(cell: Cell) -> list[Record]:
    """Train both cascades on the same examples, and choose for each budget on the validation examples."""
    parts, seed = load(cell["data"], cell["seed"]), cell["seed"]
    forest = RandomForestClassifier(cell["trees"], random_state=seed, n_jobs=1)
    nested, branching = (
        kind(forest, stopping=RULES, random_state=seed).fit(*parts.to_fit) for kind in (NestedCascade, BranchingCascade)
    )
    options = {
        NESTED: _options(nested.candidates_, parts),
        ALWAYS: _options(branching.candidates_[-1:], parts),
        BRANCHING: _options(branching.candidates_, parts),
    }
    n_stages = {NESTED: len(nested.stages_)}
    return [
        {
            "method": method,
            "budget": budget,
            "stages": n_stages.get(method, len(branching.candidates_[-1].policy.stages)),
            **choose(found, budget).means,
        }
        for method, found in options.items()
        for budget in BUDGETS
    ]


def load(name: str, seed: int) -> Parts:
    """Draw train, validation and test examples; the generated sets are drawn anew for each seed."""
    if name not in SIZES:
        return early_exit.load(name, seed)
    make = {"cube": datasets.cube, "cube_nm": datasets.cube_nm}.get(name)
    data = datasets.load(name) if make is None else make(sum(SIZES[name]), seed)
    return split_parts(data.X.astype(np.float64), data.y, SIZES[name], seed)


def _options(candidates: tuple[Member, ...], parts: Parts) -> list[Option]:
    classes = np.unique(parts.y_train)

    def wrong(outputs: FloatArray, y: Array) -> FloatArray:
        missed: FloatArray = (classes[np.argmax(outputs, axis=1)] != y).astype(np.float64)
        return missed

    return [
        option
        for candidate in candidates
        for option in levels(
            RULES, candidate.paths, candidate.policy.paths_of(parts.X_test, parts.y_test, wrong), N_LEVELS
        )
    ]


def summarise(records: list[Record]) -> list[Record]:
    """Average over seeds; the gain is over the nested cascade, seed by seed."""
    columns = ("error", "error_se", "cost", "gain", "gain_se", "stages")
    return compared(records, ("data", "method", "budget"), columns, method=NESTED)


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw test error against budget, a panel per data set."""
    figure, parts = panels(rows, "data", width=3.4, height=3.4)
    for data, of_data, axes in parts:
        draw_errors(axes, of_data, (NESTED, ALWAYS, BRANCHING), dashed=(BRANCHING,))
        axes.set(title=data, ylim=(0, None), xticks=BUDGETS)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


EXPERIMENT = Experiment(
    name="own/branching",
    title="Cascades in which the next purchase depends on what was seen",
    source="this package",
    steps=Steps(cells, run, summarise, draw),
    differs=(
        "Everything is chosen on the validation examples; cost and error of stopping levels there are cross-fitted",
    ),
    quick="digits only, 20 trees, 1 seed",
    data=("letter", "miniboone_5k", "digits"),
)
