"""The command line: ``ipforest COMMAND``.

Exit codes: 0 done, 1 a check failed, 2 wrong usage or bad input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ipforest.ensemble.forest import Forest
    from ipforest.experiments.tradeoff import Solver, Tradeoff, TradeoffPoint
    from ipforest.instance import PruningInstance
    from ipforest.path import PruningPath
    from ipforest.results import PruningResult

DONE, CHECK_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

Arguments: TypeAlias = argparse.Namespace
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = build_parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except KeyboardInterrupt:
        print("ipforest: interrupted", file=sys.stderr)
        return INTERRUPTED
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
    for add in (_add_demo, _add_prune, _add_path, _add_crosscheck, _add_prove, _add_verify, _add_bench, _add_versions):
        add(commands)
    return parser


def _command(commands: Subparsers, name: str, run: Any, description: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=description, description=description)
    command.set_defaults(run=run)
    command.add_argument("--json", action="store_true", help="print JSON in place of a table")
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def _add_out_option(command: argparse.ArgumentParser, files: str) -> None:
    command.add_argument("--out", metavar="DIR", help=f"write {files} there")


def _add_data_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data", default="breast_cancer", metavar="NAME", help="data set: bundled, or a file of $IPFOREST_DATA"
    )
    command.add_argument("--trees", type=_positive_integer, default=40, metavar="T", help="trees of the forest")
    command.add_argument("--seed", type=_seed, default=0, help="seed of the splits and the forest")


def _add_problem_options(command: argparse.ArgumentParser) -> None:
    """Options of a forest to prune: trained on a data set, or your own with its examples and prices."""
    _add_data_options(command)
    own = command.add_argument_group("your own forest, in place of --data")
    own.add_argument("--model", metavar="FILE", help="fitted ensemble saved by joblib (loading runs code in it)")
    own.add_argument("--examples", metavar="FILE", help="examples that pay: .csv, .npy, or .npz with an array X")
    own.add_argument("--prices", metavar="FILE", help="CSV with a column cost, a row a feature (default: 1 each)")
    command.add_argument("--loss", help="misclassification, gini, entropy or squared_error (default: by the task)")
    command.add_argument("--split-cost", default="0", metavar="C", help="what one test costs (default: 0)")


def _problem(options: Arguments) -> tuple[Forest, PruningInstance, str]:
    """Give the forest, the instance and the unit of cost that the options describe."""
    from ipforest import datasets
    from ipforest.costs import FeatureCosts
    from ipforest.ensemble.forest import Forest
    from ipforest.experiments.demo import train_and_split
    from ipforest.instance import PruningInstance
    from ipforest.losses import loss_for

    if (options.model is None) != (options.examples is None):
        raise ValueError("--model: expected --model and --examples together, got one of them")
    if options.model is None:
        data = datasets.load(options.data)
        forest, parts = train_and_split(data, options.trees, options.seed)
        X, costs, currency = parts.X_validation, data.costs, data.currency
    else:
        forest = Forest.from_sklearn(_load_model(options.model))
        X, currency = datasets.read_examples(options.examples), "features"
        costs = FeatureCosts.uniform(forest.n_features)
    if options.prices is not None:
        costs, currency = FeatureCosts.from_csv(options.prices), "price units"
    loss = loss_for(options.loss, forest.is_classifier)
    return forest, PruningInstance.from_forest(forest, X, costs, loss, split_cost=options.split_cost), currency


def _load_model(path: str) -> Any:
    import pickle

    import joblib

    try:
        return joblib.load(path)
    except (pickle.UnpicklingError, EOFError, ValueError, KeyError, AttributeError) as problem:
        raise ValueError(f"{path}: expected a complete file written by joblib.dump, got: {problem}") from None


def _positive_integer(text: str) -> int:
    return _integer(text, 1)


def _seed(text: str) -> int:
    return _integer(text, 0)


def _integer(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected an integer >= {least}, got {text}")
    return int(text)


def _seconds(text: str) -> float:
    from ipforest.rational import nonnegative_fraction

    try:
        return float(nonnegative_fraction(text, "seconds"))
    except (ValueError, OverflowError) as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _exact_number(text: str | None, name: str) -> Fraction | None:
    """Read an option's number before the work that needs it begins."""
    from ipforest.rational import nonnegative_fraction

    return None if text is None else nonnegative_fraction(text, name)


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
    command.add_argument(
        "--time-limit", type=_seconds, default=10.0, metavar="S", help="seconds of branch and bound for the budget"
    )
    command.add_argument("--formulation", default="closure", help="Pyomo model to solve (default: closure)")
    _add_out_option(command, "tradeoff.png, tradeoff.csv and tradeoff.json")


def run_demo(options: Arguments) -> int:
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
    budget = _exact_number(options.budget, "budget")
    solver = _pyomo_solver(options.formulation)
    directory = _out_directory(options)
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


def _table(title: str) -> Table:
    return Table(title=title, box=SIMPLE_HEAD, pad_edge=False)


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
    table = _table(f"Optimal prunings; cost in {tradeoff.currency} an example")
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


