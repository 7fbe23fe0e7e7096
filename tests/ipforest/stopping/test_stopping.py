from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import proofs
from ipforest import EarlyExit, FeatureCosts
from ipforest.ensemble.libraries import write
from ipforest.stopping.certified_stopping import CertifiedStopping
from ipforest.stopping.nested import NestedCascade
from ipforest.stopping.optimal_stopping import TIE, OptimalStopping, quantile_cuts
from ipforest.stopping.paths import StoppingPaths
from ipforest.stopping.rules import (
    Curve,
    cross_fitted_keenness,
    keenness_along,
    learn_stopping,
    stages_reached,
    stopping_curve,
)
from ipforest.stopping.threshold_stopping import ThresholdStopping


def random_paths(seed: int, n_samples: int = 200, n_stages: int = 5, n_units: int = 6) -> StoppingPaths:
    """Make examples of which some end early, some stages buy nothing and others several units."""
    rng = np.random.default_rng(seed)
    signal = np.round(rng.random((n_samples, n_stages)) * np.linspace(0.2, 1, n_stages), 2)
    last = rng.integers(0, n_stages, n_samples)
    loss = (rng.random((n_samples, n_stages)) > 0.4 + 0.5 * signal).astype(np.float64)
    stage = np.arange(n_stages)
    loss = np.where(stage <= last[:, None], loss, np.take_along_axis(loss, last[:, None], 1))
    bought_at = rng.integers(0, n_stages + 1, (n_samples, n_units))
    bought_at = np.where(bought_at < last[:, None], bought_at, n_stages)
    return StoppingPaths(signal, loss, last, bought_at, FeatureCosts([1, 2, "1/2", 0, 3, 1]))


def achieved(paths: StoppingPaths, stages: np.ndarray) -> tuple[float, float]:
    rows = np.arange(paths.n_samples)
    return float(paths.cost[rows, stages].mean()), float(paths.loss[rows, stages].mean())


