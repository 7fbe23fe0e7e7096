"""The command line: ``ipforest COMMAND``; exit codes 0 done, 1 a check failed, 2 wrong usage or bad input."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table

DONE, CHECK_FAILED, BAD_INPUT = 0, 1, 2

Arguments: TypeAlias = argparse.Namespace
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = build_parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except KeyboardInterrupt:
        print("ipforest: interrupted", file=sys.stderr)
        return 130
    except (ValueError, TypeError, OverflowError, OSError, ImportError) as problem:
        if options.debug:
            raise
        print(f"ipforest: error: {problem}", file=sys.stderr)
        return BAD_INPUT
    return code


def build_parser() -> argparse.ArgumentParser:
    """Describe all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="ipforest", description="Prune tree ensembles to a feature budget, provably optimally."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (_add_demo, _add_versions):
        add(commands)
    return parser


def _command(commands: Subparsers, name: str, run: Any, description: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=description, description=description)
    command.set_defaults(run=run)
    command.add_argument("--json", action="store_true", help="print JSON in place of a table")
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def _add_data_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data", default="breast_cancer", metavar="NAME", help="data set: bundled, or a file of $IPFOREST_DATA"
    )
    command.add_argument("--trees", type=_positive_integer, default=40, metavar="T", help="trees of the forest")
    command.add_argument("--seed", type=int, default=0, help="seed of the splits and the forest")


def _positive_integer(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected an integer >= 1, got {text}")
    return value


def _out_directory(options: Arguments) -> Path | None:
    if options.out is None:
        return None
    directory = Path(options.out)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _add_demo(commands: Subparsers) -> None:
    command = _command(
        commands,
        "demo",
        run_demo,
        "Train a random forest, prune it optimally over a range of lambda, and pick a pruning within a budget.",
    )
    _add_data_options(command)
    command.add_argument("--budget", metavar="B", help="average cost an example (default: half of the unpruned)")
    command.add_argument("--lambdas", nargs="+", metavar="L", help="lambdas to solve for (default: a grid of ten)")
    command.add_argument("--formulation", default="ip3", help="Pyomo model to solve (default: ip3)")
    command.add_argument("--out", metavar="DIR", help="write tradeoff.png, tradeoff.csv and tradeoff.json there")


def run_demo(options: Arguments) -> int:
    """Do the main job end to end on one data set."""
    import formulations
    from ipforest import datasets
    from ipforest.demo import train_and_split
    from ipforest.instance import PruningInstance
    from ipforest.progress import progress_bar
    from ipforest.rational import nonnegative_fraction
    from ipforest.tradeoff import lambda_grid, solve_tradeoff

    data = datasets.load(options.data)
    typed = options.lambdas
    lambdas = None if typed is None else [nonnegative_fraction(text, "lambdas") for text in typed]
    budget = None if options.budget is None else nonnegative_fraction(options.budget, "budget")
    with progress_bar("ipforest demo") as progress:
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
            lambda problem, lam: formulations.solve(formulations.build(options.formulation, problem, lam)),
            data.cost_unit,
            progress,
        )
    budget = tradeoff.unpruned.validation_cost / 2 if budget is None else budget
    chosen = tradeoff.within(budget)
    directory = _out_directory(options)
    if directory is not None:
        _write_tradeoff(tradeoff, budget, directory)
    if options.json:
        print(tradeoff.to_json())
        return DONE
    console = Console()
    console.print(f"{data!r}\n{forest!r}\n{instance!r}", highlight=False)
    console.print(_tradeoff_table(tradeoff, chosen))
    console.print(f"Budget {float(budget):.4g} {data.cost_unit} on validation data: {tradeoff.compare(chosen)}.")
    if directory is not None:
        console.print(f"Wrote tradeoff.png, tradeoff.csv and tradeoff.json to {directory}.")
    return DONE


def _tradeoff_table(tradeoff: Any, chosen: Any) -> Table:
    table = Table(title=f"Optimal prunings; cost in {tradeoff.cost_unit} an example")
    for heading in ("lambda", "in-bag error", "validation cost", "test error", "test cost", "internal nodes", "gap"):
        table.add_column(heading, justify="right")
    for point in (*tradeoff.points, tradeoff.unpruned):
        is_whole = point is tradeoff.unpruned
        table.add_row(
            "unpruned" if is_whole else f"{float(point.lam):.3g}",
            f"{float(point.training_error):.4f}",
            f"{float(point.validation_cost):.3f}",
            f"{point.test_error:.4f}",
            f"{point.test_cost:.3f}",
            str(point.n_kept),
            "" if is_whole else str(point.gap) if point.gap == 0 else f"{float(point.gap):.1e}",
            style="bold" if point is chosen else None,
        )
    return table


def _write_tradeoff(tradeoff: Any, budget: Fraction, directory: Path) -> None:
    from ipforest.plotting import plot_tradeoff

    (directory / "tradeoff.csv").write_text(tradeoff.to_csv())
    (directory / "tradeoff.json").write_text(tradeoff.to_json())
    plot_tradeoff(tradeoff, budget).figure.savefig(directory / "tradeoff.png", dpi=150, bbox_inches="tight")


def _add_versions(commands: Subparsers) -> None:
    _command(commands, "versions", run_versions, "Print the versions of ipforest and of what it runs on.")


def run_versions(options: Arguments) -> int:
    """Print versions, for bug reports and benchmark tables."""
    from ipforest.solvers import available_solvers

    facts: dict[str, Any] = {"python": sys.version.split()[0], "cores": os.cpu_count()}
    packages = ("ipforest", "numpy", "scipy", "scikit-learn", "numba", "networkx", "pyomo", "highspy", "dask")
    for package in packages:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    facts["solvers"] = available_solvers()
    if options.json:
        print(json.dumps(facts))
    else:
        for name, fact in facts.items():
            print(f"{name:14} {', '.join(fact) if isinstance(fact, list) else fact}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
