"""Named checks of a reader: the trees that it gives answer as the model does, at every threshold and next to it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ipforest._internal.arrays import evenly_spread
from ipforest._internal.feature_names import in_pandas
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read_by
from ipforest.ensemble.trees import Trees
from ipforest.testing.checks import Check, require_assertions

if TYPE_CHECKING:
    from ipforest._internal.arrays import FloatArray, Int32Array, IntArray
    from ipforest.ensemble.boosted import BoostedTrees

__all__ = ["check_reader"]

ROOM = 2e-5
"""By how much answers may differ: libraries add up in float32, too."""
WEIGHT_ROOM = 1e-6
"""By how much weights may differ from their sum, of the sum, as some libraries add up in float32."""
MAX_TESTS = 1000
"""Tests that are looked at, evenly spread over all."""
SIDES = 4
"""Examples of either side of a test that are given other values there."""
ALONE = 5
"""Examples that are asked about one by one."""
MAX_CATEGORIES = 50
EXTREMES = (0.0, -0.0, 5e-324, -5e-324, 1e-36, -1e-36, 1e30, -1e30, 1e300, -1e300, np.inf, -np.inf)
"""Values that libraries take for others: for zero, for missing ones, or for none of their bins."""


def check_reader(
    reader: str | Callable[[Any], Forest | BoostedTrees],
    model: object,
    X: Any,
    *,
    predict: Callable[[Any], Any] | None = None,
    room: float = ROOM,
) -> Iterator[tuple[str, Check]]:
    """Yield the checks that a reader of another library's models must pass, on one of its models.

    Parameters
    ----------
    reader : callable or str
        A function of a fitted model, or ``MODULE:FUNCTION``, as in `ipforest.ensemble.libraries.READERS`.
    model : fitted model
    X : array or DataFrame, shape (n_samples, n_features)
        Examples as the model takes them, such as those of training: every test is looked at with one that reaches it.
    predict : callable (X) -> array, optional
        What the model answers: probabilities, shape (n_samples, n_classes), those of the second of two classes, or
        targets. By default its ``predict_proba``, or ``predict`` where it has none.
    room : float, default=2e-5
        By how much answers may differ, of probabilities or as a share of the largest target. For a library that adds up
        in float64 it may be 1e-12.

    Yields
    ------
    name : str
    check : callable
        Raises an AssertionError, or what the reader itself raises, if it fails.

    Raises
    ------
    TypeError
        The reader is no function, or the model gives neither probabilities nor targets.
    ValueError
        X has no examples or no columns.
    RuntimeError
        Python runs with -O, which leaves assert statements out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> for name, check in check_reader("ipforest.ensemble.scikit_learn:read_sklearn", model, X):
    ...     check()
    """
    require_assertions()
    if not callable(reader) and not isinstance(reader, str):
        raise TypeError(f"reader: expected a function of a model, or its MODULE:FUNCTION, got {reader!r}")
    if predict is None and not hasattr(model, "predict_proba") and not hasattr(model, "predict"):
        raise TypeError(f"model: expected one with predict_proba or predict, or predict=, got {type(model).__name__}")
    if predict is None and _has_classes(model) and not hasattr(model, "predict_proba"):
        raise TypeError(f"predict: expected a function that gives probabilities, which {type(model).__name__} has not")
    table = in_pandas(X)
    table = table if isinstance(table, pd.DataFrame) else np.asarray(X)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"X: expected examples with columns, (n_samples, n_features), got shape {table.shape}")
    case = _Case(reader, model, table, predict, room)
    for check in CHECKS:
        yield check.__name__.removeprefix("_check_"), partial(check, case)


def _has_classes(model: object) -> bool:
    """Tell whether a model names classes; CatBoost's regressors have none in ``classes_``."""
    return np.size(getattr(model, "classes_", ())) > 0


