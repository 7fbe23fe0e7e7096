"""The pseudoflow algorithm: exact maximum flow and minimum cut of the closure network, on a forest.

The network (see `ipforest.results.DualFlow`) has few nodes, many acquisitions and very many triples. Its arcs
``h -> parent(h)`` and ``h -> acquisition`` have no capacity, so all arcs that carry flow can be kept in a forest over
nodes and acquisitions, and an arc outside of it is empty: it leads from its node to its acquisition and never back. So
the flow takes memory for nodes and acquisitions only, and a search for a way on reads the rows of nodes; no
index from acquisitions to nodes is needed.

All supplies and all capacities into the sink are taken as used. That leaves an imbalance, and each tree carries those
of its members at its root: it is *strong* when there is excess at its root, and *weak* otherwise. Labels bound from
below how many arcs outside of the forest lead to a weak tree. They never fall within a cut, nor from a vertex to its
children.

1. `load_trees` lists the children of each vertex, scales the flow in the forest, if there is any, and hands imbalances
   to the roots; an arc that would carry less than nothing leaves the forest. `fill_rows` pays for acquisitions that
   are unpaid, and hands what is left to parents.
2. `merge_trees` takes all strong trees of least label. In each, depth-first search from its root, among vertices of the
   root's label, looks for a row that meets a label one lower; helpers (`ipforest.maxflow.shared_search`) search some of
   them meanwhile. There the tree is turned around and hung into the other one, and its excess is sent to the new root;
   where an arc cannot take it back, the rest splits off as a strong tree. A tree that finds nothing is lifted by one
   label. When no vertex has the label below, no strong tree reaches a weak one.
   Which acquisitions may have a label is kept as bits, for each label: an acquisition found to have a larger one is not
   examined again. So an entry of a row takes one look.
   Most acquisitions hang below a node and have nothing below them, nor a row to search: they share the node's label and
   stay out of its list of children as long as this lasts.
3. `return_excess` sends what excess is left back to the supplies that it came from, and `mark_kept` finds the smallest
   source side. `return_deficits` sends deficits back to the capacities. Then the flow is maximum.

Vertex ``h`` is node ``h``, vertex ``n + j`` acquisition ``j``.

Source: Hochbaum, "The pseudoflow algorithm: a new algorithm for the maximum-flow problem" (2008), in its lowest-label
form; Chandran and Hochbaum, "A computational study of the pseudoflow and push-relabel algorithms for the maximum flow
problem" (2009).
"""

from __future__ import annotations

import numpy as np

from ipforest._internal.arrays import Array
from ipforest._internal.intrinsics import fetch_add, load, pause
from ipforest._internal.kernels import inlined, njit, uncounted_njit
from ipforest._internal.union_find import find_root
from ipforest.maxflow.bit_rows import BitRows, bit_of, block_of, first_acquisition, n_blocks, set_blocks
from ipforest.maxflow.network import (
    KEPT,
    MERGERS,
    STOP,
    ClosureProblem,
    Lambda,
    Members,
    Network,
    Payments,
    ResidualTrees,
)
from ipforest.maxflow.shared_search import (
    DISMISSED,
    FINISHED,
    HELPERS,
    LIMIT,
    MAX_LABELS,
    NO_TICKET,
    SharedSearch,
    hand_out,
    take_ticket,
)

NO_VERTEX = -1


@inlined
def _points_up(parent: Array, vertex: int, above: int) -> bool:
    """Return whether the arc between a vertex and the one above it in its tree leads up, and so has no capacity."""
    return vertex < parent.size and (above >= parent.size or parent[vertex] == above)


@inlined
def _link(vertices: Array, v: int, above: int) -> None:
    """Put a vertex into the list of another's children."""
    first = vertices[above].first_child
    vertices[v].next_child = first
    vertices[v].previous_child = NO_VERTEX
    if first >= 0:
        vertices[first].previous_child = v
    vertices[above].first_child = v


@inlined
def _unlink(vertices: Array, v: int) -> None:
    """Take a vertex out of the list of children that it is in."""
    after, before = vertices[v].next_child, vertices[v].previous_child
    if before >= 0:
        vertices[before].next_child = after
    else:
        vertices[vertices[v].above].first_child = after
    if after >= 0:
        vertices[after].previous_child = before


