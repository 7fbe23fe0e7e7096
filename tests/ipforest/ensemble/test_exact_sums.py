"""Sums of rounded values are the same in any order, and as near to the truth as sums of floats are."""

import numpy as np
import pytest

from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.exact_sums import SumGrid
from ipforest.ensemble.margin_losses import MARGIN_LOSSES


def trees_of_single_leaves(values: np.ndarray) -> BoostedTrees:
    n = values.size
    return BoostedTrees(
        tree_offsets=np.arange(n + 1),
        left=np.full(n, -1),
        right=np.full(n, -1),
        feature=np.full(n, -1),
        threshold=np.zeros(n),
        missing_left=np.zeros(n, dtype=bool),
        n_features=1,
        value=values[:, None],
        first_output=np.zeros(n, dtype=np.int32),
        base_score=np.array([0.1]),
        classes=None,
        link="identity",
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e12])
def test_the_order_of_adding_up_is_of_no_consequence(scale: float) -> None:
    rng = np.random.default_rng(0)
    values = scale * rng.normal(size=501) * 10.0 ** rng.integers(-6, 1, 501)
    trees = trees_of_single_leaves(values)
    rounded = SumGrid(trees, trees.base_score).rounded(values)
    sums = {sum(rounded[rng.permutation(501)].tolist()) for _ in range(20)}
    assert len(sums) == 1
    near = 501 * np.finfo(float).eps * (0.1 + np.abs(values).sum())
    assert abs(sums.pop() - values.sum()) <= near
    assert len({sum(values[rng.permutation(501)].tolist()) for _ in range(20)}) > 1


def test_zeros_stay_zeros() -> None:
    trees = trees_of_single_leaves(np.zeros(3))
    assert not SumGrid(trees, np.zeros(1)).rounded(trees.value).any()


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_derivatives_along_a_course_are_those_at_its_margins(name: str) -> None:
    rng, loss = np.random.default_rng(0), MARGIN_LOSSES[name]
    n_outputs = 3 if name == "multinomial logit" else 1
    targets = np.eye(3)[rng.integers(0, 3, 40)] if n_outputs == 3 else rng.integers(0, 2, (40, 1)).astype(float)
    course = loss.course_from(np.zeros((40, n_outputs)), targets)
    margins = np.zeros((40, n_outputs))
    for step in range(12):
        outputs = slice(step % n_outputs, step % n_outputs + 1)
        amounts = rng.normal(size=(40, 1)) * (300.0 if n_outputs == 3 else 0.3)
        course.add(amounts, outputs)
        margins[:, outputs] += amounts
        for found, expected in zip(
            course.derivatives(outputs), loss.derivatives(margins, targets, outputs), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
