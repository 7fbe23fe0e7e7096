"""(OPT2): the norm's proximal map, optimality against a general solver, and an objective that never rises."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from ipforest.adaptive.distances import KullbackLeibler, SquaredLogOdds
from ipforest.adaptive.linear_pair import AlternationSettings, LinearProblem, UnitNorm, best_fit
from ipforest.costs import FeatureCosts

COSTS = FeatureCosts([1, "1/2", 0, 2, 0, 1], [-1, 0, 0, 1, 1, -1], [1, "3/2"])
EXACT = AlternationSettings(max_steps=20_000, tolerance=1e-15)


def problem(distance, n_classes=2, gamma=0.02, seed=0) -> LinearProblem:
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(80, 6))
    labels = np.digitize(phi[:, 0] + phi[:, 3] + rng.normal(size=80), np.linspace(-1, 1, n_classes - 1))
    targets = np.eye(n_classes)[labels]
    targets = targets[:, 1:] if n_classes == 2 else targets
    return LinearProblem(phi, targets, rng.exponential(0.2, 80), distance, UnitNorm(COSTS), gamma)


def test_the_norm_counts_units_once() -> None:
    weights = np.zeros((6, 2))
    weights[1], weights[2] = (3, 4), (0, 12)
    assert UnitNorm(COSTS).value(weights) == pytest.approx(0.5 * 5 + 1 * 13)


def test_the_proximal_map_is_the_minimum() -> None:
    rng = np.random.default_rng(1)
    norm = UnitNorm(COSTS)
    for _ in range(5):
        given, step = rng.normal(size=(6, 2)), 0.4
        mapped = norm.shrink(given, step)

        def value(flat: np.ndarray, given: np.ndarray = given) -> float:
            weights = flat.reshape(6, 2)
            return 0.5 * float(np.square(weights - given).sum()) + 0.4 * norm.value(weights)

        for _ in range(50):
            assert value(mapped.ravel()) <= value((mapped + 1e-3 * rng.normal(size=(6, 2))).ravel())
        found = minimize(
            value, given.ravel(), method="Powell", options={"xtol": 1e-8, "ftol": 1e-12, "maxiter": 50_000}
        )
        assert value(mapped.ravel()) <= found.fun + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("distance", [KullbackLeibler(), SquaredLogOdds()])
def test_smooth_problems_are_solved_as_by_a_general_solver(distance, n_classes: int) -> None:
    smooth = problem(distance, n_classes, gamma=0.0)
    log_odds = np.linspace(-2, 2, 80)
    start = np.zeros((7, 1 + smooth.targets.shape[1]))
    ours = smooth.objective(smooth.minimise(start, log_odds, EXACT), log_odds)
    found = minimize(lambda flat: smooth.objective(flat.reshape(start.shape), log_odds), start.ravel(), method="BFGS")
    assert ours == pytest.approx(found.fun, abs=1e-7)


@pytest.mark.parametrize("distance", [KullbackLeibler(), SquaredLogOdds()])
def test_no_feature_alone_could_do_better(distance) -> None:
    sparse = problem(distance, gamma=0.05 if distance.curvature < 1 else 0.2)
    log_odds = np.linspace(-2, 2, 80)
    weights = sparse.minimise(np.zeros((7, 2)), log_odds, EXACT)
    assert 0 < np.count_nonzero(weights[:-1].any(axis=1)) < 6
    best, rng = sparse.objective(weights, log_odds), np.random.default_rng(0)
    for _ in range(300):
        other = weights.copy()
        other[rng.integers(7)] += 10.0 ** rng.uniform(-5, 0) * rng.normal(size=2)
        assert sparse.objective(other, log_odds) >= best - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("p_full", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("distance", [KullbackLeibler(), SquaredLogOdds()])
def test_the_objective_never_rises_and_the_limit_holds(distance, n_classes: int, p_full: float) -> None:
    fit = best_fit(problem(distance, n_classes), p_full, AlternationSettings(max_rounds=15, n_starts=2), 0)
    assert len(fit.objectives) > 2
    assert np.all(np.diff(fit.objectives) <= 1e-12)
    assert expit(fit.log_odds).mean() <= p_full


def test_a_large_gamma_buys_nothing() -> None:
    full = problem(KullbackLeibler(), gamma=10.0)
    fit = best_fit(full, 0.3, AlternationSettings(), 0)
    assert not fit.weights[:-1].any()
