"""Parameters that travel together: checked where they are made, set and searched through the estimator, and saved."""

import pickle
from dataclasses import FrozenInstanceError, fields
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from ipforest import BoostSearch, BudgetBoost, BudgetPrune, FeatureCosts, ForestGrowth, PruningSettings
from ipforest.adaptive import AdaptGbrt, GateSearch, PairGrowth
from ipforest.classifier_trees import CSTC
from ipforest.learners import BudgetRF, GreedyGrowth, PricedGrowth
from ipforest.settings import Settings, groups_of
from ipforest.tabular.model_files import load_model, save_model

MOST_PARAMETERS, COSTS = 12, FeatureCosts([1, 1])
ESTIMATORS = {
    type(model): model
    for make in (*CLASSIFIERS.values(), *REGRESSORS.values())
    for model in [make(FeatureCosts([1, 1]))]
}
GROUPED = [
    pytest.param(model, group.kind, id=f"{kind.__name__}-{name}")
    for kind, model in ESTIMATORS.items()
    for name, group in groups_of(kind).items()
]
KINDS = list(dict.fromkeys(param.values[1] for param in GROUPED))


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_no_constructor_has_more_than_twelve_parameters(kind: type) -> None:
    assert len(signature(kind).parameters) <= MOST_PARAMETERS
    assert set(groups_of(kind)) <= set(signature(kind).parameters)


@pytest.mark.parametrize(("model", "kind"), GROUPED)
def test_fields_are_parameters_of_the_estimator(model: Any, kind: type[Settings]) -> None:
    name, default = kind.parameter, kind().get_params()
    plain = clone(model).set_params(**{name: None})
    told = plain.get_params()
    assert told[name] is None
    assert {field: told[f"{name}__{field}"] for field in default} == default
    assert not any(key.startswith(f"{name}__") for key in plain.get_params(deep=False))
    for field, value in default.items():
        changed = clone(plain).set_params(**{f"{name}__{field}": value})
        assert getattr(changed, name) == kind()
        assert getattr(plain, name) is None
    with pytest.raises(ValueError, match=f"^{name}: expected parameters among {', '.join(default)}, got 'nothing'$"):
        plain.set_params(**{f"{name}__nothing": 1})


@pytest.mark.parametrize(("model", "kind"), GROUPED)
def test_another_kind_of_settings_is_refused_before_training(model: Any, kind: type[Settings]) -> None:
    other = PricedGrowth(max_depth=2) if kind is not PricedGrowth else ForestGrowth(max_bins=8)
    for given in (other, {"max_depth": 2}, kind):
        message = f"^{kind.parameter}: expected {kind.__name__} or None for {type(model).__name__}, got "
        with pytest.raises(TypeError, match=message):
            clone(model).set_params(**{kind.parameter: given}).fit(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    "kind", list(dict.fromkeys(param.values[1] for param in GROUPED)), ids=lambda kind: kind.__name__
)
def test_settings_are_frozen_and_copied_as_they_are(kind: type[Settings]) -> None:
    settings = kind()
    assert clone(settings) is settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert repr(settings) == f"{kind.__name__}()"
    first = fields(settings)[0].name  # type: ignore[arg-type]  # a dataclass
    with pytest.raises(FrozenInstanceError):
        setattr(settings, first, 1)
    with pytest.raises(ValueError, match=f"^{kind.parameter}: expected parameters among .*, got 'other'$"):
        settings.with_params(other=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: PairGrowth(max_depth=0), r"^growth\.max_depth: expected an integer >= 1, got 0$"),
        (lambda: GreedyGrowth(cuts="some"), r"^growth\.cuts: expected one of 'random', 'all', got 'some'$"),
        (lambda: PruningSettings(errors=[1]), r"^pruning\.errors: expected one of 'in-bag', .*, got \[1\]$"),
        (lambda: GateSearch(lambdas=0), r"^search\.lambdas: expected at least 1, or a sequence of numbers, got 0$"),
        (lambda: BoostSearch(n_lambdas=2.0), r"^search\.n_lambdas: expected an integer >= 1, got 2\.0$"),
        (lambda: CSTC().set_params(objective__rho=-1), r"^objective\.rho: expected a number >= 0, got -1$"),
        (lambda: CSTC().set_params(descent__sent_up=1), r"^descent\.sent_up: expected a share between 0 and 1, got 1$"),
        (lambda: BudgetBoost().set_params(growth__l2="x"), r"^growth\.l2: expected a finite number > 0, got 'x'$"),
    ],
)
def test_a_field_is_named_as_the_estimator_has_it(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        change()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_a_field_refuses_it_refuses_by_its_name(kind: type[Settings]) -> None:
    told: dict[str, str] = {}
    for field in kind().get_params():
        for value in ("x", 0.5, -1, [], {}, [None], object(), np.nan, np.arange(2)):
            try:
                kind(**{field: value})
            except (TypeError, ValueError) as problem:
                told[str(problem)] = f"{kind.parameter}.{field}: expected "
    assert all(message.startswith(expected) for message, expected in told.items())


def test_what_is_given_is_the_start_of_what_is_changed() -> None:
    model = AdaptGbrt(RandomForestClassifier(), growth=PairGrowth(max_depth=2))
    model.set_params(growth__charge="node", growth__max_bins=16)
    assert model.growth == PairGrowth(max_depth=2, charge="node", max_bins=16)
    assert PairGrowth().learning_rate == 0.5 != PricedGrowth().learning_rate
    model.set_params(growth=None, growth__max_depth=1)
    assert model.growth == PairGrowth(max_depth=1)
    assert repr(model.growth) == "PairGrowth(max_depth=1)"
    assert "PairGrowth(max_depth=1)" in repr(model)
    assert "PairGrowth(max_depth=1)" in estimator_html_repr(model)


def test_grids_go_over_fields_of_settings_in_pipelines_and_inner_estimators() -> None:
    X, y = load_iris(return_X_y=True)
    grid = {"model__growth__max_depth": [1, 4], "model__growth__alpha": [0, 2]}
    pipeline = make_pipeline(StandardScaler(), BudgetRF(3, random_state=0))
    pipeline.steps[-1] = ("model", pipeline.steps[-1][1])
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert search.best_estimator_[-1].growth.max_depth == search.best_params_["model__growth__max_depth"]
    assert len({*search.cv_results_["mean_test_score"]}) > 1
    outer = AdaptGbrt(BudgetRF(3)).set_params(estimator__growth__max_depth=2)
    assert outer.estimator.growth == GreedyGrowth(max_depth=2)


def test_settings_are_saved_with_a_model(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    forest, settings = RandomForestClassifier(3, random_state=0), PruningSettings(search="path", time_limit=3)
    model = BudgetPrune(forest, pruning=settings, budget=2, random_state=0).fit(X, y)
    loaded = load_model(save_model(model, tmp_path / "model.skops"), allow_pickle=False)
    assert loaded.pruning == settings
    np.testing.assert_array_equal(loaded.at_budget(1).predict(X), model.at_budget(1).predict(X))
