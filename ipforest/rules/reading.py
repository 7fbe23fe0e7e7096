"""The process that a fitted model runs on examples: a tree of what is ordered, how values part them, and of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray, places_in
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import LEAF
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.checks import check_integer
from ipforest.policy import ANSWERS, Policy, TreesInOrder
from ipforest.rules.conditions import Clause, Condition, holds, joined, tell_apart
from ipforest.rules.wording import to_markdown, to_record, to_text
from ipforest.session import Seller, Sessions, Unit
from ipforest.wrappers.pipeline import BudgetedPipeline, parted

FEW = 0.02
"""Examples that go on are followed no further where they are a smaller share than this."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is ordered at a step.

    Parameters
    ----------
    name : str
        The columns of the table that it brings.
    price : float
        What it costs here, the fee of its group included where it is the first of it.
    round : int
        When it is ordered: 1 until the first delayed values are in.
    unit : int
        Its number among the units of the prices.
    """

    name: str
    price: float
    round: int
    unit: int


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Where some examples come to: what is ordered of them, and what happens then; or what is answered.

    Parameters
    ----------
    clauses : tuple of Clause
        When examples come here from the step above: all conditions of one clause hold. Empty where no clause is known
        that tells them; one empty clause at the root.
    n_samples : int
        Examples that come here.
    n_missed, n_strays : int
        Of these, those for which no clause holds; and examples that go elsewhere though one does.
    paid : float
        What an example pays on average up to here; at an end, in all.
    orders : tuple of Order
        What is ordered of all examples that come here, in turn.
    answer : object
        The prediction where examples stop, the mean one for regression; where ``goes_on``, the most frequent one.
    probability : float
        Mean probability of the answer among the examples; NaN for regression, and where no example is.
    n_right : int or None
        Examples whose label is what the model predicts; None without labels, for regression, and at inner steps.
    goes_on : bool
        Whether more is ordered than is told here.
    below : tuple of Step
    """

    clauses: tuple[Clause, ...]
    n_samples: int
    paid: float
    orders: tuple[Order, ...] = ()
    answer: Any = None
    probability: float = np.nan
    n_right: int | None = None
    goes_on: bool = False
    n_missed: int = 0
    n_strays: int = 0
    below: tuple[Step, ...] = ()

    @property
    def is_end(self) -> bool:
        """Whether nothing more is told."""
        return not self.below

    @property
    def ends(self) -> Iterator[Step]:
        """The ends at and below this step, from the first on."""
        if self.is_end:
            yield self
        for step in self.below:
            yield from step.ends


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What a model does with examples, in conditions on what was bought.

    Made by `read_rules`; ``str(rules)`` is the text.

    Parameters
    ----------
    first : Step
    seller : Seller
        Names of features, categories and classes.
    is_exact : bool
        Whether the model is a single tree and this is it, so that the rules hold for all examples.
    n_samples : int
        The examples that were followed.
    n_told : int
        Those of them of which all conditions tell what the model does, as far as is told.
    n_followed : int
        Those of them that end there: the conditions make the same orders and, for a classifier, give the same answer.
    cost : float
        What an example pays on average.
    error : float or None
        Share of wrong answers, or the mean squared error; None without labels.
    prepare : callable
        Turns what the model takes into the examples that conditions are about.
    """

    first: Step
    seller: Seller
    is_exact: bool
    n_samples: int
    n_told: int
    n_followed: int
    cost: float
    error: float | None
    prepare: Callable[[Any], Array] = field(repr=False)

    @property
    def ends(self) -> tuple[Step, ...]:
        """Where examples stop."""
        return tuple(self.first.ends)

    @property
    def n_questions(self) -> int:
        """Most orders on any way through the rules."""
        return _most_orders(self.first)

    def predict(self, X: Any) -> Array:
        """Answer by the conditions alone.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
            As the model takes it.

        Returns
        -------
        ndarray of object, shape (n_samples,)
            None for an example that no clause tells where to go.
        """
        values = self.prepare(X)
        answers = np.full(values.shape[0], None, dtype=object)
        for end, _, rows in self._followed(values):
            answers[rows] = end.answer
        return answers

    def cost_of(self, X: Any) -> FloatArray:
        """Compute what examples pay on average where the conditions lead, shape (n_samples,); NaN where none holds."""
        values = self.prepare(X)
        paid = np.full(values.shape[0], np.nan)
        for end, _, rows in self._followed(values):
            paid[rows] = end.paid
        return paid

    def agreement(self, model: Any, X: Any) -> float:
        """Compute the share of examples with which following the conditions is doing what the model does.

        They make the same orders and give the same answer; for regression the answer counts where the rules are exact,
        as elsewhere it is a mean. On other examples than those of which the rules were read, it says how far they can
        be relied on.

        Parameters
        ----------
        model : estimator
            That the rules are of, or another for the same table.
        X : array or DataFrame, shape (n_samples, n_features)
        """
        buyer, prepare, _ = _parts(model)
        values, first_unit = prepare(X), self.seller.first_unit
        sessions = buyer.sessions(values.shape[0])
        sessions.see(values)
        example, feature = np.nonzero(sessions.bought)
        bought = np.zeros((values.shape[0], self.seller.costs.n_units), dtype=bool)
        bought[example, first_unit[feature]] = True
        said, same = sessions.labels(sessions.outputs), np.zeros(values.shape[0], dtype=bool)
        for end, orders, rows in self._followed(values):
            ordered = np.zeros(bought.shape[1], dtype=bool)
            ordered[[order.unit for order in orders]] = True
            same[rows] = (bought[rows] == ordered).all(axis=1) & (not end.goes_on)
            if self.is_exact or self.seller.classes is not None:
                same[rows] &= said[rows] == end.answer
        return float(same.mean())

    def to_text(self, width: int | None = None) -> str:
        """Write the rules as a list within a list.

        Parameters
        ----------
        width : int, optional
            Longest line; by default that of the terminal.
        """
        return to_text(self, width)

    def to_markdown(self) -> str:
        """Write the rules as a list of Markdown."""
        return to_markdown(self)

    def record(self) -> dict[str, Any]:
        """Return the rules as what JSON holds."""
        return to_record(self)

    def __str__(self) -> str:
        return self.to_text()

    def _followed(self, values: Array) -> Iterator[tuple[Step, tuple[Order, ...], IntArray]]:
        """Give each end with what is ordered on the way, and the examples that the conditions lead to it."""
        waiting: list[tuple[Step, tuple[Order, ...], IntArray]] = [(self.first, (), np.arange(values.shape[0]))]
        while waiting:
            step, before, rows = waiting.pop()
            orders = (*before, *step.orders)
            if step.is_end:
                yield step, orders, rows
            for below in step.below:
                waiting.append((below, orders, rows[holds(below.clauses, values[rows])]))


def read_rules(
    model: Any, X: Any, y: npt.ArrayLike | None = None, *, max_questions: int | None = None, max_clauses: int = 6
) -> Rules:
    """Follow a fitted model on examples, and say in conditions what it orders of which, and where it stops.

    Parameters
    ----------
    model : estimator, BudgetedPipeline or Pipeline
        A fitted estimator of this package, or a pipeline that ends in one.
    X : array or DataFrame, shape (n_samples, n_features)
        Examples, best those that were not trained on.
    y : array, shape (n_samples,), optional
        Their labels or targets, to say how often answers are right.
    max_questions : int, optional
        Most orders to tell of; what is ordered after them is only counted.
    max_clauses : int, default=6
        Most clauses by which the steps after an order are told apart; fewer where fewer do as well.

    Returns
    -------
    Rules
        Of a model that is a single tree it is the tree. Of another the steps are what the model does with these
        examples, and the conditions are those that tell the steps apart best; each step says for how many examples they
        do not, and ``n_followed`` for how many they do throughout.

    Raises
    ------
    TypeError
        The model is none of this package.
    ValueError
        No examples, or labels of another number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ipforest import BudgetPrune
    >>> from ipforest.rules import read_rules
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = BudgetPrune(DecisionTreeClassifier(max_depth=2, random_state=0), random_state=0).fit(X, y)
    >>> read_rules(model, X, y).is_exact
    True
    """
    buyer, prepare, names = _parts(model)
    seller = buyer._seller()
    if names is not None and not hasattr(buyer, "feature_names_in_"):
        pipeline = model.as_pipeline() if isinstance(model, BudgetedPipeline) else model
        seller = replace(seller, feature_names=tuple(map(str, pipeline[:-1].get_feature_names_out())))
    rules = rules_of(
        buyer.policy(),
        seller,
        prepare(X),
        y,
        max_cost=buyer.max_cost,
        max_questions=max_questions,
        max_clauses=max_clauses,
        names=names,
    )
    return replace(rules, prepare=prepare)


def rules_of(
    policy: Policy,
    seller: Seller,
    X: Array,
    y: npt.ArrayLike | None = None,
    *,
    max_cost: object | None = None,
    max_questions: int | None = None,
    max_clauses: int = 6,
    names: Sequence[str] | None = None,
) -> Rules:
    """Say in conditions what any policy does, as `read_rules` does for estimators.

    Parameters
    ----------
    policy : Policy
    seller : Seller
    X : ndarray, shape (n_samples, n_features)
    y : array, shape (n_samples,), optional
    max_cost : number, optional
        What each example may pay at most.
    max_questions, max_clauses
        See `read_rules`.
    names : sequence of str, optional
        Of the columns that `seller.costs` prices; by default those of the features.
    """
    if max_questions is not None:
        check_integer(max_questions, "max_questions", 1)
    check_integer(max_clauses, "max_clauses", 2)
    if X.shape[0] == 0:
        raise ValueError("X: expected at least one example, got none")
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (X.shape[0],):
        raise ValueError(f"y: expected {X.shape[0]} values, one per example, got shape {labels.shape}")
    end = _End.of(policy, seller, X, labels, max_cost)
    tree = None if seller.costs.delayed.any() else _single_tree(policy, max_cost)
    orders, most = _OrderNames(seller, names), inf if max_questions is None else max_questions
    reader: _TreeReader | _Reader
    if tree is not None:
        reader = _TreeReader(tree, seller, end, orders, most)
    else:
        reader = _Reader(policy, seller, end, orders, max_cost, most, max_clauses)
    first = reader.read()
    return Rules(
        first,
        seller,
        tree is not None and not any(step.goes_on for step in first.ends),
        X.shape[0],
        int(reader.told.sum()),
        int((reader.told & ~reader.goes_on).sum()),
        float(end.paid.mean()),
        end.error,
        lambda examples: np.asarray(examples, dtype=policy.dtype),
    )


def _parts(model: Any) -> tuple[BudgetedEstimator, Callable[[Any], Array], list[str] | None]:
    """Take apart what buys, what it sees of a table, and the names of the table's columns."""
    _, buyer, encode = parted(model)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())] or None

    def prepare(X: Any) -> Array:
        checked = buyer._checked(buyer._with_unused_columns(encode(X)))
        return np.asarray(checked).astype(buyer.policy().dtype)

    return buyer, prepare, names