@inlined
def _hang(vertices: Array, v: int, above: int, amount: int) -> None:
    """Hang a root below another vertex."""
    vertices[v].above = above
    vertices[v].flow = amount
    _link(vertices, v, above)


@inlined
def _detach(vertices: Array, v: int) -> None:
    """Make a vertex with its subtree a tree of its own; the flow between it and the one above is forgotten."""
    _unlink(vertices, v)
    vertices[v].above = NO_VERTEX
    vertices[v].flow = 0


@inlined
def _hang_head_first(vertices: Array, v: int, target: int, amount: int) -> None:
    """Turn a tree around, so that a vertex of it is its root, and hang it below a vertex of another tree."""
    while v >= 0:
        above, flow_above = vertices[v].above, vertices[v].flow
        if above >= 0:
            _detach(vertices, v)
        _hang(vertices, v, target, amount)
        v, target, amount = int(above), v, flow_above


@inlined
def _send_up(parent: Array, vertices: Array, v: int, amount: int) -> int:
    """Send an amount (negative: take it) to the vertex above as far as their arc allows; return what was sent.

    Where the arc does not allow all of it, the vertex is detached.
    """
    above, flow = vertices[v].above, vertices[v].flow
    sign = 1 if _points_up(parent, v, above) else -1
    sent = amount if flow + sign * amount >= 0 else -sign * flow
    if sent == amount:
        vertices[v].flow = flow + sign * sent
    else:
        _detach(vertices, v)
    return int(sent)


@inlined
def _hand_to_root(parent: Array, vertices: Array, imbalance: Array, root: int) -> None:
    """Hand all imbalances of a tree to its root, children first."""
    v = int(root)
    vertices[v].scan = vertices[v].first_child
    while v >= 0:
        child = vertices[v].scan
        if child >= 0:
            vertices[v].scan = vertices[child].next_child
            v = int(child)
            vertices[v].scan = vertices[v].first_child
            continue
        above = vertices[v].above
        if above >= 0 and imbalance[v] != 0:
            sent = _send_up(parent, vertices, v, imbalance[v])
            imbalance[v] -= sent
            imbalance[above] += sent
        v = int(above)


@inlined
def _pay(trees: ResidualTrees, n: int, v: int, h: int, price: int) -> None:
    """Let a node pay for an acquisition without children, which shares its label and stays out of its list."""
    trees.vertices[v].above = h
    trees.vertices[v].flow = price
    trees.imbalance[v] = 0
    trees.imbalance[h] -= price
    trees.guide[v - n] = h


@inlined
def _rescale(parent: Array, vertices: Array, imbalance: Array, v: int, flow_scale: float) -> None:
    """Scale the flow between a vertex and the one above it, if there is one, and list the vertex among its children."""
    above = vertices[v].above
    if above >= 0:
        amount = int(vertices[v].flow * flow_scale)
        vertices[v].flow = amount
        sent = amount if _points_up(parent, v, above) else -amount
        imbalance[v] -= sent
        imbalance[above] += sent
        _link(vertices, v, above)


