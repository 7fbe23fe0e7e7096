"""Named checks of a formulation: what it promises, and that its 0-1 points are the prunings at their objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ipforest._internal.arrays import FloatArray, IntArray
from ipforest.testing.checks import Check, require_assertions
from ipforest.testing.strategies import budgets, instances, lambdas
from proofs.corners import corner_numbers, delayed_instance, larger_problems, problems_of_many_trees, telling_problems

if TYPE_CHECKING:
    from formulations.base import Formulation, ModelSpecification
    from ipforest.instance import PruningInstance
    from ipforest.results import Pruning
    from ipforest.solvers.linear_program import LinearProgram

__all__ = ["check_formulation"]

Own: TypeAlias = "Sequence[PruningInstance] | None"
"""Instances to look at, in place of the corner instances and drawn ones."""
_Problem: TypeAlias = "tuple[PruningInstance, Fraction | None]"
EXAMPLES = 10
MAX_INTERNAL = 4
MAX_TREES = 2
"""What joins trees joins two; a counterexample is then small."""
OBJECTIVES = 2
"""Random objectives for each program."""
RAISE = 4.0
"""By how much an objective is raised to compare two relaxations, of the sum of its coefficients."""
ROOM = 1e-6
"""How far floats of a solver may be from an exact number, of the number or of one unit."""


def quickly(examples: int = EXAMPLES) -> settings:
    """Return settings of Hypothesis: the same examples each time, shrunk, without a database or a deadline."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def check_formulation(
    formulation: str | Formulation,
    as_strong_as: str | Formulation | None = None,
    instances: Sequence[PruningInstance] | None = None,
) -> Iterator[tuple[str, Check]]:
    """Yield the checks that a formulation must pass, as `sklearn.utils.estimator_checks` does for estimators.

    Every check looks at a few small instances on which each row of the known programs matters, at most two trees and
    two examples; then it draws others with Hypothesis and shrinks the one on which it fails. Optimum and bound are
    compared on larger ones, too: of seventy examples, of nine trees, a test that many examples pass, a long chain of
    tests. A note on the exception says which instance that is, as JSON that `proofs.study.problem.Problem.from_json`
    reads.

    Parameters
    ----------
    formulation : str or Formulation
        A name in `formulations.FORMULATIONS`, or a formulation that need not be registered.
    as_strong_as : str or Formulation, optional
        Another formulation whose relaxation must give the same bounds: one that this one rewrites. Without it a
        constraint that only strengthens the relaxation of a formulation that does not promise `integral` may be
        missing.
    instances : sequence of PruningInstance, optional
        Look at these alone. All their prunings are tried one by one, so they must be small.

    Yields
    ------
    name : str
    check : callable
        Raises an AssertionError, or what the formulation itself raises, if it fails.

    Raises
    ------
    RuntimeError
        Python runs with -O, which leaves assert statements out.

    Examples
    --------
    >>> for name, check in check_formulation("ip3"):
    ...     check()
    """
    from formulations.registry import formulation as formulation_named

    require_assertions()
    program = formulation_named(formulation)
    for check in CHECKS:
        yield check.__name__.removeprefix("_check_"), partial(check, program, instances)
    if as_strong_as is not None:
        other = formulation_named(as_strong_as)
        yield f"relaxation_is_that_of_{other.name}", partial(_check_relaxation_is_that_of, other, program, instances)


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A formulation of one drawn instance, its 0-1 program and what its objective is to be."""

    specification: ModelSpecification
    program: LinearProgram

    @property
    def instance(self) -> PruningInstance:
        return self.specification.instance

    @property
    def formulation(self) -> Formulation:
        return self.specification.formulation

    @property
    def unit(self) -> float:
        """What one unit of the program's objective is worth in ``error + lam * cost``."""
        return float(self.specification.objective_unit) if self.formulation.integer_units else 1.0

    def worth(self, pruning: Pruning) -> Fraction | None:
        """Return the objective that a pruning must have; None if it is not allowed."""
        return self.formulation.worth(self.specification, pruning)

    def optimum(self) -> Fraction | None:
        """Return the least objective of all prunings, tried one by one; None if none is allowed."""
        from proofs.crosschecks.brute_force import prunings

        worths = (self.worth(pruning) for pruning in prunings(self.instance))
        return min((worth for worth in worths if worth is not None), default=None)

    def relaxed(self) -> LinearProgram:
        return replace(self.program, integer=np.zeros(self.program.n_columns, dtype=bool))

    def read(self, values: FloatArray) -> Pruning:
        """Read a pruning from a 0-1 point."""
        from formulations.exact_results import integral_pruning

        return integral_pruning(self.specification, values)


