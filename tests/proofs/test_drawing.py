"""Pictures show what they are given."""

import matplotlib as mpl
import numpy as np
import pytest

from proofs.claims.paper_figures import NODES, figure_instance
from proofs.claims.pruning_claims import PAPER_POINT
from proofs.drawing import FRACTIONAL, draw_certificate, draw_leaf_weights, draw_network, draw_polytope
from proofs.integrality.polytopes import polytope, variable_names
from proofs.integrality.vertices import vertices
from proofs.unimodularity.formulation_networks import network_certificate
from proofs.unimodularity.network_form import network_form

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    figure.canvas.draw()


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_a_tree_shows_nodes_features_and_weights(axes):
    draw_leaf_weights(axes, figure_instance(1), 0, NODES, PAPER_POINT[:5], "title")
    assert {"1", "2", "3", "4", "5", "z = 1", "feature 1\nz = 0", "feature 2\nz = 1/2"} <= set(texts(axes))
    assert axes.get_title() == "title"
    colours = [tuple(dots.get_facecolor()[0]) for dots in axes.collections]
    assert colours.count(mpl.colors.to_rgba(FRACTIONAL)) == 3


def test_a_network_shows_every_arc_and_vertex(axes):
    form = network_form(figure_instance(), 1, NODES)
    draw_network(axes, form, np.isin(form.columns, ["z6"]))
    assert len(axes.patches) == len(form.columns)
    assert {"$z_{6}$", "$w_{3,1}$", "1", "7"} <= set(texts(axes))


@pytest.mark.parametrize("name", ["ip0", "ip3", "compact"])
def test_a_certificate_shows_every_arc(axes, name):
    instance = figure_instance()
    certificate, names = network_certificate(instance, name), variable_names(instance, name)
    draw_certificate(axes, certificate, names, rows=[0, 1])
    assert len(axes.patches) == len(names)
    assert set(names) <= set(texts(axes))


def test_a_polytope_marks_fractional_points():
    figure = plt.figure()
    axes = figure.add_subplot(projection="3d")
    corners = [point[:3] for point in vertices(polytope(figure_instance(1), "closure"))]
    draw_polytope(axes, [*corners, (PAPER_POINT[1], PAPER_POINT[1], PAPER_POINT[2])])
    assert texts(axes) == ["(1, 1, 1/2)"]
    figure.canvas.draw()
