"""The solvers by name: `solve` at one lambda, `solve_budget` within a budget.

Next to the command line this registry is the only place in ``ipforest`` that reaches up: the methods ``highs-lp``,
``highs-mip`` and ``lp1`` live in ``formulations`` and are imported when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ipforest.instance import PruningInstance, require_instance
from ipforest.rational import nonnegative_fraction

if TYPE_CHECKING:
    from ipforest.results import BudgetResult, PruningResult

__all__ = [
    "BUDGET_SOLVERS",
    "SOLVERS",
    "MissingSolverError",
    "SolverInfo",
    "available_solvers",
    "solve",
    "solve_budget",
]


class MissingSolverError(ImportError):
    """A solver's package is not installed."""


@dataclass(frozen=True, slots=True)
class SolverInfo:
    """A method: where it lives and what it can do.

    Parameters
    ----------
    name : str
    target : str
        ``module:function``, imported when first used.
    exact : bool
        Whether it always ends with a proven optimum, given time.
    packages : tuple of str
        What must be installed for it.
    description : str
    """

    name: str
    target: str
    exact: bool
    packages: tuple[str, ...]
    description: str

    @property
    def missing_packages(self) -> list[str]:
        """Needed packages that are not installed."""
        return [package for package in self.packages if find_spec(package) is None]

    def load(self) -> Callable[..., Any]:
        """Import the function.

        Raises
        ------
        MissingSolverError
            A package is not installed; the message says which, and what is available instead.
        """
        missing = self.missing_packages
        if missing:
            raise MissingSolverError(
                f"method: expected {' and '.join(missing)} to be installed for {self.name!r}, got none; "
                f"run pip install {' '.join(missing)}, or use one of {', '.join(available_solvers())}"
            )
        module, function = self.target.split(":")
        loaded: Callable[..., Any] = getattr(import_module(module), function)
        return loaded


def _registry(*infos: SolverInfo) -> Mapping[str, SolverInfo]:
    return MappingProxyType({info.name: info for info in infos})


SOLVERS = _registry(
    SolverInfo("min-cut", "ipforest.solvers.min_cut:solve_min_cut", True, (), "minimum cut of the closure graph"),
    SolverInfo("tree-dp", "ipforest.solvers.tree_dp:solve_tree_dp", False, (), "each tree by itself, bottom up"),
    SolverInfo(
        "primal-dual",
        "ipforest.solvers.primal_dual:solve_primal_dual",
        False,
        (),
        "Algorithm 1 of BudgetPrune",
    ),
    SolverInfo(
        "dantzig-wolfe",
        "ipforest.solvers.dantzig_wolfe:solve_dantzig_wolfe",
        True,
        ("highspy",),
        "column generation, optimal-pruning paper, section 5",
    ),
    SolverInfo(
        "networkx",
        "ipforest.solvers.networkx_flow:solve_networkx",
        True,
        ("networkx",),
        "networkx minimum cut",
    ),
    SolverInfo("highs-lp", "formulations.solving:solve_lp", True, ("highspy",), "relaxation of a formulation by HiGHS"),
    SolverInfo("highs-mip", "formulations.solving:solve_mip", True, ("highspy",), "0-1 formulation by HiGHS"),
)

BUDGET_SOLVERS = _registry(
    SolverInfo("path", "ipforest.path:solve_budget_path", False, (), "best breakpoint of the whole path"),
    SolverInfo(
        "greedy",
        "ipforest.solvers.greedy:solve_budget_greedy",
        False,
        (),
        "the best breakpoint, filled up to the budget",
    ),
    SolverInfo("lp1", "formulations.solving:solve_budget_lp1", False, ("highspy",), "LP1: mixture of two prunings"),
    SolverInfo(
        "mip",
        "ipforest.solvers.branch_and_bound:solve_budget_branch_and_bound",
        True,
        (),
        "greed, then branch and bound on what is bought",
    ),
)


def available_solvers() -> list[str]:
    """Names of the methods of `solve` whose packages are installed."""
    return [name for name, info in SOLVERS.items() if not info.missing_packages]


def solve(instance: PruningInstance, lam: object, method: str = "min-cut", **options: Any) -> PruningResult:
    """Find the pruning of least ``error + lam * cost``.

    Parameters
    ----------
    instance : PruningInstance
    lam : int, float, str, Decimal or Fraction
        Price of a unit of cost in errors, >= 0; a float means its shortest decimal (0.003 is 3/1000).
    method : str
        A name in `SOLVERS`. ``min-cut`` returns the smallest optimal set of kept nodes, the others any optimum.
    **options
        Of the method; see its function.

    Returns
    -------
    PruningResult

    Raises
    ------
    TypeError
        Not an instance, or an option that the method does not take.
    ValueError
        Negative lambda or unknown method.
    OverflowError
        At this lambda the integers outgrow the method.
    MissingSolverError
        The method's package is not installed.
    """
    require_instance(instance)
    exact_lam = nonnegative_fraction(lam, "lam")
    result: PruningResult = _info(SOLVERS, method).load()(instance, exact_lam, **options)
    return result


def solve_budget(instance: PruningInstance, budget: object, method: str = "greedy", **options: Any) -> BudgetResult:
    """Find the pruning of least error whose average cost stays within a budget.

    Parameters
    ----------
    instance : PruningInstance
    budget : int, float, str, Decimal or Fraction
        What an example may cost on average, >= 0.
    method : str
        A name in `BUDGET_SOLVERS`: ``greedy`` (the best breakpoint of the path, filled up to the budget), ``path`` (the
        breakpoint itself, never better), ``lp1`` (the relaxation, a mixture of two prunings between breakpoints) or
        ``mip`` (branch and bound to optimality).
    **options
        Of the method; see its function.

    Returns
    -------
    BudgetResult

    Raises
    ------
    TypeError
        Not an instance, or an option that the method does not take.
    ValueError
        Negative or infeasible budget, or unknown method.
    OverflowError
        The instance's integers outgrow the method.
    MissingSolverError
        The method's package is not installed.
    """
    require_instance(instance)
    exact_budget = nonnegative_fraction(budget, "budget")
    result: BudgetResult = _info(BUDGET_SOLVERS, method).load()(instance, exact_budget, **options)
    return result


def _info(registry: Mapping[str, SolverInfo], method: str) -> SolverInfo:
    if method not in registry:
        raise ValueError(f"method: expected one of {', '.join(registry)}, got {method!r}")
    return registry[method]
