"""Named checks of a solver: its result is what it says, its bound is valid, and its promises are kept."""

from __future__ import annotations

import inspect
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from fractions import Fraction
from functools import partial, wraps
from io import StringIO
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ipforest.results import BudgetResult, PruningResult, Status
from ipforest.testing.checks import Check, require_assertions
from ipforest.testing.formulation_checks import quickly
from ipforest.testing.solver_questions import Question, Questions, questions_to
from ipforest.testing.strategies import instances, lambdas
from proofs.corners import corner_instances, delayed_instance, tower_instance, twin_instances

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.solvers.registry import SolverInfo

__all__ = ["check_solver"]

MAX_INTERNAL = 6
HASTE_S = 1e-6
"""A time limit that is over before a search begins."""
THREADS = 4
MAX_CALLS = 10
"""Calls that a solver makes at each of which it is interrupted once."""
PATIENCE_S = 1.0
"""How long a thread may live on after its solver."""
STEP_S = 0.01


def check_solver(
    solver: str | SolverInfo | Callable[..., Any], takes: Literal["lam", "budget"] | None = None
) -> Iterator[tuple[str, Check]]:
    """Yield the checks that a solver must pass.

    Every check looks at a few small instances on which solvers differ; then it draws others with Hypothesis and shrinks
    the one on which it fails; at last it looks at larger ones, of eight to 120 trees, of twelve to 120 examples, and at
    chains of 120 tests. A note on the exception says which instance that is, as JSON. Budgets are
    nothing, what prunings cost, a hair more and less, and a number that pays for everything.

    Parameters
    ----------
    solver : str, SolverInfo or callable
        A name in `ipforest.solvers.SOLVERS` or `BUDGET_SOLVERS`, or what need not be registered: a `SolverInfo`, which
        says what it promises, or a function of an instance and lambda, or the budget, that promises nothing.
    takes : {"lam", "budget"}, optional
        Whether it is a method of `ipforest.solve` or of `ipforest.solve_budget`; without it what it is registered as,
        of `solve` if as both or neither.

    Yields
    ------
    name : str
    check : callable
        Raises an AssertionError, or what the solver itself raises, if it fails.

    Raises
    ------
    ValueError
        No solver has that name, it takes fewer than six internal nodes, or `takes` is neither.
    TypeError
        It cannot be called with an instance and lambda, or the budget.
    RuntimeError
        Python runs with -O, which leaves assert statements out.

    Examples
    --------
    >>> for name, check in check_solver("min-cut"):
    ...     check()
    """
    require_assertions()
    questions = questions_to(solver, takes)
    most = questions.info.max_internal
    if most is not None and most < MAX_INTERNAL:
        raise ValueError(f"max_internal: expected at least {MAX_INTERNAL} for the checks, got {most}")
    for check in (*CHECKS, *(CHECKS_AT_LAMBDA if questions.takes == "lam" else ())):
        yield check.__name__.removeprefix("_check_"), partial(check, questions)


Test: TypeAlias = "Callable[[Questions, PruningInstance, Fraction], None]"


def _over_problems(promise: str | None = None) -> Callable[[Test], Callable[[Questions], None]]:
    """Make a check of a test: over the small problems that tell solvers apart, then over drawn and larger ones.

    Those are left out that a solver does not take; one that does not make the promise is not checked.
    """

    def made(test: Test) -> Callable[[Questions], None]:
        @wraps(test)
        def check(questions: Questions) -> None:
            if promise is not None and not getattr(questions.info, promise):
                return
            for asked in questions.problems():
                _noted(test, questions, *asked)

            @quickly()
            @given(instance=instances(MAX_INTERNAL), number=questions.numbers)
            def drawn(instance: PruningInstance, number: Fraction) -> None:
                _noted(test, questions, instance, number)

            drawn()
            for asked in questions.larger_problems():
                _noted(test, questions, *asked)

        return check

    return made


def _noted(test: Test, questions: Questions, instance: PruningInstance, number: Fraction) -> None:
    """Test a problem that the solver takes; whatever fails goes on, with the problem in words, an interrupt, too."""
    if not questions.info.fits(instance):
        return
    try:
        test(questions, instance, number)
    except BaseException as failure:
        problem = questions.problem(instance, number)
        failure.add_note(f"fails on {problem}: {problem.to_json()}")
        raise


