"""A formulation from one function that writes a Pyomo model: all else is read off the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from fractions import Fraction
from typing import Any

import numpy as np

from formulations import indexing
from formulations._pyomo import pyo
from formulations.base import HERE, Formulation, ModelSize, ModelSpecification, Takes
from formulations.registry import FORMULATIONS, register_formulation
from formulations.specification import specify
from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.instance import PruningInstance
from ipforest.results import Pruning
from ipforest.solvers.linear_program import LinearProgram
from ipforest.solvers.registry import check_call, check_name, is_defined_again

__all__ = ["Builder", "Decoder", "Definition", "ModelledFormulation", "register"]

Builder = Callable[..., Any]
"""Called with the instance and, if the formulation takes one, lambda or the budget (a Fraction); gives a model."""
Decoder = Callable[[Any], Any]
"""Called with the model, whose variables hold a point; gives x_h of the internal nodes: numbers or expressions, in
their order or by node."""
Definition = Callable[..., Fraction | None]
"""Called as the builder is, with a pruning after that; gives its objective, or None if it is not allowed."""


NUMBERS = {"lam": ("an instance", "lambda"), "budget": ("an instance", "the budget"), "nothing": ("an instance",)}
"""What a builder is called with."""


class ModelledFormulation(Formulation):
    """A formulation that a function writes as a Pyomo model.

    The model minimises ``error + lam * cost``, or the error within the budget. Integer variables are relaxed by Pyomo's
    transformation. The pruning is read from variables ``x[h]`` (h keeps its test) or ``z[h]`` (h is a leaf) over the
    nodes of the instance, if the model has them, else by a decoder.

    Parameters
    ----------
    name : str
    builder : callable
        See `Builder`. What it needs of an instance is in `formulations.ModelData`.
    takes : {"lam", "budget", "nothing"}
    decode : callable, optional
        See `Decoder`.
    integral : bool, optional
        Whether every vertex of the relaxation is claimed to be 0-1 in the integer variables, or in all if none is.
    reason, paper, equation : str
    one_tree, routing : bool
        See `formulations.base.Formulation`.
    worth : callable, optional
        See `Definition`. With it the formulation is a variant: it states the problem that this defines.
    """

    integer_units = False

    def __init__(
        self,
        name: str,
        builder: Builder,
        takes: Takes = "lam",
        *,
        decode: Decoder | None = None,
        integral: bool | None = None,
        reason: str = "",
        paper: str = HERE,
        equation: str = "",
        one_tree: bool = False,
        routing: bool = False,
        worth: Definition | None = None,
    ) -> None:
        check_name(name, "formulations.register")
        if takes not in NUMBERS:
            raise ValueError(f"takes: expected lam, budget or nothing, got {takes!r}")
        self.name, self.takes, self.integral, self.reason = name, takes, integral, reason
        self.paper, self.equation, self.one_tree, self.routing = paper, equation, one_tree, routing
        check_call(name, builder, *NUMBERS[takes])
        if decode is not None:
            check_call(f"{name}, decode", decode, "the solved model")
        if worth is not None:
            check_call(f"{name}, worth", worth, *NUMBERS[takes], "a pruning")
        if integral not in (True, False, None):
            raise TypeError(f"integral: expected True, False or None, got {integral!r}")
        self.builder, self._decode, self._worth = builder, decode, worth
        self.variant = worth is not None
        self.__doc__ = builder.__doc__

    def build(self, specification: ModelSpecification) -> Any:
        """Call the function, and relax what it built if the specification is relaxed.

        Raises
        ------
        TypeError
            The function returns no Pyomo model.
        ValueError
            The model maximises, or is one that was built before.
        """
        model = self.builder(specification.instance, *self.numbers(specification.number).values())
        if not isinstance(model, pyo.ConcreteModel):
            raise TypeError(f"{self.name}: expected a pyomo.environ.ConcreteModel, got {type(model).__name__}")
        if any(each.sense != pyo.minimize for each in model.component_data_objects(pyo.Objective, active=True)):
            raise ValueError(f"{self.name}: expected an objective to minimise, got one to maximise; state its negative")
        before = getattr(model, "specification", None)
        of_another = isinstance(before, ModelSpecification) and before.formulation is not self
        if before is not None and not of_another:
            raise ValueError(
                f"{self.name}: expected a new model for each call, got one whose `specification` is set, as "
                "formulations.build does; return model.clone() of one that you keep, or call that component otherwise"
            )
        model.specification = specification
        if specification.relaxed:
            pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
        return model

    def worth(self, specification: ModelSpecification, pruning: Pruning) -> Fraction | None:
        """Return the objective of a pruning as the variant defines it, if it is one."""
        if self._worth is None:
            return super().worth(specification, pruning)
        return self._worth(specification.instance, *self.numbers(specification.number).values(), pruning)

    def linear_program(self, specification: ModelSpecification) -> LinearProgram:
        """Take the Pyomo model apart."""
        from formulations import models

        return models.matrix(self.build(specification))

    def size(self, instance: PruningInstance) -> ModelSize:
        """Count the rows and columns of the model."""
        program = self.linear_program(specify(self, instance, **self.numbers(1)))
        return ModelSize(program.n_columns, program.n_rows)

    def kept_shares(self, specification: ModelSpecification, values: FloatArray) -> FloatArray:
        """Read x_h with the decoder, from ``x``, or from ``z``; see `reader`."""
        return self.reader(specification)(values)

    def reader(self, specification: ModelSpecification) -> Callable[[FloatArray], FloatArray]:
        """Build the model once, and return what reads x_h from its points.

        Raises
        ------
        ValueError
            There is no decoder and neither variable, or what the decoder gives is no array over the internal nodes.
        """
        from formulations import models

        model, instance = self.build(specification), specification.instance
        decode = self._decode
        if decode is not None:
            return lambda values: self._decoded(decode, model, instance, values)
        place = {variable.name: column for column, variable in enumerate(models.columns_of(model))}
        x = [place.get(name, -1) for name in _names(model, "x", instance.internal_nodes.tolist())]
        if -1 not in x:
            return lambda values: values[x]
        z = [place.get(name, -1) for name in _names(model, "z", range(instance.n_nodes))]
        if -1 in z:
            raise ValueError(
                f"{self.name}: expected variables x over the internal nodes or z over all nodes, or a decoder "
                "(register(..., decode=)), got neither"
            )
        read = indexing.kept_reader(instance)
        return lambda values: read(values[z])

    def _decoded(self, decode: Decoder, model: Any, instance: PruningInstance, values: FloatArray) -> FloatArray:
        from formulations import models

        models.set_values(model, values)
        answer = decode(model)
        try:
            if isinstance(answer, Set):  # of nodes, say: their numbers are no shares, and have no order
                raise TypeError("a set")
            each = [answer[h] for h in instance.internal_nodes.tolist()] if hasattr(answer, "keys") else answer
            shares = np.array([float(pyo.value(share)) for share in each])
        except (KeyError, TypeError, ValueError):
            shares = np.zeros(())
        if shares.shape != (instance.n_internal,):
            raise ValueError(
                f"{self.name}: expected the decoder to give shape ({instance.n_internal},), a number or an expression "
                f"for each internal node, got {f'shape {shares.shape}' if shares.shape else repr(answer)}"
            )
        return shares

    def tree_objective(self, instance: PruningInstance, p: int, q: int) -> tuple[IntArray, int]:
        """Refuse: the objective is the model's own.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(f"formulation: expected one that is written as arrays, got {self.name}, a Pyomo model")


