"""What of a budget is used: error and proven bound of the breakpoint, of greed and of branch and bound.

Between two breakpoints of the path the relaxation's bound, the lower hull of all prunings, is met by no pruning. Greed
leaves a gap to it. Branch and bound closes the gap from above, by better prunings, and from below, by better bounds;
where it ends with a proof, what lies between the hull and the optimum was the hull's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest._internal.kernels import clock
from ipforest.ensemble.forest import Forest
from ipforest.experiments.experiment import Cell, Experiment, Record, Steps
from ipforest.experiments.rows import draw_line, panels
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath
from ipforest.path_search import prune_path
from ipforest.solvers import solve_budget
from ipforest.solvers.attainable import Attainable

DATASETS = ("digits", "heart_cleveland", "letter", "miniboone_5k")
SHARES = tuple(Fraction(number, 1000) for number in (50, 144, 239, 333, 428, 522, 617, 711, 806, 900))
"""Budgets in parts of what the unpruned forest costs."""
N_TREES, TIME_LIMIT = 40, 10.0
"""Of the forests of usual size: trees, and seconds of branch and bound for each budget."""
N_FEW_TREES = 5
"""Of those that are solved to the end, however long it takes."""
MAX_FEATURES = 0.8
STYLES = {"breakpoint": "C7o--", "greedy": "C1s-", "exact": "C0D-", "bound": "C0^:", "hull": "C1v:"}


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """Three searches within one budget; errors are those that the integer program minimises.

    Parameters
    ----------
    share, budget : Fraction
        Of what the unpruned forest costs, and in the unit of the prices.
    breakpoint, greedy, exact : Fraction
        Error of the best breakpoint within the budget, by greed, and by branch and bound.
    hull, bound : Fraction
        What the path proves, raised to the next error that a pruning can have, and what branch and bound proves.
    greedy_s, exact_s : float
        Seconds, the path not counted.
    """

    share: Fraction
    budget: Fraction
    breakpoint: Fraction
    greedy: Fraction
    exact: Fraction
    hull: Fraction
    bound: Fraction
    greedy_s: float
    exact_s: float

    @property
    def closed(self) -> Fraction:
        """Share of the gap between greed and hull that branch and bound closed, from above and from below."""
        gap = self.greedy - self.hull
        return 1 - (self.exact - self.bound) / gap if gap else Fraction(1)

    @property
    def is_optimal(self) -> bool:
        """Whether it is proven that no pruning within the budget has a lower error."""
        return self.exact == self.bound

    def record(self) -> Record:
        """Return the row as plain numbers."""
        errors = ("breakpoint", "greedy", "exact", "bound", "hull")
        return {
            "share": float(self.share),
            "budget": round(float(self.budget), 4),
            **{name: round(float(getattr(self, name)), 6) for name in errors},
            "closed": round(float(self.closed), 4),
            "optimal": self.is_optimal,
            "greedy_s": round(self.greedy_s, 3),
            "exact_s": round(self.exact_s, 3),
        }


def cells(quick: bool, seed: int) -> list[Cell]:
    """One cell per data set, for forests that are searched for some seconds and for small ones searched to the end."""
    if quick:
        return [{"data": "wine", "trees": 10, "seconds": 1.0, "seed": seed}]
    sizes: tuple[tuple[int, float | None], ...] = ((N_TREES, TIME_LIMIT), (N_FEW_TREES, None))
    return [
        {"data": name, "trees": trees, "seconds": seconds, "seed": seed}
        for trees, seconds in sizes
        for name in DATASETS
    ]


def run(cell: Cell) -> list[Record]:
    """Compare the searches at ten budgets on the forest of one cell."""
    _compile()
    path = prune_path(forest_instance(cell["data"], cell["trees"], cell["seed"]))
    return [row.record() for row in compare_searches(path, time_limit=cell["seconds"])]


def forest_instance(name: str, n_trees: int, seed: int) -> PruningInstance:
    """Fit a forest to half of a data set; the other half pays for features."""
    data = datasets.load(name)
    order = np.random.default_rng(seed).permutation(data.y.size)
    train, pay = order[: order.size // 2], order[order.size // 2 :]
    model = RandomForestClassifier(n_trees, max_features=MAX_FEATURES, random_state=seed)
    forest = Forest.from_sklearn(model.fit(data.X[train], data.y[train]))
    return PruningInstance.from_forest(forest, data.X[pay], data.costs)


def compare_searches(
    path: PruningPath, shares: Sequence[Fraction] = SHARES, time_limit: float | None = TIME_LIMIT
) -> list[BudgetRow]:
    """Search at several budgets, each time with the path that is known.

    Parameters
    ----------
    path : PruningPath
    shares : sequence of Fraction
        Budgets in parts of what the unpruned forest costs.
    time_limit : float, optional
        Seconds of branch and bound for each budget.
    """
    instance = path.instance
    rows = []
    for share in shares:
        budget = share * instance.evaluate(instance.unpruned)[1]
        on_path = path.at_budget(budget)
        started = clock()
        greedy = solve_budget(instance, budget, "greedy", path=path)
        between = clock()
        exact = solve_budget(instance, budget, "mip", path=path, time_limit=time_limit)
        ended = clock()
        hull = Attainable.errors(instance).at_least(on_path.bound / instance.error_unit) * instance.error_unit
        rows.append(
            BudgetRow(
                share=share,
                budget=budget,
                breakpoint=on_path.error,
                greedy=greedy.error,
                exact=exact.error,
                hull=hull,
                bound=exact.bound,
                greedy_s=between - started,
                exact_s=ended - between,
            )
        )
    return rows


def _compile() -> None:
    """Compile all that is measured."""
    path = prune_path(synthetic_instance(4, 100, 6, n_training=200, seed=1))
    compare_searches(path, SHARES[3:7], time_limit=None)


def draw(records: list[Record], rows: list[Record]) -> Figure:
    """Draw in-bag error against budget for the three searches and the two bounds, one panel per forest."""
    figure, parts = panels(rows, "data", "trees", width=4.5, height=3.6, n_columns=4)
    for (name, trees), shown, axes in parts:
        for key, style in STYLES.items():
            draw_line(axes, shown, "budget", key, style, scale=100, label=key, markersize=4)
        axes.set_title(f"{name}, {trees} trees", fontsize=10)
        axes.set_xlabel(f"budget: average cost of an example ({datasets.load(name).currency})")
        axes.set_ylabel("in-bag error, %")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="own/budget_search",
    title="What of a budget is used: breakpoint, greed, and branch and bound with its bound",
    source="this package",
    steps=Steps(cells, run, list, draw),
    differs=(
        "Budgets are parts of what the unpruned forest costs; errors are in-bag, what the integer program minimises",
        f"Branch and bound stops after {TIME_LIMIT:g} s per budget on {N_TREES} trees, and with a proof on "
        f"{N_FEW_TREES}; the path is not counted",
        "closed: the part of the gap between greed and hull that branch and bound closes, from above and from below",
    ),
    quick="wine only, 10 trees, 1 s",
    data=DATASETS,
)
