"""Formulations, solvers, estimators and methods of experiments: by name, or from a file that has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations import Formulation

RUNS = count(1)
"""Numbers of the files that are run, for the names of modules: one that was edited takes no class from the first."""


def find_formulation(text: str) -> Formulation:
    """Look a formulation up by its name, or run a file and take the one that it registers or defines by that name.

    Raises
    ------
    ValueError
        No formulation has that name.
    OSError
        There is no such file.
    """
    from formulations import FORMULATIONS, Formulation, ModelledFormulation, formulation

    found = _of_file(text, (FORMULATIONS,), (Formulation,), _function_of)
    if found is None:
        return formulation(text)
    return found if isinstance(found, Formulation) else ModelledFormulation(text.rpartition(":")[2], found)


def find_solver(text: str) -> Any:
    """Look a solver up by its name, or run a file and take the one that it registers or defines by that name.

    Returns
    -------
    str, SolverInfo or callable
        As `ipforest.testing.check_solver` takes it.

    Raises
    ------
    ValueError
        The file has no solver of that name.
    OSError
        There is no such file.
    """
    from formulations import Formulation

    found = _solver_or_formulation(text)
    if isinstance(found, Formulation):
        raise ValueError(f"{text}: expected a solver, got a formulation; ipforest crosscheck takes it")
    return found


def find_object(text: str) -> Any:
    """Run a file and take the object that it defines by a name; of a class, one with its defaults.

    Raises
    ------
    TypeError
        The class cannot be made without arguments.
    ValueError
        The text is no FILE.py:NAME, or the file does not run, or has nothing of that name.
    OSError
        There is no such file.
    """
    found = _of_file(text, (), (object,), lambda each: each)
    if found is None:
        raise ValueError(f"{text}: expected FILE.py:NAME, got a mere name")
    return found() if isinstance(found, type) else found


def registered_solver(text: str) -> str:
    """Return the name under which a solver is registered; one that a file only defines is registered, too.

    Raises
    ------
    ValueError, OSError
        As `find_solver`; or the solver is one within a budget, or its name is taken.
    """
    found = find_solver(text)
    if _is_within_budget(found):
        raise ValueError(
            f"{text}: expected a solver at one lambda, got one within a budget; ipforest crosscheck takes it"
        )
    return _registered(text, found)


def registered_method(text: str) -> str:
    """Return the name of a method of the cross-checks: a solver as `registered_solver` does, or a file's formulation.

    Raises
    ------
    ValueError, OSError
        As `find_solver`; or the name is taken.
    """
    from formulations import FORMULATIONS, Formulation, register_formulation
    from proofs.crosschecks.methods import name_of_method

    found = _solver_or_formulation(text)
    if _is_within_budget(found):
        return f"budget-{found.name}"
    if not isinstance(found, Formulation):
        return _registered(text, found)
    return name_of_method(found if FORMULATIONS.get(found.name) is found else register_formulation(found))


def _solver_or_formulation(text: str) -> Any:
    """Look a solver up; of a file that has none of that name take its formulation; a mere name is returned as it is."""
    from formulations import FORMULATIONS, Formulation
    from ipforest.solvers import BUDGET_SOLVERS, SOLVERS
    from ipforest.solvers.registry import SolverInfo

    return _of_file(text, (SOLVERS, BUDGET_SOLVERS, FORMULATIONS), (SolverInfo, Formulation), _function_of) or text


def _function_of(entry: Any) -> Any:
    """Return the function that is registered as a solver, or as a formulation."""
    function: Any = getattr(entry, "target", getattr(entry, "builder", None))
    return inspect.unwrap(function) if callable(function) else function


def _is_within_budget(found: Any) -> bool:
    from ipforest.solvers import BUDGET_SOLVERS

    return any(found is info for info in BUDGET_SOLVERS.values())


def _registered(text: str, solver: Any) -> str:
    from ipforest.solvers import SOLVERS, register_solver
    from ipforest.solvers.registry import SolverInfo

    if isinstance(solver, str):
        return solver
    if isinstance(solver, SolverInfo):
        if solver.name not in SOLVERS:
            SOLVERS.add(solver)
        return solver.name
    name = text.rpartition(":")[2]
    if name not in SOLVERS or _function_of(SOLVERS[name]) is not inspect.unwrap(solver):
        register_solver(name)(solver)
    return name


def find_methods(texts: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Part methods of the frontier into names, and those that files define: functions of a task, or estimators.

    Raises
    ------
    ValueError
        A file does not run, or defines nothing of that name.
    OSError
        There is no such file.
    """
    from ipforest.frontiers.joint_frontier import JointFrontier

    own = {text: _of_file(text, (), (JointFrontier,), lambda each: each) for text in texts if ".py:" in text}
    return [text for text in texts if text not in own], {text.rpartition(":")[2]: found for text, found in own.items()}


def _of_file(
    text: str, registries: Sequence[Mapping[str, Any]], kinds: tuple[type, ...], function_of: Callable[[Any], Any]
) -> Any:
    """Run the file of ``FILE.py:NAME`` and return what it registers or defines by that name; None for a mere name.

    A function that the file defines by that name and registers by another is what is registered, with its promises.

    Raises
    ------
    ValueError
        The file does not run, or has nothing of that name that could be registered.
    """
    path, colon, name = text.rpartition(":")
    if not colon and not text.endswith(".py"):
        return None
    if not path.endswith(".py"):
        raise ValueError(f"{text}: expected the name of one that is known, or FILE.py:NAME, got neither")
    place = Path(path)
    defined, registered = _run_once(place.resolve(), place.read_bytes(), path)
    own = [entry for entry in registered if any(registry.get(entry.name) is entry for registry in registries)]
    found = next((entry for entry in own if entry.name == name), defined.get(name))
    if found is None or not (callable(found) or isinstance(found, kinds)):
        got = "nothing of that name" if found is None else type(found).__name__
        raise ValueError(f"{path}: expected it to register or define {name!r}, got {got}")
    return next((entry for entry in own if function_of(entry) is found), found)


@cache
def _run_once(place: Path, source: bytes, path: str) -> tuple[dict[str, Any], list[Any]]:
    """Run a file as a module, so that what it defines can be pickled; return that, and what it registers.

    It may import from its folder, and prints to standard error.

    Raises
    ------
    ValueError
        It does not run.
    """
    import sys
    from types import ModuleType

    from formulations import FORMULATIONS
    from ipforest.solvers import BUDGET_SOLVERS, SOLVERS

    registries: tuple[Mapping[str, Any], ...] = (SOLVERS, BUDGET_SOLVERS, FORMULATIONS)
    before = [dict(registry) for registry in registries]
    module = ModuleType(f"{place.stem}_{next(RUNS)}")
    module.__file__ = str(place)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(place.parent))
    try:
        with redirect_stdout(sys.stderr):
            exec(compile(source, place, "exec"), vars(module))  # the user names the file to be run
    except (Exception, SystemExit) as problem:  # the file is the user's, and may raise anything, or end the program
        raise ValueError(f"{path}: expected a file that runs, got {type(problem).__name__}: {problem}") from problem
    finally:
        sys.path.remove(str(place.parent))
    pairs = zip(registries, before, strict=True)
    return vars(module), [entry for now, then in pairs for key, entry in now.items() if entry is not then.get(key)]
