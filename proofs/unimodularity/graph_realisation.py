r"""Graph realisation: a tree in which every given set of edges is a path, found column by column in near-linear time.

The method is that of Bixby and Wagner, "An almost linear-time algorithm for graph realization" (1988). What is known
after some columns is kept as the tree of Tutte's 3-connected components of the graph so far, which determines all
realisations: *bonds* (parallel edges), *polygons* (cycles, whose edges may stand in any order) and *rigid* members
(3-connected graphs), glued along pairs of marker edges. A further column asks for an edge that joins the ends of the
path P. In the part of the tree that P touches, from below:

* a member in which P runs from one end of its parent marker to the other is *closed*: its marker stands for the path;
* a member that P enters at one end of the marker and in which P ends is *open*;
* one with both ends of P inside it is *double*: the path must be closed outside it, so the walk goes on from there.

The open members on the way between the two ends of P merge with the topmost one into one rigid member. Polygons and
bonds on that way first put the edges on P, and the others, into members of their own.

**What always holds** between two columns: no two bonds and no two polygons are neighbours, a rigid member is simple
and 3-connected, a polygon or bond has three edges or more, both markers of a pair have one key, and each tree of
members has one root. A path may be refused only because of these: where two parallel edges stand in a rigid member,
the ways to turn what is between them are missed.

**Parallel edges.** Every edge, real or marker, joins two vertices, hence has a path in the tree, and two edges are
parallel iff their paths are equal. A random 64-bit number for each row, summed modulo two along the path, gives each
edge a key; an edge parallel to the new one is found by its key. Keys that coincide by chance could only spoil a
realisation, which is checked afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from ipforest._internal.kernels import inner_njit, njit, with_fields
from ipforest._internal.union_find import find_root

BOND, POLYGON, RIGID = 0, 1, 2
CLOSED, OPEN, DOUBLE, INVALID = 1, 2, 3, 4
NONE, GONE = -1, -2

Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Realisation:
    """A tree on `n_vertices` vertices: row r joins `row_ends[r]`, column c is the path between `column_ends[c]`.

    Attributes
    ----------
    n_vertices : int
    row_ends : (n_rows, 2) int64 ndarray
    column_ends : (n_columns, 2) int64 ndarray
    """

    n_vertices: int
    row_ends: Array
    column_ends: Array


def realise(support: sparse.csc_array) -> Realisation | None:
    """Find a tree with the rows as edges in which the support of each column is a path.

    Parameters
    ----------
    support : (n_rows, n_columns) scipy csc_array
        Only where it has entries matters.

    Returns
    -------
    Realisation or None
        None if there is no such tree: the binary matroid of [I A] is not graphic.

    Raises
    ------
    RuntimeError
        If two keys coincide by chance (less likely than 1 in 10^6 at a million rows).
    """
    rows, columns = support.shape
    indptr, indices = support.indptr.astype(np.int64), support.indices.astype(np.int64)
    keys = np.random.default_rng(0x5EED).integers(1, 1 << 62, size=rows, dtype=np.int64)
    state = _empty_state(rows, columns, indices.size)
    if not _realise(state, indptr, indices, keys):
        return None
    return _glued(state, rows, columns, indptr, indices)


class _State(NamedTuple):
    """Edges 0..rows-1 are rows, then columns, then markers; parts (members), vertices and keys are numbered apart."""

    counts: Array
    edge: Any
    part: Any
    vertex: Any
    row: Any
    slot: Any
    free: Array  # stack of free markers
    queue: Array  # scratch: parts in the order of climbing
    ready: Array  # scratch: parts whose children are all classified


ROWS, COLUMNS, PARTS, VERTICES, FREE, STAMP = range(6)  # places in `counts`

_EDGE = (
    "member",  # its part; find it with _member
    "mate",  # of a marker; NONE for a real edge; GONE for a free marker
    "tail",  # vertices, in rigid parts
    "head",
    "key",
    "path_next",  # the next path edge of the same part
)
_PART = (
    "kind",
    "merged",  # union-find
    "parent",  # the marker in this part whose mate is in the parent; NONE for a root
    "n_edges",  # number of edges of a polygon or bond
    "id_sum",  # sum of their numbers, to know the last one left
    "seen",  # the stamp of the column for which the following hold
    "climbed",
    "last_child",
    "pending",  # children still to be classified
    "n_path",  # path edges, closed children included
    "path_key",
    "path_head",
    "n_open",  # open and double children
    "open_one",
    "open_two",
    "has_double",
    "entry",  # of an open rigid part: the vertex where P enters
    "leave",  # ... where it ends or goes on into the child
)
_VERTEX = ("same", "seen", "degree")
_ROW = ("block", "weight")
_SLOT = ("key", "edge")


def _empty_state(rows: int, columns: int, nonzeros: int) -> _State:
    """Make room for all edges, members and vertices that the columns can need; no member exists yet."""
    n_edges = 6 * (rows + columns) + 64
    n_parts = nonzeros + 6 * columns + 64
    n_vertices = 8 * (nonzeros + rows + columns) + 64
    edge = _records(_EDGE, n_edges)
    edge["member"], edge["mate"] = NONE, GONE
    edge["mate"][: rows + columns] = NONE
    part, vertex = _records(_PART, n_parts), _records(_VERTEX, n_vertices)  # memory is touched as they are numbered
    row = _records(_ROW, rows)
    row["block"], row["weight"] = np.arange(rows), 1
    slot = _records(_SLOT, 1 << int(8 * (rows + columns) + 64).bit_length())
    slot["edge"] = NONE
    free = np.arange(rows + columns, n_edges, dtype=np.int64)[::-1].copy()
    counts = np.array([rows, columns, 0, 0, free.size, 0], dtype=np.int64)
    queue, ready = np.zeros((2, n_parts), dtype=np.int64)
    return _State(counts, edge, part, vertex, row, slot, free, queue, ready)


def _records(names: tuple[str, ...], size: int) -> Any:
    """Make zeroed records with int64 fields of these names."""
    return with_fields(np.zeros(size, dtype=np.dtype([(name, np.int64) for name in names], align=True)))


@njit
def _find_all(up: Array, places: Array) -> Array:
    """Return the roots of many elements of disjoint sets."""
    found = np.empty_like(places)
    for number, place in enumerate(places):
        found[number] = find_root(up, place)
    return found


@njit
def _member(s: _State, edge: int) -> int:
    """Return the member that an edge lies in now, after all merges."""
    return find_root(s.part.merged, s.edge[edge].member)


@inner_njit
def _new_member(s: _State, kind: int) -> int:
    """Begin a member, a root until it is given a parent."""
    member: int = s.counts[PARTS]
    s.counts[PARTS] += 1
    s.part[member].kind, s.part[member].merged, s.part[member].parent = kind, member, NONE
    return member


@inner_njit
def _new_vertex(s: _State) -> int:
    """Begin a vertex of a rigid member."""
    vertex: int = s.counts[VERTICES]
    s.counts[VERTICES] += 1
    s.vertex[vertex].same = vertex
    return vertex


@inner_njit
def _new_marker(s: _State, key: int) -> int:
    """Take a marker off the stack of free ones, without a mate yet."""
    s.counts[FREE] -= 1
    marker: int = s.free[s.counts[FREE]]
    s.edge[marker].mate = NONE
    s.edge[marker].key = key
    return marker


@inner_njit
def _pair(s: _State, one: int, two: int) -> None:
    """Make two markers the two ends of one gluing."""
    s.edge[one].mate = two
    s.edge[two].mate = one


@inner_njit
def _slot(s: _State, key: int) -> int:
    """Where the key is, or the free place where it belongs."""
    mask = s.slot.size - 1
    slot: int = (key ^ (key >> 29)) & mask
    while s.slot[slot].edge != NONE and s.slot[slot].key != key:
        slot = (slot + 1) & mask
    return slot


@inner_njit
def _remember(s: _State, edge: int) -> None:
    """File an edge under its key, in place of one that is parallel."""
    slot = _slot(s, s.edge[edge].key)
    s.slot[slot].key = s.edge[edge].key
    s.slot[slot].edge = edge


@inner_njit
def _forget(s: _State, one: int, two: int) -> None:
    """Take out a pair of markers, moving up what hashed past their place."""
    mask = s.slot.size - 1
    hole = _slot(s, s.edge[one].key)
    if s.slot[hole].edge != one and s.slot[hole].edge != two:
        return
    slot = (hole + 1) & mask
    while s.slot[slot].edge != NONE:
        key = s.slot[slot].key
        home = (key ^ (key >> 29)) & mask
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            s.slot[hole].key = key
            s.slot[hole].edge = s.slot[slot].edge
            hole = slot
        slot = (slot + 1) & mask
    s.slot[hole].edge = NONE


@inner_njit
def _put(s: _State, edge: int, member: int, tail: int, head: int) -> None:
    """Put an edge into a member, between two vertices if that is rigid."""
    s.edge[edge].member = member
    s.edge[edge].tail = tail
    s.edge[edge].head = head
    s.part[member].n_edges += 1
    s.part[member].id_sum += edge


@njit
def _realise(s: _State, indptr: Array, indices: Array, keys: Array) -> bool:
    """Add the columns one by one; return whether all of them are paths."""
    rows, columns = s.counts[ROWS], s.counts[COLUMNS]
    for row in range(rows):
        s.edge[row].key = keys[row]
    part = np.empty(rows, dtype=np.int64)
    roots = np.empty(rows, dtype=np.int64)
    for column in range(columns):
        path = indices[indptr[column] : indptr[column + 1]]
        if path.size >= 2 and not _add_column(s, rows + column, path, part, roots):
            return False
    return True


@inner_njit
def _add_column(s: _State, edge: int, path: Array, part: Array, roots: Array) -> bool:
    """Add a column: one edge in each block that it meets; several blocks, or new rows, join in a polygon."""
    n_new = 0
    n_old = 0
    whole_key = 0
    for row in path:
        whole_key ^= s.edge[row].key
        if s.edge[row].member == NONE:
            n_new += 1
        else:
            part[n_old] = row
            roots[n_old] = find_root(s.row.block, row)
            n_old += 1
    s.edge[edge].key = whole_key
    order = np.argsort(roots[:n_old])
    n_blocks = 0
    for place in range(n_old):
        if place == 0 or roots[order[place]] != roots[order[place - 1]]:
            n_blocks += 1
    if n_blocks == 1 and n_new == 0:
        if not _join_ends(s, part[:n_old], edge):
            return False
        s.row[roots[0]].weight += 1
        return True
    polygon = _new_member(s, POLYGON)
    _put(s, edge, polygon, NONE, NONE)
    largest = NONE
    start = 0
    group = np.empty(n_old, dtype=np.int64)
    while start < n_old:
        block = roots[order[start]]
        stop = start
        key = 0
        while stop < n_old and roots[order[stop]] == block:
            group[stop - start] = part[order[stop]]
            key ^= s.edge[part[order[stop]]].key
            stop += 1
        inside = _new_marker(s, key)
        outside = _new_marker(s, key)
        _pair(s, inside, outside)
        _put(s, outside, polygon, NONE, NONE)
        if not _join_ends(s, group[: stop - start], inside):
            return False
        if largest == NONE:
            largest = block
            s.part[polygon].parent = outside
        elif s.row[block].weight > s.row[largest].weight:
            _reroot(s, s.edge[s.part[polygon].parent].mate)
            s.part[polygon].parent = outside
            largest = block
        else:
            _reroot(s, inside)
        start = stop
    if largest == NONE:
        largest = path[0]
    for row in path:
        if s.edge[row].member == NONE:
            _put(s, row, polygon, NONE, NONE)
            _remember(s, row)
        block = find_root(s.row.block, row)
        if block != largest:
            s.row[block].block = largest
            s.row[largest].weight += s.row[block].weight
    s.row[largest].weight += 1
    _remember(s, edge)
    return True


@inner_njit
def _reroot(s: _State, marker: int) -> None:
    """Make the marker's member the root of its tree, hanging from the marker."""
    while marker != NONE:
        member = _member(s, marker)
        above = s.part[member].parent
        s.part[member].parent = marker
        marker = NONE if above == NONE else s.edge[above].mate