@uncounted_njit
def load_trees(problem: ClosureProblem, trees: ResidualTrees, members: Members, lam: Lambda, flow_scale: float) -> None:
    """Set supplies and capacities for lambda, scale the flow, and hand what does not fit to the roots.

    Lists of children are made anew, ascending, as rows lie in memory. A node that pays for an acquisition without
    children pays all that it costs now.
    """
    parent, gain, split_cost, cost = problem.parent, problem.gain, problem.split_cost, problem.cost
    vertices, imbalance = trees.vertices, trees.imbalance
    n = problem.parent.size
    nodes, acquisitions = members
    for i in range(nodes.size):
        h = nodes[i]
        imbalance[h] = lam.q * gain[h] - lam.p * split_cost[h]
        trees.next_entry[h] = problem.rows.start[h]
        vertices[h].first_child = NO_VERTEX
    for i in range(acquisitions.size):
        v = n + acquisitions[i]
        imbalance[v] = -lam.p * cost[v - n]
        vertices[v].first_child = NO_VERTEX
        trees.guide[v - n] = v
    # backwards, because the last one that is linked comes first in its parent's list: lists ascend
    for i in range(nodes.size - 1, -1, -1):
        _rescale(parent, vertices, imbalance, nodes[i], flow_scale)
    for i in range(acquisitions.size - 1, -1, -1):
        v = n + acquisitions[i]
        if vertices[v].above >= 0 and vertices[v].first_child < 0:
            _pay(trees, n, v, vertices[v].above, -imbalance[v])
        else:
            _rescale(parent, vertices, imbalance, v, flow_scale)
    for i in range(nodes.size):
        if vertices[nodes[i]].above < 0 and vertices[nodes[i]].first_child >= 0:
            _hand_to_root(parent, vertices, imbalance, nodes[i])
    for i in range(acquisitions.size):
        if vertices[n + acquisitions[i]].above < 0 and vertices[n + acquisitions[i]].first_child >= 0:
            _hand_to_root(parent, vertices, imbalance, n + acquisitions[i])


@inlined
def _mark_unpaid(trees: ResidualTrees, n: int, acquisitions: Array, unpaid: Array) -> None:
    """Set the bits of the acquisitions that are unpaid."""
    set_blocks(unpaid, acquisitions, 0)
    for i in range(acquisitions.size):
        j = acquisitions[i]
        vertex = trees.vertices[n + j]
        if trees.imbalance[n + j] < 0 and vertex.above < 0 and vertex.first_child < 0:
            unpaid[block_of(j)] |= bit_of(j)


@inlined
def _fill_row(problem: ClosureProblem, trees: ResidualTrees, unpaid: Array, h: int, excess: int) -> int:
    """Let a root pay for the acquisitions of its row that are still unpaid; return what is left of its excess."""
    rows, vertices, imbalance, n = problem.rows, trees.vertices, trees.imbalance, problem.parent.size
    x = rows.start[h]
    while x < rows.end[h] and excess > 0:
        block = rows.block[x]
        found = rows.bits[x] & unpaid[block]
        while found != 0 and excess > 0:
            j = first_acquisition(block, found)
            v, room = n + j, -imbalance[n + j]
            found ^= bit_of(j)
            unpaid[block] ^= bit_of(j)
            if excess < room:
                imbalance[v] += excess
                _hang(vertices, h, v, excess)
                excess = 0
            else:
                excess -= room
                _pay(trees, n, v, h, room)
        x += 1
    return excess


@uncounted_njit
def fill_rows(problem: ClosureProblem, trees: ResidualTrees, members: Members, unpaid: Array) -> None:
    """Let each root with excess pay for acquisitions that are still unpaid, and hand the rest to its parent.

    Children come before their parents, so what a node cannot use reaches the acquisitions of all nodes above it. A cut
    without flow to start from then needs about half as many mergers. ``unpaid`` is scratch, int64, an entry for each
    block.
    """
    parent, vertices, imbalance = problem.parent, trees.vertices, trees.imbalance
    nodes, acquisitions = members
    _mark_unpaid(trees, parent.size, acquisitions, unpaid)
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        if imbalance[h] <= 0 or vertices[h].above >= 0:
            continue
        excess = _fill_row(problem, trees, unpaid, h, imbalance[h])
        above = parent[h]
        if excess > 0 and above >= 0 and vertices[above].above < 0:
            imbalance[above] += excess
            _hang(vertices, h, above, excess)
            excess = 0
        imbalance[h] = excess


@inlined
def _note_root(vertices: Array, roots: Array, v: int, label: int) -> None:
    """Note a strong tree among those of its label."""
    vertices[v].next_root = roots[label]
    roots[label] = v


@inlined
def _label_first(trees: ResidualTrees, v: int, roots: Array, count: Array) -> None:
    """Label a vertex 0 at the root of a weak tree and 1 elsewhere; note strong trees."""
    vertices, labels = trees.vertices, trees.labels
    is_root = vertices[v].above < 0
    label = 0 if is_root and trees.imbalance[v] <= 0 else 1
    labels[v] = label
    count[label] += 1
    if is_root and label == 1:
        _note_root(vertices, roots, v, label)


