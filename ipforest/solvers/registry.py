"""Solvers by name: what each promises, where it lives, and how others add theirs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from numbers import Number
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from ipforest._internal.registry import Plugins, Registry
from ipforest.results import BudgetResult, Pruning, PruningResult, Status

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

__all__ = [
    "BUDGET_SOLVERS",
    "SOLVERS",
    "BudgetSolver",
    "MissingSolverError",
    "Solver",
    "SolverInfo",
    "SolverRegistry",
    "available_solvers",
    "register_solver",
]


class Solver(Protocol):
    """Solves an instance at one lambda.

    Its result holds a pruning, the exact objective of that pruning, a bound that no pruning goes below (0 is always
    valid), and how the search ended. Options have names and defaults; one that is called ``time_limit`` is in seconds,
    and a search that ends there returns what it has.
    """

    def __call__(self, instance: PruningInstance, lam: Fraction, /, **options: Any) -> PruningResult:
        """Find a pruning of small ``error + lam * cost``."""


class BudgetSolver(Protocol):
    """Finds the pruning of least error within a budget, as `Solver` does at one lambda."""

    def __call__(self, instance: PruningInstance, budget: Fraction, /, **options: Any) -> BudgetResult:
        """Find a pruning of small error whose average cost is within the budget."""


class MissingSolverError(ImportError):
    """A solver's package is not installed."""


@dataclass(frozen=True, slots=True)
class SolverInfo:
    """A method: where it lives and what it promises.

    Parameters
    ----------
    name : str
    target : str or callable
        The function, or ``module:function``, which is imported when it is first used.
    exact : bool
        Whether it always ends with a proven optimum, given time.
    packages : tuple of str
        What must be installed for it.
    description : str
    canonical : bool
        Whether it returns the smallest optimal set of kept nodes, where others may return any.
    certifies : bool
        Whether its results hold a dual flow, which `proofs.verify_optimality` checks.
    quick_options : mapping
        Options with which it ends soon on small instances.
    max_internal : int, optional
        Internal nodes of the instances that it takes, at most; larger ones are refused before it is asked.
    """

    name: str
    target: str | Callable[..., Any]
    exact: bool
    packages: tuple[str, ...] = ()
    description: str = ""
    canonical: bool = False
    certifies: bool = False
    quick_options: Mapping[str, Any] = field(default_factory=dict)
    max_internal: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.packages, str):
            raise TypeError(f"packages: expected a tuple of names, got {self.packages!r}; write ({self.packages!r},)")
        if not isinstance(self.max_internal, int | None):
            raise TypeError(f"max_internal: expected an integer or None, got {self.max_internal!r}")

    def fits(self, instance: PruningInstance) -> bool:
        """Return whether it takes an instance of this size."""
        return self.max_internal is None or instance.n_internal <= self.max_internal

    def check_instance(self, instance: PruningInstance) -> None:
        """Require an instance that it takes.

        Raises
        ------
        ValueError
            It has more internal nodes.
        """
        if not self.fits(instance):
            raise ValueError(
                f"instance: expected at most {self.max_internal} internal nodes for {self.name!r}, got "
                f"{instance.n_internal}"
            )

    @property
    def missing_packages(self) -> list[str]:
        """Needed packages that are not installed."""
        return [package for package in self.packages if not _is_installed(package)]

    @property
    def takes_time_limit(self) -> bool:
        """Whether it has an option ``time_limit``."""
        return "time_limit" in _options_of(self.load())[0]

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
        if not isinstance(self.target, str):
            return self.target
        module, function = self.target.split(":")
        loaded: Callable[..., Any] = getattr(import_module(module), function)
        return loaded


def _is_installed(package: str) -> bool:
    """Return whether a package, or a module within one, can be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package that it is within
        return False


class SolverRegistry(Registry[SolverInfo]):
    """Solvers by name: those of this package, those of installed packages (entry points), and the user's own."""

    def look_up(self, method: str) -> SolverInfo:
        """Return a solver.

        Raises
        ------
        ValueError
            No solver has that name.
        """
        if method not in self:
            raise ValueError(f"method: expected one of {', '.join(self)}, got {method!r}")
        return self[method]

    def taking(self, method: str, options: Mapping[str, Any]) -> Callable[..., Any]:
        """Return the function of a solver that takes these options.

        Raises
        ------
        TypeError
            It takes another option; the message says what it takes, and which solvers take the other one.
        ValueError
            No solver has that name.
        """
        function = self.look_up(method).load()
        names, takes_any = _options_of(function)
        unknown = [] if takes_any else [option for option in options if option not in names]
        if unknown:
            installed = [info for info in self.values() if not info.missing_packages]
            others = [info.name for info in installed if unknown[0] in _options_of(info.load())[0]]
            cure = f"; {' and '.join(map(repr, others))} {'take' if len(others) > 1 else 'takes'} it" if others else ""
            raise TypeError(
                f"{unknown[0]}: expected an option of method {method!r} ({', '.join(names) or 'it has none'}), got "
                f"another{cure}"
            )
        return function