@inner_njit
def _join_ends(s: _State, path: Array, edge: int) -> bool:
    """Add an edge between the ends of a path in one block; return whether it is a path."""
    key = 0
    for row in path:
        key ^= s.edge[row].key
    s.edge[edge].key = key
    parallel = s.slot[_slot(s, key)].edge
    if parallel != NONE:
        _add_parallel(s, parallel, edge)
        return True
    top, n_ready = _touched_part(s, path)
    if not _classify_below(s, top, n_ready):
        return False
    root = _settled_root(s, top)
    if root == NONE:
        return False
    if s.part[root].n_open == 0:
        _close(s, root, edge)
    else:
        _merge(s, root, edge)
    _remember(s, edge)
    return True


@inner_njit
def _add_parallel(s: _State, other: int, edge: int) -> None:
    """Add an edge parallel to another: to the bond next to that one, or to a new bond between it and its member."""
    member = _member(s, other)
    if s.part[member].kind == BOND:
        _put(s, edge, member, NONE, NONE)
        return
    mate = s.edge[other].mate
    if mate == NONE:
        bond = _new_member(s, BOND)
        inside, outside = _new_marker(s, s.edge[other].key), _new_marker(s, s.edge[other].key)
        _pair(s, inside, outside)
        s.edge[outside].member = member
        s.edge[outside].tail, s.edge[outside].head = s.edge[other].tail, s.edge[other].head
        s.part[member].id_sum += outside - other
        s.part[bond].parent = inside
        _put(s, inside, bond, NONE, NONE)
        _put(s, other, bond, NONE, NONE)
        _put(s, edge, bond, NONE, NONE)
        return
    beyond = _member(s, mate)
    if s.part[beyond].kind == BOND:
        _put(s, edge, beyond, NONE, NONE)
        return
    bond = _new_member(s, BOND)
    here, there = _new_marker(s, s.edge[other].key), _new_marker(s, s.edge[other].key)
    _pair(s, other, here)
    _pair(s, mate, there)
    s.part[bond].parent = there if s.part[member].parent == other else here
    _put(s, here, bond, NONE, NONE)
    _put(s, there, bond, NONE, NONE)
    _put(s, edge, bond, NONE, NONE)