@inlined
def _follow(vertices: Array, guide: Array, n: int, v: int) -> None:
    """Let an acquisition without children share the label of the node above it."""
    guide[v - n] = vertices[v].above
    _unlink(vertices, v)


@inlined
def _stop_following(vertices: Array, labels: Array, guide: Array, n: int, v: int, count: Array) -> None:
    """Give an acquisition a label of its own, as it is about to have a child."""
    if v >= n and guide[v - n] != v:
        label = max(labels[guide[v - n]], 1)
        labels[v] = label
        count[label] += 1
        guide[v - n] = v
        _link(vertices, v, vertices[v].above)


@inlined
def _find_in_row(rows: BitRows, trees: ResidualTrees, candidates: Array, v: int, wanted: int) -> int:
    """Return an acquisition of a node's row that has the wanted label, from where the search has come to, if there is.

    The label is the least that there can be. Any other acquisition has a larger label and is no candidate any more.
    """
    labels, guide, next_entry = trees.labels, trees.guide, trees.next_entry
    row = min(wanted, MAX_LABELS)
    x, found = next_entry[v], NO_VERTEX
    while x < rows.end[v]:
        block = rows.block[x]
        left = rows.bits[x] & candidates[row, block]
        higher = np.int64(0)
        while left != 0 and found < 0:
            j = first_acquisition(block, left)
            if labels[guide[j]] == wanted:
                found = j
            else:
                higher |= bit_of(j)
                left ^= bit_of(j)
        if higher != 0 and wanted < MAX_LABELS:
            candidates[row, block] &= ~higher
        if found >= 0:
            break
        x += 1
    next_entry[v] = x
    return found


@inlined
def _lift_if_alone(vertices: Array, labels: Array, guide: Array, n: int, v: int, count: Array) -> bool:
    """Move on to the next child of a vertex's own label; lift the vertex by one, and say so, when there is none."""
    label, child = labels[v], vertices[v].scan
    while child >= 0:
        following = vertices[child].next_child
        if labels[child] == label:
            if child < n or vertices[child].first_child >= 0:
                break
            count[label] -= 1
            _follow(vertices, guide, n, child)
        child = following
    vertices[v].scan = child
    if child < 0:
        count[label] -= 1
        count[label + 1] += 1
        labels[v] = label + 1
    return bool(child < 0)


@uncounted_njit
def _search(
    problem: ClosureProblem, trees: ResidualTrees, candidates: Array, root: int, count: Array
) -> tuple[int, int]:
    """Search a tree for an arc to a label below the root's, and lift what was searched in vain.

    Returns
    -------
    vertex, lower : int
        The ends of the arc; `NO_VERTEX` when the whole tree was lifted.
    """
    parent, rows, vertices, labels, guide = problem.parent, problem.rows, trees.vertices, trees.labels, trees.guide
    n, wanted, v = parent.size, labels[root] - 1, int(root)
    entered = True
    while v >= 0:
        if entered:
            vertices[v].scan = vertices[v].first_child
        if entered and v < n:
            above = parent[v]
            if above >= 0 and labels[above] == wanted:
                return v, int(above)
            j = _find_in_row(rows, trees, candidates, v, wanted)
            if j >= 0:
                return v, int(n + j)
        if _lift_if_alone(vertices, labels, guide, n, v, count) and v < n:
            trees.next_entry[v] = rows.start[v]
        child = vertices[v].scan
        entered = child >= 0
        if entered:
            vertices[v].scan = vertices[child].next_child
            v = int(child)
        else:
            v = int(vertices[v].above)
    return NO_VERTEX, NO_VERTEX


@uncounted_njit
def _search_one(
    problem: ClosureProblem, trees: ResidualTrees, search: SharedSearch, i: int, signals: Array, count: Array
) -> None:
    """Search a tree of a round, unless all cuts are to stop, and note what was found."""
    v, lower = NO_VERTEX, NO_VERTEX
    if signals[STOP] == 0:
        v, lower = _search(problem, trees, search.candidates, search.ways[i, 0], count)
    search.ways[i, 1], search.ways[i, 2] = v, lower


