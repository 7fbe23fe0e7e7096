"""The words of documentation and code: plain English, without idioms that make readers stop."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BANNED = re.compile(r"\b(whoever|nobody|everybody|err|errs|erred|beside|dear|dearer|dearest|mostly)\b", re.IGNORECASE)
FENCED = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
FOLDERS = ("docs", "docs/api", "docs/how-to", "docs/developers")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.md"))),
]


def banned_words(text):
    """List banned words outside of fenced blocks, which hold code and its output."""
    return BANNED.findall(FENCED.sub("", text))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words(path):
    assert banned_words(path.read_text(encoding="utf-8")) == []


MODULES = [path for room in ("ipforest", "formulations", "proofs") for path in sorted((ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_of_the_code(path):
    assert BANNED.findall(path.read_text(encoding="utf-8")) == []


def test_banned_words_are_found():
    assert banned_words("It errs less.\nNobody is mostly beside a dearer one.") == [
        "errs",
        "Nobody",
        "mostly",
        "beside",
        "dearer",
    ]
    assert banned_words("```text\nit errs\n```\nbesides, an error\n```text\nnobody\n```\n") == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130
