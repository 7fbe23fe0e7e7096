"""The command ``tu``: total unimodularity of the matrix of a file's linear program."""

from __future__ import annotations

import json
from typing import Any

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, plain_console

DESCRIPTION = "Ask whether the matrix of a linear program is totally unimodular; exit 1 if it is not."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument("file", metavar="FILE", help="linear program: .mps or .lp, also as .gz")


def run(options: Arguments) -> int:
    """Decide, check the evidence, print it; exit 1 if the matrix is not totally unimodular."""
    from formulations.any_model import read_linear_program
    from proofs.unimodularity.counterexample import Counterexample
    from proofs.unimodularity.total_unimodularity import is_totally_unimodular

    program = read_linear_program(options.file)
    answer = is_totally_unimodular(program)
    verdict = answer.check()
    if not verdict:
        raise ArithmeticError(f"evidence: expected to pass its check, got: {verdict.reason}")
    if options.json:
        record: dict[str, Any] = {
            "file": options.file,
            "rows": program.n_rows,
            "columns": program.n_columns,
            "totally_unimodular": bool(answer),
            "evidence": verdict.reason,
        }
        if isinstance(answer, Counterexample):
            record |= {
                "violating_rows": answer.row_names,
                "violating_columns": answer.column_names,
                "determinant": str(answer.determinant),
            }
        print(json.dumps(record))
    else:
        text = "totally unimodular" if answer else "not totally unimodular"
        plain_console().print(f"{options.file}: {program.n_rows} x {program.n_columns}: {text}: {verdict.reason}")
    return DONE if answer else CHECK_FAILED