@uncounted_njit
def _search_some(
    problem: ClosureProblem, trees: ResidualTrees, search: SharedSearch, signals: Array, count: Array
) -> None:
    """Search one tree of a round after another until all are taken."""
    i = take_ticket(search.board)
    while i != NO_TICKET:
        _search_one(problem, trees, search, i, signals, count)
        fetch_add(search.board, FINISHED, 1)
        i = take_ticket(search.board)


@uncounted_njit
def _search_all(
    problem: ClosureProblem,
    trees: ResidualTrees,
    search: SharedSearch,
    signals: Array,
    roots: Array,
    label: int,
    count: Array,
) -> int:
    """Search all strong trees of the least label, with helpers, if there are any; return their number.

    Whatever the order, each search finds the same: it lifts vertices of its own tree, which have that label, and looks
    for the label below, which no strong tree has. Where a label is read while it is lifted, neither value is the one
    looked for. ``search.ways`` receives root and both ends of the arc for each tree, `NO_VERTEX` for those that found
    none.
    """
    board, size = search.board, 0
    root = roots[label]
    roots[label] = NO_VERTEX
    while root >= 0:
        search.ways[size, 0] = root
        root = trees.vertices[root].next_root
        size += 1
    if board[HELPERS] == 0 or size == 1:
        for i in range(size):
            _search_one(problem, trees, search, i, signals, count)
        return size
    hand_out(board, size)
    _search_some(problem, trees, search, signals, count)
    while load(board, FINISHED) < size:
        pause()
    for helper in range(board[HELPERS]):
        for changed in range(label, label + 2):
            count[changed] += search.changes[helper, changed]
            search.changes[helper, changed] = 0
    return size


@njit
def help_searching(network: Network, search: SharedSearch, number: int) -> None:
    """Search trees of each round, while another thread merges them, until helpers are to leave.

    Parameters
    ----------
    network : Network
    search : SharedSearch
    number : int
        Which of the helpers this one is, from 0.
    """
    board, seen = search.board, 0
    while load(board, DISMISSED) == 0:
        pause()
        limit = load(board, LIMIT)
        if limit > seen:
            seen = limit
            _search_some(network.problem, network.trees, search, network.signals, search.changes[number])


@uncounted_njit
def _send_excess(parent: Array, trees: ResidualTrees, start: int, roots: Array, count: Array) -> int:
    """Send the excess of a vertex up to the root of its tree; what an arc cannot take back splits off.

    Returns
    -------
    int
        The least label of the strong trees that came of it.
    """
    vertices, labels, imbalance = trees.vertices, trees.labels, trees.imbalance
    v, least, excess = int(start), KEPT, imbalance[start]
    imbalance[start] = 0
    while vertices[v].above >= 0 and excess > 0:
        above = int(vertices[v].above)
        sent = _send_up(parent, vertices, v, excess)
        if sent < excess:
            imbalance[v] = excess - sent
            least = min(least, int(labels[v]))
            _note_root(vertices, roots, v, labels[v])
        v, excess = above, sent
    if excess > 0:
        was_strong = imbalance[v] > 0
        imbalance[v] += excess
        if imbalance[v] > 0 and not was_strong:
            if labels[v] == 0:
                count[0] -= 1
                count[1] += 1
                labels[v] = 1
            least = min(least, int(labels[v]))
            _note_root(vertices, roots, v, labels[v])
    return least


@inlined
def _mark_candidates(trees: ResidualTrees, wanted: int, acquisitions: Array, candidates: Array) -> None:
    """Set the bits of the acquisitions that have a label, or a smaller one; of all in the row for all other labels."""
    labels, guide, row = trees.labels, trees.guide, candidates[wanted]
    largest = wanted if wanted < MAX_LABELS else KEPT
    i = 0
    while i < acquisitions.size:
        block, bits = block_of(acquisitions[i]), np.int64(0)
        while i < acquisitions.size and block_of(acquisitions[i]) == block:
            j = acquisitions[i]
            if labels[guide[j]] <= largest:
                bits |= bit_of(j)
            i += 1
        row[block] = bits


