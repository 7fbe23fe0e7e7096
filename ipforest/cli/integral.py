"""The command ``integral``: integrality of the vertices of a file's linear relaxation."""

from __future__ import annotations

import json

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, plain_console

DESCRIPTION = "Ask whether every vertex of a program's relaxation is integral; exit 1 unless that is proved."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument("file", metavar="FILE", help="linear program: .mps or .lp, also as .gz")
    command.add_number("--objectives", 50, "random objectives to try where there is no certificate")
    command.add_seed("seed of these objectives")


def run(options: Arguments) -> int:
    """Ask and print the verdict with its evidence; exit 1 unless integrality is proved."""
    from proofs.integrality.any_program import is_integral

    answer = is_integral(options.file, options.objectives, options.seed)
    if options.json:
        print(json.dumps({"file": options.file, **answer.to_dict()}))
    else:
        plain_console().print(f"{options.file}: {answer}")
    return DONE if answer else CHECK_FAILED