def _drawn_problems(program: Formulation, max_internal: int = MAX_INTERNAL) -> st.SearchStrategy[_Problem]:
    """Draw instances that the formulation can be stated for, and the number that it takes."""
    numbers = {"lam": lambdas, "budget": budgets, "nothing": st.none()}[program.takes]
    drawn = instances(max_internal, 1 if program.one_tree else MAX_TREES).filter(program.fits)
    return st.tuples(drawn, numbers)


def _first_problems(program: Formulation, own: Own = None) -> Iterator[_Problem]:
    """Make the problems that tell formulations apart, or those of one's own instances."""
    if own is None:
        yield from telling_problems(program)
        return
    for instance in filter(program.fits, own):
        yield from ((instance, number) for number in corner_numbers(instance, program.takes))


def _case(program: Formulation, instance: PruningInstance, number: Fraction | None) -> _Case:
    from formulations import matrix
    from formulations.specification import specify

    specification = specify(program, instance, **program.numbers(number))
    return _Case(specification, matrix(program.build(specification)))


def _near(value: float, exact: Fraction) -> bool:
    return abs(value - float(exact)) <= ROOM * max(1.0, abs(float(exact)))


def _solved(program: LinearProgram) -> tuple[float, FloatArray]:
    """Solve a program that must have an optimum."""
    solution = _solution(program)
    assert solution is not None, "the program has no point"
    return solution


def _optimum_and_best(case: _Case) -> tuple[float, FloatArray, Fraction] | None:
    """Solve the 0-1 program, and find the best of all prunings; None if there is neither."""
    best, solution = case.optimum(), _solution(case.program)
    if best is None:
        assert solution is None, "the program has a point, but no pruning is allowed"
        return None
    assert solution is not None, "the program has no point"
    return *solution, best


def _solution(program: LinearProgram) -> tuple[float, FloatArray] | None:
    """Solve a program; None if it has no point."""
    from ipforest.solvers.highs import INFEASIBLE, NoOptimumError, run

    try:
        solution = run(program)
    except NoOptimumError as ended:
        if ended.ending == INFEASIBLE:
            return None
        raise AssertionError(f"the program has no optimum: {ended}") from ended
    assert solution.values is not None, "the solver gave no point"
    return solution.objective, solution.values


def _goals(case: _Case) -> list[FloatArray]:
    """Return objectives that look for points that are no prunings.

    They are random ones, and for each internal node the least and the greatest share, and the share of its parent less
    its own, unless bounds alone keep them where they must be.
    """
    constant, rows = _shares_as_rows(case)
    below = np.flatnonzero(case.instance.parent >= 0)
    above = case.instance.parent[below]
    least = [*zip(rows, constant, strict=True), *zip(-rows, 1 - constant, strict=True)]
    least += zip(rows[above] - rows[below], constant[above] - constant[below], strict=True)
    return _random_goals(case) + [goal for goal, start in least if _least_within_bounds(case.program, goal) + start < 0]


def _least_within_bounds(program: LinearProgram, goal: FloatArray) -> float:
    used = goal != 0
    return float(goal[used] @ np.where(goal > 0, program.lower, program.upper)[used])


