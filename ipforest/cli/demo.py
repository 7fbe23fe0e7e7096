"""The command ``demo``: the main job, end to end, on one data set."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.console import Console
from rich.table import Table

from ipforest.cli.options import (
    DONE,
    Arguments,
    Subparsers,
    add_command,
    add_data_options,
    add_out_option,
    exact_number,
    new_table,
    out_directory,
    seconds,
)

if TYPE_CHECKING:
    from ipforest.experiments.tradeoff import Solver, Tradeoff, TradeoffPoint
    from ipforest.instance import PruningInstance
    from ipforest.results import PruningResult


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands,
        "demo",
        run,
        "Train a random forest, prune it optimally over a range of lambda, and pick a pruning within a budget.",
    )
    add_data_options(command)
    command.add_argument("--budget", metavar="B", help="average cost an example (default: half of the unpruned)")
    command.add_argument("--lambdas", nargs="+", metavar="L", help="lambdas to solve for (default: a grid of ten)")
    command.add_argument(
        "--time-limit", type=seconds, default=10.0, metavar="S", help="seconds of branch and bound for the budget"
    )
    command.add_argument("--formulation", default="closure", help="Pyomo model to solve (default: closure)")
    add_out_option(command, "tradeoff.png, tradeoff.csv and tradeoff.json")


def run(options: Arguments) -> int:
    """Do the main job end to end on one data set."""
    from ipforest import datasets
    from ipforest.experiments.demo import train_and_split
    from ipforest.experiments.tradeoff import lambda_grid, solve_tradeoff
    from ipforest.instance import PruningInstance
    from ipforest.progress import progress_bar
    from ipforest.rational import nonnegative_fraction
    from ipforest.solvers import solve_budget

    data = datasets.load(options.data)
    typed = options.lambdas
    lambdas = None if typed is None else [nonnegative_fraction(text, "lambdas") for text in typed]
    budget = exact_number(options.budget, "budget")
    solver = _pyomo_solver(options.formulation)
    directory = out_directory(options)
    with progress_bar("ipforest demo", visible=not options.json) as progress:
        progress(0.0, f"training {options.trees} trees")
        forest, parts = train_and_split(data, options.trees, options.seed)
        instance = PruningInstance.from_forest(forest, parts.X_validation, data.costs)
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
            instance.evaluate(instance.unpruned)[1] / 2 if budget is None else budget,
            lambda problem, limit: solve_budget(problem, limit, method="mip", time_limit=options.time_limit),
        )
    if directory is not None:
        _write_tradeoff(tradeoff, directory)
    if options.json:
        print(tradeoff.to_json())
        return DONE
    console = Console()
    console.print(f"{data!r}\n{forest!r}\n{instance!r}", highlight=False, soft_wrap=True)
    console.print(_tradeoff_table(tradeoff))
    console.print(_budget_statement(tradeoff), highlight=False)
    if directory is not None:
        console.print(f"Wrote tradeoff.png, tradeoff.csv and tradeoff.json to {directory}.")
    return DONE


def _pyomo_solver(formulation: str) -> Solver:
    """Solve a formulation's 0-1 program, built by Pyomo, with HiGHS."""
    import formulations

    if formulations.formulation(formulation).takes != "lam":
        raise ValueError(f"--formulation: expected a program that takes lambda, got {formulation!r}")

    def solve_model(instance: PruningInstance, lam: Fraction) -> PruningResult:
        return cast("PruningResult", formulations.solve(formulations.build(formulation, instance, lam)))

    return solve_model


def _budget_statement(tradeoff: Tradeoff) -> str:
    budget, chosen = tradeoff.budget, tradeoff.within_budget
    if budget is None or chosen is None:
        return ""
    gap = float(chosen.gap)
    proof = (
        "no pruning within it has less in-bag error" if gap == 0 else f"at most {gap:.2g} of in-bag error from the best"
    )
    return f"Budget {float(budget):.4g} {tradeoff.currency} on validation data ({proof}): {tradeoff.compare(chosen)}."


def _tradeoff_table(tradeoff: Tradeoff) -> Table:
    table = new_table(f"Optimal prunings; cost in {tradeoff.currency} an example")
    for heading in ("lambda", "in-bag error", "validation cost", "test error", "test cost", "internal nodes", "gap"):
        table.add_column(heading, justify="right")
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


def _write_tradeoff(tradeoff: Tradeoff, directory: Path) -> None:
    from ipforest.plotting import plot_tradeoff

    (directory / "tradeoff.csv").write_text(tradeoff.to_csv())
    (directory / "tradeoff.json").write_text(tradeoff.to_json())
    plot_tradeoff(tradeoff).figure.savefig(directory / "tradeoff.png", dpi=150, bbox_inches="tight")
