"""The command ``rules``: what a saved model orders of which example, when it stops and with which answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Parser, add_format_options, positive_integer
from ipforest.cli.saved_models import add_examples_option, add_model_options, read_labelled, read_model, using

if TYPE_CHECKING:
    import pandas as pd

    from ipforest.learners.readable_tree import Fidelity
    from ipforest.rules import Rules
    from ipforest.wrappers.pipeline import Parted

TEXTS, PICTURES = (".txt", ".md"), (".png", ".pdf", ".svg")

DESCRIPTION = (
    "Say what a saved model orders of the rows of a table, under which conditions, and what it answers. "
    "With --tree, put a tree that asks few questions in its place, and say what that loses."
)


def add(command: Parser) -> None:
    """Describe its options."""
    add_model_options(command)
    add_examples_option(command)
    command.add_argument("--target", metavar="COLUMN", help="column of the right answers, to count how many are right")
    command.add_argument(
        "--max-questions", type=positive_integer, metavar="N", help="orders to tell of, or that the tree may make"
    )
    command.add_argument(
        "--tree",
        action="store_true",
        help="a tree in place of the model: it learns from half of the rows, drawn at random, and is compared on the "
        "others; needs --target",
    )
    command.add_argument("--max-depth", type=positive_integer, metavar="N", help="depth of the tree (default: 4)")
    command.add_argument("--out", metavar="FILE", help="write them there: .txt, .md, .png, .pdf or .svg")
    add_format_options(command)


def run(options: Arguments) -> int:
    """Read the rules, and print them or write them to a file."""
    _check_options(options)
    model = read_model(options)
    X, target = read_labelled(options, model)
    with using(options.model):
        rules, fidelity = _rules(options, model, X, target)
    if options.out is not None:
        _write(rules, fidelity, Path(options.out))
    if options.json:
        print(json.dumps(_record(rules, fidelity)))
    elif options.out is None:
        print("\n".join([*([fidelity.summary(), ""] if fidelity else []), rules.to_text()]))
    else:
        print(f"Wrote the rules to {options.out}.")
    return DONE


def _check_options(options: Arguments) -> None:
    if options.tree and options.target is None:
        raise ValueError("--target: expected the column of the right answers with --tree, got none")
    if options.max_depth is not None and not options.tree:
        raise ValueError("--max-depth: expected it with --tree only, got it without")
    known = [*TEXTS, *PICTURES]
    if options.out is not None and Path(options.out).suffix not in known:
        raise ValueError(f"--out: expected a file of one of {', '.join(known)}, got {options.out}")
    if options.out is not None and not Path(options.out).absolute().parent.is_dir():
        raise ValueError(f"--out: expected a file in a folder that exists, got {options.out}")


def _rules(options: Arguments, model: Parted, X: pd.DataFrame, target: Any) -> tuple[Rules, Fidelity | None]:
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline

    from ipforest.learners.readable_tree import ReadableTree
    from ipforest.rules import read_rules

    if not options.tree:
        return read_rules(model.whole, X, target, max_questions=options.max_questions), None
    if len(X) < 2:
        raise ValueError(f"{options.csv}: expected two rows at least to learn a tree and to compare it, got {len(X)}")
    X_learnt, X_new, y_learnt, y_new = train_test_split(X, target, train_size=len(X) // 2, random_state=0)
    depth = {} if options.max_depth is None else {"max_depth": options.max_depth}
    tree = ReadableTree(model.buyer, max_questions=options.max_questions, random_state=0, **depth)
    tree.fit(model.encode(X_learnt), y_learnt)
    in_place = tree if model.preprocessing is None else make_pipeline(model.preprocessing, tree)
    return read_rules(in_place, X_new, y_new), tree.fidelity(model.encode(X_new), y_new)


def _write(rules: Rules, fidelity: Fidelity | None, file: Path) -> None:
    from ipforest._internal.files import write_file, write_text

    if file.suffix in TEXTS:
        text = rules.to_markdown() if file.suffix == ".md" else rules.to_text() + "\n"
        write_text(file, f"{fidelity.summary()}\n\n{text}" if fidelity else text)
        return
    import matplotlib.pyplot as plt

    from ipforest.plotting import draw_rules

    figure = draw_rules(rules).figure
    write_file(file, lambda path: figure.savefig(path, dpi=150, format=file.suffix[1:]))
    plt.close(figure)


def _record(rules: Rules, fidelity: Fidelity | None) -> dict[str, Any]:
    from dataclasses import asdict

    return rules.record() | ({} if fidelity is None else {"fidelity": asdict(fidelity)})
