"""The papers' worked examples: Figure 1's tree, the two-tree ensemble, IP1's fractional vertex."""

from fractions import Fraction

import numpy as np
import pytest
from reference import NAMES, load_reference

import formulations
from formulations import FORMULATIONS, FractionalOptimumError, ModelSize
from formulations.arrays import linear_program
from formulations.solving import solve_lp, solve_mip
from ipforest import Status, solve_budget
from ipforest.solvers.highs import run
from proofs.crosschecks.brute_force import brute_force

HALF = Fraction(1, 2)


@pytest.mark.parametrize("name", NAMES)
def test_reference_prunings_are_evaluated_right(name):
    reference = load_reference(name)
    for pruning, error, cost in reference.prunings:
        assert reference.instance.evaluate(pruning) == (error, cost)
    for lam, objective in reference.optima:
        assert brute_force(reference.instance, lam).objective == objective


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        (name, reference)
        for name, info in FORMULATIONS.items()
        for reference in NAMES
        if info.takes == "lam" and not (info.one_tree and reference == "figure_1_ensemble")
    ],
)
def test_every_formulation_on_the_reference_instances(name, reference):
    known = load_reference(reference)
    for lam, objective in known.optima:
        assert formulations.solve(formulations.build(name, known.instance, lam)).objective == objective
        assert solve_mip(known.instance, lam, formulation=name).objective == objective
        if FORMULATIONS[name].integral:
            assert solve_lp(known.instance, lam, formulation=name).bound == objective


@pytest.mark.parametrize("reference", NAMES)
def test_budgets_on_the_reference_instances(reference):
    known = load_reference(reference)
    for budget, error, mixture_error in known.budgets:
        relaxed = solve_budget(known.instance, budget, "lp1")
        exact = solve_budget(known.instance, budget, "mip")
        assert (relaxed.mixture_error, relaxed.bound) == (mixture_error, mixture_error)
        assert (exact.error, exact.bound, exact.status) == (error, error, Status.OPTIMAL)


def test_figure_1_has_the_printed_constraints():
    """Optimal-pruning paper, section 4: 7 variables z1..z5, w11, w21 and the relaxed constraints of IP1."""
    model = formulations.build("ip1", load_reference("figure_1_tree").instance, 1, relaxed=True)
    built = formulations.matrix(model)
    assert list(built.column_labels) == [*(f"z[{node}]" for node in range(5)), "w[0,0]", "w[1,0]"]
    z1, z2, z3, z4, z5, w11, w21 = np.eye(7)
    printed = {"==": [z1 + z3 + z4, z1 + z3 + z5, z1 + z2], "<=": [z4 - w11, z3 - w11, z4 - w21]}
    for sense, rows in printed.items():
        ours = built.A.toarray()[built.senses == sense]
        assert {tuple(row) for row in ours} == {tuple(row) for row in rows}
    assert built.rhs.tolist() == [1, 1, 1, 0, 0, 0]


def test_ip1_has_the_printed_fractional_vertex_as_its_only_optimum():
    """z = (0, 1, .5, .5, .5), w = (.5, .5): value 5/2 where the best pruning has 3."""
    instance = load_reference("figure_1_tree").instance
    built = linear_program(formulations.specify("ip1", instance, 1, relaxed=True))
    solution = run(built)
    assert solution.values.tolist() == [0, 1, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert solution.objective == 2.5 < brute_force(instance, 1).objective == 3
    for solve in (
        lambda: solve_lp(instance, Fraction(1), formulation="ip1"),
        lambda: formulations.solve(formulations.build("ip1", instance, 1, relaxed=True)),
    ):
        with pytest.raises(FractionalOptimumError, match=r"expected a 0-1 optimum of ip1, got node 2 kept by 0\.5"):
            solve()


def test_the_fractional_point_is_a_vertex_that_ip3_cuts_off():
    instance = load_reference("figure_1_tree").instance
    ip1 = linear_program(formulations.specify("ip1", instance, 1, relaxed=True))
    point = np.array([0, 1, 0.5, 0.5, 0.5, 0.5, 0.5])
    rows = np.vstack([ip1.A.toarray(), np.eye(7)])
    right = np.concatenate([ip1.rhs, np.where(point <= 0, 0, 1)])
    active = rows[np.isclose(rows @ point, right)]
    assert np.linalg.matrix_rank(active) == 7
    compact = linear_program(formulations.specify("compact", instance, 1, relaxed=True))
    lowest = compact.A @ point - compact.rhs
    assert lowest.min() == -0.5
    assert compact.row_labels[int(np.argmin(lowest))] == "usage_unless_stopped[0,0,0]"


def test_the_minor_of_two_in_ip1():
    """Rows z1 + z3 + z4, w11 - z4, w11 - z3 with the columns z3, z4, w11: determinant +-2, so not unimodular."""
    A = linear_program(formulations.specify("ip1", load_reference("figure_1_tree").instance, 1)).A.toarray()
    assert round(abs(np.linalg.det(A[np.ix_([1, 3, 4], [2, 3, 5])]))) == 2


def test_sizes_of_the_ensemble():
    """12 nodes, 4 usages in a tree, 3 acquisitions; 7 leaves."""
    instance = load_reference("figure_1_ensemble").instance
    assert {name: formulations.size(name, instance) for name in FORMULATIONS if name != "ip2"} == {
        "ip0": ModelSize(12, 7),
        "ip1": ModelSize(15, 7 + 2 + 1 + 2 + 1),
        "ip3": ModelSize(19, 7 + 8),
        "compact": ModelSize(15, 7 + 4),
        "closure": ModelSize(8, 3 + 4),
        "lp1": ModelSize(19, 7 + 8 + 1),
    }


def test_ip3_of_the_ensemble_has_the_printed_rows_of_lemma_4_1():
    """Tree 2: r1 - r2 = z8 - z9, r4 - r5 = z12 - w^(2)_{3,1}, and so on, as printed after Figure 1."""
    instance = load_reference("figure_1_ensemble").instance
    built = linear_program(formulations.specify("ip3", instance, 1))
    place = {label: position for position, label in enumerate(built.column_labels)}
    rows = dict(zip(built.row_labels, built.A.toarray(), strict=True))
    r = [
        *(rows[f"one_leaf_per_path[{leaf - 1}]"] for leaf in (8, 9, 11, 12)),
        rows["usage_in_tree[1,2,0]"],
        rows["usage_in_tree[1,1,0]"],
    ]
    z = {node: np.eye(len(place))[place[f"z[{node - 1}]"]] for node in range(6, 13)}
    w2, w3 = (np.eye(len(place))[place[f"w_tree[1,{unit},0]"]] for unit in (1, 2))
    network = [
        (-r[0], -z[6] - z[7] - z[8]),
        (r[0] - r[1], z[8] - z[9]),
        (r[1] - r[2], z[7] + z[9] - z[10] - z[11]),
        (r[2] - r[3], z[11] - z[12]),
        (r[3] - r[4], z[12] - w3),
        (r[4] - r[5], z[10] + w3 - w2),
        (r[5], z[6] + w2),
    ]
    for ours, printed in network:
        assert np.array_equal(ours, printed)
    total = np.abs(np.array([printed for _, printed in network])).sum(axis=0)
    assert set(total[[place[f"z[{node}]"] for node in range(5, 12)]].tolist()) == {2}