def _random_goals(case: _Case) -> list[FloatArray]:
    """Draw objectives; a variable without a bound is not driven there, as the program would have no optimum."""
    rng, program = np.random.default_rng(case.instance.n_nodes + case.program.n_columns), case.program
    drawn = rng.integers(-9, 10, size=(OBJECTIVES, program.n_columns)).astype(np.float64)
    least = np.where(np.isinf(program.upper), 0.0, -np.inf)
    most = np.where(np.isinf(program.lower), 0.0, np.inf)
    turned = np.where((drawn < least) | (drawn > most), -drawn, drawn)
    return list(np.clip(turned, least, most))


def _over(
    max_internal: int = MAX_INTERNAL, larger: bool = False
) -> Callable[[Callable[[_Case], None]], Callable[[Formulation, Own], None]]:
    """Make a check of a test: over the corner cases, then over drawn ones, and larger ones if asked; or one's own."""

    def made(test: Callable[[_Case], None]) -> Callable[[Formulation, Own], None]:
        @wraps(test)
        def check(program: Formulation, own: Own) -> None:
            for problem in _first_problems(program, own):
                _noted(program, test, *problem)
            if own is not None:
                return

            @quickly()
            @given(problem=_drawn_problems(program, max_internal))
            def drawn(problem: _Problem) -> None:
                _noted(program, test, *problem)

            drawn()
            for problem in larger_problems(program) if larger else ():
                _noted(program, test, *problem)

        return check

    return made


def _noted(
    program: Formulation, test: Callable[[_Case], None], instance: PruningInstance, number: Fraction | None
) -> None:
    """State a problem and test it; whatever fails goes on, with the problem in words and as JSON."""
    from proofs.study.problem import Problem

    try:
        test(_case(program, instance, number))
    except Exception as failure:  # whatever failed goes on, with the problem in words
        problem = Problem(instance, **program.numbers(number))
        failure.add_note(f"fails on {problem}: {problem.to_json()}")
        raise


@_over()
def _check_builds_a_model(case: _Case) -> None:
    """Require: it writes a linear Pyomo model with one minimised objective; the relaxation has no integer variables."""
    from formulations import matrix
    from formulations._pyomo import pyo

    model = case.formulation.build(case.specification)
    assert isinstance(model, pyo.ConcreteModel), f"expected a ConcreteModel, got {type(model).__name__}"
    assert not case.program.maximised, "the objective is maximised, where error + lam * cost is to be minimised"
    relaxed = matrix(case.formulation.build(replace(case.specification, relaxed=True)))
    assert not relaxed.is_integer, "the relaxation has integer variables"
    assert list(relaxed.column_labels) == list(case.program.column_labels), "the relaxation has other variables"


def _check_refuses_what_it_does_not_take(program: Formulation, own: Own) -> None:
    """Require: it refuses the number that it does not take, and several trees or missing routing if it says so."""
    import formulations

    @quickly(4)
    @given(instance=instances(MAX_INTERNAL, 1))
    def numbers(instance: PruningInstance) -> None:
        _assert_refused(lambda: formulations.build(program, instance, 1, 1), "expected None")
        if program.takes != "nothing":
            _assert_refused(lambda: formulations.build(program, instance), program.takes)
            negative: dict[str, Any] = {program.takes: -1}
            _assert_refused(lambda: formulations.build(program, instance, **negative), program.takes)
        if program.routing:
            unrouted = replace(instance, example_leaf=None)
            assert not program.fits(unrouted)
            _assert_refused(lambda: program.check_instance(unrouted), "example_leaf")

    numbers()
    if program.one_tree:

        @quickly(4)
        @given(instance=instances(MAX_INTERNAL, 2).filter(lambda instance: instance.n_trees > 1))
        def trees(instance: PruningInstance) -> None:
            assert not program.fits(instance)
            _assert_refused(lambda: program.check_instance(instance), "one tree")

        trees()


def _assert_refused(call: Callable[[], Any], word: str) -> None:
    try:
        call()
    except ValueError as refusal:
        said = str(refusal)
    else:
        raise AssertionError(f"expected a ValueError that says {word!r}, got none")
    assert word in said, f"expected a refusal that says {word!r}, got {said}"


