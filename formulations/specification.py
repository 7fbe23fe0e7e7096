"""What a model says, in integers, checked and read exactly: shared by its Pyomo and its array form."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from formulations.base import Formulation, ModelSpecification
from formulations.registry import formulation
from ipforest._internal.rational import INT64_SAFE, exact_sum, nonnegative_fraction
from ipforest.instance import PruningInstance, require_instance

FLOAT_SAFE = 2**53
"""From here on floats do not tell integers apart."""

__all__ = ["build", "specify"]


def build(
    name: str | Formulation, instance: PruningInstance, lam: object = None, budget: object = None, relaxed: bool = False
) -> Any:
    """Build a formulation as a Pyomo model.

    Parameters
    ----------
    name : str or Formulation
        A name in `FORMULATIONS`, or a formulation that need not be registered.
    instance : PruningInstance
    lam, budget : number, optional
        The one that the formulation takes, >= 0: int, Fraction, Decimal, str, or float as its shortest decimal.
    relaxed : bool
        Let variables range over [0, 1] in place of {0, 1}.

    Returns
    -------
    pyomo.environ.ConcreteModel

    Raises
    ------
    TypeError
        Not an instance.
    ValueError
        Unknown name, a missing, needless or negative number, or an instance that does not fit.
    OverflowError
        Integers that reach 2^62.
    """
    specification = specify(name, instance, lam, budget, relaxed)
    model = specification.formulation.build(specification)
    model.specification = specification  # by which `formulations.solve` knows what the model states
    return model


def specify(
    name: str | Formulation, instance: PruningInstance, lam: object = None, budget: object = None, relaxed: bool = False
) -> ModelSpecification:
    """Check that a formulation can be stated for an instance, and read its numbers exactly.

    Parameters
    ----------
    name : str or Formulation
        A name in `FORMULATIONS`, or a formulation that need not be registered.
    instance : PruningInstance
    lam, budget : int, float, str, Decimal or Fraction, optional
        The one that the formulation takes, >= 0.
    relaxed : bool

    Raises
    ------
    TypeError
        Not an instance.
    ValueError
        Unknown name, a missing, needless or negative number, several trees for ``ip2``, no routing for ``ip1``.
    OverflowError
        Integers that reach 2^62 in the objective, or 2^53 in the budget row, which must be exact in floats.
    """
    info = formulation(name)
    require_instance(instance)
    for argument, value in (("lam", lam), ("budget", budget)):
        if (value is None) == (info.takes == argument):
            wanted = "a number >= 0" if value is None else "None"
            raise ValueError(f"{argument}: expected {wanted} for {name} (which takes {info.takes}), got {value!r}")
    info.check_instance(instance)
    if budget is not None and instance.total_cost >= FLOAT_SAFE:
        raise OverflowError(
            f"instance: expected total costs below 2^53 units for {name}, got {instance.total_cost}; "
            "use prices of fewer digits, or solve_budget's method path, greedy or mip"
        )
    specification = ModelSpecification(
        info,
        instance,
        Fraction(0) if info.takes == "nothing" else None if lam is None else nonnegative_fraction(lam, "lam"),
        None if budget is None else nonnegative_fraction(budget, "budget"),
        relaxed,
    )
    _check_range(instance, *specification.weights)
    return specification


def _check_range(instance: PruningInstance, p: int, q: int) -> None:
    total = q * max(1, exact_sum(instance.errors)) + p * exact_sum(instance.split_cost)
    price = p * int(instance.acquisition_cost.max(initial=1))
    if max(total, price) >= INT64_SAFE:
        raise OverflowError(
            f"lam: expected sums below 2^62 units, got {max(total, price)}; "
            "use a lambda or prices with smaller denominators"
        )