def _add_prune(commands: Subparsers) -> None:
    command = _command(
        commands, "prune", run_prune, "Prune a forest to a budget, or at one lambda, with a certificate of optimality."
    )
    _add_problem_options(command)
    goal = command.add_mutually_exclusive_group(required=True)
    goal.add_argument("--budget", metavar="B", help="average cost of an example: take the best breakpoint within it")
    goal.add_argument("--lam", metavar="L", help="errors that a unit of cost is worth")
    _add_out_option(command, "pruned.joblib (a scikit-learn forest), result.json and optimality.cert")


def run_prune(options: Arguments) -> int:
    """Prune one forest and prove it."""
    from ipforest.path import prune_path
    from ipforest.progress import progress_bar
    from ipforest.solvers import solve

    budget, lam = _exact_number(options.budget, "budget"), _exact_number(options.lam, "lam")
    directory = _out_directory(options)
    forest, instance, currency = _problem(options)
    best = None
    with progress_bar("ipforest prune", visible=not options.json) as progress:
        if budget is not None:
            path = prune_path(instance, progress=progress)
            if not path.is_complete:
                raise KeyboardInterrupt
            best = path.at_budget(budget)
            lam = path.lambda_of(best.pruning)
        result = solve(instance, lam)
    record = json.dumps(result.to_dict() | ({} if best is None else {"within_budget": best.to_dict()}))
    if directory is not None:
        (directory / "result.json").write_text(record)
        _write_pruned(forest, instance, result, directory)
    if options.json:
        print(record)
        return DONE
    summary = "" if best is None else f"{best.summary()}\n"
    print(f"{forest!r}\n{instance!r}, cost in {currency}\n{summary}{result.summary()}")
    if directory is not None:
        print(f"Wrote pruned.joblib, result.json and optimality.cert to {directory}.")
    return DONE


def _write_pruned(forest: Forest, instance: PruningInstance, result: PruningResult, directory: Path) -> None:
    import joblib

    from proofs.certificates.pruning_file import write_certificate

    joblib.dump(forest.prune(result.pruning).to_sklearn(), directory / "pruned.joblib")
    write_certificate(directory / "optimality.cert", instance, result)


def _add_path(commands: Subparsers) -> None:
    command = _command(commands, "path", run_path, "Compute error and cost of the optimal prunings for every lambda.")
    _add_problem_options(command)
    command.add_argument("--budget", metavar="B", help="also say what this average cost of an example buys")
    command.add_argument("--rows", type=_positive_integer, default=15, metavar="N", help="rows of the table printed")
    _add_out_option(command, "path.png, path.csv, path.json and path.cert, the certificate of every breakpoint")


def run_path(options: Arguments) -> int:
    """Compute, print and plot one path."""
    from ipforest.path import prune_path
    from ipforest.plotting import TradeoffDisplay
    from ipforest.progress import progress_bar
    from proofs.certificates.path_file import write_path_certificate

    budget, directory = _exact_number(options.budget, "budget"), _out_directory(options)
    forest, instance, currency = _problem(options)
    with progress_bar("ipforest path", visible=not options.json) as progress:
        path = prune_path(instance, progress=progress)
    best = None if budget is None else path.at_budget(budget)
    code = DONE if path.is_complete else INTERRUPTED
    if directory is not None:
        (directory / "path.csv").write_text(path.to_csv())
        (directory / "path.json").write_text(path.to_json())
        display = TradeoffDisplay.from_path(path, budget=budget)
        display.figure_.savefig(directory / "path.png", dpi=150, bbox_inches="tight")
        if path.is_complete:  # a coarse path has no flow to certify it
            write_path_certificate(directory / "path.cert", path)
    if options.json:
        print(path.to_json())
        return code
    console = Console()
    console.print(f"{forest!r}\n{instance!r}\n{path.summary()}", highlight=False, soft_wrap=True)
    console.print(_path_table(path, options.rows, currency))
    if best is not None:
        console.print(best.summary(), highlight=False, soft_wrap=True)
    return code


def _path_table(path: PruningPath, n_rows: int, currency: str) -> Table:
    table = _table(f"Optimal prunings; cost in {currency} an example")
    for heading in ("from lambda", "to lambda", "error", "cost", "internal nodes"):
        table.add_column(heading, justify="right")
    ends = [0.0, *map(float, path.breakpoints), inf]
    step = max(1, len(path.errors) / n_rows)
    for index in sorted({round(place * step) for place in range(n_rows)} | {len(path.errors) - 1}):
        if index < len(path.errors):
            table.add_row(
                f"{ends[index]:.4g}",
                f"{ends[index + 1]:.4g}",
                f"{float(path.errors[index]):.4f}",
                f"{float(path.costs[index]):.4f}",
                str(path.pruning_at(index).n_kept),
            )
    return table


def _add_crosscheck(commands: Subparsers) -> None:
    command = _command(
        commands, "crosscheck", run_crosscheck, "Solve random forests by every method and compare in exact arithmetic."
    )
    command.add_argument("--instances", type=_positive_integer, default=500, metavar="N", help="how many")
    command.add_argument("--seed", type=_seed, default=0, help="seed of the instances")
    command.add_argument(
        "--methods", nargs="+", metavar="M", help="methods to compare (default: all that are installed)"
    )
    command.add_argument("--replay", metavar="FILE", help="check a problem again that an earlier run saved")
    command.add_argument("--out", metavar="DIR", help="save a disagreement there (default: here)")


