"""Contexts are found where forests on both sides err less; cascades ask for them first, then for what matters."""

from pathlib import Path

import numpy as np
import pytest

from ipforest import BudgetForest, FeatureCosts, ForestSearch
from ipforest._internal.arrays import Array, IntArray
from ipforest._internal.examples import Labelled
from ipforest.frontiers import context_cascades, forests_on_features
from ipforest.frontiers.context_cascades import ContextCascades, ContextRouter, Part, PartsByContext
from ipforest.frontiers.forests_on_features import ForestsOnFeatures
from ipforest.frontiers.tasks import Classification
from ipforest.growing import CodedExamples, LookaheadGrower
from ipforest.session import Seller, Sessions
from ipforest.stopping.stages import END, Stage, StagesInOrder
from ipforest.tabular.model_files import load_model, save_model

pytestmark = pytest.mark.slow

CONTEXTS, BLOCK = 3, 4


def behind_contexts(n: int = 1200, seed: int = 0) -> tuple[Array, IntArray, IntArray]:
    """Columns 0 to 2 tell the context, one-hot; in that of the context, columns of its block tell the bits of y."""
    rng = np.random.default_rng(seed)
    y, context = rng.integers(4, size=n), rng.integers(CONTEXTS, size=n)
    X = rng.normal(0.5, 0.3, (n, CONTEXTS * (1 + BLOCK)))
    X[:, :CONTEXTS] = rng.normal(np.eye(CONTEXTS)[context], 0.1)
    for bit in range(2):
        X[np.arange(n), CONTEXTS + BLOCK * context + bit] = rng.normal(y >> bit & 1, 0.1)
    return X.astype(np.float32), y, context


def parts_of(X: Array, y: IntArray, weight: Array | None = None) -> Part:
    data = Labelled(X, y, np.ones(y.size) if weight is None else weight)
    coded = CodedExamples.from_examples(X, 64)
    forests = ForestsOnFeatures(X, coded, coded, y, data.weight, Classification(np.unique(y)), 40, (1, 3))
    return PartsByContext(data, LookaheadGrower(), forests, np.arange(X.shape[1])[:, None]).part()


def seller_for(costs: FeatureCosts) -> Seller:
    return Seller(costs, 0.0, np.arange(4), tuple(f"x{column}" for column in range(costs.n_features)), True)


def dummy_cascades(whole: Part, costs: FeatureCosts) -> list[tuple[Stage, ...]]:
    plans = ContextCascades(whole, seller_for(costs))
    return plans.cascades(["model"] * len(plans.wanted()))


@pytest.fixture(scope="module")
def whole() -> Part:
    X, y, _ = behind_contexts()
    return parts_of(X, y)


def test_examples_are_parted_by_their_contexts(whole: Part) -> None:
    _, _, context = behind_contexts()
    off, on = whole.sides
    assert {whole.context, off.context} < {0, 1, 2}
    assert whole.context != off.context
    for part, column in ((on, whole.context), (off.sides[1], off.context)):
        assert not part.sides
        np.testing.assert_array_equal(part.rows, np.flatnonzero(context == column))
    assert np.setdiff1d(np.arange(context.size), np.concatenate([on.rows, off.sides[1].rows])).tolist() == (
        off.sides[0].rows.tolist()
    )


def test_each_parting_makes_forests_err_a_tenth_less(whole: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (whole, whole.sides[0]):
        assert sum(side.errors.sum() for side in part.sides) < 0.9 * part.errors.sum()
    X, y, _ = behind_contexts()
    monkeypatch.setattr(context_cascades, "BETTER_APART", 0.99)
    assert parts_of(X, y).context == -1


def test_what_tells_of_the_class_itself_is_no_context() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=800)
    X = rng.normal(y[:, None], 1.0, (800, 6)).astype(np.float32)
    assert parts_of(X, y).context == -1


def test_what_may_be_luck_is_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = behind_contexts()
    monkeypatch.setattr(forests_on_features, "SURE", 100)
    assert parts_of(X, y).context == -1


def test_small_parts_and_parts_without_a_class_are_refused() -> None:
    X, y, _ = behind_contexts(250)
    assert parts_of(X, y).context == -1
    X, y, context = behind_contexts()
    y[context == 1] = np.minimum(y[context == 1], 2)
    for part in (parts_of(X, y), *parts_of(X, y).sides):
        assert part.context != 1


def test_examples_without_weight_are_in_no_part() -> None:
    X, y, _ = behind_contexts()
    weight = (np.arange(y.size) % 4 > 0).astype(np.float64)
    whole = parts_of(X, y, weight)
    assert whole.rows.tolist() == np.flatnonzero(weight).tolist()
    assert whole.sides