@inner_njit
def _visit(s: _State, member: int) -> bool:
    """Reset what is known of a member for this column; return whether that was still to be done."""
    stamp = s.counts[STAMP]
    if s.part[member].seen == stamp:
        return False
    s.part[member].seen = stamp
    s.part[member].pending = 0
    s.part[member].n_path = 0
    s.part[member].path_key = 0
    s.part[member].path_head = NONE
    s.part[member].n_open = 0
    s.part[member].has_double = 0
    s.part[member].climbed = 0
    return True


@inner_njit
def _add_path_edge(s: _State, member: int, edge: int) -> None:
    """Note that an edge of a member, real or the marker of a closed child, is on P."""
    s.edge[edge].path_next = s.part[member].path_head
    s.part[member].path_head = edge
    s.part[member].n_path += 1
    s.part[member].path_key ^= s.edge[edge].key


@inner_njit
def _touched_part(s: _State, path: Array) -> tuple[int, int]:
    """Mark the least subtree that holds all path edges, climbing from each in turn.

    Return its top, and how many of its members have no children in it.
    """
    s.counts[STAMP] += 1
    n_queue = 0
    for row in path:
        member = _member(s, row)
        if _visit(s, member):
            s.queue[n_queue] = member
            n_queue += 1
        _add_path_edge(s, member, row)
    first = s.queue[0]
    fronts = n_queue
    n_ready = 0
    place = 0
    while fronts > 1:
        member = s.queue[place]
        place += 1
        if s.part[member].parent == NONE:
            continue
        s.part[member].climbed = 1
        marker = s.edge[s.part[member].parent].mate
        above = _member(s, marker)
        if _visit(s, above):
            s.queue[n_queue] = above
            n_queue += 1
        else:
            fronts -= 1
        s.part[above].pending += 1
        s.part[above].last_child = marker
    for member in s.queue[:n_queue]:
        if s.part[member].pending == 0:
            s.ready[n_ready] = member
            n_ready += 1
    top = first
    while s.part[top].climbed:
        top = _member(s, s.edge[s.part[top].parent].mate)
    while s.part[top].n_path == 0 and s.part[top].pending == 1:
        top = _member(s, s.edge[s.part[top].last_child].mate)
    return top, n_ready