@_over()
def _check_arrays_equal_the_model(case: _Case) -> None:
    """Require: its arrays are the rows and columns of its Pyomo model, in the same order."""
    arrays = case.formulation.linear_program(case.specification)
    assert arrays.A.shape == case.program.A.shape, f"{arrays.A.shape} against {case.program.A.shape}"
    assert (arrays.A != case.program.A).nnz == 0, "other entries"
    for part in ("senses", "rhs", "objective", "lower", "upper", "integer"):
        assert np.array_equal(getattr(arrays, part), getattr(case.program, part)), f"other {part}"
    assert arrays.constant == case.program.constant, "another constant"
    for part in ("row_labels", "column_labels"):
        assert list(getattr(arrays, part)) == list(getattr(case.program, part)), f"other {part}"


@_over()
def _check_size_is_that_of_the_model(case: _Case) -> None:
    """Require: it counts its variables and rows."""
    size = case.formulation.size(case.instance)
    found = (case.program.n_columns, case.program.n_rows)
    assert (size.variables, size.constraints) == found, f"{size}, but the model has {found}"


@_over(larger=True)
def _check_optimum_is_that_of_all_prunings(case: _Case) -> None:
    """Require: the optimum of its 0-1 program is the least objective of all prunings, and its point is one of them."""
    found = _optimum_and_best(case)
    if found is None:
        return
    objective, values, best = found
    assert _near(objective * case.unit, best), f"optimum {objective * case.unit:.9g}, of all prunings {best}"
    pruning = case.read(values)
    assert case.worth(pruning) == best, f"the optimal point's pruning has {case.worth(pruning)}, the best {best}"


@_over(MAX_INTERNAL + 2)
def _check_points_are_prunings(case: _Case) -> None:
    """Require: 0-1 points read as prunings within the budget, at no smaller objective."""
    if case.optimum() is None:
        return
    for goal in _goals(case):
        _, values = _solved(replace(case.program, objective=goal))
        pruning = case.read(values)
        worth = case.worth(pruning)
        assert worth is not None, "a point's pruning is not allowed, or exceeds the budget"
        stated = float(case.program.objective @ values + case.program.constant) * case.unit
        assert stated >= float(worth) - ROOM * max(1.0, float(worth)), (
            f"a point has the objective {stated:.9g}, its pruning {worth}"
        )


def _check_prunings_are_points(program: Formulation, own: Own) -> None:
    """Require: the prunings (within the budget), and no others, have points, the best of which has their objective.

    Of many trees only the unpruned forest and bare roots are looked at.
    """
    from proofs.crosschecks.brute_force import prunings

    _over(max_internal=3)(lambda case: _test_points_of(case, prunings(case.instance)))(program, own)
    for problem in problems_of_many_trees(program) if own is None else ():
        _noted(program, _test_points_of_all_and_none, *problem)


def _test_points_of_all_and_none(case: _Case) -> None:
    _test_points_of(case, (case.instance.unpruned, case.instance.roots_only))


def _test_points_of(case: _Case, prunings: Iterable[Pruning]) -> None:
    shares = _shares_as_rows(case)
    for pruning in prunings:
        best = _solution(_fixed(case.program, shares, pruning))
        worth = case.worth(pruning)
        assert (best is None) == (worth is None), (
            f"{pruning} has no point" if best is None else f"{pruning} has a point, but is not allowed (budget)"
        )
        if best is not None and worth is not None:
            assert _near(best[0] * case.unit, worth), (
                f"{pruning} has the objective {worth}, its best point {best[0] * case.unit:.9g}"
            )


