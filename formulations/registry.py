"""The formulations by name: where each is printed, what it takes, and whether its relaxation is integral."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

__all__ = ["FORMULATIONS", "Formulation", "formulation"]

OPTIMAL_PRUNING = "Nan, Wang, Saligrama, Optimally Pruning Decision Tree Ensembles With Feature Cost"
BUDGETPRUNE = "Nan, Wang, Saligrama, Pruning Random Forests for Prediction on a Budget, NIPS 2016"
HERE = "this package"


@dataclass(frozen=True, slots=True)
class Formulation:
    """A formulation: where it is printed, what it takes and what its relaxation gives.

    Parameters
    ----------
    name : str
    target : str
        ``module:function`` of the Pyomo builder, imported when first used.
    paper, equation : str
        Where it stands.
    integral : bool
        Whether every vertex of the relaxation is 0-1.
    reason : str
        Why, in one sentence.
    takes : {"lam", "budget", "nothing"}
        The number it needs beside the instance.
    one_tree : bool
        Whether it is stated for one tree only.
    routing : bool
        Whether it reads ``example_leaf``.
    """

    name: str
    target: str
    paper: str
    equation: str
    integral: bool
    reason: str
    takes: Literal["lam", "budget", "nothing"] = "lam"
    one_tree: bool = False
    routing: bool = False

    def load(self) -> Callable[..., Any]:
        """Import the builder."""
        module, function = self.target.split(":")
        builder: Callable[..., Any] = getattr(import_module(module), function)
        return builder


FORMULATIONS: Mapping[str, Formulation] = MappingProxyType(
    {
        item.name: item
        for item in (
            Formulation(
                "ip0",
                "formulations.ip0:build_ip0",
                OPTIMAL_PRUNING,
                "(IP0)",
                True,
                "the rows are paths of a tree, a network matrix (Sherali, Hobeika, Jeenanunta 2009)",
                takes="nothing",
            ),
            Formulation(
                "ip1",
                "formulations.ip1:build_ip1",
                f"{OPTIMAL_PRUNING}; {BUDGETPRUNE}, appendix 6.1",
                "(IP1)",
                False,
                "w >= z_h bounds w by each leaf alone where their sum is valid: Figure 1's tree has a vertex of halves",
                routing=True,
            ),
            Formulation(
                "ip2",
                "formulations.ip2:build_ip2",
                OPTIMAL_PRUNING,
                "(IP2), (2)",
                True,
                "w is one more leaf, a child of the node of first use: the rows stay paths of a tree",
                one_tree=True,
            ),
            Formulation(
                "ip3",
                "formulations.ip3:build_ip3",
                f"{OPTIMAL_PRUNING}; {BUDGETPRUNE}, (IP)",
                "(IP3), (IP)",
                True,
                "pivoting w^(t) out leaves two laminar families of columns, a transposed network matrix",
            ),
            Formulation(
                "compact",
                "formulations.compact:build_compact",
                HERE,
                "(IP3) without w^(t)",
                True,
                "the columns of z and of w are two laminar families over the path rows, a transposed network matrix",
            ),
            Formulation(
                "closure",
                "formulations.closure:build_closure",
                HERE,
                "(IP3) in x_h = 1 - sum of z over p(h)",
                True,
                "each row has one +1 and one -1, the transpose of a directed graph's incidence matrix",
            ),
            Formulation(
                "lp1",
                "formulations.lp1:build_lp1",
                OPTIMAL_PRUNING,
                "(LP1)",
                False,
                "the budget row cuts edges: between breakpoints a vertex mixes two nested prunings",
                takes="budget",
            ),
        )
    }
)


def formulation(name: str) -> Formulation:
    """Look a formulation up.

    Raises
    ------
    ValueError
        No formulation has that name.
    """
    if name not in FORMULATIONS:
        raise ValueError(f"formulation: expected one of {', '.join(FORMULATIONS)}, got {name!r}")
    return FORMULATIONS[name]
