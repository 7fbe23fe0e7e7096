"""The pseudoflow algorithm: exact maximum flow and minimum cut of the closure network, on a forest.

The network (see `ipforest.results.DualFlow`) has few nodes, many acquisitions and very many triples. Its arcs
``h -> parent(h)`` and ``h -> acquisition`` have no capacity, so all arcs that carry flow can be kept in a forest over
nodes and acquisitions, and an arc outside of it is empty: it leads from its node to its acquisition and never back. So
the flow takes memory for nodes and acquisitions only, and whoever looks for a way on reads the rows of nodes; nobody
needs to know who meets an acquisition.

All supplies and all capacities into the sink are taken as used. That leaves an imbalance, and each tree carries those
of its members at its root: it is *strong* when there is excess at its root, and *weak* otherwise. Labels bound from
below how many arcs outside of the forest lead to a weak tree. They never fall within a cut, nor from a vertex to its
children.

1. `load_trees` scales the flow in the forest, if there is any, and hands imbalances to the roots; an arc that would
   carry less than nothing leaves the forest. `fill_rows` pays for acquisitions that nobody pays for.
2. `merge_trees` takes a strong tree of least label. Depth-first search from its root, among vertices of the root's
   label, looks for a row that meets a label one lower. There the tree is turned around and hung into the other one, and
   its excess is sent to the new root; where an arc cannot take it back, the rest splits off as a strong tree. A tree
   that finds nothing is lifted by one label. When no vertex has the label below, no strong tree reaches a weak one.
   Most acquisitions hang below a node and have nothing below them, nor a row to search: they share the node's label and
   stay out of its list of children as long as this lasts.
3. `return_imbalances` sends what excess is left back to the supplies that it came from, and deficits to the capacities.
   Then the flow is maximum, and `mark_kept` finds the smallest source side.

Vertex ``h`` is node ``h``, vertex ``n + j`` acquisition ``j``.

Source: Hochbaum, "The pseudoflow algorithm: a new algorithm for the maximum-flow problem" (2008), in its lowest-label
form; Chandran and Hochbaum, "A computational study of the pseudoflow and push-relabel algorithms for the maximum flow
problem" (2009).
"""

from __future__ import annotations

import numpy as np

from ipforest._arrays import Array
from ipforest._numba import inlined, inner_njit, njit
from ipforest._union_find import find_root
from ipforest.maxflow.network import KEPT, MERGERS, STOP, Lambda, Network, Part, Problem, Trees

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
def detach(vertices: Array, v: int) -> None:
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
            detach(vertices, v)
        _hang(vertices, v, target, amount)
        v, target, amount = int(above), v, flow_above


@inlined
def _hand_up(parent: Array, vertices: Array, v: int) -> None:
    """Hand the imbalance of a vertex to the one above as far as their arc allows; detach it where it does not."""
    above, amount, imbalance = vertices[v].above, vertices[v].flow, vertices[v].imbalance
    sign = 1 if _points_up(parent, v, above) else -1
    handed = imbalance if amount + sign * imbalance >= 0 else -sign * amount
    vertices[above].imbalance += handed
    vertices[v].imbalance = imbalance - handed
    vertices[v].flow = amount + sign * handed
    if handed != imbalance:
        detach(vertices, v)


@inlined
def _hand_to_root(parent: Array, vertices: Array, root: int) -> None:
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
        if above >= 0 and vertices[v].imbalance != 0:
            _hand_up(parent, vertices, v)
        v = int(above)


@inlined
def _rescale(parent: Array, vertices: Array, v: int, flow_scale: float) -> None:
    above = vertices[v].above
    if above >= 0:
        amount = int(vertices[v].flow * flow_scale)
        vertices[v].flow = amount
        sent = amount if _points_up(parent, v, above) else -amount
        vertices[v].imbalance -= sent
        vertices[above].imbalance += sent


