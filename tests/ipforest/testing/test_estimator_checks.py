"""The checks of estimators: ours pass, and each fault that an author might make is found by the check that names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from ipforest import BudgetPrune, EarlyExit, FeatureCosts, Forest
from ipforest.choosing.frontier import Frontier
from ipforest.estimator import PricedEstimator
from ipforest.estimator.checks import check_integer
from ipforest.policy import TreesInOrder
from ipforest.settings import checked
from ipforest.testing import check_budgeted_estimator

MAKERS = CLASSIFIERS | {f"{name} of a target": make for name, make in REGRESSORS.items()}


@dataclass(eq=False, repr=False)
class CheapestFeatures(ClassifierMixin, PricedEstimator):
    """A forest on the cheapest features, as many of them as have the least error within the budget."""

    n_estimators: int = checked(10, check_integer, 1)

    def fit(self, X, y):
        return self._fit(X, y)

    def _train(self, training, validation, given, **options):
        by_price = np.argsort(self.costs_.float_prices, kind="stable")
        self.forests_, points = [], []
        for n_features in range(by_price.size + 1):
            shown = np.zeros_like(training.X)
            columns = by_price[:n_features]
            shown[:, columns] = training.X[:, columns]
            forest = Forest.from_sklearn(self._trees(given).fit(shown, training.y))
            points.append((self._price(forest, validation.X), np.mean(forest.predict(validation.X) != validation.y)))
            self.forests_.append(forest)
        return Frontier.of_points(points)

    def _trees(self, given):
        return RandomForestClassifier(self.n_estimators, max_depth=5, random_state=given.random.randint(2**31 - 1))

    def _price(self, forest, X):
        return forest.cost(X, self.costs_).mean()

    def policy(self):
        return TreesInOrder(self.forests_[self.choice_])


class DrawsByItself(CheapestFeatures):
    def _trees(self, given):
        return RandomForestClassifier(self.n_estimators, max_depth=5)


class UnderstatesCosts(CheapestFeatures):
    def _price(self, forest, X):
        return super()._price(forest, X) / 2


class LooksAtAll(CheapestFeatures):
    def _train(self, training, validation, given, **options):
        self.full_ = LogisticRegression(max_iter=500).fit(training.X, training.y)
        return super()._train(training, validation, given, **options)

    def predict_proba(self, X):
        return self.full_.predict_proba(X)


class ForgetsFees(CheapestFeatures):
    def cost(self, X):
        return self.acquired(X) @ self.costs_.float_prices


class ForgetsTests(CheapestFeatures):
    def feature_usage(self, X):
        return 0 * super().feature_usage(X)


class CountsTestsTwice(CheapestFeatures):
    def feature_usage(self, X):
        return 2 * super().feature_usage(X)


class TreesOfOneFeature(TreesInOrder):
    @property
    def features(self):
        return super().features[:1]


class NamesOneFeature(CheapestFeatures):
    def policy(self):
        return TreesOfOneFeature(self.forests_[self.choice_])


class IgnoresCaps(CheapestFeatures):
    def predict_on_demand(self, fetch, n, max_cost=None, **options):
        return super().predict_on_demand(fetch, n, **options)


class WritesIntoExamples(CheapestFeatures):
    def fit(self, X, y):
        X -= X.min(axis=0)
        return super().fit(X, y)


class ChangesItsParameters(CheapestFeatures):
    def fit(self, X, y):
        self.n_estimators = min(self.n_estimators, 7)
        return super().fit(X, y)


class RemembersItsChoice(CheapestFeatures):
    def fit(self, X, y):
        super().fit(X, y)
        self.chosen_ = self.choice_
        return self

    def policy(self):
        return TreesInOrder(self.forests_[self.chosen_])


class AnswersByNumber(CheapestFeatures):
    def predict(self, X, return_cost=False):
        return np.argmax(self.predict_proba(X), axis=1)


class RanksTheTable(CheapestFeatures):
    def predict_proba(self, X):
        X = np.asarray(X)
        return super().predict_proba(X + 0.5 * (X - X.mean(axis=0)))


class CannotBeCopied(CheapestFeatures):
    def fit(self, X, y):
        super().fit(X, y)
        self.key_ = lambda row: row
        return self


class WritesIntoWhatIsShared(CheapestFeatures):
    def policy(self):
        self.forests_[: self.choice_] = [self.forests_[self.choice_]] * self.choice_
        return super().policy()


class CountsInUnits(CheapestFeatures):
    def _trees(self, given):
        depth = int(self.costs_.float_prices.max())
        return RandomForestClassifier(self.n_estimators, max_depth=depth, random_state=0)


class ForgivesBudgets(CheapestFeatures):
    def at_budget(self, budget):
        return super().at_budget(abs(budget))


class BuysWhatIsKnown(CheapestFeatures):
    def session(self, known=None, max_cost=None, max_rounds=None):
        return super().session(None, max_cost, max_rounds)


class AnswersTheMostFrequent(CheapestFeatures):
    def _trees(self, given):
        return RandomForestClassifier(1, max_depth=1, min_samples_leaf=0.5, random_state=0)


class LosesNames(CheapestFeatures):
    def fit(self, X, y):
        return super().fit(np.asarray(X), y)


class TakesNumbersForAmounts(CheapestFeatures):
    def _trees(self, given):
        depth = 5 if self.classes_.dtype.kind == "U" else 2
        return RandomForestClassifier(self.n_estimators, max_depth=depth, random_state=0)


class ReadsMemory(CheapestFeatures):
    def predict(self, X, return_cost=False):
        return super().predict(np.frombuffer(np.asarray(X).tobytes("A")).reshape(np.shape(X)), return_cost)


class GoesOnFromBefore(CheapestFeatures):
    def _trees(self, given):
        self.fits_ = getattr(self, "fits_", 0) + 1
        return RandomForestClassifier(self.n_estimators, max_depth=5, random_state=self.fits_)


class PredictsUnfitted(CheapestFeatures):
    def predict(self, X, return_cost=False):
        return np.full(len(X), "ill") if not hasattr(self, "forests_") else super().predict(X, return_cost)


class DividesBySpread(CheapestFeatures):
    def fit(self, X, y):
        with np.errstate(invalid="ignore"):
            return super().fit((X - np.mean(X, axis=0)) / np.std(X, axis=0), y)


FAULTS = {
    DrawsByItself: "fits_again_alike",
    UnderstatesCosts: "budgets_hold_and_rise",
    LooksAtAll: "unbought_values_do_not_matter",
    ForgetsFees: "pays_for_what_is_bought",
    ForgetsTests: "pays_for_what_is_bought",
    CountsTestsTwice: "pays_for_what_is_bought",
    NamesOneFeature: "pays_for_what_is_bought",
    IgnoresCaps: "fetches_what_tables_buy",
    WritesIntoExamples: "leaves_examples_alone",
    ChangesItsParameters: "parameters_stay_as_given",
    RemembersItsChoice: "budgets_hold_and_rise",
    AnswersByNumber: "answers_are_labels_or_numbers",
    RanksTheTable: "examples_do_not_depend_on_each_other",
    CannotBeCopied: "copies_do_the_same",
    WritesIntoWhatIsShared: "other_budgets_change_nothing",
    CountsInUnits: "the_unit_of_prices_does_not_matter",
    ForgivesBudgets: "bad_input_is_refused",
    BuysWhatIsKnown: "what_is_known_is_free",
    AnswersTheMostFrequent: "learns_something",
    LosesNames: "columns_of_a_frame",
    TakesNumbersForAmounts: "how_it_is_written_does_not_matter",
    ReadsMemory: "how_it_is_written_does_not_matter",
    GoesOnFromBefore: "fits_again_alike",
    PredictsUnfitted: "bad_input_is_refused",
    DividesBySpread: "odd_columns",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_estimators_of_this_package_pass(name: str) -> None:
    for _, check in check_budgeted_estimator(MAKERS[name](FeatureCosts([1] * 6))):
        check()


@pytest.mark.parametrize(
    "estimator",
    [
        CheapestFeatures(),
        pytest.param(BudgetPrune(RandomForestClassifier(10)), marks=pytest.mark.slow),
        EarlyExit(RandomForestClassifier(10)),
    ],
)
def test_right_estimators_pass(estimator: Any) -> None:
    for _, check in check_budgeted_estimator(estimator):
        check()


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_a_fault_is_found_by_the_check_that_names_it(kind: type[CheapestFeatures]) -> None:
    checks = dict(check_budgeted_estimator(kind()))
    with pytest.raises(Exception, match=r".") as found:
        checks[FAULTS[kind]]()
    assert isinstance(found.value, AssertionError) == (
        kind not in (CannotBeCopied, DividesBySpread, WritesIntoExamples)
    )
    if isinstance(found.value, AssertionError):
        assert "expected" in str(found.value)


@pytest.mark.parametrize(
    ("estimator", "got"), [(CheapestFeatures, r"CheapestFeatures \(a class\)"), (LogisticRegression(), "LogisticRegr")]
)
def test_what_pays_for_no_features_is_refused(estimator: Any, got: str) -> None:
    with pytest.raises(TypeError, match=f"estimator: expected one that derives from .*BudgetedEstimator, got {got}"):
        next(check_budgeted_estimator(estimator))
