"""The loop that grows one tree: open nodes are split until none is worth it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipforest._internal.kernels import inner_njit, njit, uncounted_njit
from ipforest.growing.acquisition import (
    EACH_EXAMPLE,
    ONCE_PER_TREE,
    AcquisitionArrays,
    mark_free,
    mark_units,
    price_features,
    sum_unbought,
)
from ipforest.growing.bundles import Bundles, share_out
from ipforest.growing.codes import CodeArrays
from ipforest.growing.impurities import GRADIENT, impurity_of_set
from ipforest.growing.ordered import CONSTANT, Cut, copy_to
from ipforest.growing.random_numbers import draw_next, mix
from ipforest.growing.splitting import (
    ABSENT,
    TOTAL,
    Criterion,
    Examples,
    Scratch,
    cut_of_feature,
    fill_table,
    total_of_node,
)
from ipforest.growing.splitting import LEFT as SIDE_LEFT

LEAF = -1
NO_LIMIT = -1
PARENT = 2
"""Place of a parent in `Workspace.unbought`."""
TABLE_CODES = 256
"""Sums per code are kept from parent to child for features with at most so many codes."""
RELATIVE_TOLERANCE = 1e-12
"""A reduction of impurity below this share of the node's impurity is rounding."""


class Limits(NamedTuple):
    """Where growing stops, and what a split may look at.

    ``price_weight`` is the lambda of the penalised reduction; ``stop_impurity`` the impurity up to which a node is a
    leaf.
    """

    max_depth: int
    max_leaf_nodes: int
    min_samples_split: int
    min_reduction: float
    stop_impurity: float
    max_features: int
    price_weight: float


class TreeArrays(NamedTuple):
    """A tree as it grows; children are numbered after their parents.

    ``side`` (n_nodes, n_codes) tells where the categories go that a node tests; it is empty without categories.
    """

    parent: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_]
    depth: npt.NDArray[np.int32]
    impurity: npt.NDArray[np.float64]
    statistics: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    start: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    cut_code: npt.NDArray[np.int32]
    merit: npt.NDArray[np.float64]
    table: npt.NDArray[np.int32]
    side: npt.NDArray[np.uint8]


class Tables(NamedTuple):
    """Sums per code of all features with few codes, for the nodes that are still open.

    ``offsets`` (n_features + 1) are rows in a table of shape (n_rows, width); a feature with many codes has none.
    ``of_bundle`` (n_rows, width) is room for the sums of one bundle.
    """

    offsets: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    free: npt.NDArray[np.int32]
    bundles: Bundles
    of_bundle: npt.NDArray[np.float64]


class Workspace(NamedTuple):
    """Working arrays of one tree: prices of features and units, what is free, and features that vary.

    ``unbought`` (3, n_units) has the weights of two nodes to examine, and of their parent, as in `OpenNodes`.
    """

    prices: npt.NDArray[np.float64]
    unit_prices: npt.NDArray[np.float64]
    free: npt.NDArray[np.bool_]
    inherited: npt.NDArray[np.int32]
    here: npt.NDArray[np.int32]
    unbought: npt.NDArray[np.float64]


class OpenNodes(NamedTuple):
    """Nodes whose split is known and not made yet, with the features that vary there.

    ``unbought`` (n_places, n_units) has the weights of their examples that have not bought a unit, where it is priced.
    """

    node: npt.NDArray[np.int32]
    n_varying: npt.NDArray[np.int32]
    varying: npt.NDArray[np.int32]
    unbought: npt.NDArray[np.float64]