@dataclass(frozen=True, eq=False)
class _Case:
    """A reader, a model of its library, and examples."""

    reader: str | Callable[[Any], Forest | BoostedTrees]
    model: Any
    X: Any
    own_predict: Callable[[Any], Any] | None
    room: float

    def read(self) -> Any:
        """Read the model: a Forest or BoostedTrees."""
        return read_by(self.reader, self.model)

    def expected(self, X: Any) -> FloatArray:
        """Ask the model, shape (n_samples, n_outputs)."""
        if self.own_predict is not None:
            answers = self.own_predict(X)
        else:
            answers = self.model.predict_proba(X) if self.has_probabilities else self.model.predict(X)
        return np.asarray(answers, dtype=np.float64).reshape(len(X), -1)

    def found(self, trees: Any, X: Any) -> FloatArray:
        """Ask the trees, shape (n_samples, n_outputs)."""
        if not trees.is_classifier:
            return np.asarray(trees.predict(X), dtype=np.float64).reshape(-1, 1)
        return np.asarray(trees.predict_proba(X))

    def found_by_routing(self, trees: Any, X: Any) -> FloatArray:
        """Ask the trees where they route values that they refuse, as their exports do, such as infinite ones."""
        with np.errstate(over="ignore"):
            examples = np.ascontiguousarray(np.asarray(trees.categories.numbers(X)), dtype=trees.dtype)
        if isinstance(trees, Forest):
            return np.asarray(trees.mean_value(examples))
        return np.asarray(trees.outputs(trees.margins_at(trees.leaves(examples))))

    @property
    def has_probabilities(self) -> bool:
        return hasattr(self.model, "predict_proba")

    @property
    def has_classes(self) -> bool:
        return self.has_probabilities or _has_classes(self.model)

    def first_difference(
        self, trees: Any, X: Any, *, refused: bool = False
    ) -> tuple[int, FloatArray, FloatArray] | None:
        """Find the first example of which the model and the trees say different things; these may refuse it or not."""
        expected, found = self.expected(X), (self.found_by_routing if refused else self.found)(trees, X)
        if expected.shape[1] == 1 and found.shape[1] == 2:
            found = found[:, 1:]
        assert expected.shape == found.shape, (
            f"expected answers of shape {expected.shape}, as of the model, got {found.shape}; are the classes those of "
            "the model, None for targets?"
        )
        scale = 1.0 if trees.is_classifier else float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
        same = (np.abs(expected - found) <= self.room * scale) | (expected == found)
        wrong = np.flatnonzero(~same.all(axis=1))
        return (int(wrong[0]), expected[wrong[0]], found[wrong[0]]) if wrong.size else None


def _in_words(answer: FloatArray) -> str:
    return ", ".join(f"{each:.6g}" for each in answer.tolist())


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


@dataclass(frozen=True, eq=False)
class _Probes:
    """Tests of the trees, each several times, with an example that reaches it, if there is any."""

    trees: Trees
    nodes: IntArray
    base: IntArray

    @classmethod
    def of(cls, trees: Any, X: Any, nodes: IntArray) -> _Probes:
        """Find examples that go left and right at some nodes, `SIDES` times both, as any one may be answered alike."""
        chosen = nodes[evenly_spread(nodes.size, MAX_TESTS)] if nodes.size else nodes
        leaves = trees.leaves(trees.checked_examples(X))
        sides = []
        for seed in range(SIDES):
            order = np.random.default_rng(seed).permutation(len(X))
            reaching = order[_first_places(trees, leaves[:, order])]
            sides += [reaching[trees.left[chosen]], reaching[trees.right[chosen]]]
        return cls(trees, np.tile(chosen, len(sides)), np.concatenate(sides))

    @property
    def columns(self) -> IntArray:
        """The column that each tests."""
        return self.trees.feature[self.nodes].astype(np.int64)

    def at(self, rows: Any) -> _Probes:
        """Take some of them."""
        return type(self)(self.trees, self.nodes[rows], self.base[rows])

    def table(self, X: Any, values: Sequence[Any] | FloatArray) -> Any:
        """Give the examples, each with a value in the column that its test looks at."""
        if not isinstance(X, pd.DataFrame):
            table = X[self.base].astype(np.result_type(X.dtype, np.float64) if X.dtype != object else object)
            table[np.arange(self.base.size), self.columns] = values
            return table
        table = X.iloc[self.base].reset_index(drop=True)
        for column in np.unique(self.columns).tolist():
            here, cells = np.flatnonzero(self.columns == column), table.iloc[:, column]
            if not isinstance(cells.dtype, pd.CategoricalDtype):
                cells = cells.astype(np.float64 if pd.api.types.is_numeric_dtype(cells.dtype) else object)
            cells = cells.copy()
            cells.iloc[here] = [values[place] for place in here.tolist()]
            table.isetitem(column, cells)
        return table


