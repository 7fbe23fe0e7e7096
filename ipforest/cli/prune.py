"""The command ``prune``: your own forest, pruned within a budget or at one lambda, with what proves it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import (
    Arguments,
    Parser,
    Problem,
    exact_number,
    out_directory,
    print_notes,
    progress_of,
    read_problem,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from ipforest._internal.progress import ProgressCallback
    from ipforest.path import PruningPath
    from ipforest.results import BudgetResult, PruningResult

LARGE = 2_000_000
"""Triples from which on a certificate, 8 bytes or more per triple, is written only when it is asked for."""

DESCRIPTION = "Prune a forest within a budget, or at one lambda, with a certificate."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_problem_options()
    goal = command.add_mutually_exclusive_group(required=True)
    goal.add_argument("--budget", metavar="B", help="average cost of an example: the pruning of least error within it")
    goal.add_argument("--lam", metavar="L", help="lambda: the error rate that a unit of cost is worth")
    command.add_search_options()
    command.add_argument(
        "--certificate", action="store_true", help="write the certificate of a large problem, too (more than 16 MB)"
    )
    command.add_out_option(
        "pruned.skops (a scikit-learn forest), result.json, the certificate, and the model, examples and prices that "
        "it is about"
    )


def run(options: Arguments) -> int:
    """Prune one forest and prove how good that is."""
    from ipforest.path_search import prune_path
    from ipforest.solvers.greedy import cap_units

    budget, lam = exact_number(options.budget, "budget"), exact_number(options.lam, "lam")
    cap = exact_number(options.max_cost, "max-cost")
    if cap is not None and (budget is None or options.search == "path"):
        raise ValueError("--max-cost: expected it with --budget and --search greedy or exact, which can hold it")
    directory = out_directory(options)
    problem = read_problem(options)
    if cap is not None:
        cap_units(problem.instance, cap)
    print_notes(problem)
    with progress_of(options) as progress:
        path = prune_path(problem.instance, progress=progress)
        result = path.result(lam) if budget is None else _within(options, path, budget, cap, progress)
    written = [] if directory is None else _write(problem, path, result, directory, options)
    if options.json:
        print(result.to_json())
        return DONE
    print(f"{problem.forest!r}\n{problem.instance!r}, cost in {problem.currency}\n{result.summary()}")
    for line in written:
        print(line)
    return DONE


def _within(
    options: Arguments, path: PruningPath, budget: Fraction, cap: Fraction | None, progress: ProgressCallback
) -> BudgetResult:
    from ipforest.learners.budget_prune import within_budget

    progress(1.0, f"searching within {float(budget):.6g}")
    return within_budget(path, budget, options.search, options.time_limit, cap)


def _write(
    problem: Problem, path: PruningPath, result: BudgetResult | PruningResult, directory: Path, options: Arguments
) -> list[str]:
    """Write the files; say what was written and what the certificate proves."""
    from ipforest._internal.files import write_text
    from ipforest.cli.options import write_problem
    from ipforest.results import PruningResult
    from ipforest.tabular.model_files import save_model
    from proofs.certificates.path_file import write_path_certificate
    from proofs.certificates.pruning_file import write_certificate
    from proofs.provenance import rounding_of

    files = [
        save_model(problem.forest.prune(result.pruning).to_sklearn(), directory / "pruned.skops"),
        write_text(directory / "result.json", result.to_json()),
        *write_problem(problem, directory),
    ]
    lines = [f"Wrote {', '.join(file.name for file in files)} to {directory}."]
    cap = exact_number(options.max_cost, "max-cost")
    origin = problem.origin(result=result, files=files, max_cost=cap)
    if problem.instance.n_triples > LARGE and not options.certificate:
        return [*lines, "The certificate of so large a problem is written with --certificate."]
    rounded = rounding_of(problem.instance, problem.costs)
    if isinstance(result, PruningResult):
        write_certificate(directory / "optimality.cert", problem.instance, result, origin)
        return [*lines, f"optimality.cert proves that no pruning has a smaller error + lambda * cost{rounded}."]
    write_path_certificate(directory / "path.cert", path, origin)
    proved = path.at_budget(result.budget).bound
    least = f"{float(proved):.6g}{rounded}"
    lines.append(f"path.cert proves that within the budget no pruning has a lower error than {least}.")
    if result.bound > proved:
        lines.append(f"The search raised that bound to {float(result.bound):.6g}, and leaves no certificate of it.")
    return lines
