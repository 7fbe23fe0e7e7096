"""The shares that suit a gate and a cheap model: closed forms against a general solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit

from ipforest.adaptive.distances import KullbackLeibler, SquaredLogOdds, nearest_log_odds

N = 7
LOSSES = arrays(np.float64, N, elements=st.floats(0, 6))
SCORES = arrays(np.float64, N, elements=st.floats(-5, 5))
SHARES = st.floats(0.05, 0.95)


def objective(distance, log_odds, cheap, full, gate):
    q = expit(log_odds)
    return float(((1 - q) * cheap + q * full + distance.value(log_odds, gate)).mean())


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # SciPy before 1.16 clips its steps so
@settings(deadline=None, max_examples=30)
@given(LOSSES, LOSSES, SCORES, SHARES)
def test_the_closed_form_is_what_a_convex_solver_finds(cheap, full, gate, p_full):
    distance = KullbackLeibler()
    closed = expit(distance.assign(cheap, full, gate, p_full))
    assert closed.mean() <= p_full

    def value(q):
        return objective(distance, logit(q), cheap, full, gate)

    found = minimize(
        value,
        np.full(N, p_full / 2),
        jac=lambda q: (full - cheap + logit(q) - gate) / N,
        method="SLSQP",
        bounds=[(1e-9, 1 - 1e-9)] * N,
        constraints={"type": "ineq", "fun": lambda q: p_full - q.mean(), "jac": lambda q: np.full(N, -1 / N)},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert value(np.clip(closed, 1e-12, 1 - 1e-12)) <= found.fun + 1e-9
    assert found.fun <= value(np.clip(closed, 1e-9, 1 - 1e-9)) + 1e-5


@given(LOSSES, LOSSES, SCORES)
def test_without_a_limit_there_is_no_multiplier(cheap, full, gate):
    free = KullbackLeibler().assign(cheap, full, gate, 1.0)
    np.testing.assert_allclose(free, cheap - full + gate)


def test_a_share_of_nothing_is_nothing():
    np.testing.assert_array_equal(KullbackLeibler().assign(np.ones(4), np.zeros(4), np.ones(4), 0.0), -np.inf)


@given(st.floats(-400, 400), st.floats(-60, 60))
def test_log_odds_are_the_global_minimum(price, gate):
    def value(h):
        return price * expit(h) + (h - gate) ** 2

    found = nearest_log_odds(np.array([price]), np.array([gate]))[0]
    grid = np.linspace(gate - abs(price) / 8 - 1, gate + abs(price) / 8 + 1, 4001)
    start = grid[np.argmin(value(grid))]
    width = grid[1] - grid[0]
    best = minimize_scalar(value, bounds=(start - width, start + width), method="bounded", options={"xatol": 1e-10})
    assert value(found) <= best.fun + 1e-7


@pytest.mark.slow
@settings(deadline=None)
@given(LOSSES, LOSSES, SCORES, SHARES)
def test_squared_log_odds_keep_the_limit_and_do_so_as_late_as_possible(cheap, full, gate, p_full):
    distance = SquaredLogOdds()
    assigned = distance.assign(cheap, full, gate, p_full)
    assert expit(assigned).mean() <= p_full
    free = nearest_log_odds(full - cheap, gate)
    if expit(free).mean() <= p_full:
        np.testing.assert_array_equal(assigned, free)
    else:
        assert np.all(assigned <= free + 1e-9)


@pytest.mark.parametrize("distance", [KullbackLeibler(), SquaredLogOdds()])
def test_slopes_and_curvatures(distance):
    rng = np.random.default_rng(0)
    log_odds, gate, step = rng.normal(size=(200, 2)).T[0], np.linspace(-4, 4, 200), 1e-5
    ahead, behind = distance.value(log_odds, gate + step), distance.value(log_odds, gate - step)
    np.testing.assert_allclose((ahead - behind) / (2 * step), distance.slope(log_odds, gate), atol=1e-6)
    bend = (distance.slope(log_odds, gate + step) - distance.slope(log_odds, gate - step)) / (2 * step)
    assert bend.max() <= distance.curvature + 1e-6
    np.testing.assert_allclose(distance.value(log_odds, log_odds), 0, atol=1e-12)


@pytest.mark.parametrize("largest", [1e20, 1e100, 1e300])
def test_the_limit_is_kept_where_boosting_has_run_away(largest: float) -> None:
    losses = np.array([0, 1, 2, 3, 4, 5, largest / 7, largest])
    for distance in (KullbackLeibler(), SquaredLogOdds()):
        for p_full in (0.3, 0.5):
            shares = expit(distance.assign(losses, np.zeros(8), np.zeros(8), p_full))
            assert shares.mean() == pytest.approx(p_full, abs=1e-9)
            assert shares.mean() <= p_full
            assert np.all(np.diff(shares) >= 0)
