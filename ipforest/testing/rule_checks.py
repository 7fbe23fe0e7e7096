"""Named checks of a stopping rule: it learns from paths alone, and answers of each example by itself."""

from __future__ import annotations

import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest.costs import FeatureCosts
from ipforest.stopping.early_exit import EarlyExit
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.paths import MEASURED, StoppingPaths, asked
from ipforest.testing.checks import Check, require_assertions

if TYPE_CHECKING:
    from ipforest._internal.arrays import Array, FloatArray, IntArray
    from ipforest.stopping.paths import FittedRule, StoppingRule

__all__ = ["check_stopping_rule", "corner_paths"]

N_SAMPLES, N_STAGES = 240, 6
"""Of the paths that most checks learn from."""
PRICES = (1, 2, "1/2", 0, 3)
UNITS, DELAYED = FeatureCosts(PRICES), FeatureCosts(PRICES, delayed=[0, 4])
ROOM, LEAST_ROOM = 1e-9, 1e-12
"""How far the keenness of the same example may be from itself, as sums of other lengths are rounded otherwise: of the
keenness, and at least."""
THREADS = 4
CALLS = 40
"""By each thread."""
HASTE_S = 1e-6
"""After so long another thread has its turn, so that one is interrupted at its work."""
ALONE = 60
"""Questions that are asked one by one."""
TOLD = 10
"""Examples whose features are told to a session."""
BUDGETS = (0, 0.5, 1, 1.5, 2, 3, 5)


