r"""BudgetRF's impurity functions and trees on small sets, exactly.

Source: Nan, Wang, Saligrama, "Feature-Budgeted Random Forest" (ICML 2015), sections 2.1-2.4. The threshold-Pairs
impurity of a set with n_i examples of class i is, equation (11),

.. math:: F_\alpha = \sum_{i \ne j} \big[ [n_i - \alpha]_+ [n_j - \alpha]_+ - \alpha^2 \big]_+ .

An impurity is *admissible* when it is non-negative, zero on sets of one class, monotone, supermodular (what one more
example adds never falls as the set grows), and log F = O(log n). Impurities here are functions of the class counts, so
sets are count vectors and the subsets of one are the vectors below it: finitely many cases, each compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Counts = tuple[int, ...]
Impurity = Callable[[Counts], Fraction]


def threshold_pairs(alpha: Fraction) -> Impurity:
    """Return the threshold-Pairs impurity of equation (11) for one threshold."""

    def impurity(counts: Counts) -> Fraction:
        excess = [max(Fraction(0), count - alpha) for count in counts]
        return sum(
            (max(Fraction(0), a * b - alpha**2) for i, a in enumerate(excess) for j, b in enumerate(excess) if i != j),
            Fraction(0),
        )

    return impurity


def gini(counts: Counts) -> Fraction:
    """Return the Gini index 1 - sum of squared class shares; 0 for the empty set."""
    total = sum(counts)
    return 1 - sum((Fraction(count, total) ** 2 for count in counts), Fraction(0)) if total else Fraction(0)


def entropy_is_larger(first: Counts, second: Counts) -> bool:
    r"""Compare two entropies exactly: H(first) > H(second).

    With n = sum of the counts, :math:`n H = \log (n^n / \prod n_i^{n_i})`: compare the powers as fractions.
    """
    n, m = sum(first), sum(second)

    def power(counts: Counts, exponent: int) -> Fraction:
        total = sum(counts)
        value = Fraction(total**total)
        for count in counts:
            value /= count**count
        return value**exponent

    return power(first, m) > power(second, n)


@dataclass(frozen=True, slots=True)
class AdmissibilityReport:
    """What an exhaustive check of admissibility found.

    Attributes
    ----------
    comparisons : int
        Number of exact comparisons made.
    violation : str
        The first property that fails, with the sets; empty if none does.
    """

    comparisons: int
    violation: str

    def __bool__(self) -> bool:
        return not self.violation


def check_admissible(impurity: Impurity, limits: Counts) -> AdmissibilityReport:
    """Check all five properties on all sets with at most `limits` examples of each class.

    Property 5 is checked in the form F <= n^2, that is log F <= 2 log n.
    """
    value = {counts: impurity(counts) for counts in product(*(range(limit + 1) for limit in limits))}
    comparisons = 0
    for larger, worth in value.items():
        comparisons += 3
        if worth < 0:
            return AdmissibilityReport(comparisons, f"negative on {larger}")
        if sum(count > 0 for count in larger) <= 1 and worth != 0:
            return AdmissibilityReport(comparisons, f"not zero on the pure set {larger}")
        if worth > sum(larger) ** 2:
            return AdmissibilityReport(comparisons, f"above n^2 on {larger}")
    nested = [(larger, smaller) for larger in value for smaller in product(*(range(count + 1) for count in larger))]
    for larger, smaller in nested:
        comparisons += 1
        if value[larger] < value[smaller]:
            values = f"{value[larger]} on {larger} < {value[smaller]} on {smaller}"
            return AdmissibilityReport(comparisons, f"not monotone: {values}")
    for larger, smaller in nested:
        for place in range(len(limits)):
            more, less = _one_more(larger, place), _one_more(smaller, place)
            if more not in value:
                continue
            comparisons += 1
            if value[more] - value[larger] < value[less] - value[smaller]:
                where = f"class {place} added to {larger} and to {smaller}"
                return AdmissibilityReport(comparisons, f"not supermodular: {where}")
    return AdmissibilityReport(comparisons, "")


def _one_more(counts: Counts, place: int) -> Counts:
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])


@dataclass(frozen=True, slots=True, eq=False)
class BinaryTable:
    """Examples with 0/1 features, one class each, and a price for each feature.

    Attributes
    ----------
    features : (n, m) bool ndarray
    labels : (n,) int64 ndarray
        Classes 0, 1, ...
    prices : tuple of int
        Positive, one for each feature.
    """

    features: NDArray[np.bool_]
    labels: NDArray[np.int64]
    prices: tuple[int, ...]

    def counts(self, members: NDArray[np.intp]) -> Counts:
        """Count the members' classes."""
        found = np.bincount(self.labels[members], minlength=int(self.labels.max()) + 1)
        return tuple(int(count) for count in found)


