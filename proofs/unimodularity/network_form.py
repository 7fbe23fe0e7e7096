r"""The row operations of Lemma 3.1 / 4.1: each tree's equality constraints as a shortest-path problem.

Source: BudgetPrune, Lemma 3.1, Figure 1 and appendix 6.2; optimal-pruning paper, Lemma 4.1; both after Sherali, Hobeika
and Jeenanunta, "An Optimal Constrained Pruning Strategy for Decision Trees" (2009), Proposition 3.

Regard :math:`w^{(t)}_{k,i}` as a fictitious last child of the node :math:`u_{t,k,i}`, and write the rows (one for every
leaf, real or fictitious) in pre-order. The leaves below a node are then consecutive rows, so each column is a block of
ones. With the m rows r1, ..., rm the operations

.. math:: -r_1, \quad r_1 - r_2, \quad \dots, \quad r_{m-1} - r_m, \quad r_m

leave in each column one -1, at the block's first row, and one +1, after its last: an arc. The first m operations are a
lower triangular matrix with -1 on the diagonal, hence unimodular; the last row is minus the sum of the others. The
right-hand side (1, ..., 1) becomes (-1, 0, ..., 0, 1): one unit from the first vertex to the last. A path is a pruning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipforest.instance import PruningInstance
from proofs.exact import determinant
from proofs.verdict import Verdict, accept, refuse


@dataclass(frozen=True, slots=True, eq=False)
class NetworkForm:
    """One tree's equality constraints, the row operations, and the network matrix they give.

    Attributes
    ----------
    columns : tuple of str
        Variables: z by node, then w by first use.
    equality : (m, n) int64 ndarray
        The constraints of IP3 that belong to the tree, rows in pre-order.
    operations : (m + 1, m) int64 ndarray
        The row operations; the first m rows are a unimodular matrix.
    network : (m + 1, n) int64 ndarray
        ``operations @ equality``: one -1 and one +1 in each column.
    """

    columns: tuple[str, ...]
    equality: NDArray[np.int64]
    operations: NDArray[np.int64]
    network: NDArray[np.int64]

    @property
    def row_names(self) -> list[str]:
        """Names of the network matrix's rows as the papers print them: -r1, r1-r2, ..., rm."""
        m = self.equality.shape[0]
        return ["-r1", *(f"r{i}-r{i + 1}" for i in range(1, m)), f"r{m}"]

    @property
    def arcs(self) -> list[tuple[int, int]]:
        """Ends of each column's arc: vertices are numbered from 1 as in BudgetPrune's Figure 3."""
        tails, heads = np.argmin(self.network, axis=0) + 1, np.argmax(self.network, axis=0) + 1
        return [(int(tail), int(head)) for tail, head in zip(tails, heads, strict=True)]

    def path(self, active: NDArray[np.bool_]) -> list[int]:
        """Follow the arcs of the active columns from vertex 1 to the last vertex.

        Raises
        ------
        ValueError
            If the columns do not form one path, that is, are no pruning.
        """
        used = [arc for arc, is_used in zip(self.arcs, active, strict=True) if is_used]
        following = dict(used)
        vertices = [1]
        while vertices[-1] in following:
            vertices.append(following[vertices[-1]])
        if len(vertices) != len(used) + 1 or vertices[-1] != self.network.shape[0]:
            raise ValueError(f"active: expected the arcs of a path from 1 to {self.network.shape[0]}, got {used}")
        return vertices

    def check(self) -> Verdict:
        """Recompute the operations, the product, the determinant and the shape of every column."""
        m, n = self.equality.shape
        if self.operations.shape != (m + 1, m) or self.network.shape != (m + 1, n) or len(self.columns) != n:
            return refuse("the shapes do not fit together")
        if not np.array_equal(self.operations @ self.equality, self.network):
            return refuse("the network matrix is not operations @ equality")
        size = determinant(self.operations[:m].tolist())
        if abs(size) != 1:
            return refuse(f"the row operations have determinant {size}")
        if not np.array_equal(self.operations.sum(axis=0), np.zeros(m)):
            return refuse("the last operation is not minus the sum of the others")
        ones, nonzeros = (self.network == 1).sum(axis=0), (self.network != 0).sum(axis=0)
        if not ((ones == 1) & (nonzeros == 2)).all():  # columns sum to 0, as those of the operations do
            return refuse("a column is not one +1 and one -1")
        right = self.operations.sum(axis=1)
        if right[0] != -1 or right[1:-1].any():
            return refuse("the right-hand side is not one unit from the first to the last vertex")
        return accept(f"{m} constraints on {n} variables: a graph of {m + 1} vertices and {n} arcs")


