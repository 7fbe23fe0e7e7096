"""The best cut of one feature at one node.

The examples of the node, ordered by the feature's code, are gathered into *runs*: one per code that occurs, with the
summed statistics of its examples. Cuts lie between runs. Statistics are the weight of each class, or the sums of
gradients and Hessians; the last entry counts examples.
"""

from __future__ import annotations

from math import floor, frexp, ldexp
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ipforest._internal.kernels import uncounted_njit
from ipforest.growing.codes import CodeArrays
from ipforest.growing.impurities import GINI, GRADIENT, impurity_of_set, set_weight
from ipforest.growing.ordered import (
    CONSTANT,
    Cut,
    copy_to,
    gini_cut_in_order,
    gini_cut_of_table,
    gradient_cut_in_order,
    gradient_cut_of_table,
    keys_in_order,
    midway,
    second_order_reduction,
    sort_few,
)
from ipforest.growing.random_numbers import mix, uniform

MINIMAX, EXPECTED, TOTAL = range(3)
MAX_DRAWS = 80
ROUNDED_PARTS = 16
"""Of a gap between values; thresholds that are drawn there are rounded to these or to up to twice as many."""
LEFT, RIGHT, ABSENT = range(3)
"""Where a category goes; one that no example of the node has goes where missing values go."""
LUCK = 2 / np.pi
"""What the best set of many categories gains by chance, for each category, in units of what two categories do.

Means that are nothing but noise, cut at their middle, leave so much of their spread between both sides."""
COUNTED_CELLS = 8
"""Examples are counted per code, not sorted, if there are at most so many table cells per example."""
CELLS_OF_GINI = 2
"""The same where cuts are found in one walk by the Gini index, for which sorting is quicker."""


class Examples(NamedTuple):
    """The examples that a tree is grown on, those of a node next to each other.

    ``gradient`` and ``hessian`` are empty where classes are told apart.
    """

    rows: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    gradient: npt.NDArray[np.float64]
    hessian: npt.NDArray[np.float64]


class Criterion(NamedTuple):
    """How cuts are judged.

    ``reduction`` is one of `MINIMAX` (impurity less that of the worse side), `EXPECTED` (less the mean of both) and
    `TOTAL` (the sum over the examples). With ``random_cuts`` only cuts at random values are tried, with
    ``one_random_cut`` a single one. With ``is_variance`` gradients are distances from a mean, and nodes are told their
    variance.
    """

    impurity: int
    parameters: npt.NDArray[np.float64]
    is_normalised: bool
    reduction: int
    min_samples_leaf: int
    random_cuts: bool
    one_random_cut: bool = False
    is_variance: bool = False


class Scratch(NamedTuple):
    """Working arrays of one tree, overwritten at each feature of each node."""

    keys: npt.NDArray[np.int64]
    spare_keys: npt.NDArray[np.int64]
    n_in_bucket: npt.NDArray[np.int64]
    table: npt.NDArray[np.float64]
    run_code: npt.NDArray[np.int64]
    run_statistics: npt.NDArray[np.float64]
    missing: npt.NDArray[np.float64]
    left: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]
    draws: npt.NDArray[np.float64]
    ratio: npt.NDArray[np.float64]
    side: npt.NDArray[np.uint8]


@uncounted_njit
def add_example(statistics: npt.NDArray[np.float64], examples: Examples, j: int) -> None:
    """Add example j to statistics."""
    if examples.gradient.size > 0:
        statistics[0] += examples.gradient[j]
        statistics[1] += examples.hessian[j]
    else:
        statistics[examples.label[j]] += examples.weight[j]
    statistics[-1] += 1.0


@uncounted_njit
def fill_table(
    code_row: npt.NDArray[Any], examples: Examples, start: int, stop: int, table: npt.NDArray[np.float64]
) -> None:
    """Sum the statistics of a node's examples per code of one feature, shape (n_codes + 1, width)."""
    table[:] = 0.0
    last = table.shape[1] - 1
    rows = examples.rows[start:stop]
    if examples.gradient.size > 0:
        gradient, hessian = examples.gradient[start:stop], examples.hessian[start:stop]
        for j in range(rows.size):
            code = code_row[np.uint32(rows[j])]
            table[code, 0] += gradient[j]
            table[code, 1] += hessian[j]
            table[code, 2] += 1.0
    else:
        label, weight = examples.label[start:stop], examples.weight[start:stop]
        for j in range(rows.size):
            code = code_row[np.uint32(rows[j])]
            table[code, np.uint32(label[j])] += weight[j]
            table[code, last] += 1.0


