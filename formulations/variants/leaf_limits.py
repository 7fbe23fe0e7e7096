"""Small forests: at most so many leaves in each tree, or in all trees."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from formulations._pyomo import pyo
from formulations.model_data import ModelData
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import closure, kept_nodes, standard
from ipforest.instance import PruningInstance
from ipforest.results import Pruning


def leaves_per_tree(most: int = 2) -> ModelledFormulation:
    r"""Add a row for each tree t: :math:`1 + \sum_{h \in t} (\mathrm{children}_h - 1) x_h \le L`.

    Parameters
    ----------
    most : int
        L.
    """
    return _limited("leaves-per-tree", most, _by_tree)


def leaves_in_all(most: int = 4) -> ModelledFormulation:
    r"""Add one row: the leaves of all trees, :math:`T + \sum_h (\mathrm{children}_h - 1) x_h \le L`; at least T."""
    return _limited("leaves-in-all", most, lambda instance: [instance.internal_nodes.tolist()])


def _by_tree(instance: PruningInstance) -> list[list[int]]:
    ends = instance.tree_offsets.tolist()
    internal = instance.internal_nodes.tolist()
    return [[h for h in internal if first <= h < last] for first, last in pairwise(ends)]


def _limited(name: str, most: int, groups: Any) -> ModelledFormulation:
    def spare(instance: PruningInstance) -> int:
        """Return how many leaves a group may have more than its trees have roots."""
        trees = instance.n_trees // len(groups(instance))
        return max(0, most - trees)

    def growth(instance: PruningInstance) -> dict[int, int]:
        """Return by how many leaves each test makes its tree larger."""
        parents = instance.node_parent.tolist()
        return {h: parents.count(h) - 1 for h in ModelData.of(instance).internal}

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, _ = closure(instance)
        more, tests = growth(instance), [group for group in groups(instance) if group]
        program.few_leaves = pyo.Constraint(
            range(len(tests)), rule=lambda m, g: pyo.quicksum(more[h] * m.x[h] for h in tests[g]) <= spare(instance)
        )
        program.objective = pyo.Objective(expr=program.error + float(lam) * program.cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction | None:
        more, kept = growth(instance), kept_nodes(instance, pruning)
        few = all(sum(more[h] for h in group if h in kept) <= spare(instance) for group in groups(instance))
        return standard(instance, lam, pruning) if few else None

    return ModelledFormulation(name, model, worth=worth, reason="a row that counts leaves cuts edges of the closures")
