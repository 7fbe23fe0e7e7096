"""BudgetRF's impurities and trees, exactly."""

from fractions import Fraction

import numpy as np
import pytest

from proofs.claims.impurity import (
    BinaryTable,
    check_admissible,
    entropy_is_larger,
    gini,
    greedy_tree,
    optimal_max_cost,
    random_table,
    section_24_table,
    sensitivity,
    smallest_positive_impurity,
    threshold_pairs,
)

PAIRS = threshold_pairs(Fraction(0))


def test_threshold_pairs_by_hand():
    assert PAIRS((2, 3)) == 12
    assert threshold_pairs(Fraction(1))((2, 3)) == 2 * (1 * 2 - 1)
    assert threshold_pairs(Fraction(1, 2))((2, 1)) == 2 * (Fraction(3, 2) * HALF - Fraction(1, 4))
    assert PAIRS((1, 1, 1)) == 6


HALF = Fraction(1, 2)


def test_threshold_pairs_is_admissible_and_gini_is_not():
    assert check_admissible(threshold_pairs(Fraction(3, 2)), (4, 4))
    assert "not monotone" in check_admissible(gini, (3, 3)).violation
    assert "not monotone" in check_admissible(lambda c: Fraction(c in [(1, 1)]), (2, 1)).violation
    assert "not supermodular" in check_admissible(lambda c: Fraction(min(*c, 1)), (2, 2)).violation
    assert "not zero on the pure set" in check_admissible(lambda c: Fraction(sum(c)), (2, 2)).violation
    assert "negative" in check_admissible(lambda c: Fraction(-1), (1, 1)).violation
    assert "above n^2" in check_admissible(lambda c: Fraction(100 * c[0] * c[1]), (1, 1)).violation


def test_entropies_compare_like_their_floats():
    rng = np.random.default_rng(61)
    for _ in range(200):
        first, second = (tuple(int(n) for n in rng.integers(1, 6, size=3)) for _ in range(2))
        difference = entropy(first) - entropy(second)
        if abs(difference) > 1e-9:
            assert entropy_is_larger(first, second) == (difference > 0)
    assert not entropy_is_larger((1, 2), (2, 4))


def entropy(counts):
    shares = np.array(counts) / sum(counts)
    return -(shares * np.log2(shares)).sum()


def test_an_optimal_tree_never_costs_more_than_the_greedy_one():
    rng = np.random.default_rng(62)
    for _ in range(60):
        table = random_table(rng, int(rng.integers(2, 9)), 4, 2)
        greedy = greedy_tree(table, PAIRS)
        assert optimal_max_cost(table, PAIRS) <= greedy.max_cost
        assert greedy.errors == 0


def test_a_table_where_greed_is_dearer():
    """Exclusive or of two cheap features, and a dear one that tells half of the story."""
    rng = np.random.default_rng(63)
    dearer = sum(
        greedy_tree(table, PAIRS).max_cost > optimal_max_cost(table, PAIRS)
        for table in (random_table(rng, 8, 4, 2) for _ in range(60))
    )
    assert dearer > 5


def test_features_that_cannot_tell_the_classes_apart():
    table = BinaryTable(np.zeros((2, 1), dtype=bool), np.array([0, 1]), (1,))
    assert optimal_max_cost(table, PAIRS) is None
    with pytest.raises(ValueError, match="tell the classes apart"):
        greedy_tree(table, PAIRS)


def test_section_24():
    table = section_24_table()
    assert np.bincount(table.labels).tolist() == [256] * 4
    assert table.labels[[0, 256, 512, 768]].tolist() == [1, 2, 3, 0]
    assert greedy_tree(table, threshold_pairs(Fraction(1))).max_cost == 2
    assert len(sensitivity(table, 0)) == 10
    assert len(sensitivity(table, 5)) < 10


def test_smallest_positive_impurity():
    assert smallest_positive_impurity(PAIRS, (3, 2)) == 2
    assert smallest_positive_impurity(PAIRS, (3, 0)) is None
