"""What installed packages bring by entry points: found when it is asked for; one that fails takes no other with it."""

import sys
import warnings
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from reference import load_reference

from ipforest import solve
from ipforest._internal.registry import Plugins, Registry, installed
from ipforest.ensemble import libraries, read
from ipforest.solvers import SOLVERS

TREE = load_reference("figure_1_tree").instance
REGISTERS = "import sys\nsys.modules['plugged_registry'].REGISTRY.add(sys.modules['plugged_registry'].Item({name!r}))\n"
BROKEN = {
    "no_syntax": ("def x(:", "SyntaxError: invalid syntax"),
    "no_package": ("import a_package_that_is_not_there", "ModuleNotFoundError: No module named 'a_package"),
    "no_licence": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "name_taken": (REGISTERS.format(name="own"), "ValueError: name: expected one that no item has, got 'own'; take"),
    "bare": ("def solve(instance, lam): return None", "one that registers nothing"),
}


@dataclass(frozen=True)
class Item:
    name: str


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package that names entry points: group, name, target and the text of the module."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = []

    def installing(group, entries):
        info = tmp_path / f"brought_{len(modules)}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, (target, _) in entries.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        for target, text in entries.values():
            module = target.partition(":")[0]
            (tmp_path / f"{module}.py").write_text(text)
            modules.append(module)
        installed.cache_clear()

    yield installing
    installed.cache_clear()


@pytest.fixture
def registry(monkeypatch):
    made = Registry("item", "place.REGISTRY", Plugins("plugged.items"), Item("own"))
    monkeypatch.setitem(sys.modules, "plugged_registry", SimpleNamespace(REGISTRY=made, Item=Item))
    return made


def test_a_name_that_is_known_loads_nothing(install, registry):
    install("plugged.items", {"late": ("plugged_late", "raise RuntimeError")})
    assert registry["own"] == Item("own")


@pytest.mark.parametrize("broken", BROKEN)
def test_one_that_fails_is_left_out_with_a_warning_and_the_others_are_there(install, registry, broken):
    text, message = BROKEN[broken]
    install(
        "plugged.items",
        {"a": (f"plugged_{broken}", text), "b": (f"plugged_after_{broken}", REGISTERS.format(name="brought"))},
    )
    with pytest.warns(RuntimeWarning, match=f"plugged_{broken} of brought: expected a module .* items, got {message}"):
        assert list(registry) == ["own", "brought"]
    with warnings.catch_warnings(action="error"):
        assert "other" not in registry


def test_a_module_that_is_imported_already_has_registered(install, registry):
    install("plugged.items", {"a": ("plugged_early:solve", REGISTERS.format(name="early"))})
    import_module("plugged_early")
    assert list(registry) == ["own", "early"]


def test_a_package_brings_solvers(install, monkeypatch):
    monkeypatch.setattr(SOLVERS, "_plugins", Plugins("plugged.solvers"))
    install(
        "plugged.solvers",
        {
            "mine": (
                "plugged_solver",
                "from ipforest import register_solver\n"
                "@register_solver('brought')\n"
                "def keep_all(instance, lam): return instance.unpruned\n",
            )
        },
    )
    try:
        assert solve(TREE, 0, "brought").pruning == TREE.unpruned
    finally:
        SOLVERS.remove("brought")


def test_a_package_brings_a_reader_that_replaces_none_of_this_package(install):
    source = "class Model: pass\ndef read(model): return model.trees\n"
    install(
        "ipforest.readers",
        {"plugged_reader": ("plugged_reader:read", source), "sklearn": ("plugged_other:read", "raise RuntimeError")},
    )
    trees = libraries.read(_stump())
    model = import_module("plugged_reader").Model()
    model.trees = trees
    assert read(model) is trees
    with pytest.raises(TypeError, match=r"expected a fitted model of plugged_reader, sklearn, .*, got builtins\.int"):
        read(3)


def _stump():
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=1).fit(np.arange(4)[:, None], [0, 0, 1, 1])
