"""The instance as the plain lists and dictionaries that the Pyomo models are written over."""

from __future__ import annotations

from dataclasses import dataclass

from formulations import indexing
from ipforest.instance import PruningInstance

__all__ = ["ModelData"]

Triple = tuple[int, int, int]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ModelData:
    """Sets and parameters of a model, in the papers' letters.

    Parameters
    ----------
    nodes, leaves, internal : list of int
        All nodes of all trees, those without children, those with.
    path : dict
        p(h): the nodes from the root to h, h included.
    parent : dict
        Parent of each internal node that has one.
    first_use : dict
        u_{t,k,i} for each triple (tree, unit, example).
    pairs : list
        The (unit, example) that some tree needs.
    e : dict
        Errors of each node, in error units.
    c : dict
        Cost of each pair, in cost units.
    s : dict
        Split cost of each internal node, in cost units.
    """

    nodes: list[int]
    leaves: list[int]
    internal: list[int]
    path: dict[int, list[int]]
    parent: dict[int, int]
    first_use: dict[Triple, int]
    pairs: list[Pair]
    e: dict[int, int]
    c: dict[Pair, int]
    s: dict[int, int]

    def __repr__(self) -> str:
        return f"ModelData({len(self.nodes)} nodes, {len(self.pairs)} pairs, {len(self.first_use)} triples)"

    @classmethod
    def of(cls, instance: PruningInstance) -> ModelData:
        """Read the sets and parameters of an instance.

        Raises
        ------
        ValueError
            It has delayed tests: triples (t, k, i) do not name the places where an example needs a unit.
        """
        if instance.in_rounds:
            raise ValueError(
                "instance: expected each acquisition once in a tree, as models name it by tree, unit and example, got "
                "delayed tests; use solve(instance, lam, 'min-cut' or 'highs-lp'), which need no names"
            )
        offsets, ancestors = indexing.ancestor_lists(instance)
        internal = instance.internal_nodes.tolist()
        pairs = list(zip(instance.acquisition_unit.tolist(), instance.acquisition_example.tolist(), strict=True))
        triples = zip(*(part.tolist() for part in indexing.triple_index(instance)), strict=True)
        first_use = instance.internal_nodes[instance.triple_node].tolist()
        return cls(
            nodes=list(range(instance.n_nodes)),
            leaves=indexing.tree_leaves(instance).tolist(),
            internal=internal,
            path={h: ancestors[offsets[h] : offsets[h + 1]].tolist() for h in range(instance.n_nodes)},
            parent={h: above for h in internal if (above := int(instance.node_parent[h])) >= 0},
            first_use=dict(zip(triples, first_use, strict=True)),
            pairs=pairs,
            e=dict(enumerate(instance.errors.tolist())),
            c=dict(zip(pairs, instance.acquisition_cost.tolist(), strict=True)),
            s=dict(zip(internal, instance.split_cost.tolist(), strict=True)),
        )
