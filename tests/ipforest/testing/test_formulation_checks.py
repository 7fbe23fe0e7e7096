"""All formulations pass their checks; with one of its constraints deleted or weakened each fails a named one."""

from dataclasses import replace

import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn
from reference import load_reference

import formulations
from formulations import FORMULATIONS, Formulation
from ipforest.testing import check_formulation, parametrize_with_checks
from ipforest.testing.corners import corner_instances
from proofs.study.problem import Problem

NUMBERS = {"lam": (1, None), "budget": (None, 0), "nothing": (None, None)}
DELETED, AT_MOST, AT_LEAST, LOOSER, DOUBLED = "deleted", "at most", "at least", "looser by one", "doubled right side"
WAYS = (DELETED, AT_MOST, AT_LEAST, LOOSER, DOUBLED)
BLOCKS = {
    "ip0": ["one_leaf_per_path"],
    "ip1": ["one_leaf_per_path", "acquired_above_leaf"],
    "ip2": ["one_leaf_per_path", "usage_in_tree"],
    "ip3": ["one_leaf_per_path", "usage_in_tree", "usage_anywhere"],
    "compact": ["one_leaf_per_path", "usage_unless_stopped"],
    "closure": ["kept_under_parent", "acquired_where_kept"],
    "lp1": ["one_leaf_per_path", "usage_in_tree", "usage_anywhere", "within_budget"],
}
EQUATIONS = ("one_leaf_per_path", "usage_in_tree")
BOUGHT_IN_VAIN = "prices are not negative: the upper side of w's equation only forbids to buy what is not used"
ERRORS_IN_VAIN = "errors are not negative: z of a leaf alone is never larger than its row needs"
REDUNDANT = {
    (name, "usage_in_tree", AT_LEAST, row): BOUGHT_IN_VAIN
    for name in ("ip2", "ip3", "lp1")
    for row in (None, *range(12))
} | {
    (name, "one_leaf_per_path", AT_LEAST, row): ERRORS_IN_VAIN
    for name in ("ip0", "ip1", "ip2", "ip3", "compact", "lp1")
    for row in range(12)
}
"""Weakened constraints after which optimum and relaxation are what they were, with the reason; None is all rows."""


def ways(block):
    """Return how a constraint can be weakened: sides are taken from equations, inequalities are loosened."""
    return (
        [DELETED, AT_MOST, AT_LEAST]
        if block in EQUATIONS
        else [DELETED, LOOSER] + [DOUBLED] * (block != "within_budget")
    )


def weaken(row, way):
    if way == DELETED:
        row.deactivate()
    elif way == AT_MOST:
        row.set_value((None, row.body, row.upper))
    elif way == AT_LEAST:
        row.set_value((row.lower, row.body, None))
    elif way == LOOSER:
        row.set_value((row.lower and row.lower - 1, row.body, None if row.upper is None else row.upper + 1))
    else:
        terms = generate_standard_repn(row.body)
        sign = 1 if row.upper is None else -1
        larger = sum(a * v for a, v in zip(terms.linear_coefs, terms.linear_vars, strict=True) if sign * a > 0)
        row.set_value((row.lower, row.body + larger, row.upper))


class Weakened(Formulation):
    """A formulation one of whose constraints is weakened: all rows of it, or one."""

    def __init__(self, base, block, way=DELETED, row=None):
        self.base, self.block, self.way, self.row = base, block, way, row
        self.name = f"{base.name}, {block}, {way}, {'all rows' if row is None else f'row {row}'}"
        for promise in ("takes", "integral", "one_tree", "routing", "integer_units"):
            setattr(self, promise, getattr(base, promise))

    def rows(self, model):
        rows = list(model.component(self.block).values())
        return rows if self.row is None else rows[self.row : self.row + 1]

    def fits(self, instance):
        """Return whether the formulation has the row in an instance: others are not looked at."""
        if not super().fits(instance):
            return False
        specification = formulations.specify(self.base, instance, *NUMBERS[self.takes])
        return self.row is None or bool(self.rows(self.base.build(specification)))

    def build(self, specification):
        model = self.base.build(specification)
        for row in self.rows(model):
            weaken(row, self.way)
        return model

    def linear_program(self, specification):
        return formulations.matrix(self.build(specification))

    def size(self, instance):
        program = self.linear_program(formulations.specify(self, instance, *NUMBERS[self.takes]))
        return formulations.ModelSize(program.n_columns, program.n_rows)

    def kept_shares(self, specification, values):
        return self.base.kept_shares(specification, values)

    def tree_objective(self, instance, p, q):
        return self.base.tree_objective(instance, p, q)


@parametrize_with_checks([FORMULATIONS[name] for name in ("closure", "lp1")])
def test_formulations_pass(check):
    check()


@pytest.mark.slow
@parametrize_with_checks([FORMULATIONS[name] for name in ("ip0", "ip1", "ip2", "ip3", "compact")])
def test_the_other_formulations_pass(check):
    check()


def test_every_constraint_is_weakened_in_turn():
    instance = load_reference("figure_1_tree").instance
    assert set(BLOCKS) == {
        name for name in FORMULATIONS if type(FORMULATIONS[name]).__module__.startswith("formulations.")
    }
    for name, blocks in BLOCKS.items():
        model = formulations.build(name, instance, *NUMBERS[FORMULATIONS[name].takes])
        assert {block.name for block in model.component_objects(pyo.Constraint)} == set(blocks)