@dataclass(frozen=True, slots=True)
class TreeSummary:
    """Cost and error of a tree.

    Attributes
    ----------
    max_cost : int
        The largest sum of prices of the distinct features on a path.
    errors : int
        Examples that are not of their leaf's majority class.
    tests : tuple of (depth, feature) pairs
        The tests, in pre-order.
    """

    max_cost: int
    errors: int
    tests: tuple[tuple[int, int], ...]


def greedy_tree(table: BinaryTable, impurity: Impurity) -> TreeSummary:
    """Grow BudgetRF's GREEDYTREE (Algorithm 1, lines 8-18), the classifiers being the features themselves.

    At a node with positive impurity take the feature that minimises the maximum over its two outcomes of
    price / (F(S) - F(S_outcome)), the first in case of a tie.

    Raises
    ------
    ValueError
        If no feature lowers the impurity of both outcomes.
    """
    cached = cache(impurity)
    tests: list[tuple[int, int]] = []

    def grow(members: NDArray[np.intp], bought: frozenset[int], depth: int) -> tuple[int, int]:
        counts = table.counts(members)
        worth = cached(counts)
        if worth == 0:
            return sum(table.prices[feature] for feature in bought), sum(counts) - max(counts)
        best: tuple[Fraction, int] | None = None
        for feature, price in enumerate(table.prices):
            side = table.features[members, feature]
            drop = min(worth - cached(table.counts(members[side == outcome])) for outcome in (False, True))
            if drop > 0 and (best is None or Fraction(price) / drop < best[0]):
                best = Fraction(price) / drop, feature
        if best is None:
            raise ValueError("table: expected features that tell the classes apart, none lowers the impurity")
        feature = best[1]
        tests.append((depth, feature))
        side = table.features[members, feature]
        parts = [grow(members[side == outcome], bought | {feature}, depth + 1) for outcome in (False, True)]
        return max(cost for cost, _ in parts), sum(errors for _, errors in parts)

    cost, errors = grow(np.arange(table.labels.size), frozenset(), 0)
    return TreeSummary(cost, errors, tuple(tests))


def optimal_max_cost(table: BinaryTable, impurity: Impurity) -> int | None:
    """Find the least max-cost of any tree whose leaves all have zero impurity, by searching all trees.

    A set of examples is a bit set; the recursion over its splits is memoised. None if no tree has such leaves.
    """
    everything = (1 << table.labels.size) - 1
    sides = [sum(1 << i for i in np.flatnonzero(column)) for column in table.features.T]

    @cache
    def best(members: int) -> int | None:
        counts = table.counts(np.flatnonzero([members >> i & 1 for i in range(table.labels.size)]))
        if impurity(counts) == 0:
            return 0
        found: int | None = None
        for price, side in zip(table.prices, sides, strict=True):
            ones, zeros = members & side, members & ~side
            if not ones or not zeros:
                continue
            parts = (best(ones), best(zeros))
            if parts[0] is not None and parts[1] is not None:
                cost = price + max(parts[0], parts[1])
                found = cost if found is None else min(found, cost)
        return found

    return best(everything)


def smallest_positive_impurity(impurity: Impurity, counts: Counts) -> Fraction | None:
    """Return the least positive impurity of any subset; None if all subsets have zero impurity."""
    values = (impurity(smaller) for smaller in product(*(range(count + 1) for count in counts)))
    return min((value for value in values if value > 0), default=None)


def section_24_table() -> BinaryTable:
    """Build the 1024 examples of BudgetRF, section 2.4: ten unit-price bits, four classes, four strays.

    Examples are the integers 0..1023, feature t their t-th most significant bit. [1, 255], [257, 511], [513, 767] and
    [769, 1023] have the labels 1, 2, 3, 4; 0, 256, 512, 768 the labels 2, 3, 4, 1 (here 0..3).
    """
    numbers = np.arange(1024)
    features = (numbers[:, None] >> np.arange(9, -1, -1)) & 1 == 1
    labels = numbers // 256
    labels[::256] = (labels[::256] + 1) % 4
    return BinaryTable(features, labels, (1,) * 10)


def sensitivity(table: BinaryTable, example: int) -> list[int]:
    """List the features whose flip alone leads from an example to one of another class.

    Every tree without errors must test all of them on the example's path: the flipped example would otherwise reach the
    same leaf. Their number bounds the depth of every error-free tree from below.
    """
    row = table.features[example]
    return [
        feature
        for feature in range(len(table.prices))
        if any(
            table.labels[other] != table.labels[example]
            for other in np.flatnonzero((table.features != row).sum(axis=1) == 1)
            if table.features[other, feature] != row[feature]
        )
    ]


def random_table(rng: np.random.Generator, n_examples: int, n_features: int, n_classes: int) -> BinaryTable:
    """Draw distinct 0/1 examples with random classes and prices 1..4."""
    codes = rng.choice(1 << n_features, size=n_examples, replace=False)
    features = (codes[:, None] >> np.arange(n_features)) & 1 == 1
    prices: Sequence[int] = [int(price) for price in rng.integers(1, 5, size=n_features)]
    return BinaryTable(features, rng.integers(n_classes, size=n_examples), tuple(prices))