@uncounted_njit
def runs_of_table(table: npt.NDArray[np.float64], scratch: Scratch) -> int:
    """Gather the codes that occur into runs; return their number."""
    n_codes = table.shape[0] - 1
    last = table.shape[1] - 1
    copy_to(scratch.missing, table[n_codes])
    n_runs = 0
    for code in range(n_codes):
        if table[code, last] > 0.0:
            scratch.run_code[n_runs] = code
            for k in range(last + 1):
                scratch.run_statistics[n_runs, k] = table[code, k]
            n_runs += 1
    return n_runs


@uncounted_njit
def runs_in_order(keys: npt.NDArray[np.int64], n_codes: int, examples: Examples, start: int, scratch: Scratch) -> int:
    """Gather the codes that occur into runs, from the examples of the node in order; return their number."""
    scratch.missing[:] = 0.0
    n_runs = 0
    previous = -1
    for place in range(keys.size):
        code = keys[place] >> 32
        j = start + (keys[place] & 0xFFFFFFFF)
        if code == n_codes:
            add_example(scratch.missing, examples, j)
            continue
        if code != previous:
            scratch.run_code[n_runs] = code
            scratch.run_statistics[n_runs] = 0.0
            previous = code
            n_runs += 1
        add_example(scratch.run_statistics[n_runs - 1], examples, j)
    return n_runs


@uncounted_njit
def total_impurity(criterion: Criterion, statistics: npt.NDArray[np.float64]) -> float:
    """Impurity of a set, times its weight if it is an average."""
    value = impurity_of_set(criterion.impurity, criterion.parameters, statistics)
    return value * set_weight(criterion.impurity, statistics) if criterion.is_normalised else value


@uncounted_njit
def total_of_node(criterion: Criterion, node_impurity: float, node_weight: float) -> float:
    """Return a node's impurity as a sum over its examples."""
    return node_impurity * node_weight if criterion.is_normalised else node_impurity


@uncounted_njit
def reduction_of(
    criterion: Criterion,
    node_impurity: float,
    node_weight: float,
    left: npt.NDArray[np.float64],
    right: npt.NDArray[np.float64],
) -> float:
    """How much less impure both sides are than the node; minus infinity if one has too few examples."""
    if left[-1] < criterion.min_samples_leaf or right[-1] < criterion.min_samples_leaf:
        return -np.inf
    if criterion.reduction == TOTAL:
        whole = total_of_node(criterion, node_impurity, node_weight)
        return whole - total_impurity(criterion, left) - total_impurity(criterion, right)
    of_left = impurity_of_set(criterion.impurity, criterion.parameters, left)
    of_right = impurity_of_set(criterion.impurity, criterion.parameters, right)
    if criterion.reduction == MINIMAX:
        return node_impurity - max(of_left, of_right)
    left_weight = set_weight(criterion.impurity, left)
    right_weight = set_weight(criterion.impurity, right)
    return node_impurity - (left_weight * of_left + right_weight * of_right) / node_weight


@uncounted_njit
def number_of_random_cuts(n_examples: int) -> int:
    """Random stumps per feature by the size of the node, in which an example counts as often as the bootstrap drew it.

    BudgetRF, section 3.
    """
    if n_examples > 2000:
        return 80
    return 40 if n_examples > 500 else 20


@uncounted_njit
def draw_cuts(stream: np.uint64, n_examples: int, bottom: float, top: float, draws: npt.NDArray[np.float64]) -> int:
    """Draw the values to cut a feature at, ascending, uniformly between its ends at the node; return their number."""
    n_draws = number_of_random_cuts(n_examples)
    for draw in range(n_draws):
        draws[draw] = bottom + uniform(stream, np.uint64(draw)) * (top - bottom)
    sort_few(draws[:n_draws])
    return n_draws


