"""An atlas of pruning problems: each variant a formulation of a dozen lines, with the problem that it states.

A variant is a `formulations.ModelledFormulation` with a definition: a function that gives the objective of any pruning,
or None for one that is not allowed. So the laboratory tests it as it tests the others: `formulations.study` asks
whether its 0-1 points are the prunings that are allowed, at their objectives, and what its relaxation is worth;
`formulations.solve` solves it. ``ipforest atlas`` makes the table of all.
"""

from formulations.modelled import ModelledFormulation
from formulations.variants.batches import batches
from formulations.variants.class_errors import class_budgets, worst_class
from formulations.variants.delayed_tests import delayed_tests
from formulations.variants.hard_cap import hard_cap
from formulations.variants.leaf_limits import leaves_in_all, leaves_per_tree
from formulations.variants.precedence import precedence
from formulations.variants.robust_prices import robust_prices
from formulations.variants.setup_price import setup_price
from formulations.variants.vote_error import vote_error

__all__ = [
    "VARIANTS",
    "batches",
    "class_budgets",
    "delayed_tests",
    "hard_cap",
    "leaves_in_all",
    "leaves_per_tree",
    "precedence",
    "robust_prices",
    "setup_price",
    "vote_error",
    "worst_class",
]

VARIANTS: dict[str, ModelledFormulation] = {
    variant.name: variant
    for variant in (
        hard_cap(),
        leaves_per_tree(),
        leaves_in_all(),
        class_budgets(),
        worst_class(),
        setup_price(),
        batches(),
        precedence(),
        delayed_tests(),
        robust_prices(),
        vote_error(),
    )
}
"""The variants by name, with parameters for small instances."""
