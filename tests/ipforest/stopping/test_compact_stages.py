"""Stages of forests without what no example reaches and no answer needs: the same answers in fewer bytes."""

import copy
import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.tree import DecisionTreeRegressor

from ipforest import NestedCascade, NestedStages
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.packed_forests import RestingForest, pack_forests, unpack_forests
from ipforest.ensemble.packing import deflated, inflated
from ipforest.frontiers import AveragedTrees, AveragedTreesRegressor
from ipforest.stopping.optimal_stopping import OptimalStopping
from ipforest.stopping.stages import StagesInOrder
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.tabular.model_files import load_model, save_model
from ipforest.walks import ensembles

X, Y = load_wine(return_X_y=True)
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
STAGES = NestedStages(sizes=[1, 3, 6, 13])


@cache
def cascade(stopping: Any) -> NestedCascade:
    trees = AveragedTrees(4, min_samples_leaf=(1,), random_state=0)
    return NestedCascade(trees, stages=STAGES, stopping=stopping, budget=2, random_state=0).fit(X, Y)


def require_same(policy: Any, other: Any, model: Any, X: Any) -> None:
    for each in (policy, other):
        walked = each.at_once(model._seller().purse(None))(X)
        assert [part.tobytes() for part in walked] == [
            part.tobytes() for part in policy.at_once(model._seller().purse(None))(X)
        ]


@pytest.mark.parametrize("stopping", [ThresholdStopping(), OptimalStopping(n_bins=3, min_support=10)])
def test_compact_stages_answer_and_buy_the_same_to_the_last_bit(stopping: Any, tmp_path: Any) -> None:
    model = cascade(stopping)
    for level in (*model.curve_.level[::20], model.curve_.level[0], 0.02, 0.2):
        whole = model.policy().stopped(model.rule_, float(level))
        compact = whole.compact()
        again = pickle.loads(pickle.dumps(compact))
        for each in (compact, again):
            require_same(whole, each, model, HOLES)
        assert len(pickle.dumps(compact)) < 0.7 * len(pickle.dumps(whole))
        assert again.compact().name == again.name == compact.name
    file = save_model(compact, tmp_path / "stages.skops")
    require_same(compact, load_model(file, allow_pickle=False), model, HOLES)


def test_stages_that_no_example_reaches_are_left_out() -> None:
    model = cascade(OptimalStopping(n_bins=3, min_support=10))
    policy = model.policy()
    sizes = [len(policy.stopped(model.rule_, level).compact().stages) for level in (-np.inf, model.level_, np.inf)]
    assert sizes[0] == len(policy.stages) >= sizes[1] > sizes[2] == 1


@pytest.mark.parametrize("class_costs", [None, [[0, 1, 2], [3, 0, 1], [1, 1, 0]]])
def test_stages_that_all_examples_pass_may_be_left_out(class_costs: Any) -> None:
    model = clone(cascade(OptimalStopping(n_bins=3, min_support=10)))
    model.set_params(class_costs=class_costs, budget=None).fit(X, Y)
    n_stages = []
    for level in (-np.inf, *np.unique(model.curve_.level)[:8], np.inf):
        whole = model.policy().stopped(model.rule_, float(level))
        compact = pickle.loads(pickle.dumps(whole.compact(keep_passed=False)))
        require_same(whole, compact, model, HOLES)
        n_stages.append(len(compact.stages))
    assert n_stages[0] == 2
    assert max(n_stages) > 2


def test_stages_are_kept_from_whose_answers_the_next_ones_tell_how_sure_they_are() -> None:
    data, target = load_diabetes(return_X_y=True)
    trees = AveragedTreesRegressor(3, min_samples_leaf=(3,), random_state=0)
    model = NestedCascade(
        trees,
        stages=NestedStages(sizes=[1, 2, 3, 4, 6]),
        stopping=OptimalStopping(n_bins=4, min_support=10),
        budget=3,
        random_state=0,
    ).fit(data, target)
    n_left_out = 0
    for level in (-np.inf, *np.unique(model.curve_.level)[::4]):
        whole = model.policy().stopped(model.rule_, float(level))
        compact = whole.compact(keep_passed=False)
        require_same(whole, compact, model, data)
        n_left_out += len(whole.stages) - len(compact.stages)
    assert n_left_out > 4


