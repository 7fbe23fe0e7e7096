"""All formulations pass their checks; with one of its constraints deleted or weakened each fails a named one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest
from reference import load_reference
from weakened import AT_LEAST, DELETED, DOUBLED, LOOSER, Weakened, single_rows, ways, why_redundant

import formulations
from formulations import FORMULATIONS, Formulation
from formulations.variants import VARIANTS
from ipforest.testing import check_formulation, parametrize_with_checks
from proofs.corners import corner_instances
from proofs.study import checks
from proofs.study.problem import Problem

BLOCKS = {
    "ip0": ["one_leaf_per_path"],
    "ip1": ["one_leaf_per_path", "acquired_above_leaf"],
    "ip2": ["one_leaf_per_path", "usage_in_tree"],
    "ip3": ["one_leaf_per_path", "usage_in_tree", "usage_anywhere"],
    "compact": ["one_leaf_per_path", "usage_unless_stopped"],
    "closure": ["kept_under_parent", "acquired_where_kept"],
    "lp1": ["one_leaf_per_path", "usage_in_tree", "usage_anywhere", "within_budget"],
}
SINGLE_ROWS = {
    "ip0": (32, 16),
    "ip1": (104, 16),
    "ip2": (24, 12),
    "ip3": (112, 32),
    "compact": (80, 16),
    "closure": (60, 0),
    "lp1": (120, 32),
}
"""Weakened single rows of all corner instances: found, redundant."""
ASKED = (
    "prunings_are_points",
    "relaxation_bounds_the_optimum",
    "points_are_prunings",
    "optimum_is_that_of_all_prunings",
    "relaxation_is_that_of_",
)


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
        model = formulations.build(name, instance, **FORMULATIONS[name].numbers(1))
        assert {block.name for block in model.component_objects(pyo.Constraint)} == set(blocks)


def found(weakened, instances=None):
    """Return the first check that fails, of those that ask about points and relaxations, and the instance."""
    checks = dict(check_formulation(weakened, weakened.base, instances))
    for check in (next(name for name in checks if name.startswith(asked)) for asked in ASKED):
        try:
            checks[check]()
        except (AssertionError, ArithmeticError, ValueError) as failure:
            noted = [note for note in failure.__notes__ if note.startswith("fails on")]
            return check, Problem.from_json(noted[-1].partition(": ")[2]).instance
    return None, None


def assert_found_unless_redundant(weakened, instances):
    """Return whether it was found, and assert that it is redundant on the instances if not."""
    reason = why_redundant(weakened, instances)
    check, instance = found(weakened, instances)
    if reason is not None:
        assert check is None, f"{weakened}: {check} fails, though {reason}"
        return False
    assert check is not None, f"{weakened}: no check fails"
    assert instance.n_trees <= 2
    assert instance.n_examples <= 4
    return True


QUICK = [("closure", "acquired_where_kept", DELETED), ("lp1", "within_budget", LOOSER)]
SECONDS = [(name, block, AT_LEAST) for name in ("ip3", "lp1") for block in ("one_leaf_per_path", "usage_in_tree")]
FAMILIES = [(name, block, way) for name, blocks in BLOCKS.items() for block in blocks for way in ways(block)]


def marks(one):
    if one in QUICK:
        return []
    return [pytest.mark.slow, pytest.mark.long] if one in SECONDS else [pytest.mark.slow]


@pytest.mark.parametrize(("name", "block", "way"), [pytest.param(*one, marks=marks(one)) for one in FAMILIES])
def test_a_weakened_constraint_is_found_on_a_small_instance(name, block, way):
    base = FORMULATIONS[name]
    assert_found_unless_redundant(Weakened(base, block, way), list(filter(base.fits, corner_instances())))


VARIANT_BLOCKS = {
    "hard-cap": ["within_cap"],
    "leaves-per-tree": ["few_leaves"],
    "leaves-in-all": ["few_leaves"],
    "class-budgets": ["class_budget"],
    "worst-class": ["worst_of_all"],
    "setup-price": ["set_up"],
    "batches": ["room"],
    "precedence": ["one_after_the_other"],
    "robust-prices": ["risen"],
    "vote-error": ["vote"],
}
"""The constraints that a variant has and the pruning problem has not."""


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANT_BLOCKS)
def test_a_deleted_constraint_of_a_variant_is_found(name):
    for block in VARIANT_BLOCKS[name]:
        check, instance = found(Weakened(VARIANTS[name], block))
        assert check is not None, block
        assert instance.n_trees <= 2
        assert instance.n_examples <= 4


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", VARIANTS)
def test_every_deleted_constraint_of_every_variant_is_found(name):
    largest = [instance for instance in corner_instances() if VARIANTS[name].fits(instance)][-1]
    model = formulations.build(VARIANTS[name], largest, **VARIANTS[name].numbers(1))
    for block in model.component_objects(pyo.Constraint):
        check, instance = found(Weakened(VARIANTS[name], block.name))
        assert check is not None, block.name
        assert instance.n_trees <= 2
        assert instance.n_examples <= 4


@pytest.mark.slow
def test_a_row_that_only_one_of_many_raises_shows():
    """IP1 has 14 columns here, and z of the leaf alone must be cheap where all others on its path are not."""
    instance = corner_instances()[-1]
    weakened = Weakened(FORMULATIONS["ip1"], "acquired_above_leaf", DOUBLED, 5)
    assert why_redundant(weakened, [instance]) is None
    check, at = found(weakened, [instance])
    assert check == "relaxation_is_that_of_ip1"
    assert at.fingerprint() == instance.fingerprint()


@pytest.mark.slow
def test_a_sample_of_single_rows_is_found_or_redundant():
    rng = np.random.default_rng(4)
    for name, blocks in BLOCKS.items():
        block = blocks[rng.integers(len(blocks))]
        every = list(single_rows(name, block))
        weakened, instance = every[rng.integers(len(every))]
        assert_found_unless_redundant(weakened, [instance])


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", BLOCKS)
def test_every_single_row_is_found_or_redundant(name):
    outcomes = [
        assert_found_unless_redundant(weakened, [instance])
        for block in BLOCKS[name]
        for weakened, instance in single_rows(name, block)
    ]
    assert (sum(outcomes), len(outcomes) - sum(outcomes)) == SINGLE_ROWS[name]


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


class In32Bits(Promising):
    """One whose objective is of integers that are cut to 32 bits."""

    def build(self, specification):
        instance = specification.instance
        few = replace(instance, errors=instance.errors.astype(np.int32).astype(np.int64))
        return self.base.build(replace(specification, instance=few))


def test_integers_of_more_than_32_bits_are_among_those_that_are_looked_at():
    with pytest.raises((AssertionError, ValueError)):
        dict(check_formulation(In32Bits(FORMULATIONS["closure"])))["optimum_is_that_of_all_prunings"]()


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


def epigraph(instance, lam):
    """State the closure with its cost as a variable without an upper bound, as Benders' decomposition does."""
    data, model = formulations.ModelData.of(instance), pyo.ConcreteModel()
    model.x = pyo.Var(data.internal, domain=pyo.Binary)
    model.w = pyo.Var(data.pairs, domain=pyo.Binary)
    model.cost = pyo.Var(domain=pyo.NonNegativeReals)
    model.parent = pyo.Constraint(list(data.parent), rule=lambda m, h: m.x[h] <= m.x[data.parent[h]])
    uses = list(data.first_use)
    model.needs = pyo.Constraint(uses, rule=lambda m, t, k, i: m.x[data.first_use[t, k, i]] <= m.w[k, i])
    bought = sum(data.c[pair] * model.w[pair] for pair in data.pairs) + sum(data.s[h] * model.x[h] for h in data.s)
    model.above = pyo.Constraint(expr=model.cost >= float(lam * instance.cost_unit) * bought)
    gains = sum(gain * model.x[h] for h, gain in zip(data.internal, instance.gain.tolist(), strict=True))
    roots = sum(data.e[h] for h, path in data.path.items() if len(path) == 1)
    model.objective = pyo.Objective(expr=float(instance.error_unit) * (roots - gains) + model.cost)
    return model