def _most_orders(step: Step) -> int:
    return len(step.orders) + max(map(_most_orders, step.below), default=0)


class _OrderNames:
    """Names units by the columns of the table that they bring."""

    def __init__(self, seller: Seller, names: Sequence[str] | None) -> None:
        self._costs, self._names, self._features = seller.costs, names, seller.feature_names

    def __call__(self, unit: Unit) -> str:
        if self._names is None:
            return ", ".join(dict.fromkeys(self._features[feature] for feature in unit.features))
        return ", ".join(self._names[source] for source in self._costs.sources_of(unit.features))


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """Where the sessions of the examples end: values (n_samples, n_features), outputs, labels, and what was paid."""

    values: Array
    outputs: FloatArray
    answers: Array
    paid: FloatArray
    labels: Array | None
    classes: Array | None

    @classmethod
    def of(cls, policy: Policy, seller: Seller, X: Array, labels: Array | None, max_cost: object | None) -> _End:
        """Follow the policy to the end."""
        sessions = Sessions(policy, seller, X.shape[0], max_cost=max_cost)
        sessions.see(X)
        outputs = sessions.outputs
        return cls(sessions.table(X), outputs, seller.labels(outputs), sessions.paid, labels, seller.classes)

    @property
    def error(self) -> float | None:
        """The share of wrong answers, or the mean squared error."""
        if self.labels is None:
            return None
        if self.classes is None:
            return float(np.mean((self.answers - self.labels) ** 2))
        return float(np.mean(self.answers != self.labels))

    @property
    def n_answers(self) -> int:
        """Number of different answers; 1 for regression."""
        return 1 if self.classes is None else self.classes.size

    def actions(self, rows: IntArray) -> IntArray:
        """Give each answer its number; for regression all are 0."""
        if self.classes is None:
            return np.zeros(rows.size, dtype=np.int64)
        return places_in(self.classes, self.answers[rows])

    def step(self, rows: IntArray, goes_on: bool = False) -> Step:
        """Sum up examples, one at least, that stop."""
        paid = float(self.paid[rows].mean())
        if self.classes is None:
            return Step((), rows.size, paid, answer=float(self.answers[rows].mean()), goes_on=goes_on)
        said = int(np.bincount(self.actions(rows)).argmax())
        return Step(
            (),
            rows.size,
            paid,
            answer=self.classes[said],
            probability=float(self.outputs[rows, said].mean()),
            n_right=None if self.labels is None else int((self.answers[rows] == self.labels[rows]).sum()),
            goes_on=goes_on,
        )