@inner_njit
def _classify_below(s: _State, top: int, n_ready: int) -> bool:
    """Classify every member below the top, children first, and tell its parent."""
    place = 0
    while place < n_ready:
        member = s.ready[place]
        place += 1
        if member == top:
            continue
        verdict = _classify(s, member)
        if verdict == INVALID:
            return False
        marker = s.edge[s.part[member].parent].mate
        above = _member(s, marker)
        if verdict == CLOSED:
            _add_path_edge(s, above, marker)
        else:
            if s.part[above].n_open == 0:
                s.part[above].open_one = marker
            elif s.part[above].n_open == 1:
                s.part[above].open_two = marker
            else:
                return False
            s.part[above].n_open += 1
            if verdict == DOUBLE:
                s.part[above].has_double = 1
        s.part[above].pending -= 1
        if s.part[above].pending == 0:
            s.ready[n_ready] = above
            n_ready += 1
    return True


@inner_njit
def _classify(s: _State, member: int) -> int:
    """Say how P lies in a member below the top; what is called double is examined once it is the root."""
    if s.part[member].n_open == 2:
        return INVALID if s.part[member].has_double else DOUBLE
    if s.part[member].has_double:
        return DOUBLE
    if s.part[member].kind == POLYGON:
        return CLOSED if s.part[member].n_path == s.part[member].n_edges - 1 else OPEN
    if s.part[member].kind == BOND:
        if s.part[member].n_path > 1:
            return INVALID
        return OPEN if s.part[member].n_open == 1 else CLOSED
    return _classify_rigid(s, member)


