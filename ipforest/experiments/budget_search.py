"""What of a budget is used: error and proven bound of the breakpoint, of greed and of branch and bound.

``python -m ipforest.experiments.budget_search digits heart_cleveland`` prints the table.

Between two breakpoints of the path the relaxation's bound, the lower hull of all prunings, is met by no pruning. Greed
leaves a gap to it. Branch and bound closes the gap from above, by better prunings, and from below, by better bounds;
where it ends with a proof, what lies between the hull and the optimum was the hull's own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ipforest import datasets
from ipforest._files import write_text
from ipforest._records import records_to_csv, records_to_text
from ipforest.ensemble.forest import Forest
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.instance import PruningInstance
from ipforest.path import PruningPath, prune_path
from ipforest.progress import ProgressCallback, silent
from ipforest.solvers import solve_budget
from ipforest.solvers.attainable import Attainable

__all__ = ["DATASETS", "SHARES", "BudgetRow", "bench_budgets", "compare_searches", "forest_instance"]

DATASETS = ("digits", "heart_cleveland", "letter", "miniboone_5k")
SHARES = tuple(Fraction(number, 1000) for number in (50, 144, 239, 333, 428, 522, 617, 711, 806, 900))
"""Budgets in parts of what the unpruned forest costs."""
N_TREES = 40
MAX_FEATURES = 0.8


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """Three searches within one budget; errors are those that the integer program minimises.

    Parameters
    ----------
    dataset : str
    share, budget : Fraction
        Of what the unpruned forest costs, and in the unit of the prices.
    breakpoint, greedy, exact : Fraction
        Error of the best breakpoint within the budget, by greed, and by branch and bound.
    hull, bound : Fraction
        What the path proves, raised to the next error that a pruning can have, and what branch and bound proves.
    greedy_s, exact_s : float
        Seconds, the path not counted.
    """

    dataset: str
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
        """Whether no pruning within the budget errs less, proven."""
        return self.exact == self.bound

    def record(self) -> dict[str, Any]:
        """Return the row as plain text and numbers."""
        errors = ("breakpoint", "greedy", "exact", "bound", "hull")
        return {
            "dataset": self.dataset,
            "share": f"{float(self.share):.3f}",
            "budget": f"{float(self.budget):.2f}",
            **{name: f"{float(getattr(self, name)):.4f}" for name in errors},
            "closed": f"{float(self.closed):.0%}",
            "optimal": "yes" if self.is_optimal else "no",
            "greedy_s": f"{self.greedy_s:.2f}",
            "exact_s": f"{self.exact_s:.2f}",
        }


def bench_budgets(
    out: str | Path | None = None,
    names: Sequence[str] = DATASETS,
    seed: int = 0,
    progress: ProgressCallback = silent,
    *,
    time_limit: float = 10.0,
    max_features: Any = MAX_FEATURES,
) -> list[BudgetRow]:
    """Compare the searches on forests fitted to data sets, at ten budgets each.

    Parameters
    ----------
    out : path, optional
        CSV file to write.
    names : sequence of str
        See `ipforest.datasets.names`.
    seed : int
    progress : callable
    time_limit : float
        Seconds of branch and bound for each budget.
    max_features : int, float or str
        Of the forest.
    """
    _compile()
    rows: list[BudgetRow] = []
    for number, name in enumerate(names):
        progress(number / len(names), name)
        instance = forest_instance(name, seed=seed, max_features=max_features)
        rows += compare_searches(name, prune_path(instance), time_limit=time_limit)
    progress(1.0, "")
    if out is not None:
        write_text(out, records_to_csv([row.record() for row in rows]))
    return rows


def forest_instance(
    name: str, n_trees: int = N_TREES, seed: int = 0, max_features: Any = MAX_FEATURES
) -> PruningInstance:
    """Fit a forest to half of a data set; the other half pays for features."""
    data = datasets.load(name)
    order = np.random.default_rng(seed).permutation(data.y.size)
    train, pay = order[: order.size // 2], order[order.size // 2 :]
    model = RandomForestClassifier(n_trees, max_features=max_features, random_state=seed)
    forest = Forest.from_sklearn(model.fit(data.X[train], data.y[train]))
    return PruningInstance.from_forest(forest, data.X[pay], data.costs)


def compare_searches(
    name: str, path: PruningPath, shares: Sequence[Fraction] = SHARES, time_limit: float | None = 10.0
) -> list[BudgetRow]:
    """Search at several budgets, each time with the path that is known.

    Parameters
    ----------
    name : str
        For the rows.
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
        started = perf_counter()
        greedy = solve_budget(instance, budget, "greedy", path=path)
        between = perf_counter()
        exact = solve_budget(instance, budget, "mip", path=path, time_limit=time_limit)
        ended = perf_counter()
        hull = Attainable.errors(instance).at_least(on_path.bound / instance.error_unit) * instance.error_unit
        rows.append(
            BudgetRow(
                dataset=name,
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
    compare_searches("", path, SHARES[3:7], time_limit=None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write it as CSV if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", default=DATASETS, help="data sets")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds of branch and bound for each budget")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="CSV file")
    options = parser.parse_args(arguments)
    rows = bench_budgets(options.out, options.names, options.seed, time_limit=options.time_limit)
    print(records_to_text([row.record() for row in rows]))


if __name__ == "__main__":
    main()
