from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np
import plain_slicing
import pytest
from closure_checks import assert_feasible, assert_proves
from hypothesis import given, settings
from interrupted_searches import ONE_CUT_A_CALL, interrupted_search
from strategies import instances, lambdas

from ipforest import PruningInstance, Status, solve, solve_budget
from ipforest._internal.progress import silent
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow.network import STOP
from ipforest.maxflow.parametric_cut import MAX_ENTRIES_IN_ONE_CALL, CutStopped, ParametricCut
from ipforest.maxflow.presolve import presolve
from ipforest.maxflow.threads import CutThreads, search_for
from ipforest.path import PruningPath
from ipforest.path_search import PathSearch, prune_path
from proofs.certificates.optimality import verify_optimality
from proofs.crosschecks.brute_force import brute_force, prunings


def interesting_lambdas(breakpoints):
    points = [Fraction(0), *breakpoints]
    return [*points, *((a + b) / 2 for a, b in pairwise(points)), points[-1] + 1]


@settings(max_examples=60)
@given(instances())
def test_equals_brute_force_at_breakpoints_and_between_and_its_flow_proves_it(instance):
    path = prune_path(instance)
    assert path.status is Status.OPTIMAL
    assert path.is_complete
    for lam in interesting_lambdas(path.breakpoints):
        best = brute_force(instance, lam)
        assert path.pruning(lam) == best.pruning
        index = bisect_right(path.breakpoints, lam)
        assert (path.errors[index], path.costs[index]) == (best.error, best.cost)
    assert_proves(instance, path)


@settings(max_examples=40)
@given(instances())
def test_no_breakpoint_is_missing(instance):
    points = {instance.evaluate(pruning) for pruning in prunings(instance)}
    path = prune_path(instance)
    assert set(zip(path.errors, path.costs, strict=True)) <= points
    for error, cost in points:
        for index, lam in enumerate(path.breakpoints):
            assert error + lam * cost >= path.errors[index] + lam * path.costs[index]
    for index in range(1, len(path.breakpoints)):
        assert path.breakpoints[index - 1] < path.breakpoints[index]
    for index, lam in enumerate(path.breakpoints):
        saved, paid = path.errors[index + 1] - path.errors[index], path.costs[index] - path.costs[index + 1]
        assert saved == lam * paid > 0


@pytest.mark.slow
@settings(max_examples=40)
@given(instances(), lambdas)
def test_a_result_at_any_lambda_comes_with_a_certificate(instance, other):
    path = prune_path(instance)
    for lam in {other, *interesting_lambdas(path.breakpoints)}:
        result, solved = path.result(lam), solve(instance, lam)
        assert result.status is Status.OPTIMAL
        assert result.pruning == solved.pruning
        assert (result.objective, result.bound, result.error, result.cost) == (
            solved.objective,
            solved.bound,
            solved.error,
            solved.cost,
        )
        assert_feasible(instance, result.flow)
        assert verify_optimality(instance, result)


@settings(max_examples=40)
@given(instances())
def test_budgets_get_the_best_point_a_valid_bound_and_a_mixture_on_the_hull(instance):
    path = prune_path(instance)
    points = [instance.evaluate(pruning) for pruning in prunings(instance)]
    for budget in {*path.costs, *((a + b) / 2 for a, b in pairwise(path.costs))}:
        result = solve_budget(instance, budget, "path")
        best = min(error for error, cost in points if cost <= budget)
        assert result.bound <= best <= result.error
        assert sum(weight for weight, _ in result.mixture) == 1
        evaluated = [(weight, instance.evaluate(pruning)) for weight, pruning in result.mixture]
        assert result.mixture_error == sum(weight * error for weight, (error, _) in evaluated)
        assert result.mixture_cost == sum(weight * cost for weight, (_, cost) in evaluated) <= budget
        assert result.mixture_error == result.bound


@pytest.fixture(scope="module", params=[(4, 60, 30, 1), (5, 50, 40, 30)], ids=["unit prices", "prices"])
def middle_sized(request):
    n_trees, n_examples, n_features, max_price = request.param
    return synthetic_instance(n_trees, n_examples, n_features, max_price=max_price, seed=3)


def test_equals_slicing_with_fractions_in_plain_python(middle_sized):
    breakpoints, node_lambda = plain_slicing.breakpoints_and_node_lambdas(middle_sized)
    path = prune_path(middle_sized)
    assert len(breakpoints) > 5
    assert list(path.breakpoints) == breakpoints
    assert path.node_lambda.tolist() == node_lambda
    for index, lam in enumerate(breakpoints):
        assert plain_slicing.evaluate_at(middle_sized, node_lambda, lam) == (
            path.errors[index + 1],
            path.costs[index + 1],
        )
    assert_proves(middle_sized, path)