@uncounted_njit
def fill_all_tables(
    codes: CodeArrays,
    examples: Examples,
    start: int,
    stop: int,
    statistics: npt.NDArray[np.float64],
    tables: Tables,
    number: int,
) -> None:
    """Sum the statistics of a node's examples per code of each feature that has a table."""
    offsets, sums, bundles = tables.offsets, tables.sums[number], tables.bundles
    for feature in range(offsets.size - 1):
        if offsets[feature + 1] > offsets[feature] and not bundles.is_bundled[feature]:
            fill_table(codes.codes[feature], examples, start, stop, sums[offsets[feature] : offsets[feature + 1]])
    for bundle in range(bundles.first.size - 1):
        of_bundle = tables.of_bundle[: bundles.first[bundle + 1] - bundles.first[bundle] + 1]
        fill_table(bundles.member[bundle], examples, start, stop, of_bundle)
        share_out(bundles, bundle, of_bundle, statistics, offsets, sums)


@uncounted_njit
def sum_statistics(examples: Examples, start: int, stop: int, statistics: npt.NDArray[np.float64]) -> float:
    """Sum the statistics of a node's examples; return their weight."""
    statistics[:] = 0.0
    weight = 0.0
    for j in range(start, stop):
        weight += examples.weight[j]
        if examples.gradient.size > 0:
            statistics[0] += examples.gradient[j]
            statistics[1] += examples.hessian[j]
        else:
            statistics[examples.label[j]] += examples.weight[j]
    statistics[-1] = stop - start
    return weight


@uncounted_njit
def merit_of(criterion: Criterion, reduction: float, price: float, node_impurity: float, limits: Limits) -> float:
    """Compute what is maximised: minus the risk price / reduction, or the reduction less the price.

    A cut that is not worth making has merit minus infinity. One that reduces nothing is worth making only where classes
    are told apart at no price.
    """
    slack = RELATIVE_TOLERANCE * abs(node_impurity)
    if criterion.reduction != TOTAL:
        return -price / reduction if reduction > slack else -np.inf
    merit = reduction - limits.price_weight * price
    if criterion.impurity == GRADIENT:
        return merit if reduction > slack and merit >= limits.min_reduction else -np.inf
    return merit if merit >= limits.min_reduction - slack else -np.inf


@uncounted_njit
def most_reduction(criterion: Criterion, node_impurity: float, node_weight: float) -> float:
    """Bound what a cut can reduce: where impurities are sums of no negative terms, by that of the node."""
    if criterion.reduction != TOTAL or criterion.impurity == GRADIENT:
        return np.inf
    return total_of_node(criterion, node_impurity, node_weight)


