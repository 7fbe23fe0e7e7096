"""What a publisher's files hold, as arrays of the files that `ipforest.datasets.load` reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.costs import NO_GROUP

__all__ = ["Tables"]


class Tables(NamedTuple):
    """What a publisher's files hold.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
    y : ndarray of int64, shape (n_samples,)
        Class index.
    feature_names, class_names : list of str
    split : ndarray of uint8, shape (n_samples,), or None
        0 train, 1 validation, 2 test.
    queries : ndarray of int64, shape (n_samples,), or None
        The query of each document.
    prices : ndarray of float64, shape (n_features,), or None
        By default each feature costs 1.
    groups : ndarray of int64, shape (n_features,), or None
        The descriptor of each feature: the first feature that is used of one is paid for, the others are free; -1 for
        a feature that is paid for alone.
    """

    X: Array
    y: Array
    feature_names: list[str]
    class_names: list[str]
    split: Array | None
    queries: Array | None = None
    prices: Array | None = None
    groups: Array | None = None

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of the file that `ipforest.datasets.load` reads."""
        found = {
            "X": self.X,
            "y": self.y,
            "feature_names": np.array(self.feature_names),
            "class_names": np.array(self.class_names),
        }
        found |= {name: part for name, part in (("split", self.split), ("queries", self.queries)) if part is not None}
        if self.prices is not None:
            groups = np.full(self.prices.size, NO_GROUP) if self.groups is None else self.groups
            found["costs"], found["currency"] = self.prices, np.array("price units")
            found["costs_in_group"] = np.where(groups == NO_GROUP, self.prices, 0.0)
            found["cost_group"] = groups
        return found
