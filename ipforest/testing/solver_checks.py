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
from functools import partial
from io import StringIO
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ipforest.results import PruningResult, Status
from ipforest.solvers.registry import SOLVERS, SolverInfo, check_signature, checked_answer
from ipforest.testing.checks import Check, require_assertions
from ipforest.testing.formulation_checks import quickly
from ipforest.testing.strategies import instances, lambdas
from proofs.corners import (
    corner_instances,
    costlier_for_the_second,
    crowded_instances,
    delayed_instance,
    in_finer_units,
    tower_instance,
    twin_instances,
)

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance

__all__ = ["check_solver"]

MAX_INTERNAL = 6
CORNER_LAMBDAS = (Fraction(1, 2), Fraction(1, 5))
"""At the second, the last corner instance is pruned well only by a solver that knows what trees share."""
FAR = 10**7
"""A lambda far above those that instances are drawn with."""
HASTE_S = 1e-6
"""A time limit that is over before a search begins."""
MAX_TRIED = 10_000
"""Prunings that are tried one by one; of more, a certificate proves the best."""
THREADS = 4
MAX_CALLS = 10
"""Calls that a solver makes at each of which it is interrupted once."""
PATIENCE_S = 1.0
"""How long a thread may live on after its solver."""
MAX_OPTIMA = 1000
"""Optima that are kept; the checks of one solver look at fewer problems."""
_OPTIMA: dict[tuple[str, Fraction], PruningResult] = {}
"""Optima by the fingerprint of the instance and lambda."""


def _problems() -> Iterator[tuple[PruningInstance, Fraction]]:
    """Make the small problems that tell solvers apart.

    25/78 lies between the breakpoints 4/13 and 1/3 of the last corner instance, where a rounded lambda does not. Two
    lambdas next to 1/3 are it in twelve digits, and make integers as large as floats hold. On the chain the second
    example pays twice the price of the first for the same unit. Some nodes of the last instance are worth their price
    at very large and small lambdas; its integers may need more than 32 bits.
    """
    from proofs.crosschecks.random_instances import random_instance

    corners = corner_instances()
    yield from product((*corners, *crowded_instances()), CORNER_LAMBDAS)
    yield corners[-1], Fraction(25, 78)
    yield from ((corners[-1], Fraction(1, 3) + side * Fraction(1, 10**13)) for side in (1, -1))
    yield from ((corners[-1], lam) for lam in (Fraction(0), Fraction(FAR)))
    yield costlier_for_the_second(corners[2]), CORNER_LAMBDAS[1]
    nine_nodes = random_instance(np.random.default_rng(1))
    for far in (Fraction(100), Fraction(FAR), Fraction(1, FAR)):
        yield replace(nine_nodes, cost_unit=nine_nodes.cost_unit / far), far
    yield in_finer_units(nine_nodes), Fraction(3, 2)


def _larger_problems() -> Iterator[tuple[PruningInstance, Fraction]]:
    """Make problems of eight and sixteen trees, and of two that many examples pass, just above breakpoints of the path.

    There what a node needs decides whether it is kept: on the eight trees 25 of 27 triples matter. Those of seventy
    examples have more than 64 acquisitions, which sets of bits in one integer do not hold. At last comes a chain of
    120 tests, all or none of which are worth their price.
    """
    from ipforest.path_search import prune_path
    from proofs.study.generated_forests import Shape, generated_instance

    sizes = ((8, 2, 3, 20), (2, 3, 12, 9), (2, 2, 70, 5), (16, 3, 20, 6))
    for shape in (Shape(trees, depth, examples, units) for trees, depth, examples, units in sizes):
        instance = generated_instance(np.random.default_rng(0), shape)
        yield from ((instance, lam + Fraction(1, 10**6)) for lam in prune_path(instance).breakpoints)
    yield from product((tower_instance(),), (Fraction(1, 5), Fraction(FAR)))


def check_solver(solver: str | SolverInfo | Callable[..., Any]) -> Iterator[tuple[str, Check]]:
    """Yield the checks that a solver must pass.

    Every check looks at a few small instances on which solvers differ; then it draws others with Hypothesis and shrinks
    the one on which it fails; at last it looks at larger ones, of eight and sixteen trees, of twelve and of seventy
    examples, and at a chain of 120 tests. A note on the exception says which instance that is, as JSON.

    Parameters
    ----------
    solver : str, SolverInfo or callable
        A name in `ipforest.solvers.SOLVERS`, or what need not be registered: a `SolverInfo`, which says what it
        promises, or a function of an instance and lambda that promises nothing.

    Yields
    ------
    name : str
    check : callable
        Raises an AssertionError, or what the solver itself raises, if it fails.

    Raises
    ------
    ValueError
        No solver has that name, or it takes fewer than six internal nodes.
    TypeError
        It cannot be called with an instance and lambda.
    RuntimeError
        Python runs with -O, which leaves assert statements out.

    Examples
    --------
    >>> for name, check in check_solver("min-cut"):
    ...     check()
    """
    require_assertions()
    info = _info(solver)
    if info.max_internal is not None and info.max_internal < MAX_INTERNAL:
        raise ValueError(f"max_internal: expected at least {MAX_INTERNAL} for the checks, got {info.max_internal}")
    for check in CHECKS:
        yield check.__name__.removeprefix("_check_"), partial(check, info)


