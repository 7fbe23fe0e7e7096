"""The command ``demo``: a forest, its whole path, what a budget buys, and what other methods do with it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.table import Table

from ipforest._internal.words import plain
from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import (
    SEARCH_SECONDS,
    Arguments,
    Parser,
    exact_number,
    make_kernels_ready,
    new_table,
    out_directory,
    plain_console,
    progress_of,
    seconds,
)

if TYPE_CHECKING:
    from ipforest._internal.arrays import FloatArray
    from ipforest.experiments.comparison import Comparison
    from ipforest.experiments.tradeoff import Solver, Tradeoff, TradeoffPoint
    from ipforest.instance import PruningInstance
    from ipforest.results import PruningResult

SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Budgets of the comparison, as shares of what the unpruned forest costs."""

DESCRIPTION = (
    "Train a random forest, prune it optimally, pick a pruning within a budget, and compare with other methods "
    "over seeds."
)


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_data_options()
    command.add_argument(
        "--budget", metavar="B", help="average cost per example (default: half of what the whole forest costs)"
    )
    command.add_number("--seeds", 3, "seeds of the comparison")
    command.add_argument(
        "--all-features", action="store_true", help="try all features at a split (default: the square root of them)"
    )
    command.add_list("--lambdas", "L", "lambdas of the table (default: a grid of ten)")
    command.add_argument(
        "--time-limit",
        type=seconds,
        default=SEARCH_SECONDS,
        metavar="S",
        help=f"seconds of branch and bound for the budget (default: {SEARCH_SECONDS:g})",
    )
    command.add_argument(
        "--formulation",
        metavar="NAME",
        help="solve the prunings of the table by HiGHS, as this Pyomo model (default: min-cut)",
    )
    command.add_out_option("comparison.png, comparison.csv, comparison.json, tradeoff.csv and tradeoff.json")


def run(options: Arguments) -> int:
    """Do the main job end to end on one data set."""
    import json

    from ipforest import datasets
    from ipforest._internal.rational import nonnegative_fraction
    from ipforest.experiments.comparison import compare
    from ipforest.experiments.parts import train_and_split
    from ipforest.experiments.tradeoff import lambda_grid, measure_path, solve_tradeoff
    from ipforest.instance import PruningInstance
    from ipforest.path_search import prune_path
    from ipforest.solvers import solve, solve_budget

    data = datasets.load(options.data)
    typed = options.lambdas
    lambdas = None if typed is None else [nonnegative_fraction(text, "lambdas") for text in typed]
    budget = exact_number(options.budget, "budget")
    solver = solve if options.formulation is None else _pyomo_solver(options.formulation)
    max_features = None if options.all_features else "sqrt"
    directory = out_directory(options)
    make_kernels_ready(options)
    with progress_of(options) as progress:
        progress(0.0, f"training {options.trees} trees")
        forest, parts = train_and_split(data, options.trees, options.seed, max_features)
        instance = PruningInstance.from_forest(forest, parts.X_validation, data.costs)
        unpruned_cost = instance.evaluate(instance.unpruned)[1]
        tradeoff = solve_tradeoff(
            forest,
            instance,
            data.costs,
            parts.X_test,
            parts.y_test,
            lambda_grid(instance) if lambdas is None else lambdas,
            solver,
            data.currency,
            progress,
            unpruned_cost / 2 if budget is None else budget,
            lambda problem, limit: solve_budget(problem, limit, method="mip", time_limit=options.time_limit),
        )
        seeds = range(options.seed, options.seed + options.seeds)
        budgets = [share * float(unpruned_cost) for share in SHARES]
        comparison = compare(data, budgets, seeds, n_trees=options.trees, max_features=max_features, progress=progress)
        on_test = measure_path(forest, prune_path(instance), data.costs, parts.X_test, parts.y_test)
    if directory is not None:
        _write(tradeoff, comparison, on_test, directory)
    if options.json:
        print(json.dumps({**json.loads(tradeoff.to_json()), "comparison": comparison.summary()}))
        return DONE
    console = plain_console()
    console.print(f"{data!r}\n{forest!r}\n{instance!r}", soft_wrap=True)
    console.print(_tradeoff_table(tradeoff))
    console.print(_budget_verdict(tradeoff))
    console.print(_comparison_table(comparison))
    if directory is not None:
        console.print(f"Wrote comparison.png and the tables as CSV and JSON to {directory}.", soft_wrap=True)
    return DONE


def _pyomo_solver(formulation: str) -> Solver:
    """Solve a formulation's 0-1 program, built by Pyomo, with HiGHS."""
    import formulations

    if formulations.formulation(formulation).takes != "lam":
        raise ValueError(f"--formulation: expected a program that takes lambda, got {formulation!r}")

    def solve_model(instance: PruningInstance, lam: Fraction) -> PruningResult:
        return cast("PruningResult", formulations.solve(formulations.build(formulation, instance, lam)))

    return solve_model


def _budget_verdict(tradeoff: Tradeoff) -> str:
    budget, chosen = tradeoff.budget, tradeoff.within_budget
    if budget is None or chosen is None:
        return ""
    gap = float(chosen.gap)
    proof = (
        "no pruning within it has less in-bag error" if gap == 0 else f"at most {gap:.2g} of in-bag error from the best"
    )
    return (
        f"Budget {plain(float(budget))} {tradeoff.currency} on validation data ({proof}): {tradeoff.compare(chosen)}."
    )


def _tradeoff_table(tradeoff: Tradeoff) -> Table:
    headings = ("lambda", "in-bag error", "validation cost", "test error", "test cost", "internal nodes", "gap")
    table = new_table(f"Optimal prunings of one forest; cost in {tradeoff.currency} per example", *headings)
    for point in tradeoff.points:
        table.add_row("" if point.lam is None else f"{float(point.lam):.3g}", *_point_cells(point))
    if tradeoff.within_budget is not None:
        table.add_row("budget", *_point_cells(tradeoff.within_budget), style="bold")
    table.add_row("unpruned", *_point_cells(tradeoff.unpruned)[:-1], "")
    return table


def _point_cells(point: TradeoffPoint) -> tuple[str, ...]:
    return (
        f"{float(point.training_error):.4f}",
        f"{float(point.validation_cost):.3f}",
        f"{point.test_error:.4f}",
        f"{point.test_cost:.3f}",
        str(point.n_kept),
        "0" if point.gap == 0 else f"{float(point.gap):.0e}",
    )


def _comparison_table(comparison: Comparison) -> Table:
    """Rows are budgets, columns methods: test error in percent, with its standard error over seeds."""
    title = f"Test error in %, mean and standard error over {comparison.n_seeds} seeds"
    table = new_table(title, f"budget ({comparison.currency})", *comparison.methods)
    records: dict[float, dict[str, Any]] = {budget: {} for budget in comparison.budgets}
    for record in comparison.summary():
        records[record["budget"]][record["method"]] = record
    for budget, by_method in records.items():
        cells = [
            f"{100 * record['test_error']:.1f} ± {100 * record['test_error_se']:.1f}" for record in by_method.values()
        ]
        table.add_row(plain(budget), *cells)
    return table


def _write(tradeoff: Tradeoff, comparison: Comparison, path: tuple[FloatArray, FloatArray], directory: Path) -> None:
    from ipforest._internal.files import write_figure, write_text

    for name, result in (("tradeoff", tradeoff), ("comparison", comparison)):
        write_text(directory / f"{name}.csv", result.to_csv())
        write_text(directory / f"{name}.json", result.to_json())
    write_figure(directory / "comparison.png", comparison.plot(path=path).figure)
