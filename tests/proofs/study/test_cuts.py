"""Chvatal-Gomory cuts: known small relaxations, their ranks, and multipliers that prove each cut."""

from fractions import Fraction
from itertools import combinations
from math import floor

import numpy as np
import pyomo.environ as pyo
import pytest
from reference import load_reference

from formulations import ModelledFormulation
from proofs.integrality.vertices import Polytope, is_integral, vertices
from proofs.study.cuts import close, close_program, missing_inequalities, separate
from proofs.study.multipliers import IntegerRow, find_multipliers

NAMES = "abcdefg"


def packing(rows, right=1):
    """State that the chosen columns of each row add up to at most its right-hand side."""
    return Polytope(rows, ["<="] * len(rows), [right] * len(rows), tuple(NAMES[: len(rows[0])]))


def edges_of_complete_graph(n):
    return packing([[int(j in edge) for j in range(n)] for edge in combinations(range(n), 2)])


def closed(polytope):
    return close(polytope, [f"row {row}" for row in range(len(polytope.matrix))])


def assert_proved(strengthened, n_rows):
    """Add the rows up again, in fractions, by what each cut says of itself."""
    polytope, cuts = strengthened.polytope, strengthened.cuts
    rows = {f"row {row}": (polytope.matrix[row], polytope.right[row]) for row in range(n_rows)}
    ranks = {cut.name: cut.rank for cut in cuts}
    for cut in cuts:
        total, right = [Fraction(0)] * len(polytope.names), Fraction(0)
        for name, factor in cut.multipliers:
            assert factor > 0
            entries, side = rows.get(name) or bound(name, polytope.names)
            total = [t + factor * a for t, a in zip(total, entries, strict=True)]
            right += factor * side
        assert total == [cut.entries.get(name, 0) for name in polytope.names]
        assert floor(right) == cut.right
        assert cut.rank == 1 + max(ranks.get(name, 0) for name, _ in cut.multipliers)
        rows[cut.name] = total, cut.right


def bound(name, names):
    column, sense, value = name.split()
    sign = -1 if sense == ">=" else 1
    return [sign * int(other == column) for other in names], sign * int(value)


@pytest.mark.parametrize(("n", "rank"), [(3, 1), (4, 2), pytest.param(5, 2, marks=pytest.mark.slow)])
def test_the_rank_of_edges_of_a_complete_graph(n, rank):
    """Chvatal (1973): the clique inequality follows from edges with rank ceil(log2(n - 1))."""
    found = closed(edges_of_complete_graph(n))
    assert found.integral
    assert found.rank == rank
    assert found.cuts[-1].inequality() == f"{' + '.join(NAMES[:n])} <= 1"
    assert_proved(found, n * (n - 1) // 2)


def test_a_cut_that_needs_thirds():
    found = closed(Polytope([[3, 3, 3]], ["<="], [4], tuple(NAMES[:3])))
    assert found.integral
    thirds = [cut for cut in found.cuts if cut.inequality() == "a + b + c <= 1"]
    assert str(thirds[0]) == "a + b + c <= 1, from 1/3 (row 0)"
    assert_proved(found, 1)


def test_a_point_that_no_halves_cut_off():
    """Half of the row needs three bounds, and at 4/9 each of them has a slack of 4/9 or more."""
    thirds = Polytope([[3, 3, 3]], ["<="], [4], tuple(NAMES[:3]))
    cut = separate(thirds, ["three"], (Fraction(4, 9),) * 3)
    assert cut.inequality() == "a + b + c <= 1"
    assert cut.multipliers == (("three", Fraction(1, 3)),)


def test_three_in_a_row_of_seven():
    """The circulant C(7, 3): three neighbours hold at most one, so all seven hold at most two."""
    circulant = packing([[int((column - row) % 7 < 3) for column in range(7)] for row in range(7)])
    rows = [
        IntegerRow(f"row {row}", {j: 1 for j, a in enumerate(entries) if a}, 1)
        for row, entries in enumerate(circulant.matrix)
    ]
    found = find_multipliers(rows, (Fraction(1, 3),) * 7)
    assert found == [(row, Fraction(1, 3)) for row in rows]
    assert_proved(closed(circulant), 7)


def test_an_integral_relaxation_needs_no_cut_and_its_vertices_are_not_cut_off():
    interval = packing([[1, 1, 0], [0, 1, 1]])
    found = closed(interval)
    assert (found.cuts, found.rank, found.integral) == ((), 0, True)
    assert all(separate(interval, ["one", "two"], corner) is None for corner in vertices(interval))


def test_ip1_and_its_cuts_have_rank_one_on_figure_1():
    found = missing_inequalities("ip1", load_reference("figure_1_tree").instance)
    assert found.integral
    assert found.rank == 1


@pytest.mark.slow
def test_any_small_integer_program_is_closed_and_a_mixed_one_is_refused():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(5), domain=pyo.Binary)
    model.edge = pyo.Constraint(range(5), rule=lambda m, i: m.x[i] + m.x[(i + 1) % 5] <= 1)
    model.objective = pyo.Objective(expr=-pyo.quicksum(model.x.values()))
    found = close_program(model)
    assert (found.integral, found.rank) == (True, 1)
    assert str(found.cuts[0]) == (
        "x[0] + x[1] + x[2] + x[3] + x[4] <= 2, half of edge[0], edge[1], edge[2], edge[3], edge[4]"
    )
    model.mean = pyo.Var(bounds=(0, 1))  # of x[0] and x[1]; "mean <= x[1]" is half of the row, and not valid
    model.half = pyo.Constraint(expr=2 * model.mean == model.x[0] + model.x[1])
    with pytest.raises(ValueError, match=r"model: expected integer variables alone, as cuts round .* got mean"):
        close_program(model)
    mixed = ModelledFormulation("mixed", lambda instance: model, "nothing")
    with pytest.raises(ValueError, match="integer variables alone"):
        missing_inequalities(mixed, load_reference("figure_1_tree").instance)


def test_random_relaxations_are_cut_to_their_integer_points():
    rng = np.random.default_rng(8)
    ranks = set()
    for _ in range(25):
        polytope = Polytope(
            rng.integers(-3, 4, size=(3, 3)).tolist(), ["<="] * 3, rng.integers(0, 4, 3).tolist(), tuple(NAMES[:3])
        )
        whole = {corner for corner in vertices(polytope) if is_integral(corner)}
        found = closed(polytope)
        assert whole <= set(vertices(found.polytope))
        assert found.integral
        assert_proved(found, 3)
        ranks.add(found.rank)
    assert max(ranks) > 1
