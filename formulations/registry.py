"""The formulations by name: those of this package, those that installed packages bring, and the user's own."""

from __future__ import annotations

from formulations.base import Formulation
from formulations.closure import Closure
from formulations.compact import Compact
from formulations.ip0 import IP0
from formulations.ip1 import IP1
from formulations.ip2 import IP2
from formulations.ip3 import IP3
from formulations.lp1 import LP1
from ipforest._internal.registry import Plugins, Registry

__all__ = ["FORMULATIONS", "formulation", "register_formulation"]


FORMULATIONS: Registry[Formulation] = Registry(
    "formulation",
    "formulations.FORMULATIONS",
    Plugins("ipforest.formulations"),
    *(IP0(), IP1(), IP2(), IP3(), Compact(), Closure(), LP1()),
)


def register_formulation(formulation: Formulation) -> Formulation:
    """Make a formulation known by its name to everything that takes one.

    Raises
    ------
    TypeError
        Not a `Formulation`.
    ValueError
        Its name is taken.
    """
    if not isinstance(formulation, Formulation):
        raise TypeError(f"formulation: expected a Formulation, got {type(formulation).__name__}")
    FORMULATIONS.add(formulation)
    return formulation


def formulation(name: str | Formulation) -> Formulation:
    """Look a formulation up; one that is given as an object is returned as it is.

    Raises
    ------
    ValueError
        No formulation has that name.
    """
    if isinstance(name, Formulation):
        return name
    if name not in FORMULATIONS:
        raise ValueError(f"formulation: expected one of {', '.join(FORMULATIONS)}, got {name!r}")
    return FORMULATIONS[name]