def _check_delayed_tests_are_right_or_refused(program: Formulation, own: Own) -> None:
    """Require: below a delayed test its prunings have their objectives, or its ValueError says "delayed".

    There an acquisition stands at several nodes of a tree; it is bought where any of them is kept.
    """
    from proofs.crosschecks.brute_force import prunings

    instance = delayed_instance()
    for number in corner_numbers(instance, program.takes) if own is None and program.fits(instance) else ():
        try:
            _noted(program, lambda case: _test_points_of(case, prunings(case.instance)), instance, number)
        except ValueError as refusal:
            if "delayed" not in str(refusal):
                raise


def _shares_as_rows(case: _Case) -> tuple[FloatArray, FloatArray]:
    """Read x = constant + rows @ values off the formulation, which must read a pruning by an affine map."""
    n, read = case.program.n_columns, case.formulation.reader(case.specification)
    constant = read(np.zeros(n))
    rows = np.zeros((case.instance.n_internal, n))
    for column, unit in enumerate(np.eye(n)):
        rows[:, column] = read(unit) - constant
    at = np.linspace(0, 1, n)
    assert np.allclose(read(at), constant + rows @ at), "kept_shares is no affine function of the point"
    return constant, rows


def _fixed(program: LinearProgram, shares: tuple[FloatArray, FloatArray], pruning: Pruning) -> LinearProgram:
    """Add the rows that make a program's point read as this pruning."""
    from scipy.sparse import csr_array, vstack

    constant, rows = shares
    return replace(
        program,
        A=csr_array(vstack([program.A, csr_array(rows)], format="csr")),
        senses=np.append(program.senses, np.full(len(rows), "==", dtype="<U2")),
        rhs=np.append(program.rhs, pruning.kept - constant),
        row_labels=(*program.row_labels, *(f"kept[{row}]" for row in range(len(rows)))),
    )


@_over(larger=True)
def _check_relaxation_bounds_the_optimum(case: _Case) -> None:
    """Require: the relaxation's optimum is at most that of all prunings, and equal if ``integral`` is promised."""
    optimum = case.optimum()
    if optimum is None:
        return
    bound, best = _solved(case.relaxed())[0] * case.unit, float(optimum)
    room = ROOM * max(1.0, best)
    assert bound <= best + room, f"the relaxation gives {bound:.9g}, above the optimum {best:.9g}"
    if case.formulation.integral:
        assert bound >= best - room, f"integral, but the relaxation gives {bound:.9g}, below {best:.9g}"


def _check_relaxation_is_that_of(other: Formulation, program: Formulation, own: Own) -> None:
    """Require: its relaxation gives the other's bound; with the same columns also where coefficients are raised."""

    def test(case: _Case) -> None:
        twin = _case(other, case.instance, case.specification.number)
        raised: list[FloatArray | float] = [0.0]
        if list(case.program.column_labels) == list(twin.program.column_labels):
            most = RAISE * max(1.0, float(np.abs(case.program.objective).sum()))
            raised += [most * goal for goal in _rows_as_goals(twin)]
        for more in raised:
            bound, known = (_bound(one, more) for one in (case, twin))
            assert abs(bound - known) <= ROOM * max(1.0, abs(known)), (
                f"the relaxation gives {bound:.9g}, that of {other.name} {known:.9g}"
            )

    _over()(test)(program, own)


def _bound(case: _Case, more: FloatArray | float) -> float:
    """Return the relaxation's bound after a rise of the objective's coefficients, in ``error + lam * cost``."""
    return _solved(replace(case.relaxed(), objective=case.program.objective + more))[0] * case.unit


def _rows_as_goals(case: _Case) -> list[FloatArray]:
    """Return raises of errors and prices that a row bounds: the row, and equations added to it where that helps.

    A relaxation without the row has a lower optimum for one of them, unless what it gains is worth nothing at errors
    and prices >= 0.
    """
    program, goals = case.program, []
    for row, sense in enumerate(program.senses):
        others = np.flatnonzero((program.senses == "==") & (np.arange(program.n_rows) != row))
        entries = program.A[[row]].toarray()[0]
        for sign in {"<=": (-1.0,), ">=": (1.0,), "==": (-1.0, 1.0)}[str(sense)]:
            goal = _as_raise(case, sign * entries, others)
            if goal is not None and goal.any():
                goals.append(goal)
    return list({goal.tobytes(): goal for goal in goals}.values())


