"""Features bought one at a time, or round by round where their values are delayed: sessions for one example or many.

A model says what it wants to know next. A feature that is not delayed is wanted by itself, as its value can decide what
is wanted then. With a delayed one all is ordered that may be wanted before the model can decide with new results: that
is a round, and it ends when its results are in.
"""

from ipforest.session.on_demand import AsyncFetch, Demand, Fetch, PredictsOnDemand
from ipforest.session.one_example import Purchase, Session, place_in_round, require_charged
from ipforest.session.seller import Seller, Unit
from ipforest.session.sessions import Request, Sessions
from ipforest.session.told import (
    Known,
    cells_of_unit,
    plain_cell,
    require_column_order,
    told_by_unit,
    told_features,
    without_absent,
)

__all__ = [
    "AsyncFetch",
    "Demand",
    "Fetch",
    "Known",
    "PredictsOnDemand",
    "Purchase",
    "Request",
    "Seller",
    "Session",
    "Sessions",
    "Unit",
    "cells_of_unit",
    "place_in_round",
    "plain_cell",
    "require_charged",
    "require_column_order",
    "told_by_unit",
    "told_features",
    "without_absent",
]
