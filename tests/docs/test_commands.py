"""The commands that pages and notebooks show are commands, with options that there are."""

import argparse
import json
import re
from pathlib import Path

import pytest

from ipforest.cli import build_parser

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
]
COMMAND = re.compile(r"`ipforest ([^`]+)`|^[$ ]*ipforest (.+)$", re.MULTILINE)


def commands() -> dict[str, set[str]]:
    """List each command's options by the name that its help gives first."""
    (subparsers,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {
        name: {
            option
            for action in parser._actions
            for option in (
                action.option_strings
                if isinstance(action, argparse.BooleanOptionalAction)
                else [next((each for each in action.option_strings if each.startswith("--")), "")]
            )
        }
        for name, parser in subparsers.choices.items()
    }


OPTIONS = commands()


def shown(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_are_known_with_their_options(path: Path) -> None:
    for found in COMMAND.finditer(shown(path)):
        name, *words = (found[1] or found[2]).split()
        if name.startswith(("COMMAND", "-")) or (name not in OPTIONS and found[1] is None):
            continue  # a sentence that begins with the name of the package
        assert name in OPTIONS, found[0]
        assert {word for word in words if word.startswith("--")} <= OPTIONS[name], found[0]
