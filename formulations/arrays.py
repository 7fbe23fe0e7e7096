"""Formulations as plain arrays, block by block, for instances that are too large for a modelling language."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from formulations import indexing
from formulations.base import Formulation, ModelSpecification, Network
from ipforest._internal.arrays import FloatArray, IntArray
from ipforest._internal.rational import exact_sum
from ipforest.ensemble.routing import accumulate_to_ancestors
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Block, Labels, LinearProgram, selection

__all__ = ["ArrayFormulation", "LeafFormulation", "Rows", "forest_with_star", "linear_program"]


def linear_program(specification: ModelSpecification) -> LinearProgram:
    """Write a specification as arrays: the same rows and columns, in the same order, as the Pyomo model.

    Parameters
    ----------
    specification : ModelSpecification
        See `formulations.specify`.
    """
    return specification.formulation.linear_program(specification)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Constraints of one name.

    Parameters
    ----------
    labels : Block
    parts : sequence of csr_array or None
        Their entries in each block of columns; None where there are none.
    sense : {"==", "<=", ">="}
    right : float
    """

    labels: Block
    parts: Sequence[csr_array | None]
    sense: str
    right: float


class ArrayFormulation(Formulation):
    """A formulation that also writes its rows and columns as blocks of arrays.

    The first block of columns are the tree variables; the last one, if there are more, w of the acquisitions.
    """

    @abstractmethod
    def columns(self, instance: PruningInstance) -> tuple[Block, ...]:
        """Return the names of the variables."""

    @abstractmethod
    def rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return the constraints, in the order of the Pyomo model."""

    def linear_program(self, specification: ModelSpecification) -> LinearProgram:
        """Write the program block by block."""
        instance, (p, q) = specification.instance, specification.weights
        columns, rows = self.columns(instance), self.rows(specification)
        widths, heights = [len(block) for block in columns], [len(block.labels) for block in rows]
        A = vstack(
            [
                hstack(
                    [
                        csr_array((height, width)) if part is None else part
                        for part, width in zip(block.parts, widths, strict=True)
                    ],
                    format="csr",
                )
                for block, height in zip(rows, heights, strict=True)
            ],
            format="csr",
        )
        A.sort_indices()
        tree, constant = self.tree_objective(instance, p, q)
        costs = [tree, *(np.zeros(width) for width in widths[1:-1])]
        if len(columns) > 1:
            costs.append(p * instance.acquisition_cost)
        return LinearProgram(
            A=A,
            senses=np.repeat(np.array([block.sense for block in rows], dtype="<U2"), heights),
            rhs=np.repeat(np.array([block.right for block in rows], dtype=np.float64), heights),
            objective=np.concatenate(costs, dtype=np.float64),
            constant=float(constant),
            lower=np.zeros(A.shape[1]),
            upper=np.ones(A.shape[1]),
            integer=np.full(A.shape[1], not specification.relaxed),
            row_labels=Labels([block.labels for block in rows]),
            column_labels=Labels(columns),
        )


class LeafFormulation(ArrayFormulation):
    """A formulation in z: which node of each path is the leaf; its first rows are the path sums."""

    @abstractmethod
    def usage_rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return the constraints that follow the path sums."""

    def columns(self, instance: PruningInstance) -> tuple[Block, ...]:
        """Name z by node and w by acquisition."""
        return leaf_choices(instance), acquisitions(instance)

    def rows(self, specification: ModelSpecification) -> tuple[Rows, ...]:
        """Return the path sums, then the usage rows."""
        instance = specification.instance
        leaves = indexing.tree_leaves(instance)
        others = [None] * (len(self.columns(instance)) - 1)
        paths = Rows(Block("one_leaf_per_path", (leaves,)), [path_matrix(instance)[leaves], *others], "==", 1)
        return paths, *self.usage_rows(specification)

    def kept_shares(self, specification: ModelSpecification, values: FloatArray) -> FloatArray:
        """Compute 1 less the sum of z over p(h)."""
        return indexing.kept_reader(specification.instance)(values)

    def tree_objective(self, instance: PruningInstance, p: int, q: int) -> tuple[IntArray, int]:
        """Return errors less the split costs that stopping saves, and all split costs."""
        return q * instance.errors - p * subtree_split_cost(instance), p * exact_sum(instance.split_cost)


