"""Programs and solvers that are right on small instances, or are written in floats, are judged as what they are."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest
from objective_in_floats import add_objective
from sklearn.tree import DecisionTreeClassifier

import formulations
import proofs
from formulations import FORMULATIONS, ModelData, ModelledFormulation
from ipforest import FeatureCosts, Forest, PruningInstance, register_solver, solve
from ipforest.solvers import SOLVERS
from ipforest.solvers.highs import run
from ipforest.testing import check_formulation
from proofs.study import checks
from proofs.study.refutation import shrink
from proofs.study.study import _Look, study


def program_of(name, needs, **promises):
    """Describe the closure form with the rows of needs that a function adds."""
    return ModelledFormulation(name, lambda instance, lam: closure(instance, lam, needs), **promises)


def closure(instance, lam, needs):
    """Write the closure form in floats, with the rows of needs that a function adds."""
    data, model = ModelData.of(instance), pyo.ConcreteModel()
    model.x = pyo.Var(data.internal, domain=pyo.Binary)
    model.w = pyo.Var(data.pairs, domain=pyo.Binary)
    model.parent = pyo.Constraint(list(data.parent), rule=lambda m, h: m.x[h] <= m.x[data.parent[h]])
    needs(model, data)
    add_objective(model, data, instance, lam)
    return model


def users_of(data):
    """List the nodes that need each pair of a unit and an example, one for each tree."""
    users = {}
    for (_, unit, example), node in data.first_use.items():
        users.setdefault((unit, example), []).append(node)
    return users


def summed_over_trees(limit):
    def needs(model, data):
        users = users_of(data)
        model.needs = pyo.Constraint(
            list(users), rule=lambda m, *pair: pyo.quicksum(m.x[h] for h in users[pair]) <= limit * m.w[pair]
        )

    return needs


def of_the_first_examples(limit, place=2):
    def needs(model, data):
        few = [use for use in data.first_use if use[place] < limit]
        model.needs = pyo.Constraint(few, rule=lambda m, *use: m.x[data.first_use[use]] <= m.w[use[1], use[2]])

    return needs


def of_the_first_trees(limit):
    return of_the_first_examples(limit, place=0)


EVERY_NEED = of_the_first_examples(float("inf"))


@pytest.mark.parametrize("needs", [summed_over_trees(2), summed_over_trees(5), of_the_first_examples(4)])
def test_a_constant_that_holds_for_a_few_trees_or_examples_is_found(needs):
    program = program_of("few", needs)
    named = dict(check_formulation(program))
    with pytest.raises(AssertionError, match=r"has no point|its best point"):
        named["prunings_are_points"]()
    problems = [problem for problem in telling(program) if checks.solves(program, problem) is not None]
    assert problems


def fails(program, name):
    with pytest.raises((AssertionError, ValueError)):
        dict(check_formulation(program))[name]()
    return True


def test_what_only_seventy_examples_show_is_found():
    program = program_of("few", of_the_first_examples(40))
    assert fails(program, "optimum_is_that_of_all_prunings")
    looked = study_of(program)
    assert any(checks.solves(program, problem) is not None for problem in looked.largest)


def without_rows_below(depth):
    def builder(instance, lam):
        model, data = closure(instance, lam, EVERY_NEED), ModelData.of(instance)
        for node in data.parent:
            if len(data.path[node]) > depth:
                model.parent[node].deactivate()
        return model

    return builder


@pytest.mark.parametrize(
    ("program", "check"),
    [
        (program_of("trees", summed_over_trees(100)), "prunings_are_points"),
        (program_of("trees", summed_over_trees(8)), "prunings_are_points"),
        (program_of("first trees", of_the_first_trees(8)), "optimum_is_that_of_all_prunings"),
        (program_of("first trees", of_the_first_trees(100)), "prunings_are_points"),
        (program_of("examples", of_the_first_examples(100)), "optimum_is_that_of_all_prunings"),
        (ModelledFormulation("depth", without_rows_below(100)), "optimum_is_that_of_all_prunings"),
    ],
    ids=lambda value: str(value),
)
def test_a_constant_of_a_hundred_is_found(program, check):
    assert fails(program, check)


def within_budget(instance, budget, needs):
    """Write the closure form within a budget, with the rows of needs that a function adds."""
    model, data = closure(instance, Fraction(0), needs), ModelData.of(instance)
    cost = pyo.quicksum(data.c[pair] * model.w[pair] for pair in data.pairs)
    cost += pyo.quicksum(data.s[h] * model.x[h] for h in data.internal)
    model.cost = pyo.Constraint(expr=cost <= int(budget // instance.cost_unit)) if data.internal else None
    return model


def test_needs_of_later_trees_that_are_forgotten_within_a_budget_are_found():
    def builder(limit):
        return lambda instance, budget: within_budget(instance, budget, of_the_first_trees(limit))

    program = ModelledFormulation("first trees", builder(100), "budget")
    assert fails(program, "prunings_are_points")
    assert any(checks.solves(program, problem) is not None for problem in study_of(program).largest)
    dict(check_formulation(ModelledFormulation("all trees", builder(200), "budget")))["prunings_are_points"]()


@pytest.mark.parametrize("needs", [of_the_first_trees(100), summed_over_trees(100)])
def test_a_study_looks_at_a_hundred_trees(needs):
    program = program_of("first trees", needs)
    assert any(checks.solves(program, problem) is not None for problem in study_of(program).largest)


def with_a_discount_on_the_fourth_unit(instance, lam):
    model, data = closure(instance, lam, EVERY_NEED), ModelData.of(instance)
    less = 0.01 * float(lam) * pyo.quicksum(model.w[pair] for pair in data.pairs if pair[0] == 3)
    model.objective.set_value(model.objective.expr - less)
    return model


def with_the_prices_of_the_first_example(instance, lam):
    price = dict(zip(instance.acquisition_unit[::-1], instance.acquisition_cost[::-1], strict=True))
    prices = np.array([price[unit] for unit in instance.acquisition_unit], dtype=np.int64)
    return closure(replace(instance, acquisition_cost=prices), lam, EVERY_NEED)


def with_the_mean_price_of_each_unit(instance, lam):
    model, data = closure(instance, lam, EVERY_NEED), ModelData.of(instance)
    paid = {}
    for (unit, _), price in data.c.items():
        paid.setdefault(unit, []).append(price)
    more = pyo.quicksum((sum(paid[pair[0]]) / len(paid[pair[0]]) - data.c[pair]) * model.w[pair] for pair in data.pairs)
    model.objective.expr = model.objective.expr + float(lam * instance.cost_unit) * more
    return model


def with_ten_units(instance, lam):
    prices = np.where(instance.acquisition_unit < 10, instance.acquisition_cost, 0)
    return closure(replace(instance, acquisition_cost=prices), lam, EVERY_NEED)


def with_twenty_units_an_example(instance, lam):
    model, units = closure(instance, lam, EVERY_NEED), {}
    for unit, example in ModelData.of(instance).pairs:
        units.setdefault(example, []).append(unit)
    crowded = [example for example, own in units.items() if len(own) > 20]
    model.most = pyo.Constraint(crowded, rule=lambda m, i: pyo.quicksum(m.w[unit, i] for unit in units[i]) <= 20)
    return model


def with_nodes_of_six_bits(instance, lam):
    def needs(model, data):
        first = {}
        for node in data.internal:
            first.setdefault(node % 64, node)
        model.needs = pyo.Constraint(
            list(data.first_use), rule=lambda m, *use: m.x[first[data.first_use[use] % 64]] <= m.w[use[1:]]
        )

    return closure(instance, lam, needs)


@pytest.mark.parametrize(
    "builder",
    [
        with_the_prices_of_the_first_example,
        with_the_mean_price_of_each_unit,
        with_ten_units,
        with_twenty_units_an_example,
        with_nodes_of_six_bits,
    ],
)
def test_prices_of_other_examples_and_of_many_units_are_looked_at(builder):
    assert fails(ModelledFormulation("cheap", builder), "optimum_is_that_of_all_prunings")


def at_most_a_hundred(instance, lam):
    return closure(instance, min(lam, Fraction(100)), EVERY_NEED)


@pytest.mark.parametrize("builder", [without_rows_below(4), with_a_discount_on_the_fourth_unit, at_most_a_hundred])
def test_depth_many_units_and_large_lambdas_are_looked_at(builder):
    program = ModelledFormulation("small", builder)
    assert fails(program, "points_are_prunings")
    assert any(checks.points_are_prunings(program, problem) is not None for problem in telling(program))


def test_a_study_finds_a_lambda_of_nine_digits():
    program = ModelledFormulation("nine", lambda instance, lam: closure(instance, round(lam, 9), EVERY_NEED))
    assert any(checks.prunings_have_points(program, problem) is not None for problem in telling(program))


@pytest.mark.slow
def test_a_study_looks_for_fractional_vertices_where_six_trees_share_a_unit():
    def needs(model, data):
        model.needs = pyo.ConstraintList()
        for pair, nodes in users_of(data).items():
            if len(nodes) > 2:
                model.needs.add(pyo.quicksum(model.x[h] for h in nodes) <= len(nodes) * model.w[pair])
            else:
                for h in nodes:
                    model.needs.add(model.x[h] <= model.w[pair])

    program = program_of("weak", needs, integral=True)
    row = study_of(program).relaxation()[1]
    assert (row.claim, row.holds) == ("every vertex of the relaxation is 0-1 (random objectives)", False)


def test_a_study_looks_for_no_cuts_of_a_mixed_program():
    """Cuts round sums of rows, which is not valid of continuous variables."""

    def summed(instance, lam):
        model = closure(instance, lam, summed_over_trees(2))
        for variable in [*model.w.values()][:1]:
            variable.domain = pyo.UnitInterval
        return model

    rows = study_of(ModelledFormulation("mixed", summed)).relaxation()
    assert [row.claim for row in rows if row.refutation is not None]
    assert not any("cuts" in row.claim for row in rows)


def by_arrays(instance, lam, one_node_each):
    """Write the closure form without `ModelData`: every node that needs an acquisition, or one of each tree."""
    model, internal = pyo.ConcreteModel(), instance.internal_nodes.tolist()
    model.x = pyo.Var(internal, domain=pyo.Binary)
    model.w = pyo.Var(range(instance.n_acquisitions), domain=pyo.Binary)
    model.rows = pyo.ConstraintList()
    for place, above in enumerate(instance.parent.tolist()):
        if above >= 0:
            model.rows.add(model.x[internal[place]] <= model.x[internal[above]])
    needs = zip(instance.triple_tree.tolist(), instance.indices.tolist(), instance.triple_node.tolist(), strict=True)
    for (_, bought), place in {(need[0], need[1]): need[2] for need in needs}.items() if one_node_each else ():
        model.rows.add(model.x[internal[place]] <= model.w[bought])
    for bought, place in () if one_node_each else zip(instance.indices, instance.triple_node, strict=True):
        model.rows.add(model.x[internal[place]] <= model.w[bought])
    error = int(instance.errors[instance.tree_offsets[:-1]].sum())
    error -= pyo.quicksum(gain * model.x[h] for h, gain in zip(internal, instance.gain.tolist(), strict=True))
    cost = pyo.quicksum(price * model.w[a] for a, price in enumerate(instance.acquisition_cost.tolist()))
    cost += pyo.quicksum(price * model.x[h] for h, price in zip(internal, instance.split_cost.tolist(), strict=True))
    model.goal = pyo.Objective(expr=float(instance.error_unit) * error + float(lam * instance.cost_unit) * cost)
    return model


def test_an_acquisition_below_a_delayed_test_is_needed_at_several_nodes():
    name = "delayed_tests_are_right_or_refused"
    assert fails(ModelledFormulation("one", lambda instance, lam: by_arrays(instance, lam, True)), name)
    for right in (ModelledFormulation("all", lambda instance, lam: by_arrays(instance, lam, False)), "closure"):
        dict(check_formulation(right))[name]()


def test_what_a_builder_raises_tells_the_instance():
    def fails_on_bare_roots(instance, lam):
        return closure(instance, lam, EVERY_NEED if instance.n_internal else None)

    check = dict(check_formulation(ModelledFormulation("bare", fails_on_bare_roots)))["builds_a_model"]
    with pytest.raises(TypeError, match="not callable") as caught:
        check()
    assert any(note.startswith("fails on 1 tree, 1 node, ") for note in caught.value.__notes__)


def test_a_model_that_differs_from_call_to_call_is_named():
    calls = []

    def unsteady(instance, lam):
        calls.append(lam)
        return closure(instance, lam, of_the_first_examples(len(calls) % 2))

    program = ModelledFormulation("unsteady", unsteady)
    with pytest.raises(ValueError, match="unsteady builds another model at each call"):
        shrink(program, "any", telling(program)[0], lambda *_: None, lambda _: ())


def telling(program):
    return study_of(program).telling


def study_of(program):
    return _Look(program, 1, 0)


def one_tree(n_examples):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(n_examples, 6)).astype(float)
    y = (X[:, 0] > 2) ^ (X[:, 1] > 1)
    forest = Forest.from_sklearn(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    return PruningInstance.from_forest(forest, X[:3], FeatureCosts([1, 2, 1, 3, 1, 1]))


@pytest.mark.parametrize("n_examples", [29, 41, 49, 187])
def test_an_objective_in_floats_is_not_refuted_by_their_rounding(n_examples):
    """1/29 times 7 is no float; the program is right all the same."""
    program = program_of("floats", EVERY_NEED, integral=True)
    instance, lam = one_tree(n_examples), Fraction(1, 7)
    problem = checks.Problem(instance, lam=lam)
    for check in (checks.points_are_prunings, checks.prunings_have_points, checks.solves, checks.is_exact):
        assert check(program, problem) is None
    assert checks.bound_of(program, problem) == solve(instance, lam).objective


def test_an_objective_that_is_wrong_by_little_is_refuted():
    def dearer(instance, lam):
        model = closure(instance, lam, EVERY_NEED)
        model.objective.expr += 1e-9
        return model

    program = ModelledFormulation("dearer", dearer)
    assert checks.prunings_have_points(program, checks.Problem(one_tree(29), lam=Fraction(1, 7))) is not None


@pytest.mark.slow
def test_a_study_of_floats_is_right():
    program = program_of("floats", EVERY_NEED, integral=True)
    assert study(program, [one_tree(41)])


def test_cross_checks_take_registered_formulations():
    instance = one_tree(29)
    table = proofs.crosscheck(instance, 1, methods=["min-cut", FORMULATIONS["closure"], FORMULATIONS["lp1"]])
    assert [answer.method for answer in table.answers][:2] == ["min-cut", "pyomo-closure"]
    assert table.agree
    unknown = program_of("unknown", EVERY_NEED)
    with pytest.raises(ValueError, match="expected formulations that are registered, got ModelledFormulation"):
        proofs.crosscheck(instance, 1, methods=[unknown])
    with pytest.raises(TypeError, match="give functions as a mapping"):
        proofs.crosscheck(instance, 1, methods=["min-cut", solve])
    with pytest.raises(TypeError, match=r"expected a list of names, got 'min-cut'; write \['min-cut'\]"):
        proofs.crosscheck(instance, 1, methods="min-cut")


def test_cross_checks_name_the_method_that_raises():
    def broken(instance, lam):
        raise KeyError("x")

    (problem,) = proofs.crosscheck(one_tree(29), 1, methods={"mine": broken}).problems
    assert problem.startswith("mine: raised KeyError in test_crowds.py, line ")


def test_solvers_of_another_signature_are_refused():
    with pytest.raises(
        TypeError, match=r"mine: expected a function of an instance and lambda .* got lonely\(instance\)"
    ):

        @register_solver("mine")
        def lonely(instance):
            return instance.unpruned

    assert "mine" not in SOLVERS


def test_shares_in_place_of_a_pruning_are_refused():
    try:

        @register_solver("shares")
        def shares(instance, lam):
            return np.ones(instance.n_internal)

        with pytest.raises(
            TypeError, match=r"shares: .* got ndarray of float64; of shares, give numpy.array\(shares\) > 0.5"
        ):
            solve(one_tree(29), 1, "shares")
    finally:
        SOLVERS.remove("shares")


def test_a_variable_without_bounds_is_named():
    model = pyo.ConcreteModel()
    model.v = pyo.Var()
    model.row = pyo.Constraint(expr=model.v <= 3)
    model.objective = pyo.Objective(expr=model.v)
    with pytest.raises(RuntimeError, match="give v a lower and an upper bound"):
        run(formulations.matrix(model))


def test_only_models_are_exported(tmp_path):
    with pytest.raises(TypeError, match=r"expected a Pyomo model, as formulations.build gives, got str"):
        formulations.export("closure", tmp_path / "closure.lp")
