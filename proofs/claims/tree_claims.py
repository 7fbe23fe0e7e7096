"""Claims of "Feature-Budgeted Random Forest" (BudgetRF, ICML 2015), each examined by computation."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from proofs.claims.claim import CERTIFICATE, COUNTEREXAMPLE, EXHAUSTIVE, Claim, Ruling, sample_of
from proofs.claims.impurity import (
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


def threshold_pairs_is_admissible(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Check the five properties of threshold-Pairs on every set of a small size."""
    comparisons = 0
    alphas = [Fraction(a, 2) for a in range(9)]
    for alpha in alphas:
        for limits in ((6, 6), (4, 4, 4), (2, 2, 2, 2)):
            report = check_admissible(threshold_pairs(alpha), limits)
            if not report:
                return Ruling.FALSE, f"alpha = {alpha}: {report.violation}"
            comparisons += report.comparisons
    return Ruling.TRUE, (
        f"up to 6 examples per class (2 classes), 4 (3), 2 (4), alpha = 0, 1/2, ..., 4: {comparisons} exact "
        "comparisons; log F = O(log n) since F <= n^2"
    )


def entropy_and_gini_are_not_monotone(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Exhibit a set that is purer than one of its subsets."""
    subset, whole = (1, 1), (1, 3)
    found = gini(subset) > gini(whole) and entropy_is_larger(subset, whole)
    comparison = f"Gini {gini(subset)} > {gini(whole)}, entropy 1 bit > 2 - (3/4) log2 3 (since 3^3 > 2^4)"
    return (Ruling.TRUE if found else Ruling.FALSE), f"class counts {subset} inside {whole}: {comparison}"


def greedy_tree_within_the_logarithm(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compare GREEDYTREE with optimal trees found by search, against the factor ln(F(S) / F_min) + 1."""
    examined, worse, largest, tightest = 0, 0, Fraction(1), Decimal(0)
    while examined < 300:
        n = int(rng.integers(3, 11))
        table = random_table(rng, n, int(rng.integers(4, 6)), int(rng.integers(2, 4)))
        impurity = threshold_pairs(Fraction(int(rng.integers(0, 2))))
        counts = table.counts(np.arange(n))
        least, optimum = smallest_positive_impurity(impurity, counts), optimal_max_cost(table, impurity)
        if least is None or optimum is None or impurity(counts) == 0:
            continue
        examined += 1
        ratio = Fraction(greedy_tree(table, impurity).max_cost, optimum)
        bound = _logarithm(impurity(counts) / least) + 1
        if Decimal(ratio.numerator) / ratio.denominator > bound:
            return Ruling.FALSE, f"ratio {ratio} above {bound:.3f} on {table.features.astype(int).tolist()}"
        worse += ratio > 1
        largest = max(largest, ratio)
        tightest = max(tightest, Decimal(ratio.numerator) / ratio.denominator / bound)
    return Ruling.TRUE, (
        f"{examined} random tables of 3-10 examples, prices 1-4, against the best of all trees: greedy costs more in "
        f"{worse}, at most {largest} times, never above ln(F(S)/F_min) + 1 (at most {tightest:.2f} of it)"
    )


def first_split_bounds_the_optimum(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compare the first greedy split's price / impurity drop, times the impurity, with the optimal max-cost."""
    examined, largest = 0, Fraction(0)
    while examined < 300:
        table = random_table(rng, int(rng.integers(3, 11)), int(rng.integers(4, 6)), int(rng.integers(2, 4)))
        impurity = threshold_pairs(Fraction(int(rng.integers(0, 2))))
        members = np.arange(table.labels.size)
        worth, optimum = impurity(table.counts(members)), optimal_max_cost(table, impurity)
        if optimum is None or worth == 0:
            continue
        drops = [
            min(worth - impurity(table.counts(members[side == outcome])) for outcome in (False, True))
            for side in table.features.T
        ]
        risk = min(Fraction(price) / drop for price, drop in zip(table.prices, drops, strict=True) if drop > 0)
        examined += 1
        if risk * worth > optimum:
            return Ruling.FALSE, f"{risk * worth} above {optimum} on {table.features.astype(int).tolist()}"
        largest = max(largest, risk * worth / optimum)
    return Ruling.TRUE, (
        f"{examined} random tables of 3-10 examples against the best of all trees: c F(S) / (F(S) - F(S_q)) of the "
        f"first greedy split is at most {float(largest):.2f} of the optimal max-cost"
    )


def early_stopping_costs_two(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Grow the greedy tree on the 1024 examples of section 2.4 with and without a threshold."""
    table = section_24_table()
    stopped = greedy_tree(table, threshold_pairs(Fraction(1)))
    whole = greedy_tree(table, threshold_pairs(Fraction(0)))
    agrees = (
        (stopped.max_cost, stopped.errors) == (2, 4)
        and {feature for _, feature in stopped.tests} == {0, 1}
        and (whole.max_cost, whole.errors) == (10, 0)
    )
    return (Ruling.TRUE if agrees else Ruling.FALSE), (
        f"alpha = 1: max-cost {stopped.max_cost} with features t1, t2, {stopped.errors}/1024 = "
        f"{stopped.errors / 1024:.2%} error; alpha = 0: max-cost {whole.max_cost}, {whole.errors} errors"
    )


def zero_error_needs_depth_ten(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Bound the depth of every error-free tree by the sensitivity of one example."""
    needed = sensitivity(section_24_table(), 0)
    return (Ruling.REPAIRED if len(needed) == 10 else Ruling.FALSE), (
        f"example 0 changes class with each of its {len(needed)} bits, so every error-free tree tests all of them on "
        "its path; Kraft's inequality, which the paper cites, bounds the depth only by the number of leaves"
    )


def _logarithm(ratio: Fraction) -> Decimal:
    """Take the natural logarithm to 40 digits."""
    with localcontext() as context:
        context.prec = 40
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


CLAIMS = [
    Claim(
        "threshold-Pairs is an admissible impurity",
        "BudgetRF, Lemma 2.3",
        Ruling.TRUE,
        threshold_pairs_is_admissible,
        EXHAUSTIVE,
    ),
    Claim(
        "neither entropy nor the Gini index is monotone",
        "BudgetRF, section 2.3",
        Ruling.TRUE,
        entropy_and_gini_are_not_monotone,
        COUNTEREXAMPLE,
    ),
    Claim(
        "the first greedy split bounds the optimal max-cost from below",
        "BudgetRF, Lemma 2.1",
        Ruling.TRUE,
        first_split_bounds_the_optimum,
        sample_of(300),
    ),
    Claim(
        "GREEDYTREE's max-cost is within O(log n) of the optimal tree's",
        "BudgetRF, Theorem 2.2",
        Ruling.TRUE,
        greedy_tree_within_the_logarithm,
        sample_of(300),
    ),
    Claim(
        "1024 examples: 0.39% error at max-cost 2, max-cost 10 for zero error by the greedy tree",
        "BudgetRF, section 2.4, Figure 2",
        Ruling.TRUE,
        early_stopping_costs_two,
        EXHAUSTIVE,
    ),
    Claim(
        "the optimal max-cost to classify all 1024 correctly is 10",
        "BudgetRF, section 2.4",
        Ruling.REPAIRED,
        zero_error_needs_depth_ten,
        CERTIFICATE,
    ),
]