def leaf_choices(instance: PruningInstance) -> Block:
    """Return the names of the z of all nodes."""
    return Block("z", (np.arange(instance.n_nodes),))


def acquisitions(instance: PruningInstance) -> Block:
    """Return the names of the w of all acquisitions."""
    return Block("w", (instance.acquisition_unit, instance.acquisition_example))


def first_uses(name: str, instance: PruningInstance) -> Block:
    """Return the names of rows or columns of which there is one for each triple."""
    return Block(name, indexing.triple_index(instance))


def needs(instance: PruningInstance) -> csr_array:
    """Mark the acquisition of each triple, shape (n_triples, n_acquisitions)."""
    return selection(instance.indices, instance.n_acquisitions)


def path_matrix(instance: PruningInstance) -> csr_array:
    """Mark p(h), h included, in row h."""
    offsets, ancestors = indexing.ancestor_lists(instance)
    shape = (instance.n_nodes, instance.n_nodes)
    return csr_array((np.ones(ancestors.size), ancestors, offsets), shape=shape)


def use_paths(instance: PruningInstance) -> csr_array:
    """Mark p(u) of the node of first use of each triple, shape (n_triples, n_nodes)."""
    return path_matrix(instance)[instance.internal_nodes[instance.triple_node]]


def budget_row(instance: PruningInstance, formulation: ArrayFormulation) -> tuple[list[csr_array | None], int]:
    """Return the entries of a row that holds the cost, in cost units, and the cost's constant."""
    tree, constant = formulation.tree_objective(instance, 1, 0)
    between = [None] * (len(formulation.columns(instance)) - 2)
    first, last = (csr_array(part.astype(np.float64)[None, :]) for part in (tree, instance.acquisition_cost))
    return [first, *between, last], constant


def forest_with_star(
    node_parent: npt.NDArray[Any], n_star: int, tail: npt.NDArray[Any], head: npt.NDArray[Any]
) -> Network:
    """Hang a forest below vertex 0, its arcs away from it, and ``n_star`` further vertices, their arcs into it."""
    parent = np.concatenate([[-1], node_parent.astype(np.int64) + 1, np.zeros(n_star, dtype=np.int64)])
    away = np.arange(1, parent.size) <= node_parent.size
    return Network(parent, np.arange(1, parent.size), away, tail, head)


def path_ends(instance: PruningInstance, tails: Sequence[IntArray], heads: Sequence[IntArray]) -> tuple[Any, Any]:
    """Return the paths' ends of a program in z: from vertex 0 to each leaf, then those of the rows that follow."""
    leaves = indexing.tree_leaves(instance) + 1
    return np.concatenate([np.zeros(leaves.size, dtype=np.int64), *tails]), np.concatenate([leaves, *heads])


def first_use_vertices(instance: PruningInstance) -> IntArray:
    """Return the vertex of the node of first use of each triple, in the network of a program in z."""
    vertices: IntArray = instance.internal_nodes[instance.triple_node].astype(np.int64) + 1
    return vertices


def subtree_split_cost(instance: PruningInstance) -> npt.NDArray[np.int64]:
    """Sum the split costs of the internal nodes at or below each node, shape (n_nodes,).

    Stopping at h saves them: sum_u split_u (1 - sum of z over p(u)) = sum_u split_u - sum_h z_h (this sum).
    """
    saved = np.zeros((instance.n_nodes, 1), dtype=np.int64)
    saved[instance.internal_nodes, 0] = instance.split_cost
    accumulate_to_ancestors(instance.node_parent, saved)
    return saved[:, 0]


def acquisition_network(instance: PruningInstance) -> Network:
    """Return the network of a program in z and w whose rows say w_{k,i} + sum of z over p(u_{t,k,i}).

    The z have laminar row sets (subtrees), the w disjoint ones.
    """
    acquisition = instance.n_nodes + 1 + instance.indices.astype(np.int64)
    ends = path_ends(instance, [acquisition], [first_use_vertices(instance)])
    return forest_with_star(instance.node_parent, instance.n_acquisitions, *ends)
