"""Exact vertices, and rounding by a threshold."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from reference.definitions import vertices_by_bases

from proofs.claims.paper_figures import figure_instance
from proofs.claims.pruning_claims import PAPER_POINT, random_fractional_point, solve_budget_exactly
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.definition import lower_frontier
from proofs.crosschecks.random_instances import random_instance
from proofs.exact import _dense_determinant, determinant, rank, solve_square
from proofs.integrality.polytopes import budget_polytope, cost_row, error_row, polytope, value
from proofs.integrality.vertices import (
    Polytope,
    TooManyVerticesError,
    is_integral,
    kept_from_leaf_weights,
    leaf_weights_from_kept,
    round_by_threshold,
    vertices,
)
from tests.strategies import instances, lambdas

FORMS = ("ip3", "compact", "closure")


def small(instance, limit=20):
    return instance.n_nodes + instance.n_triples + instance.n_acquisitions <= limit


def random_polytope(rng):
    """Draw one with entries -2..2, all senses, sometimes empty, sometimes degenerate."""
    rows, columns = int(rng.integers(0, 5)), int(rng.integers(1, 5))
    return Polytope(
        rng.integers(-2, 3, size=(rows, columns)).tolist(),
        rng.choice(["<=", ">=", "="], size=rows, p=[0.45, 0.4, 0.15]).tolist(),
        [Fraction(int(number), 2) for number in rng.integers(-3, 5, size=rows)],
        tuple(f"v{j}" for j in range(columns)),
    )


@pytest.mark.slow
def test_double_description_equals_all_bases():
    rng = np.random.default_rng(51)
    found = empty = 0
    for _ in range(150):
        candidate = random_polytope(rng)
        points = vertices(candidate)
        assert points == vertices_by_bases(candidate), candidate
        assert all(candidate.is_vertex(point) for point in points)
        found, empty = found + len(points), empty + (not points)
    assert found > 300
    assert 10 < empty < 140


def test_the_cube_and_a_cut_of_it():
    cube = Polytope([], [], [], ("a", "b", "c"))
    with pytest.raises(TooManyVerticesError, match="expected one that 3 comparisons suffice for"):
        vertices(cube, most=3)
    cone = Polytope([[1, -1], [1, 1]], ["<=", ">="], [0, 1], ("a", "b"), None, None)  # unbounded, with one vertex
    assert vertices(cone) == [(Fraction(1, 2), Fraction(1, 2))]
    assert len(vertices(cube)) == 8
    cut = Polytope([[1, 1, 1]], ["<="], [Fraction(1, 2)], ("a", "b", "c"))
    assert sorted(map(sum, vertices(cut))) == [0, HALF, HALF, HALF]
    assert vertices(Polytope([[1, 1, 1]], [">="], [4], ("a", "b", "c"))) == []
    assert vertices(Polytope([[1], [1]], ["=", "="], [0, 1], ("a",))) == []


HALF = Fraction(1, 2)


@settings(max_examples=25, deadline=None)
@given(instance=instances(max_internal=3))
def test_all_vertices_of_the_exact_forms_are_prunings(instance):
    if not small(instance):
        return
    for name in FORMS:
        points = vertices(polytope(instance, name))
        assert all(map(is_integral, points))
        assert len(
            {tuple(point[: instance.n_internal if name == "closure" else instance.n_nodes]) for point in points}
        ) == (sum(1 for _ in prunings(instance)))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(instance=instances(max_internal=3), lam=lambdas)
def test_relaxations_reach_the_best_pruning_and_never_less(instance, lam):
    if not small(instance):
        return
    best = min(instance.objective(pruning, lam) for pruning in prunings(instance))
    for name in FORMS:
        error, cost = error_row(instance, name), cost_row(instance, name)
        worths = [
            instance.error_unit * value(error, point) + lam * instance.cost_unit * value(cost, point)
            for point in vertices(polytope(instance, name))
        ]
        assert min(worths) == best


def test_the_papers_fractional_point_is_a_vertex_of_ip1_only():
    instance = figure_instance(1)
    relaxation = polytope(instance, "ip1")
    assert relaxation.is_vertex(PAPER_POINT)
    assert PAPER_POINT in vertices(relaxation)
    assert not polytope(instance, "compact").contains(PAPER_POINT)


def test_the_papers_ip1_constraints():
    """Optimal-pruning paper, section 4: the six relaxed constraints of tree 1."""
    relaxation = polytope(figure_instance(1), "ip1")
    rows = {
        (tuple(row), sense, b)
        for row, sense, b in zip(relaxation.matrix, relaxation.senses, relaxation.right, strict=True)
    }
    assert rows == {
        ((1, 0, 1, 1, 0, 0, 0), "=", 1),
        ((1, 0, 1, 0, 1, 0, 0), "=", 1),
        ((1, 1, 0, 0, 0, 0, 0), "=", 1),
        ((0, 0, 0, 1, 0, -1, 0), "<=", 0),
        ((0, 0, 1, 0, 0, -1, 0), "<=", 0),
        ((0, 0, 0, 1, 0, 0, -1), "<=", 0),
    }


@settings(max_examples=15, deadline=None)
@given(instance=instances(max_internal=3))
def test_ip1_holds_every_pruning_and_its_relaxation_is_no_tighter(instance):
    if not small(instance, 16):
        return
    relaxation = polytope(instance, "ip1")
    for pruning in prunings(instance):
        point = [int(number) for part in (instance.leaves(pruning), instance.acquired(pruning)) for number in part]
        assert relaxation.contains(point)
    assert all(relaxation.contains(point) for point in vertices(polytope(instance, "compact")))


@settings(max_examples=60, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_rounding_is_at_least_as_good_and_exact_on_prunings(instance, lam):
    rng = np.random.default_rng(instance.n_nodes)
    x, w = random_fractional_point(rng, instance)
    rounded = round_by_threshold(instance, lam, x, w)
    assert rounded.objective == instance.objective(rounded.pruning, lam) <= rounded.fractional_objective
    pruning = instance.unpruned
    whole = round_by_threshold(
        instance, lam, pruning.kept.astype(int).tolist(), instance.acquired(pruning).astype(int).tolist()
    )
    assert whole.fractional_objective == instance.objective(pruning, lam)
    assert kept_from_leaf_weights(instance, leaf_weights_from_kept(instance, x)) == x


def test_infeasible_points_are_not_rounded():
    instance = figure_instance(1)
    for x, w, message in (
        ([HALF, 1], [1, 1], "kept further"),
        ([1, 1], [1, HALF], "needs 1"),
        ([2, 0], [1, 1], "between 0 and 1"),
        ([1], [1, 1], "expected 2 and 2"),
    ):
        with pytest.raises(ValueError, match=message):
            round_by_threshold(instance, Fraction(1), x, w)


def test_lp1_between_breakpoints():
    instance = figure_instance(1)
    frontier = lower_frontier([instance.evaluate(pruning) for pruning in prunings(instance)])
    assert frontier == [(0, 5), (1, 3), (2, 2)]
    assert [solve_budget_exactly(instance, cost)[0] for cost, _ in frontier] == [5, 3, 2]
    assert solve_budget_exactly(instance, Fraction(3, 2))[0] == Fraction(5, 2)
    in_z = vertices(budget_polytope(instance, "ip3", Fraction(3, 2)))
    row = error_row(instance, "ip3")
    assert min(value(row, point) for point in in_z) == Fraction(5, 2)


def test_cost_rows_evaluate_prunings():
    rng = np.random.default_rng(52)
    for _ in range(60):
        instance = random_instance(rng, 7)
        for pruning in prunings(instance):
            z, t, w = instance.leaves(pruning), pruning.kept[instance.triple_node], instance.acquired(pruning)
            for name, parts in (("ip3", (z, t, w)), ("compact", (z, w)), ("closure", (pruning.kept, w))):
                point = [int(number) for part in parts for number in part]
                assert value(cost_row(instance, name), point) == instance.integer_cost(pruning)
                assert value(error_row(instance, name), point) == instance.integer_error(pruning)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1]], ["<"], [0], ("a",)), "senses"),
        (([[1, 2]], ["<="], [0], ("a",)), "rows of 1 entries"),
        (([[1]], [], [0], ("a",)), "same number of rows"),
    ],
)
def test_malformed_polytopes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Polytope(*arguments)


@pytest.mark.parametrize("largest", [1, 2, 4])
@pytest.mark.parametrize("share", [0.2, 0.5, 1])
def test_the_determinant_by_units_is_that_of_dense_elimination(largest, share):
    rng = np.random.default_rng(54)
    for size in (size for size in range(9) for _ in range(20)):
        entries = rng.integers(-largest, largest + 1, size=(size, size)) * (rng.random((size, size)) < share)
        rows = [[Fraction(entry, int(rng.integers(1, 3))) for entry in row] for row in entries.tolist()]
        assert determinant(rows) == _dense_determinant([list(row) for row in rows])
        found = determinant(entries.tolist())
        assert found == _dense_determinant(entries.tolist())
        assert type(found) is int


def test_exact_algebra():
    rng = np.random.default_rng(53)
    for _ in range(100):
        size = int(rng.integers(0, 6))
        rows = rng.integers(-4, 5, size=(size, size)).tolist()
        exact = determinant(rows)
        assert exact == round(float(np.linalg.det(np.array(rows).reshape(size, size))))
        halves = [[Fraction(entry, 2) for entry in row] for row in rows]
        assert determinant(halves) == Fraction(exact, 2**size)
        right = rng.integers(-4, 5, size=size).tolist()
        solution = solve_square(rows, right)
        assert (solution is None) == (exact == 0)
        assert (rank(rows) == size) == (exact != 0)
        if solution is not None:
            assert [sum(a * v for a, v in zip(row, solution, strict=True)) for row in rows] == right
    with pytest.raises(ValueError, match="square"):
        determinant([[1, 2]])