def _options_of(solver: Callable[..., Any]) -> tuple[list[str], bool]:
    """List the options of a solver, after its instance and lambda or budget, and say whether it takes any others."""
    kinds = inspect.Parameter
    try:
        parameters = list(inspect.signature(solver).parameters.values())
    except ValueError:  # a compiled function may not say what it takes
        return [], True
    by_place = [each for each in parameters if each.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    options = [each for each in by_place[2:] if each.kind == kinds.POSITIONAL_OR_KEYWORD]
    options += [each for each in parameters if each.kind == kinds.KEYWORD_ONLY]
    return [option.name for option in options], any(each.kind == kinds.VAR_KEYWORD for each in parameters)


_PLUGINS = Plugins("ipforest.solvers")

SOLVERS = SolverRegistry(
    "solver",
    "ipforest.solvers.SOLVERS",
    _PLUGINS,
    SolverInfo(
        "min-cut",
        "ipforest.solvers.min_cut:solve_min_cut",
        exact=True,
        description="minimum cut of the closure graph",
        canonical=True,
        certifies=True,
    ),
    SolverInfo(
        "tree-dp", "ipforest.solvers.tree_dp:solve_tree_dp", exact=False, description="each tree by itself, bottom up"
    ),
    SolverInfo(
        "primal-dual",
        "ipforest.solvers.primal_dual:solve_primal_dual",
        exact=False,
        description="Algorithm 1 of BudgetPrune",
        quick_options={"max_iterations": 60},
    ),
    SolverInfo(
        "dantzig-wolfe",
        "ipforest.solvers.dantzig_wolfe:solve_dantzig_wolfe",
        exact=True,
        packages=("highspy",),
        description="column generation, optimal-pruning paper, section 5",
    ),
    SolverInfo(
        "networkx",
        "ipforest.solvers.networkx_flow:solve_networkx",
        exact=True,
        packages=("networkx",),
        description="networkx minimum cut",
        canonical=True,
        certifies=True,
    ),
)

BUDGET_SOLVERS = SolverRegistry(
    "solver within a budget",
    "ipforest.solvers.BUDGET_SOLVERS",
    _PLUGINS,
    SolverInfo(
        "path", "ipforest.path_search:solve_budget_path", exact=False, description="best breakpoint of the whole path"
    ),
    SolverInfo(
        "greedy",
        "ipforest.solvers.greedy:solve_budget_greedy",
        exact=False,
        description="the best breakpoint, filled up to the budget",
    ),
    SolverInfo(
        "mip",
        "ipforest.solvers.branch_and_bound:solve_budget_branch_and_bound",
        exact=True,
        description="greed, then branch and bound on what is bought",
    ),
)


def available_solvers() -> list[str]:
    """Names of the methods of `solve` whose packages are installed."""
    return [name for name, info in SOLVERS.items() if not info.missing_packages]


def register_solver(
    name: str,
    *,
    takes: Literal["lam", "budget"] = "lam",
    exact: bool = False,
    packages: tuple[str, ...] = (),
    description: str = "",
    canonical: bool = False,
    max_internal: int | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below as a method of `solve`, or of `solve_budget`; cross-checks then know it, too.

    A function that is defined again, such as in a notebook, takes the place of its former self.

    It is called with the instance and lambda (a Fraction), and returns a `Pruning`, an array of bool over the internal
    nodes, or a `PruningResult`. What it claims is checked: the pruning is evaluated again, and its bound is compared
    with the minimum cut, which is also the bound of a solver that gives none. Within a budget (a Fraction) it returns a
    pruning or a `BudgetResult`, whose bound is compared with the pruning of ``greedy``; the bound of ``greedy`` is that
    of a solver that gives none.

    Parameters
    ----------
    name : str
    takes : {"lam", "budget"}
    exact, packages, description, canonical, max_internal
        See `SolverInfo`.

    Returns
    -------
    callable
        Registers a function, and returns it as it is.

    Raises
    ------
    ValueError
        The name is taken, `takes` is neither, or a solver within a budget is said to be canonical.
    TypeError
        The function does not take an instance and lambda, or the budget.

    Examples
    --------
    >>> @register_solver("keep-all")
    ... def keep_all(instance, lam):
    ...     return instance.unpruned
    """
    check_name(name, "register_solver")
    if takes not in ("lam", "budget"):
        raise ValueError(f"takes: expected lam or budget, got {takes!r}")
    if canonical and takes == "budget":
        raise ValueError(
            "canonical: expected False within a budget, where optimal sets need not have a smallest, got True"
        )
    registry, check = (SOLVERS, checked_answer) if takes == "lam" else (BUDGET_SOLVERS, checked_budget_answer)

    def registered(function: Callable[..., Any]) -> Callable[..., Any]:
        check_signature(name, function, "lambda" if takes == "lam" else "the budget")
        if name in registry and is_defined_again(registry[name].target, function):
            registry.remove(name)
        solver = _checked(name, function, check)
        registry.add(SolverInfo(name, solver, exact, packages, description, canonical, max_internal=max_internal))
        return function

    return registered


def check_signature(name: str, function: object, number: str = "lambda") -> None:
    """Require a function that can be called with an instance and a number, and is no class.

    Raises
    ------
    TypeError
        A class, or what cannot be called, or not with these two.
    """
    if inspect.isclass(function):
        raise TypeError(
            f"{name}: expected a function of an instance and {number}, got the class {function.__name__}; give an "
            "object of a class that can be called, or one of its methods"
        )
    check_call(name, function, "an instance", number)


def check_call(name: str, function: object, *arguments: str) -> None:
    """Require what can be called with these arguments; of compiled functions that cannot be known before.

    Raises
    ------
    TypeError
        It cannot be called, or not with these.
    """
    *others, last = arguments
    wanted = f"a function of {', '.join(others)}{' and ' if others else ''}{last}"
    if not callable(function):
        raise TypeError(
            f"{name}: expected {wanted}, got {type(function).__name__}; give an object of a class that can be called, "
            "or one of its methods"
        )
    try:
        signature = inspect.signature(function)
    except ValueError:
        return
    try:
        signature.bind(*arguments)
    except TypeError as problem:
        raise TypeError(
            f"{name}: expected {wanted} whose other parameters have defaults, got "
            f"{getattr(function, '__name__', 'one')}{signature}: {problem}"
        ) from None


def check_name(name: object, decorator: str) -> None:
    """Check the name of a formulation or solver.

    Raises
    ------
    TypeError
        No text; a decorator that is written without a name is given the function.
    ValueError
        An empty text.
    """
    if not isinstance(name, str):
        raise TypeError(f'name: expected a text, as in @{decorator}("mine"), got {type(name).__name__}')
    if not name.strip():
        raise ValueError(f'name: expected a text, as in @{decorator}("mine"), got an empty one')


def is_defined_again(before: object, function: Callable[..., Any]) -> bool:
    """Return whether a function is another one of the same name and module or file: its definition was run again."""
    former = inspect.unwrap(before) if callable(before) else before
    name = getattr(function, "__qualname__", "<lambda>")
    if former is function or name.endswith("<lambda>") or getattr(former, "__qualname__", None) != name:
        return False
    return getattr(former, "__module__", None) == function.__module__ or _file_of(former) == _file_of(function) != ""


def _file_of(function: object) -> str:
    return str(getattr(getattr(function, "__code__", None), "co_filename", ""))


def _checked(name: str, function: Callable[..., Any], check: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def solve(instance: PruningInstance, number: Fraction, **options: Any) -> Any:
        started = perf_counter()
        answer = function(instance, number, **options)
        return check(instance, number, answer, name, perf_counter() - started)

    return solve


def checked_answer(
    instance: PruningInstance, lam: Fraction, answer: object, method: str, runtime_s: float
) -> PruningResult:
    """Turn what a solver from elsewhere returned into a result whose numbers are true.

    Raises
    ------
    TypeError
        Neither a pruning nor a result.
    ValueError
        The pruning does not fit or keeps a node without its parent, a number is not that of the pruning, a bound
        exceeds the optimum, or a result is called optimal whose bound does not meet its objective.
    """
    from ipforest.solvers.min_cut import solve_min_cut

    claim = answer if isinstance(answer, PruningResult) else None
    pruning = _pruning_of(instance, answer, claim, method, "PruningResult", "of")
    evaluation, optimum = instance.evaluate(pruning), solve_min_cut(instance, lam).objective
    true = PruningResult.of(pruning, evaluation, lam, optimum, method=method, runtime_s=runtime_s)
    if claim is None:
        return true
    _check_claim(claim, true)
    return replace(claim, status=claim.status.judged(claim.bound == claim.objective))


def checked_budget_answer(
    instance: PruningInstance, budget: Fraction, answer: object, method: str, runtime_s: float
) -> BudgetResult:
    """Turn what a solver from elsewhere returned within a budget into a result whose numbers are true.

    The mixture, which solves the relaxation, is that of the path.

    Raises
    ------
    TypeError
        Neither a pruning nor a result.
    ValueError
        The pruning does not fit, keeps a node without its parent or exceeds the budget, a number is not that of the
        pruning, or the bound exceeds the error of a pruning within the budget.
    """
    from ipforest.solvers.greedy import solve_budget_greedy

    claim = answer if isinstance(answer, BudgetResult) else None
    pruning = _pruning_of(instance, answer, claim, method, "BudgetResult", "improved")
    error, cost = instance.evaluate(pruning)
    if cost > budget:
        raise ValueError(f"{method}: expected a pruning that costs at most the budget {budget}, got {cost}")
    known = solve_budget_greedy(instance, budget)
    for name, expected in zip(("budget", "error", "cost"), (budget, error, cost), strict=True):
        if claim is not None and getattr(claim, name) != expected:
            raise ValueError(f"{method}: expected the {name} {expected} of its pruning, got {getattr(claim, name)}")
    if claim is not None and claim.bound > known.error:
        raise ValueError(
            f"{method}: expected a bound of at most {known.error}, the error of a pruning within the budget, got "
            f"{claim.bound}"
        )
    bound, ended = (known.bound, Status.OPTIMAL) if claim is None else (max(claim.bound, known.bound), claim.status)
    return known.improved(pruning, (error, cost), bound, method=method, runtime_s=runtime_s, ended=ended)


def _pruning_of(
    instance: PruningInstance,
    answer: object,
    claim: PruningResult | BudgetResult | None,
    method: str,
    result: str,
    maker: str,
) -> Pruning:
    """Return the pruning of an answer, or of the result that it is.

    Raises
    ------
    TypeError
        It is neither.
    """
    pruning = answer if claim is None else claim.pruning
    if isinstance(answer, np.ndarray) and (answer.dtype == np.bool_ or answer.size == instance.n_internal == 0):
        pruning = Pruning(answer)
    if not isinstance(pruning, Pruning):
        kind = type(answer).__name__
        got = f"{kind} of {answer.dtype}" if isinstance(answer, np.ndarray) else kind
        cure = ""
        if isinstance(answer, Number):
            cure = f"; a bound goes into {result}.{maker}, together with its pruning"
        elif isinstance(answer, (np.ndarray, list)):
            cure = "; of shares, give numpy.array(shares) > 0.5"
        raise TypeError(
            f"{method}: expected a Pruning, a {result} or an array of bool over the internal nodes, True where a "
            f"node keeps its test, got {got}{cure}"
        )
    return pruning


def _check_claim(claim: PruningResult, true: PruningResult) -> None:
    """Compare what a solver says of its pruning with the truth, which has the optimum as its bound."""
    for name in ("lam", "error", "cost", "objective"):
        said, expected = getattr(claim, name), getattr(true, name)
        if said != expected:
            raise ValueError(f"{true.method}: expected the {name} {expected} of its pruning, got {said}")
    if claim.bound > true.bound:
        raise ValueError(f"{true.method}: expected a bound of at most the optimum {true.bound}, got {claim.bound}")
    if claim.status is Status.OPTIMAL and claim.gap > 0:
        raise ValueError(
            f"{true.method}: expected the bound {claim.objective} of a result that is optimal, got {claim.bound}; "
            "return the pruning alone where no bound is known"
        )
