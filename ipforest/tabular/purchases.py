"""What a model buys: each feature and group fee, for how many examples, for how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import BoolArray
from ipforest._internal.feature_names import checked_names
from ipforest.costs import FeatureCosts

__all__ = ["Purchase", "purchases"]


@dataclass(frozen=True, slots=True)
class Purchase:
    """One line of a model's bill.

    Parameters
    ----------
    name : str
        Of the feature, or of the group whose fee is paid.
    price : float
        Paid by an example that buys it.
    share : float
        Of the examples that buy it, 0 to 1.
    paid : float
        What it adds to the average cost of an example: ``price * share``.
    """

    name: str
    price: float
    share: float
    paid: float


def purchases(
    acquired: npt.ArrayLike, costs: FeatureCosts, feature_names: Sequence[str] | None = None
) -> list[Purchase]:
    """List what examples buy, the most expensive lines first; what is never bought comes last, with a share of 0.

    Parameters
    ----------
    acquired : array of bool, shape (n_samples, n_features)
        As `BudgetedModel.acquired` gives it.
    costs : FeatureCosts
        If it prices columns computed from features, the lines are about the features.
    feature_names : sequence of str, shape (n_prices,), optional
        By default those of the price list.

    Returns
    -------
    list of Purchase
        Their ``paid`` sum up to the average cost of an example, without what tests cost.
    """
    bought = costs.bought(acquired)
    own = costs.feature_names if costs.is_plain else None
    names = checked_names(own if feature_names is None else feature_names, len(costs.prices))
    names = names or tuple(f"feature {column}" for column in range(len(costs.prices)))
    lines = [
        _line(name, float(price), bought[:, column])
        for column, (name, price) in enumerate(zip(names, costs.prices, strict=True))
    ]
    for group, fee in enumerate(costs.group_fees):
        members = costs.groups == group
        inside = ", ".join(name for name, group_of in zip(names, costs.groups, strict=True) if group_of == group)
        lines.append(_line(f"fee of {{{inside}}}", float(fee), np.asarray(bought[:, members].any(axis=1))))
    return sorted(lines, key=lambda line: (-line.paid, -line.share, line.name))


def _line(name: str, price: float, buys: BoolArray) -> Purchase:
    share = float(buys.mean())
    return Purchase(name, price, share, price * share)
