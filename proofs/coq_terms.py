"""Instances as Coq terms, for Coq to compare a program's matrix with the matrix of the theorem.

`coq/unimodularity.v` proves that `constraint_matrix` is totally unimodular, entry by entry `coefficient r v` of a row r
and a variable v. `same_matrix` writes an instance and a labelled matrix of IP3 as a Coq file that compiles only if the
rows and columns are those of the theorem, those of units that no node needs apart, and each entry is its coefficient.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

HEADER = """Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program unimodularity.
Import GRing.Theory.
Local Open Scope ring_scope.
"""

_FILE = """
Module Exported{number}.
Section Matrix.

Variable R : realFieldType.

Definition uses : seq (nat * nat * nat * nat) := ([:: {uses}])%N.
Definition exported : instance R := {{|
  trees := {trees}; asks := {asks}; units := {units}; examples := {examples}; error_examples := 1;
  first_use := fun t k i => ohead [seq use.2 | use <- uses & use.1 == (t, k, i)];
  error := fun=> 0; price := fun=> 1; visits := fun=> 0; split_price := 0
|}}.
Definition row_list : seq row := ([:: {rows}])%N.
Definition column_list : seq variable := ([:: {columns}])%N.
Definition needed t k i := first_use exported t k i != None.

Goal uniq (nodes (trees exported)) && all (fun use => use.2 \\in internal_nodes (trees exported)) uses.
Proof. by []. Qed.

Goal perm_eq row_list [seq r <- rows exported | if r is inr (t, k, i) then needed t k i else true].
Proof. by []. Qed.

Goal perm_eq column_list [seq v <- variables exported |
  match v with inl (inl _) => true | inl (inr (t, k, i)) => needed t k i
             | inr (k, i) => has (fun t => needed t k i) (iota 0 (asks exported)) end].
Proof. by []. Qed.

Goal [seq [seq coefficient exported r v | v <- column_list] | r <- row_list] = [:: {matrix}].
Proof. by rewrite /= ?oppr0. Qed.

End Matrix.
End Exported{number}.
"""

_LABEL = re.compile(r"(\w+)\[([\d,]+)\]")
_ROWS = {"one_leaf_per_path": "inl (inl {})", "usage_in_tree": "inl (inr ({}))", "usage_anywhere": "inr ({})"}
_COLUMNS = {"z": "inl (inl {})", "w_tree": "inl (inr ({}))", "w": "inr ({})"}


def same_matrix(
    instance: PruningInstance,
    matrix: Sequence[Sequence[int]],
    row_labels: Iterable[str],
    column_labels: Iterable[str],
    number: int = 0,
) -> str:
    """Write the claim that a matrix of IP3 is the matrix of the theorem, to be compiled after `HEADER`.

    Parameters
    ----------
    instance : PruningInstance
    matrix : sequence of rows
        Entries 0, 1 and -1.
    row_labels, column_labels : iterable of str
        As `formulations.matrix` names them: ``usage_in_tree[t,k,i]``, ``z[h]``.
    number : int, optional
        Of the claim in its file.

    Raises
    ------
    ValueError
        For a label that IP3 does not have.
    """
    internal = instance.internal_nodes.tolist()
    first_use = {}
    for triple, place in enumerate(instance.triple_node.tolist()):
        node, pair = internal[place], int(instance.indices[triple])
        tree = int(instance.tree_offsets.searchsorted(node, side="right")) - 1
        first_use[tree, int(instance.acquisition_unit[pair]), int(instance.acquisition_example[pair])] = node
    rows = [_term(label, _ROWS) for label in row_labels]
    for place, label in enumerate(row_labels):
        if label.startswith("usage_in_tree"):
            rows[place] = f"inl (inr ({_indices(label)}, {first_use[_key(label)]}))"
    entries = "; ".join(f"[:: {'; '.join('- 1' if entry == -1 else str(entry) for entry in row)}]" for row in matrix)
    return _FILE.format(
        number=number,
        uses="; ".join(f"({t}, {k}, {i}, {node})" for (t, k, i), node in first_use.items()),
        trees=_forest(instance),
        asks=instance.n_trees,
        units=instance.n_units,
        examples=instance.n_examples,
        rows="; ".join(rows),
        columns="; ".join(_term(label, _COLUMNS) for label in column_labels),
        matrix=entries,
    )


def _forest(instance: PruningInstance) -> str:
    terms = [""] * instance.n_nodes
    children: list[list[int]] = [[] for _ in terms]
    for node in reversed(range(instance.n_nodes)):
        below = "; ".join(terms[child] for child in reversed(children[node]))
        terms[node] = f"Node {node} [:: {below}]" if below else f"Node {node} [::]"
        if instance.node_parent[node] >= 0:
            children[int(instance.node_parent[node])].append(node)
    return f"([:: {'; '.join(terms[root] for root in instance.tree_offsets[:-1].tolist())}])%N"


def _term(label: str, shapes: dict[str, str]) -> str:
    return shapes[_parts(label, shapes)].format(_indices(label))


def _parts(label: str, shapes: dict[str, str]) -> str:
    found = _LABEL.fullmatch(label)
    if found is None or found[1] not in shapes:
        raise ValueError(f"label: expected one of {', '.join(shapes)} with indices, got {label!r}")
    return found[1]


def _indices(label: str) -> str:
    return label[label.index("[") + 1 : -1].replace(",", ", ")


def _key(label: str) -> tuple[int, int, int]:
    t, k, i = map(int, _indices(label).split(", "))
    return t, k, i
