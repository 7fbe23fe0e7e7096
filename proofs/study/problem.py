"""A small pruning problem: an instance with a lambda or a budget, its answer by definition, and its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.base import Formulation, ModelSpecification, Takes
from formulations.specification import specify
from ipforest._internal.rational import nonnegative_fraction, written_fraction
from ipforest._internal.records import json_object
from ipforest.instance import PruningInstance
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.random_instances import draw_instance, integers_of
from proofs.study.sketch import Sketch

VERSION = 1

__all__ = ["Problem", "random_problem"]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """An instance with the number that a formulation takes.

    Parameters
    ----------
    instance : PruningInstance
    lam, budget : Fraction or None
        At most one of them.
    """

    instance: PruningInstance
    lam: Fraction | None = None
    budget: Fraction | None = None

    def specification(self, formulation: Formulation, relaxed: bool = False) -> ModelSpecification:
        """State a formulation of this problem."""
        return specify(formulation, self.instance, self.lam, self.budget, relaxed)

    def every_worth(self, formulation: Formulation) -> dict[tuple[bool, ...], Fraction]:
        """Return the objective of each pruning (its kept internal nodes) that is allowed, by definition."""
        specification, found = self.specification(formulation), {}
        for pruning in prunings(self.instance):
            worth = formulation.worth(specification, pruning)
            if worth is not None:
                found[tuple(pruning.kept.tolist())] = worth
        return found

    def to_json(self) -> str:
        """Write the problem as JSON: integers and fractions, exact."""
        stored = {field.name: getattr(self.instance, field.name) for field in fields(PruningInstance) if field.init}
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in stored.items()}
        numbers = {"lam": self.lam, "budget": self.budget}
        return json.dumps({"version": VERSION, **numbers, "instance": plain}, default=str)

    @classmethod
    def from_json(cls, text: str) -> Problem:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            The text is no problem, or has another version.
        """
        content = json_object(text)
        if content.get("version") != VERSION:
            raise ValueError(f"text: expected a problem of version {VERSION}, got version {content.get('version')}")
        try:
            instance = PruningInstance(**{name: _read(value, name) for name, value in content["instance"].items()})
            numbers = {name: content[name] for name in ("lam", "budget")}
        except (AttributeError, KeyError, OverflowError, TypeError) as problem:
            raise ValueError(f"text: expected a problem written by to_json, got: {problem!r}") from None
        return cls(
            instance,
            **{name: None if value is None else nonnegative_fraction(value, name) for name, value in numbers.items()},
        )

    def __str__(self) -> str:
        number = f", lambda {self.lam}" if self.lam is not None else ""
        number += f", budget {self.budget}" if self.budget is not None else ""
        size = self.instance
        counts = {"tree": size.n_trees, "node": size.n_nodes, "example": size.n_examples}
        return ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items()) + number


def _read(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return written_fraction(value, name)
    return np.array(value, dtype=np.int64) if isinstance(value, list) else value


def random_problem(rng: np.random.Generator, takes: Takes, one_tree: bool = False, max_internal: int = 3) -> Problem:
    """Draw a problem whose units are powers of two, so that the floats of a model are exact.

    Lambda is often one at which two prunings tie, the budget often between the costs of prunings.

    Parameters
    ----------
    rng : Generator
    takes : {"lam", "budget", "nothing"}
    one_tree : bool
    max_internal : int
        At most so many internal nodes.
    """
    integer = integers_of(rng)
    sketch = Sketch.of(draw_instance(integer, max_internal))
    if one_tree:
        widest = max(range(len(sketch.trees)), key=lambda tree: len(sketch.trees[tree].parent))
        sketch = sketch.with_trees([sketch.trees[widest]])
    sketch = sketch.with_units(Fraction(1, 2 ** integer(0, 3)), Fraction(1, 2 ** integer(0, 3)))
    instance = sketch.instance()
    if takes == "lam":
        return Problem(instance, lam=Fraction(integer(0, 16), 2 ** integer(0, 4)))
    if takes == "budget":
        most = instance.evaluate(instance.unpruned)[1]
        return Problem(instance, budget=most * Fraction(integer(0, 9), 8))
    return Problem(instance)