@_over_problems()
def _check_result_is_its_pruning(questions: Questions, instance: PruningInstance, number: Fraction) -> None:
    """Require: the pruning is closed under parents; the result's numbers are its own; the status is true."""
    result = questions.answer(instance, number)
    for name, true in questions.truth(instance, number, result).items():
        said = getattr(result, name)
        assert said == true, f"says that the {name} of its pruning is {said}: it is {true}"
    value = questions.value(result)
    assert (result.status is Status.OPTIMAL) == (result.bound == value), (
        f"has the status {str(result.status)!r} with the {questions.minimises} {value} and the bound {result.bound}"
    )


@_over_problems()
def _check_bound_is_valid(questions: Questions, instance: PruningInstance, number: Fraction) -> None:
    """Require: no pruning goes below the bound."""
    bound, best = questions.answer(instance, number).bound, questions.least(instance, number)
    assert bound <= best, f"the bound {bound} is above the optimum {best}"


@_over_problems("exact")
def _check_exact_is_optimal(questions: Questions, instance: PruningInstance, number: Fraction) -> None:
    """Require: a solver that promises to be exact finds the optimum and proves it."""
    result, best = questions.answer(instance, number), questions.least(instance, number)
    found = questions.value(result)
    assert (found, result.bound) == (best, best), f"finds {found} with the bound {result.bound}: the optimum is {best}"


@_over_problems("canonical")
def _check_canonical_is_smallest(questions: Questions, instance: PruningInstance, lam: Fraction) -> None:
    """Require: a solver that promises the canonical answer returns the optimal pruning that keeps fewest nodes."""
    found, smallest = questions.answer(instance, lam).pruning, questions.optimum(instance, lam).pruning
    assert found == smallest, f"keeps {found.kept.nonzero()[0]}, the smallest {smallest.kept.nonzero()[0]}"


@_over_problems("certifies")
def _check_certificate_is_accepted(questions: Questions, instance: PruningInstance, lam: Fraction) -> None:
    """Require: a solver that promises certificates gives a flow that proves its bound."""
    from proofs.certificates.optimality import verify_optimality

    verdict = verify_optimality(instance, questions.answer(instance, lam))
    assert verdict, f"the certificate is refused: {verdict.reason}"


def _check_falls_with_lambda(questions: Questions) -> None:
    """Require of an exact solver: a larger lambda buys no more, with no lower error."""
    if not questions.info.exact:
        return

    @quickly()
    @given(instance=instances(MAX_INTERNAL), pair=st.lists(lambdas, min_size=2, max_size=2, unique=True))
    def test(instance: PruningInstance, pair: list[Fraction]) -> None:
        small, large = (questions.answer(instance, lam) for lam in sorted(pair))
        assert large.cost <= small.cost, f"costs {small.cost} at {small.lam}, {large.cost} at {large.lam}"
        assert large.error >= small.error, f"error {small.error} at {small.lam}, {large.error} at {large.lam}"

    test()


def _check_end_of_time_leaves_a_result(questions: Questions) -> None:
    """Require of a solver with a ``time_limit``: when it is over at once, there is a pruning with a valid bound."""
    if not questions.info.takes_time_limit:
        return
    info = questions.info
    hasty = replace(questions, info=replace(info, quick_options={**info.quick_options, "time_limit": HASTE_S}))
    _check_result_is_its_pruning(hasty)
    _check_bound_is_valid(hasty)


@_over_problems()
def _check_is_deterministic(questions: Questions, instance: PruningInstance, number: Fraction) -> None:
    """Require: asked twice, it answers twice the same, and it leaves the instance alone."""
    before = instance.fingerprint()
    one, two = questions.answer(instance, number), questions.answer(instance, number)
    assert (one.pruning, one.bound) == (two.pruning, two.bound), "another answer to the same question"
    assert instance.fingerprint() == before, "the instance was changed"


def _check_another_instance_is_not_remembered(questions: Questions) -> None:
    """Require of an exact solver: it tells instances apart that differ in one thing alone, in either order."""
    if not questions.info.exact:
        return
    for pair in twin_instances():
        for number, instance in product(questions.numbers_of_twins(pair), (*pair, *pair[::-1])):
            found, best = questions.value(questions.answer(instance, number)), questions.least(instance, number)
            assert found == best, f"finds {found} after an instance that differs in one thing: the optimum is {best}"


