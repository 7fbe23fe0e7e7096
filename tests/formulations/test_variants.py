"""The atlas: each variant states its problem, by the laboratory's checks and by hand; none is certified as another."""

import json
from fractions import Fraction

import pyomo.environ as pyo
import pytest
from reference import load_reference

import formulations
from formulations import FORMULATIONS, ModelledFormulation, ModelResult
from formulations.variants import VARIANTS, delayed_tests, hard_cap, leaves_in_all, vote_error
from formulations.variants.closures import bought, closure, standard, unit_prices
from ipforest import solve
from ipforest.cli import main
from ipforest.testing import check_formulation
from proofs.crosschecks.brute_force import prunings
from proofs.study.atlas import Standing, atlas, is_closure
from proofs.study.checks import program_of
from proofs.study.problem import Problem
from proofs.study.sketch import Sketch, SketchedTree

CLOSURES = ("setup-price", "precedence", "delayed-tests")
ENSEMBLE = load_reference("figure_1_ensemble").instance
ASKED = ("optimum_is_that_of_all_prunings", "prunings_are_points")


def test_there_are_eleven_and_none_is_registered_as_a_pruning_problem():
    assert len(VARIANTS) == 11
    assert not set(VARIANTS) & set(FORMULATIONS)
    assert all(variant.variant for variant in VARIANTS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_states_the_problem_that_it_defines(name):
    checks = dict(check_formulation(VARIANTS[name]))
    for check in ASKED:
        checks[check]()


@pytest.mark.parametrize("name", CLOSURES)
def test_closures_are_one_minimum_cut(name):
    assert is_closure(program_of(VARIANTS[name], Problem(ENSEMBLE, lam=Fraction(1)), relaxed=True))


@pytest.mark.parametrize("name", ["hard-cap", "vote-error"])
def test_a_variant_is_solved_but_not_certified(name):
    result = formulations.solve(formulations.build(VARIANTS[name], ENSEMBLE, "1/4"))
    assert isinstance(result, ModelResult)
    assert result.changes == (f"{name} states another problem",)
    specification = formulations.specify(VARIANTS[name], ENSEMBLE, "1/4")
    best = min(worth for p in prunings(ENSEMBLE) if (worth := VARIANTS[name].worth(specification, p)) is not None)
    assert result.objective == pytest.approx(float(best))
    with pytest.raises(ValueError, match=f"expected one of the pruning problem, got {name}, which states another"):
        solve(ENSEMBLE, "1/4", method="highs-mip", formulation=VARIANTS[name])


def _delayed():
    """Return a chain: unit 0 at the root, unit 1 below it on the path of the first of two examples."""
    nothing = frozenset()
    tree = SketchedTree(
        (-1, 0, 0, 1, 1),
        (9, 4, 1, 0, 0),
        (0, 0, 0, 0, 0),
        (frozenset({(0, 0), (1, 0)}), frozenset({(0, 1)}), nothing, nothing, nothing),
        (3, 2),
    )
    return Sketch((tree,), {(0, 0): 1, (1, 0): 1, (0, 1): 2}, Fraction(1), Fraction(1), 2).instance()


def test_a_test_below_a_delayed_one_is_paid_by_all_who_pass():
    instance = _delayed()
    whole = instance.unpruned
    for units, cost in (({0}, 6), ({1}, 4), (set(), 4)):
        variant = delayed_tests(lambda _, units=units: units)
        assert variant.worth(formulations.specify(variant, instance, 1), whole) == 1 + cost
        specification = formulations.specify(variant, instance, 1)
        assert is_closure(program_of(variant, Problem(instance, lam=Fraction(1)), relaxed=True))
        relaxed = formulations.solve(formulations.build(variant, instance, 1, relaxed=True))
        best = min(variant.worth(specification, pruning) for pruning in prunings(instance))
        assert relaxed.objective == pytest.approx(float(best))


def test_caps_and_leaves_by_hand():
    instance = _delayed()
    whole, root = instance.unpruned, next(p for p in prunings(instance) if p.kept.tolist() == [True, False])
    allowed = {}
    for variant in (hard_cap("1/2"), hard_cap(1), leaves_in_all(2), leaves_in_all(3)):
        specification = formulations.specify(variant, instance, 0)
        allowed[variant.name, len(allowed)] = [variant.worth(specification, p) is not None for p in (root, whole)]
    assert list(allowed.values()) == [[True, False], [True, True], [True, False], [True, True]]


def test_the_vote_counts_examples_that_half_of_the_trees_get_wrong():
    instance = _delayed()
    variant = vote_error(lambda node, example: node in (0, 2))
    specification = formulations.specify(variant, instance, 0)
    assert [variant.worth(specification, p) for p in (instance.roots_only, instance.unpruned)] == [1, Fraction(1, 2)]


@pytest.mark.slow
def test_the_atlas_is_a_table(tmp_path, capsys):
    assert main(["atlas", "delayed-tests", "hard-cap", "--problems", "4", "--json", "--out", str(tmp_path)]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [entry["standing"] for entry in entries] == [Standing.PROVED, Standing.REFUTED]
    assert (tmp_path / "hard-cap.json").exists()
    assert (tmp_path / "atlas.md").read_text().count("\n") == 4
    assert main(["atlas", "none"]) == 2


def _sensors(bounds, most):
    """Make the variant of y_k >= w_{k,i} with bounds on y, and a row of their sum where there are more than `most`."""

    def model(instance, lam):
        program, data = closure(instance)
        units = list(unit_prices(data))
        program.y = pyo.Var(units, bounds=bounds)
        program.set_up = pyo.Constraint(data.pairs, rule=lambda m, k, i: m.w[k, i] <= m.y[k])
        if len(units) > most:
            program.few = pyo.Constraint(expr=pyo.quicksum(program.y.values()) <= most)
        program.objective = pyo.Objective(expr=program.error + float(lam) * program.cost)
        return program

    def worth(instance, lam, pruning):
        units = {unit for unit, _ in bought(instance, pruning)}
        return standard(instance, lam, pruning) if len(units) <= most and (bounds[1] == 1 or not units) else None

    return ModelledFormulation("sensors", model, worth=worth)


@pytest.mark.parametrize(
    ("bounds", "most", "standing"),
    [((0, 1), 999, Standing.PROVED), ((0, 1), 5, Standing.CERTIFIED), ((0, 0.5), 999, Standing.REFUTED)],
)
def test_no_variant_is_a_closure_by_its_small_rows_alone(bounds, most, standing):
    """Rows x <= y prove nothing where a bound is 1/2, or where larger instances have a row of another kind."""
    entry = atlas([_sensors(bounds, most)], problems=3).entries[0]
    assert (entry.standing, entry.fault) == (standing, "")


def test_no_problems_are_refused():
    with pytest.raises(ValueError, match="problems: expected 1 or more, got 0"):
        atlas(problems=0)


def test_a_wrong_variant_is_found():
    right = VARIANTS["setup-price"]

    def more(instance, lam, pruning):
        return 1 + right.worth(formulations.specify(right, instance, lam), pruning)

    def model(instance, lam):
        return formulations.build(right, instance, lam)

    wrong = ModelledFormulation("wrong", model, worth=more)
    found = atlas([wrong], problems=1)
    assert not found
    assert "a 0-1 point has objective 0, its pruning 1" in found.entries[0].fault
    assert atlas([right], problems=1)