@uncounted_njit
def best_cut(
    n_runs: int,
    stream: np.uint64,
    lows: npt.NDArray[np.float64],
    highs: npt.NDArray[np.float64],
    criterion: Criterion,
    node: npt.NDArray[np.float64],
    node_impurity: float,
    scratch: Scratch,
) -> Cut:
    """Find the cut between runs that reduces the impurity most.

    Of several it is the first; of random cuts each is as likely, as if they were tried in the order of drawing.

    Parameters
    ----------
    n_runs : int
        Runs in the scratch.
    stream : uint64
        Where random cuts are drawn from.
    lows, highs : ndarray of float64, shape (n_codes,)
        Values under the feature's codes.
    criterion : Criterion
    node : ndarray of float64, shape (width,)
        Statistics of the node.
    node_impurity : float
    scratch : Scratch
    """
    missing, left, right = scratch.missing, scratch.left, scratch.right
    width = node.size
    some_missing = missing[-1] > 0.0
    node_weight = set_weight(criterion.impurity, node)
    if n_runs + some_missing < 2:
        return Cut(-np.inf, CONSTANT, np.nan, False)
    best = Cut(-np.inf, -1, np.nan, False)
    left[:] = 0.0
    n_draws, draw, n_best = 0, 0, 0
    ties = mix(stream, np.uint64(MAX_DRAWS))
    only_drawn = criterion.random_cuts and n_runs > 2
    if only_drawn:
        top = highs[scratch.run_code[n_runs - 1]]
        n_draws = draw_cuts(stream, int(node_weight), lows[scratch.run_code[0]], top, scratch.draws)
    for run in range(n_runs if some_missing else n_runs - 1):
        for k in range(width):
            left[k] += scratch.run_statistics[run, k]
        code = scratch.run_code[run]
        is_last = run == n_runs - 1
        following = np.inf if is_last else lows[scratch.run_code[run + 1]]
        threshold = np.inf if is_last else midway(highs[code], following)
        n_equal = 1
        if only_drawn and not is_last:
            while draw < n_draws and scratch.draws[draw] < highs[code]:
                draw += 1
            first = draw
            while draw < n_draws and scratch.draws[draw] < highs[scratch.run_code[run + 1]]:
                draw += 1
            n_equal = draw - first
            if n_equal == 0:
                continue
            chosen = scratch.draws[first + int(uniform(ties, np.uint64(2 * run)) * n_equal)]
            if chosen < following:
                threshold = chosen
        for k in range(width):
            right[k] = node[k] - left[k]
        reduction = reduction_of(criterion, node_impurity, node_weight, left, right)
        missing_left = False
        if some_missing and not is_last:
            for k in range(width):
                left[k] += missing[k]
                right[k] -= missing[k]
            other = reduction_of(criterion, node_impurity, node_weight, left, right)
            for k in range(width):
                left[k] -= missing[k]
            missing_left = other > reduction
            reduction = max(reduction, other)
        if reduction < best.reduction or reduction == -np.inf:
            continue
        n_best = n_equal if reduction > best.reduction else n_best + n_equal
        if n_best == n_equal or (only_drawn and uniform(ties, np.uint64(2 * run + 1)) * n_best < n_equal):
            best = Cut(reduction, code, threshold, missing_left)
    return best


@uncounted_njit
def rounded_within(drawn: float, low: float, high: float) -> float:
    """Round a number down to few binary places, so that files of trees stay small, and not below ``low``."""
    step = ldexp(1.0, frexp((high - low) / ROUNDED_PARTS)[1] - 1)
    return max(low, floor(drawn / step) * step)


