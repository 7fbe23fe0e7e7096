"""The formulations as plain arrays, for instances that are too large for a modelling language."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from formulations import indexing
from formulations.specification import ModelSpecification, objective_coefficients, subtree_split_cost
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import Labels, LinearProgram

__all__ = ["linear_program"]


def linear_program(specification: ModelSpecification) -> LinearProgram:
    """Write a specification as arrays: the same rows and columns, in the same order, as the Pyomo model.

    Parameters
    ----------
    specification : ModelSpecification
        See `formulations.specify`.

    Returns
    -------
    LinearProgram
    """
    instance = specification.instance
    row_blocks, column_blocks = indexing.rows(specification), indexing.columns(specification)
    parts, senses, right = _parts(specification)
    sizes = [len(block) for block in row_blocks]
    A = vstack([hstack(part, format="csr") for part in parts], format="csr")
    A.sort_indices()
    coefficients = objective_coefficients(specification)
    usage = np.zeros(instance.n_triples if len(column_blocks) == 3 else 0)
    acquisition = coefficients.acquisition if len(column_blocks) > 1 else usage
    n_columns = A.shape[1]
    return LinearProgram(
        A=A,
        senses=np.repeat(np.array(senses, dtype="<U2"), sizes),
        rhs=np.repeat(np.array(right, dtype=np.float64), sizes),
        objective=np.concatenate([coefficients.tree, usage, acquisition]),
        constant=coefficients.constant,
        lower=np.zeros(n_columns),
        upper=np.ones(n_columns),
        integer=np.full(n_columns, not specification.relaxed),
        row_labels=Labels(row_blocks),
        column_labels=Labels(column_blocks),
    )


Parts = tuple[list[list[csr_array]], list[str], list[float]]
"""Rows of blocks of the matrix, with the sense and the right-hand side of each row of blocks."""


def _parts(specification: ModelSpecification) -> Parts:
    instance = specification.instance
    if specification.formulation == "closure":
        return _closure(instance)
    path = _path_matrix(instance)
    leaf_path = path[indexing.tree_leaves(instance)]
    if specification.formulation == "ip0":
        return [[leaf_path]], ["=="], [1]
    needs = _selection(instance.indices, instance.n_acquisitions)
    if specification.formulation == "ip1":
        triple, node = indexing.nodes_below_first_use(instance)
        rows = [_selection(node, instance.n_nodes), -needs[triple]]
        return [_padded(leaf_path, rows), rows], ["==", "<="], [1, 0]
    use_path = path[instance.internal_nodes[instance.triple_node]]
    if specification.formulation in ("ip2", "compact"):
        rows = [use_path, needs]
        return [_padded(leaf_path, rows), rows], ["==", "==" if specification.formulation == "ip2" else ">="], [1, 1]
    here = _selection(np.arange(instance.n_triples), instance.n_triples)
    in_tree = [use_path, here, csr_array(needs.shape)]
    anywhere = [csr_array(use_path.shape), here, -needs]
    parts, senses, right = [_padded(leaf_path, in_tree), in_tree, anywhere], ["==", "==", "<="], [1.0, 1.0, 0.0]
    if specification.formulation == "lp1":
        parts.append(_budget_row(instance))
        senses.append("<=")
        right.append(specification.budget_units - int(instance.split_cost.sum()))
    return parts, senses, right


def _closure(instance: PruningInstance) -> Parts:
    below = np.flatnonzero(instance.parent >= 0)
    under_parent = _selection(below, instance.n_internal) - _selection(instance.parent[below], instance.n_internal)
    where_kept = [
        _selection(instance.triple_node, instance.n_internal),
        -_selection(instance.indices, instance.n_acquisitions),
    ]
    return [_padded(under_parent, where_kept), where_kept], ["<=", "<="], [0, 0]


def _budget_row(instance: PruningInstance) -> list[csr_array]:
    saved = -subtree_split_cost(instance).astype(np.float64)
    price = instance.acquisition_cost.astype(np.float64)
    unused = csr_array((1, instance.n_triples))
    return [csr_array(saved[None, :]), unused, csr_array(price[None, :])]


def _path_matrix(instance: PruningInstance) -> csr_array:
    """Row h marks p(h), h included."""
    offsets, ancestors = indexing.ancestor_lists(instance)
    shape = (instance.n_nodes, instance.n_nodes)
    return csr_array((np.ones(ancestors.size), ancestors, offsets), shape=shape)


def _selection(columns: npt.NDArray[np.integer], width: int) -> csr_array:
    """One row for each of `columns`, with a 1 in that column."""
    return csr_array((np.ones(columns.size), columns, np.arange(columns.size + 1)), shape=(columns.size, width))


def _padded(first: csr_array, like: Sequence[csr_array]) -> list[csr_array]:
    """Widen a block of rows by empty blocks to the width of other rows."""
    return [first, *(csr_array((first.shape[0], block.shape[1])) for block in like[1:])]