@inner_njit
def load_trees(problem: Problem, trees: Trees, part: Part, lam: Lambda, flow_scale: float) -> None:
    """Set supplies and capacities for lambda, scale the flow, and hand what does not fit to the roots."""
    parent, gain, split_cost, cost = problem.parent, problem.gain, problem.split_cost, problem.cost
    vertices, next_triple, n = trees.vertices, trees.next_triple, problem.parent.size
    nodes, acquisitions = part
    for i in range(nodes.size):
        h = nodes[i]
        vertices[h].imbalance = lam.q * gain[h] - lam.p * split_cost[h]
        next_triple[h] = problem.row_start[h]
    for i in range(acquisitions.size):
        vertices[n + acquisitions[i]].imbalance = -lam.p * cost[acquisitions[i]]
    for i in range(nodes.size):
        _rescale(parent, vertices, nodes[i], flow_scale)
    for i in range(acquisitions.size):
        _rescale(parent, vertices, n + acquisitions[i], flow_scale)
    for i in range(nodes.size):
        if vertices[nodes[i]].above < 0:
            _hand_to_root(parent, vertices, nodes[i])
    for i in range(acquisitions.size):
        if vertices[n + acquisitions[i]].above < 0:
            _hand_to_root(parent, vertices, n + acquisitions[i])


@inner_njit
def fill_rows(problem: Problem, trees: Trees, nodes: Array) -> None:
    """Let each root with excess, children of the forest first, pay for acquisitions that nobody pays for yet."""
    row_start, row_end, indices = problem.row_start, problem.row_end, problem.indices
    vertices, n = trees.vertices, problem.parent.size
    for i in range(nodes.size - 1, -1, -1):
        h = nodes[i]
        excess = vertices[h].imbalance
        if excess <= 0 or vertices[h].above >= 0:
            continue
        for x in range(row_start[h], row_end[h]):
            v = n + indices[x]
            room = -vertices[v].imbalance
            if room <= 0 or vertices[v].above >= 0 or vertices[v].first_child >= 0:
                continue
            if excess < room:
                vertices[v].imbalance += excess
                _hang(vertices, h, v, excess)
                excess = 0
                break
            excess -= room
            vertices[v].imbalance = 0
            _hang(vertices, v, h, room)
        vertices[h].imbalance = excess


@inlined
def _note_root(vertices: Array, roots: Array, v: int, label: int) -> None:
    """Note a strong tree among those of its label."""
    vertices[v].next_root = roots[label]
    roots[label] = v


@inlined
def _label_first(vertices: Array, labels: Array, v: int, roots: Array, count: Array) -> None:
    """Label a vertex 0 at the root of a weak tree and 1 elsewhere; note strong trees."""
    is_root = vertices[v].above < 0
    label = 0 if is_root and vertices[v].imbalance <= 0 else 1
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


@inner_njit
def _search(problem: Problem, trees: Trees, root: int, count: Array) -> tuple[int, int]:
    """Search a tree for an arc to a label below the root's, and lift what was searched in vain.

    Returns
    -------
    vertex, lower : int
        The ends of the arc; `NO_VERTEX` when the whole tree was lifted.
    """
    parent, row_start, row_end, indices = problem.parent, problem.row_start, problem.row_end, problem.indices
    vertices, labels, guide, next_triple = trees.vertices, trees.labels, trees.guide, trees.next_triple
    n, wanted, v = parent.size, labels[root] - 1, int(root)
    entered = True
    while v >= 0:
        if entered:
            vertices[v].scan = vertices[v].first_child
        if entered and v < n:
            above = parent[v]
            if above >= 0 and labels[above] == wanted:
                return v, int(above)
            x, end = next_triple[v], row_end[v]
            while x < end and labels[guide[indices[x]]] != wanted:
                x += 1
            next_triple[v] = x
            if x < end:
                return v, int(n + indices[x])
        if _lift_if_alone(vertices, labels, guide, n, v, count) and v < n:
            next_triple[v] = row_start[v]
        child = vertices[v].scan
        entered = child >= 0
        if entered:
            vertices[v].scan = vertices[child].next_child
            v = int(child)
        else:
            v = int(vertices[v].above)
    return NO_VERTEX, NO_VERTEX


