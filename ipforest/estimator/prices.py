"""An estimator's prices: read, matched to columns, and refused where a float could not hold their sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any

from ipforest._internal.feature_names import column_numbers, known_to_scikit_learn
from ipforest._internal.rational import nonnegative_fraction
from ipforest.costs import FeatureCosts
from ipforest.tabular.price_lists import read_prices

__all__ = ["optional_number", "read_costs"]

MIN_PRICE, MAX_PRICE = Fraction(10) ** -100, Fraction(10) ** 100
"""Beyond these, sums and quotients of prices are no floats."""


def optional_number(value: object, name: str) -> Fraction | None:
    """Read a parameter that is None or a number >= 0; see `ipforest._internal.rational.nonnegative_fraction`."""
    if isinstance(value, Real) and value == inf:
        raise ValueError(
            f"{name}: expected a finite number (int, float, Fraction, Decimal or str), or None, got {value}"
        )
    return None if value is None else nonnegative_fraction(value, name)


def read_costs(feature_costs: Any, n_features: int, feature_names: Sequence[str] | None = None) -> FeatureCosts:
    """Read an estimator's price list: prices, a `FeatureCosts`, or None for 1 each.

    Parameters
    ----------
    feature_costs : FeatureCosts, sequence of numbers, dict, Series, DataFrame, path or None
        What is no FeatureCosts is read by `ipforest.tabular.price_lists.read_prices`.
    n_features : int
    feature_names : sequence of str, shape (n_features,), optional
        Prices that have names are matched to these.

    Raises
    ------
    ValueError
        Prices of another number of features, negative, not finite, or beyond 1e-100 to 1e100; or prices by name for
        features that have no names.
    """
    feature_costs = known_to_scikit_learn(feature_costs, "feature_costs")
    if isinstance(feature_costs, FeatureCosts):
        costs = feature_costs
        if not costs.in_column_order:
            _check_columns_have_names(costs.feature_names, feature_names)
    elif isinstance(feature_costs, str | Path | Mapping) or hasattr(feature_costs, "to_dict"):
        prices = read_prices(feature_costs)
        _check_columns_have_names([row.feature for row in prices.rows] if prices.has_names else None, feature_names)
        costs = prices.costs_for(n_features if feature_names is None else feature_names)
    else:
        costs = FeatureCosts([1] * n_features if feature_costs is None else feature_costs)
        _check_columns_have_names(costs.feature_names, feature_names)
    matched = costs.matched_to(n_features, feature_names)
    _check_size(matched)
    return matched


def _check_size(costs: FeatureCosts) -> None:
    for amount in costs.unit_costs:
        if amount and not MIN_PRICE <= amount <= MAX_PRICE:
            shown = (Decimal(amount.numerator) / Decimal(amount.denominator)).normalize()
            raise ValueError(
                f"feature_costs: expected 0 or prices from {float(MIN_PRICE):g} to {float(MAX_PRICE):g}, got "
                f"{shown:.3g}; give all prices in another unit"
            )


def _check_columns_have_names(priced: Sequence[str | None] | None, columns: Sequence[str] | None) -> None:
    if priced is not None and columns is None and column_numbers(priced) is None:
        raise ValueError(
            "feature_costs: expected a sequence in the order of the columns of X, which have no names, "
            f"got prices of {priced[0]!r} and others; give X as a DataFrame whose columns are named by texts, or, "
            "behind preprocessing, the prices to BudgetedPipeline"
        )
