"""All formulations pass their checks; each of them without one of its constraints fails a named one."""

from dataclasses import replace

import pyomo.environ as pyo
import pytest
from reference import load_reference

import formulations
from formulations import FORMULATIONS, Formulation
from ipforest.testing import check_formulation, parametrize_with_checks

BUILT_IN = ("ip0", "ip1", "ip2", "ip3", "compact", "closure", "lp1")
BLOCKS = [
    ("ip0", "one_leaf_per_path"),
    ("ip1", "one_leaf_per_path"),
    ("ip1", "acquired_above_leaf"),
    ("ip2", "one_leaf_per_path"),
    ("ip2", "usage_in_tree"),
    ("ip3", "one_leaf_per_path"),
    ("ip3", "usage_in_tree"),
    ("ip3", "usage_anywhere"),
    ("compact", "one_leaf_per_path"),
    ("compact", "usage_unless_stopped"),
    ("closure", "kept_under_parent"),
    ("closure", "acquired_where_kept"),
    ("lp1", "one_leaf_per_path"),
    ("lp1", "usage_in_tree"),
    ("lp1", "usage_anywhere"),
    ("lp1", "within_budget"),
]
DECISIVE = ("optimum_is_that_of_all_prunings", "points_are_prunings")
"""The checks that find a program with points that are no prunings, or too cheap ones."""


class WithoutBlock(Formulation):
    """A formulation from which one constraint is deleted."""

    def __init__(self, base, block):
        self.base, self.block, self.name = base, block, f"{base.name} without {block}"
        for promise in ("takes", "integral", "one_tree", "routing", "integer_units"):
            setattr(self, promise, getattr(base, promise))

    def build(self, specification):
        model = self.base.build(specification)
        model.del_component(self.block)
        return model

    def linear_program(self, specification):
        return formulations.matrix(self.build(specification))

    def size(self, instance):
        numbers = {"lam": (1, None), "budget": (None, 0), "nothing": (None, None)}[self.takes]
        program = self.linear_program(formulations.specify(self, instance, *numbers))
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


def test_all_constraints_are_deleted_in_turn():
    instance = load_reference("figure_1_tree").instance
    for name in BUILT_IN:
        number = {"lam": {"lam": 1}, "budget": {"budget": 1}, "nothing": {}}[FORMULATIONS[name].takes]
        model = formulations.build(name, instance, **number)
        blocks = {block.name for block in model.component_objects(pyo.Constraint)}
        assert blocks == {block for one, block in BLOCKS if one == name}


@pytest.mark.parametrize(
    ("name", "block"),
    [
        pytest.param(*pair, marks=[] if pair == ("closure", "acquired_where_kept") else pytest.mark.slow)
        for pair in BLOCKS
    ],
)
def test_without_a_constraint_a_named_check_fails(name, block):
    checks = dict(check_formulation(WithoutBlock(FORMULATIONS[name], block)))
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):
        all(checks[check]() is None for check in DECISIVE)


class Promising(WithoutBlock):
    """A formulation that promises or says what it does not keep."""

    def __init__(self, base, **lies):
        super().__init__(base, "")
        self.lies = lies
        for name, value in lies.items():
            setattr(self, name, value)

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
        (Miscounting(FORMULATIONS["closure"]), "size_is_that_of_the_model"),
        (WithAnotherCost(FORMULATIONS["closure"]), "optimum_is_that_of_all_prunings"),
        (WithAnotherCost(FORMULATIONS["closure"]), "prunings_are_points"),
        (Rowless(FORMULATIONS["closure"]), "arrays_equal_the_model"),
        (Tight(FORMULATIONS["closure"]), "prunings_are_points"),
        (OtherNetwork(FORMULATIONS["closure"]), "network_is_its_matrix"),
    ],
    ids=range(7),
)
@pytest.mark.slow
def test_a_wrong_promise_fails_its_check(wrong, check):
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):
        dict(check_formulation(wrong))[check]()