@uncounted_njit
def find_split(
    node: int,
    seed: np.uint64,
    codes: CodeArrays,
    examples: Examples,
    criterion: Criterion,
    limits: Limits,
    acquisition: AcquisitionArrays,
    tables: Tables,
    tree: TreeArrays,
    varying: npt.NDArray[np.int32],
    unbought: npt.NDArray[np.float64],
    prices: npt.NDArray[np.float64],
    unit_prices: npt.NDArray[np.float64],
    free: npt.NDArray[np.bool_],
    scratch: Scratch,
) -> int:
    """Find the best test of a node and write it down.

    Among equally good features chance decides, as in scikit-learn; but the first one has it where risk is compared:
    trees that agree in their choice buy less.

    Parameters
    ----------
    varying : ndarray of int32, shape (n,)
        The features that vary above the node; those that vary at the node come to the front.
    unbought : ndarray of float64, shape (n_units,)
        See `ipforest.growing.acquisition.price_features`.
    free : ndarray of bool, shape (n_units,)
        Units that the tree has paid for; written.

    Returns
    -------
    int
        How many features vary at the node; 0 if it has no test.
    """
    start, stop = tree.start[node], tree.stop[node]
    n = stop - start
    node_impurity = tree.impurity[node]
    if n < 2 * criterion.min_samples_leaf:
        return 0
    if n < limits.min_samples_split or (limits.max_depth != NO_LIMIT and tree.depth[node] >= limits.max_depth):
        return 0
    if criterion.impurity != GRADIENT and node_impurity <= limits.stop_impurity:
        return 0
    if criterion.reduction == TOTAL and limits.price_weight == 0.0:
        prices[:] = 0.0
    else:
        mark_free(node, tree.parent, tree.feature, acquisition, free)
        price_features(acquisition, free, unbought, tree.weight[node], unit_prices, prices)
    stream = mix(seed, np.uint64(node))
    is_shuffled = criterion.reduction == TOTAL or limits.max_features < varying.size
    share = 1.0 if criterion.reduction == TOTAL else 1.0 / tree.weight[node]
    most = most_reduction(criterion, node_impurity, tree.weight[node])
    best, best_merit, best_feature = Cut(-np.inf, -1, np.nan, False), -np.inf, -1
    n_varying = 0
    for place in range(varying.size):
        is_tried = place < limits.max_features or best_feature < 0
        if is_tried and is_shuffled:
            draw_next(stream, place, varying)
        feature = varying[place]
        varying[n_varying] = feature
        price = prices[feature] * share
        if not is_tried or merit_of(criterion, most, price, node_impurity, limits) == -np.inf:
            n_varying += 1
            continue
        table = tables.sums[0, :0]
        if tree.table[node] >= 0:
            table = tables.sums[tree.table[node], tables.offsets[feature] : tables.offsets[feature + 1]]
        cut = cut_of_feature(
            feature,
            codes,
            examples,
            start,
            stop,
            criterion,
            tree.statistics[node],
            node_impurity,
            mix(stream, np.uint64(prices.size + feature)),
            table,
            scratch,
        )
        n_varying += cut.code != CONSTANT
        if cut.reduction == -np.inf:
            continue
        merit = merit_of(criterion, cut.reduction, price, node_impurity, limits)
        if merit > best_merit or (merit == best_merit > -np.inf and cut.reduction > best.reduction):
            best, best_merit, best_feature = cut, merit, feature
            if codes.is_category[feature]:
                copy_to(tree.side[node], scratch.side)
    if best_feature < 0:
        return 0
    tree.feature[node] = best_feature
    tree.threshold[node] = best.threshold
    tree.missing_left[node] = best.missing_left
    tree.cut_code[node] = best.code
    tree.merit[node] = best_merit
    if acquisition.charge == ONCE_PER_TREE:
        mark_units(best_feature, acquisition, free)
    return n_varying


@uncounted_njit
def partition(
    code_row: npt.NDArray[np.int64],
    n_codes: int,
    cut_code: int,
    missing_left: bool,
    examples: Examples,
    start: int,
    stop: int,
    spare: Examples,
    side: npt.NDArray[np.uint8],
) -> int:
    """Move the examples that go left to the front, keeping their order; return where the others begin.

    ``side`` tells where each code goes; it is empty where codes are compared with ``cut_code``.
    """
    has_gradient = examples.gradient.size > 0
    front, n_right = start, 0
    for j in range(start, stop):
        row = examples.rows[j]
        code = code_row[row]
        goes_left = missing_left
        if code < n_codes:
            goes_left = side[code] == SIDE_LEFT if side.size > 0 else code <= cut_code
        if goes_left:
            examples.rows[front] = row
            examples.label[front] = examples.label[j]
            examples.weight[front] = examples.weight[j]
            if has_gradient:
                examples.gradient[front] = examples.gradient[j]
                examples.hessian[front] = examples.hessian[j]
            front += 1
        else:
            spare.rows[n_right] = row
            spare.label[n_right] = examples.label[j]
            spare.weight[n_right] = examples.weight[j]
            if has_gradient:
                spare.gradient[n_right] = examples.gradient[j]
                spare.hessian[n_right] = examples.hessian[j]
            n_right += 1
    copy_to(examples.rows[front:stop], spare.rows[:n_right])
    copy_to(examples.label[front:stop], spare.label[:n_right])
    copy_to(examples.weight[front:stop], spare.weight[:n_right])
    if has_gradient:
        copy_to(examples.gradient[front:stop], spare.gradient[:n_right])
        copy_to(examples.hessian[front:stop], spare.hessian[:n_right])
    return front