@uncounted_njit
def add_up_to(
    cut: int, code_row: npt.NDArray[Any], examples: Examples, start: int, stop: int, statistics: npt.NDArray[np.float64]
) -> None:
    """Add the examples of a node whose codes are at most ``cut`` to statistics.

    The others add zeros: no processor guesses where an example goes.
    """
    rows, n = examples.rows[start:stop], 0
    if examples.gradient.size > 0:
        gradient, hessian = examples.gradient[start:stop], examples.hessian[start:stop]
        for j in range(rows.size):
            is_left = code_row[np.uint32(rows[j])] <= cut
            statistics[0] += is_left * gradient[j]
            statistics[1] += is_left * hessian[j]
            n += is_left
    else:
        label, weight = examples.label[start:stop], examples.weight[start:stop]
        for j in range(rows.size):
            is_left = code_row[np.uint32(rows[j])] <= cut
            statistics[np.uint32(label[j])] += is_left * weight[j]
            n += is_left
    statistics[-1] += n


@uncounted_njit
def random_cut(
    code_row: npt.NDArray[Any],
    examples: Examples,
    start: int,
    stop: int,
    stream: np.uint64,
    lows: npt.NDArray[np.float64],
    highs: npt.NDArray[np.float64],
    criterion: Criterion,
    node: npt.NDArray[np.float64],
    node_impurity: float,
    scratch: Scratch,
) -> Cut:
    """Cut a feature at one value, drawn uniformly between its ends at the node.

    Neither sorts nor counts per code: it goes over the examples twice. Missing values go where they reduce the impurity
    more; where all other values are the same, they are parted from these. See `best_cut` for the parameters.

    References
    ----------
    Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.
    """
    missing, left, right = scratch.missing, scratch.left, scratch.right
    n_codes, width = lows.size, node.size
    least, most = n_codes, -1
    some_missing = False
    rows = examples.rows[start:stop]
    for j in range(rows.size):
        code = np.int64(code_row[np.uint32(rows[j])])
        if code == n_codes:
            some_missing = True
        else:
            least, most = min(least, code), max(most, code)  # type: ignore[assignment]  # integers of NumPy
    if most < 0 or (least == most and not some_missing):
        return Cut(-np.inf, CONSTANT, np.nan, False)
    cut, threshold = most, np.inf
    if least < most:
        drawn = lows[least] + uniform(stream, np.uint64(0)) * (highs[most] - lows[least])
        cut, past = least, most
        while cut + 1 < past:
            middle = (cut + past) // 2
            if highs[middle] <= drawn:
                cut = middle
            else:
                past = middle
        between = highs[cut] <= drawn < lows[cut + 1]
        threshold = rounded_within(drawn, highs[cut], lows[cut + 1]) if between else midway(highs[cut], lows[cut + 1])
    left[:], missing[:] = 0.0, 0.0
    add_up_to(cut, code_row, examples, start, stop, left)
    if some_missing:
        for j in range(start, stop):
            if code_row[examples.rows[j]] == n_codes:
                add_example(missing, examples, j)
    for k in range(width):
        right[k] = node[k] - left[k]
    reduction = reduction_of(criterion, node_impurity, set_weight(criterion.impurity, node), left, right)
    missing_left = False
    if some_missing and least < most:
        for k in range(width):
            left[k] += missing[k]
            right[k] -= missing[k]
        other = reduction_of(criterion, node_impurity, set_weight(criterion.impurity, node), left, right)
        missing_left = other > reduction
        reduction = max(reduction, other)
    return Cut(reduction, cut, threshold, missing_left)


@uncounted_njit
def best_gradient_cut(
    table: npt.NDArray[np.float64],
    lows: npt.NDArray[np.float64],
    highs: npt.NDArray[np.float64],
    l2: float,
    min_samples_leaf: int,
    node: npt.NDArray[np.float64],
    node_impurity: float,
) -> Cut:
    """Find what `best_cut` finds for gradients, straight from the sums per code, shape (n_codes + 1, 3)."""
    n_codes = table.shape[0] - 1
    missing_gradient, missing_hessian, n_missing = table[n_codes, 0], table[n_codes, 1], table[n_codes, 2]
    gradient, hessian, n, previous = 0.0, 0.0, 0.0, -1
    best = Cut(-np.inf, CONSTANT, np.nan, False)
    for code in range(n_codes + 1):
        is_last = code == n_codes
        if (n_missing if is_last else table[code, 2]) == 0.0:
            continue
        if previous >= 0:
            if best.code == CONSTANT:
                best = Cut(-np.inf, -1, np.nan, False)
            following = np.inf if is_last else lows[code]
            threshold = np.inf if is_last else midway(highs[previous], following)
            reduction, missing_left = -np.inf, False
            if n >= min_samples_leaf and node[2] - n >= min_samples_leaf:
                reduction = second_order_reduction(node, node_impurity, gradient, hessian, l2)
            n_with = n + n_missing
            if n_missing > 0.0 and not is_last and n_with >= min_samples_leaf and node[2] - n_with >= min_samples_leaf:
                with_gradient, with_hessian = gradient + missing_gradient, hessian + missing_hessian
                other = second_order_reduction(node, node_impurity, with_gradient, with_hessian, l2)
                missing_left = other > reduction
                reduction = max(reduction, other)
            if reduction > best.reduction:
                best = Cut(reduction, previous, threshold, missing_left)
        if not is_last:
            gradient += table[code, 0]
            hessian += table[code, 1]
            n += table[code, 2]
            previous = code
    return best


