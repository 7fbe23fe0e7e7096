"""What docstrings say of parameters is what signatures say: every parameter, with its default."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]+\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\*{0,2}\w[\w, *]*?)(?: : (.*))?$", re.MULTILINE)
DEFAULT = re.compile(r"default=(.+)$")
MODULES = sorted(
    {
        module
        for page in (ROOT / "docs" / "api").glob("*.md")
        for module in re.findall(r"^\.\. automodule:: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
)
"""What the pages of the interface describe."""


def described(module):
    """List the public classes and functions of a module, and the methods of the classes."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield thing
        if inspect.isclass(thing):
            yield from (member for key, member in vars(thing).items() if inspect.isfunction(member) and key[0] != "_")


def entries(thing):
    """Map the parameters that a docstring describes to their kinds; None where it has no such section."""
    section = SECTION.search(inspect.getdoc(thing) or "")
    if section is None:
        return None
    return {
        name.strip().lstrip("*"): found[2] or "" for found in ENTRY.finditer(section[1]) for name in found[1].split(",")
    }


def says(text, default):
    """Whether the words of a docstring are the default of a signature."""
    try:
        return ast.literal_eval(text) == default
    except (ValueError, SyntaxError):
        return text in (str(default), getattr(default, "__name__", None))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_parameters_and_their_defaults_are_those_of_the_signature(name):
    for thing in described(importlib.import_module(name)):
        kinds = entries(thing)
        if kinds is None:
            continue
        parameters = dict(inspect.signature(thing).parameters)
        parameters.pop("self", None)
        named = {key for key, each in parameters.items() if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}
        inherits = "those of `" in (inspect.getdoc(thing) or "")
        assert inherits or named <= kinds.keys(), f"{thing.__qualname__}: not described"
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        assert takes_any or kinds.keys() <= parameters.keys(), f"{thing.__qualname__}: described, but no parameter"
        for key in named & kinds.keys():
            told = DEFAULT.search(kinds[key])
            assert told is None or says(told[1], parameters[key].default), f"{thing.__qualname__}: {key}"


def test_a_wrong_default_is_found():
    def method(depth=3, name="x"):
        """Do.

        Parameters
        ----------
        depth : int, default=4
        name : str, default="x"
        """

    assert entries(method) == {"depth": "int, default=4", "name": 'str, default="x"'}
    assert not says("4", 3)
    assert says('"x"', "x")