@uncounted_njit
def has_missing(codes: CodeArrays, feature: int, examples: Examples, start: int, stop: int) -> bool:
    """Return whether a feature is missing for an example of a node."""
    n_codes = codes.offsets[feature + 1] - codes.offsets[feature]
    found = False
    for j in range(start, stop):
        found |= codes.codes[feature, examples.rows[j]] == n_codes
    return found


@uncounted_njit
def add_node(
    node: int, parent: int, start: int, stop: int, examples: Examples, criterion: Criterion, tree: TreeArrays
) -> None:
    """Write down a node that is not split yet."""
    tree.parent[node] = parent
    tree.left[node] = LEAF
    tree.right[node] = LEAF
    tree.feature[node] = LEAF
    tree.threshold[node] = np.nan
    tree.missing_left[node] = False
    tree.depth[node] = 0 if parent < 0 else tree.depth[parent] + 1
    tree.start[node], tree.stop[node] = start, stop
    tree.weight[node] = sum_statistics(examples, start, stop, tree.statistics[node])
    tree.impurity[node] = impurity_of_set(criterion.impurity, criterion.parameters, tree.statistics[node])
    tree.table[node] = -1


@uncounted_njit
def share_tables(
    parent: int,
    left: int,
    right: int,
    codes: CodeArrays,
    examples: Examples,
    tables: Tables,
    n_free: int,
    tree: TreeArrays,
) -> int:
    """Give the children their sums: the smaller by adding up, the larger by subtraction in place of the parent's.

    Returns
    -------
    int
        How many tables are free afterwards.
    """
    inherited = tree.table[parent]
    tree.table[parent] = -1
    if inherited < 0:
        return n_free
    small, large = (
        (left, right) if tree.stop[left] - tree.start[left] <= tree.stop[right] - tree.start[right] else (right, left)
    )
    n_cells = tables.offsets[-1]
    n_tabled = 0
    for feature in range(tables.offsets.size - 1):
        n_tabled += tables.offsets[feature + 1] > tables.offsets[feature]
    width = tables.sums.shape[2]
    if n_free == 0 or (tree.stop[large] - tree.start[large]) * n_tabled < n_cells * width:
        tables.free[n_free] = inherited
        return n_free + 1
    taken = tables.free[n_free - 1]
    n_free -= 1
    fill_all_tables(codes, examples, tree.start[small], tree.stop[small], tree.statistics[small], tables, taken)
    whole = tables.sums[inherited].reshape(n_cells * width)
    part = tables.sums[taken].reshape(n_cells * width)
    for cell in range(whole.size):
        whole[cell] -= part[cell]
    tree.table[large] = inherited
    if (tree.stop[small] - tree.start[small]) * n_tabled < n_cells * width:
        tables.free[n_free] = taken
        n_free += 1
    else:
        tree.table[small] = taken
    return n_free


@uncounted_njit
def _share_unbought(
    start: int,
    middle: int,
    stop: int,
    examples: Examples,
    acquisition: AcquisitionArrays,
    whole: float,
    unbought: npt.NDArray[np.float64],
) -> None:
    """Give both sides of a node their weights: the smaller by adding up, the larger by subtraction.

    What rounding may leave of the ``whole`` weight of a tree is nothing: a unit that all have bought costs exactly 0.
    """
    small, large, first, past = (0, 1, start, middle) if 2 * middle <= start + stop else (1, 0, middle, stop)
    sum_unbought(acquisition, examples.rows[first:past], examples.weight[first:past], unbought[small])
    for unit in range(unbought.shape[1]):
        left = unbought[PARENT, unit] - unbought[small, unit]
        unbought[large, unit] = left if left > RELATIVE_TOLERANCE * whole else 0.0