def _info(solver: str | SolverInfo | Callable[..., Any]) -> SolverInfo:
    if isinstance(solver, SolverInfo):
        return solver
    if isinstance(solver, str):
        return SOLVERS.look_up(solver)
    name = getattr(solver, "__name__", "solver")
    check_signature(name, solver)
    return SolverInfo(name, solver, exact=False)


def _solve(info: SolverInfo, instance: PruningInstance, lam: Fraction) -> PruningResult:
    """Ask the solver; a bare pruning becomes a result, a result is given as it came."""
    answer = info.load()(instance, lam, **info.quick_options)
    return answer if isinstance(answer, PruningResult) else checked_answer(instance, lam, answer, info.name, 0.0)


def _optimum(instance: PruningInstance, lam: Fraction) -> PruningResult:
    """Return the smallest optimal pruning, by trying all or with a proof; once for each problem of many checks."""
    from proofs.certificates.optimality import verify_optimality
    from proofs.crosschecks.brute_force import brute_force, count_prunings

    key = instance.fingerprint(), lam
    if key not in _OPTIMA:
        if len(_OPTIMA) >= MAX_OPTIMA:
            _OPTIMA.clear()
        if count_prunings(instance) <= MAX_TRIED:
            _OPTIMA[key] = brute_force(instance, lam)
        else:
            _OPTIMA[key] = SOLVERS["min-cut"].load()(instance, lam)
            assert verify_optimality(instance, _OPTIMA[key])
    return _OPTIMA[key]


def _over_problems(info: SolverInfo) -> Callable[[Callable[[PruningInstance, Fraction], None]], None]:
    """Run a test over the small problems that tell solvers apart, then over drawn and larger ones that it takes."""

    def run(test: Callable[[PruningInstance, Fraction], None]) -> None:
        def noted(instance: PruningInstance, lam: Fraction) -> None:
            from proofs.study.problem import Problem

            if not info.fits(instance):
                return
            try:
                test(instance, lam)
            except BaseException as failure:  # whatever failed goes on, with the problem in words; so does an interrupt
                problem = Problem(instance, lam)
                failure.add_note(f"fails on {problem}: {problem.to_json()}")
                raise

        for problem in _problems():
            noted(*problem)

        @quickly()
        @given(instance=instances(MAX_INTERNAL), lam=lambdas)
        def drawn(instance: PruningInstance, lam: Fraction) -> None:
            noted(instance, lam)

        drawn()
        for problem in _larger_problems():
            noted(*problem)

    return run


def _check_result_is_its_pruning(info: SolverInfo) -> None:
    """Require: the pruning is closed under parents; error, cost and objective are its own; the status is true."""

    @_over_problems(info)
    def test(instance: PruningInstance, lam: Fraction) -> None:
        result = _solve(info, instance, lam)
        error, cost = instance.evaluate(result.pruning)
        assert result.lam == lam, f"solved at lambda {result.lam}, not {lam}"
        said, true = (result.error, result.cost, result.objective), (error, cost, error + lam * cost)
        for name, number, expected in zip(("error", "cost", "objective"), said, true, strict=True):
            assert number == expected, f"says that the {name} of its pruning is {number}: it is {expected}"
        proven = result.bound == result.objective
        assert (result.status is Status.OPTIMAL) == proven, (
            f"has the status {str(result.status)!r} with the objective {result.objective} and the bound {result.bound}"
        )


def _check_bound_is_valid(info: SolverInfo) -> None:
    """Require: no pruning goes below the bound."""

    @_over_problems(info)
    def test(instance: PruningInstance, lam: Fraction) -> None:
        bound, best = _solve(info, instance, lam).bound, _optimum(instance, lam).objective
        assert bound <= best, f"the bound {bound} is above the optimum {best}"


def _check_exact_is_optimal(info: SolverInfo) -> None:
    """Require: a solver that promises to be exact finds the optimum and proves it."""
    if not info.exact:
        return

    @_over_problems(info)
    def test(instance: PruningInstance, lam: Fraction) -> None:
        result, best = _solve(info, instance, lam), _optimum(instance, lam).objective
        assert (result.objective, result.bound) == (best, best), (
            f"finds {result.objective} with the bound {result.bound}: the optimum is {best}"
        )


