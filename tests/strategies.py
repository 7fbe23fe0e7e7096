"""The strategies of `ipforest.testing`, under the name by which the tests import them."""

from ipforest.testing.strategies import instances, lambdas

__all__ = ["instances", "lambdas"]