@inner_njit
def _classify_rigid(s: _State, member: int) -> int:
    """Say how P lies in a rigid member below the top; for an open one, where P enters and where it leaves."""
    marker = s.part[member].parent
    tail, head = find_root(s.vertex.same, s.edge[marker].tail), find_root(s.vertex.same, s.edge[marker].head)
    one, two, n_ends = _path_ends(s, member)
    if n_ends > 4:
        return INVALID
    if s.part[member].n_open == 0:
        if n_ends > 2:
            return DOUBLE
        if (one == tail and two == head) or (one == head and two == tail):
            return CLOSED
        if one in (tail, head):
            s.part[member].entry, s.part[member].leave = one, two
            return OPEN
        if two in (tail, head):
            s.part[member].entry, s.part[member].leave = two, one
            return OPEN
        return DOUBLE
    child = s.part[member].open_one
    child_tail, child_head = find_root(s.vertex.same, s.edge[child].tail), find_root(s.vertex.same, s.edge[child].head)
    if n_ends > 2:
        return DOUBLE
    if n_ends == 0:
        for vertex in (tail, head):
            if vertex in (child_tail, child_head):
                s.part[member].entry, s.part[member].leave = vertex, vertex
                return OPEN
        return DOUBLE
    if one in (tail, head) and two in (child_tail, child_head):
        s.part[member].entry, s.part[member].leave = one, two
        return OPEN
    if two in (tail, head) and one in (child_tail, child_head):
        s.part[member].entry, s.part[member].leave = two, one
        return OPEN
    return DOUBLE


@inner_njit
def _touch_vertex(s: _State, vertex: int) -> None:
    """Count one more path edge at a vertex."""
    if s.vertex[vertex].seen != s.counts[STAMP]:
        s.vertex[vertex].seen = s.counts[STAMP]
        s.vertex[vertex].degree = 0
    s.vertex[vertex].degree += 1


@inner_njit
def _path_ends(s: _State, member: int) -> tuple[int, int, int]:
    """Return two ends of paths in a rigid member and how many there are (9 where a vertex has three path edges)."""
    edge = s.part[member].path_head
    while edge != NONE:
        for vertex in (s.edge[edge].tail, s.edge[edge].head):
            s.vertex[find_root(s.vertex.same, vertex)].seen = 0
        edge = s.edge[edge].path_next
    edge = s.part[member].path_head
    while edge != NONE:
        tail, head = find_root(s.vertex.same, s.edge[edge].tail), find_root(s.vertex.same, s.edge[edge].head)
        _touch_vertex(s, tail)
        _touch_vertex(s, head)
        if s.vertex[tail].degree > 2 or s.vertex[head].degree > 2:
            return NONE, NONE, 9
        edge = s.edge[edge].path_next
    one, two, n_ends = NONE, NONE, 0
    edge = s.part[member].path_head
    while edge != NONE:
        for vertex in (find_root(s.vertex.same, s.edge[edge].tail), find_root(s.vertex.same, s.edge[edge].head)):
            if s.vertex[vertex].degree == 1:
                n_ends += 1
                two = one
                one = vertex
        edge = s.edge[edge].path_next
    return one, two, n_ends


@inner_njit
def _settled_root(s: _State, top: int) -> int:
    """Go down from the top while P is closed outside the one open child; NONE if P is no path."""
    root = top
    while True:
        if s.part[root].n_open == 2:
            return NONE if s.part[root].has_double or not _joins_two(s, root) else root
        if s.part[root].n_open == 0:
            return root if _is_one_path(s, root) else NONE
        child = s.part[root].open_one
        if _closes(s, root, child):
            root = _member(s, s.edge[child].mate)
            _add_path_edge(s, root, s.part[root].parent)
        else:
            return NONE if s.part[root].has_double or not _joins_one(s, root) else root


@inner_njit
def _closes(s: _State, member: int, child: int) -> bool:
    """Whether the member's path edges run from one end of the child's marker to the other."""
    if s.part[member].kind == BOND:
        return bool(s.part[member].n_path == 1)
    if s.part[member].kind == POLYGON:
        return bool(s.part[member].n_path == s.part[member].n_edges - 1)
    one, two, n_ends = _path_ends(s, member)
    tail, head = find_root(s.vertex.same, s.edge[child].tail), find_root(s.vertex.same, s.edge[child].head)
    return n_ends == 2 and ((one == tail and two == head) or (one == head and two == tail))