def _check_canonical_is_smallest(info: SolverInfo) -> None:
    """Require: a solver that promises the canonical answer returns the optimal pruning that keeps fewest nodes."""
    if not info.canonical:
        return

    @_over_problems(info)
    def test(instance: PruningInstance, lam: Fraction) -> None:
        found, smallest = _solve(info, instance, lam).pruning, _optimum(instance, lam).pruning
        assert found == smallest, f"keeps {found.kept.nonzero()[0]}, the smallest {smallest.kept.nonzero()[0]}"


def _check_certificate_is_accepted(info: SolverInfo) -> None:
    """Require: a solver that promises certificates gives a flow that proves its bound."""
    if not info.certifies:
        return
    from proofs.certificates.optimality import verify_optimality

    @_over_problems(info)
    def test(instance: PruningInstance, lam: Fraction) -> None:
        verdict = verify_optimality(instance, _solve(info, instance, lam))
        assert verdict, f"the certificate is refused: {verdict.reason}"


def _check_falls_with_lambda(info: SolverInfo) -> None:
    """Require of an exact solver: a larger lambda buys no more, with no lower error."""
    if not info.exact:
        return

    @quickly()
    @given(instance=instances(MAX_INTERNAL), pair=st.lists(lambdas, min_size=2, max_size=2, unique=True))
    def test(instance: PruningInstance, pair: list[Fraction]) -> None:
        small, large = (_solve(info, instance, lam) for lam in sorted(pair))
        assert large.cost <= small.cost, f"costs {small.cost} at {small.lam}, {large.cost} at {large.lam}"
        assert large.error >= small.error, f"error {small.error} at {small.lam}, {large.error} at {large.lam}"

    test()


def _check_end_of_time_leaves_a_result(info: SolverInfo) -> None:
    """Require of a solver with a ``time_limit``: when it is over at once, there is a pruning with a valid bound."""
    if not info.takes_time_limit:
        return
    hasty = replace(info, quick_options={**info.quick_options, "time_limit": HASTE_S})
    _check_result_is_its_pruning(hasty)
    _check_bound_is_valid(hasty)


def _check_is_deterministic(info: SolverInfo) -> None:
    """Require: asked twice, it answers twice the same, and it leaves the instance alone."""

    @_over_problems(info)
    def test(instance: PruningInstance, lam: Fraction) -> None:
        before = instance.fingerprint()
        one, two = _solve(info, instance, lam), _solve(info, instance, lam)
        assert (one.pruning, one.bound) == (two.pruning, two.bound), "another answer to the same question"
        assert instance.fingerprint() == before, "the instance was changed"


def _check_another_instance_is_not_remembered(info: SolverInfo) -> None:
    """Require of an exact solver: it tells instances apart that differ in one thing alone, in either order."""
    if not info.exact:
        return
    for pair in twin_instances():
        for instance in (*pair, *pair[::-1]):
            found, best = _solve(info, instance, Fraction(1)).objective, _optimum(instance, Fraction(1)).objective
            assert found == best, f"finds {found} after an instance that differs in one thing: the optimum is {best}"


def _check_threads_do_not_disturb_each_other(info: SolverInfo) -> None:
    """Require: asked from several threads at once, it gives the answers that it gives alone."""
    problems = list(product(corner_instances(), CORNER_LAMBDAS))

    def answer(problem: tuple[PruningInstance, Fraction]) -> tuple[PruningInstance, Fraction, Fraction]:
        result = _solve(info, *problem)
        return problem[0], result.objective, result.bound

    alone = [answer(problem)[1:] for problem in problems]
    with ThreadPoolExecutor(THREADS) as pool:
        together = [found[1:] for found in pool.map(answer, problems * THREADS)]
    assert together == alone * THREADS, "another answer when it is asked from several threads at once"


def _interrupt(solver: object, call: int, calls: Iterator[int], frame: FrameType, event: str, argument: object) -> None:
    """Trace calls; interrupt the one of this number among those that the code of a solver makes."""
    if frame.f_back is not None and frame.f_back.f_code is solver and next(calls) == call:
        raise KeyboardInterrupt


