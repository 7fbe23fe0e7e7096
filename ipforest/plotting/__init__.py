"""Pictures of the tradeoff: error against cost, nested prunings on one tree, and rules to read."""

from ipforest.plotting.purchases import draw_purchases, draw_reliability, plot_purchases, plot_reliability, plot_stops
from ipforest.plotting.rules import draw_rules
from ipforest.plotting.tradeoff import Curve, TradeoffDisplay, plot_stopping
from ipforest.plotting.trees import draw_tree

__all__ = [
    "Curve",
    "TradeoffDisplay",
    "draw_purchases",
    "draw_reliability",
    "draw_rules",
    "draw_tree",
    "plot_purchases",
    "plot_reliability",
    "plot_stopping",
    "plot_stops",
]
