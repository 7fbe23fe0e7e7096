"""The Python of the documentation runs: the blocks of a page one after another, as a reader would run them.

Where a block of text follows, it is what that prints, line breaks and blanks aside. The commands of a page that makes
their files run, too.
"""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from formulations import FORMULATIONS
from ipforest.cli import main
from ipforest.ensemble.libraries import READERS
from ipforest.solvers import BUDGET_SOLVERS, SOLVERS

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("docs", "docs/how-to", "docs/developers")
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
WITH_COMMANDS = {"how-to/a-budget-from-a-table"}
"""Pages that make the files of their commands."""
SLOW = {
    "getting-started",
    "how-to/a-budget-from-a-table",
    "how-to/which-estimator",
    "how-to/deploy",
    "how-to/measures-and-reports",
    "index",
}
"""Pages whose blocks take more than three seconds."""

PAGES = {
    path.relative_to(ROOT / "docs").with_suffix("").as_posix(): path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).glob("*.md"))
    if "```python\n" in path.read_text(encoding="utf-8")
}
PAGES["README"] = ROOT / "README.md"


@pytest.fixture
def registries():
    """Take out what a page registers."""
    readers, before = dict(READERS), [(each, set(each)) for each in (SOLVERS, BUDGET_SOLVERS, FORMULATIONS)]
    yield
    READERS.clear()
    READERS.update(readers)
    for registry, names in before:
        for name in set(registry) - names:
            registry.remove(name)


def test_pages_are_found():
    assert {"README", "getting-started", "developers/add-a-solver", "how-to/prices-with-groups"} <= PAGES.keys()
    assert PAGES.keys() >= SLOW


def run_block(language, lines, line, name, module):
    if language == "python":
        exec(compile("\n" * line + lines, PAGES[name], "exec"), module.__dict__)  # an error names the line of the page
    else:
        for command in lines.splitlines():
            program, *arguments = shlex.split(command)
            assert program == "ipforest"
            assert main(arguments) == 0, command


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in PAGES])
def test_it_runs_and_prints_what_follows(name, registries, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page_" + re.sub(r"\W", "_", name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    text = PAGES[name].read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block[1] == "sh" and name not in WITH_COMMANDS:
            continue
        line = text.count("\n", 0, block.start(2))
        capsys.readouterr()
        run_block(block[1], block[2], line, name, module)
        if block[3] is not None:
            assert capsys.readouterr().out.split() == block[3].split(), f"{PAGES[name]}, line {line}"