@uncounted_njit
def next_open(pending: OpenNodes, n_pending: int, by_merit: bool, tree: TreeArrays) -> int:
    """Place of the open node to split next: that of the highest merit, or the smaller of the last pair.

    The smaller first, no more nodes are open at once than the logarithm of the number of examples.
    """
    if by_merit:
        best = 0
        for place in range(1, n_pending):
            if tree.merit[pending.node[place]] > tree.merit[pending.node[best]]:
                best = place
        return best
    last = n_pending - 1
    if n_pending > 1:
        node, other = pending.node[last], pending.node[last - 1]
        if (
            tree.parent[node] == tree.parent[other]
            and tree.stop[other] - tree.start[other] < tree.stop[node] - tree.start[node]
        ):
            return last - 1
    return last


class Targets(NamedTuple):
    """What trees are grown for; of labels or gradients one is empty.

    ``label`` (n_samples,) is the same for all trees, ``weight`` (1 or n_trees, n_samples) perhaps, ``gradient`` and
    ``hessian`` (n_trees, n_samples), for weight 1, are each tree's own.
    """

    label: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    gradient: npt.NDArray[np.float64]
    hessian: npt.NDArray[np.float64]


@njit
def grow_trees(
    seeds: npt.NDArray[np.uint64],
    codes: CodeArrays,
    X: npt.NDArray[np.float32],
    targets: Targets,
    criterion: Criterion,
    limits: Limits,
    acquisition: AcquisitionArrays,
    bought: npt.NDArray[np.bool_],
    tables: Tables,
    examples: Examples,
    spare: Examples,
    pending: OpenNodes,
    scratch: Scratch,
    trees: TreeArrays,
    offsets: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int32],
) -> None:
    """Grow trees one after another; where each example buys for itself, what it bought is its own in those that follow.

    Parameters
    ----------
    seeds : ndarray of uint64, shape (n_trees,)
    codes : CodeArrays
    X : ndarray of float32, shape (n_samples, n_features) or (0, 0)
        Values under the codes, by which examples go down that a tree is not grown on; without them they stay where they
        are and buy nothing.
    targets : Targets
    criterion : Criterion
    limits : Limits
    acquisition : AcquisitionArrays
    bought : ndarray of bool, shape (n_samples, n_units)
        What ``acquisition`` reads, to be written; anything where examples do not buy for themselves.
    tables : Tables
    examples, spare : Examples
        As many as one tree has at most, overwritten.
    pending : OpenNodes
        Overwritten.
    scratch : Scratch
    trees : TreeArrays
        Written, one tree after another.
    offsets : ndarray of int64, shape (n_trees + 1,)
        Where each tree starts; the first is 0, the others are written.
    ends : ndarray of int32, shape (n_trees, n_samples)
        The leaf of each example, -1 where it is not known; written.
    """
    n_features, n_units = codes.codes.shape[0], acquisition.unit_costs.size
    work = Workspace(
        np.empty(n_features),
        np.empty(n_units),
        np.zeros(n_units, dtype=np.bool_),
        np.arange(n_features, dtype=np.int32),
        np.empty(n_features, dtype=np.int32),
        np.zeros((3, n_units)),
    )
    for turn in range(seeds.size):
        n = _take_examples(turn, targets, examples)
        here = _first_examples(examples, n)
        tree = _nodes_from(trees, offsets[turn])
        work.free[:] = False
        for feature in range(n_features):
            work.inherited[feature] = feature
        n_nodes = _grow(
            seeds[turn], codes, here, spare, criterion, limits, acquisition, tables, tree, pending, scratch, work
        )
        offsets[turn + 1] = offsets[turn] + n_nodes
        _note_ends(n_nodes, codes, X, here.rows, tree, ends[turn])
        if acquisition.sharing == EACH_EXAMPLE:
            _buy_for_examples(ends[turn], acquisition, tree, bought)
        if criterion.is_variance:
            _note_variances(n_nodes, here, tree)


