"""Delayed tests: a result that comes in the next round is not known when the tests below it are bought."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.indexing import required_leaves
from formulations.model_data import ModelData
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import bought, closure, kept_nodes, with_more
from ipforest.instance import PruningInstance
from ipforest.results import Pruning

Delayed = Callable[[PruningInstance], set[int]]
"""Gives the units whose results are delayed."""


def first_unit(instance: PruningInstance) -> set[int]:
    """Let the unit of the lowest number be delayed."""
    return {min((unit for unit, _ in ModelData.of(instance).pairs), default=0)}


def delayed_tests(delayed: Delayed = first_unit) -> ModelledFormulation:
    r"""Let a kept test below a delayed one be bought by all examples that pass the delayed one.

    A node is delayed if a delayed unit is first used there. A test below a delayed node is bought in the same round as
    that of the highest one, d(h), before it is known which examples reach it, so by all that pass d(h):

    .. math:: x_h \le w_{k,i} \qquad \forall h : d(h) \text{ exists}, \ k \text{ first used at } h, \
        i \text{ passes } d(h).

    Every row is still "this one only with that one": the program is the choice of a closed set of largest gain minus
    cost, and one minimum cut solves it: ``PruningInstance.from_forest(..., delayed=)``, then `ipforest.solve` and
    `ipforest.prune_path`.

    Parameters
    ----------
    delayed : callable
        See `Delayed`.
    """

    def rows(instance: PruningInstance) -> list[tuple[int, int, int]]:
        """Return (h, k, i): node h needs unit k for example i, whether or not i reaches it."""
        data, waiting = ModelData.of(instance), delayed(instance)
        units: dict[int, set[int]] = {}
        for (_, k, _), h in data.first_use.items():
            units.setdefault(h, set()).add(k)
        highest: dict[int, int] = {}
        for h, above in data.parent.items():
            if above in highest or units.get(above, set()) & waiting:
                highest[h] = highest.get(above, above)
        below = list(highest.items())
        return [(h, k, i) for h, d in below for k in sorted(units.get(h, ())) for i in _passing(instance, data, d)]

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        needs = rows(instance)
        program, _ = closure(instance, [(k, i) for _, k, i in needs])
        program.bought_in_one_round = pyo.Constraint(needs, rule=lambda m, h, k, i: m.x[h] <= m.w[k, i])
        program.objective = pyo.Objective(expr=program.error + float(lam) * program.cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
        kept = kept_nodes(instance, pruning)
        needed = {(k, i) for h, k, i in rows(instance) if h in kept}
        return with_more(instance, lam, pruning, needed - bought(instance, pruning))

    return ModelledFormulation(
        "delayed-tests", model, worth=worth, integral=True, routing=True, reason="x <= w is one more arc of a closure"
    )


def _passing(instance: PruningInstance, data: ModelData, node: int) -> list[int]:
    """Return the examples whose path leads through a node."""
    leaves = required_leaves(instance)
    return [i for i in range(instance.n_examples) if any(node in data.path[leaf] for leaf in leaves[:, i].tolist())]