@inner_njit
def _is_one_path(s: _State, member: int) -> bool:
    """Whether all of P is one path in the member."""
    if s.part[member].kind == RIGID:
        one, two, n_ends = _path_ends(s, member)
        s.part[member].entry, s.part[member].leave = one, two
        return n_ends == 2
    return bool(s.part[member].kind == POLYGON)


@inner_njit
def _joins_one(s: _State, member: int) -> bool:
    """Whether P runs through the root into its one child; where it begins and goes on."""
    if s.part[member].kind != RIGID:
        return bool(s.part[member].kind == POLYGON)
    child = s.part[member].open_one
    one, two, n_ends = _path_ends(s, member)
    if n_ends != 2:
        return False
    ends = (find_root(s.vertex.same, s.edge[child].tail), find_root(s.vertex.same, s.edge[child].head))
    if one in ends:
        s.part[member].entry, s.part[member].leave = two, one
        return True
    s.part[member].entry, s.part[member].leave = one, two
    return two in ends


@inner_njit
def _joins_two(s: _State, member: int) -> bool:
    """Whether P runs through the root from one child to the other; where it leaves each."""
    if s.part[member].kind == BOND:
        return bool(s.part[member].n_path <= 1)
    if s.part[member].kind == POLYGON:
        return True
    child, other = s.part[member].open_one, s.part[member].open_two
    ends = (find_root(s.vertex.same, s.edge[child].tail), find_root(s.vertex.same, s.edge[child].head))
    far = (find_root(s.vertex.same, s.edge[other].tail), find_root(s.vertex.same, s.edge[other].head))
    one, two, n_ends = _path_ends(s, member)
    if n_ends == 0:
        for vertex in ends:
            if vertex in far:
                s.part[member].entry, s.part[member].leave = vertex, vertex
                return True
        return False
    if n_ends != 2:
        return False
    if one in ends and two in far:
        s.part[member].entry, s.part[member].leave = one, two
        return True
    s.part[member].entry, s.part[member].leave = two, one
    return two in ends and one in far


@njit
def _close(s: _State, root: int, edge: int) -> None:
    """Add the edge where all of P lies in one member: a rigid one takes it, a polygon is cut in two by it."""
    if s.part[root].kind == RIGID:
        _put(s, edge, root, s.part[root].entry, s.part[root].leave)
        return
    bond = _new_member(s, BOND)
    taken = s.part[root].n_path
    taken_ids = _path_ids(s, root)
    in_path = _parent_is_on_path(s, root)
    _put_path(s, root, bond, NONE, NONE, in_path)
    _put_rest(s, root, bond, NONE, NONE, taken, taken_ids, s.edge[edge].key, not in_path)
    _put(s, edge, bond, NONE, NONE)


@inner_njit
def _path_ids(s: _State, member: int) -> int:
    """Sum the numbers of a member's path edges, to know what is left without them."""
    total = 0
    edge = s.part[member].path_head
    while edge != NONE:
        total += edge
        edge = s.edge[edge].path_next
    return total


@inner_njit
def _parent_is_on_path(s: _State, member: int) -> bool:
    """Whether the member's parent marker stands for a part of P."""
    edge = s.part[member].path_head
    while edge != NONE:
        if edge == s.part[member].parent:
            return True
        edge = s.edge[edge].path_next
    return False


@inner_njit
def _put_path(s: _State, member: int, target: int, tail: int, head: int, leads_up: bool) -> None:
    """Move the member's path edges to the target: one edge itself, several as a polygon behind a marker.

    `leads_up` says that the parent of the member lies behind one of them.
    """
    edge = s.part[member].path_head
    if s.part[member].n_path == 1:
        _put(s, edge, target, tail, head)
        if leads_up:
            s.part[target].parent = edge
        _remember(s, edge)
        return
    polygon = _new_member(s, POLYGON)
    inside, outside = _new_marker(s, s.part[member].path_key), _new_marker(s, s.part[member].path_key)
    _pair(s, inside, outside)
    while edge != NONE:
        following = s.edge[edge].path_next
        _put(s, edge, polygon, NONE, NONE)
        edge = following
    _put(s, inside, polygon, NONE, NONE)
    _put(s, outside, target, tail, head)
    if leads_up:
        s.part[polygon].parent = s.part[member].parent
        s.part[target].parent = outside
    else:
        s.part[polygon].parent = inside
    _remember(s, outside)