@uncounted_njit
def runs_of_categories(table: npt.NDArray[np.float64], column: int, whole: int, scratch: Scratch) -> int:
    """Gather the categories that occur into runs by the ratio of two sums; return their number.

    ``column`` of the statistics is divided by ``whole``, or by the sum of all classes where that is -1.
    """
    n_codes, last = table.shape[0] - 1, table.shape[1] - 1
    copy_to(scratch.missing, table[n_codes])
    n_runs = 0
    for code in range(n_codes):
        row = table[code]
        if row[last] == 0.0:
            continue
        scratch.ratio[code] = row[column] / (row[whole] if whole >= 0 else row[:last].sum())
        place = n_runs
        while place > 0 and scratch.ratio[scratch.run_code[place - 1]] > scratch.ratio[code]:
            scratch.run_code[place] = scratch.run_code[place - 1]
            place -= 1
        scratch.run_code[place] = code
        n_runs += 1
    for run in range(n_runs):
        for k in range(last + 1):
            scratch.run_statistics[run, k] = table[scratch.run_code[run], k]
    return n_runs


@uncounted_njit
def noise_of(examples: Examples, start: int, stop: int, criterion: Criterion, impurity: float) -> float:
    """Estimate what two sides gain by chance where a test tells nothing: the variance of an example, as cuts count it.

    Only sums of squares are estimated, by gradients or the Gini index; other criteria have none.
    """
    squares, total = 0.0, 0.0
    if criterion.reduction == TOTAL and criterion.impurity == GRADIENT:
        gradient, hessian = examples.gradient[start:stop], examples.hessian[start:stop]
        total = hessian.sum()
        mean = gradient.sum() / total if total > 0.0 else 0.0
        for j in range(gradient.size):
            squares += (gradient[j] - hessian[j] * mean) ** 2
        return 0.5 * squares / total if total > 0.0 else 0.0
    if criterion.reduction == TOTAL and criterion.impurity == GINI:
        for weight in examples.weight[start:stop]:
            squares += weight * weight
            total += weight
        return (impurity if criterion.is_normalised else impurity / total) * squares / total
    return 0.0


@uncounted_njit
def best_category_cut(
    table: npt.NDArray[np.float64],
    stream: np.uint64,
    lows: npt.NDArray[np.float64],
    highs: npt.NDArray[np.float64],
    criterion: Criterion,
    node: npt.NDArray[np.float64],
    node_impurity: float,
    noise: float,
    scratch: Scratch,
) -> Cut:
    """Find the set of categories that goes left; the scratch gets the side of each.

    Categories are ordered by gradient over Hessian, or by the share of a class, and cut like numbers. The best set is
    one of these: what is maximised is convex in the sums of the left side, so it is largest where a line parts the
    categories' sums (Fisher 1958; Breiman et al. 1984, theorem 4.5). With more than two classes each in turn gives an
    order, and a better set may be none of these. What the best of many sets gains by chance does not count; see `LUCK`.
    """
    is_gradient = criterion.impurity == GRADIENT
    n_orders = 1 if is_gradient or node.size == 3 else node.size - 1
    exhaustive = Criterion(
        criterion.impurity,
        criterion.parameters,
        criterion.is_normalised,
        criterion.reduction,
        criterion.min_samples_leaf,
        False,
        False,
        criterion.is_variance,
    )
    best = Cut(-np.inf, CONSTANT, np.nan, False)
    for column in range(n_orders):
        n_runs = runs_of_categories(table, column, 1 if is_gradient else -1, scratch)
        cut = best_cut(n_runs, stream, lows, highs, exhaustive, node, node_impurity, scratch)
        if cut.reduction > best.reduction or column == 0:
            best = cut
            scratch.side[:] = ABSENT
            side = LEFT
            for run in range(n_runs):
                scratch.side[scratch.run_code[run]] = side
                if scratch.run_code[run] == cut.code:
                    side = RIGHT
    return Cut(best.reduction - LUCK * noise * max(n_runs - 2, 0), best.code, best.threshold, best.missing_left)