@pytest.mark.slow
def test_one_cut_a_call_on_threads_gives_the_same_path(middle_sized):
    search = PathSearch(middle_sized, small=ONE_CUT_A_CALL)
    search.run()
    path = search.path()
    assert list(path.breakpoints) == plain_slicing.breakpoints_and_node_lambdas(middle_sized)[0]
    assert_proves(middle_sized, path)


def test_nested_and_equal_to_single_lambda_cuts(middle_sized):
    path = prune_path(middle_sized)
    for lam in path.breakpoints[:: max(1, len(path.breakpoints) // 12)]:
        assert path.pruning(lam) == solve(middle_sized, lam).pruning
    kept = [path.pruning_at(index).kept for index in range(len(path.breakpoints) + 1)]
    assert all(np.all(low >= high) and np.any(low > high) for low, high in pairwise(kept))


@pytest.mark.parametrize("max_points", [1, 3, 6])
def test_every_start_of_a_coarse_path_is_a_lambda_of_its_pruning(middle_sized, max_points):
    path = prune_path(middle_sized, max_points=max_points)
    assert len(path.records()) == len(path.starts) == len(path.errors)
    for index, lam in enumerate(path.starts):
        if isinstance(lam, Fraction):
            assert solve(middle_sized, lam).pruning == path.pruning_at(index)
            assert path.lambda_of(path.pruning_at(index)) == lam
        else:
            with pytest.raises(ValueError, match="that has a lambda"):
                path.lambda_of(path.pruning_at(index))


def test_progress_says_what_is_left_and_the_path_describes_itself(middle_sized):
    messages = []
    path = prune_path(middle_sized, max_points=4, progress=lambda share, message: messages.append(message))
    assert any("open" in message for message in messages)
    assert repr(path) == path.summary()


@pytest.mark.parametrize("lam_range", [2, (1,), (1, 2, 3), "12"])
def test_a_range_that_is_no_pair_is_named(middle_sized, lam_range):
    with pytest.raises(ValueError, match="lam_range: expected two numbers"):
        prune_path(middle_sized, lam_range=lam_range)


def test_coarse_paths_are_exact_where_they_speak_and_say_where_they_do_not(middle_sized):
    whole, coarse = prune_path(middle_sized), prune_path(middle_sized, max_points=4)
    assert coarse.status is Status.FEASIBLE
    assert len(coarse.breakpoints) == 4
    assert coarse.flow is None
    assert set(zip(coarse.errors, coarse.costs, strict=True)) <= set(zip(whole.errors, whole.costs, strict=True))
    assert "skipped" in coarse.summary()
    gap = coarse.skipped[0]
    inside = coarse.breakpoints[gap.breakpoint]
    assert gap.lam_low <= inside <= gap.lam_high
    with pytest.raises(ValueError, match=r"lam: expected a lambda outside the skipped interval"):
        coarse.pruning(inside)
    for lam in interesting_lambdas(whole.breakpoints):
        if not any(skip.lam_low < lam < skip.lam_high for skip in coarse.skipped):
            assert coarse.pruning(lam) == whole.pruning(lam)
    for budget in [(a + b) / 2 for a, b in pairwise(whole.costs)]:
        assert coarse.at_budget(budget).bound <= whole.at_budget(budget).bound
    everything = prune_path(middle_sized, max_points=10**6)
    assert everything.breakpoints == whole.breakpoints
    assert everything.is_complete


def test_a_range_of_lambda_resolves_exactly_that_range(middle_sized):
    whole = prune_path(middle_sized)
    low, high = whole.breakpoints[2], whole.breakpoints[-2]
    part = prune_path(middle_sized, lam_range=(low, high))
    skipped = {skip.breakpoint for skip in part.skipped}
    resolved = [lam for index, lam in enumerate(part.breakpoints) if index not in skipped]
    assert resolved == [lam for lam in whole.breakpoints if low < lam <= high]
    assert {skip.lam_high for skip in part.skipped} == {low, inf}


def assert_true_where_it_speaks(path, whole):
    assert set(zip(path.errors, path.costs, strict=True)) <= set(zip(whole.errors, whole.costs, strict=True))
    for lam in whole.breakpoints:
        if not any(skip.lam_low <= lam <= skip.lam_high for skip in path.skipped):
            assert path.pruning(lam) == whole.pruning(lam)


def test_an_interrupt_passes_through_and_the_search_keeps_what_was_found(middle_sized):
    search, whole = interrupted_search(middle_sized, 6), prune_path(middle_sized)
    path = search.path()
    assert path.status is Status.INTERRUPTED
    assert not path.is_complete
    assert_true_where_it_speaks(path, whole)


def assert_same(path, whole):
    assert path.status is Status.OPTIMAL
    assert path.breakpoints == whole.breakpoints
    assert np.array_equal(path.node_breakpoint, whole.node_breakpoint)
    assert_proves(path.instance, path)


def test_an_interrupted_search_goes_on_where_it_stopped(middle_sized):
    search = interrupted_search(middle_sized, 5)
    search.path()
    search.run()
    assert search.path() is search.path()
    assert_same(search.path(), prune_path(middle_sized))


@pytest.mark.parametrize("n_reports", [1, 5, 9])
def test_an_interrupted_search_goes_on_from_a_file(middle_sized, tmp_path, n_reports):
    search = interrupted_search(middle_sized, n_reports)
    search.save(tmp_path / "search.npz")
    resumed = PathSearch.load(tmp_path / "search.npz", middle_sized)
    assert resumed.n_found == search.n_found
    assert resumed.path().records() == search.path().records()
    again = PathSearch.load(tmp_path / "search.npz", middle_sized)
    again.run()
    assert_same(again.path(), prune_path(middle_sized))


def test_a_search_of_a_few_points_goes_on_from_a_file(middle_sized, tmp_path):
    lams = prune_path(middle_sized).breakpoints
    search = PathSearch(middle_sized, 6, (lams[2], lams[-3]))
    search.save(tmp_path / "search.npz")
    search.run()
    resumed = PathSearch.load(tmp_path / "search.npz", middle_sized)
    resumed.run()
    assert resumed.path().records() == search.path().records()
    assert resumed.path().skipped == search.path().skipped


def test_a_search_is_saved_every_so_many_seconds(middle_sized, tmp_path):
    seen = []

    def report(share, message):
        file = tmp_path / "search.npz"
        seen.append(PathSearch.load(file, middle_sized).n_found if file.exists() else 0)

    search = PathSearch(middle_sized, small=ONE_CUT_A_CALL)
    search.run_saved(tmp_path / "search.npz", report, every_s=0)
    assert_same(search.path(), prune_path(middle_sized))
    assert len(set(seen)) > 5
    assert seen == sorted(seen)


def test_files_that_hold_no_search_of_this_instance_are_refused(middle_sized, tmp_path):
    file = tmp_path / "search.npz"
    PathSearch(middle_sized).save(file)
    with pytest.raises(
        ValueError, match=r"search.npz: expected an unfinished path of this problem, got: the path of an"
    ):
        PathSearch.load(file, synthetic_instance(8, 300, 20, n_training=900, max_price=10, seed=2))
    stored = dict(np.load(file))
    for name, changed in (("node_order", stored["node_order"][1:]), ("done", np.array("[[1]]"))):
        np.savez(file, **{**stored, name: changed})
        with pytest.raises(ValueError, match=r"expected an unfinished path of this problem, got: .*; remove the file"):
            PathSearch.load(file, middle_sized)
    np.savez(file, **{name: array for name, array in stored.items() if name != "flow"})
    with pytest.raises(ValueError, match=r"got: 'flow'; remove the file"):
        PathSearch.load(file, middle_sized)
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(ValueError, match="expected a complete unfinished path file"):
        PathSearch.load(file, middle_sized)


def test_an_interrupt_passes_through_by_default(middle_sized):
    def interrupt(share, message):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prune_path(middle_sized, progress=interrupt)


@pytest.mark.parametrize("small", [MAX_ENTRIES_IN_ONE_CALL, ONE_CUT_A_CALL], ids=["small", "large"])
def test_a_cut_that_is_stopped_goes_on_later(middle_sized, small):
    cut = ParametricCut(presolve(middle_sized), small)
    cut.network.signals[STOP] = 1
    try:
        problem = cut.open.pop()
        done, still_open = cut.resolve_or_split(
            problem, search_for(problem.host.network, problem.members, problem.n_entries)
        )
    except CutStopped as stopped:
        done, still_open = [], [stopped.subproblem]
    assert not done
    cut.open, cut.network.signals[STOP] = still_open, 0
    CutThreads(cut).resolve(None, silent, 1.0)
    assert_same_breakpoints(cut, middle_sized)


def assert_same_breakpoints(cut, instance):
    unit = instance.error_unit / instance.cost_unit
    found = sorted(Fraction(*problem.resolved) * unit for problem in cut.done)
    assert tuple(found) == prune_path(instance).breakpoints


def test_progress_moves_with_every_cut_and_never_back(middle_sized):
    search, shares = PathSearch(middle_sized, small=ONE_CUT_A_CALL), []
    search.run(lambda share, message: shares.append(share))
    assert shares == sorted(shares)
    assert len(set(shares)) > len(search.path().breakpoints) / 2
    assert shares[0] < 0.5


def test_progress_ends_with_everything_settled(middle_sized):
    calls = []
    prune_path(middle_sized, progress=lambda share, message: calls.append((share, message)))
    assert calls[-1][0] == 1.0
    assert calls[-1][1].endswith("breakpoints")


def single_leaf() -> PruningInstance:
    return PruningInstance(
        tree_offsets=np.array([0, 1]),
        node_parent=np.array([-1]),
        errors=np.array([5]),
        indptr=np.array([0]),
        indices=np.array([], dtype=np.int32),
        acquisition_unit=np.array([], dtype=np.int32),
        acquisition_example=np.array([], dtype=np.int32),
        acquisition_cost=np.array([], dtype=np.int64),
        split_cost=np.array([], dtype=np.int64),
        error_unit=Fraction(1, 10),
        cost_unit=Fraction(1, 3),
        n_units=1,
        n_examples=3,
    )


def test_a_forest_without_tests_has_a_path_of_one_pruning():
    path = prune_path(single_leaf())
    assert path.breakpoints == ()
    assert path.errors == (Fraction(1, 2),)
    assert path.costs == (0,)
    assert path.at_budget(0).status is Status.OPTIMAL


def test_bad_arguments_are_named():
    instance = single_leaf()
    path = prune_path(instance)
    with pytest.raises(ValueError, match="budget: expected a number >= 0, got -1"):
        path.at_budget(-1)
    with pytest.raises(ValueError, match="max_points: expected an integer >= 1, got 0"):
        prune_path(instance, max_points=0)
    with pytest.raises(IndexError, match=r"index: expected 0\.\.0, got 1"):
        path.pruning_at(1)
    with pytest.raises(ValueError, match="errors: expected 1 values for 0 breakpoints, got 0"):
        PruningPath(instance, (), (), (Fraction(0),), np.array([], dtype=np.int32), None, (), Status.OPTIMAL, 0.0)


def test_a_coarse_path_has_no_certificate_to_hand_out(middle_sized):
    with pytest.raises(ValueError, match="path: expected a whole path, got one with 2 skipped intervals"):
        prune_path(middle_sized, max_points=2).result(0)


def test_a_range_must_be_two_ascending_numbers(middle_sized):
    with pytest.raises(ValueError, match="lam_range: expected low <= high"):
        prune_path(middle_sized, lam_range=(2, 1))


def two_roots(first_gain: int, second_gain: int, cost: int) -> PruningInstance:
    return PruningInstance(
        tree_offsets=np.array([0, 3, 6]),
        node_parent=np.array([-1, 0, 0, -1, 3, 3]),
        errors=np.array([first_gain, 0, 0, second_gain, 0, 0]),
        indptr=np.array([0, 1, 2]),
        indices=np.array([0, 1]),
        acquisition_unit=np.array([0, 0]),
        acquisition_example=np.array([0, 1]),
        acquisition_cost=np.array([cost, cost]),
        split_cost=np.array([0, 0]),
        error_unit=Fraction(1),
        cost_unit=Fraction(1),
        n_units=1,
        n_examples=2,
    )


def test_numbers_beyond_64_bits_are_refused_with_their_sizes():
    with pytest.raises(OverflowError, match=r"instance: expected gain x cost of every piece of the path below 2\^62"):
        prune_path(two_roots(2**40 + 1, 2**40, 2**40 + 1))


@pytest.mark.parametrize(
    "lam", [Fraction(1, 10**30), Fraction(10**30), Fraction(10**30, 10**30 - 1), 1 - Fraction(1, 10**30), 1 / 3, 1e18]
)
def test_a_lambda_of_too_many_digits_is_proven_at_one_near_it(lam):
    path = prune_path(two_roots(3, 2, 2))
    result = path.result(lam)
    assert result.pruning == path.pruning(lam)
    assert path.pruning(result.lam) == result.pruning
    assert result.gap == 0
    assert verify_optimality(path.instance, result)


def test_floats_and_their_neighbours_are_lambdas(middle_sized):
    path = prune_path(middle_sized)
    for lam in map(float, path.breakpoints[::5]):
        for near in (lam, np.nextafter(lam, 0), np.nextafter(lam, 1), lam / 3):
            result = path.result(near)
            assert result.pruning == path.pruning(near)
            assert result.gap == 0
            assert abs(result.lam - Fraction(repr(float(near)))) < 1e-9 * lam


def test_a_common_divisor_makes_large_numbers_small():
    path = prune_path(two_roots(2**41, 2**40, 2**40))
    assert path.breakpoints == (1, 2)
