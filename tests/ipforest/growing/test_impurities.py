from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipforest.growing import Entropy, Gini, Gradient, Polynomial, Powers, ThresholdPairs
from proofs.claims.impurity import check_admissible, gini, threshold_pairs

ADMISSIBLE = [
    ThresholdPairs(0),
    ThresholdPairs(0.5),
    ThresholdPairs(2),
    Powers(2),
    Powers(4),
    Polynomial(((1, 1, 0), (0, 2, 1)), (1.0, 3.0)),
]


@pytest.mark.parametrize("impurity", ADMISSIBLE, ids=repr)
def test_the_admissible_ones_are_admissible(impurity):
    """Property 5 is tested for Pairs and Powers of 2 only: others grow faster than n^2, still polynomially."""
    scale = Fraction(1, 4**4)
    report = check_admissible(lambda counts: scale * Fraction(impurity.of(counts)), (4, 3, 3))
    assert report, report.violation


@pytest.mark.parametrize("impurity", [Entropy(), Gini()], ids=repr)
def test_entropy_and_gini_are_not(impurity):
    assert not check_admissible(lambda counts: Fraction(impurity.of(counts)), (3, 3))


counts = st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(any)


@given(counts, st.sampled_from([0, Fraction(1, 2), 3]))
def test_pairs_and_gini_equal_the_exact_ones(n, alpha):
    assert ThresholdPairs(float(alpha)).of(n) == pytest.approx(float(threshold_pairs(Fraction(alpha))(tuple(n))))
    assert Gini().of(n) == pytest.approx(float(gini(tuple(n))), abs=1e-12)
    assert Powers(2).of(n) == pytest.approx(ThresholdPairs(0).of(n))


@given(counts)
def test_entropy_is_in_bits(n):
    shares = np.array(n) / sum(n)
    bits = -sum(share * np.log2(share) for share in shares if share > 0)
    assert Entropy().of(n) == pytest.approx(bits, abs=1e-9)
    assert Entropy().of(np.array(n) * 0.3) == pytest.approx(bits, abs=1e-9)


def test_gradient_is_what_the_best_leaf_leaves():
    g, h, l2 = 3.0, 2.0, 0.5
    values = np.linspace(-5, 5, 100_001)
    assert Gradient(l2).of([g, h]) == pytest.approx((g * values + 0.5 * (h + l2) * values**2).min(), abs=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ThresholdPairs(-1), "alpha: expected a finite number >= 0, got -1"),
        (lambda: Powers(1), "exponent: expected an integer >= 2, got 1"),
        (lambda: Gradient(float("nan")), "l2: expected a finite number >= 0, got nan"),
        (lambda: Polynomial(((2, 0),)), "exponents: expected at least two classes in each term, got a term with fewer"),
        (lambda: Polynomial(((1, 1),), (-1.0,)), "coefficients: expected 1 finite numbers > 0"),
        (lambda: Polynomial(((1, 1),)).check_classes(3), "exponents: expected 3 per term, one per class, got 2"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
