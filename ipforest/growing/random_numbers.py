"""Random numbers that depend on a seed and a place only, so that no order of work changes them."""

import numpy as np

from ipforest._internal.arrays import Int32Array
from ipforest._internal.kernels import uncounted_njit


@uncounted_njit
def mix(seed: np.uint64, stream: np.uint64) -> np.uint64:
    """Turn a seed and the number of a stream into well-mixed bits (splitmix64)."""
    z = seed + (stream + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@uncounted_njit
def uniform(seed: np.uint64, stream: np.uint64) -> float:
    """Draw a number in [0, 1)."""
    return float(mix(seed, stream) >> np.uint64(11)) / 9007199254740992.0


@uncounted_njit
def draw_next(stream: np.uint64, place: int, features: Int32Array) -> None:
    """Draw what stands at a place from what stands there or later: place after place, the order is random."""
    other = place + int(uniform(stream, np.uint64(place)) * (features.size - place))
    features[place], features[other] = features[other], features[place]