def _as_raise(case: _Case, goal: FloatArray, equations: IntArray) -> FloatArray | None:
    """Add equations until the goal is one of higher coefficients, or of errors where trees stop; else None."""
    from scipy.optimize import linprog

    A, stops = case.program.A[equations].toarray(), _stops_as_rows(case)
    worth = np.concatenate([A.sum(axis=1), np.full(len(stops), 1e-3)])
    free, used = [(None, None)] * len(A), [(0, None)] * len(stops)
    found = linprog(worth, A_ub=np.vstack([-A, stops]).T, b_ub=goal, bounds=[*free, *used])
    return None if found.x is None else np.round(goal + A.T @ found.x[: len(A)], 9)


def _stops_as_rows(case: _Case) -> FloatArray:
    """Read how far the tree stops at each internal node off the formulation: its parent's share less its own."""
    _, rows = _shares_as_rows(case)
    above = case.instance.parent
    return np.where(above[:, None] >= 0, rows[np.maximum(above, 0)], 0.0) - rows


def _check_integral_is_kept(program: Formulation, own: Own) -> None:
    """Require: where ``integral`` is promised, the relaxation's vertices are integral: random objectives."""
    from ipforest.testing.assertions import assert_integral
    from proofs.integrality.exact_points import asked_columns

    def test(case: _Case) -> None:
        for goal in _random_goals(case) if case.optimum() is not None else []:
            _, values = _solved(replace(case.relaxed(), objective=goal))
            if (np.abs(values - np.rint(values)) * asked_columns(case.program)).max(initial=0) > ROOM:
                assert_integral(replace(case.program, objective=goal))
                raise AssertionError("integral is promised, but a vertex is fractional")

    if program.integral:
        _over()(test)(program, own)


@_over()
def _check_network_is_its_matrix(case: _Case) -> None:
    """Require: if it names a network, that network's path matrix is its matrix, which makes it totally unimodular."""
    from proofs.unimodularity.network_certificate import NetworkCertificate

    network = case.formulation.network(case.instance)
    if network is not None:
        parts = network.parent, network.column_vertex, network.away, network.tail, network.head
        certificate = NetworkCertificate(*parts)
        verdict = certificate.check(case.program.A.astype(np.int64))
        assert verdict, f"the network is not that of the matrix: {verdict.reason}"


@_over()
def _check_multipliers_bound_the_optimum(case: _Case) -> None:
    """Require: the multipliers that it reads from duals are one a triple, and give a bound that is valid."""
    from formulations.exact_results import multipliers
    from ipforest.solvers.highs import run
    from ipforest.solvers.tree_dp import lagrangian_bound, within_prices

    program = case.formulation
    best = case.optimum() if program.takes == "lam" else None
    duals = None if best is None else run(case.relaxed()).row_duals
    if duals is None or best is None or program.multipliers(case.specification, duals) is None:
        return
    found = multipliers(case.specification, duals)
    assert found.shape == (case.instance.n_triples,), f"expected a multiplier a triple, got {found.shape}"
    p, q = case.specification.weights
    bound, _ = lagrangian_bound(case.instance, p, q, within_prices(case.instance, p, found))
    assert bound * case.specification.objective_unit <= best, "the multipliers' bound is above the optimum"


CHECKS: tuple[Callable[[Formulation, Own], None], ...] = (
    _check_builds_a_model,
    _check_refuses_what_it_does_not_take,
    _check_arrays_equal_the_model,
    _check_size_is_that_of_the_model,
    _check_optimum_is_that_of_all_prunings,
    _check_points_are_prunings,
    _check_prunings_are_points,
    _check_delayed_tests_are_right_or_refused,
    _check_relaxation_bounds_the_optimum,
    _check_integral_is_kept,
    _check_network_is_its_matrix,
    _check_multipliers_bound_the_optimum,
)