@uncounted_njit
def cut_of_feature(
    feature: int,
    codes: CodeArrays,
    examples: Examples,
    start: int,
    stop: int,
    criterion: Criterion,
    node: npt.NDArray[np.float64],
    node_impurity: float,
    stream: np.uint64,
    table: npt.NDArray[np.float64],
    scratch: Scratch,
) -> Cut:
    """Find the best cut of a feature at a node; `table` holds its sums per code if they are known, else nothing."""
    first, past = codes.offsets[feature], codes.offsets[feature + 1]
    lows, highs = codes.lows[first:past], codes.highs[first:past]
    n_cells = (past - first + 1) * node.size
    if codes.is_category[feature]:
        if table.size == 0:
            table = scratch.table[:n_cells].reshape(past - first + 1, node.size)
            fill_table(codes.codes[feature], examples, start, stop, table)
        noise = noise_of(examples, start, stop, criterion, node_impurity)
        return best_category_cut(table, stream, lows, highs, criterion, node, node_impurity, noise, scratch)
    if criterion.one_random_cut:
        return random_cut(
            codes.codes[feature], examples, start, stop, stream, lows, highs, criterion, node, node_impurity, scratch
        )
    is_known_quicker = criterion.reduction == TOTAL and not criterion.random_cuts
    by_gini = is_known_quicker and criterion.impurity == GINI
    by_gradient = is_known_quicker and criterion.impurity == GRADIENT
    worth_counting = CELLS_OF_GINI if by_gini else COUNTED_CELLS
    if table.size == 0 and n_cells <= worth_counting * (stop - start) and n_cells <= scratch.table.size:
        table = scratch.table[:n_cells].reshape(past - first + 1, node.size)
        fill_table(codes.codes[feature], examples, start, stop, table)
    least = criterion.min_samples_leaf
    if table.size > 0:
        none_missing = table[past - first, node.size - 1] == 0.0
        if by_gradient and none_missing:
            return gradient_cut_of_table(table, lows, highs, criterion.parameters[0], least, node, node_impurity)
        if by_gradient:
            return best_gradient_cut(table, lows, highs, criterion.parameters[0], least, node, node_impurity)
        if by_gini and none_missing:
            return gini_cut_of_table(table, lows, highs, least, node, scratch.left)
        n_runs = runs_of_table(table, scratch)
    else:
        in_spare = keys_in_order(
            codes.codes[feature],
            past - first,
            examples.rows,
            start,
            stop,
            scratch.keys,
            scratch.spare_keys,
            scratch.n_in_bucket,
        )
        keys = (scratch.spare_keys if in_spare else scratch.keys)[: stop - start]
        some_missing = keys[keys.size - 1] >> 32 == past - first
        if by_gini and not some_missing:
            labels, weights = examples.label[start:stop], examples.weight[start:stop]
            return gini_cut_in_order(keys, labels, weights, lows, highs, least, node, scratch.left)
        if by_gradient and not some_missing:
            gradients, hessians = examples.gradient[start:stop], examples.hessian[start:stop]
            l2 = criterion.parameters[0]
            return gradient_cut_in_order(keys, gradients, hessians, lows, highs, l2, least, node, node_impurity)
        n_runs = runs_in_order(keys, past - first, examples, start, scratch)
    return best_cut(n_runs, stream, lows, highs, criterion, node, node_impurity, scratch)
