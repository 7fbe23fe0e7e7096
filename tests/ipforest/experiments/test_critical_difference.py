"""Mean ranks over data sets, tested as in Demšar (2006)."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from ipforest.experiments.critical_difference import MeanRanks, draw_ranks, rank_methods

DEMSAR = {
    "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.000, 0.940, 0.619, 0.972, 0.957],
    "C4.5+m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.000, 0.962, 0.666, 0.981, 0.978],
    "C4.5+cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.000, 0.965, 0.614, 0.975, 0.946],
    "C4.5+m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.000, 0.962, 0.669, 0.973, 0.970],
}
"""Areas under the curve of his table 6."""


def test_the_example_of_the_paper() -> None:
    found = rank_methods({name: -np.array(areas) for name, areas in DEMSAR.items()})
    assert found.methods == ("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")
    np.testing.assert_allclose(found.ranks, [1.964, 2.000, 2.893, 3.143], atol=2e-3)
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert found.p_value == pytest.approx(0.0167, abs=0.001)  # corrected for ties; the paper's .026 is not


def test_those_that_differ_are_those_of_scikit_posthocs() -> None:
    posthocs = pytest.importorskip("scikit_posthocs", reason="it is looked at, not depended on")
    draws = np.random.default_rng(0).normal(size=(6, 12))
    errors = dict(zip("abcdef", draws + np.arange(6)[:, None] / 2, strict=True))
    found = rank_methods(errors)
    table = np.array([errors[method] for method in found.methods])
    apart = np.abs(np.subtract.outer(found.ranks, found.ranks)) > found.critical_difference
    assert 0 < apart.sum() < apart.size
    assert np.array_equal(posthocs.posthoc_nemenyi_friedman(table.T).to_numpy() < 0.05, apart)


def test_runs_that_cannot_be_told_apart_are_largest() -> None:
    ranks = np.array([1.0, 1.5, 2.4, 4.0, 4.1])
    assert MeanRanks(tuple("abcde"), ranks, 5, 1.0, 0.0).alike == [(0, 1), (1, 2), (3, 4)]
    assert MeanRanks(tuple("abcde"), ranks, 5, 0.01, 0.0).alike == []
    assert MeanRanks(tuple("abcde"), ranks, 5, 9.0, 0.0).alike == [(0, 4)]


def test_equal_methods_are_alike() -> None:
    found = rank_methods({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    assert found.p_value == 1
    assert found.alike == [(0, 2)]
    axes = Figure().add_subplot()
    draw_ranks(axes, found)
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[2, 0], [2, 2]])  # the bar
    np.testing.assert_allclose(axes.lines[1].get_xdata(), [1, 1 + found.critical_difference])
    assert [text.get_text() for text in axes.texts] == ["a  2.0", "b  2.0", "c  2.0", "critical difference 2.34"]


@pytest.mark.parametrize("errors", [{"a": [1, 2], "b": [1, 2]}, {"a": [1], "b": [1], "c": [2]}])
def test_too_few_to_test(errors: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="errors: expected 3 methods and 2 data sets or more, got shape"):
        rank_methods(errors)
