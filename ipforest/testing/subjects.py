"""Formulations and solvers by their name, or from a file that defines or registers them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations import Formulation


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

    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        return formulation(text)
    before = dict(FORMULATIONS)
    defined = _names_of(Path(path))
    if name in FORMULATIONS and FORMULATIONS[name] is not before.get(name):
        return FORMULATIONS[name]
    found = defined.get(name)
    if isinstance(found, Formulation):
        return found
    if not callable(found):
        raise ValueError(f"{path}: expected it to register or define {name}, got {type(found).__name__}")
    return ModelledFormulation(name, found)


def find_solver(text: str) -> str | Callable[..., Any]:
    """Look a solver up by its name, or run a file and take the one that it registers or defines by that name.

    Returns
    -------
    str or callable
        As `ipforest.testing.check_solver` takes it.

    Raises
    ------
    ValueError
        The file has no solver of that name.
    OSError
        There is no such file.
    """
    from ipforest.solvers import SOLVERS

    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        return text
    before = dict(SOLVERS)
    defined = _names_of(Path(path))
    if name in SOLVERS and SOLVERS[name] is not before.get(name):
        return name
    found: Any = defined.get(name)
    if not callable(found):
        raise ValueError(f"{path}: expected it to register or define {name}, got {type(found).__name__}")
    solver: Callable[..., Any] = found
    return solver


def _names_of(path: Path) -> dict[str, Any]:
    """Run a file and return what it defines, its folder being where it imports from.

    Raises
    ------
    OSError
        There is no such file.
    """
    import runpy
    import sys

    path.stat()
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(str(path))
    finally:
        sys.path.remove(folder)