def test_stages_that_part_examples_are_kept() -> None:
    model = cascade(OptimalStopping(n_bins=3, min_support=10))
    first, *others = model.policy().stopped(model.rule_, -np.inf).stages
    tree = DecisionTreeRegressor(max_depth=1).fit(X[:, others[0].features], Y)
    parting = replace(others[0], router=tree, following=np.array([-1, 2, 3]))
    policy = StagesInOrder((first, parting, *others[1:]), model.costs_, rule=model.rule_)
    compact = policy.compact(keep_passed=False)
    require_same(policy, compact, model, HOLES)
    assert [stage.router is None for stage in compact.stages] == [True, False, True]
    capped = StagesInOrder(model.stages_, model.costs_, max_cost=3, rule=model.rule_)
    require_same(capped, capped.compact(keep_passed=False), model, HOLES)


def test_stopping_compact_stages_packs_no_forests(monkeypatch: Any) -> None:
    compact = cascade(ThresholdStopping()).policy().compact()
    monkeypatch.setattr("ipforest.stopping.stages.pack_forests", None)
    assert compact.stopped(ThresholdStopping(), 0.0).stages == compact.stages


def test_forests_of_stages_rest_when_they_are_not_asked(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = cascade(ThresholdStopping())
    monkeypatch.setattr("ipforest.ensemble.packed_forests.MIN_RESTING_BYTES", 1)
    model = clone(dense).fit(X, Y)
    resting = [stage.model.ensembles_ for stage in model.stages_ if hasattr(stage.model, "ensembles_")]

    def n_unpacked() -> int:
        return sum(each.unpacked is not None for forests in resting for each in forests.members)

    assert resting
    assert n_unpacked() == 0
    np.testing.assert_array_equal(model.predict_proba(X), dense.predict_proba(X))
    model.paths_of(X, Y)
    assert n_unpacked() == 0
    for level in (model.level_, -np.inf):
        policy = model.policy().stopped(model.rule_, level)
        for each in (policy, policy.compact()):
            require_same(dense.policy().stopped(dense.rule_, level), each, model, HOLES)
    again = load_model(save_model(model, tmp_path / "model.skops"), allow_pickle=False)
    np.testing.assert_array_equal(again.predict_proba(X), dense.predict_proba(X))


def resting(policy: StagesInOrder) -> list[RestingForest]:
    """List the forests that are packed until they are asked for."""
    sequences = [stage.model.ensembles_ for stage in policy.stages if hasattr(stage.model, "ensembles_")]
    return [each for forests in sequences for each in forests.members if isinstance(each, RestingForest)]


def test_stages_that_were_loaded_rest_and_are_pickled_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    model = cascade(ThresholdStopping())
    for policy in (model.policy(), model.policy().compact()):
        saved = pickle.dumps(policy)
        monkeypatch.setattr("ipforest.ensemble.trees.pack", None)
        monkeypatch.setattr("ipforest.ensemble.packed_forests.pack", None)
        again = pickle.loads(saved)
        n_forests = sum(len(stage.model.ensembles_) for stage in policy.stages[1:])
        require_same(policy, again, model, HOLES)
        assert [each.unpacked for each in resting(again)] == [None] * n_forests
        assert [each.n_features for each in resting(again)] == [each.forest().n_features for each in resting(again)]
        assert len(pickle.dumps(again.within(3))) == pytest.approx(len(saved), rel=0.01)
        require_same(policy, pickle.loads(pickle.dumps(again)), model, HOLES)
        assert pickle.dumps(pickle.loads(pickle.dumps(again))) == pickle.dumps(again)
        monkeypatch.undo()


def test_a_walk_is_made_of_forests_that_are_unpacked_stage_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    model = cascade(ThresholdStopping())
    again = pickle.loads(pickle.dumps(model.policy().compact()))
    unpacked = []

    def read_and_count(*arguments: Any) -> Any:
        unpacked.append(sum(each.unpacked is not None for each in resting(again)))
        return read(*arguments)

    read = ensembles._read
    monkeypatch.setattr(ensembles, "_read", read_and_count)
    require_same(model.policy(), again, model, HOLES)
    assert set(unpacked) <= {0, *range(1, 1 + max(len(stage.model.ensembles_) for stage in again.stages[1:]))}


def test_a_forest_that_another_thread_lets_rest_is_had_all_the_same() -> None:
    """Two threads may make the walk of one loaded model."""
    (first, *_) = resting(pickle.loads(pickle.dumps(cascade(ThresholdStopping()).policy())))
    made = first.forest()

    class LetRestMeanwhile(RestingForest):
        @property
        def unpacked(self) -> None:
            """What the other thread leaves."""

        @unpacked.setter
        def unpacked(self, forest: Forest | None) -> None:
            """Forget it at once."""

    assert LetRestMeanwhile(first.packed).forest().n_nodes == made.n_nodes


def test_a_model_of_stages_that_were_packed_together_is_pickled_and_copied_by_itself() -> None:
    compact = cascade(ThresholdStopping()).policy().compact()
    last = pickle.loads(pickle.dumps(compact)).stages[-1]
    for again in (pickle.loads(pickle.dumps(last.model)), copy.deepcopy(last.model)):
        for forest, before in zip(again.ensembles_, compact.stages[-1].model.ensembles_, strict=True):
            require_same_nodes(forest, before)


def test_forests_packed_together_that_are_none_are_refused(tmp_path: Any) -> None:
    """At the latest when they are asked for, or, in a file that may be of anyone, when it is read."""
    compact = cascade(ThresholdStopping()).policy().compact()
    pickle.dumps(compact)
    kept = inflated(compact._forests["nodes"])
    for name, values in {
        "is_leaf": np.ones_like(kept["is_leaf"]),
        "left": kept["left"] * 0,
        "right": kept["right"][1:],
        "feature inside": kept["feature inside"] + 100,
        "threshold inside": kept["threshold inside"] * np.nan,
    }.items():
        wrong = copy.deepcopy(compact)
        wrong._forests["nodes"] = deflated({**kept, name: values})
        with pytest.raises(ValueError, match="nodes: expected packed arrays of forests, got"):
            [list(stage.model.ensembles_) for stage in pickle.loads(pickle.dumps(wrong)).stages[1:]]
        with pytest.raises(
            ValueError, match=r"wrong\.skops: expected a complete model .*nodes: expected packed arrays"
        ):
            load_model(save_model(wrong, tmp_path / "wrong.skops"), allow_pickle=False)
    read = load_model(save_model(compact, tmp_path / "right.skops"), allow_pickle=False)
    assert {each.unpacked for each in resting(read)} == {None}


def test_stages_of_regressors_keep_what_their_leaves_say() -> None:
    data, target = load_diabetes(return_X_y=True)
    trees = AveragedTreesRegressor(3, min_samples_leaf=(3,), random_state=0)
    model = NestedCascade(trees, stages=NestedStages(sizes=[2, 5]), budget=3, random_state=0).fit(data, target)
    require_same(model.policy(), pickle.loads(pickle.dumps(model.policy().compact())), model, data)


def test_forests_on_other_columns_come_back_and_damaged_ones_do_not() -> None:
    stages = [stage for stage in cascade(ThresholdStopping()).stages_ if hasattr(stage.model, "ensembles_")]
    forests = [forest for stage in stages for forest in stage.model.ensembles_]
    columns = [stage.features for stage in stages for _ in stage.model.ensembles_]
    packed = pack_forests(forests, columns)
    for forest, again in zip(forests, unpack_forests(packed, columns), strict=True):
        require_same_nodes(forest, again)
    for wrong in ({**packed, "nodes": packed["nodes"][:-9]}, {**packed, "others": packed["others"][1:]}):
        with pytest.raises(ValueError, match="nodes: expected packed arrays of forests, got"):
            unpack_forests(wrong, columns)


def require_same_nodes(forest: Forest, other: Forest) -> None:
    for name in Forest.NODE_FIELDS:
        assert getattr(forest, name).tobytes() == getattr(other, name).tobytes(), name