@uncounted_njit
def merge_trees(
    problem: ClosureProblem,
    trees: ResidualTrees,
    members: Members,
    search: SharedSearch,
    signals: Array,
    roots: Array,
    count: Array,
) -> tuple[int, bool]:
    """Merge strong trees with others until none reaches a weak one; return how often, and whether that was the end.

    Scratch, int32, two longer than the subproblem has vertices: ``roots`` lists strong trees by label, and ``count``
    counts vertices by label.
    """
    parent, vertices, labels, guide = problem.parent, trees.vertices, trees.labels, trees.guide
    nodes, acquisitions = members
    n, size = parent.size, nodes.size + acquisitions.size
    for label in range(size + 2):
        roots[label] = NO_VERTEX
        count[label] = 0
    for i in range(nodes.size):
        _label_first(trees, nodes[i], roots, count)
    for i in range(acquisitions.size):
        v = n + acquisitions[i]
        if guide[v - n] == v and vertices[v].above >= 0 and vertices[v].first_child < 0:
            _follow(vertices, guide, n, v)
        if guide[v - n] != v:
            labels[v] = 0
        else:
            _label_first(trees, v, roots, count)
    n_mergers, label, n_labels = 0, 1, 0
    is_whole = False
    # No strong tree has a label below `label`, and labels never fall; each strong tree is listed once, under the label
    # of its root. count[l] is the number of vertices of label l, without acquisitions that share that of the node above
    # them. candidates[l] has at least all acquisitions of label l, for l < n_labels.
    while signals[STOP] == 0 and not is_whole:
        while label < size + 2 and roots[label] < 0:
            label += 1
        is_whole = label == size + 2 or count[label - 1] == 0
        if not is_whole:
            while n_labels < min(label, MAX_LABELS + 1):
                _mark_candidates(trees, n_labels, acquisitions, search.candidates)
                n_labels += 1
            n_searched = _search_all(problem, trees, search, signals, roots, label, count)
            # trees are merged in the order in which they were listed, so threads change no result
            for i in range(n_searched):
                root, v, lower = search.ways[i, 0], search.ways[i, 1], search.ways[i, 2]
                if v < 0:
                    _note_root(vertices, roots, root, labels[root])
                    continue
                _stop_following(vertices, labels, guide, n, lower, count)
                _hang_head_first(vertices, v, lower, 0)
                n_mergers += 1
                signals[MERGERS] += 1
                label = min(label, _send_excess(parent, trees, root, roots, count))
    return n_mergers, is_whole


@inlined
def _is_overdrawn(problem: ClosureProblem, imbalance: Array, h: int, lam: Lambda) -> bool:
    """Return whether a node has a greater deficit than its own arcs to the sink have capacity."""
    return bool(imbalance[h] < min(lam.q * problem.gain[h] - lam.p * problem.split_cost[h], 0))


@inlined
def _return_from(problem: ClosureProblem, vertices: Array, imbalance: Array, root: int, lam: Lambda) -> None:
    """Send the excess of a root back to the supplies it came from, or its deficit to the capacities it came from."""
    parent, gain, split_cost, cost = problem.parent, problem.gain, problem.split_cost, problem.cost
    n = parent.size
    excess = imbalance[root] > 0
    sign = 1 if excess else -1
    pending = int(root)
    vertices[root].next_root = NO_VERTEX
    # vertices that may have more than their own arcs hold are linked by `next_root` from `pending`, each once
    while pending >= 0:
        v = pending
        pending = int(vertices[v].next_root)
        own = lam.q * gain[v] - lam.p * split_cost[v] if v < n else -lam.p * cost[v - n]
        over = sign * imbalance[v] - max(sign * own, 0)
        child = vertices[v].first_child
        while child >= 0 and over > 0:
            if _points_up(parent, child, v) == excess and vertices[child].flow > 0:
                taken = min(over, vertices[child].flow)
                over -= taken
                imbalance[v] -= sign * taken
                vertices[child].flow -= taken
                imbalance[child] += sign * taken
                vertices[child].next_root = pending
                pending = int(child)
            child = vertices[child].next_child


