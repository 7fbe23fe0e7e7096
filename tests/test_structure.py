"""The structure of the house: imports point one way, and neither modules nor rooms import each other in a circle.

A room is a folder of `ipforest`, one of its modules, or one of the packages `formulations` and `proofs`. An import for
type checking is none, as it never runs. An import within a function is an arrow like any other, except at the edge: the
command line, what others test with, and the faces of two packages reach up when they are called.
"""

import ast
from collections.abc import Iterable, Iterator, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("ipforest", "formulations", "proofs")
"""Each imports those before it."""
FACES = {"ipforest", "ipforest._public", "formulations"}
EDGE = ("ipforest.__main__", "ipforest.cli", "ipforest.testing")
"""Above all of them: what may be imported is the user's to ask for, and loaded then."""


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def imports(nodes: list[Any], lazy: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Each import, those that only type checkers see too, and whether it is within a function."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, lazy
        else:
            inner = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for name in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from imports(getattr(node, name, []), inner)


def imported(text: str, known: Set[str]) -> set[tuple[str, bool]]:
    """The known modules that a text imports, each with whether it does so within a function."""
    found = set()
    for node, lazy in imports(ast.parse(text).body):
        if isinstance(node, ast.Import):
            named = {alias.name for alias in node.names} & known
        else:
            assert node.level == 0, "imports are absolute"
            named = {f"{node.module}.{alias.name}" for alias in node.names} & known or {str(node.module)} & known
        found |= {(name, lazy) for name in named}
    return found


@cache
def arrows() -> list[tuple[str, str, bool]]:
    """All (module, module that it imports, is within a function), without those of the edge within functions."""
    return [
        (module, target, lazy)
        for module, path in modules().items()
        for target, lazy in sorted(imported(path.read_text(encoding="utf-8"), modules().keys()))
        if target != module and not (lazy and (module in FACES or module.startswith(EDGE)))
    ]


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[0] if parts[0] != "ipforest" else ".".join(parts[:2])


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def graph_of(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for source, target in pairs:
        if source != target:
            graph.setdefault(source, set()).add(target)
    return graph


@pytest.mark.slow
def test_no_circle_of_modules():
    assert not circle(graph_of((source, target) for source, target, _ in arrows()))


@pytest.mark.slow
def test_no_circle_of_rooms():
    pairs = [(room_of(source), room_of(target)) for source, target, _ in arrows() if source not in FACES]
    assert not circle(graph_of(pairs))


@pytest.mark.slow
def test_few_rooms_are_at_the_top():
    assert len({room_of(module) for module in modules()} - FACES - {"ipforest.__main__", "proofs"}) <= 34


def rank(module: str) -> int:
    return len(PACKAGES) if module.startswith(EDGE) else PACKAGES.index(module.split(".")[0])


@pytest.mark.slow
def test_no_package_imports_one_above():
    up = [(a, b) for a, b, _ in arrows() if rank(b) > rank(a)]
    assert up == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a.b", {("a.b", False)}),
        ("from a import b, x", {("a.b", False)}),
        ("from a.b import x", {("a.b", False)}),
        ("from a import x", {("a", False)}),
        ("def f():\n    try:\n        from a import b\n    except ImportError:\n        pass", {("a.b", True)}),
        ("class A:\n    def f(self):\n        with x:\n            import a.b", {("a.b", True)}),
        ("if TYPE_CHECKING:\n    import a.b\nelse:\n    import a", {("a", False), ("a.b", False)}),
        ("import other", set()),
    ],
)
def test_imports_are_found(text, found):
    assert imported(text, {"a", "a.b"}) == found


def test_circles_are_found():
    assert circle(graph_of([("a", "b"), ("b", "c"), ("a", "c"), ("c", "c")])) == []
    assert set(circle(graph_of([("a", "b"), ("b", "c"), ("c", "a")]))) == {"a", "b", "c"}


WRAPPERS = {"AdaptedClassifier", "ReadableTree"}
"""Estimators whose examples the one inside checks, and parts or trains on."""


def owners_of_fit() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Give each ``fit`` of the estimators that buy, and what comes in place of the template, with the class."""
    buys = {"BudgetedEstimator"}
    classes = [
        node
        for path in sorted((ROOT / "ipforest").rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    while more := {c.name for c in classes if {ast.unparse(base) for base in c.bases} & buys} - buys:
        buys |= more
    for node in classes:
        if node.name in buys:
            yield from ((node.name, part) for part in node.body if getattr(part, "name", "") in ("fit", "_fit"))


def test_every_fit_is_the_one_template():
    fits = [(name, fit) for name, fit in owners_of_fit() if name != "BudgetedEstimator"]
    assert len(fits) > 6
    own = {name for name, fit in fits if "._fit(" not in ast.unparse(fit)}
    assert own == WRAPPERS


def test_nothing_but_the_template_parts_examples():
    parts = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "ipforest").rglob("*.py")
        if "experiments" not in path.parts and "split_rows(" in path.read_text(encoding="utf-8")
    }
    defined = "ipforest/estimator/held_out.py"
    assert parts <= {defined, "ipforest/estimator/base.py", "ipforest/wrappers/adapted.py"}