@pytest.mark.parametrize("rule", [ThresholdStopping(), OptimalStopping(4, 5), CertifiedStopping(2, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_the_curve_is_what_stopping_at_each_level_comes_to(rule: OptimalStopping, seed: int) -> None:
    paths = random_paths(seed)
    keenness = keenness_along(rule.fit(paths), paths)
    curve = stopping_curve(keenness, paths)
    assert curve.cost[0] == 0
    for level, cost, error in zip(*curve, strict=True):
        assert achieved(paths, stages_reached(keenness, level)) == pytest.approx((cost, error))
    assert np.all(np.diff(curve.cost) >= -1e-12)
    others = curve.at(np.array([np.inf, *(curve.level[:-1] + 1e-3), -1.0, -np.inf]))
    for level, cost, error in zip(*others, strict=True):
        assert achieved(paths, stages_reached(keenness, level)) == pytest.approx((cost, error))


def test_no_level_lies_between_signals_that_are_equal_but_for_rounding() -> None:
    signal = np.array([[0.3], [0.3 + 1e-16], [0.3 - 1e-16], [0.5]]) @ [[1.0, 0.0]]
    loss = np.tile([1.0, 0.0], (4, 1))
    ones = np.ones(4, dtype=np.int64)
    paths = StoppingPaths(signal, loss, ones, np.zeros((4, 1), dtype=np.int64), FeatureCosts([4]))
    ((_, curve),) = learn_stopping(ThresholdStopping(), paths, 5)
    np.testing.assert_array_equal(curve.cost, [0, 0, 3, 4])
    for level, cost in zip(curve.level, curve.cost, strict=True):
        for rounded in (1 - 1e-15, 1 + 1e-15):
            stages = stages_reached(keenness_along(ThresholdStopping(), paths) * rounded, level)
            assert achieved(paths, stages)[0] == cost


@pytest.mark.parametrize("seed", range(3))
def test_a_level_costs_and_loses_what_the_rule_does_even_where_the_folds_disagree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    signal = np.column_stack([np.zeros(200), rng.random(200)])
    loss = np.column_stack([rng.random(200) < 0.5, rng.random(200) < 0.3]).astype(np.float64)
    paths = StoppingPaths(
        signal, loss, np.ones(200, dtype=np.int64), np.zeros((200, 1), dtype=np.int64), FeatureCosts([4])
    )
    ((rule, curve),) = learn_stopping(OptimalStopping(), paths, 5)
    assert set(cross_fitted_keenness(OptimalStopping(), paths, 5)[:, 0]) != {keenness_along(rule, paths)[0, 0]}
    for level, *told in zip(*curve, strict=True):
        assert np.all(told >= np.array(achieved(paths, stages_reached(keenness_along(rule, paths), level))) - 1e-12)


def test_one_level_buys_nothing_even_where_the_rule_is_keener_than_its_folds() -> None:
    rule, keener = OptimalStopping(min_support=5), 0
    for seed in range(20):
        paths = random_paths(seed, n_samples=40)
        ((fitted, curve),) = learn_stopping(rule, paths, 5)
        keener += keenness_along(fitted, paths).max() > cross_fitted_keenness(rule, paths, 5).max()
        assert curve.within(0) == 0
        np.testing.assert_allclose((curve.cost[0], curve.error[0]), achieved(paths, np.zeros(40, dtype=np.int64)))
    assert keener


@pytest.mark.parametrize("rule", [ThresholdStopping(), OptimalStopping(4, 5), CertifiedStopping(2, 10)])
def test_the_first_level_stops_examples_that_are_keener_than_all_it_has_seen(rule: Any) -> None:
    paths = random_paths(0)
    nothing_to_buy = paths.of(paths.last == 0)
    for seen in (paths, nothing_to_buy):
        ((fitted, curve),) = learn_stopping(rule, seen, 2)
        assert curve.within(0) == 0
        assert curve.level[0] == np.inf
        assert np.all(np.diff(curve.level) <= 0)
        keenness = keenness_along(fitted, random_paths(1))
        assert np.all(stages_reached(keenness, curve.level[0]) == 0)


def test_thresholds_stop_a_cascade_for_numbers_at_every_stage() -> None:
    """The first answer is moved from nothing; that it moved by 0 does not make it the surest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + X[:, 1] * (X[:, 0] > 0)
    cascade = NestedCascade(RandomForestRegressor(10, random_state=0), stopping=ThresholdStopping(), random_state=0)
    cascade.fit(X[:200], y[:200], X[200:], y[200:])
    ((_, curve),) = cascade.candidates_[0].learnt
    assert curve.level[0] == np.inf > curve.level[1]
    assert np.unique(curve.cost).size > 20
    assert 0 < curve.cost[1] < curve.cost[-1]
    stopped = cascade.at_budget(2.0)
    assert 1 <= stopped.cost(X[200:]).mean() <= 2
    assert stopped.score(X[200:], y[200:]) > 0.5


def test_cost_by_stage() -> None:
    paths = StoppingPaths(
        np.zeros((2, 3)), np.zeros((2, 3)), np.array([2, 1]), np.array([[0, 1], [0, 3]]), FeatureCosts([5, 7])
    )
    np.testing.assert_array_equal(paths.cost, [[0, 5, 12], [0, 5, 5]])


@pytest.mark.parametrize("seed", range(4))
def test_one_bin_a_checkpoint_is_the_best_single_checkpoint(seed: int) -> None:
    paths = random_paths(seed, n_samples=60)
    path = CertifiedStopping(n_bins=1, min_support=1, checkpoints=tuple(range(5))).fit(paths).path
    single = [achieved(paths, np.minimum(stage, paths.last)) for stage in range(5)]
    for lam in (0.001, 0.01, 0.03, 0.1, 0.3):
        pruning = path.pruning(lam)
        error, cost = path.instance.evaluate(pruning)
        assert float(error) + lam * float(cost) == pytest.approx(min(e + lam * c for c, e in single))


@given(seed=st.integers(0, 2**31), n_samples=st.integers(2, 14), n_bins=st.integers(1, 3), lam=st.floats(0.001, 0.6))
@settings(max_examples=60, deadline=None)
def test_the_certified_policy_beats_every_policy_over_histories(
    seed: int, n_samples: int, n_bins: int, lam: float
) -> None:
    paths = random_paths(seed, n_samples=n_samples, n_stages=3, n_units=6)
    rule = CertifiedStopping(n_bins=n_bins, min_support=1, checkpoints=(0, 1, 2)).fit(paths)
    history = nodes_along(rule, paths)
    nodes = np.unique(history[history >= 0])
    best = np.inf
    for goes_on in product([False, True], repeat=nodes.size):
        chosen = dict(zip(nodes.tolist(), goes_on, strict=True))
        best = min(best, value_of(paths, history, chosen, lam))
    keenness = keenness_along(rule, paths)
    cost, error = achieved(paths, stages_reached(keenness, lam))
    assert error + lam * cost == pytest.approx(best, abs=1e-9)


def nodes_along(rule: object, paths: StoppingPaths) -> np.ndarray:
    history = np.full(paths.signal.shape, -1)
    memory = np.zeros(paths.n_samples, dtype=np.int64)
    for stage in range(paths.n_stages):
        rows = np.flatnonzero(paths.last > stage)
        _, memory[rows] = rule.keenness(np.full(rows.size, stage), paths.signal[rows, stage], memory[rows])  # type: ignore[attr-defined]
        history[rows, stage] = memory[rows]
    return history


def value_of(paths: StoppingPaths, history: np.ndarray, goes_on: dict[int, bool], lam: float) -> float:
    stages = np.zeros(paths.n_samples, dtype=np.int64)
    for i in range(paths.n_samples):
        while stages[i] < paths.last[i] and goes_on[int(history[i, stages[i]])]:
            stages[i] += 1
    cost, error = achieved(paths, stages)
    return error + lam * cost


@pytest.mark.parametrize("seed", range(3))
def test_the_certified_policy_is_proved_and_its_prunings_are_its_levels(seed: int) -> None:
    paths = random_paths(seed, n_samples=400)
    rule = CertifiedStopping(3, 20).fit(paths)
    assert proofs.verify_path(rule.path.instance, rule.path)
    keenness = keenness_along(rule, paths)
    for index, lam in enumerate([0, *rule.path.breakpoints]):
        cost, error = achieved(paths, stages_reached(keenness, float(lam)))
        assert cost == pytest.approx(float(rule.path.costs[index]))
        assert error == pytest.approx(float(rule.path.errors[index]))


@pytest.mark.parametrize("seed", range(4))
def test_backward_induction_with_one_bin_is_the_best_single_stage(seed: int) -> None:
    paths = random_paths(seed)
    keenness = keenness_along(OptimalStopping(n_bins=1, min_support=1, monotone=False).fit(paths), paths)
    single = [achieved(paths, np.minimum(stage, paths.last)) for stage in range(5)]
    for lam in (0.003, 0.02, 0.05, 0.2):
        cost, error = achieved(paths, stages_reached(keenness, lam))
        assert error + lam * cost == pytest.approx(min(e + lam * c for c, e in single))


def test_backward_induction_is_optimal_where_bins_tell_all() -> None:
    """Two kinds of examples, told apart at stage 1: the unsure ones gain by going on, the sure ones do not."""
    sure = np.repeat([True, False], 50)
    signal = np.column_stack([np.zeros(100), np.where(sure, 0.9, 0.1), np.full(100, 0.9)])
    loss = np.column_stack([np.arange(100) % 2, np.where(sure, 0, np.arange(100) % 2), np.zeros(100)]).astype(float)
    paths = StoppingPaths(signal, loss, np.full(100, 2), np.tile([0, 1], (100, 1)), FeatureCosts([1, 1]))
    rule = OptimalStopping(n_bins=2, min_support=10).fit(paths)
    keenness = keenness_along(rule, paths)
    np.testing.assert_array_equal(stages_reached(keenness, 0.1), np.where(sure, 1, 2))
    assert rule.lambdas[1] == pytest.approx([0.5, 0])
    assert rule.lambdas[0] == pytest.approx([1 / 3])


@given(
    seed=st.integers(0, 2**31),
    n_samples=st.integers(2, 60),
    n_bins=st.integers(1, 5),
    min_support=st.integers(1, 6),
    monotone=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_bin_goes_on_up_to_the_lambda_at_which_stopping_is_as_good(
    seed: int, n_samples: int, n_bins: int, min_support: int, monotone: bool
) -> None:
    """At any one lambda the plain recursion over the same bins decides alike."""
    paths = random_paths(seed, n_samples)
    paths = replace(paths, signal=np.round(paths.signal, 1))
    rule = OptimalStopping(n_bins, min_support, monotone).fit(paths)
    finite = np.concatenate([each[np.isfinite(each)] for each in rule.lambdas])
    for lam in (0.0, 3.0, *np.geomspace(1e-3, 1, 4), *np.unique(finite * 0.999), *np.unique(finite * 1.001)):
        ahead = np.zeros(n_samples)  # what the bin is worth in which each example stands at the stage after
        for stage in reversed(range(paths.n_stages - 1)):
            rows = np.flatnonzero(paths.last > stage)
            bins = np.searchsorted(rule.edges[stage], paths.signal[rows, stage], side="right")
            step = paths.cost[rows, stage + 1] - paths.cost[rows, stage]
            later = np.where(paths.last[rows] == stage + 1, paths.loss[rows, stage + 1], ahead[rows])
            for number, keen in enumerate(rule.lambdas[stage]):
                here = bins == number
                n_here = np.count_nonzero(here)
                assert np.isinf(keen) or n_here >= min_support
                if not n_here:
                    continue
                stops, goes_on = paths.loss[rows, stage][here].mean(), (lam * step + later)[here].mean()
                if n_here < min_support:
                    assert np.isinf(keen)
                elif abs(goes_on - stops) > 1e-9:
                    assert (keen > lam) == (goes_on < stops)
                ahead[rows[here]] = goes_on if n_here < min_support else min(goes_on, stops)


def test_bins_are_of_equally_many_examples_unless_signals_are_equal() -> None:
    signal = np.column_stack([np.r_[np.arange(6.0), np.full(6, 7.0)], np.zeros(12)])
    loss = np.column_stack([np.arange(12) % 2, np.zeros(12)]).astype(np.float64)
    ones = np.ones(12, dtype=np.int64)
    paths = StoppingPaths(signal, loss, ones, np.zeros((12, 1), dtype=np.int64), FeatureCosts([1]))
    for n_bins, min_support, edges in ((4, 1, [2.75, 6, 7]), (4, 4, [11 / 3, 7]), (2, 1, [6]), (9, 7, []), (1, 1, [])):
        rule = OptimalStopping(n_bins, min_support, monotone=False).fit(paths)
        assert rule.edges[0] == pytest.approx(edges)
        bins = np.searchsorted(rule.edges[0], signal[:, 0], side="right")
        keen, _ = rule.keenness(np.zeros(12, dtype=np.int64), signal[:, 0], np.zeros(12, dtype=np.int64))
        assert rule.tie == TIE / 4  # a fourth is the next power of two above 1 / 7, the loss per price and signal
        np.testing.assert_array_equal(keen, rule.lambdas[0][bins] - rule.tie * signal[:, 0])


def test_signals_of_many_are_in_one_bin_however_their_last_bits_are() -> None:
    cuts, below = np.empty(2), np.nextafter(0.3, 0)
    assert quantile_cuts(np.array([0.1, 0.3, 0.3, 0.3]), 3, cuts) == 1
    assert np.searchsorted(cuts[:1], [0.1, below, 0.3], side="right").tolist() == [0, 1, 1]
    assert quantile_cuts(np.array([below, 0.3, 0.3]), 2, cuts) == 0


@pytest.mark.parametrize("factor", [2.0**-50, 2.0**50])
@pytest.mark.parametrize("kind", ["prices", "losses", "signals"])
def test_the_units_of_prices_losses_and_signals_do_not_matter(kind: str, factor: float) -> None:
    """Surer examples of a bin were less keen by the same trifle in all units, in some by more than all lambdas."""
    paths, rule = random_paths(0), OptimalStopping(4, 5)
    prices = [Fraction(price) * Fraction(factor) for price in paths.costs.prices]
    changes: dict[str, dict[str, Any]] = {
        "prices": {"costs": FeatureCosts(prices)},
        "losses": {"loss": paths.loss * factor},
        "signals": {"signal": paths.signal * factor},
    }
    others = replace(paths, **changes[kind])
    curve, other = (stopping_curve(keenness_along(rule.fit(each), each), each) for each in (paths, others))
    assert np.unique(curve.cost).size > 60
    np.testing.assert_allclose(other.cost, curve.cost * (factor if kind == "prices" else 1))
    np.testing.assert_allclose(other.error, curve.error * (factor if kind == "losses" else 1))


def test_surer_bins_are_not_keener() -> None:
    rule = OptimalStopping(n_bins=8, min_support=5).fit(random_paths(1))
    for lambdas in rule.lambdas:
        assert np.all(np.diff(lambdas) <= 0)


def test_few_examples_go_on() -> None:
    rule = OptimalStopping(min_support=1000).fit(random_paths(0))
    assert all(np.isinf(lambdas).all() for lambdas in rule.lambdas)
    keen, _ = rule.keenness(np.array([77]), np.array([0.5]), np.array([0]))
    assert np.isinf(keen).all()


def test_cross_fitting_is_less_optimistic_about_noise() -> None:
    rule, optimism = OptimalStopping(8, 10, monotone=False), []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        noise = StoppingPaths(
            signal=rng.random((400, 4)),
            loss=rng.integers(0, 2, (400, 4)).astype(np.float64),
            last=np.full(400, 3),
            bought_at=np.tile(np.arange(3), (400, 1)),
            costs=FeatureCosts([1, 1, 1]),
        )
        seen, unseen = (stopping_curve(cross_fitted_keenness(rule, noise, folds), noise) for folds in (1, 5))
        optimism.append(unseen.error.min() - seen.error.min())
    assert np.mean(optimism) > 0.02


def test_levels_within_a_budget() -> None:
    curve = Curve(np.array([3.0, 2.0, 1.0]), np.array([0.0, 2.0, 5.0]), np.array([0.5, 0.2, 0.2]))
    assert curve.within(1) == 0
    assert curve.within(2) == curve.within(None) == 1
    with pytest.raises(ValueError, match=r"^budget: expected a number >= 0"):
        curve.within(-1)


def test_errors_of_certified_stopping() -> None:
    paths = random_paths(0)
    with pytest.raises(ValueError, match=r"^checkpoints: expected stages that rise from 0, got \(1, 2\)"):
        CertifiedStopping(checkpoints=(1, 2)).fit(paths)
    halves = StoppingPaths(paths.signal, paths.loss / 2, paths.last, paths.bought_at, paths.costs)
    with pytest.raises(ValueError, match=r"^loss: expected integers"):
        CertifiedStopping().fit(halves)


@pytest.mark.parametrize("rule", [OptimalStopping, CertifiedStopping])
@pytest.mark.parametrize("name", ["n_bins", "min_support"])
def test_a_rule_has_one_bin_of_one_example_at_least(rule: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected an integer >= 1, got 0"):
        rule(**{name: 0})


def answering(answer: Any) -> Any:
    """Make a rule that learns nothing, and answers by a function of stage, signal and memory."""

    class Own:
        keenness = staticmethod(answer)

    return SimpleNamespace(fit=lambda paths: Own())


@pytest.mark.parametrize(
    ("answer", "problem", "text"),
    [
        (lambda stage, signal, memory: 1 - signal, TypeError, r"to return keenness and memory, got ndarray$"),
        (
            lambda stage, signal, memory: (["sure"] * len(signal), memory),
            TypeError,
            r"to return numbers, got none: could",
        ),
        (lambda stage, signal, memory: (0.5, memory), ValueError, r"to return shapes \(\d+,\), got \(\) and"),
        (lambda stage, signal, memory: ([*signal], memory), TypeError, r"to return arrays, got list and ndarray$"),
        (lambda stage, signal, memory: (signal, signal), TypeError, r"to return a memory of integers, got float64$"),
        (lambda stage, signal, memory: (signal + np.nan, memory), ValueError, r"to return numbers, got nan at stage 0"),
        (lambda stage, signal, memory: (signal + 1j, memory), TypeError, r"larger or smaller .*, got complex ones$"),
        (lambda stage, signal, memory: (signal, memory + 2**31), ValueError, r"a memory of 32 bits, got 2147483648$"),
        (lambda stage, signal, memory: (signal - signal.max(initial=0), memory), ValueError, r"on each example alone"),
        (lambda stage, signal, memory: (np.argsort(-signal), memory), ValueError, r"on each example alone"),
        (lambda stage, signal, memory: (signal + memory, np.arange(len(signal))), ValueError, r"on each example alone"),
    ],
    ids=[
        "no memory",
        "words",
        "a scalar",
        "a list",
        "memory of floats",
        "nan",
        "complex numbers",
        "a memory of 64 bits",
        "less the largest",
        "ranks",
        "by position",
    ],
)
def test_a_rule_that_answers_otherwise_than_a_session_asks_is_refused(
    answer: Any, problem: type[Exception], text: str
) -> None:
    with pytest.raises(problem, match=r"^stopping: expected Own\.keenness.* " + text):
        learn_stopping(answering(answer), random_paths(0), 5)


@pytest.mark.parametrize("name", ["signal", "loss", "last", "bought_at", "cost"])
def test_what_a_rule_is_measured_by_is_read_only(name: str) -> None:
    def fit(paths: Any) -> Any:
        getattr(paths, name)[:] = 0

    with pytest.raises(ValueError, match="read-only"):
        learn_stopping(SimpleNamespace(fit=fit), random_paths(0), 1)


def test_a_rule_of_ones_own_is_taken_as_the_threshold() -> None:
    paths = random_paths(0)
    paths = replace(paths, signal=paths.signal + 0.01)
    own, threshold = (
        learn_stopping(rule, paths, 5)[0].curve
        for rule in (answering(lambda stage, signal, memory: (1 - signal, memory)), ThresholdStopping())
    )
    np.testing.assert_array_equal(own.cost, threshold.cost)


@pytest.mark.parametrize("rule", [ThresholdStopping(), OptimalStopping(1, 1), CertifiedStopping(1, 1)])
def test_a_rule_is_learnt_from_one_held_out_example(rule: Any) -> None:
    paths = random_paths(0)
    alone = paths.of(paths.last > 1).of(np.array([0]))
    ((_, curve),) = learn_stopping(rule, alone, 5)
    assert (curve.cost[-1], curve.error[-1]) == (alone.cost[0, -1], alone.loss[0, -1])


class GoesOnAtFirst(ThresholdStopping):
    def keenness(self, stage: Any, signal: Any, memory: Any) -> Any:
        return np.where(stage < 2, np.inf, -signal), memory


def test_a_rule_derived_from_one_of_this_package_stops_tables_and_sessions_alike() -> None:
    X = np.random.default_rng(0).random((120, 4))
    y = (X.sum(axis=1) > 2).astype(np.int64)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    model = EarlyExit(forest, stopping=GoesOnAtFirst(), budget=2.5).fit(X, y)
    for row in X[:20]:
        session = model.session()
        while session.next_unit is not None:
            session.tell(row[session.next_unit.features[0]])
        assert session.paid == model.cost(row[None]) >= 2
    with pytest.raises(TypeError, match=r"^rule: expected one of this package, got GoesOnAtFirst"):
        write(model, "json")


def test_fit_of_a_rule_returns_what_answers() -> None:
    with pytest.raises(TypeError, match=r"^stopping: expected SimpleNamespace\.fit to return an object with keenness"):
        learn_stopping(SimpleNamespace(fit=lambda paths: paths), random_paths(0), 5)