@uncounted_njit
def return_excess(problem: ClosureProblem, trees: ResidualTrees, members: Members, lam: Lambda) -> None:
    """Send excess back to the supplies that it came from.

    After it the imbalance of a node of a strong tree is what its arc from the source does not carry, or, if negative,
    what its arcs to the sink can still take.
    """
    vertices, imbalance, n = trees.vertices, trees.imbalance, problem.parent.size
    nodes, acquisitions = members
    for i in range(nodes.size):
        if vertices[nodes[i]].above < 0 and imbalance[nodes[i]] > 0:
            _return_from(problem, vertices, imbalance, nodes[i], lam)
    for i in range(acquisitions.size):
        if vertices[n + acquisitions[i]].above < 0 and imbalance[n + acquisitions[i]] > 0:
            _return_from(problem, vertices, imbalance, n + acquisitions[i], lam)


@uncounted_njit
def return_deficits(problem: ClosureProblem, trees: ResidualTrees, members: Members, lam: Lambda) -> None:
    """Give up flow to the sink where weak trees have more deficit than capacities that are not used: a flow is left.

    After it the imbalance of any node is as `return_excess` says, and that of an acquisition is what it can still take,
    negative.
    """
    vertices, imbalance, guide, n = trees.vertices, trees.imbalance, trees.guide, problem.parent.size
    nodes, acquisitions = members
    first = 0
    while first < nodes.size and not _is_overdrawn(problem, imbalance, nodes[first], lam):
        first += 1
    if first == nodes.size:
        return
    for i in range(acquisitions.size):
        v = n + acquisitions[i]
        if guide[v - n] != v:
            _link(vertices, v, vertices[v].above)
    for i in range(first, nodes.size):
        if _is_overdrawn(problem, imbalance, nodes[i], lam):
            _return_from(problem, vertices, imbalance, nodes[i], lam)


@inlined
def _reach_node(labels: Array, h: int, turn: int, stack: Array, depth: int) -> int:
    """Keep a node; it is put on the stack unless its turn is yet to come."""
    if labels[h] != KEPT:
        labels[h] = KEPT
        if h < turn:
            stack[depth] = h
            depth += 1
    return depth


@inlined
def _reach_row(rows: BitRows, labels: Array, n: int, h: int, unreached: Array, stack: Array, depth: int) -> int:
    """Keep the acquisitions of a row that were not reached before, and put them on the stack."""
    for x in range(rows.start[h], rows.end[h]):
        block = rows.block[x]
        found = rows.bits[x] & unreached[block]
        unreached[block] ^= found
        while found != 0:
            j = first_acquisition(block, found)
            found ^= bit_of(j)
            labels[n + j] = KEPT
            stack[depth] = n + j
            depth += 1
    return depth


@uncounted_njit
def mark_kept(problem: ClosureProblem, trees: ResidualTrees, members: Members, stack: Array, unreached: Array) -> int:
    """Give the label `KEPT` to the smallest source side of the minimum cut: all that is reachable from what is unused.

    Nodes are searched from in their order, as far as possible: rows that lie side by side meet the same acquisitions.

    Parameters
    ----------
    problem : ClosureProblem
    trees : ResidualTrees
    members : Members
    stack : int32
        Scratch, of at least as many entries as the subproblem has vertices.
    unreached : int64 (number of blocks,)
        Scratch.

    Returns
    -------
    int
        Number of nodes kept.
    """
    parent, vertices, labels, n = problem.parent, trees.vertices, trees.labels, problem.parent.size
    nodes, acquisitions = members
    n_kept = 0
    set_blocks(unreached, acquisitions, -1)
    for i in range(acquisitions.size):
        labels[n + acquisitions[i]] = 0
    for i in range(nodes.size):
        labels[nodes[i]] = KEPT if trees.imbalance[nodes[i]] > 0 else 0
    # All on the stack is kept and not yet searched from; a kept node after `turn` is not on it, as its turn will come.
    # Each vertex is put there once, when it gets its label.
    for i in range(nodes.size):
        turn = nodes[i]
        stack[0] = turn
        depth = 1 if labels[turn] == KEPT else 0
        while depth > 0:
            depth -= 1
            v = stack[depth]
            if v < n:
                n_kept += 1
                if parent[v] >= 0:
                    depth = _reach_node(labels, parent[v], turn, stack, depth)
                depth = _reach_row(problem.rows, labels, n, v, unreached, stack, depth)
            above = vertices[v].above
            if 0 <= above < n and vertices[v].flow > 0 and not _points_up(parent, v, above):
                depth = _reach_node(labels, above, turn, stack, depth)
            child = vertices[v].first_child
            while child >= 0:
                if child < n and vertices[child].flow > 0 and _points_up(parent, child, v):
                    depth = _reach_node(labels, child, turn, stack, depth)
                child = vertices[child].next_child
    return n_kept


