"""What is neither a number nor a table, brought where one belongs: refused in one line that names it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from budgeted_estimators import REGRESSORS
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier

from ipforest import (
    BudgetBoostRegressor,
    BudgetForest,
    BudgetPrune,
    EarlyExit,
    FeatureCosts,
    Forest,
    ForestSearch,
    NestedCascade,
    PruningInstance,
)

X, Y = load_iris(return_X_y=True)
COSTS = FeatureCosts([1, 2, 3, 4])
MASKED = np.ma.masked_array(X, X > 3)
REFUSED = r"expected a plain array, got one with masked entries; its filled\(numpy.nan\) makes them missing"


@pytest.fixture(scope="module")
def model():
    forest = RandomForestClassifier(2, max_depth=2, random_state=0)
    return BudgetPrune(forest, feature_costs=COSTS, budget=6, random_state=0).fit(X, Y)


def test_masked_entries_are_no_numbers(model) -> None:
    """Libraries take what is below the mask: 305 triples of masked examples were those of the plain ones."""
    forest = Forest.from_sklearn(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y))
    for name, act in (
        ("X_cost", lambda: PruningInstance.from_forest(forest, MASKED, COSTS)),
        ("X", lambda: model.predict(MASKED)),
        ("X", lambda: model.cost(MASKED)),
        ("X", lambda: BudgetPrune(RandomForestClassifier(2), feature_costs=COSTS, budget=6).fit(MASKED, Y)),
        (
            "y",
            lambda: BudgetPrune(RandomForestClassifier(2), feature_costs=COSTS, budget=6).fit(
                X, np.ma.masked_array(Y, Y > 1)
            ),
        ),
    ):
        with pytest.raises(TypeError, match=f"^{name}: {REFUSED}"):
            act()
    np.testing.assert_array_equal(model.predict(np.ma.masked_array(X)), model.predict(X))


@pytest.mark.parametrize("known", [[1], "ab", 3, {1}])
def test_what_is_known_is_told_by_feature(model, known) -> None:
    with pytest.raises(TypeError, match="known: expected a mapping of features to values, got"):
        model.session(known=known)


def test_integers_beyond_floats_are_no_values(model) -> None:
    with pytest.raises(ValueError, match=r"expected a number below 2\^1024, got a larger integer"):
        model.session(known={0: 10**400})
    session = model.session()
    with pytest.raises(ValueError, match=r"expected a number below 2\^1024, got a larger integer"):
        session.tell(10**400)


def test_groups_are_no_lists() -> None:
    with pytest.raises(TypeError, match="groups: expected one group per feature, integers, got lists of them"):
        FeatureCosts([1] * 4, [[0, 0], 0, 0, 0], [1])


@pytest.mark.parametrize(
    ("table", "problem", "text"),
    [
        (None, TypeError, r"^X: expected a table, got None; a file is read first"),
        ("data.csv", TypeError, r"^X: expected a table, got 'data\.csv'; a file is read first"),
        ([["1", "a"]] * len(Y), ValueError, r"^X: expected numbers, got 'a' in column 1; encode words before"),
        (np.array([["1", "a"]] * len(Y)), ValueError, r"^X: expected numbers, got 'a' in column 1; encode words"),
        ([["a", "b", "1", "c"]] * len(Y), ValueError, r"^X: expected numbers, got 'a' in column 0; encode words"),
        (pd.DataFrame({"a": [1j] * len(Y)}), ValueError, r"^X: expected real numbers, got complex ones in column 'a'"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_in_one_line(table, problem, text) -> None:
    with pytest.raises(problem, match=text) as refused:
        BudgetPrune(RandomForestClassifier(2)).fit(table, Y)
    assert "\n" not in str(refused.value)


def test_texts_that_are_numbers_are_numbers(model) -> None:
    np.testing.assert_array_equal(model.predict(X.astype(str).tolist()), model.predict(X))


@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS)
def test_targets_whose_squares_are_no_numbers_are_refused(make) -> None:
    with pytest.raises(ValueError, match=r"^y: expected targets of at most 1e\+140, whose squares .* got 2e\+200"):
        make(COSTS).fit(X, Y * 1e200)


@pytest.mark.parametrize(
    "model",
    [
        BudgetForest(2, search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0)),
        NestedCascade(RandomForestClassifier(2, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_number_that_trees_of_stages_do_not_hold_is_named_before_any_stage_sees_it(model) -> None:
    X = pd.DataFrame(np.random.default_rng(0).random((80, 2)), columns=["age", "dose"])
    fitted = clone(model).set_params(random_state=0).fit(X, X.age + X.dose > 1)
    refusal = "expected finite float32 values or NaN, got an infinite or too large one"
    with pytest.raises(ValueError, match=f"X: {refusal} in column 'dose'"):
        fitted.predict(X.assign(dose=1e39))
    session = fitted.session()
    asked = session.next_unit
    with pytest.raises(ValueError, match=f"{asked}: {refusal}"):
        session.tell(1e39)
    assert (session.next_unit, session.paid) == (asked, 0)


def test_several_targets_are_refused_by_name() -> None:
    two = np.column_stack([Y, Y > 0])
    for several in (RandomForestClassifier(2), MultiOutputClassifier(RandomForestClassifier(2))):
        kind = type(several).__name__
        with pytest.raises(TypeError, match=f"^estimator: expected a classifier of one target, got {kind} of 2$"):
            EarlyExit(FrozenEstimator(several.fit(X, two))).fit(X, Y)


def test_a_search_is_asked_for_what_it_found() -> None:
    search = GridSearchCV(RandomForestClassifier(2, random_state=0), {"max_depth": [1, 2]}, cv=2).fit(X, Y)
    for around in (BudgetPrune, EarlyExit):
        with pytest.raises(TypeError, match=r"got GridSearchCV; give what the search found, model\.best_estimator_$"):
            around(FrozenEstimator(search)).fit(X, Y)


@pytest.mark.parametrize("name", ["budget", "max_cost"])
def test_no_limit_is_none(name) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: expected a finite number .*, or None, got inf$"):
        BudgetPrune(RandomForestClassifier(2), **{name: np.inf}).fit(X, Y)


def test_a_price_list_that_lies_on_its_side_is_refused() -> None:
    wide = pd.DataFrame([[1, 2]], columns=["age", "ldl"])
    said = r"expected a column cost, or one column of numbers, got 'age', 'ldl'; .* write a row for each feature$"
    with pytest.raises(ValueError, match=said):
        BudgetPrune(RandomForestClassifier(2), feature_costs=wide).fit(X, Y)


@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS)
def test_targets_whose_squares_are_nothing_are_refused(make) -> None:
    with pytest.raises(ValueError, match=r"^y: expected targets that differ by 1e-140 at least, .* multiply them"):
        make(COSTS).fit(X, Y * 1e-200)


def test_targets_that_no_tree_splits_are_told() -> None:
    """Forests of scikit-learn are single leaves on concentrations in moles where a mole is too large a unit."""
    targets = X[:, 0] * 1e-9
    with pytest.warns(UserWarning, match=r"y: targets with a variance of .*e-1.; scikit-learn's trees split no node"):
        BudgetPrune(RandomForestRegressor(2, random_state=0), random_state=0).fit(X, targets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BudgetBoostRegressor(20, random_state=0).fit(X, targets)
        BudgetPrune(RandomForestRegressor(2, random_state=0), random_state=0).fit(X, np.full(len(X), 1e-9 / 3))
    assert model.score(X, targets) > 0.5


def test_targets_that_are_texts_of_numbers_are_the_numbers() -> None:
    """Estimators around those of scikit-learn failed where they look at the variance of targets."""
    pruned = BudgetPrune(RandomForestRegressor(2, random_state=0), random_state=0)
    texts = [repr(target) for target in X[:, 0].tolist()]
    np.testing.assert_array_equal(clone(pruned).fit(X, texts).predict(X), pruned.fit(X, X[:, 0]).predict(X))
