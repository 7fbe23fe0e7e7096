"""The distributions that `datasets.cube`, `cube_nm` and `cube_nuc` draw from, as mixtures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from ipforest._internal.arrays import IntArray
from ipforest.experiments.exact_information import IndependentGaussians

N_CLASSES, N_BITS, N_CONTEXTS, BLOCK = 8, 3, 5, 10
NOISE, TELLING = 0.3, 0.1
"""Deviations of features that say nothing, and of those that have a bit of the class."""


def cube() -> IndependentGaussians:
    """Build one block of ten features, and ten more that say nothing."""
    return _with_bits(np.arange(N_CLASSES), 2 * BLOCK, [[0]] * N_CLASSES)


def cube_nuc() -> IndependentGaussians:
    """Build two blocks that tell the same."""
    return _with_bits(np.arange(N_CLASSES), 2 * BLOCK, [[0, BLOCK]] * N_CLASSES)


def cube_nm() -> IndependentGaussians:
    """Build a component for each context and class: the context is told, and its block has the bits."""
    contexts, labels = np.divmod(np.arange(N_CONTEXTS * N_CLASSES), N_CLASSES)
    blocks = [[N_CONTEXTS + BLOCK * int(context)] for context in contexts]
    found = _with_bits(labels, N_CONTEXTS + BLOCK * N_CONTEXTS, blocks)
    found.means[:, :N_CONTEXTS] = np.eye(N_CONTEXTS)[contexts]
    found.deviations[:, :N_CONTEXTS] = TELLING
    return found


def _with_bits(labels: IntArray, n_features: int, blocks: list[list[int]]) -> IndependentGaussians:
    """Put the bits of each component's class into its blocks, one after another from the feature of its class on."""
    shape = (len(labels), n_features)
    means, deviations = np.full(shape, 0.5), np.full(shape, NOISE)
    for component, (label, starts) in enumerate(zip(labels.tolist(), blocks, strict=True)):
        for start, bit in product(starts, range(N_BITS)):
            means[component, start + label + bit] = label >> bit & 1
            deviations[component, start + label + bit] = TELLING
    return IndependentGaussians(labels, means, deviations)


DISTRIBUTIONS: Mapping[str, Callable[[], IndependentGaussians]] = {
    "CUBE": cube,
    "CUBE-NM": cube_nm,
    "CUBE-NUC": cube_nuc,
}