@inner_njit
def _put_rest(
    s: _State, member: int, target: int, tail: int, head: int, taken: int, taken_ids: int, key: int, leads_up: bool
) -> None:
    """Move to the target what is left of a member once the edges `taken` are gone, several behind a marker."""
    left = s.part[member].n_edges - taken
    left_ids = s.part[member].id_sum - taken_ids
    if left == 0:
        return
    if left == 1:
        s.part[member].n_edges = 0
        _put(s, left_ids, target, tail, head)
        if leads_up:
            s.part[target].parent = left_ids
        _remember(s, left_ids)
        return
    inside, outside = _new_marker(s, key), _new_marker(s, key)
    _pair(s, inside, outside)
    s.part[member].n_edges = left
    s.part[member].id_sum = left_ids
    _put(s, inside, member, NONE, NONE)
    _put(s, outside, target, tail, head)
    if leads_up:
        s.part[target].parent = outside
    else:
        s.part[member].parent = inside
    _remember(s, outside)


@inner_njit
def _merge(s: _State, root: int, edge: int) -> None:
    """Merge the root and the open members below it into one rigid member, and add the edge between the ends of P."""
    rigid = _new_member(s, RIGID)
    child = s.part[root].open_one
    other = s.part[root].open_two if s.part[root].n_open == 2 else NONE
    near, far = s.part[root].entry, s.part[root].leave
    if s.part[root].kind == RIGID:
        s.part[root].merged = rigid
        s.part[rigid].parent = s.part[root].parent
        if other == NONE:
            end = _follow(s, rigid, child, far, _across(s, child, far))
            _put(s, edge, rigid, near, end)
            return
        one = _follow(s, rigid, child, near, _across(s, child, near))
        two = _follow(s, rigid, other, far, _across(s, other, far))
        _put(s, edge, rigid, one, two)
        return
    leads_up = s.part[root].parent != NONE
    opened = child + (other if other != NONE else 0)
    if s.part[root].kind == BOND:
        # what stays of a bond is one edge of the rigid member, with P's edge in it: two would be parallel
        near, far = _new_vertex(s), _new_vertex(s)
        _put_rest(s, root, rigid, near, far, 2, opened, s.edge[child].key, leads_up)
        one = _follow(s, rigid, child, near, far)
        two = _follow(s, rigid, other, far, near) if s.part[root].n_path == 1 else _follow(s, rigid, other, near, far)
        _put(s, edge, rigid, one, two)
        return
    in_path = leads_up and _parent_is_on_path(s, root)
    taken = s.part[root].n_path + s.part[root].n_open
    taken_ids = _path_ids(s, root) + opened
    key = s.edge[child].key ^ s.part[root].path_key ^ (s.edge[other].key if other != NONE else 0)
    near = _new_vertex(s)
    far = near
    if s.part[root].n_path > 0:
        far = _new_vertex(s)
        _put_path(s, root, rigid, near, far, in_path)
    back = _new_vertex(s)
    if other == NONE:
        _put_rest(s, root, rigid, near, back, taken, taken_ids, key, leads_up and not in_path)
        end = _follow(s, rigid, child, far, back)
        _put(s, edge, rigid, near, end)
        return
    forth = back if s.part[root].n_edges == taken else _new_vertex(s)
    _put_rest(s, root, rigid, forth, back, taken, taken_ids, key, leads_up and not in_path)
    one = _follow(s, rigid, child, near, forth)
    two = _follow(s, rigid, other, far, back)
    _put(s, edge, rigid, one, two)


@inner_njit
def _across(s: _State, edge: int, vertex: int) -> int:
    """Return the other end of an edge."""
    tail, head = find_root(s.vertex.same, s.edge[edge].tail), find_root(s.vertex.same, s.edge[edge].head)
    return head if find_root(s.vertex.same, vertex) == tail else tail


