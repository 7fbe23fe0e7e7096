"""The papers' row operations: the figures' matrices, random trees, paths and prunings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from proofs.claims.paper_figures import NODES, figure_instance
from proofs.crosschecks.brute_force import prunings
from proofs.unimodularity.network_form import compare_with_print, network_form, operation_matrix
from tests.strategies import instances


def test_tree_one_of_figure_one():
    form = network_form(figure_instance(), 0, NODES)
    assert form.columns == ("z1", "z2", "z3", "z4", "z5", "w1,1", "w2,1")
    assert form.equality.tolist() == [
        [1, 1, 0, 0, 0, 0, 0],
        [1, 0, 1, 1, 0, 0, 0],
        [1, 0, 1, 0, 1, 0, 0],
        [1, 0, 1, 0, 0, 0, 1],
        [1, 0, 0, 0, 0, 1, 0],
    ]
    assert form.row_names == ["-r1", "r1-r2", "r2-r3", "r3-r4", "r4-r5", "r5"]
    assert form.check()


def test_the_papers_path_prunes_tree_one_at_node_three():
    """BudgetPrune, appendix 6.2: the path 1-2-5-6 has the active arcs z2, z3 and w_{1,1}."""
    form = network_form(figure_instance(), 0, NODES)
    assert form.path(np.isin(form.columns, ["z2", "z3", "w1,1"])) == [1, 2, 5, 6]


def test_tree_two_as_printed():
    form = network_form(figure_instance(), 1, NODES)
    assert form.columns[-2:] == ("w2,1", "w3,1")
    assert form.network.tolist() == [
        [-1, -1, -1, 0, 0, 0, 0, 0, 0],
        [0, 0, 1, -1, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, -1, -1, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, -1, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0, -1],
        [0, 0, 0, 0, 1, 0, 0, -1, 1],
        [1, 0, 0, 0, 0, 0, 0, 1, 0],
    ]
    remarks = compare_with_print(form)
    assert list(remarks.values()) == ["equal"] * 4 + ["equal, one 0 lost", "is r6 without its first entry"]


def test_exchanging_the_two_features_does_not_fit_the_print():
    form = network_form(figure_instance(), 1, NODES)
    exchanged = replace(form, network=form.network[:, [0, 1, 2, 3, 4, 5, 6, 8, 7]])
    assert compare_with_print(exchanged)["r4-r5"] == "differs"


@settings(max_examples=60, deadline=None)
@given(instance=instances())
def test_every_tree_has_a_network_form(instance):
    for tree in range(instance.n_trees):
        assert network_form(instance, tree).check()


@settings(max_examples=40, deadline=None)
@given(instance=instances(max_internal=5))
def test_prunings_are_paths(instance):
    for tree in range(instance.n_trees):
        form = network_form(instance, tree)
        first, last = instance.tree_offsets[tree : tree + 2]
        inside = (instance.internal_nodes >= first) & (instance.internal_nodes < last)
        paths = set()
        for pruning in prunings(instance):
            uses = pruning.kept[instance.triple_node][inside[instance.triple_node]]
            active = np.concatenate([instance.leaves(pruning)[first:last], uses])
            paths.add((tuple(form.path(active)), active.tobytes()))
        assert len(paths) == len({pruning.kept[inside].tobytes() for pruning in prunings(instance)})


def test_what_is_no_path_is_refused():
    form = network_form(figure_instance(1), 0)
    with pytest.raises(ValueError, match="expected the arcs of a path"):
        form.path(np.ones(7, dtype=bool))
    with pytest.raises(ValueError, match="expected the arcs of a path"):
        form.path(np.zeros(7, dtype=bool))


def test_corrupted_forms_are_refused():
    form = network_form(figure_instance(), 0)
    for place in np.ndindex(*form.network.shape):
        wrong = form.network.copy()
        wrong[place] += 1
        assert "not operations @ equality" in replace(form, network=wrong).check().reason
    for place in np.ndindex(*form.operations.shape):
        wrong = form.operations.copy()
        wrong[place] += 1
        assert not replace(form, operations=wrong, network=wrong @ form.equality).check()
    assert "do not fit" in replace(form, columns=form.columns[1:]).check().reason


def test_row_operations_of_one_row():
    assert operation_matrix(1).tolist() == [[-1], [1]]