def network_form(instance: PruningInstance, tree: int, node_names: tuple[int, ...] | None = None) -> NetworkForm:
    """Turn one tree's equality constraints into network form.

    Parameters
    ----------
    instance : PruningInstance
    tree : int
        Which tree, from 0.
    node_names : tuple of int, optional
        Numbers to print for the instance's nodes; their indices by default.
    """
    first, last = (int(end) for end in instance.tree_offsets[tree : tree + 2])
    children: dict[int, list[int]] = {node: [] for node in range(first, last)}
    for node in range(first + 1, last):
        children[int(instance.node_parent[node])].append(node)
    inside = (instance.internal_nodes >= first) & (instance.internal_nodes < last)
    internal = np.flatnonzero(inside)
    triples = np.flatnonzero(inside[instance.triple_node])
    place = {int(triple): last - first + position for position, triple in enumerate(triples)}
    uses = {
        int(instance.internal_nodes[row]): list(range(int(instance.indptr[row]), int(instance.indptr[row + 1])))
        for row in internal
    }
    rows: list[list[int]] = []
    stack: list[tuple[int, list[int]]] = [(first, [])]
    while stack:
        node, path = stack.pop()
        if node < 0:  # a fictitious child: triple -1 - node
            rows.append([*path, place[-1 - node]])
            continue
        path = [*path, node - first]
        if not children[node]:
            rows.append(path)
        stack += [(-1 - triple, path) for triple in reversed(uses.get(node, []))]
        stack += [(child, path) for child in reversed(children[node])]
    equality = np.zeros((len(rows), last - first + triples.size), dtype=np.int64)
    for number, columns in enumerate(rows):
        equality[number, columns] = 1
    names = node_names or tuple(range(instance.n_nodes))
    units = instance.acquisition_unit[instance.indices[triples]]
    examples = instance.acquisition_example[instance.indices[triples]]
    labels = [f"z{names[node]}" for node in range(first, last)]
    labels += [f"w{unit},{example + 1}" for unit, example in zip(units, examples, strict=True)]
    operations = operation_matrix(len(rows))
    return NetworkForm(tuple(labels), equality, operations, operations @ equality)


def operation_matrix(m: int) -> NDArray[np.int64]:
    """Return the (m + 1, m) matrix of -r1, r1-r2, ..., r(m-1)-rm, rm."""
    operations = np.zeros((m + 1, m), dtype=np.int64)
    places = np.arange(m)
    operations[places, places] = -1
    operations[places + 1, places] = 1
    return operations


PRINTED_TREE_TWO: dict[str, tuple[int, ...]] = {
    "-r1": (-1, -1, -1, 0, 0, 0, 0, 0, 0),
    "r1-r2": (0, 0, 1, -1, 0, 0, 0, 0, 0),
    "r2-r3": (0, 1, 0, 1, -1, -1, 0, 0, 0),
    "r3-r4": (0, 0, 0, 0, 0, 1, -1, 0, 0),
    "r4-r5": (0, 0, 0, 0, 0, 1, 0, -1),
    "r5-r6": (0, 0, 0, 0, 0, 0, 1, 0),
}
"""The network matrix of tree 2 as it stands in the text of both papers, columns z6..z12, w2,1, w3,1.

The last two rows have eight entries for nine columns, and a seventh row is missing.
"""


def compare_with_print(form: NetworkForm) -> dict[str, str]:
    """Compare tree 2's network matrix with the papers' text, row by row.

    Returns
    -------
    dict
        For each printed row: "equal"; "equal, one 0 lost"; "is rN without its first entry"; or "differs".
    """
    computed = {
        name: tuple(int(entry) for entry in row) for name, row in zip(form.row_names, form.network, strict=True)
    }
    remarks: dict[str, str] = {}
    for name, printed in PRINTED_TREE_TWO.items():
        whole = computed[name]
        lost_zero = any(whole[i] == 0 and whole[:i] + whole[i + 1 :] == printed for i in range(len(whole)))
        other = next((key for key, row in computed.items() if row[1:] == printed and key != name), None)
        if whole == printed:
            remarks[name] = "equal"
        elif lost_zero:
            remarks[name] = "equal, one 0 lost"
        elif other is not None:
            remarks[name] = f"is {other} without its first entry"
        else:
            remarks[name] = "differs"
    return remarks