def found(name, block, way, row=None):
    """Return the first check that fails, of those that ask about points and relaxations, and the instance."""
    base = FORMULATIONS[name]
    checks = dict(check_formulation(Weakened(base, block, way, row), as_strong_as=base))
    asked = ["prunings_are_points", "relaxation_bounds_the_optimum", "points_are_prunings"]
    for check in [*asked, "optimum_is_that_of_all_prunings", f"relaxation_is_that_of_{name}"]:
        try:
            checks[check]()
        except (AssertionError, ArithmeticError, ValueError) as failure:
            noted = [note for note in failure.__notes__ if note.startswith("fails on")]
            return check, Problem.from_json(noted[-1].partition(": ")[2]).instance
    return None, None


def assert_found(name, block, way, row=None):
    check, instance = found(name, block, way, row)
    if (name, block, way, row) in REDUNDANT:
        assert check is None, f"{check} fails, though {REDUNDANT[name, block, way, row]}"
    else:
        assert check is not None, "no check fails"
        assert instance.n_trees <= 2
        assert instance.n_examples <= 4


QUICK = [("closure", "acquired_where_kept", DELETED), ("lp1", "within_budget", LOOSER)]
SECONDS = [(name, "one_leaf_per_path", AT_LEAST) for name in ("ip1", "ip2", "ip3", "lp1")]
FAMILIES = [(name, block, way) for name, blocks in BLOCKS.items() for block in blocks for way in ways(block)]


def marks(one):
    if one in QUICK:
        return []
    return [pytest.mark.slow, pytest.mark.long] if one in SECONDS or (*one, None) in REDUNDANT else [pytest.mark.slow]


@pytest.mark.parametrize(("name", "block", "way"), [pytest.param(*one, marks=marks(one)) for one in FAMILIES])
def test_a_weakened_constraint_is_found_on_a_small_instance(name, block, way):
    assert_found(name, block, way)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("name", "block"), [(name, block) for name, blocks in BLOCKS.items() for block in blocks])
def test_every_single_row_is_found_if_it_is_weakened(name, block):
    base = FORMULATIONS[name]
    largest = [instance for instance in corner_instances() if base.fits(instance)][-1]
    model = formulations.build(name, largest, *NUMBERS[base.takes])
    for row in range(len(model.component(block))):
        for way in ways(block):
            if (name, block, way, row) not in REDUNDANT:
                assert_found(name, block, way, row)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("name", "block", "way", "row"), [one for one in REDUNDANT if one[3] == 0])
def test_a_redundant_row_changes_neither_optimum_nor_relaxation(name, block, way, row):
    assert_found(name, block, way, row)


class Promising(Weakened):
    """A formulation that promises or says what it does not keep."""

    def __init__(self, base, **lies):
        super().__init__(base, "")
        self.lies = lies
        for name, value in lies.items():
            setattr(self, name, value)

    def fits(self, instance):
        return Formulation.fits(self, instance)

    def build(self, specification):
        return self.base.build(specification)


class Miscounting(Promising):
    def size(self, instance):
        return formulations.ModelSize(0, 0)


class WithAnotherCost(Promising):
    def build(self, specification):
        model = self.base.build(specification)
        model.objective_of_mine = pyo.Objective(expr=2 * next(model.component_data_objects(pyo.Objective)).expr)
        next(model.component_objects(pyo.Objective)).deactivate()
        return model


class Rowless(Promising):
    def linear_program(self, specification):
        program = super().linear_program(specification)
        return replace(program, A=program.A[:0], senses=program.senses[:0], rhs=program.rhs[:0], row_labels=())


class Tight(Promising):
    """One that cuts off the prunings that keep anything."""

    def build(self, specification):
        model = self.base.build(specification)
        model.nothing_kept = pyo.Constraint(expr=sum(model.x.values()) <= 0)
        return model


class OtherNetwork(Promising):
    def network(self, instance):
        network = self.base.network(instance)
        return replace(network, away=~network.away)


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (Promising(FORMULATIONS["ip1"], integral=True), "integral_is_kept"),
        (Promising(FORMULATIONS["ip2"], one_tree=False), "prunings_are_points"),
        (Promising(FORMULATIONS["ip2"], one_tree=False), "optimum_is_that_of_all_prunings"),
        (Miscounting(FORMULATIONS["closure"]), "size_is_that_of_the_model"),
        (WithAnotherCost(FORMULATIONS["closure"]), "optimum_is_that_of_all_prunings"),
        (WithAnotherCost(FORMULATIONS["closure"]), "prunings_are_points"),
        (Rowless(FORMULATIONS["closure"]), "arrays_equal_the_model"),
        (Tight(FORMULATIONS["closure"]), "prunings_are_points"),
        (OtherNetwork(FORMULATIONS["closure"]), "network_is_its_matrix"),
    ],
    ids=range(9),
)
@pytest.mark.slow
def test_a_wrong_promise_fails_its_check(wrong, check):
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):
        dict(check_formulation(wrong))[check]()