def _names(model: Any, letter: str, nodes: Iterable[int]) -> list[str]:
    """Name a variable's entries; those of a Reference have the names of what they stand for."""
    component = model.component(letter)
    stand_for = component if component is not None and component.is_reference() else {}
    return [stand_for[node].name if node in stand_for else f"{letter}[{node}]" for node in nodes]


def register(name: str, takes: Takes = "lam", **promises: Any) -> Callable[[Builder], Builder]:
    """Register the function below as a formulation; when it is defined again, such as in a notebook, anew.

    Parameters
    ----------
    name : str
    takes : {"lam", "budget", "nothing"}
        The number that the function takes after the instance.
    **promises
        See `ModelledFormulation`.

    Returns
    -------
    callable
        Registers a function and returns it as it is.

    Raises
    ------
    ValueError
        Another formulation has the name, or `takes` is none of the three.
    TypeError
        The name is no text, or what must be a function cannot be called so.

    Examples
    --------
    >>> @formulations.register("ip4")  # doctest: +SKIP
    ... def ip4(instance, lam):
    ...     data, model = formulations.ModelData.of(instance), pyo.ConcreteModel()
    ...     ...
    ...     return model
    """
    check_name(name, "formulations.register")

    def registered(builder: Builder) -> Builder:
        made, before = ModelledFormulation(name, builder, takes, **promises), FORMULATIONS.get(name)
        if isinstance(before, ModelledFormulation) and is_defined_again(before.builder, builder):
            FORMULATIONS.remove(name)
        register_formulation(made)
        return builder

    return registered
