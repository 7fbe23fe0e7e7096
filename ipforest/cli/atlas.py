"""The command ``atlas``: the variants of the pruning problem, and what the laboratory says of each."""

from __future__ import annotations

import json

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, out_directory, progress_of

DESCRIPTION = "Variants of the pruning problem: which relaxations are integral."


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument(
        "variants",
        nargs="*",
        metavar="NAME",
        help="variants (default: all), or FILE.py:NAME of one that a file registers or defines; the file is run",
    )
    command.add_number("--problems", 16, "random problems for each")
    command.add_seed("seed of the problems")
    command.add_out_option("atlas.md and the smallest fractional vertex of each variant that has one")


def run(options: Arguments) -> int:
    """Print the table; exit 1 if a program does not state its problem."""
    from formulations.variants import VARIANTS
    from ipforest._internal.files import write_text
    from ipforest.testing.subjects import find_formulation
    from proofs.study.atlas import atlas

    unknown = [name for name in options.variants if name not in VARIANTS and ".py:" not in name]
    if unknown:
        raise ValueError(
            f"NAME: expected variants among {', '.join(VARIANTS)}, or FILE.py:NAME, got {', '.join(unknown)}"
        )
    names = options.variants or VARIANTS
    chosen = [VARIANTS[name] if name in VARIANTS else find_formulation(name) for name in names]
    with progress_of(options) as progress:
        found = atlas(chosen, options.problems, options.seed, progress)
    directory = out_directory(options)
    if directory is not None:
        write_text(directory / "atlas.md", found.to_markdown() + "\n")
        for entry in found.entries:
            if entry.refutation is not None:
                write_text(directory / f"{entry.name}.json", entry.refutation.to_json())
    print(json.dumps(found.to_dict(), indent=1) if options.json else found.to_markdown())
    return DONE if found else CHECK_FAILED
