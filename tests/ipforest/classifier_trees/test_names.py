"""What the rooms of estimators offer by name."""

import pytest

import ipforest
from ipforest import classifier_trees, frontiers, learners, stopping


@pytest.mark.parametrize("room", [classifier_trees, frontiers, learners, stopping])
def test_public_names_are_there(room):
    for name in room.__all__:
        assert getattr(room, name) is not None
        assert getattr(ipforest, name, getattr(room, name)) is getattr(room, name)


def test_the_cascades_of_the_package_are_among_them():
    for name in ("BranchingCascade", "EarlyExit", "NestedCascade"):
        assert name in stopping.__all__
        assert getattr(stopping, name) is getattr(ipforest, name)
