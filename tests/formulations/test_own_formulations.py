"""A formulation of one's own: one file, one line; changed models; names that do not exist."""

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from objective_in_floats import add_objective
from reference import load_reference
from strategies import instances, lambdas

import formulations
import proofs
from formulations import FORMULATIONS, ModelData, ModelledFormulation, ModelResult
from formulations.closure import Closure
from formulations.solving import solve_lp
from ipforest import Status, solve
from proofs.crosschecks.brute_force import brute_force
from proofs.integrality.polytopes import budget_polytope, cost_row, error_row, polytope
from proofs.unimodularity.formulation_networks import formulation_matrix, network_certificate, relaxation

TREE = load_reference("figure_1_tree").instance


def kept_and_bought(instance, lam):
    """State the closure, in the units of the prices, with the sum of a node's needs in one row (weak, but exact)."""
    data, model = ModelData.of(instance), pyo.ConcreteModel()
    model.x = pyo.Var(data.internal, domain=pyo.Binary)
    model.w = pyo.Var(data.pairs, domain=pyo.Binary)
    needed = {}
    for (_, unit, example), node in data.first_use.items():
        needed.setdefault(node, []).append((unit, example))
    model.under_parent = pyo.Constraint(list(data.parent), rule=lambda m, h: m.x[h] <= m.x[data.parent[h]])
    model.all_needs = pyo.Constraint(
        list(needed), rule=lambda m, h: len(needed[h]) * m.x[h] <= pyo.quicksum(m.w[pair] for pair in needed[h])
    )
    gain = dict(zip(data.internal, instance.gain.tolist(), strict=True))
    roots = sum(data.e[h] for h, path in data.path.items() if len(path) == 1)
    error = roots - pyo.quicksum(gain[h] * model.x[h] for h in data.internal)
    cost = pyo.quicksum(data.c[pair] * model.w[pair] for pair in data.pairs)
    cost += pyo.quicksum(data.s[h] * model.x[h] for h in data.internal)
    model.goal = pyo.Objective(expr=float(instance.error_unit) * error + float(lam * instance.cost_unit) * cost)
    return model


@pytest.fixture
def registered():
    formulations.register("own", reason="needs are summed", integral=None)(kept_and_bought)
    yield "own"
    FORMULATIONS.remove("own")


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_a_function_is_a_formulation(instance, lam):
    own = ModelledFormulation("own", kept_and_bought)
    result = formulations.solve(formulations.build(own, instance, lam))
    best = brute_force(instance, lam).objective
    assert (result.objective, result.bound, result.status) == (best, best, Status.OPTIMAL)


def test_one_line_makes_it_known_everywhere(registered):
    instance, lam = load_reference("figure_1_ensemble").instance, Fraction(1, 4)
    assert formulations.size("own", instance).variables == instance.n_internal + instance.n_acquisitions
    assert formulation_matrix(instance, "own").shape[1] == instance.n_internal + instance.n_acquisitions
    assert polytope(instance, "own").names[0] == f"x[{instance.internal_nodes[0]}]"
    assert solve(instance, lam, "highs-mip", formulation="own").status is Status.OPTIMAL
    table = proofs.crosscheck(instance, lam)
    assert table.agree, table
    assert "pyomo-own" in {answer.method for answer in table.answers}
    assert formulations.formulation("own").reason == "needs are summed"


def test_a_definition_that_is_run_again_takes_the_place_of_its_former_self(registered):
    def defined(reason):
        @formulations.register("own again", reason=reason)
        def again(instance, lam):
            return kept_and_bought(instance, lam)

    try:
        defined("the first")
        defined("the second")
        assert formulations.formulation("own again").reason == "the second"
        with pytest.raises(
            ValueError, match=r"got 'own again'; take the other one out with formulations\.FORMULATIONS"
        ):
            formulations.register("own again")(lambda instance, lam: None)
    finally:
        FORMULATIONS.remove("own again")


def test_a_name_is_given_once(registered):
    with pytest.raises(ValueError, match="name: expected one that no formulation has, got 'own'"):
        formulations.register("own")(kept_and_bought)
    with pytest.raises(ValueError, match="takes: expected lam, budget or nothing, got 'lambda'"):
        formulations.register("other", takes="lambda")(kept_and_bought)
    with pytest.raises(TypeError, match="formulation: expected a Formulation, got function"):
        formulations.register_formulation(kept_and_bought)


