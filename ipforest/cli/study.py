"""The command ``study``: everything about a formulation, a known one or one of a file."""

from __future__ import annotations

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, out_directory, plain_console, progress_of

DESCRIPTION = "Ask everything about a formulation: is it right, how strong, how large."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument(
        "formulation",
        metavar="NAME | FILE.py:NAME",
        help="a known formulation, or one that a file registers or defines; the file is run",
    )
    command.add_number("--instances", 24, "random problems")
    command.add_seed("seed of the problems")
    command.add_out_option("study.html, study.json and the counterexamples")


def run(options: Arguments) -> int:
    """Study the formulation; exit 1 if it is refuted."""
    from ipforest._internal.files import write_text
    from ipforest.testing.subjects import find_formulation
    from proofs.study.study import study

    formulation = find_formulation(options.formulation)
    with progress_of(options) as progress:
        found = study(formulation, options.instances, options.seed, progress)
    directory = out_directory(options)
    if directory is not None:
        found.to_html(directory / "study.html")
        write_text(directory / "study.json", found.to_json())
        for number, refutation in enumerate(found.refutations, 1):
            write_text(directory / f"counterexample_{number}.json", refutation.to_json())
    if options.json:
        print(found.to_json())
    else:
        found.summary(plain_console())
    return DONE if found else CHECK_FAILED