def _first_places(trees: Trees, leaves: Int32Array) -> IntArray:
    """Find the place of the first example that reaches each node, any place for a node that none reaches."""
    n_samples = leaves.shape[1]
    first = np.full(trees.n_nodes, n_samples)
    np.minimum.at(first, leaves.ravel(), np.tile(np.arange(n_samples), trees.n_trees))
    for node in range(trees.n_nodes - 1, 0, -1):
        if trees.parent[node] >= 0:
            first[trees.parent[node]] = min(first[trees.parent[node]], first[node])
    return np.where(first < n_samples, first, np.arange(trees.n_nodes) % n_samples)


def _compare(case: _Case, probes: _Probes, values: Sequence[Any] | FloatArray) -> None:
    """Require that model and trees say the same where each test looks at a value."""
    largest = float(np.finfo(probes.trees.dtype).max)
    refused = any(isinstance(value, float) and abs(value) > largest for value in values)
    difference = case.first_difference(probes.trees, probes.table(case.X, values), refused=refused)
    if difference is not None:
        row, expected, found = difference
        node, trees = int(probes.nodes[row]), probes.trees
        tree, place = int(trees.tree_of_node[node]), node - int(trees.tree_offsets[trees.tree_of_node[node]])
        test = f"column {int(trees.feature[node])} at node {place} of tree {tree}"
        if not trees.tests_categories[node]:
            test += f", {trees.comparison} {float(trees.threshold[node])!r} in {trees.dtype}"
        raise AssertionError(
            f"expected {_in_words(expected)}, as the model answers where {test}, looks at {values[row]!r}, got "
            f"{_in_words(found)} from the trees"
        )


def _compare_where_it_answers(case: _Case, probes: _Probes, value: Any) -> None:
    """Compare with the same value at all tests; if the model refuses it, then column by column, where it does not."""
    if not probes.nodes.size:
        return
    values = [value] * probes.nodes.size
    if not _is_refused(case, probes.table(case.X, values)):
        _compare(case, probes, values)
        return
    for column in np.unique(probes.columns).tolist():
        some = probes.at(np.flatnonzero(probes.columns == column))
        values = [value] * some.nodes.size
        if not _is_refused(case, some.table(case.X, values)):
            _compare(case, some, values)


def _is_refused(case: _Case, X: Any) -> bool:
    """Tell whether the model refuses a value, in whatever way its library does."""
    try:
        case.expected(X)
    except Exception:  # a library's own
        return True
    return False


def _tests_of_numbers(trees: Any) -> IntArray:
    nodes = trees.internal_nodes.astype(np.int64)
    return np.asarray(nodes[~trees.tests_categories[nodes]])


def _check_gives_trees(case: _Case) -> None:
    """Require: a Forest or BoostedTrees of as many columns as the examples have."""
    trees = case.read()
    n_features = case.X.shape[1]
    assert trees.n_features == n_features, (
        f"expected n_features={n_features}, the columns of X, which are numbered as in training, got {trees.n_features}"
    )


def _check_reads_alike_again(case: _Case) -> None:
    """Require: the same trees when it is read again, and from a copy that was pickled, if the model can be."""
    first = case.read()
    again = [("a second time", case.read())]
    copied = _pickled(case.model)
    if copied is not None:
        again.append(("from a copy that was pickled", read_by(case.reader, pickle.loads(copied))))
    for when, other in again:
        assert type(other) is type(first), (
            f"expected {type(first).__name__} when read {when}, got {type(other).__name__}"
        )
        for each in fields(first):
            one, two = getattr(first, each.name), getattr(other, each.name)
            same = np.array_equal(one, two) if isinstance(one, np.ndarray) else _plain(one) == _plain(two)
            assert same, f"expected the same {each.name} when the model is read {when}, got another"


def _plain(value: Any) -> Any:
    return pickle.dumps(value) if type(value).__module__.startswith("ipforest") else value


def _pickled(model: object) -> bytes | None:
    """Pickle a model; None where it cannot be, or gives other bytes each time."""
    try:
        once, twice = pickle.dumps(model), pickle.dumps(model)
    except Exception:  # a library's own
        return None
    return once if once == twice else None


def _check_leaves_the_model_alone(case: _Case) -> None:
    """Require: reading changes nothing of the model, neither its answers nor what it is pickled as."""
    before, pickled = case.expected(case.X), _pickled(case.model)
    case.read()
    after = case.expected(case.X)
    assert np.array_equal(before, after, equal_nan=True), (
        "expected the model to answer as before it was read, got others"
    )
    same = pickled is None or _pickled(case.model) == pickled
    assert same, "expected the model to stay as it is, got other bytes of pickle.dumps(model) after it was read"