@inner_njit
def _send_excess(parent: Array, vertices: Array, labels: Array, start: int, roots: Array, count: Array) -> int:
    """Send the excess of a vertex up to the root of its tree; what an arc cannot take back splits off.

    Returns
    -------
    int
        The least label of the strong trees that came of it.
    """
    v, least, was_strong = int(start), KEPT, False
    while vertices[v].above >= 0 and vertices[v].imbalance > 0:
        above = vertices[v].above
        was_strong = vertices[above].imbalance > 0
        _hand_up(parent, vertices, v)
        if vertices[v].above < 0:
            least = min(least, int(labels[v]))
            _note_root(vertices, roots, v, labels[v])
        v = int(above)
    if vertices[v].above < 0 and vertices[v].imbalance > 0 and not was_strong:
        if labels[v] == 0:
            count[0] -= 1
            count[1] += 1
            labels[v] = 1
        least = min(least, int(labels[v]))
        _note_root(vertices, roots, v, labels[v])
    return least


@inner_njit
def merge_trees(problem: Problem, trees: Trees, part: Part, signals: Array) -> tuple[int, bool]:
    """Merge strong trees with others until none reaches a weak one; return how often, and whether that was the end."""
    parent, vertices, labels, guide = problem.parent, trees.vertices, trees.labels, trees.guide
    nodes, acquisitions = part
    n, size = parent.size, nodes.size + acquisitions.size
    roots, count = np.full(size + 2, NO_VERTEX, np.int32), np.zeros(size + 2, np.int32)
    for i in range(nodes.size):
        _label_first(vertices, labels, nodes[i], roots, count)
    for i in range(acquisitions.size):
        v = n + acquisitions[i]
        guide[v - n] = v
        if vertices[v].above >= 0 and vertices[v].first_child < 0:
            _follow(vertices, guide, n, v)
        else:
            _label_first(vertices, labels, v, roots, count)
    n_mergers, label = 0, 1
    is_whole = False
    while signals[STOP] == 0 and not is_whole:
        while label < size + 2 and roots[label] < 0:
            label += 1
        is_whole = label == size + 2 or count[label - 1] == 0
        if not is_whole:
            root = roots[label]
            roots[label] = vertices[root].next_root
            v, lower = _search(problem, trees, root, count)
            if v >= 0:
                _stop_following(vertices, labels, guide, n, lower, count)
                _hang_head_first(vertices, v, lower, 0)
                n_mergers += 1
                signals[MERGERS] += 1
                label = min(label, _send_excess(parent, vertices, labels, root, roots, count))
            else:
                _note_root(vertices, roots, root, labels[root])
    for i in range(acquisitions.size):
        v = n + acquisitions[i]
        if guide[v - n] != v:
            _link(vertices, v, vertices[v].above)
    return n_mergers, is_whole


@inlined
def _return_from(problem: Problem, vertices: Array, root: int, lam: Lambda) -> None:
    """Send the excess of a root back to the supplies it came from, or its deficit to the capacities it came from."""
    parent, gain, split_cost, cost = problem.parent, problem.gain, problem.split_cost, problem.cost
    n = parent.size
    excess = vertices[root].imbalance > 0
    sign = 1 if excess else -1
    pending = int(root)
    vertices[root].next_root = NO_VERTEX
    while pending >= 0:
        v = pending
        pending = int(vertices[v].next_root)
        own = lam.q * gain[v] - lam.p * split_cost[v] if v < n else -lam.p * cost[v - n]
        over = sign * vertices[v].imbalance - max(sign * own, 0)
        child = vertices[v].first_child
        while child >= 0 and over > 0:
            if _points_up(parent, child, v) == excess and vertices[child].flow > 0:
                taken = min(over, vertices[child].flow)
                over -= taken
                vertices[v].imbalance -= sign * taken
                vertices[child].flow -= taken
                vertices[child].imbalance += sign * taken
                vertices[child].next_root = pending
                pending = int(child)
            child = vertices[child].next_child


@inner_njit
def return_imbalances(problem: Problem, trees: Trees, part: Part, lam: Lambda) -> None:
    """Turn the pseudoflow into a maximum flow.

    After it the imbalance of a node is what its arc from the source does not carry, or, if negative, what its arcs to
    the sink can still take; that of an acquisition is what it can still take, negative.
    """
    vertices, n = trees.vertices, problem.parent.size
    nodes, acquisitions = part
    for i in range(nodes.size):
        if vertices[nodes[i]].above < 0:
            _return_from(problem, vertices, nodes[i], lam)
    for i in range(acquisitions.size):
        if vertices[n + acquisitions[i]].above < 0:
            _return_from(problem, vertices, n + acquisitions[i], lam)


