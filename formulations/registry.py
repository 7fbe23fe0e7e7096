"""The formulations by name: those of this package, and any that a user registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formulations.base import Formulation

__all__ = ["FORMULATIONS", "formulation", "register_formulation"]


class Registry(Mapping[str, Formulation]):
    """Formulations by name, in the order in which they were registered."""

    def __init__(self) -> None:
        self._formulations: dict[str, Formulation] = {}

    def __getitem__(self, name: str) -> Formulation:
        return self._formulations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._formulations)

    def __len__(self) -> int:
        return len(self._formulations)

    def add(self, formulation: Formulation) -> None:
        """Add a formulation.

        Raises
        ------
        ValueError
            Its name is taken.
        """
        if formulation.name in self._formulations:
            raise ValueError(
                f"name: expected one that no formulation has, got {formulation.name!r}; take the other one out with "
                f"formulations.FORMULATIONS.remove({formulation.name!r}), or choose another name"
            )
        self._formulations[formulation.name] = formulation

    def remove(self, name: str) -> None:
        """Take a formulation out again.

        Raises
        ------
        KeyError
            No formulation has that name.
        """
        del self._formulations[name]


FORMULATIONS = Registry()


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