def _check_answers_as_the_model(case: _Case) -> None:
    """Require: probabilities or targets are those of the model."""
    trees = case.read()
    difference = case.first_difference(trees, case.X)
    if difference is not None:
        row, expected, found = difference
        raise AssertionError(
            f"expected {_in_words(expected)}, as the model answers of row {row} of X, got {_in_words(found)} from the "
            "trees"
        )


def _check_single_rows_are_answered_alike(case: _Case) -> None:
    """Require: model and trees say the same of an example that is alone in a table."""
    trees = case.read()
    for row in evenly_spread(len(case.X), ALONE).tolist():
        difference = case.first_difference(trees, _rows(case.X, slice(row, row + 1)))
        if difference is not None:
            _, expected, found = difference
            raise AssertionError(
                f"expected {_in_words(expected)}, as the model answers of row {row} of X alone, got {_in_words(found)} "
                "from the trees"
            )


def _check_classes_are_those_of_the_model(case: _Case) -> None:
    """Require: classes in the order of the model's probabilities, its labels among them; None for targets."""
    trees = case.read()
    if trees.classes is None:
        name = type(case.model).__name__
        assert not case.has_classes, f"expected the classes of {name}, got None, as of trees for targets"
        return
    if _has_classes(case.model):
        expected = np.asarray(case.model.classes_).tolist()
        got = trees.classes.tolist()
        assert got == expected, f"expected the classes {expected}, in the order of model.classes_, got {got}"
    if case.own_predict is None and case.has_probabilities and hasattr(case.model, "predict"):
        _require_labels(case, trees)


def _require_labels(case: _Case, trees: Any) -> None:
    """Require the labels of the model where the two likeliest classes differ by more than rounding."""
    labels = np.asarray(case.model.predict(case.X)).ravel().tolist()
    probabilities = np.sort(case.found(trees, case.X), axis=1)
    sure = probabilities[:, -1] - probabilities[:, -2] > 10 * case.room
    for row, (expected, got) in enumerate(zip(labels, trees.predict(case.X).tolist(), strict=True)):
        assert expected in trees.classes.tolist(), f"expected {expected!r}, a label of the model, among the classes"
        assert not sure[row] or expected == got, f"expected the label {expected!r} of row {row} of X, got {got!r}"


def _check_goes_as_the_model_at_thresholds(case: _Case) -> None:
    """Require: a value that is just the threshold of a test goes where it goes in the model, which tells < from <=."""
    trees = case.read()
    probes = _Probes.of(trees, case.X, _tests_of_numbers(trees))
    _compare_finite(case, probes, trees.threshold[probes.nodes])


def _check_goes_as_the_model_next_to_thresholds(case: _Case) -> None:
    """Require: so do the next values, in float32 and in float64, which tells in which of them values are compared."""
    trees = case.read()
    probes = _Probes.of(trees, case.X, _tests_of_numbers(trees))
    for values in _next_values(trees.threshold[probes.nodes]):
        _compare_finite(case, probes, values)


def _compare_finite(case: _Case, probes: _Probes, values: FloatArray) -> None:
    """Compare at tests whose thresholds and values are finite in the dtype of the trees; others may be refused."""
    with np.errstate(over="ignore"):
        rounded = values.astype(probes.trees.dtype)
    some = np.flatnonzero(np.isfinite(probes.trees.threshold[probes.nodes]) & np.isfinite(rounded))
    if some.size:
        _compare(case, probes.at(some), values[some])


def _next_values(threshold: FloatArray) -> Iterable[FloatArray]:
    """Give the values next to thresholds, in float64 and in float32, and the nearest ones in float32."""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        for way in (-np.inf, np.inf):
            yield np.nextafter(threshold, way)
            yield np.nextafter(nearest, np.float32(way)).astype(np.float64)
    yield nearest.astype(np.float64)


def _check_missing_values_go_as_in_the_model(case: _Case) -> None:
    """Require: NaN goes where it goes in the model at every test, unless the model refuses it there."""
    trees = case.read()
    _compare_where_it_answers(case, _Probes.of(trees, case.X, trees.internal_nodes.astype(np.int64)), np.nan)