def _single_tree(policy: Policy, max_cost: object | None) -> Forest | BoostedTrees | None:
    """Return the tree where nothing but one tree decides."""
    if type(policy) is not TreesInOrder or max_cost is not None or policy.trees.n_trees != 1:
        return None
    return policy.trees


class _TreeReader:
    """Reads a single tree as it is, with what examples do in it."""

    def __init__(
        self, tree: Forest | BoostedTrees, seller: Seller, end: _End, names: _OrderNames, max_questions: float
    ) -> None:
        self._tree, self._seller, self._end, self._names, self._most = tree, seller, end, names, max_questions
        self.told: BoolArray = np.ones(end.values.shape[0], dtype=bool)
        self.goes_on: BoolArray = np.zeros(end.values.shape[0], dtype=bool)
        self._units, self._first_unit = seller.units(), seller.first_unit

    def read(self) -> Step:
        return self._step(0, np.arange(self.told.size), ((),), (), ())

    def _step(
        self,
        node: int,
        rows: IntArray,
        clauses: tuple[Clause, ...],
        bought: tuple[Unit, ...],
        tests: tuple[int, ...],
    ) -> Step:
        paid = self._paid(bought, tests)
        if self._tree.left[node] == LEAF:
            return self._answer(node, clauses, rows, paid)
        feature = int(self._tree.feature[node])
        unit = self._units[self._first_unit[feature]]
        orders: tuple[Order, ...] = ()
        if unit not in bought:
            if len(bought) >= self._most:
                self.goes_on[rows] = True
                return replace(self._answer(node, clauses, rows, paid), goes_on=True)
            orders = (Order(self._names(unit), self._seller.price_after(unit, bought), 1, unit.index),)
            bought = (*bought, unit)
        below: list[Step] = []
        for child, condition in zip(
            (self._tree.left[node], self._tree.right[node]), self._conditions(node), strict=True
        ):
            here = rows[condition.holds(self._end.values[rows])]
            step = self._step(int(child), here, ((condition,),), bought, (*tests, feature))
            below += [step] if step.is_end or step.orders else _with_condition(step.below, condition)
        return Step(clauses, rows.size, paid, orders, below=tuple(below))

    def _paid(self, bought: tuple[Unit, ...], tests: tuple[int, ...]) -> float:
        usage = np.zeros((1, self._tree.n_features), dtype=bool)
        usage[0, list(tests)] = True
        return float(self._seller.costs.cost_of(usage)[0]) + self._seller.split_cost * len(tests)

    def _answer(self, node: int, clauses: tuple[Clause, ...], rows: IntArray, paid: float) -> Step:
        if rows.size:
            return replace(self._end.step(rows), clauses=clauses)
        value = self._tree.value[node][None]
        if isinstance(self._tree, BoostedTrees):
            margins = self._tree.base_score[None].copy()
            margins[0, int(self._tree.first_output[0]) :][: value.shape[1]] += value[0]
            value = self._tree.outputs(margins)
        n_right = 0 if self._end.labels is not None and self._end.classes is not None else None
        return Step(clauses, 0, paid, answer=self._seller.labels(value)[0], n_right=n_right)

    def _conditions(self, node: int) -> tuple[Condition, Condition]:
        """Say when examples go left and when right."""
        tree, feature = self._tree, int(self._tree.feature[node])
        missing_left = self._seller.allow_missing and bool(tree.missing_left[node])
        missing_right = self._seller.allow_missing and not missing_left
        chosen = int(tree.category_set[node])
        if chosen >= 0:
            among = tuple(tree.left_categories.members(chosen).tolist())
            others_left = bool(tree.left_categories.others[chosen])
            return (
                Condition(feature, among=among, excluded=others_left, missing=missing_left),
                Condition(feature, among=among, excluded=not others_left, missing=missing_right),
            )
        threshold = _as_compared(float(tree.splits.threshold[node]), tree.dtype)
        return (
            Condition(feature, at_most=threshold, missing=missing_left),
            Condition(feature, above=threshold, missing=missing_right),
        )


