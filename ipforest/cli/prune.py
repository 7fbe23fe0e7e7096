"""The command ``prune``: your own forest, pruned to a budget or at one lambda, with a certificate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ipforest.cli.options import (
    DONE,
    Arguments,
    Subparsers,
    add_command,
    add_out_option,
    add_problem_options,
    exact_number,
    out_directory,
    print_notes,
    read_problem,
)

if TYPE_CHECKING:
    from ipforest.ensemble.forest import Forest
    from ipforest.instance import PruningInstance
    from ipforest.results import PruningResult


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands, "prune", run, "Prune a forest to a budget, or at one lambda, with a certificate of optimality."
    )
    add_problem_options(command)
    goal = command.add_mutually_exclusive_group(required=True)
    goal.add_argument("--budget", metavar="B", help="average cost of an example: take the best breakpoint within it")
    goal.add_argument("--lam", metavar="L", help="errors that a unit of cost is worth")
    add_out_option(command, "pruned.joblib (a scikit-learn forest), result.json and optimality.cert")


def run(options: Arguments) -> int:
    """Prune one forest and prove it."""
    from ipforest.path import prune_path
    from ipforest.progress import progress_bar
    from ipforest.solvers import solve

    budget, lam = exact_number(options.budget, "budget"), exact_number(options.lam, "lam")
    directory = out_directory(options)
    problem = read_problem(options)
    print_notes(problem)
    instance = problem.instance
    best = None
    with progress_bar("ipforest prune", visible=not options.json) as progress:
        if budget is not None:
            path = prune_path(instance, progress=progress)
            best = path.at_budget(budget)
            lam = path.lambda_of(best.pruning)
        result = solve(instance, lam)
    record = json.dumps(result.to_dict() | ({} if best is None else {"within_budget": best.to_dict()}))
    if directory is not None:
        (directory / "result.json").write_text(record)
        _write_pruned(problem.forest, instance, result, directory)
    if options.json:
        print(record)
        return DONE
    summary = "" if best is None else f"{best.summary()}\n"
    print(f"{problem.forest!r}\n{instance!r}, cost in {problem.currency}\n{summary}{result.summary()}")
    if directory is not None:
        print(f"Wrote pruned.joblib, result.json and optimality.cert to {directory}.")
    return DONE


def _write_pruned(forest: Forest, instance: PruningInstance, result: PruningResult, directory: Path) -> None:
    import joblib

    from proofs.certificates.pruning_file import write_certificate

    joblib.dump(forest.prune(result.pruning).to_sklearn(), directory / "pruned.joblib")
    write_certificate(directory / "optimality.cert", instance, result)