@inlined
def _reach(labels: Array, v: int, stack: Array, depth: int) -> int:
    if labels[v] != KEPT:
        labels[v] = KEPT
        stack[depth] = v
        depth += 1
    return depth


@inner_njit
def mark_kept(problem: Problem, trees: Trees, part: Part) -> int:
    """Give the label `KEPT` to the smallest source side of the minimum cut: all that is reachable from what is unused.

    Returns
    -------
    int
        Number of nodes kept.
    """
    parent, row_start, row_end, indices = problem.parent, problem.row_start, problem.row_end, problem.indices
    vertices, labels, n = trees.vertices, trees.labels, problem.parent.size
    nodes, acquisitions = part
    stack, depth, n_kept = np.empty(nodes.size + acquisitions.size, np.int32), 0, 0
    for i in range(acquisitions.size):
        labels[n + acquisitions[i]] = 0
    for i in range(nodes.size):
        labels[nodes[i]] = 0
    for i in range(nodes.size):
        if vertices[nodes[i]].imbalance > 0:
            depth = _reach(labels, nodes[i], stack, depth)
    while depth > 0:
        depth -= 1
        v = stack[depth]
        if v < n:
            n_kept += 1
            if parent[v] >= 0:
                depth = _reach(labels, parent[v], stack, depth)
            for x in range(row_start[v], row_end[v]):
                depth = _reach(labels, n + indices[x], stack, depth)
        above = vertices[v].above
        if above >= 0 and vertices[v].flow > 0 and not _points_up(parent, v, above):
            depth = _reach(labels, above, stack, depth)
        child = vertices[v].first_child
        while child >= 0:
            if vertices[child].flow > 0 and _points_up(parent, child, v):
                depth = _reach(labels, child, stack, depth)
            child = vertices[child].next_child
    return n_kept


@inlined
def cut(network: Network, part: Part, lam: Lambda, flow_scale: float) -> tuple[int, int, bool]:
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
    load_trees(problem, trees, part, lam, flow_scale)
    fill_rows(problem, trees, part.nodes)
    n_mergers, is_whole = merge_trees(problem, trees, part, network.signals)
    n_kept = 0
    if is_whole:
        return_imbalances(problem, trees, part, lam)
        n_kept = mark_kept(problem, trees, part)
    return n_kept, n_mergers, is_whole


@njit
def maximum_flow(network: Network, part: Part, lam: Lambda) -> int:
    """As `cut`, from the flow as it is, of a network that nobody stops; return the number of mergers."""
    return cut(network, part, lam, 1.0)[1]


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
def plant(problem: Problem, trees: Trees, triple: Array, up: Array, lam: Lambda, flow_scale: float) -> None:
    """Make trees of any flow on the arcs of the problem, times `flow_scale`: what closes a cycle is left out.

    Parameters
    ----------
    problem : Problem
    trees : Trees
        Without arcs.
    triple : int64 (n_triples,)
    up : int64 (n,)
        Flow to the parent.
    lam : Lambda
        Of the cut that starts from it: no arc gets more than could come or go there.
    flow_scale : float
    """
    n, vertices = problem.parent.size, trees.vertices
    tree, size = np.arange(vertices.size), np.ones(vertices.size, np.int64)
    supply = np.zeros(n, np.int64)
    for h in range(n - 1, -1, -1):
        supply[h] += lam.q * max(problem.gain[h], 0)
        for x in range(problem.row_start[h], problem.row_end[h]):
            j = problem.indices[x]
            amount = int(min(triple[x] * flow_scale, float(lam.p * problem.cost[j])))
            _join(vertices, tree, size, int(h), int(n + j), amount)
        above = problem.parent[h]
        if above >= 0:
            supply[above] += supply[h]
            amount = int(min(up[h] * flow_scale, float(supply[h])))
            _join(vertices, tree, size, int(h), int(above), amount)