def _paths(
    seed: int, n_samples: int = N_SAMPLES, n_stages: int = N_STAGES, costs: FeatureCosts = UNITS
) -> StoppingPaths:
    """Make examples that differ in where they end, with equal signals among them, stages that buy nothing and several.

    The surer, the more often a label is right.
    """
    rng = np.random.default_rng(seed)
    signal = np.round(rng.random((n_samples, n_stages)) * np.linspace(0.3, 1.0, n_stages), 2)
    last = rng.integers(0, n_stages, n_samples)
    last[: n_samples // 2] = n_stages - 1
    stage = np.minimum(np.arange(n_stages), last[:, None])
    loss = (rng.random((n_samples, n_stages)) > 0.3 + 0.6 * signal).astype(np.float64)
    bought_at = rng.integers(0, n_stages, (n_samples, costs.n_units))
    bought_at = np.where(bought_at < last[:, None], bought_at, n_stages)
    return StoppingPaths(signal, np.take_along_axis(loss, stage, axis=1), last, bought_at, costs)


def corner_paths() -> dict[str, StoppingPaths]:
    """Make small paths on which rules differ, by name; a note on a failure says which it is on.

    Returns
    -------
    dict from str to StoppingPaths
        The losses of "targets" and of "class costs" are no integers; a rule may refuse those.
    """
    many = _paths(0)
    squares = np.square(np.round(np.random.default_rng(2).normal(size=many.loss.shape), 3))
    ended = np.minimum(np.arange(N_STAGES), many.last[:, None])
    changes = -many.signal * np.append(0.0, np.ones(N_STAGES - 1))
    return {
        "many examples": many,
        "other examples": _paths(1),
        "few examples": _paths(2, n_samples=7),
        "two examples": _paths(3, n_samples=2),
        "one example": _paths(4, n_samples=1),
        "two stages": _paths(5, n_stages=2),
        "nothing to buy": _paths(6, n_stages=1),
        "signals all alike": replace(many, signal=np.full_like(many.signal, 0.5)),
        "no doubt at all": replace(many, signal=np.ones_like(many.signal)),
        "prices of 0": _paths(7, costs=FeatureCosts([0, 0, 0, 0, 0])),
        "no mistakes": replace(many, loss=np.zeros_like(many.loss)),
        "mistakes alone": replace(many, loss=np.ones_like(many.loss)),
        "mistakes that cost a million": replace(many, signal=1e6 * many.signal, loss=1e6 * many.loss),
        "examples in groups": many.grouped(np.arange(N_SAMPLES) // 4),
        "class costs": replace(many, signal=2.5 * many.signal, loss=2.5 * many.loss),
        "targets": replace(many, signal=changes, loss=np.take_along_axis(squares, ended, axis=1)),
    }


def check_stopping_rule(rule: StoppingRule) -> Iterator[tuple[str, Check]]:
    """Yield the checks that a stopping rule must pass.

    Parameters
    ----------
    rule : StoppingRule
        An object with ``fit(paths)`` that returns one with ``keenness(stage, signal, memory)``.

    Yields
    ------
    name : str
    check : callable
        Raises an AssertionError, or what the rule itself raises, if it fails.

    Raises
    ------
    TypeError
        The rule cannot be fitted, such as a class in place of an object.
    RuntimeError
        Python runs with -O, which leaves assert statements out.

    Examples
    --------
    >>> from ipforest.stopping import ThresholdStopping
    >>> for name, check in check_stopping_rule(ThresholdStopping()):
    ...     check()
    """
    require_assertions()
    if isinstance(rule, type) or not callable(getattr(rule, "fit", None)):
        raise TypeError(f"rule: expected an object with fit(paths), such as ThresholdStopping(), got {rule!r}")
    for check in CHECKS:
        yield check.__name__.removeprefix("_check_"), partial(check, rule)


class _Answered(NamedTuple):
    """Questions to a fitted rule, and what it answered, each of shape (n_questions,)."""

    stage: IntArray
    signal: FloatArray
    memory: IntArray
    keenness: FloatArray
    remembered: IntArray

    def of(self, rows: Any) -> Self:
        """Take some of them."""
        return type(self)(*(column[rows] for column in self))


def _along(fitted: FittedRule, paths: StoppingPaths) -> _Answered:
    """Ask of all examples at every stage that they reach, as many at once; at last of none, as policies do."""
    memory = np.zeros(paths.n_samples, dtype=np.int64)
    parts = []
    for stage in range(paths.n_stages):
        rows = np.flatnonzero(paths.last > stage)
        answered = _answered(fitted, np.full(rows.size, stage), paths.signal[rows, stage], memory[rows])
        memory[rows] = answered.remembered
        parts.append(answered)
    return _Answered(*map(np.concatenate, zip(*parts, strict=True)))


def _answered(fitted: FittedRule, stage: IntArray, signal: FloatArray, memory: IntArray) -> _Answered:
    """Ask a question; keep it and its answer apart from the arrays that the rule has or gives."""
    keenness, remembered = asked(fitted, stage.copy(), signal.copy(), memory.copy())
    return _Answered(stage, signal, memory, keenness.copy(), remembered.copy())


def _again(fitted: FittedRule, answered: _Answered) -> _Answered:
    """Ask the same questions, all at once."""
    return _answered(fitted, answered.stage, answered.signal, answered.memory)


def _require_same(expected: _Answered, found: _Answered, when: str, *, exactly: bool = False) -> None:
    """Require the same answers to the same questions, up to the rounding of sums."""
    same = expected.keenness == found.keenness
    if not exactly:
        same |= np.isclose(expected.keenness, found.keenness, rtol=ROOM, atol=LEAST_ROOM)
    same &= expected.remembered == found.remembered
    if not same.all():
        row = int(same.argmin())
        stage, signal, memory, keenness, remembered = (column[row] for column in expected)
        raise AssertionError(
            f"expected keenness {keenness:.9g} and memory {remembered} at stage {stage} for the signal {signal:.6g} "
            f"and the memory {memory}, got {found.keenness[row]:.9g} and {found.remembered[row]} {when}"
        )


def _fitted(rule: StoppingRule, paths: StoppingPaths) -> FittedRule:
    """Fit a rule; what it returns must be one that can be asked."""
    fitted = rule.fit(paths)
    assert callable(getattr(fitted, "keenness", None)), (
        f"expected {type(rule).__name__}.fit to return an object with keenness(stage, signal, memory), "
        f"got {type(fitted).__name__}"
    )
    return fitted


def _over_corners(test: Callable[[StoppingPaths, FittedRule], None]) -> Callable[[StoppingRule], None]:
    """Make a check of a test: over all corner paths, with the rule fitted on them, which may refuse some losses."""

    @wraps(test)
    def check(rule: StoppingRule) -> None:
        for name, paths in corner_paths().items():
            try:
                fitted = _fitted_or_refused(rule, paths)
                if fitted is not None:
                    test(paths, fitted)
            except Exception as failure:  # whatever failed goes on, with the paths by their name
                failure.add_note(f"fails on ipforest.testing.rule_checks.corner_paths()[{name!r}]")
                raise

    return check


def _fitted_or_refused(rule: StoppingRule, paths: StoppingPaths) -> FittedRule | None:
    """Fit a rule; None where it refuses losses that are no integers by a ValueError that names the loss."""
    try:
        return _fitted(rule, paths)
    except ValueError as refusal:
        if "loss" in str(refusal) and np.any(paths.loss != np.rint(paths.loss)):
            return None
        raise


def _much_asked(fitted: FittedRule) -> None:
    """Ask of other examples, of few, and of many in another order."""
    for seed in range(4):
        paths = _paths(100 + seed, n_samples=1 + 50 * seed)
        _along(fitted, paths.of(np.arange(paths.n_samples)[::-1]))


@_over_corners
def _check_answers_are_numbers(paths: StoppingPaths, fitted: FittedRule) -> None:
    """Require: a number, not NaN, and an integer of 32 bits for each example, at every stage, of corner cases, too."""
    _along(fitted, paths)


@_over_corners
def _check_none_is_answered(paths: StoppingPaths, fitted: FittedRule) -> None:
    """Require: asked of no example, as policies ask where all have stopped, it gives empty arrays."""
    none = np.empty(0, dtype=np.int64)
    asked(fitted, none, np.empty(0), none.copy())


@_over_corners
def _check_later_stages_are_answered(paths: StoppingPaths, fitted: FittedRule) -> None:
    """Require: examples that buy more often than all of the paths are answered, and signals unlike theirs."""
    later = _paths(8, n_samples=28, n_stages=paths.n_stages + 4)
    try:
        _along(fitted, later)
    except (LookupError, ValueError) as problem:
        raise AssertionError(
            f"expected keenness at stages up to {later.n_stages - 2}, as new examples may buy more often than "
            f"those of the paths, whose last stage is {paths.n_stages - 1}, got {type(problem).__name__}: {problem}"
        ) from problem
    strange = np.array([-1e9, -1.0, 0.0, 1e-300, 0.5, 1.0, 1e9])
    _along(fitted, replace(later, signal=np.tile(strange, 4)[:, None] * np.ones(later.n_stages)))


@_over_corners
def _check_each_example_is_answered_alone(paths: StoppingPaths, fitted: FittedRule) -> None:
    """Require: an example has the same answer alone, among others and in another order, as a session has it alone."""
    answered = _along(fitted, paths)
    for stage in np.unique(answered.stage).tolist():
        whole = answered.of(np.flatnonzero(answered.stage == stage)[::-1])
        _require_same(whole, _again(fitted, whole), "in the opposite order")
        half = whole.of(slice(None, None, 2))
        _require_same(half, _again(fitted, half), "among half as many examples")
    for row in range(0, answered.stage.size, max(1, answered.stage.size // ALONE)):
        one = answered.of(slice(row, row + 1))
        _require_same(one, _again(fitted, one), "alone")


@_over_corners
def _check_stages_may_be_mixed(paths: StoppingPaths, fitted: FittedRule) -> None:
    """Require: examples at different stages, as in a table, are answered together as those of one stage are."""
    answered = _along(fitted, paths)
    mixed = answered.of(np.random.default_rng(0).permutation(answered.stage.size))
    _require_same(mixed, _again(fitted, mixed), "together with examples at other stages; stage is an array")


@_over_corners
def _check_same_question_has_same_answer(paths: StoppingPaths, fitted: FittedRule) -> None:
    """Require: an answer depends on the arguments alone, not on what was asked before."""
    first = _along(fitted, paths)
    _require_same(first, _along(fitted, paths), "when asked again", exactly=True)
    _much_asked(fitted)
    _require_same(first, _along(fitted, paths), "when asked again after others", exactly=True)


def _check_arguments_and_answers_stay(rule: StoppingRule) -> None:
    """Require: it does not write into what it is asked with, nor, later, into what it answered."""
    fitted = _fitted(rule, _paths(0))
    answered = _along(fitted, _paths(0))
    stage, signal, memory = answered.stage.copy(), answered.signal.copy(), answered.memory.copy()
    keenness, remembered = fitted.keenness(stage, signal, memory)
    kept = keenness.copy(), remembered.copy()
    for name, before, after in zip(("stage", "signal", "memory"), answered, (stage, signal, memory), strict=False):
        same = np.array_equal(before, after)
        assert same, f"expected keenness to leave its argument {name} as it is, got changes; copy it first"
    _much_asked(fitted)
    _again(fitted, answered.of(slice(None, None, -1)))
    for name, first, later in zip(("keenness", "memory"), kept, (keenness, remembered), strict=True):
        assert np.array_equal(first, later), (
            f"expected the {name} that was answered to stay, got other numbers in the same array after the next "
            "question; return a new array"
        )


def _check_another_fit_does_not_disturb(rule: StoppingRule) -> None:
    """Require: what was fitted answers the same after the rule was fitted on others, as it is for every fold."""
    paths = corner_paths()
    fitted = _fitted(rule, paths["many examples"])
    first = _along(fitted, paths["many examples"])
    for name in ("other examples", "two stages", "one example", "mistakes alone"):
        _along(_fitted(rule, paths[name]), paths[name])
    again = _along(fitted, paths["many examples"])
    _require_same(first, again, "after the rule was fitted on others; let fit return a new object", exactly=True)


def _check_fit_learns_from_paths_alone(rule: StoppingRule) -> None:
    """Require: equal paths are learnt from alike, whatever was fitted before and random numbers of all are."""

    def test(paths: StoppingPaths, _: FittedRule) -> None:
        with _random_numbers_of_all(1) as drawn:
            first = _along(_fitted(rule, paths), paths)
            assert not drawn(), "expected random numbers of a generator of its own, got ones of all, drawn or seeded"
        _fitted(rule, _paths(9, n_samples=paths.n_samples, n_stages=paths.n_stages))
        with _random_numbers_of_all(2):
            again = _along(_fitted(rule, paths.of(np.arange(paths.n_samples))), paths)
        _require_same(first, again, "when fitted on equal paths", exactly=True)

    _over_corners(test)(rule)


@contextmanager
def _random_numbers_of_all(seed: int) -> Iterator[Callable[[], bool]]:
    """Seed the random numbers that all share; give what tells whether any was drawn since; put them back."""
    before, numpy_before = random.getstate(), np.random.get_state()  # noqa: NPY002  # to be put back
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  # what a rule must not depend on

    def state() -> str:
        return str((random.getstate(), np.random.get_state(legacy=False)))  # noqa: NPY002  # that of all

    seeded = state()
    try:
        yield lambda: state() != seeded
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)  # noqa: NPY002  # as it was


def _check_fit_changes_neither_paths_nor_rule(rule: StoppingRule) -> None:
    """Require: the paths, by which levels are measured later, and the parameters of the rule stay as they are."""
    for name, paths in corner_paths().items():
        before, rule_before = _bytes_of(paths), _state_of(rule)
        if _fitted_or_refused(rule, paths) is None:
            continue
        after = _bytes_of(paths)
        changed = [each for each in before if before[each] != after[each]]
        assert not changed, f"expected fit to leave the paths of {name} as they are, got changes of {changed[0]}"
        assert _state_of(rule) == rule_before, (
            f"expected fit to leave {type(rule).__name__} as it is, got {_state_of(rule)} after {rule_before}; keep "
            "what is learnt in the object that fit returns"
        )


def _bytes_of(paths: StoppingPaths) -> dict[str, Any]:
    arrays: dict[str, Array] = {name: getattr(paths, name) for name in MEASURED}
    return {name: (each.tobytes(), each.flags.writeable) for name, each in arrays.items()}


def _state_of(rule: StoppingRule) -> str:
    """Write down all that an object holds, what is no parameter, too."""
    return f"{rule!r} with {sorted(getattr(rule, '__dict__', {}).items())}"


def _check_parameters_are_fields_of_a_frozen_dataclass(rule: StoppingRule) -> None:
    """Require: scikit-learn can copy the rule within an estimator, and print it with its parameters."""
    name = type(rule).__name__
    is_frozen = is_dataclass(rule) and type(rule).__dataclass_params__.frozen
    assert is_frozen, f"expected @dataclass(frozen=True), whose fields are the parameters, got {name}, which is none"
    parameters: Any = rule
    for each in fields(parameters):
        assert each.init, f"expected fields that are parameters, got {each.name!r} with init=False"
        assert f"{each.name}=" in repr(rule), f"expected the parameter {each.name!r} in {rule!r}"
    again = replace(parameters)
    assert repr(again) == repr(rule), f"expected the same parameters to make the same rule, got {again!r} of {rule!r}"
    copied = clone(EarlyExit(RandomForestClassifier(), stopping=rule)).get_params()["stopping"]
    assert repr(copied) == repr(rule), f"expected a copy by sklearn.base.clone to be {rule!r}, got {copied!r}"
    paths = _paths(0)
    expected = _along(_fitted(rule, paths), paths)
    _require_same(expected, _along(_fitted(copied, paths), paths), "from a copy by sklearn.base.clone", exactly=True)


def _check_pickled_rule_answers_alike(rule: StoppingRule) -> None:
    """Require: the rule, and what it learnt, can be saved and loaded."""
    paths = _paths(0)
    fitted = _fitted(rule, paths)
    first = _along(fitted, paths)
    again = _fitted(_pickled(rule), paths)
    _require_same(first, _along(again, paths), "from a rule that was pickled", exactly=True)
    _require_same(first, _along(_pickled(fitted), paths), "from a fitted rule that was pickled", exactly=True)


def _pickled(each: Any) -> Any:
    try:
        return pickle.loads(pickle.dumps(each))
    except (AttributeError, TypeError, pickle.PicklingError) as problem:
        raise AssertionError(
            f"expected {type(each).__name__} to be pickled, for files and other processes, got {problem}"
        ) from problem


def _check_threads_do_not_disturb_each_other(rule: StoppingRule) -> None:
    """Require: asked from several threads at once, it answers as it does alone."""
    fitted = _fitted(rule, _paths(0))
    questions = [_paths(20 + thread, n_samples=40) for thread in range(THREADS)]
    alone = [_along(fitted, paths) for paths in questions]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(HASTE_S)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            together = [*pool.map(partial(_along, fitted), questions * CALLS)]
    except Exception as failure:  # whatever failed goes on, as it did not fail alone
        failure.add_note("fails when several threads ask at once")
        raise
    finally:
        sys.setswitchinterval(interval)
    for expected, found in zip(alone * CALLS, together, strict=True):
        _require_same(expected, found, "when several threads ask at once", exactly=True)


class _Model(NamedTuple):
    """An estimator that a rule stops, what it learns from, held-out examples at last, and others that it buys of."""

    name: str
    estimator: Callable[..., Any]
    examples: tuple[Array, ...]
    others: FloatArray

    def fitted(self, rule: StoppingRule) -> Any:
        """Learn when to stop; None where the rule refuses losses of targets or of class costs."""
        try:
            return self.estimator(stopping=rule, budget=2).fit(*self.examples)
        except ValueError as refusal:
            if "loss" in str(refusal) and self.name in ("targets", "class costs"):
                return None
            raise

    def at_budgets(self, rule: StoppingRule) -> Iterator[tuple[float, Any]]:
        """Give the model at several budgets, from 0 to all that is worth buying; that little is bought is no news."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = self.fitted(rule)
            for budget in BUDGETS if model is not None else ():
                yield budget, model.at_budget(budget)


def _models() -> Iterator[_Model]:
    """Make small estimators with stages, of trees and of models on more and more features."""
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(360, 5)), 2)
    y = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, 4] + rng.normal(size=len(X)) / 3
    two, three = ((np.searchsorted(np.quantile(y, np.arange(1, n) / n), y)) for n in (2, 3))
    train, held_out, others = slice(150), slice(150, 280), X[280:]

    def trees(labels: IntArray, costs: FeatureCosts = UNITS, **settings: Any) -> tuple[Callable[..., Any], Any, Any]:
        forest = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X[train], labels[train])
        model = partial(EarlyExit, forest, feature_costs=costs, **settings)
        return model, (X[held_out], labels[held_out]), others

    def stages(inner: Any, targets: Array) -> tuple[Callable[..., Any], Any, Any]:
        model = partial(NestedCascade, inner, feature_costs=UNITS)
        return model, (X[train], targets[train], X[held_out], targets[held_out]), others

    yield _Model("two classes", *trees(two))
    yield _Model("three classes, of which each may cost 4 at most", *trees(three, max_cost=4))
    yield _Model("delayed features", *trees(two, DELAYED))
    yield _Model("class costs", *trees(three, class_costs=[[0, 2.5, 9], [1, 0, 1], [4, 1.5, 0]]))
    yield _Model("stages", *stages(DecisionTreeClassifier(max_depth=4, random_state=0), two))
    yield _Model("targets", *stages(DecisionTreeRegressor(max_depth=4, random_state=0), y))


def _check_sessions_answer_and_pay_as_tables(rule: StoppingRule) -> None:
    """Require: an example told value by value buys, pays and answers as in a table, in estimators that take rules."""
    for case in _models():
        for budget, model in case.at_budgets(rule):
            table = case.others[:TOLD]
            expected = zip(model.cost(table).tolist(), model.predict(table).tolist(), strict=True)
            for row, (cost, answer) in zip(table, expected, strict=True):
                session = model.session()
                while session.next_unit is not None:
                    session.tell(row[list(session.next_unit.features)].tolist())
                assert np.isclose(session.paid, cost), (
                    f"expected a session to pay {cost:g} at the budget {budget}, as cost says of the table, got "
                    f"{session.paid:g} ({case.name}): keenness differs between one example and many, or from tables()"
                )
                assert np.isclose(session.answer, answer), (
                    f"expected a session to answer {answer!r} at the budget {budget}, as predict says of the table, "
                    f"got {session.answer!r} ({case.name})"
                )


def _check_budget_is_kept(rule: StoppingRule) -> None:
    """Require: held-out examples cost no more than the budget, and at a smaller one no more than at a larger one."""
    for case in _models():
        before = 0.0
        for budget, model in case.at_budgets(rule):
            cost = float(model.cost(case.examples[-2]).mean())
            assert cost <= budget + ROOM, (
                f"expected held-out examples to cost no more than the budget {budget}, got {cost:g} ({case.name}): "
                "keenness in a table differs from that along the paths"
            )
            assert before <= cost + ROOM, (
                f"expected held-out examples to cost no less at the larger budget {budget}, got {cost:g} after "
                f"{before:g} ({case.name})"
            )
            before = cost


CHECKS: tuple[Callable[[StoppingRule], None], ...] = (
    _check_answers_are_numbers,
    _check_none_is_answered,
    _check_later_stages_are_answered,
    _check_each_example_is_answered_alone,
    _check_stages_may_be_mixed,
    _check_same_question_has_same_answer,
    _check_arguments_and_answers_stay,
    _check_another_fit_does_not_disturb,
    _check_fit_learns_from_paths_alone,
    _check_fit_changes_neither_paths_nor_rule,
    _check_parameters_are_fields_of_a_frozen_dataclass,
    _check_pickled_rule_answers_alike,
    _check_threads_do_not_disturb_each_other,
    _check_sessions_answer_and_pay_as_tables,
    _check_budget_is_kept,
)
