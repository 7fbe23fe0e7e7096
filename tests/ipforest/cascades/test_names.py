"""What `ipforest.cascades` offers by name."""

import ipforest
from ipforest import cascades


def test_the_cascades_of_the_package_are_among_them():
    for name in cascades.__all__:
        assert getattr(cascades, name) is not None
    for name in ("BranchingCascade", "EarlyExit", "NestedCascade"):
        assert name in cascades.__all__
        assert getattr(cascades, name) is getattr(ipforest, name)
