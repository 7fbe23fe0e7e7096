"""Cuts found in one walk, compared with the general search and with all cuts tried."""

from typing import Any

import numpy as np
import pytest

from ipforest._internal.arrays import Array
from ipforest._internal.kernels import njit
from ipforest.costs import FeatureCosts
from ipforest.growing import AcquisitionState, CodedExamples, Gini, Gradient, Grower, GrownTrees, forest_of
from ipforest.growing.ordered import N_BUCKETS, gini_cut_in_order, gini_cut_of_table, gradient_cut_in_order
from ipforest.growing.ordered import keys_in_order as in_order


@njit
def ordered(codes: Array, n_codes: int, rows: Array, start: int, stop: int) -> Array:
    keys, spare = np.empty(stop - start, dtype=np.int64), np.empty(stop - start, dtype=np.int64)
    in_spare = in_order(codes, n_codes, rows, start, stop, keys, spare, np.empty(N_BUCKETS, dtype=np.int64))
    return spare if in_spare else keys


@njit
def gini_in_order(keys: Array, labels: Array, weights: Array, ends: Array, least: int, node: Array) -> Any:
    return gini_cut_in_order(keys, labels, weights, ends[0], ends[1], least, node, np.empty(node.size))


@njit
def gini_of_table(table: Array, ends: Array, least: int, node: Array) -> Any:
    return gini_cut_of_table(table, ends[0], ends[1], least, node, np.empty(node.size))


@njit
def by_gradient(keys: Array, parts: Array, ends: Array, l2: float, least: int, node: Array, impurity: float) -> Any:
    return gradient_cut_in_order(keys, parts[0], parts[1], ends[0], ends[1], l2, least, node, impurity)


@pytest.mark.parametrize("n_codes", [3, 200, 70_000])
@pytest.mark.parametrize("n", [1, 20, 21, 300])
def test_examples_come_in_the_order_of_codes_and_of_places(n: int, n_codes: int) -> None:
    rng = np.random.default_rng(n)
    codes = rng.integers(0, n_codes + 1, 2 * n).astype(np.uint8 if n_codes < 256 else np.int32)
    rows = rng.permutation(2 * n).astype(np.int32)
    keys = ordered(codes, n_codes, rows, n, 2 * n)
    place = np.argsort(codes[rows[n:]], kind="stable")
    assert (keys & 0xFFFFFFFF).tolist() == place.tolist()
    assert (keys >> 32).tolist() == codes[rows[n:]][place].tolist()


def gini(weights: Array) -> Any:
    return weights.sum() - np.square(weights).sum() / weights.sum()


@pytest.mark.parametrize("least", [1, 3])
def test_the_cut_of_least_impurity_is_found(least: int) -> None:
    rng = np.random.default_rng(least)
    for _ in range(60):
        n, n_codes = int(rng.integers(2, 40)), int(rng.integers(1, 12))
        codes, labels = rng.integers(0, n_codes, n).astype(np.uint8), rng.integers(0, 3, n).astype(np.int32)
        weights, ends = rng.integers(1, 4, n).astype(float), np.sort(rng.random(2 * n_codes)).reshape(-1, 2).T.copy()
        part = np.eye(3)[labels] * weights[:, None]
        gradients, hessians = rng.normal(size=n), rng.random(n) + 0.1
        occurring = np.unique(codes)
        valid = [code for code in occurring[:-1] if least <= (codes <= code).sum() <= n - least]
        whole = gini(part.sum(axis=0))
        gains = [whole - sum(gini(part[side].sum(axis=0)) for side in (codes <= c, codes > c)) for c in valid]
        node, keys = np.append(part.sum(axis=0), n), ordered(codes, n_codes, np.arange(n, dtype=np.int32), 0, n)
        table = np.zeros((n_codes + 1, 4))
        np.add.at(table, codes, np.column_stack([part, np.ones(n)]))
        sums = np.array([gradients.sum(), hessians.sum(), n])

        def lost(side: Array, gradients: Array = gradients, hessians: Array = hessians) -> Any:
            return -0.5 * gradients[side].sum() ** 2 / (hessians[side].sum() + 0.5)

        falls = [lost(np.arange(n)) - lost(codes <= c) - lost(codes > c) for c in valid]
        cuts = (
            (gini_in_order(keys, labels, weights, ends, least, node), gains),
            (gini_of_table(table, ends, least, node), gains),
            (by_gradient(keys, np.array([gradients, hessians]), ends, 0.5, least, sums, lost(np.arange(n))), falls),
        )
        for cut, reductions in cuts:
            if not valid:
                assert cut.reduction == -np.inf
                assert (cut.code == -2) == (occurring.size == 1)
                continue
            assert cut.reduction == pytest.approx(max(reductions), abs=1e-9)
            assert reductions[valid.index(cut.code)] == pytest.approx(max(reductions), abs=1e-9)
            following = occurring[np.searchsorted(occurring, cut.code) + 1]
            assert cut.threshold == pytest.approx((ends[1, cut.code] + ends[0, following]) / 2)