@inlined
def cut(
    network: Network, members: Members, search: SharedSearch, lam: Lambda, flow_scale: float
) -> tuple[int, int, bool]:
    """Find a maximum flow of a subproblem at lambda and its smallest minimum cut, from its flow times `flow_scale`.

    Returns
    -------
    n_kept : int
        How many nodes are kept; they and their acquisitions get the label `KEPT`.
    n_mergers : int
    is_whole : bool
        False when a signal stopped it; then nothing is kept, and the trees carry what flow was found.
    """
    problem, trees = network.problem, network.trees
    size = members.nodes.size + members.acquisitions.size + 2
    roots, count = np.empty(size, np.int32), np.empty(size, np.int32)
    marks = np.empty(n_blocks(problem.cost.size), np.int64)
    load_trees(problem, trees, members, lam, flow_scale)
    fill_rows(problem, trees, members, marks)
    n_mergers, is_whole = merge_trees(problem, trees, members, search, network.signals, roots, count)
    n_kept = 0
    if is_whole:
        return_excess(problem, trees, members, lam)
        n_kept = mark_kept(problem, trees, members, roots, marks)
        return_deficits(problem, trees, members, lam)
    return n_kept, n_mergers, is_whole


@njit
def maximum_flow(
    network: Network, members: Members, search: SharedSearch, lam: Lambda, flow_scale: float
) -> tuple[int, int, bool]:
    """Run `cut` by itself."""
    return cut(network, members, search, lam, flow_scale)


@inlined
def _join(vertices: Array, tree: Array, size: Array, a: int, b: int, amount: int) -> None:
    """Join two trees by an arc, the smaller below the larger; leave out an arc within a tree, and one without flow."""
    first, second = find_root(tree, a), find_root(tree, b)
    if amount > 0 and first != second:
        if size[first] > size[second]:
            a, b, first, second = b, a, second, first
        _hang_head_first(vertices, a, b, amount)
        tree[first] = second
        size[second] += size[first]


@njit
def plant(
    problem: ClosureProblem, trees: ResidualTrees, payments: Payments, up: Array, lam: Lambda, flow_scale: float
) -> None:
    """Make trees of any flow on the arcs of the problem, times `flow_scale`: what closes a cycle is left out.

    Parameters
    ----------
    problem : ClosureProblem
    trees : ResidualTrees
        Without arcs.
    payments : Payments
    up : int64 (n,)
        Flow to the parent.
    lam : Lambda
        Of the cut that starts from it: no arc gets more than could come or go there.
    flow_scale : float
    """
    n, vertices = problem.parent.size, trees.vertices
    tree, size = np.arange(vertices.size), np.ones(vertices.size, np.int64)
    supply = np.zeros(n, np.int64)
    last = payments.node.size - 1
    for h in range(n - 1, -1, -1):
        supply[h] += lam.q * max(problem.gain[h], 0)
        while last >= 0 and payments.node[last] == h:
            j = payments.acquisition[last]
            amount = int(min(payments.amount[last] * flow_scale, float(lam.p * problem.cost[j])))
            _join(vertices, tree, size, int(h), int(n + j), amount)
            last -= 1
        above = problem.parent[h]
        if above >= 0:
            supply[above] += supply[h]
            amount = int(min(up[h] * flow_scale, float(supply[h])))
            _join(vertices, tree, size, int(h), int(above), amount)