def run_crosscheck(options: Arguments) -> int:
    """Compare the methods; exit 1 at the first disagreement, with the problem saved for replay."""
    from ipforest.progress import progress_bar
    from proofs.crosschecks.methods import crosscheck_random, replay

    if options.replay is not None:
        outcome: Any = replay(options.replay, options.methods)
    else:
        save_to = (_out_directory(options) or Path()) / "disagreement.json"
        with progress_bar("ipforest crosscheck", visible=not options.json) as progress:
            outcome = crosscheck_random(options.instances, options.seed, options.methods, save_to, progress)
    print(json.dumps(outcome.to_dict()) if options.json else outcome)
    return DONE if outcome else CHECK_FAILED


def _add_prove(commands: Subparsers) -> None:
    command = _command(commands, "prove", run_prove, "Examine the papers' claims one by one.")
    command.add_argument("--seed", type=_seed, default=0, help="seed of the random instances")
    _add_out_option(command, "claims.md and claims.json")


def run_prove(options: Arguments) -> int:
    """Examine the claims; exit 1 if a verdict is not the stated one."""
    from ipforest.progress import progress_bar
    from proofs.claims import table as claims

    with progress_bar("ipforest prove", visible=not options.json) as progress:
        table = claims.prove(options.seed, progress)
    directory = _out_directory(options)
    if directory is not None:
        (directory / "claims.md").write_text(claims.to_markdown(table))
        (directory / "claims.json").write_text(claims.to_json(table))
    if options.json:
        print(claims.to_json(table))
    else:
        Console().print(claims.to_rich(table))
    return DONE if claims.all_passed(table) else CHECK_FAILED


def _add_verify(commands: Subparsers) -> None:
    command = _command(commands, "verify", run_verify, "Verify a certificate of optimality, with integers only.")
    command.add_argument("certificate", metavar="FILE", help="optimality.cert of `ipforest prune`, or path.cert")
    command.add_argument("--instance", metavar="FILE", help="instance (.npz) that it must be about")


def run_verify(options: Arguments) -> int:
    """Verify one certificate; exit 1 if it is refused."""
    from ipforest.instance import PruningInstance
    from proofs.certificates.pruning_file import verify_certificate_file

    instance = None if options.instance is None else PruningInstance.load(options.instance)
    verdict = verify_certificate_file(options.certificate, instance)
    if options.json:
        print(json.dumps({"accepted": bool(verdict), "reason": verdict.reason}))
    else:
        print(f"{'accepted' if verdict else 'refused'}: {verdict.reason}")
    return DONE if verdict else CHECK_FAILED


def _add_bench(commands: Subparsers) -> None:
    command = _command(
        commands,
        "bench",
        run_bench,
        "Measure seconds and peak memory on synthetic forests; OR-Tools beside them if $IPFOREST_ORTOOLS_PYTHON names "
        "a Python that has it.",
    )
    command.add_argument(
        "what",
        choices=("solvers", "path", "forest"),
        help="every method at one lambda, the whole path over sizes, or the path beside the fit of its forest",
    )
    command.add_argument(
        "--size",
        nargs=2,
        type=_positive_integer,
        action="append",
        metavar=("T", "N"),
        help="trees and examples; may be repeated (default: a range of sizes)",
    )
    command.add_argument("--seed", type=_seed, default=0, help="seed of the synthetic forests")
    command.add_argument("--out", metavar="DIR", default=".", help="where the CSV goes (default: here)")


def run_bench(options: Arguments) -> int:
    """Measure and write a CSV."""
    from ipforest.experiments import benchmarks
    from ipforest.progress import progress_bar

    bench, sizes = {
        "solvers": (benchmarks.bench_solvers, benchmarks.SMALL_SIZES),
        "path": (benchmarks.bench_path, benchmarks.GROWTH_SIZES),
        "forest": (benchmarks.bench_forest, benchmarks.PAPER_SIZES),
    }[options.what]
    if options.size is not None:
        sizes = tuple(benchmarks.Size(*size) for size in options.size)
    file = (_out_directory(options) or Path()) / f"{options.what}.csv"
    with progress_bar("ipforest bench", visible=not options.json) as progress:
        rows = bench(file, sizes, options.seed, progress)
    if options.json:
        print(json.dumps(rows))
        return DONE
    table = _table("Seconds and peak memory, each in its own process")
    for heading in ("method", "trees", "examples", "triples", "kept", "seconds", "MiB", "breakpoints", "status"):
        table.add_column(heading, justify="left" if heading in ("method", "status") else "right")
    for row in rows:
        keys = ("method", "trees", "examples", "triples", "kept_share", "seconds", "peak_mib", "breakpoints", "status")
        table.add_row(*(str(row[key]) for key in keys))
    console = Console()
    console.print(table, width=max(console.width, 110), crop=False)
    print(f"Wrote {file}.")
    return DONE


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
