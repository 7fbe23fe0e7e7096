"""Named checks of an estimator that pays for features: tables, sessions, budgets and copies tell the same."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from ipforest.costs import FeatureCosts
from ipforest.estimator.model import BudgetedModel
from ipforest.session.on_demand import buy_on_demand
from ipforest.testing.checks import Check, require_assertions

__all__ = ["check_budgeted_estimator"]

N_FITTED, N_PROMISED, N_NEW = 160, 80, 60
"""Examples to fit on, those of them on which a budget is to hold where `fit` takes such, and new ones."""
N_SINGLE = 8
"""New examples that buy one unit after another."""
N_CHOICES = 6
"""Places of a frontier that are looked at."""
PRICES, GROUPS, FEES = (0, 5, 1, 1, 4, 4), (-1, 0, -1, 0, 1, 1), (1, 2)
"""A free feature, a price that is paid alone, and groups with a fee."""
BUDGETS = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(8), Fraction(30))
MIDDLE, PLENTY = Fraction(6), Fraction(1000)
OF_PRICES = ("lam", "lambdas", "split_cost")
"""Parameters in the unit of prices, or of one by it."""
NAMES = ("age", "scan", "pulse", "height", "blood count", "salt (ml)")
LABELS = ("ill", "neither", "well")
ROOM = 1e-9
"""How far sums of floats may be from each other, of the sum."""

Table = npt.NDArray[np.float64]


def check_budgeted_estimator(estimator: BudgetedModel) -> Iterator[tuple[str, Check]]:
    """Yield the checks that an estimator with prices and a budget must pass, in addition to scikit-learn's own.

    They fit it to 160 examples of six features, of which one is free and four pay fees of groups, and compare what a
    table is told with what one example is told that buys one unit after another, what is paid with the prices of what
    is bought, and models of several budgets with each other, from 0 on: one must cost nothing. Values that are not
    bought must not matter.

    Parameters
    ----------
    estimator : BudgetedEstimator
        Not fitted, or fitted, which plays no part: its clones are, with other prices and budgets, and with
        ``random_state=0`` where it has that parameter. The checks take about twenty fits.

    Yields
    ------
    name : str
    check : callable
        Raises an AssertionError, or what the estimator itself raises, if it fails.

    Raises
    ------
    TypeError
        No estimator that pays for features.
    RuntimeError
        Python runs with -O, which leaves assert statements out.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ipforest import BudgetPrune
    >>> for name, check in check_budgeted_estimator(BudgetPrune(RandomForestClassifier(10, max_depth=4))):
    ...     check()
    """
    require_assertions()
    if isinstance(estimator, type) or not isinstance(estimator, BudgetedModel):
        got = f"{estimator.__name__} (a class)" if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(f"estimator: expected one that derives from ipforest.estimator.BudgetedEstimator, got {got}")
    subject = _Subject(estimator)
    for check in CHECKS:
        yield check.__name__.removeprefix("_check_"), partial(check, subject)


@dataclass(eq=False)
class _Subject:
    """An estimator, the examples that it is fitted to, and what is fitted already."""

    estimator: Any
    odd: bool = False

    @cached_property
    def examples(self) -> tuple[Table, npt.NDArray[Any], Table]:
        """Examples to fit to with their labels or targets, and new examples."""
        several = not is_classifier(self.estimator) or get_tags(self.estimator).classifier_tags.multi_class
        X, codes = make_classification(
            N_FITTED + N_NEW,
            len(PRICES),
            n_informative=4,
            n_redundant=0,
            n_classes=3 if several else 2,
            n_clusters_per_class=1,
            random_state=10,
        )
        X = np.round(X, 2)
        y = np.array(LABELS)[codes] if is_classifier(self.estimator) else X[:, 1] * X[:, 2] + X[:, 4]
        if self.odd:
            X = _odd(X, with_missing=get_tags(self.estimator).input_tags.allow_nan)
        return X[:N_FITTED], y[:N_FITTED], X[N_FITTED:]

    @cached_property
    def on_odd_columns(self) -> _Subject:
        return _Subject(self.estimator, odd=True)

    @cached_property
    def costs(self) -> FeatureCosts:
        return FeatureCosts(PRICES, GROUPS, FEES)

    def made(self, costs: Any = None, budget: Fraction | None = MIDDLE) -> Any:
        """Return a clone with prices, given where the estimator has them, a budget unless it has a lambda, a seed."""
        model = clone(self.estimator)
        parameters = model.get_params()
        named = [name for name in parameters if name.rpartition("__")[2] == "feature_costs"]
        priced = max(named, key=lambda name: (parameters[name] is not None, name.count("__") == 0))
        chosen = {priced: self.costs if costs is None else costs, "random_state": 0}
        if parameters.get("lam") is None:
            chosen["budget"] = budget
        return model.set_params(**{name: value for name, value in chosen.items() if name in parameters})

    def fit(self, model: Any, X: Any = None, y: Any = None) -> Any:
        """Fit, with the examples on which a budget is to hold, if those can be given."""
        X, y = (self.examples[0] if X is None else X), (self.examples[1] if y is None else y)
        takes, promised = inspect.signature(model.fit).parameters, slice(0, N_PROMISED)
        with _though_nothing_is_bought():
            if "X_cost" in takes:
                return model.fit(X, y, X_cost=X[promised])
            return model.fit(X, y, X[promised], y[promised]) if "X_val" in takes else model.fit(X, y)

    @cached_property
    def fitted(self) -> Any:
        return self.fit(self.made())

    @property
    def takes_promised(self) -> bool:
        """Whether `fit` takes examples on which the budget is to hold."""
        return bool({"X_cost", "X_val"} & {*inspect.signature(self.estimator.fit).parameters})

    @property
    def keeps_promises(self) -> bool:
        """Whether it is known on which examples the budget is to hold."""
        return self.takes_promised or self.fitted._keeps_examples

    def paid_where_promised(self, model: Any) -> float:
        """Return what an example pays on average, of those on which the budget is to hold."""
        given = self.examples[0][:N_PROMISED]
        return float(model.cost(given).mean() if self.takes_promised else model.measured().cost)

    @cached_property
    def budgets(self) -> tuple[Fraction, ...]:
        """Budgets to go to; none if a lambda says what is bought."""
        return () if self.fitted.get_params().get("budget") is None else BUDGETS

    def at(self, budget: Fraction) -> Any:
        return _at(self.fitted, budget)

    @cached_property
    def models(self) -> list[tuple[str, Any]]:
        """Models of several budgets, or the one of a lambda, and the one that costs most, each with what to call it."""
        found = [(f"budget {budget}", self.at(budget)) for budget in self.budgets] or [("fitted", self.fitted)]
        frontier = self.fitted.frontier_
        if frontier is not None and self.budgets:
            found.append(("the costliest choice", self.fitted.at_choice(int(frontier.cost.argmax()))))
        return found


def _odd(X: Table, *, with_missing: bool) -> Table:
    """Make whole numbers, clipped, tied, constant, huge and missing values of examples."""
    ages = np.round(50 + 10 * X[:, 0])
    clipped, tied = np.clip(X[:, 1], -0.5, 0.5), np.round(X[:, 2])
    huge = 1e30 * X[:, 4]
    sparse = np.where(X[:, 5] > 0, X[:, 5], np.nan if with_missing else 0.0)
    return np.column_stack([ages, clipped, tied, np.full(len(X), 7.0), huge, sparse])


@contextmanager
def _though_nothing_is_bought() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "budget: nothing is bought")
        yield


def _at(model: Any, budget: Fraction) -> Any:
    with _though_nothing_is_bought():
        return model.at_budget(budget)


def _told(model: Any, X: Any) -> tuple[npt.NDArray[Any], ...]:
    """Return predictions, probabilities of a classifier, costs and purchases."""
    outputs = model.predict_proba(X) if is_classifier(model) else model.predict(X)
    return model.predict(X), outputs, model.cost(X), model.acquired(X)


def _require_same(got: tuple[Any, ...], expected: tuple[Any, ...], where: str) -> None:
    for what, new, old in zip(("predictions", "outputs", "costs", "purchases"), got, expected, strict=True):
        is_exact = np.asarray(old).dtype.kind not in "fc"
        same = np.array_equal(new, old) if is_exact else np.allclose(new, old, rtol=ROOM, atol=ROOM)
        assert same, f"{where}: expected the same {what}, got {_first_difference(new, old)}"


def _first_difference(got: Any, expected: Any) -> str:
    new, old = np.asarray(got), np.asarray(expected)
    if new.shape != old.shape:
        return f"shape {new.shape} in place of {old.shape}"
    row = int(np.argmax((new != old).reshape(len(new), -1).any(axis=1)))
    return f"{new[row]} in place of {old[row]} for example {row}"


def _check_answers_are_labels_or_numbers(subject: _Subject) -> None:
    model, X = subject.fitted, subject.examples[2]
    predicted = model.predict(X)
    assert predicted.shape == (N_NEW,), f"predict: expected shape {(N_NEW,)}, got {predicted.shape}"
    if not is_classifier(model):
        assert np.isfinite(predicted).all(), "predict: expected finite numbers, got others"
        return
    expected = np.unique(subject.examples[1])
    assert np.array_equal(model.classes_, expected), f"classes_: expected {expected}, got {model.classes_}"
    unknown = {*predicted.tolist()} - {*model.classes_.tolist()}
    assert not unknown, f"predict: expected labels of classes_, got {unknown}"
    shares = model.predict_proba(X)
    assert shares.shape == (N_NEW, expected.size), f"predict_proba: expected a column a class, got {shares.shape}"
    assert shares.min() >= 0, f"predict_proba: expected probabilities >= 0, got {shares.min()}"
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-6), "predict_proba: expected rows whose sum is 1, got others"


def _check_learns_something(subject: _Subject) -> None:
    """Where everything is free it is to be better on its own examples than one answer for all."""
    X, y, _ = subject.examples
    model = subject.fit(subject.made([0] * len(PRICES), PLENTY))
    if is_classifier(model):
        constant = np.unique(y, return_counts=True)[1].max() / y.size
        assert model.score(X, y) > constant, f"score: expected more than {constant:.3f} of the most frequent class"
    else:
        assert model.score(X, y) > 0, "score: expected more than 0, that of the mean"


def _check_fits_again_alike(subject: _Subject) -> None:
    X = subject.examples[2]
    again = subject.fit(subject.made())
    _require_same(_told(again, X), _told(subject.fitted, X), "a second fit with the same seed")
    refitted = subject.fit(subject.fit(subject.made(), subject.examples[0][:, ::-1] + 1))
    _require_same(_told(refitted, X), _told(subject.fitted, X), "a fit after one to other examples")


def _check_leaves_examples_alone(subject: _Subject) -> None:
    X, y, new = (each.copy() for each in subject.examples)
    for each in (X, y, new):
        each.flags.writeable = False
    model = subject.fit(subject.made(), X, y)
    _require_same(_told(model, new), _told(subject.fitted, new), "examples that cannot be written into")


def _check_parameters_stay_as_given(subject: _Subject) -> None:
    made = subject.made()
    before = {name: repr(value) for name, value in made.get_params(deep=False).items()}
    after = {name: repr(value) for name, value in subject.fit(made).get_params(deep=False).items()}
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"fit: expected parameters as they were given, got another {', '.join(changed)}"


def _check_columns_of_a_frame(subject: _Subject) -> None:
    X, y, new = subject.examples
    frame, new_frame = (pd.DataFrame(each, columns=list(NAMES)) for each in (X, new))
    model = subject.fit(subject.made(), frame, y)
    names = [*getattr(model, "feature_names_in_", ())]
    assert names == [*NAMES], f"feature_names_in_: expected the names of the columns, {[*NAMES]}, got {names}"
    _require_same(_told(model, new_frame), _told(subject.fitted, new), "a data frame")
    assert model.session().next_unit is None or str(model.session().next_unit), "session: expected a unit with a name"


def _check_how_it_is_written_does_not_matter(subject: _Subject) -> None:
    """Give the same numbers laid out otherwise, and other names of the classes in the same order."""
    X, y, new = subject.examples
    told = _told(subject.fitted, new)
    layouts = {
        "examples column by column": np.asfortranarray(new),
        "examples of which every second row is meant": np.repeat(new, 2, axis=0)[::2],
        "examples in the byte order of another machine": new.astype(new.dtype.newbyteorder()),
        "examples that are objects": new.astype(object),
    }
    for where, laid_out in layouts.items():
        _require_same(_told(subject.fitted, laid_out), told, where)
    if is_classifier(subject.estimator):
        classes, codes = np.unique(y, return_inverse=True)
        other = subject.fit(subject.made(), X, 10 * codes - 7)
        predicted, *others = _told(other, new)
        _require_same((classes[(predicted + 7) // 10], *others), told, "classes -7, 3, ... in place of words")


def _check_unbought_values_do_not_matter(subject: _Subject) -> None:
    for name, model in subject.models:
        X = subject.examples[2]
        told = _told(model, X)
        for hidden in (X[::-1], np.roll(X, 7, axis=0), np.zeros_like(X)):
            changed = np.where(told[-1], X, hidden)
            _require_same(_told(model, changed), told, f"other values in columns that are not bought, {name}")


def _check_examples_do_not_depend_on_each_other(subject: _Subject) -> None:
    model, X = subject.fitted, subject.examples[2]
    told = _told(model, X)
    _require_same(tuple(each[::-1] for each in _told(model, X[::-1])), told, "examples in another order")
    rows = [_told(model, X[[row]]) for row in range(N_SINGLE)]
    single = tuple(np.concatenate(each) for each in zip(*rows, strict=True))
    _require_same(single, tuple(each[:N_SINGLE] for each in told), "one example at a time")


def _check_pays_for_what_is_bought(subject: _Subject) -> None:
    for name, model in subject.models:
        X = subject.examples[2]
        bought, usage = model.acquired(X), model.feature_usage(X)
        prices = subject.costs.cost_of(bought) + float(model.split_cost_) * usage.sum(axis=1)
        paid = model.cost(X)
        assert np.allclose(paid, prices, rtol=ROOM, atol=ROOM), (
            f"cost, {name}: expected the prices of what is bought, got {_first_difference(paid, prices)}"
        )
        tested = usage > 0
        assert np.array_equal(tested, bought), (
            f"feature_usage, {name}: expected tests of the features that are bought, got "
            f"{_first_difference(tested, bought)}"
        )
        sessions = model.sessions(N_NEW)
        buy_on_demand(sessions, partial(_fetched, X))
        assert np.array_equal(usage, sessions.tests), (
            f"feature_usage, {name}: expected the tests of sessions, got {_first_difference(usage, sessions.tests)}"
        )
        listed = np.asarray(model.policy().features).tolist()
        unlisted = {*np.flatnonzero(bought.any(axis=0)).tolist()} - {*listed}
        assert not unlisted, f"policy().features, {name}: expected all that it buys, got {listed} without {unlisted}"
        answers, with_cost = model.predict(X, return_cost=True)
        assert np.array_equal(answers, model.predict(X)), "predict(return_cost=True): expected the same predictions"
        assert np.array_equal(with_cost, paid), "predict(return_cost=True): expected the same costs"


def _check_sessions_are_as_tables(subject: _Subject) -> None:
    for _, model in subject.models:
        predicted, _, paid, bought = _told(model, subject.examples[2][:N_SINGLE])
        for row, values in enumerate(subject.examples[2][:N_SINGLE]):
            session, seen = model.session(), set()
            while (unit := session.next_unit) is not None:
                assert unit.index not in seen, f"session: expected each unit once, got {unit} again"
                assert session.reason, f"session: expected a reason for {unit}, got none"
                seen.add(unit.index)
                session.tell(_values(values, unit))
            assert session.answer == predicted[row], (
                f"session: expected the table's answer {predicted[row]} for example {row}, got {session.answer}"
            )
            assert abs(session.paid - paid[row]) <= ROOM * max(1.0, paid[row]), (
                f"session: expected to pay {paid[row]} as in a table for example {row}, got {session.paid}"
            )
            told = {name for line in session.ledger for name, _ in line.values}
            assert len(told) <= bought[row].sum() or session.has_rounds, (
                f"session: expected {bought[row].sum()} features for example {row}, got {len(told)}"
            )


def _values(row: Table, unit: Any) -> Any:
    values = [float(row[feature]) for feature in unit.features]
    return values if len(values) > 1 else values[0]


def _check_fetches_what_tables_buy(subject: _Subject) -> None:
    X = subject.examples[2]
    for name, model in subject.models:
        predicted, outputs, paid, bought = _told(model, X)
        demand = model.predict_on_demand(partial(_fetched, X), N_NEW)
        shown = (demand.predictions, demand.outputs if is_classifier(model) else demand.predictions, demand.paid)
        _require_same((*shown, demand.bought), (predicted, outputs, paid, bought), f"predict_on_demand, {name}")
        cap = float(paid.max()) / 2
        if not float(model.split_cost_):
            capped = model.predict_on_demand(partial(_fetched, X), N_NEW, max_cost=cap)
            assert capped.paid.max() <= cap + ROOM, f"max_cost, {name}: expected at most {cap}, got {capped.paid.max()}"


def _fetched(X: Table, unit: Any, rows: npt.NDArray[np.int64]) -> Table:
    values: Table = X[np.ix_(rows, unit.features)]
    return values


def _check_sessions_go_on(subject: _Subject) -> None:
    model = subject.fitted
    for values in subject.examples[2][:N_SINGLE]:
        today = model.session()
        if (unit := today.next_unit) is not None:
            today.tell(_values(values, unit))
        tomorrow = pickle.loads(pickle.dumps(model)).resume(today.to_json())
        assert tomorrow.next_unit == today.next_unit, (
            f"resume: expected {today.next_unit} next as before it was saved, got {tomorrow.next_unit}"
        )
        assert tomorrow.paid == today.paid, f"resume: expected {today.paid} to be paid, got {tomorrow.paid}"


def _check_what_is_known_is_free(subject: _Subject) -> None:
    model, values = subject.fitted, subject.examples[2][0]
    session = model.session(known=dict(enumerate(values.tolist())))
    assert session.next_unit is None, f"known: expected nothing to be bought, got {session.next_unit}"
    tests = float(model.split_cost_) * model.feature_usage(values[None]).sum()
    assert abs(session.paid - tests) <= ROOM * max(1.0, tests), f"known: expected to pay {tests}, got {session.paid}"


def _check_budgets_hold_and_rise(subject: _Subject) -> None:
    paid = [0.0]
    for budget in subject.budgets if subject.keeps_promises else ():
        cost = subject.paid_where_promised(subject.at(budget))
        assert cost <= float(budget) * (1 + ROOM) + ROOM, (
            f"at_budget({budget}): expected no more than that on average on the examples that it chooses on, got {cost}"
        )
        paid.append(cost)
    falls = [place for place, (low, high) in enumerate(pairwise(paid)) if high < low - ROOM]
    assert not falls, f"at_budget: expected costs that rise with the budget, got {paid[1:]} at {[*map(str, BUDGETS)]}"


def _check_other_budgets_change_nothing(subject: _Subject) -> None:
    model, X = subject.fit(subject.made()), subject.examples[2]
    others = {budget: _told(_at(model, budget), X) for budget in subject.budgets}
    told = _told(model, X)
    for budget, before in others.items():
        _require_same(_told(_at(model, budget), X), before, f"at_budget({budget}) a second time, after others")
    _require_same(_told(model, X), told, "the model itself after others were made")


def _check_frontier_costs_are_not_exceeded(subject: _Subject) -> None:
    """Costs are those on held-out examples, or, where stopping is learnt on these, what it costs in cross-fitting."""
    model = subject.fitted
    if model.frontier_ is None or not subject.budgets or not subject.keeps_promises:
        return
    costs = model.frontier_.cost
    for place in range(0, costs.size, max(1, costs.size // N_CHOICES)):
        with _though_nothing_is_bought():
            paid = subject.paid_where_promised(model.at_choice(place))
        assert paid <= costs[place] * (1 + ROOM) + ROOM, (
            f"frontier_.cost[{place}]: expected at least {paid}, which at_choice({place}) pays on the examples that it "
            f"chooses on, got {costs[place]}"
        )


def _check_copies_do_the_same(subject: _Subject) -> None:
    model, X = subject.fitted, subject.examples[2]
    copies: dict[str, Callable[[Any], Any]] = {
        "a pickled copy": lambda each: pickle.loads(pickle.dumps(each)),
        "a deep copy": deepcopy,
    }
    for name, copied in copies.items():
        other = copied(model)
        _require_same(_told(other, X), _told(model, X), name)
        if subject.budgets:
            told = _told(subject.at(BUDGETS[3]), X)
            _require_same(_told(_at(other, BUDGETS[3]), X), told, f"another budget of {name}")


def _check_the_unit_of_prices_does_not_matter(subject: _Subject) -> None:
    X, factor = subject.examples[2], 4
    raised = FeatureCosts([factor * price for price in PRICES], GROUPS, [factor * fee for fee in FEES])
    made = subject.made(raised, factor * MIDDLE)
    parameters = made.get_params()
    if any(name.rpartition("__")[2] in OF_PRICES and value not in (None, 0) for name, value in parameters.items()):
        return
    if made.max_cost is not None:
        made.set_params(max_cost=factor * Fraction(made.max_cost))
    model = subject.fit(made)
    predicted, outputs, paid, bought = _told(model, X)
    _require_same((predicted, outputs, paid / factor, bought), _told(subject.fitted, X), "prices in another unit")


def _check_odd_columns(subject: _Subject) -> None:
    """Whole numbers, ties, a constant, huge and, where they are taken, missing values."""
    for check in (
        *(_check_answers_are_labels_or_numbers, _check_pays_for_what_is_bought, _check_sessions_are_as_tables),
        *(_check_fetches_what_tables_buy, _check_unbought_values_do_not_matter, _check_budgets_hold_and_rise),
    ):
        check(subject.on_odd_columns)


def _check_bad_input_is_refused(subject: _Subject) -> None:
    X, y, new = subject.examples
    missing = new.copy()
    missing[3, 2] = np.nan
    nothing: list[tuple[str, Callable[[], object]]] = [
        ("columns that are too few", lambda: subject.fitted.predict(new[:, :-1])),
        ("prices of too few columns", lambda: subject.fit(subject.made([1] * (len(PRICES) - 1)))),
        ("negative prices", lambda: subject.fit(subject.made([-1] * len(PRICES)))),
        ("labels that are too few", lambda: subject.made().fit(X, y[:-1])),
    ]
    if subject.budgets:
        nothing.append(("a negative budget", lambda: subject.fitted.at_budget(-1)))
        nothing.append(("a negative budget in fit", lambda: subject.fit(subject.made(budget=Fraction(-1)))))
    if not get_tags(subject.estimator).input_tags.allow_nan:
        nothing.append(("missing values", lambda: subject.fitted.predict(missing)))
    for what, ask in nothing:
        _require_refusal(what, ask, TypeError, ValueError)
    _require_refusal("predict before fit", lambda: subject.made().predict(new), NotFittedError)


def _require_refusal(what: str, ask: Callable[[], object], *kinds: type[Exception]) -> None:
    names = " or ".join(kind.__name__ for kind in kinds)
    try:
        ask()
    except kinds:
        return
    except Exception as problem:  # of another kind than a refusal is
        raise AssertionError(f"{what}: expected {names}, got {type(problem).__name__}: {problem}") from problem
    raise AssertionError(f"{what}: expected {names}, got an answer")


CHECKS = (
    _check_answers_are_labels_or_numbers,
    _check_learns_something,
    _check_fits_again_alike,
    _check_leaves_examples_alone,
    _check_parameters_stay_as_given,
    _check_columns_of_a_frame,
    _check_how_it_is_written_does_not_matter,
    _check_unbought_values_do_not_matter,
    _check_examples_do_not_depend_on_each_other,
    _check_pays_for_what_is_bought,
    _check_sessions_are_as_tables,
    _check_fetches_what_tables_buy,
    _check_sessions_go_on,
    _check_what_is_known_is_free,
    _check_budgets_hold_and_rise,
    _check_other_budgets_change_nothing,
    _check_frontier_costs_are_not_exceeded,
    _check_copies_do_the_same,
    _check_the_unit_of_prices_does_not_matter,
    _check_odd_columns,
    _check_bad_input_is_refused,
)