def _check_interrupt_is_passed_on(info: SolverInfo) -> None:
    """Require: an interrupt in one of the functions that it calls ends it, or gives a result, interrupted or proved."""
    instance, lam = corner_instances()[-1], CORNER_LAMBDAS[0]
    solver = inspect.unwrap(info.load())
    code = getattr(solver, "__code__", None)
    _solve(info, instance, lam)
    for call in range(MAX_CALLS if code is not None else 0):
        calls = count()
        before, hook = sys.gettrace(), sys.unraisablehook
        dropped: list[Any] = []  # what Python itself cannot pass on, as where a generator is closed before its end
        sys.unraisablehook = dropped.append
        sys.settrace(partial(_interrupt, code, call, calls))
        try:
            answer = solver(instance, lam, **info.quick_options)
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(before)
            sys.unraisablehook = hook
        ended = isinstance(answer, PruningResult) and answer.status in (Status.INTERRUPTED, Status.OPTIMAL)
        assert dropped or next(calls) <= call or ended, "goes on after an interrupt"


@contextmanager
def _surroundings() -> Iterator[Callable[[], dict[str, Any]]]:
    """Put the solver into surroundings that it would not make itself; give what tells how they are, and end them."""
    is_main, before = threading.current_thread() is threading.main_thread(), signal.getsignal(signal.SIGINT)
    folder, known = Path.cwd(), set(threading.enumerate())

    def state() -> dict[str, Any]:
        new = set(threading.enumerate()) - known
        for thread in new:
            thread.join(PATIENCE_S)
        return {
            "random": str((random.getstate(), np.random.get_state(legacy=False))),  # noqa: NPY002  # that of all
            "numpy.errstate": np.geterr(),
            "SIGINT": signal.getsignal(signal.SIGINT),
            "directory": (Path.cwd(), [*Path(own).iterdir()]),
            "warnings.filters": list(warnings.filters),
            "the standard output": (sys.stdout, printed.getvalue()),
            "threads": [thread for thread in new if thread.is_alive()],
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


def _check_global_state_is_left_alone(info: SolverInfo) -> None:
    """Require: it leaves alone random numbers, floating-point errors, warnings, SIGINT, directory, output, threads.

    The first call may import what sets them.
    """
    drawn, drawn_by_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # to be put back
    try:
        for instance in corner_instances():
            _solve(info, instance, CORNER_LAMBDAS[0])
            random.random()
            np.random.random()  # noqa: NPY002  # a solver that seeds again is found by what was drawn since
            with _surroundings() as state:
                before = state()
                _solve(info, instance, CORNER_LAMBDAS[0])
                after = state()
            changed = [name for name in before if before[name] != after[name]]
            assert not changed, f"changes what belongs to all: {', '.join(changed)}"
    finally:
        random.setstate(drawn)
        np.random.set_state(drawn_by_numpy)  # noqa: NPY002  # as it was


def _check_order_of_trees_does_not_matter(info: SolverInfo) -> None:
    """Require of an exact solver: trees in another order have the same optimum."""
    if not info.exact:
        return

    @_over_problems(info)
    def test(instance: PruningInstance, lam: Fraction) -> None:
        turned = with_trees_in_order(instance, range(instance.n_trees - 1, -1, -1))
        one, two = _solve(info, instance, lam).objective, _solve(info, turned, lam).objective
        assert one == two, f"{one} in one order of the trees, {two} in another"


def _check_delayed_tests_are_right_or_refused(info: SolverInfo) -> None:
    """Require of an exact solver: below a delayed test it finds the optimum, or its ValueError says "delayed".

    There an acquisition stands at several nodes of a tree; it is bought where any of them is kept.
    """
    if not info.exact:
        return
    instance, lam = delayed_instance(), CORNER_LAMBDAS[0]
    try:
        found = _solve(info, instance, lam).objective
    except ValueError as refusal:
        if "delayed" in str(refusal):
            return
        raise
    best = _optimum(instance, lam).objective
    assert found == best, f"finds {found} on an instance with a delayed test: the optimum is {best}"


def _check_refuses_a_negative_lambda(info: SolverInfo) -> None:
    """Require: it raises an error at a negative lambda, which `solve` refuses before; a result would be wrong."""

    @quickly(4)
    @given(instance=instances(MAX_INTERNAL))
    def test(instance: PruningInstance) -> None:
        try:
            _solve(info, instance, Fraction(-1))
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


CHECKS: tuple[Callable[[SolverInfo], None], ...] = (
    _check_result_is_its_pruning,
    _check_bound_is_valid,
    _check_exact_is_optimal,
    _check_canonical_is_smallest,
    _check_certificate_is_accepted,
    _check_falls_with_lambda,
    _check_end_of_time_leaves_a_result,
    _check_is_deterministic,
    _check_another_instance_is_not_remembered,
    _check_threads_do_not_disturb_each_other,
    _check_interrupt_is_passed_on,
    _check_global_state_is_left_alone,
    _check_order_of_trees_does_not_matter,
    _check_delayed_tests_are_right_or_refused,
    _check_refuses_a_negative_lambda,
)