def _check_threads_do_not_disturb_each_other(questions: Questions) -> None:
    """Require: asked from several threads at once, it gives the answers that it gives alone."""
    problems = [(instance, number) for instance in corner_instances() for number in questions.numbers_of(instance)]

    def answer(problem: Question) -> tuple[PruningInstance, Fraction, Fraction]:
        result = questions.answer(*problem)
        return problem[0], questions.value(result), result.bound

    alone = [answer(problem)[1:] for problem in problems]
    with ThreadPoolExecutor(THREADS) as pool:
        together = [found[1:] for found in pool.map(answer, problems * THREADS)]
    assert together == alone * THREADS, "another answer when it is asked from several threads at once"


def _interrupt(solver: object, call: int, calls: Iterator[int], frame: FrameType, event: str, argument: object) -> None:
    """Trace calls; interrupt the one of this number among those that the code of a solver makes."""
    if frame.f_back is not None and frame.f_back.f_code is solver and next(calls) == call:
        raise KeyboardInterrupt


def _check_interrupt_is_passed_on(questions: Questions) -> None:
    """Require: an interrupt in one of the functions that it calls ends it, or gives a result, interrupted or proved."""
    instance = corner_instances()[-1]
    number = questions.numbers_of(instance)[0]
    solver = inspect.unwrap(questions.info.load())
    code = getattr(solver, "__code__", None)
    questions.answer(instance, number)
    for call in range(MAX_CALLS if code is not None else 0):
        calls = count()
        before, hook = sys.gettrace(), sys.unraisablehook
        dropped: list[Any] = []  # what Python itself cannot pass on, as where a generator is closed before its end
        sys.unraisablehook = dropped.append
        sys.settrace(partial(_interrupt, code, call, calls))
        try:
            answer = solver(instance, number, **questions.info.quick_options)
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(before)
            sys.unraisablehook = hook
        ended = isinstance(answer, PruningResult | BudgetResult) and answer.status in (
            Status.INTERRUPTED,
            Status.OPTIMAL,
        )
        assert dropped or next(calls) <= call or ended, "goes on after an interrupt"


def _running_threads() -> set[int]:
    """List the threads that run Python; `threading.enumerate` keeps some that it did not start when they have ended."""
    return set(sys._current_frames())


@contextmanager
def _surroundings() -> Iterator[Callable[[], dict[str, Any]]]:
    """Put the solver into surroundings that it would not make itself; give what tells how they are, and end them."""
    is_main, before = threading.current_thread() is threading.main_thread(), signal.getsignal(signal.SIGINT)
    folder, known = Path.cwd(), _running_threads()

    def state() -> dict[str, Any]:
        deadline = monotonic() + PATIENCE_S
        while _running_threads() - known and monotonic() < deadline:
            sleep(STEP_S)
        return {
            "random": str((random.getstate(), np.random.get_state(legacy=False))),  # noqa: NPY002  # that of all
            "numpy.errstate": np.geterr(),
            "SIGINT": signal.getsignal(signal.SIGINT),
            "directory": (Path.cwd(), [*Path(own).iterdir()]),
            "warnings.filters": list(warnings.filters),
            "the standard output": (sys.stdout, printed.getvalue()),
            "threads": _running_threads() - known,
        }

    with (
        TemporaryDirectory() as own,
        np.errstate(all="warn"),
        warnings.catch_warnings(),
        redirect_stdout(StringIO()) as printed,
    ):
        warnings.filterwarnings("default", message="nothing that a solver says")
        os.chdir(own)
        if is_main:
            signal.signal(signal.SIGINT, lambda number, frame: signal.default_int_handler(number, frame))
        try:
            yield state
        finally:
            os.chdir(folder)
            if is_main:
                signal.signal(signal.SIGINT, before)