def test_what_reads_no_pruning_is_said():
    def renamed(instance, lam):
        model = kept_and_bought(instance, lam)
        model.y = model.x
        return model

    def without_nodes(instance, lam):
        model = pyo.ConcreteModel()
        model.a = pyo.Var(domain=pyo.Binary)
        model.goal = pyo.Objective(expr=model.a)
        return model

    blind = ModelledFormulation("blind", without_nodes)
    with pytest.raises(ValueError, match=r"blind: expected variables x over the internal nodes or z .* or a decoder"):
        formulations.solve(formulations.build(blind, TREE, 1))
    short = ModelledFormulation("short", kept_and_bought, decode=lambda model: [1.0])
    with pytest.raises(ValueError, match=r"short: expected the decoder to give shape \(2,\)"):
        formulations.solve(formulations.build(short, TREE, 1))
    orphan = ModelledFormulation("orphan", kept_and_bought, decode=lambda model: [0.0, 1.0])
    with pytest.raises(ValueError, match=r"orphan, pruning: expected the parent .* not so at node 2; the solver's"):
        formulations.solve(formulations.build(orphan, TREE, 1))
    for decode in (
        lambda m: [m.x[h].value for h in (0, 2)],
        lambda m: m.x,
        lambda m: [1 - (1 - m.x[h]) for h in (0, 2)],
        lambda m: {2: m.x[2], 0: m.x[0]},
    ):
        decoded = ModelledFormulation("decoded", kept_and_bought, decode=decode)
        assert formulations.solve(formulations.build(decoded, TREE, 1)).objective == 3
    none = ModelledFormulation("none", lambda instance, lam: 3)
    with pytest.raises(TypeError, match=r"none: expected a pyomo.environ.ConcreteModel, got int"):
        formulations.build(none, TREE, 1)