def _check_extreme_values_go_as_in_the_model(case: _Case) -> None:
    """Require: so do zeros, tiny, huge and infinite values, which exports take, unless the model refuses them."""
    trees = case.read()
    probes = _Probes.of(trees, case.X, _tests_of_numbers(trees))
    largest = float(np.finfo(trees.dtype).max)
    for value in (*EXTREMES, largest, -largest):
        _compare_where_it_answers(case, probes, value)


def _check_categories_go_as_in_the_model(case: _Case) -> None:
    """Require: so does each category of X, and a number that is none, at tests of categories."""
    trees = case.read()
    nodes = trees.internal_nodes.astype(np.int64)
    probes = _Probes.of(trees, case.X, nodes[trees.tests_categories[nodes]])
    for column in np.unique(probes.columns).tolist():
        some = probes.at(np.flatnonzero(probes.columns == column))
        for value in _categories_in(case.X, column):
            _compare_where_it_answers(case, some, value)


def _categories_in(X: Any, column: int) -> list[Any]:
    """List the categories of a column, and of numbers one more."""
    cells = X.iloc[:, column] if isinstance(X, pd.DataFrame) else pd.Series(X[:, column])
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return [*cells.cat.categories[:MAX_CATEGORIES]]
    known = sorted(cells.dropna().unique().tolist(), key=str)[:MAX_CATEGORIES]
    return [*known, float(cells.max()) + 1] if pd.api.types.is_numeric_dtype(cells.dtype) else known


def _check_names_are_kept(case: _Case) -> None:
    """Require: the names of the columns of training, where the model has ``feature_names_in_``, for prices by name."""
    names = getattr(case.model, "feature_names_in_", None)
    if names is None or not isinstance(case.X, pd.DataFrame):
        return
    expected, got = tuple(map(str, names)), case.read().feature_names
    assert got == expected, f"expected feature_names={expected}, those of model.feature_names_in_, got {got}"


def _check_inner_values_are_between_those_below(case: _Case) -> None:
    """Require of a Forest: a node holds what it answers if it is pruned to a leaf, not less or more than all below.

    Where each node votes for one class, that may be none of those below: 3, 4 and 3 examples can be parted into 3, 2
    and 0, and 0, 2 and 3.
    """
    trees = case.read()
    if not isinstance(trees, Forest) or (trees.is_classifier and np.isin(trees.value, (0, 1)).all()):
        return
    inner = trees.internal_nodes
    left, right, own = (trees.value[nodes] for nodes in (trees.left[inner], trees.right[inner], inner))
    room = case.room * float(np.abs(trees.value).max())
    beyond = ((own < np.minimum(left, right) - room) | (own > np.maximum(left, right) + room)).any(axis=1)
    if beyond.any():
        place = int(beyond.argmax())
        raise AssertionError(
            f"expected the value of node {int(inner[place])}, what it answers where it becomes a leaf, between those "
            f"of its children, {_in_words(left[place])} and {_in_words(right[place])}, got {_in_words(own[place])}"
        )


def _check_weights_add_up(case: _Case) -> None:
    """Require of a Forest: a node holds the weight and the examples of its children together, or all nodes hold alike.

    Training errors are read from these. A model that keeps none may have the same number at all nodes.
    """
    trees = case.read()
    if not isinstance(trees, Forest):
        return
    inner = trees.internal_nodes
    for name in ("weight", "n_samples"):
        held = np.asarray(getattr(trees, name), dtype=np.float64)
        below = held[trees.left[inner]] + held[trees.right[inner]]
        wrong = np.flatnonzero(~np.isclose(held[inner], below, rtol=WEIGHT_ROOM, atol=0))
        if wrong.size and (held != held[0]).any():
            node = int(inner[wrong[0]])
            raise AssertionError(
                f"{name}: expected node {node} to hold {below[wrong[0]]:.9g}, as its children do together, from which "
                f"training errors are read, got {held[node]:.9g}; give 1 at all nodes where the model keeps none"
            )


CHECKS: tuple[Callable[[_Case], None], ...] = (
    _check_gives_trees,
    _check_reads_alike_again,
    _check_leaves_the_model_alone,
    _check_answers_as_the_model,
    _check_single_rows_are_answered_alike,
    _check_classes_are_those_of_the_model,
    _check_goes_as_the_model_at_thresholds,
    _check_goes_as_the_model_next_to_thresholds,
    _check_missing_values_go_as_in_the_model,
    _check_extreme_values_go_as_in_the_model,
    _check_categories_go_as_in_the_model,
    _check_names_are_kept,
    _check_inner_values_are_between_those_below,
    _check_weights_add_up,
)