def _as_compared(threshold: float, dtype: np.dtype[Any]) -> float:
    """Return the largest number of a type that is at most a threshold: ``x <= threshold`` for the same numbers x."""
    nearest = dtype.type(threshold)
    return float(nearest if nearest <= threshold else np.nextafter(nearest, dtype.type(-inf)))


def _with_condition(steps: Sequence[Step], condition: Condition) -> list[Step]:
    """Let steps follow from one condition more: nothing is ordered between it and them."""
    return [replace(step, clauses=tuple(joined((condition,), *clause) for clause in step.clauses)) for step in steps]


class _Reader:
    """Reads what any policy does, group by group of examples of which the same was ordered so far."""

    def __init__(
        self,
        policy: Policy,
        seller: Seller,
        end: _End,
        names: _OrderNames,
        max_cost: object | None,
        max_questions: float,
        max_clauses: int,
    ) -> None:
        self._seller, self._end, self._names, self._most = seller, end, names, max_questions
        self._sessions = Sessions(policy, seller, end.values.shape[0], max_cost=max_cost)
        self._units = seller.units()
        self._max_clauses = max_clauses
        self.told: BoolArray = np.ones(end.values.shape[0], dtype=bool)
        self.goes_on: BoolArray = np.zeros(end.values.shape[0], dtype=bool)

    def read(self) -> Step:
        rows = np.arange(self._end.values.shape[0])
        actions = self._actions(rows)
        if (actions == actions[0]).all():
            return replace(self._step(rows, ()), clauses=((),))
        return Step(((),), rows.size, 0.0, below=self._below(rows, actions, ()))

    def _actions(self, rows: IntArray) -> BoolArray:
        """Mark what happens next, shape (n_rows, n_units + n_answers): the units that are ordered, or an answer."""
        among = np.zeros(self.told.size, dtype=bool)
        among[rows] = True
        actions = np.zeros((among.size, len(self._units) + self._end.n_answers), dtype=bool)
        for request in self._sessions.requests(among):
            actions[request.rows, request.unit.index] = True
        stops = rows[self._sessions.wanted[rows] == ANSWERS]
        actions[stops, len(self._units) + self._end.actions(stops)] = True
        return actions[rows]

    def _step(self, rows: IntArray, bought: tuple[Unit, ...]) -> Step:
        """Follow examples of which the same happens next."""
        orders: list[Order] = []
        paid = float(self._sessions.paid[rows].mean())
        while True:
            asked = [self._units[unit] for unit in np.flatnonzero(self._actions(rows[:1])[0, : len(self._units)])]
            if not asked:
                return replace(self._end.step(rows), orders=tuple(orders))
            if len(bought) + len(asked) > self._most or rows.size < FEW * self.told.size:
                self.goes_on[rows] = True
                return replace(self._end.step(rows, goes_on=True), orders=tuple(orders))
            number = int(self._sessions.rounds[rows[0]]) + (not self._sessions.waits[rows[0]])
            for unit in asked:
                orders.append(Order(self._names(unit), self._seller.price_after(unit, bought), number, unit.index))
                bought += (unit,)
            self._sessions.buy_from(self._end.values, rows)
            actions = self._actions(rows)
            if not (actions == actions[0]).all():
                return Step((), rows.size, paid, tuple(orders), below=self._below(rows, actions, bought))

    def _below(self, rows: IntArray, actions: BoolArray, bought: tuple[Unit, ...]) -> tuple[Step, ...]:
        """Part examples by what happens next, and find conditions that tell the parts apart."""
        known, values = [feature for unit in bought for feature in unit.features], self._end.values[rows]
        numbers = np.unique(actions, axis=0, return_inverse=True)[1].ravel()
        clauses = tell_apart(values, known, numbers, self._seller.categories, self._max_clauses)
        steps = []
        for number in range(int(numbers.max()) + 1):
            here, told = numbers == number, clauses.get(number, ())
            meets = holds(told, values)
            self.told[rows[here & ~meets]] = False
            steps.append(
                replace(
                    self._step(rows[here], bought),
                    clauses=told,
                    n_missed=int((here & ~meets).sum()),
                    n_strays=int((meets & ~here).sum()),
                )
            )
        return tuple(sorted(steps, key=_readable_first))


def _readable_first(step: Step) -> tuple[bool, int, int]:
    return not step.clauses, sum(map(len, step.clauses)), -step.n_samples
