"""Which candidates are worth having."""

import numpy as np

from ipforest.adaptive.candidates import MeasuredPair, frontier_of

POINTS = ((0.3, 1), (0.4, 2), (0.2, 3), (0.2, 4), (0.5, 0), (0.29, 2.5), (0.1, 6))
CANDIDATES = [MeasuredPair(None, error, cost, 0.0) for error, cost in POINTS]  # no pair is looked at


def test_dominated_candidates_are_left_out() -> None:
    assert [CANDIDATES[place].cost for place in frontier_of(CANDIDATES).undominated()] == [0, 1, 2.5, 3, 6]


def test_the_hull_is_convex_and_below_all() -> None:
    hull = [CANDIDATES[place] for place in frontier_of(CANDIDATES).hull()]
    assert [candidate.cost for candidate in hull] == [0, 1, 3, 6]
    cost, error = np.array([(candidate.cost, candidate.error) for candidate in hull]).T
    assert all(point.error >= np.interp(point.cost, cost, error) - 1e-12 for point in CANDIDATES)


def test_points_on_a_line_are_not_kept_between_its_ends() -> None:
    line = [MeasuredPair(None, 1 - cost / 4, cost, 0.0) for cost in range(5)]  # the same
    assert [line[place].cost for place in frontier_of(line).hull()] == [0, 4]
