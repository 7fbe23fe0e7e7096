from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetForest, FeatureCosts, ForestSearch, datasets
from ipforest._internal.examples import Labelled
from ipforest.ensemble.forest import Forest
from ipforest.frontiers import branching_forests
from ipforest.frontiers.branching_forests import MAX_BRANCHES, MAX_UNITS, MEASURING_TREES, BranchingForests
from ipforest.frontiers.forests_on_features import ForestsOnFeatures
from ipforest.frontiers.tasks import Classification
from ipforest.growing import CodedExamples
from ipforest.session import Seller
from ipforest.stopping.stages import stage_sizes
from ipforest.walks import END

CUBE = datasets.cube(2000, seed=1)


def planned(data: Any = CUBE, weight: Any = None, costs: Any = None, columns: Any = None) -> BranchingForests:
    X = data.X.astype(np.float32)
    prices = FeatureCosts([1] * X.shape[1]) if costs is None else costs
    seller = Seller(prices, 0.0, np.unique(data.y), tuple(map(str, range(prices.n_features))), allow_missing=True)
    held = np.ones(data.y.size) if weight is None else weight
    codes = [CodedExamples.from_examples(X, bins) for bins in (64, 64)]
    forests = ForestsOnFeatures(X, *codes, data.y, held, Classification(np.unique(data.y)), MEASURING_TREES, (1,))
    plain = RandomForestClassifier(20, min_samples_leaf=3, random_state=0).fit(X, data.y, held)
    of_feature = [np.array([feature]) for feature in range(X.shape[1])] if columns is None else columns
    known = Forest.from_sklearn(plain)
    return BranchingForests(Labelled(X, data.y, held), known, forests, of_feature, seller, np.random.RandomState(0))


def sizes(plans: BranchingForests) -> list[int]:
    return [features.size for features, _ in plans.wanted()]


def test_examples_part_into_few_stages_of_each_size() -> None:
    counts = np.bincount(sizes(planned()))
    assert counts[2] > 1
    assert counts.max() <= MAX_BRANCHES
    assert np.flatnonzero(counts).tolist() == [size for size in [0, *stage_sizes(20)] if size <= MAX_UNITS]


def test_stages_are_trained_on_what_gets_there_and_on_no_fewer_than_is_enough() -> None:
    plans = planned()
    (stages,) = plans.cascades([None] * len(plans.wanted()))
    reached = [np.zeros(CUBE.y.size, dtype=bool) for _ in stages]
    reached[0][:] = True
    for stage, here in zip(stages, reached, strict=True):
        for goal in np.unique(stage.following[stage.following != END]):
            reached[goal][here] |= stage.goals(CUBE.X[here].astype(np.float32)) == goal
    for (_, rows), here in zip(plans.wanted(), reached, strict=True):
        assert np.isin(np.flatnonzero(here), rows).all()
        assert rows.size == max(here.sum(), branching_forests.MIN_STAGE_EXAMPLES)
        assert np.unique(rows).size == rows.size
    assert min(here.sum() for here in reached) < branching_forests.MIN_STAGE_EXAMPLES < CUBE.y.size


def test_of_many_examples_some_plan_and_all_train(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branching_forests, "PLANNING_EXAMPLES", 600)
    wanted = planned().wanted()
    assert len(wanted) > 20
    assert np.unique(np.concatenate([rows for features, rows in wanted if features.size == 2])).size == CUBE.y.size


def test_examples_part_no_more_where_they_are_few() -> None:
    assert planned().parts
    few = np.arange(2000) < 90
    assert not planned(weight=few.astype(float)).parts


def test_examples_without_weight_plan_nothing() -> None:
    used = np.arange(CUBE.y.size) % 2 == 0
    plans = [planned(replace(CUBE, y=y), weight=used.astype(float)) for y in (CUBE.y, np.where(used, CUBE.y, 0))]
    one, two = ([features.tolist() for features, _ in each.wanted()] for each in plans)
    assert one == two


def test_what_columns_of_one_feature_tell_is_added_up() -> None:
    rows = np.arange(CUBE.y.size)
    apart = planned()._measured(rows)
    halves = [*(np.array([feature, feature + 10]) for feature in range(10)), *(np.array([], dtype=int),) * 10]
    together = planned(columns=halves)._measured(rows)
    np.testing.assert_allclose(together[:, :10], apart[:, :10] + apart[:, 10:])
    assert not together[:, 10:].any()


def test_a_unit_that_costs_much_is_bought_late() -> None:
    first = next(features for features, _ in planned().wanted() if features.size == 1)
    costs = np.ones(20, dtype=int)
    costs[first] = 1000
    dear = planned(costs=FeatureCosts(costs.tolist()))
    assert not any(first in features for features, _ in dear.wanted() if features.size < 20)


def test_it_is_on_the_frontier_where_examples_need_different_features() -> None:
    data = datasets.cube(3000, seed=0)
    search = ForestSearch(n_lambdas=2, n_prunings=1, n_lookahead=0)
    model = BudgetForest(20, search=search, budget=3, random_state=0).fit(data.X[:2000], data.y[:2000])
    names = {member.name for member in model.members_}
    assert any(name.startswith("a cascade of") for name in names)
    routed = [m for m in model.members_ if any(s.router is not None for s in getattr(m.policy, "stages", ()))]
    assert len(routed) == 1
    assert model.members_[model.frontier_.member[model.choice_]] is routed[0]
    assert model.score(data.X[2000:], data.y[2000:]) > 0.75