def _check_global_state_is_left_alone(questions: Questions) -> None:
    """Require: it leaves alone random numbers, floating-point errors, warnings, SIGINT, directory, output, threads.

    The first call may import what sets them.
    """
    drawn, drawn_by_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # to be put back
    try:
        for instance in filter(questions.info.fits, (*corner_instances(), tower_instance())):
            number = questions.numbers_of(instance)[0]
            questions.answer(instance, number)
            random.random()
            np.random.random()  # noqa: NPY002  # a solver that seeds again is found by what was drawn since
            with _surroundings() as state:
                before = state()
                questions.answer(instance, number)
                after = state()
            changed = [name for name in before if before[name] != after[name]]
            assert not changed, f"changes what belongs to all: {', '.join(changed)}"
    finally:
        random.setstate(drawn)
        np.random.set_state(drawn_by_numpy)  # noqa: NPY002  # as it was


@_over_problems("exact")
def _check_order_of_trees_does_not_matter(questions: Questions, instance: PruningInstance, number: Fraction) -> None:
    """Require of an exact solver: trees in another order have the same optimum."""
    turned = with_trees_in_order(instance, range(instance.n_trees - 1, -1, -1))
    one, two = (questions.value(questions.answer(each, number)) for each in (instance, turned))
    assert one == two, f"{one} in one order of the trees, {two} in another"


def _check_delayed_tests_are_right_or_refused(questions: Questions) -> None:
    """Require of an exact solver: below a delayed test it finds the optimum, or its ValueError says "delayed".

    There an acquisition stands at several nodes of a tree; it is bought where any of them is kept.
    """
    if not questions.info.exact:
        return
    instance = delayed_instance()
    for number in questions.numbers_of(instance):
        try:
            found = questions.value(questions.answer(instance, number))
        except ValueError as refusal:
            if "delayed" in str(refusal):
                return
            raise
        best = questions.least(instance, number)
        assert found == best, f"finds {found} on an instance with a delayed test: the optimum is {best}"


def _check_refuses_a_negative_lambda(questions: Questions) -> None:
    """Require: it raises an error at a negative lambda, which `solve` refuses before; a result would be wrong."""

    @quickly(4)
    @given(instance=instances(MAX_INTERNAL))
    def test(instance: PruningInstance) -> None:
        try:
            questions.answer(instance, Fraction(-1))
        except Exception:  # a tool's own, of a program without an optimum
            return
        raise AssertionError("expected an error at lambda -1, got a result")

    test()


def with_trees_in_order(instance: PruningInstance, order: Sequence[int]) -> PruningInstance:
    """Return the same instance with its trees in another order.

    Parameters
    ----------
    instance : PruningInstance
    order : sequence of int
        The present number of each tree.
    """
    offsets = instance.tree_offsets
    nodes = np.concatenate([np.arange(offsets[t], offsets[t + 1]) for t in order])
    place = np.empty(nodes.size, dtype=np.int64)
    place[nodes] = np.arange(nodes.size)
    parents = instance.node_parent[nodes]
    internal = np.flatnonzero(np.isin(nodes, instance.internal_nodes))
    rows = np.searchsorted(instance.internal_nodes, nodes[internal])
    lengths = np.diff(instance.indptr)[rows]
    parts = [instance.indices[instance.indptr[row] : instance.indptr[row + 1]] for row in rows]
    leaves = instance.example_leaf
    return replace(
        instance,
        tree_offsets=np.concatenate([[0], np.cumsum(np.diff(offsets)[list(order)])]),
        node_parent=np.where(parents >= 0, place[parents], -1),
        errors=instance.errors[nodes],
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=np.concatenate(parts) if parts else instance.indices,
        split_cost=instance.split_cost[rows],
        example_leaf=None if leaves is None else place[leaves[list(order)]].astype(np.int32),
    )


CHECKS: tuple[Callable[[Questions], None], ...] = (
    _check_result_is_its_pruning,
    _check_bound_is_valid,
    _check_exact_is_optimal,
    _check_end_of_time_leaves_a_result,
    _check_is_deterministic,
    _check_another_instance_is_not_remembered,
    _check_threads_do_not_disturb_each_other,
    _check_interrupt_is_passed_on,
    _check_global_state_is_left_alone,
    _check_order_of_trees_does_not_matter,
    _check_delayed_tests_are_right_or_refused,
)
CHECKS_AT_LAMBDA = (
    _check_canonical_is_smallest,
    _check_certificate_is_accepted,
    _check_falls_with_lambda,
    _check_refuses_a_negative_lambda,
)
