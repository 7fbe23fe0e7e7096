"""The command ``prove``: the papers' claims, one by one."""

from __future__ import annotations

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, out_directory, plain_console, progress_of

DESCRIPTION = "Examine the papers' claims one by one."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_seed("seed of the random instances")
    command.add_out_option("claims.md and claims.json")


def run(options: Arguments) -> int:
    """Examine the claims; exit 1 if a verdict is not the stated one."""
    from ipforest._internal.files import write_text
    from proofs.claims import table as claims

    with progress_of(options) as progress:
        table = claims.prove(options.seed, progress)
    directory = out_directory(options)
    if directory is not None:
        write_text(directory / "claims.md", claims.to_markdown(table))
        write_text(directory / "claims.json", claims.to_json(table))
    if options.json:
        print(claims.to_json(table))
    else:
        plain_console().print(claims.to_rich(table))
    return DONE if claims.all_passed(table) else CHECK_FAILED