def test_cascades_serve_one_part_more_each(whole: Part) -> None:
    costs = FeatureCosts.uniform(15)
    first, second, third = dummy_cascades(whole, costs)
    assert len(first) < len(second) < len(third)
    outside, within = first[1].following.tolist()
    assert (outside, first[within].features.size) == (END, 2)
    assert third[1].features.tolist() == [whole.context]
    off = third[third[1].following[0]]
    assert sorted(off.features.tolist()) == sorted([whole.context, whole.sides[0].context])
    for cascade in (first, second, third):
        for number, stage in enumerate(cascade):
            assert all(goal == END or goal > number for goal in stage.following)
            for goal in stage.following[stage.following != END]:
                assert set(stage.features.tolist()) < set(cascade[goal].features.tolist())
    ends = [stage.features.size for stage in third if stage.following.tolist() == [END]]
    assert ends == [15, 15, 15]


def test_each_part_first_buys_what_matters_in_it(whole: Part) -> None:
    (*_, cascade) = dummy_cascades(whole, FeatureCosts.uniform(15))
    within = cascade[cascade[1].following[1]]
    second = cascade[within.following[0]]
    block = CONTEXTS + BLOCK * whole.context
    assert set(second.features.tolist()) == {whole.context, block, block + 1}


def test_a_context_that_is_free_or_of_a_group_that_is_bought_costs_no_stage_more(whole: Part) -> None:
    free = FeatureCosts([0, 0, 0] + [1] * 12)
    (*_, cascade) = dummy_cascades(whole, free)
    assert [stage.features.tolist() for stage in cascade[:3]] == [[], [0, 1, 2], [0, 1, 2]]
    grouped = FeatureCosts([0, 0, 0] + [1] * 12, groups=[0, 0, 0] + [-1] * 12, group_fees=[2])
    (*_, cascade) = dummy_cascades(whole, grouped)
    assert [stage.features.tolist() for stage in cascade[:2]] == [[], [0, 1, 2]]
    off = cascade[cascade[1].following[0]]
    assert off.features.tolist() == [0, 1, 2]
    assert isinstance(off.router, ContextRouter)
    assert off.router.column == whole.sides[0].context


def test_contexts_may_be_all_there_is_to_buy(whole: Part) -> None:
    costs = FeatureCosts([1, 1, 1] + [0] * 12)
    (*_, cascade) = dummy_cascades(whole, costs)
    assert max(stage.features.size for stage in cascade) == 15


def test_unknown_contexts_are_on_the_right() -> None:
    X = np.array([[9, 0.5], [9, 0.6], [9, np.nan]])
    assert ContextRouter(1, 0.5).apply(X).tolist() == [0, 1, 1]


def routed(model: BudgetForest) -> list[StagesInOrder]:
    cascades = [member.policy for member in model.members_ if isinstance(member.policy, StagesInOrder)]
    return [policy for policy in cascades if any(isinstance(stage.router, ContextRouter) for stage in policy.stages)]


@pytest.fixture(scope="module")
def fitted() -> BudgetForest:
    X, y, _ = behind_contexts(1600)
    model = BudgetForest(5, search=ForestSearch(n_lambdas=2, n_prunings=1, n_lookahead=2), budget=2, random_state=0)
    return model.fit(X[:1200], y[:1200], X[1200:], y[1200:])


def test_the_first_cascade_serves_one_context_and_lets_the_others_go(fitted: BudgetForest) -> None:
    X, y, context = behind_contexts(1000, seed=1)
    cascade = routed(fitted)[0]
    asks = cascade.stages[1]
    sessions = Sessions(cascade, fitted._seller(), y.size)
    sessions.see(X)
    served = asks.following[(context == asks.features[0]).astype(int)] != END
    assert set(sessions.paid[~served]) == {1.0}
    assert set(sessions.paid[served]) == {15.0}
    wrong = sessions.labels(sessions.outputs) != y
    assert wrong[served].mean() < 0.1
    assert wrong[~served].mean() > 0.6


def test_sessions_and_files_answer_alike(fitted: BudgetForest, tmp_path: Path) -> None:
    X, _, _ = behind_contexts(60, seed=2)
    save_model(fitted, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.cost(X), fitted.cost(X))
    session = again.session()
    while (unit := session.next_unit) is not None:
        session.tell([X[0, feature] for feature in unit.features])
    assert session.answer == fitted.predict(X[:1])[0]


def test_no_example_pays_more_than_its_cap() -> None:
    X, y, _ = behind_contexts(1600)
    capped = BudgetForest(5, search=ForestSearch(n_lambdas=2, n_prunings=1, n_lookahead=2), max_cost=3, random_state=0)
    capped.fit(X[:1200], y[:1200], X[1200:], y[1200:])
    assert routed(capped)
    assert capped.cost(X).max() <= 3
