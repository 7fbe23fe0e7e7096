"""Pictures: regions in the plane as the model answers, the frontier as it is."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.svm import SVC

from ipforest.adaptive import AdaptLin, GateSearch
from ipforest.adaptive.drawing import RESOLUTION, plot_frontier, plot_regions
from ipforest.adaptive.linear_pair import AlternationSettings
from ipforest.experiments.adapt2017.figure2 import plane

X, Y = plane(200, 0)


@pytest.fixture(scope="module")
def model() -> AdaptLin:
    quick = AlternationSettings(max_rounds=5)
    fitted = AdaptLin(
        SVC(gamma=10), search=GateSearch(shares=[0.6], lambdas=[0.0]), alternation=quick, random_state=0
    ).fit(X, Y)
    fitted.chosen_ = fitted.candidates_[-1]
    return fitted


def test_regions_are_what_the_model_does_there(model: AdaptLin) -> None:
    axes = plot_regions(model, X, Y, Figure().add_subplot())
    region = np.asarray(axes.collections[0].get_array()).reshape(RESOLUTION, RESOLUTION)
    places = np.rint((X - X.min(axis=0)) / np.ptp(X, axis=0) * (RESOLUTION - 1)).astype(int)
    expected = np.where(model.goes_to_full(X), 2, model.predict(X))
    assert np.mean(region[places[:, 1], places[:, 0]] == expected) > 0.97
    assert {line.get_xdata().size for line in axes.lines} == set(np.bincount(Y).tolist())


def test_a_plain_classifier_has_two_regions() -> None:
    axes = plot_regions(SVC(gamma=10).fit(X, Y), X, Y, Figure().add_subplot())
    assert set(np.unique(axes.collections[0].get_array())) == {0, 1}


def test_the_frontier_is_a_line_through_its_points(model: AdaptLin) -> None:
    axes = plot_frontier(model, Figure().add_subplot(), label="Adapt-Lin")
    line = axes.lines[0]
    assert line.get_label() == "Adapt-Lin"
    assert list(line.get_xdata()) == [candidate.cost for candidate in model.hull_]
    assert axes.lines[1].get_xdata().size == len(model.candidates_)