@pytest.mark.parametrize("name", ["points_are_prunings", "prunings_are_points"])
def test_a_variable_without_a_bound_is_no_fault(name):
    dict(check_formulation(formulations.ModelledFormulation("epigraph", epigraph)))[name]()


def at_least_two(instance, lam):
    """State the closure of at least two nodes; smaller instances have no such pruning, and the program no point."""
    model = epigraph(instance, lam)
    model.two = pyo.Var(bounds=(2, 2))
    model.kept = pyo.Constraint(expr=sum(model.x.values()) >= model.two)
    return model


def of_at_least_two(instance, lam, pruning):
    return instance.objective(pruning, lam) if pruning.n_kept >= 2 else None


@pytest.mark.slow
def test_a_variant_may_allow_no_pruning_of_an_instance():
    for _, check in check_formulation(formulations.ModelledFormulation("two", at_least_two, worth=of_at_least_two)):
        check()
    wrong = formulations.ModelledFormulation("two", epigraph, worth=of_at_least_two)
    with pytest.raises(AssertionError, match="the program has a point, but no pruning is allowed"):
        dict(check_formulation(wrong))["optimum_is_that_of_all_prunings"]()


def test_a_study_of_such_a_variant_looks_at_its_optimum():
    problem = Problem(corner_instances()[0], Fraction(1, 2))
    for builder, right in ((at_least_two, True), (epigraph, False)):
        variant = formulations.ModelledFormulation("two", with_a_bound(builder), worth=of_at_least_two)
        assert (checks.solves(variant, problem) is None) == right
        assert checks.is_exact(variant, problem) is None


def with_a_bound(builder):
    def built(instance, lam):
        model = builder(instance, lam)
        model.cost.setub(1000)
        return model

    return built


def weaker(instance, lam):
    """State the epigraph with needs that half of a purchase meets, which 0-1 points do not."""
    model, uses = epigraph(instance, lam), formulations.ModelData.of(instance).first_use
    model.needs.deactivate()
    model.half = pyo.Constraint(list(uses), rule=lambda m, t, k, i: m.x[uses[t, k, i]] <= 2 * m.w[k, i])
    return model


@pytest.mark.parametrize(("builder", "is_as_strong"), [(epigraph, True), (weaker, False)])
def test_relaxations_over_other_variables_are_compared(builder, is_as_strong):
    own = formulations.ModelledFormulation("own", builder)
    check = dict(check_formulation(own, as_strong_as="closure"))["relaxation_is_that_of_closure"]
    if is_as_strong:
        check()
        return
    with pytest.raises(AssertionError, match=r"the relaxation gives .*, that of closure"):
        check()
