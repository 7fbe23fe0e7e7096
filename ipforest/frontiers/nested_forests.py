"""Nested forests: on the first 1, 2, 3, ... units of an order, one replacing another as an example buys them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ipforest._internal.arrays import FloatArray
from ipforest.frontiers.staged_forests import Wanted
from ipforest.session import Seller
from ipforest.stopping.stages import Stage, feature_sets, stage_sizes, stages_in_order
from ipforest.stopping.unit_order import by_price, features_of_units


class NestedForests:
    """Plans a cascade for each order of the units, which share the forests that are on the same features.

    Parameters
    ----------
    worths : sequence of ndarray of float64, shape (n_features,)
        How much each feature is worth; units come in the order of what their features are worth, per price.
    seller : Seller
        Of at least one unit that costs something.
    n_samples : int
        Training examples, all of which each forest sees.
    """

    share_of_trees = 0.7

    def __init__(self, worths: Sequence[FloatArray], seller: Seller, n_samples: int) -> None:
        n_units = len(seller.paid_units())
        self._rows, self._cascades = np.arange(n_samples), []
        for worth in worths:
            units = by_price(seller, worth @ features_of_units(seller), (), n_units)
            sets = feature_sets([units[:n] for n in stage_sizes(n_units)], seller)
            self._cascades.append([np.sort(features) for features in sets])
        self._distinct = {features.tobytes(): features for sets in self._cascades for features in sets}

    def wanted(self) -> list[Wanted]:
        """See `StagePlans`."""
        return [(features, self._rows) for features in self._distinct.values()]

    def cascades(self, models: Sequence[Any]) -> list[tuple[Stage, ...]]:
        """See `StagePlans`."""
        of_set = dict(zip(self._distinct, models, strict=True))
        return [stages_in_order([of_set[features.tobytes()] for features in sets], sets) for sets in self._cascades]