@inner_njit
def _follow(s: _State, rigid: int, marker: int, near: int, far: int) -> int:
    """Merge the chain of open members behind a marker, entered at `near`; return the vertex where P ends."""
    while True:
        upward = s.edge[marker].mate
        member = _member(s, upward)
        _forget(s, marker, upward)
        child = s.part[member].open_one if s.part[member].n_open == 1 else NONE
        if s.part[member].kind == RIGID:
            entry, leave = s.part[member].entry, s.part[member].leave
            beyond = _across(s, upward, entry)
            next_far = NONE if child == NONE else _across(s, child, leave)
            s.part[member].merged = rigid
            s.vertex[find_root(s.vertex.same, entry)].same = find_root(s.vertex.same, near)
            s.vertex[find_root(s.vertex.same, beyond)].same = find_root(s.vertex.same, far)
            near, far = leave, next_far
        elif s.part[member].kind == BOND:
            _put_rest(s, member, rigid, near, far, 2, upward + child, s.edge[upward].key, False)
            if s.part[member].n_path == 1:
                near, far = far, near
        else:
            taken = s.part[member].n_path + 1 + s.part[member].n_open
            taken_ids = _path_ids(s, member) + upward + (child if child != NONE else 0)
            key = s.edge[upward].key ^ s.part[member].path_key ^ (s.edge[child].key if child != NONE else 0)
            end = near
            if s.part[member].n_path > 0:
                end = _new_vertex(s)
                _put_path(s, member, rigid, near, end, False)
            back = far if s.part[member].n_edges == taken else _new_vertex(s)
            if child == NONE:
                back = end
            _put_rest(s, member, rigid, back, far, taken, taken_ids, key, False)
            near, far = end, back
        for edge in (marker, upward):
            s.edge[edge].mate = GONE
            s.free[s.counts[FREE]] = edge
            s.counts[FREE] += 1
        if child == NONE:
            return near
        marker = child


def _glued(s: _State, rows: int, columns: int, indptr: Array, indices: Array) -> Realisation:
    """Glue the members along their markers, and read off where the rows and columns end."""
    alive = np.flatnonzero((s.edge["member"] >= 0) & (s.edge["mate"] != GONE))
    vertices, tail, head = _placed(s, alive)
    markers = alive[s.edge["mate"][alive] >= 0]
    joined = sparse.coo_array(
        (
            np.ones(2 * markers.size, dtype=np.int8),
            (
                np.concatenate([tail[markers], head[markers]]),
                np.concatenate([tail[s.edge["mate"][markers]], head[s.edge["mate"][markers]]]),
            ),
        ),
        shape=(vertices, vertices),
    )
    _, label = csgraph.connected_components(joined, directed=False)
    placed = s.edge["member"][: rows + columns] >= 0
    ends = np.zeros((rows + columns, 2), dtype=np.int64)
    ends[placed] = np.stack([label[tail[: rows + columns][placed]], label[head[: rows + columns][placed]]], axis=1)
    used, numbers = np.unique(ends[placed], return_inverse=True)
    ends[placed] = numbers.reshape(-1, 2)
    n_vertices = max(1, used.size)
    ends[placed], n_vertices = _one_tree(ends[placed], n_vertices)
    loose = np.flatnonzero(~placed[:rows])
    ends[loose, 0] = 0
    ends[loose, 1] = n_vertices + np.arange(loose.size)
    single = np.flatnonzero(np.diff(indptr) == 1)
    ends[rows + single] = ends[indices[indptr[single]]]
    return Realisation(n_vertices + loose.size, ends[:rows], ends[rows:])


def _one_tree(ends: Array, n_vertices: int) -> tuple[Array, int]:
    """Identify one vertex of every block with vertex 0, so that the blocks hang together."""
    graph = sparse.coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_vertices,) * 2)
    _, block = csgraph.connected_components(graph, directed=False)
    _, first = np.unique(block, return_index=True)
    number = np.arange(n_vertices)
    number[first] = 0
    kept, inverse = np.unique(number, return_inverse=True)
    return inverse[ends], kept.size


def _placed(s: _State, alive: Array) -> tuple[int, Array, Array]:
    """Give every edge vertices of its own member: polygons in some order, bonds two vertices."""
    member = _find_all(s.part["merged"], s.edge["member"][alive])
    order = np.lexsort((alive, member))
    edges, member = alive[order], member[order]
    start = np.concatenate([[True], member[1:] != member[:-1]]) if member.size else np.zeros(0, dtype=bool)
    begins = np.maximum.accumulate(np.where(start, np.arange(member.size), 0))
    ends = np.append(np.flatnonzero(start)[1:], member.size)[np.cumsum(start) - 1] if member.size else begins
    base = int(s.counts[VERTICES])
    here = np.arange(member.size)
    following = np.where(here + 1 == ends, begins, here + 1)
    kind = s.part["kind"][member]
    own_tail = np.where(kind == POLYGON, base + here, base + begins)
    own_head = np.where(kind == POLYGON, base + following, base + begins + 1)
    rigid = kind == RIGID
    own_tail[rigid] = _find_all(s.vertex["same"], s.edge["tail"][edges[rigid]])
    own_head[rigid] = _find_all(s.vertex["same"], s.edge["head"][edges[rigid]])
    tail, head = np.full(s.edge.size, NONE), np.full(s.edge.size, NONE)
    tail[edges], head[edges] = own_tail, own_head
    return base + member.size + 1, tail, head