def grown_many(kind: str, X: Any, coded: CodedExamples, state: AcquisitionState, **settings: Any) -> list[GrownTrees]:
    """Grow three trees at once, and the same one by one."""
    rng = np.random.default_rng(1)
    weights, seeds = rng.integers(0, 3, (3, len(X))).astype(float), [4, 5, 6]
    labels, gradients = rng.integers(0, 2, len(X)), rng.normal(size=(3, len(X)))
    grower = Grower(Gini() if kind == "classes" else Gradient(1.0), max_leaf_nodes=3, **settings)

    def grow(rows: slice) -> GrownTrees:
        if kind == "classes":
            return grower.grow_classifiers(coded, labels, 2, state, weights[rows], seeds[rows], X)
        return grower.grow_regressors(
            coded, gradients[rows], np.ones_like(gradients)[rows], state, weights[rows], seeds[rows], X
        )

    together = grow(slice(0, 3))
    state.bought[:] = False
    return [together, *(grow(slice(number, number + 1)) for number in range(3))]


@pytest.mark.parametrize("kind", ["classes", "gradients"])
@pytest.mark.parametrize("price", [0.0, 0.02])
def test_trees_grown_together_are_those_grown_one_by_one_and_tell_where_examples_end(kind: str, price: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(0, 5, 80)
    coded = CodedExamples.from_examples(X, 16, np.array([False, False, True]))
    state = AcquisitionState.per_example(FeatureCosts.uniform(3), 80)
    together, *alone = grown_many(kind, X, coded, state, price_weight=price)
    classes, criterion = (np.arange(2), "gini") if kind == "classes" else (None, "squared_error")
    forest, parts = forest_of([together], 3, classes, criterion), forest_of(alone, 3, classes, criterion)
    for name in ("tree_offsets", "left", "right", "feature", "threshold", "missing_left", "value", "impurity"):
        np.testing.assert_array_equal(getattr(forest, name), getattr(parts, name), err_msg=name)
    leaves = forest.leaves(X)
    np.testing.assert_array_equal(together.ends + forest.tree_offsets[:-1, None], leaves)
    np.testing.assert_array_equal(together.answers, forest.value[leaves, 0])
    needed = AcquisitionState.per_example(FeatureCosts.uniform(3), 80)
    needed.record_trees(forest, leaves)
    assert needed.bought.any()
    assert price == 0 or not needed.bought.all()
    np.testing.assert_array_equal(state.bought, needed.bought)


def test_examples_of_weight_0_end_nowhere_where_their_values_are_not_given() -> None:
    X = np.arange(8.0, dtype=np.float32)[:, None]
    weights = np.array([1, 0, 1, 1, 1, 1, 0, 1])
    state = AcquisitionState.per_tree(FeatureCosts([0]))
    tree = Grower(Gini()).grow_classifiers(
        CodedExamples.from_examples(X), np.arange(8) // 4, 2, state, weights=weights[None]
    )
    assert tree.ends.tolist() == [[1, -1, 1, 1, 2, 2, -1, 2]]


def test_a_side_whose_weight_is_rounded_to_nothing_is_no_cut() -> None:
    """The last two examples weigh less than the others' sum is rounded by; beside these nothing tells them apart."""
    codes, labels, weights = (
        np.arange(4, dtype=np.uint8),
        np.array([0, 1, 0, 1], np.int32),
        np.array([1e20, 1e20, 1, 1]),
    )
    table = np.zeros((5, 3))
    table[codes, labels], table[codes, 2] = weights, 1
    node, ends = table.sum(axis=0), np.array([codes, codes], dtype=np.float64)
    keys = ordered(codes, 4, np.arange(4, dtype=np.int32), 0, 4)
    for cut in (gini_in_order(keys, labels, weights, ends, 1, node), gini_of_table(table, ends, 1, node)):
        assert (cut.code, cut.threshold) == (0, 0.5)
