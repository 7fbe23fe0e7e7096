"""The command ``crosscheck``: every method against every other on small random problems."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Any

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, made_directory, progress_of

DESCRIPTION = "Solve small random problems by every method and compare in exact arithmetic."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_number("--instances", 500, "how many problems")
    command.add_seed("seed of the problems")
    command.add_list(
        "--methods",
        "NAME",
        "methods to compare (default: all installed); FILE.py:NAME is a solver or a formulation that a file "
        "registers or defines: the file is run",
    )
    command.add_argument("--replay", metavar="FILE", help="check a problem again that an earlier run saved")
    command.add_folder("save a disagreement there (default: the current folder)", ".")


def run(options: Arguments) -> int:
    """Compare the methods; exit 1 at the first disagreement, with the problem saved for replay."""
    from ipforest.testing.subjects import registered_method
    from proofs.crosschecks.random_checks import crosscheck_random, replay

    methods = None if options.methods is None else [registered_method(method) for method in options.methods]
    if options.replay is not None:
        with redirect_stdout(sys.stderr):
            outcome: Any = replay(options.replay, methods)
    else:
        save_to = made_directory(options.out) / "disagreement.json"
        with progress_of(options) as progress:
            outcome = crosscheck_random(options.instances, options.seed, methods, save_to, progress)
    print(json.dumps(outcome.to_dict()) if options.json else outcome)
    return DONE if outcome else CHECK_FAILED
