"""How large a formulation is: variables and constraints as integer combinations of what an instance counts, if so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import islice

import numpy as np

from formulations.base import Formulation
from ipforest.instance import PruningInstance
from proofs.exact import independent_rows, solve_square

__all__ = ["COUNTS", "SizeLaw", "size_law"]

COUNTS: dict[str, Callable[[PruningInstance], int]] = {
    "leaves": lambda instance: instance.n_leaves,
    "internal": lambda instance: instance.n_internal,
    "trees": lambda instance: instance.n_trees,
    "kept roots": lambda instance: int(np.count_nonzero(instance.parent < 0)),
    "acquisitions": lambda instance: instance.n_acquisitions,
    "triples": lambda instance: instance.n_triples,
    "1": lambda instance: 1,
}
"""What is counted; "kept roots" are the trees that have an internal node, which has no parent."""
FIRST_INSTANCES, FRESH_INSTANCES = 60, 20
"""Instances among which those are chosen that tell the counts apart, and more that are checked."""


class SizeLaw(dict[str, int]):
    """A number of variables or constraints as an integer combination of `COUNTS`."""

    def __str__(self) -> str:
        if self.get("leaves") and self["leaves"] == self.get("internal"):
            terms = [("nodes", self["leaves"]), *((n, c) for n, c in self.items() if n not in ("leaves", "internal"))]
        else:
            terms = list(self.items())
        text = ""
        for name, count in terms:
            size = str(abs(count)) if name == "1" else name if abs(count) == 1 else f"{abs(count)} {name}"
            text += f" {'-' if count < 0 else '+'} {size}"
        return text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" - ") else text[3:] or "0"


def size_law(
    formulation: Formulation, instances: Iterable[PruningInstance]
) -> tuple[SizeLaw | None, SizeLaw | None, int]:
    """Solve for the coefficients on as many instances as there are, and check them on fresh ones, exactly.

    Parameters
    ----------
    formulation : Formulation
    instances : iterable of PruningInstance
        Counts that are combinations of earlier ones on all of the first 60 are left out.

    Returns
    -------
    variables, constraints : SizeLaw or None
        None where no integer combination gives all sizes.
    checked : int
        Instances on which it holds, those that it was solved on included.
    """
    source = iter(instances)
    drawn = list(islice(source, FIRST_INSTANCES))
    table = [[count(instance) for count in COUNTS.values()] for instance in drawn]
    columns = independent_rows(list(zip(*table, strict=True)))
    names = [list(COUNTS)[column] for column in columns]
    chosen = independent_rows([[row[column] for column in columns] for row in table])
    rows = [[table[place][column] for column in columns] for place in chosen]
    checked = [*(drawn[place] for place in chosen), *islice(source, FRESH_INSTANCES)]
    sizes = [formulation.size(instance) for instance in checked]
    laws = []
    for part in ([size.variables for size in sizes], [size.constraints for size in sizes]):
        solved = solve_square(rows, part[: len(rows)])
        laws.append(None if solved is None else _law(names, solved, checked, part))
    return laws[0], laws[1], len(checked)


def _law(
    names: Sequence[str], solved: Sequence[Fraction], instances: Sequence[PruningInstance], sizes: Sequence[int]
) -> SizeLaw | None:
    if any(value.denominator != 1 for value in solved):
        return None
    law = SizeLaw({name: int(value) for name, value in zip(names, solved, strict=True) if value})
    given = [sum(count * COUNTS[name](instance) for name, count in law.items()) for instance in instances]
    return law if given == list(sizes) else None