def test_an_unknown_name_is_refused_in_every_place():
    calls = [
        lambda: formulations.build("ip4", TREE, 1),
        lambda: formulations.specify("ip4", TREE, 1),
        lambda: formulations.size("ip4", TREE),
        lambda: formulations.formulation("ip4"),
        lambda: solve_lp(TREE, Fraction(1), formulation="ip4"),
        lambda: solve(TREE, 1, "highs-mip", formulation="ip4"),
        lambda: network_certificate(TREE, "ip4"),
        lambda: formulation_matrix(TREE, "ip4"),
        lambda: relaxation(TREE, "ip4"),
        lambda: polytope(TREE, "ip4"),
        lambda: budget_polytope(TREE, "ip4", Fraction(1)),
        lambda: cost_row(TREE, "ip4"),
        lambda: error_row(TREE, "ip4"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"formulation: expected one of ip0, ip1, .* got 'ip4'"):
            call()
    with pytest.raises(ValueError, match=r"methods: expected names among .*, got pyomo-ip4"):
        proofs.crosscheck(TREE, 1, methods=["pyomo-ip4"])


def by_blocks(instance, lam):
    """Write a block for each tree, and x as a Reference of their variables."""
    data, model = ModelData.of(instance), pyo.ConcreteModel()
    trees = {}
    for node in data.internal:
        trees.setdefault(data.path[node][0], []).append(node)
    model.tree = pyo.Block(list(trees))
    for root, nodes in trees.items():
        model.tree[root].kept = pyo.Var(nodes, domain=pyo.Binary)
    model.x = pyo.Reference({node: model.tree[root].kept[node] for root, nodes in trees.items() for node in nodes})
    model.w = pyo.Var(data.pairs, domain=pyo.Binary)
    model.above = pyo.Constraint(list(data.parent), rule=lambda m, h: m.x[h] <= m.x[data.parent[h]])
    model.needs = pyo.Constraint(list(data.first_use), rule=lambda m, *use: m.x[data.first_use[use]] <= m.w[use[1:]])
    add_objective(model, data, instance, lam)
    return model


@settings(max_examples=20, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_the_pruning_is_read_from_a_reference_to_variables_of_blocks(instance, lam):
    program = ModelledFormulation("blocks", by_blocks, integral=True)
    result = formulations.solve(formulations.build(program, instance, lam))
    assert result.objective == solve(instance, lam).objective


def test_a_foreign_objective_is_not_certified():
    """Worst tree and set-up prices: what HiGHS says of the model as it stands, and the pruning's own error and cost."""
    model = formulations.build("ip3", TREE, 1)
    model.setup = pyo.Var(domain=pyo.Binary)
    model.paid_once = pyo.Constraint(list(model.data.pairs), rule=lambda m, k, i: m.w[k, i] <= m.setup)
    model.objective.expr += 4 * model.setup
    result = formulations.solve(model)
    assert isinstance(result, ModelResult)
    assert result.objective == pytest.approx(result.bound)
    assert "the objective was changed" in result.changes
    spent = result.objective - 4 * model.setup.value
    exact = result.error + result.cost
    assert spent * float(model.specification.objective_unit) == pytest.approx(float(exact))
    assert "by the solver's own account" in str(result)


def test_a_maximum_is_turned_round_and_given_back():
    model = formulations.build("closure", TREE, 1)
    model.objective.sense = pyo.maximize
    program = formulations.matrix(model)
    assert program.maximised
    assert np.array_equal(program.objective, -formulations.matrix(formulations.build("closure", TREE, 1)).objective)
    result = formulations.solve(model)
    assert isinstance(result, ModelResult)
    assert result.objective == pytest.approx(pyo.value(model.objective))
    assert result.objective >= brute_force(TREE, Fraction(1)).objective / TREE.error_unit


def test_a_formulation_that_maximises_is_refused():
    def highest(instance, lam):
        model = kept_and_bought(instance, lam)
        model.goal.sense = pyo.maximize
        return model

    with pytest.raises(ValueError, match="own: expected an objective to minimise, got one to maximise"):
        formulations.build(ModelledFormulation("own", highest), TREE, 1)


def test_one_instance_is_studied_in_a_list():
    with pytest.raises(TypeError, match=r"instances: expected a number or a list of PruningInstance"):
        formulations.study("closure", TREE)


def test_rows_of_ones_own_are_kept_or_no_pruning_is_given():
    model = formulations.build("ip3", TREE, 1)
    model.few = pyo.Constraint(expr=pyo.quicksum(model.z[h] for h in model.data.nodes) <= 2)
    result = formulations.solve(model, time_limit=0.0)
    assert result.pruning is None or result.pruning.n_kept <= 1
    removed = formulations.build("ip3", TREE, 1)
    removed.usage_anywhere.deactivate()
    assert formulations.solve(removed).changes == ("constraints were removed",)


def test_components_that_rows_do_not_represent_are_refused_by_name():
    def model():
        return formulations.build("closure", TREE, 1)

    ordered = model()
    ordered.chosen = pyo.SOSConstraint(var=ordered.x, sos=1)
    with pytest.raises(ValueError, match=r"chosen: expected variables, linear constraints .* got a SOSConstraint"):
        formulations.matrix(ordered)
    logical = model()
    logical.a = pyo.BooleanVar()
    logical.rule = pyo.LogicalConstraint(expr=pyo.lnot(logical.a))
    with pytest.raises(ValueError, match=r"rule: expected .* got a LogicalConstraint"):
        formulations.matrix(logical)
    twice = model()
    twice.second = pyo.Objective(expr=twice.x[0])
    with pytest.raises(ValueError, match="model: expected one active objective, got objective, second"):
        formulations.matrix(twice)
    twice.objective.deactivate()
    twice.second.deactivate()
    with pytest.raises(ValueError, match="model: expected one active objective, got none"):
        formulations.matrix(twice)


def between_two_sides(instance, lam):
    """State the closure with rows of two sides, and its cost as a variable that is bounded below only."""
    model = kept_and_bought(instance, lam)
    data = ModelData.of(instance)
    model.under_parent.deactivate()
    model.between = pyo.Constraint(
        list(data.parent), rule=lambda m, h: pyo.inequality(-1, m.x[h] - m.x[data.parent[h]], 0)
    )
    error = model.goal.expr
    model.goal.deactivate()
    model.worth = pyo.Var(domain=pyo.NonNegativeReals)
    model.is_above = pyo.Constraint(expr=model.worth >= error)
    model.least = pyo.Objective(expr=model.worth)
    return model


def test_rows_of_two_sides_are_the_programs_own():
    own = ModelledFormulation("own", between_two_sides)
    result = formulations.solve(formulations.build(own, TREE, 1))
    assert (result.objective, result.status) == (solve(TREE, 1).objective, Status.OPTIMAL)


@pytest.mark.parametrize("relaxed", [False, True])
def test_fixing_a_variable_only_takes_prunings_away(relaxed):
    """As a narrower bound does: the objective and the rows are the program's own."""
    fixed, narrowed = (formulations.build("closure", TREE, "1/9", relaxed=relaxed) for _ in range(2))
    fixed.x[2].fix(0)
    narrowed.x[2].setub(0)
    one, other = formulations.solve(fixed), formulations.solve(narrowed)
    assert (one.objective, one.bound, one.pruning) == (other.objective, other.bound, other.pruning)
    assert not one.pruning.kept[1]
    changed = formulations.build("closure", TREE, 1)
    changed.x[2].fix(0)
    changed.objective.expr += 1
    assert "the objective was changed" in formulations.solve(changed).changes


@pytest.mark.parametrize(
    ("promises", "builder", "message"),
    [
        ({}, 3, "own: expected a function of an instance and lambda, got int"),
        ({}, lambda instance: None, "own: expected a function of an instance and lambda whose other"),
        ({"takes": "nothing"}, lambda instance, lam: None, "own: expected a function of an instance whose other"),
        ({"decode": "x"}, kept_and_bought, "own, decode: expected a function of the solved model, got str"),
        ({"worth": lambda instance: 0}, kept_and_bought, "own, worth: .* of an instance, lambda and a pruning whose"),
        ({"integral": "yes"}, kept_and_bought, "integral: expected True, False or None, got 'yes'"),
    ],
)
def test_what_cannot_be_called_is_refused_when_it_is_registered(promises, builder, message):
    with pytest.raises(TypeError, match=message):
        formulations.register("own", **promises)(builder)


def test_a_decorator_without_a_name_is_refused():
    with pytest.raises(TypeError, match=r'name: expected a text, as in @formulations.register\("mine"\), got function'):
        formulations.register(kept_and_bought)


def test_a_model_that_is_kept_is_refused_the_second_time():
    """Relaxed once, it would be relaxed when the 0-1 program is asked for."""
    kept = kept_and_bought(TREE, 1)
    own = ModelledFormulation("own", lambda instance, lam: kept)
    clones = ModelledFormulation("clones", lambda instance, lam: kept.clone())
    for relaxed in (True, False):
        assert formulations.matrix(formulations.build(clones, TREE, 1, relaxed=relaxed)).is_integer is not relaxed
    formulations.build(own, TREE, 1, relaxed=True)
    with pytest.raises(ValueError, match=r"own: expected a new model for each call, .* return model\.clone\(\)"):
        formulations.build(own, TREE, 1)


class Unsigned(Closure):
    """A class whose model carries nothing but the program."""

    name = "unsigned"

    def build(self, specification):
        model = super().build(specification)
        model.specification = None
        return model


def test_the_model_of_a_class_is_solved():
    assert formulations.solve(formulations.build(Unsigned(), TREE, 1)).objective == solve(TREE, 1).objective


def within_budget(instance, budget):
    """State the least error within a budget, with a row of two sides."""
    model, data = kept_and_bought(instance, 0), ModelData.of(instance)
    cost = pyo.quicksum(data.c[pair] * model.w[pair] for pair in data.pairs)
    cost += pyo.quicksum(data.s[h] * model.x[h] for h in data.internal)
    model.spent = pyo.Constraint(expr=pyo.inequality(0, float(instance.cost_unit) * cost, float(budget)))
    return model


def test_a_formulation_within_a_budget_is_among_the_crosschecks():
    formulations.register("own-budget", "budget")(within_budget)
    try:
        answers = proofs.crosscheck(TREE, 1, budget=2)
        assert answers.agree
        assert "budget-pyomo-own-budget" in [answer.method for answer in answers.answers]
    finally:
        FORMULATIONS.remove("own-budget")
    own = ModelledFormulation("own-budget", within_budget, "budget")
    relaxed = formulations.solve(formulations.build(own, TREE, budget=2, relaxed=True))
    assert relaxed.changes == ("the relaxation of own-budget is read as no mixture",)
