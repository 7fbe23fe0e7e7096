"""Disjoint sets as an array that leads from each element to another one of its set, and from a root to itself."""

from __future__ import annotations

from ipforest._internal.arrays import Array
from ipforest._internal.kernels import uncounted_njit


@uncounted_njit
def find_root(leads_to: Array, element: int) -> int:
    """Return the root of an element's set, and halve the way there."""
    while leads_to[element] != element:
        leads_to[element] = leads_to[leads_to[element]]
        element = leads_to[element]
    return element