@uncounted_njit
def _take_examples(turn: int, targets: Targets, examples: Examples) -> int:
    """Gather the examples of positive weight for a tree; return their number."""
    weight = targets.weight[min(turn, targets.weight.shape[0] - 1)]
    has_gradient = targets.label.size == 0
    n = 0
    for i in range(weight.size):
        if weight[i] == 0.0:
            continue
        examples.rows[n] = i
        examples.weight[n] = weight[i]
        if has_gradient:
            examples.label[n] = 0
            examples.gradient[n] = targets.gradient[turn, i] * weight[i]
            examples.hessian[n] = targets.hessian[turn, i] * weight[i]
        else:
            examples.label[n] = targets.label[i]
        n += 1
    return n


@inner_njit
def _first_examples(examples: Examples, n: int) -> Examples:
    """View the first examples."""
    return Examples(
        examples.rows[:n], examples.label[:n], examples.weight[:n], examples.gradient[:n], examples.hessian[:n]
    )


@inner_njit
def _nodes_from(trees: TreeArrays, first: int) -> TreeArrays:
    """View the nodes from one on."""
    return TreeArrays(
        trees.parent[first:],
        trees.left[first:],
        trees.right[first:],
        trees.feature[first:],
        trees.threshold[first:],
        trees.missing_left[first:],
        trees.depth[first:],
        trees.impurity[first:],
        trees.statistics[first:],
        trees.weight[first:],
        trees.start[first:],
        trees.stop[first:],
        trees.cut_code[first:],
        trees.merit[first:],
        trees.table[first:],
        trees.side[first:],
    )


@uncounted_njit
def _note_ends(
    n_nodes: int,
    codes: CodeArrays,
    X: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int32],
    tree: TreeArrays,
    ends: npt.NDArray[np.int32],
) -> None:
    """Write down the leaf of each example; those of a node stand together once a tree is grown."""
    ends[:] = LEAF
    for node in range(n_nodes):
        if tree.left[node] == LEAF:
            for place in range(tree.start[node], tree.stop[node]):
                ends[rows[place]] = node
    for i in range(X.shape[0]):
        if ends[i] == LEAF:
            node = 0
            while tree.left[node] != LEAF:
                node = tree.left[node] if _goes_left(codes, X, i, tree, node) else tree.right[node]
            ends[i] = node


@uncounted_njit
def _goes_left(codes: CodeArrays, X: npt.NDArray[np.float32], i: int, tree: TreeArrays, node: int) -> bool:
    """Tell where a test sends an example; a category that no example of the node has goes where missing values go."""
    feature = tree.feature[node]
    code = np.int64(codes.codes[feature, i])
    if code == codes.offsets[feature + 1] - codes.offsets[feature]:
        return bool(tree.missing_left[node])
    if not codes.is_category[feature]:
        return bool(X[i, feature] <= tree.threshold[node])
    side = tree.side[node, code]
    return bool(tree.missing_left[node] if side == ABSENT else side == SIDE_LEFT)


@uncounted_njit
def _buy_for_examples(
    ends: npt.NDArray[np.int32], acquisition: AcquisitionArrays, tree: TreeArrays, bought: npt.NDArray[np.bool_]
) -> None:
    """Note as bought what examples need on the way to their leaves."""
    for i in range(ends.size):
        if ends[i] == LEAF:
            continue
        node = tree.parent[ends[i]]
        while node >= 0:
            mark_units(tree.feature[node], acquisition, bought[i])
            node = tree.parent[node]


@uncounted_njit
def _note_variances(n_nodes: int, examples: Examples, tree: TreeArrays) -> None:
    """Give nodes the variance of their targets as impurity; gradients are weighted distances from the mean of all."""
    for node in range(n_nodes):
        squares = 0.0
        for place in range(tree.start[node], tree.stop[node]):
            squares += examples.gradient[place] ** 2 / examples.weight[place]
        mean = tree.statistics[node, 0] / tree.weight[node]
        tree.impurity[node] = max(squares / tree.weight[node] - mean * mean, 0.0)


