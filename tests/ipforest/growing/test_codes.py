"""Codes of features: ordered parts that cover all values, no more than asked for, about equally full."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipforest.growing.codes import CodedExamples, _equal_parts

TINY, HUGE = 1e-45, 3.4e38
CELLS = st.sampled_from([np.nan, -0.0, 0.0, TINY, -TINY, 1.2e-38, HUGE, -HUGE, 1.0, np.nextafter(np.float32(1), 2)])
COLUMNS = st.one_of(
    st.lists(st.one_of(CELLS, st.floats(width=32, allow_infinity=False)), min_size=1, max_size=80),
    st.lists(st.integers(0, 30).map(float), min_size=1, max_size=80),
    st.lists(st.integers(0, 30).map(lambda value: float(np.clip(value, 10, 12))), min_size=1, max_size=80),
    st.tuples(st.lists(st.integers(-9, 9).map(float), max_size=40), st.sampled_from([-9.0, 0.0, 9.0, np.nan])).map(
        lambda parts: [*parts[0], *[parts[1]] * 20]
    ),
)


@given(column=COLUMNS, max_bins=st.one_of(st.none(), st.integers(2, 12)))
def test_codes_part_any_column(column: list[float], max_bins: int | None) -> None:
    values = np.array(column, dtype=np.float32)
    coded = CodedExamples.from_examples(values[:, None], max_bins)
    codes, n_codes = coded.codes[0], coded.lows.size
    missing = np.isnan(values)
    assert np.array_equal(codes == n_codes, missing)
    assert np.array_equal(np.unique(codes[~missing]), np.arange(n_codes))
    for code in range(n_codes):
        part = values[codes == code]
        assert (coded.lows[code], coded.highs[code]) == (part.min(), part.max())
    assert np.all(coded.highs[:-1] < coded.lows[1:])
    n_distinct = np.unique(values[~missing]).size
    assert n_codes == n_distinct if max_bins is None or n_distinct <= max_bins else 1 < n_codes <= max_bins
    if max_bins is not None and n_distinct > max_bins:
        for code in range(n_codes):
            without_last = np.count_nonzero(codes == code) - np.count_nonzero(values == coded.highs[code])
            assert without_last < (~missing).sum() / max_bins


@pytest.mark.parametrize(
    ("counts", "n_parts", "starts"),
    [
        ((1, 1, 3), 2, [0, 2]),
        ((3, 1, 1), 2, [0, 1]),
        ((1, 1, 1, 1), 2, [0, 2]),
        ((1, 1, 1, 9), 3, [0, 3]),
        ((9, 1, 1, 9), 3, [0, 1, 3]),
    ],
)
def test_a_frequent_value_at_an_end_is_a_part_like_any_other(
    counts: tuple[int, ...], n_parts: int, starts: list[int]
) -> None:
    assert _equal_parts(np.array(counts), n_parts).tolist() == starts


def test_a_part_has_the_codes_of_the_whole():
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    X[::5, 2] = np.nan
    whole = CodedExamples.from_examples(X, 8)
    rows, features = np.array([3, 7, 10, 11]), np.array([2, 0])
    part = whole.part(features, rows)
    np.testing.assert_array_equal(part.codes, whole.codes[np.ix_(features, rows)])
    for place, feature in enumerate(features):
        for name in ("lows", "highs"):
            described = getattr(whole, name)[whole.offsets[feature] : whole.offsets[feature + 1]]
            np.testing.assert_array_equal(getattr(part, name)[part.offsets[place] : part.offsets[place + 1]], described)
    np.testing.assert_array_equal(whole.part(features).codes, whole.codes[features])
