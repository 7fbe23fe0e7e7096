"""Estimators of one's own by the template, with slips that are easily made: they are told, none predicts wrongly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ipforest import BudgetPrune, Forest, Pruning
from ipforest.choosing.frontier import Frontier
from ipforest.estimator import PricedEstimator
from ipforest.estimator.checks import check_integer
from ipforest.learners.pruning_baselines import CostComplexity, PruningSequence
from ipforest.policy import TreesInOrder
from ipforest.settings import checked

X, y = make_classification(80, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0)
PRICES = (1, 2, 3, 4)


class Template(PricedEstimator):
    """Whatever `answers` buys, as the only model."""

    answers: Any = None

    def fit(self, X, y):
        return self._fit(X, y)

    def _train(self, training, validation, given, **options):
        return Frontier.of_points([(1, 0.5)])

    def policy(self):
        return type(self).answers


def grown(columns=slice(None), rows=slice(None), trees: Any = RandomForestClassifier) -> TreesInOrder:
    return TreesInOrder(Forest.from_sklearn(trees(3, max_depth=3, random_state=0).fit(X[rows, columns], y[rows])))


class Answering:
    """A policy that buys feature 0, counts it, and answers with the first class; each subclass makes one slip."""

    dtype, place_size, ignores_unwanted, decides_by = np.float64, 0, False, "nothing"
    features = np.array([0])

    def advance(self, progress, rows):
        progress.tests[rows, 0] += progress.known[rows, 0]
        return np.where(progress.known[rows, 0], -1, 0).astype(np.int32)

    def answer(self, progress, rows):
        return np.tile([1.0, 0.0, 0.0], (rows.size, 1))

    def reason(self, progress, row, in_words=str):
        return "it is first"


class Uncounted(Answering):
    def advance(self, progress, rows):
        return np.where(progress.known[rows, 0], -1, 0).astype(np.int32)


class Endless(Answering):
    def advance(self, progress, rows):
        return np.zeros(rows.size, dtype=np.int32)


class Outside(Answering):
    def advance(self, progress, rows):
        return np.full(rows.size, 4, dtype=np.int32)


class OfTwoClasses(Answering):
    def answer(self, progress, rows):
        return np.tile([1.0, 0.0], (rows.size, 1))


def made(answers: Any, kind: type = ClassifierMixin) -> Any:
    return type("Mine", (kind, Template), {"answers": answers})(feature_costs=PRICES, random_state=0)


def test_a_policy_of_ones_own_is_paid_for() -> None:
    model = made(Answering()).fit(X, y)
    assert (model.cost(X) == 1).all()
    assert (model.predict(X) == 0).all()
    assert model.session().next_unit.name == "feature 0"


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        (Uncounted(), ValueError, "expected progress.tests to count the tests of feature 0, which was wanted"),
        (Endless(), ValueError, "expected to want a feature that is not known, got 0"),
        (Outside(), ValueError, "expected to want one of 4 features by number, or -1, got 4"),
        (OfTwoClasses(), ValueError, r"expected answers in 3 columns, one for each class, got shape \(80, 2\)"),
        (grown(rows=y > 0), ValueError, r"expected answers in 3 columns, one for each class, got shape \(80, 2\)"),
        (grown(trees=RandomForestRegressor), ValueError, r"3 columns, one for each class, got shape \(80, 1\)"),
        (grown([1, 2]), ValueError, "expected trees of 4 features, as many as examples have, got trees of 2"),
        (grown([0, 1, 2, 3, 0, 1, 2, 3]), ValueError, "expected trees of 4 features, .* got trees of 8"),
        (grown().trees, TypeError, r"such as TreesInOrder\(forest\), got Forest, which has no advance, answer"),
        (None, TypeError, "expected a policy as ipforest.policy describes it, .* got NoneType"),
    ],
)
@pytest.mark.parametrize("asked", ["predict", "cost"])
def test_what_a_policy_does_wrong_is_told(answers, error, message, asked) -> None:
    model = made(answers).fit(X, y)
    if asked == "cost" and isinstance(answers, OfTwoClasses):
        pytest.skip("costs ask for no answers")
    with pytest.raises(error, match=f"policy: .*{message}"):
        getattr(model, asked)(X)


def test_trees_of_classes_answer_no_targets() -> None:
    with pytest.raises(ValueError, match=r"policy: expected answers in one column of targets, got shape \(80, 3\)"):
        made(grown(), RegressorMixin).fit(X, y).predict(X)


class Undecorated(ClassifierMixin, Template):
    n_estimators: int = checked(10, check_integer, 1)


class PassesOn(ClassifierMixin, Template):
    def __init__(self, depth=3, **others):
        super().__init__(**others)
        self.depth = depth


@dataclass(eq=False, repr=False)
class MixedInLast(Template, ClassifierMixin):
    n_estimators: int = checked(10, check_integer, 1)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            Undecorated,
            r"Undecorated: expected its parameters as fields of a dataclass, .* got n_estimators, which clones",
        ),
        (PassesOn, r"PassesOn: .* or all of them in the signature of its __init__, got feature_costs, which clones"),
        (
            MixedInLast,
            "MixedInLast: expected ClassifierMixin or RegressorMixin as the first of its bases, got Template",
        ),
        (
            Template,
            "Template: expected ClassifierMixin or RegressorMixin as the first of its bases, got PricedEstimator",
        ),
    ],
)
def test_classes_that_clones_or_tags_would_misread_are_told(kind, message) -> None:
    with pytest.raises(TypeError, match=message):
        kind(feature_costs=PRICES).fit(X, y)


def test_a_signature_of_ones_own_may_leave_out_what_stays_at_its_default() -> None:
    class Short(ClassifierMixin, Template):
        answers = Answering()

        def __init__(self, budget=None):
            self.budget = budget

    assert (Short(budget=1).fit(X, y).cost(X) == 1).all()


@pytest.mark.parametrize("frontier", [[(1, 0.5)], np.ones((1, 2))])
def test_what_training_has_to_give_is_told(frontier) -> None:
    class Listing(ClassifierMixin, Template):
        def _train(self, training, validation, given, **options):
            return frontier

    with pytest.raises(TypeError, match=f"_train: expected to get a Frontier or None, got {type(frontier).__name__}"):
        Listing().fit(X, y)


@pytest.mark.parametrize("point", [(1, 2, 3), 1.0, (np.ones(3), np.ones(3))])
def test_points_are_pairs(point) -> None:
    with pytest.raises(ValueError, match="points: expected pairs of numbers, cost and loss, got"):
        Frontier.of_points([point])


def test_prunings_are_prunings_each_with_a_parameter() -> None:
    class Placing(CostComplexity):
        def _choose_pruning(self):
            return 0

    model = Placing(RandomForestClassifier(3, max_depth=3, random_state=0), random_state=0)
    with pytest.raises(TypeError, match="_choose_pruning: expected to get a Pruning, got int"):
        model.fit(X, y)
    instance = CostComplexity(model.estimator, random_state=0).fit(X, y).instance_
    whole = Pruning(np.ones(instance.internal_nodes.size, dtype=bool))
    with pytest.raises(ValueError, match="parameters: expected one for each of 2 prunings, got 1"):
        PruningSequence.of(instance, [whole, whole], [0])


def test_an_unknown_parameter_is_told_in_one_line() -> None:
    model = BudgetPrune(RandomForestClassifier(3, max_depth=3, random_state=0), random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"^Invalid parameter 'bugdet' for estimator BudgetPrune. Valid parameters are"
    ):
        model.set_params(bugdet=3)


def test_a_pruning_beyond_the_budget_is_told():
    class Everything(CostComplexity):
        def _choose_pruning(self):
            return self.instance_.unpruned

    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    assert Everything(forest, feature_costs=PRICES, random_state=0).fit(X, y).pruning_.n_kept > 0
    with pytest.raises(
        ValueError, match=r"_choose_pruning: expected to get a pruning within the budget 1, got one that"
    ):
        Everything(forest, feature_costs=PRICES, budget=1, random_state=0).fit(X, y)


def test_prunings_of_a_sequence_may_be_arrays():
    instance = (
        CostComplexity(RandomForestClassifier(2, max_depth=2, random_state=0), random_state=0).fit(X, y).instance_
    )
    whole = np.ones(instance.n_internal, dtype=bool)
    assert PruningSequence.of(instance, [whole], [0]).prunings == (instance.unpruned,)
    with pytest.raises(ValueError, match="prunings: expected one or more, got none"):
        PruningSequence.of(instance, [], [])