@uncounted_njit
def _grow(
    seed: np.uint64,
    codes: CodeArrays,
    examples: Examples,
    spare: Examples,
    criterion: Criterion,
    limits: Limits,
    acquisition: AcquisitionArrays,
    tables: Tables,
    tree: TreeArrays,
    pending: OpenNodes,
    scratch: Scratch,
    work: Workspace,
) -> int:
    """Grow a tree in memory that is there, and return the number of its nodes; see `grow_trees`."""
    prices, unit_prices, free, inherited, here, unbought = work
    prices_each = acquisition.sharing == EACH_EXAMPLE and not (
        criterion.reduction == TOTAL and limits.price_weight == 0.0
    )
    n_inherited = inherited.size
    n_free = tables.free.size
    for place in range(n_free):
        tables.free[place] = place
    add_node(0, -1, 0, examples.rows.size, examples, criterion, tree)
    if n_free > 0:
        n_free -= 1
        tree.table[0] = tables.free[n_free]
        fill_all_tables(codes, examples, 0, examples.rows.size, tree.statistics[0], tables, tree.table[0])
    if prices_each:
        sum_unbought(acquisition, examples.rows, examples.weight, unbought[0])
    n_nodes, n_leaves, n_examined, n_pending = 1, 1, 0, 0
    while True:
        for node in range(n_examined, n_nodes):
            copy_to(here, inherited[:n_inherited])
            n_varying = find_split(
                node,
                seed,
                codes,
                examples,
                criterion,
                limits,
                acquisition,
                tables,
                tree,
                here[:n_inherited],
                unbought[node - n_examined],
                prices,
                unit_prices,
                free,
                scratch,
            )
            if n_varying > 0:
                pending.node[n_pending] = node
                pending.n_varying[n_pending] = n_varying
                copy_to(pending.varying[n_pending], here[:n_varying])
                if prices_each:
                    copy_to(pending.unbought[n_pending], unbought[node - n_examined])
                n_pending += 1
            elif tree.table[node] >= 0:
                tables.free[n_free] = tree.table[node]
                tree.table[node] = -1
                n_free += 1
        if n_pending == 0 or n_leaves == limits.max_leaf_nodes:
            break
        place = next_open(pending, n_pending, limits.max_leaf_nodes != NO_LIMIT, tree)
        n_examined = n_nodes
        node = pending.node[place]
        n_inherited = pending.n_varying[place]
        copy_to(inherited, pending.varying[place, :n_inherited])
        n_pending -= 1
        if prices_each:
            copy_to(unbought[PARENT], pending.unbought[place])
            copy_to(pending.unbought[place], pending.unbought[n_pending])
        pending.node[place] = pending.node[n_pending]
        pending.n_varying[place] = pending.n_varying[n_pending]
        copy_to(pending.varying[place], pending.varying[n_pending, : pending.n_varying[n_pending]])
        feature = tree.feature[node]
        start, stop = tree.start[node], tree.stop[node]
        middle = partition(
            codes.codes[feature],
            codes.offsets[feature + 1] - codes.offsets[feature],
            tree.cut_code[node],
            tree.missing_left[node],
            examples,
            start,
            stop,
            spare,
            tree.side[node] if codes.is_category[feature] else tree.side[node, :0],
        )
        if not has_missing(codes, feature, examples, start, stop):
            tree.missing_left[node] = 2 * middle > start + stop
        left, right = n_nodes, n_nodes + 1
        n_nodes += 2
        n_leaves += 1
        tree.left[node], tree.right[node] = left, right
        add_node(left, node, start, middle, examples, criterion, tree)
        add_node(right, node, middle, stop, examples, criterion, tree)
        if n_leaves == limits.max_leaf_nodes:
            break
        n_free = share_tables(node, left, right, codes, examples, tables, n_free, tree)
        if prices_each:
            _share_unbought(start, middle, stop, examples, acquisition, tree.weight[0], unbought)
    for place in range(n_pending):
        tree.feature[pending.node[place]] = LEAF
    return n_nodes
