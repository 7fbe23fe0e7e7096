"""Examples as small integers: the rank of each value among those of its feature, or the bin that it falls into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray, read_only
from ipforest.growing.bundles import Bundles

MAX_BINS = 255
"""Together with the code of missing values, what a byte holds."""


class CodeArrays(NamedTuple):
    """What the kernels read of `CodedExamples`."""

    codes: Array
    offsets: IntArray
    lows: FloatArray
    highs: FloatArray
    is_category: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class CodedExamples:
    """Training examples whose features are replaced by ascending integer codes.

    Parameters
    ----------
    codes : ndarray of uint8 or int32, shape (n_features, n_samples)
        Code of each value; the number of the feature's codes where the value is missing.
    offsets : ndarray of int64, shape (n_features + 1,)
        The codes of feature f are described at ``offsets[f]:offsets[f + 1]``.
    lows, highs : ndarray of float64, shape (n_codes,)
        Least and largest value under each code.
    is_category : ndarray of bool, shape (n_features,)
        Whether the values of a feature are categories, which have no order: each has its own code.

    Attributes
    ----------
    bundles : Bundles
    """

    codes: Array
    offsets: IntArray
    lows: FloatArray
    highs: FloatArray
    is_category: BoolArray
    bundles: Bundles = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bundles", Bundles.of(self.codes, np.diff(self.offsets), self.is_category))

    @classmethod
    def from_examples(
        cls, X: npt.NDArray[np.float32], max_bins: int | None = None, is_category: BoolArray | None = None
    ) -> CodedExamples:
        """Code examples.

        Parameters
        ----------
        X : ndarray of float32, shape (n_samples, n_features)
            NaN where a value is missing.
        max_bins : int, optional
            With it, at most so many codes per feature, with about equally many examples each; without it, each
            distinct value has its own code.
        is_category : ndarray of bool, shape (n_features,), optional
            Which features are categories, integers from 0 to `MAX_BINS` - 1; by default none.

        Raises
        ------
        ValueError
            `max_bins` is not in 2..255.
        """
        check_max_bins(max_bins)
        categories = np.zeros(X.shape[1], dtype=bool) if is_category is None else is_category
        columns = [
            _code(column, None if is_unordered else max_bins)
            for column, is_unordered in zip(np.ascontiguousarray(X.T), categories, strict=True)
        ]
        lows = [low for _, low, _ in columns]
        sizes = np.array([low.size for low in lows], dtype=np.int64)
        dtype = next(kind for kind in (np.uint8, np.int32) if sizes.max() <= np.iinfo(kind).max)
        return cls(
            codes=read_only(np.array([codes for codes, _, _ in columns], dtype=dtype)),
            offsets=read_only(np.concatenate([[0], np.cumsum(sizes)])),
            lows=read_only(np.concatenate(lows).astype(np.float64)),
            highs=read_only(np.concatenate([high for _, _, high in columns]).astype(np.float64)),
            is_category=read_only(categories),
        )

    def part(self, features: IntArray, rows: IntArray | None = None) -> CodedExamples:
        """Take some features, of all examples or of some, with the codes that they have."""
        codes = self.codes[features] if rows is None else self.codes[np.ix_(features, rows)]
        sizes = np.diff(self.offsets)[features]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        described = np.repeat(self.offsets[features] - starts[:-1], sizes) + np.arange(starts[-1])
        return CodedExamples(
            codes=read_only(codes),
            offsets=read_only(starts),
            lows=read_only(self.lows[described]),
            highs=read_only(self.highs[described]),
            is_category=read_only(self.is_category[features]),
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.codes.shape[0])

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return int(self.codes.shape[1])

    @property
    def arrays(self) -> CodeArrays:
        """What the kernels read."""
        return CodeArrays(self.codes, self.offsets, self.lows, self.highs, self.is_category)


def check_max_bins(max_bins: object, name: str = "max_bins") -> None:
    """Require None or a number of bins.

    Raises
    ------
    ValueError
        It is neither.
    """
    if max_bins is not None and not (isinstance(max_bins, (int, np.integer)) and 2 <= max_bins <= MAX_BINS):
        raise ValueError(f"{name}: expected None or 2..{MAX_BINS}, got {max_bins!r}")


def _code(
    column: npt.NDArray[np.float32], max_bins: int | None
) -> tuple[IntArray, npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the codes of one feature, and the least and largest value under each code."""
    missing = np.isnan(column)
    values, counts = np.unique(column[~missing], return_counts=True)
    first_of_code = np.arange(values.size)
    if max_bins is not None and values.size > max_bins:
        first_of_code = _equal_parts(counts, max_bins)
    code_of_value = np.repeat(np.arange(first_of_code.size), np.diff(first_of_code, append=values.size))
    codes = np.full(column.size, first_of_code.size, dtype=np.int64)
    codes[~missing] = code_of_value[np.searchsorted(values, column[~missing])]
    last_of_code = np.append(first_of_code[1:], values.size)[: first_of_code.size] - 1
    return codes, values[first_of_code], values[last_of_code]


def _equal_parts(counts: IntArray, n_parts: int) -> IntArray:
    """Cut a sequence of distinct values into parts of about equally many examples; return where the parts start.

    Without its last value a part has fewer than 1 / n_parts of the examples.
    """
    before = np.cumsum(counts) - counts
    targets = counts.sum() * np.arange(n_parts) / n_parts
    return np.unique(np.minimum(np.searchsorted(before, targets), counts.size - 1))
