"""Programs that are no pruning problem, each said in one clear sentence: unbounded, infeasible, nonlinear, empty."""

import pyomo.environ as pyo
import pytest
from reference import load_reference

import formulations
from formulations import ModelledFormulation
from formulations.exact_results import FractionalOptimumError
from ipforest.solvers import register_solver
from ipforest.solvers.highs import NoOptimumError
from ipforest.testing import check_formulation
from proofs.study.study import study

TREE = load_reference("figure_1_tree").instance


def changed(name, change):
    """Return the closure form with a change."""

    def model(instance, lam):
        program = formulations.build("closure", instance, lam)
        change(program)
        return program

    return ModelledFormulation(name, model)


def unbounded(model):
    model.free = pyo.Var(domain=pyo.NonNegativeReals)
    model.objective.expr -= model.free


def infeasible(model):
    model.never = pyo.Constraint(expr=sum(model.w.values()) >= 1 + len(model.w))


def nonlinear(model):
    first, second = list(model.w.values())[:2]
    model.product = pyo.Constraint(expr=first * second <= 1)


def of_another_model(model):
    other = pyo.ConcreteModel()
    other.stranger = pyo.Var()
    model.strange = pyo.Constraint(expr=other.stranger <= 1)


def of_a_variable_that_was_deleted(model):
    model.del_component("w")


def without_objective(model):
    model.objective.deactivate()


def fixed_at_nothing(model):
    model.x[0].fix(None)


def of_an_open_interval(model):
    model.positive = pyo.Var(domain=pyo.PositiveReals)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            fixed_at_nothing,
            ValueError,
            r"x\[0\]: expected a finite number at which it is fixed, got None; fix it at one",
        ),
        (of_an_open_interval, ValueError, "positive: expected an interval with its ends, got PositiveReals, "),
        (unbounded, NoOptimumError, "expected an optimum or the time limit, got (Unbounded|Primal infeasible or unb)"),
        (infeasible, NoOptimumError, "expected an optimum or the time limit, got Infeasible"),
        (nonlinear, ValueError, "product: expected a linear expression, got one of higher degree"),
        (of_another_model, ValueError, "strange: expected variables of the model, got stranger, which is not in it"),
        (of_a_variable_that_was_deleted, ValueError, r"expected variables of the model, got .*, which is not in it"),
        (without_objective, ValueError, "model: expected one active objective, got none"),
    ],
)
def test_a_program_is_refused_when_it_is_solved(change, error, message):
    program = changed(change.__name__, change)
    with pytest.raises(error, match=message):
        formulations.solve(formulations.build(program, TREE, 1))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (unbounded, ValueError, r"free: expected a lower and an upper bound, got \[0.0, inf\]; give the variable both"),
        (nonlinear, ValueError, "product: expected a linear expression"),
    ],
)
def test_a_program_is_refused_by_the_study(change, error, message):
    with pytest.raises(error, match=message):
        study(changed(change.__name__, change), instances=[TREE])


@pytest.mark.parametrize(
    ("change", "message"), [(unbounded, "the program has no optimum"), (infeasible, "the program has no point")]
)
def test_a_check_says_it(change, message):
    checks = dict(check_formulation(changed(change.__name__, change)))
    with pytest.raises(AssertionError, match=message):
        checks["optimum_is_that_of_all_prunings"]()


def test_a_variable_of_a_deactivated_block_is_solved_and_not_written_as_mps(tmp_path):
    model = formulations.build("closure", TREE, 1)
    model.aside = pyo.Block()
    model.aside.room = pyo.Var(bounds=(0, 1))
    model.used = pyo.Constraint(expr=model.aside.room >= model.x[0])
    model.aside.deactivate()
    assert formulations.solve(model).status == "optimal"
    assert formulations.export(model, tmp_path / "model.lp").exists()
    with pytest.raises(ValueError, match=r"variables of active blocks in what Pyomo writes as \.mps, got aside\.room;"):
        formulations.export(model, tmp_path / "model.mps")


def test_an_empty_program_and_names_that_clash():
    def empty(instance, lam):
        model = pyo.ConcreteModel()
        model.goal = pyo.Objective(expr=0)
        return model

    with pytest.raises(ValueError, match="empty: expected variables x over the internal nodes or z over all nodes"):
        formulations.solve(formulations.build(ModelledFormulation("empty", empty), TREE, 1))
    with pytest.raises(ValueError, match="name: expected one that no formulation has, got 'ip3'"):
        formulations.register("ip3")(empty)
    with pytest.raises(TypeError, match="twice: expected a pyomo"):
        formulations.build(ModelledFormulation("twice", lambda instance, lam: None), TREE, 1)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (None, ValueError, r"mine: expected the decoder to give shape \(2,\), .* got None"),
        ("abc", ValueError, r"expected the decoder to give shape \(2,\), .* got 'abc'"),
        ({"a": 1}, ValueError, r"expected the decoder to give shape \(2,\), .* got {'a': 1}"),
        ([1.0], ValueError, r"expected the decoder to give shape \(2,\), .* got shape \(1,\)"),
        ({0, 1}, ValueError, r"expected the decoder to give shape \(2,\), .* got {0, 1}"),
        ([0.5, 0.5], FractionalOptimumError, "values: expected a 0-1 optimum of mine, got node 0 kept by 0.5"),
        ([2.0, 2.0], FractionalOptimumError, "values: expected a 0-1 optimum of mine, got node 0 kept by 2"),
        (
            [float("nan")] * 2,
            FractionalOptimumError,
            "got node 0 kept by nan; the solver's point, a row of the model, or the decoder is wrong",
        ),
        ([0.0, 1.0], ValueError, "pruning: expected the parent of each kept node to be kept"),
    ],
    ids=["None", "a text", "a dict", "too few", "a set of nodes", "halves", "twos", "nan", "a child alone"],
)
def test_a_decoder_that_returns_no_pruning(answer, error, message):
    mine = ModelledFormulation("mine", closure_form, decode=lambda model: answer)
    with pytest.raises(error, match=message):
        formulations.solve(formulations.build(mine, TREE, 1))


def closure_form(instance, lam):
    return formulations.build("closure", instance, lam)


def test_names_that_are_none():
    with pytest.raises(TypeError, match=r'as in @formulations.register\("mine"\), got function'):
        formulations.register(closure_form)(closure_form)
    with pytest.raises(ValueError, match=r"name: expected a text, .* got an empty one"):
        formulations.register(" ")(closure_form)
    with pytest.raises(TypeError, match=r'name: expected a text, as in @register_solver\("mine"\), got function'):
        register_solver(closure_form)


def test_what_a_builder_raises_is_said_with_its_problem():
    def no_bare_roots(instance, lam):
        return {0: closure_form(instance, lam)}[int(instance.n_internal == 0)]

    with pytest.raises(KeyError) as raised:
        study(ModelledFormulation("no bare roots", no_bare_roots), instances=3, seed=1)
    assert any(note.startswith("raised on 1 tree, 1 node") for note in raised.value.__notes__)
