"""The words of documentation and code: plain English, without idioms that make readers stop."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PERSONS = "who|whom|whoever|nobody|everybody|somebody"
ODD = "err|errs|erred|erring|beside|dear|dearer|dearest|mostly|heed|heeds"
BANNED = re.compile(rf"\b(?:{PERSONS}|{ODD})\b|\bgot some(?=[\"'])", re.IGNORECASE)
OLD = (
    "tells nothing by itself",
    "turns out to have a larger one",
    "Who has another one",
    "pays how much of what",
    "that it must be about",
    "what this average cost of an example buys",
    "without each ingredient",
    "makes a frontier itself",
    "is told the progress of examples",
    "nothing can change any more",
    "examples to spare",
    "once more does no harm",
)
"""Sentences that were hard to read, each by a few of its words."""
FENCED = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
FOLDERS = ("docs", "docs/api", "docs/how-to", "docs/developers")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.md"))),
]


def banned_in(text):
    """List banned words, and words of sentences that were rewritten."""
    flat = " ".join(text.split())
    return BANNED.findall(text) + [words for words in OLD if words in flat]


def banned_words(text):
    """List what is banned outside of fenced blocks, which hold code and its output."""
    return banned_in(FENCED.sub("", text))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words(path):
    assert banned_words(path.read_text(encoding="utf-8")) == []


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_words_of_notebooks(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert banned_in("\n".join("".join(cell["source"]) for cell in cells)) == []


MODULES = [path for room in ("ipforest", "formulations", "proofs") for path in sorted((ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_of_the_code(path):
    assert banned_in(path.read_text(encoding="utf-8")) == []


def test_banned_words_are_found():
    assert banned_words("It errs less.\nNobody is mostly beside a dearer one.") == [
        "errs",
        "Nobody",
        "mostly",
        "beside",
        "dearer",
    ]
    assert banned_in('raise ValueError("X: expected none, got some")\nIt buys, without each\n    ingredient.') == [
        "got some",
        "without each ingredient",
    ]
    assert banned_words("```text\nit errs\n```\nbesides, an error\n```text\nnobody\n```\n") == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130
