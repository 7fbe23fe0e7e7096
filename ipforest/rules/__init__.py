"""Rules that a person can read: what a fitted model orders, when it stops, and with which answer, as text and pictures.

`read_rules` follows a model on examples, and `Rules` says what it does in words. A model whose rules are too long is
replaced by `ipforest.learners.ReadableTree`, a single tree that asks few questions.
"""

from ipforest.rules.conditions import Condition
from ipforest.rules.reading import read_rules, rules_of
from ipforest.rules.rules import Rules
from ipforest.rules.steps import Order, Step

__all__ = ["Condition", "Order", "Rules", "Step", "read_rules", "rules_of"]
