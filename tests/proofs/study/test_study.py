"""The study of a formulation: built-in ones keep what they promise, each missing or weakened row is found, small."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest
from objective_in_floats import add_objective
from reference import load_reference

import formulations
import proofs
from formulations import FORMULATIONS, Formulation, ModelData, ModelledFormulation
from ipforest.cli import main
from ipforest.testing import check_formulation
from proofs.corners import many_stumps
from proofs.exact import simplest
from proofs.integrality.vertices import is_integral, vertices
from proofs.study import checks
from proofs.study.cuts import missing_inequalities, separate
from proofs.study.drawing import draw_refutation
from proofs.study.problem import Problem, random_problem
from proofs.study.programs import ExactProgram
from proofs.study.refutation import Refutation, Violation, shrink
from proofs.study.size_laws import size_law
from proofs.study.sketch import Sketch, _below
from proofs.study.study import INTEGRAL, Evidence, Study, _Look, study

TREE = load_reference("figure_1_tree").instance
BUILT_IN = tuple(FORMULATIONS)


class Edited(Formulation):
    """A formulation with rows left out, or with the sense or the right-hand side of rows changed."""

    def __init__(self, base, block, edit):
        self.base, self.block, self.edit = FORMULATIONS[base], block, edit
        self.name = f"{base} with {block} {edit}"
        for name in ("takes", "one_tree", "routing", "integer_units", "integral"):
            setattr(self, name, getattr(self.base, name))

    def build(self, specification):
        return self.base.build(specification)

    def linear_program(self, specification):
        program = self.base.linear_program(specification)
        rows = np.array([label.split("[")[0] == self.block for label in program.row_labels], dtype=bool)
        if self.edit == "left out":
            kept = np.flatnonzero(~rows)
            labels = [program.row_labels[row] for row in kept]
            return replace(
                program, A=program.A[kept], senses=program.senses[kept], rhs=program.rhs[kept], row_labels=labels
            )
        senses, rhs = program.senses.copy(), program.rhs.copy()
        if self.edit in ("<=", ">="):
            senses[rows] = self.edit
        else:
            rhs[rows] += np.where(senses[rows] == "<=", 1, -1) * float(Fraction(self.edit))
        return replace(program, senses=senses, rhs=rhs)

    def size(self, instance):
        return self.base.size(instance)

    def kept_shares(self, specification, values):
        return self.base.kept_shares(specification, values)

    def tree_objective(self, instance, p, q):
        return self.base.tree_objective(instance, p, q)


def row_blocks(name):
    program = FORMULATIONS[name]
    two_levels = Sketch.of(TREE).instance()
    labels = checks.program_of(program, Problem(two_levels, **program.numbers(Fraction(1)))).row_names
    return sorted({label.split("[")[0] for label in labels})


EVERY_BLOCK = [(name, block) for name in BUILT_IN for block in row_blocks(name)]


def violations(formulation, check, seed=0, most=60):
    rng = np.random.default_rng(seed)
    for number in range(most):
        problem = random_problem(rng, formulation.takes, formulation.one_tree, 1 + number % 3)
        if checks.has_few_columns(formulation, problem) and check(formulation, problem) is not None:
            yield problem


def refuted(formulation, *claims):
    """Return the smallest problem of the first claim that is refuted."""
    for check in claims:
        for problem in violations(formulation, check):
            columns = lambda p: checks.program_of(formulation, p).columns  # noqa: E731
            return shrink(formulation, check.__name__, problem, check, columns)
    return None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "block"), EVERY_BLOCK)
def test_a_missing_block_of_rows_is_found_on_a_napkin(name, block):
    edited = Edited(name, block, "left out")
    found = refuted(edited, checks.points_are_prunings, checks.prunings_have_points)
    assert found is not None
    assert found.problem.instance.n_trees <= 2
    assert found.problem.instance.n_examples <= 4
    assert found.problem.instance.n_nodes <= 7
    again = Refutation.from_json(found.to_json())
    check = getattr(checks, found.claim)
    assert check(edited, again.problem).text == found.text
    assert check(FORMULATIONS[name], again.problem) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ip0", "ip2", "ip3", "compact", "closure"])
def test_a_row_weakened_by_half_has_fractional_vertices(name):
    for block in row_blocks(name):
        edited = Edited(name, block, "1/2")
        found = refuted(edited, checks.integral_by_objectives, checks.points_are_prunings)
        assert found is not None, block
        assert found.problem.instance.n_trees <= 2, block
        assert found.problem.instance.n_examples <= 4, block


@pytest.mark.slow
@pytest.mark.parametrize("sense", ["<=", ">="])
@pytest.mark.parametrize("name", ["ip0", "ip1", "ip2", "ip3", "compact", "lp1"])
def test_path_sums_must_be_equations(name, sense):
    edited = Edited(name, "one_leaf_per_path", sense)
    found = refuted(edited, checks.points_are_prunings)
    assert found is not None
    assert found.problem.instance.n_nodes <= 5


@pytest.mark.slow
def test_usage_may_be_an_inequality_in_one_direction_only():
    """At least 1 leaves the compact form, which is right; at most 1 lets trees use units for nothing."""
    at_least = Edited("ip3", "usage_in_tree", ">=")
    assert refuted(at_least, checks.points_are_prunings, checks.prunings_have_points) is None
    found = refuted(Edited("ip3", "usage_in_tree", "<="), checks.points_are_prunings)
    assert found.problem.instance.n_internal == 1
    assert "its pruning" in found.text


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_formulations_keep_their_promises(name):
    found = study(name, 9)
    assert found, found.verdict()
    assert found.valid
    known = FORMULATIONS[name]
    assert found.integral is known.integral
    assert found.row("totally unimodular").holds is known.integral
    assert found.row("number of variables").holds
    if known.integral and known.takes != "nothing":
        assert found.row("the bound is the best pruning's objective").holds


@pytest.mark.slow
def test_a_study_says_how_each_row_is_known(tmp_path):
    found = study("compact", 3)
    assert found
    assert found.row("every pruning has").evidence is Evidence.EXHAUSTIVE
    assert found.row("totally unimodular").evidence is Evidence.CERTIFICATE
    assert found.row("the relaxation projects onto ip3's").evidence is Evidence.CERTIFICATE
    assert found.row("totally dual integral").holds
    others = found.row("the other solvers'")
    assert others.holds
    assert "appsi_highs" in others.detail
    assert found.row("number of constraints").detail == "leaves + triples"
    assert json.loads(found.to_json())["rows"][0]["holds"] is True
    page = found.to_html(tmp_path / "study.html").read_text()
    assert "leaves + triples" in page
    with pytest.raises(KeyError, match="nothing"):
        found.row("nothing")


@pytest.mark.slow
def test_the_study_of_ip1_refutes_integrality_and_names_the_violator(tmp_path):
    found = study("ip1", 12)
    assert found
    assert found.valid
    assert not found.integral
    broken = found.row(INTEGRAL).refutation
    assert (broken.problem.instance.n_trees, broken.problem.instance.n_nodes) == (1, 5)
    assert Fraction(1, 2) in broken.point.values()
    outside = found.row("the relaxation projects onto ip3's").refutation
    assert "ip1's relaxation does not project into ip3's: usage_anywhere[0,0,0] is violated by 1/2" in outside.text
    assert outside.problem.instance.n_nodes == 5
    violator = found.row("totally unimodular").refutation
    assert "determinant 2 of rows one_leaf_per_path[" in violator.text
    assert "w[0,0]" in violator.text
    assert found.row("Chvatal-Gomory cuts").detail.startswith("rank 1: ")
    assert "<svg" in found.to_html(tmp_path / "study.html").read_text()
    assert len(draw_refutation(broken).axes) == 1


def wrong_ip4(instance, lam):
    """State the compact form, but forget that an example pays in each tree: rows of the first tree only."""
    data, model = ModelData.of(instance), pyo.ConcreteModel()
    model.z = pyo.Var(data.nodes, domain=pyo.Binary)
    model.w = pyo.Var(data.pairs, domain=pyo.Binary)
    model.path = pyo.Constraint(data.leaves, rule=lambda m, h: sum(m.z[u] for u in data.path[h]) == 1)
    first = [triple for triple in data.first_use if triple[0] == 0]
    model.use = pyo.Constraint(
        first, rule=lambda m, t, k, i: m.w[k, i] + sum(m.z[u] for u in data.path[data.first_use[t, k, i]]) >= 1
    )
    error = sum(data.e[h] * model.z[h] for h in data.nodes)
    cost = sum(data.c[pair] * model.w[pair] for pair in data.pairs)
    cost += sum(price * (1 - sum(model.z[u] for u in data.path[h])) for h, price in data.s.items())
    model.goal = pyo.Objective(expr=float(instance.error_unit) * error + float(lam * instance.cost_unit) * cost)
    return model


def test_a_bound_below_the_best_pruning_says_that_a_vertex_is_fractional(monkeypatch):
    """On one drawn problem it is not below it, on the instances that tell formulations apart it is."""
    monkeypatch.setattr("proofs.study.study.shrink", lambda *_: None)
    look = _Look(FORMULATIONS["ip1"], 1, 0)
    rows = tuple(look.strength())
    assert not rows[0].holds
    assert "its relaxation has fractional vertices\n" in repr(Study("ip1", False, rows, 0, 0.0))


@pytest.mark.slow
def test_a_wrong_ip4_is_refuted_with_two_small_trees():
    found = study(ModelledFormulation("ip4", wrong_ip4), 6)
    assert not found
    assert found.verdict().startswith("ip4 is wrong")
    shown = found.row("every 0-1 point").refutation
    assert (shown.problem.instance.n_trees, shown.problem.instance.n_examples) == (2, 1)
    assert shown.problem.instance.n_nodes == 4
    assert "its pruning" in shown.text


def test_ip1_and_these_rows_are_integral_on_figure_1():
    """The one row that the machine finds is the compact form's: w_{1,i} >= z_3 + z_4 in the paper's numbers."""
    closed = missing_inequalities("ip1", TREE)
    assert closed.integral
    assert [cut.inequality() for cut in closed.cuts] == ["z[2] + z[3] - w[0,0] <= 0"]
    assert closed.cuts[0].rank == 1
    strong = checks.program_of(FORMULATIONS["compact"], Problem(TREE, lam=Fraction(1)), relaxed=True)
    assert set(vertices(closed.polytope)) == set(vertices(strong.polytope))
    with pytest.raises(ValueError, match="expected one without a budget, got lp1"):
        missing_inequalities("lp1", TREE)


def weight(cut, names, point):
    return sum(cut.entries.get(name, 0) * value for name, value in zip(names, point, strict=True))


@pytest.mark.slow
def test_cuts_are_valid_and_cut_off():
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(25):
        problem = random_problem(rng, "lam", True, 3)
        program = checks.program_of(FORMULATIONS["ip1"], problem, relaxed=True)
        if len(program.columns) > 12:
            continue
        corners = vertices(program.polytope)
        for point in (corner for corner in corners if not is_integral(corner)):
            cut = separate(program.polytope, program.row_names, point)
            assert weight(cut, program.columns, point) > cut.right
            assert all(weight(cut, program.columns, corner) <= cut.right for corner in corners if is_integral(corner))
            seen += 1
    assert seen > 0


def test_size_laws_are_those_of_the_definitions():
    rng = np.random.default_rng(1)
    variables, constraints, checked = size_law(
        FORMULATIONS["closure"], (random_problem(rng, "nothing", max_internal=6).instance for _ in range(100))
    )
    assert str(variables) == "internal + acquisitions"
    assert str(constraints) == "internal - kept roots + triples"
    assert checked > 20


def test_problems_are_saved_exactly():
    rng = np.random.default_rng(2)
    for takes in ("lam", "budget", "nothing"):
        problem = random_problem(rng, takes)
        again = Problem.from_json(problem.to_json())
        assert again.instance.fingerprint() == problem.instance.fingerprint()
        assert (again.lam, again.budget) == (problem.lam, problem.budget)
    with pytest.raises(ValueError, match="text: expected a problem of version 1, got version None"):
        Problem.from_json("{}")
    with pytest.raises(ValueError, match="text: expected a problem written by to_json"):
        Problem.from_json('{"version": 1}')
    written = json.loads(random_problem(np.random.default_rng(0), "lam").to_json())
    for name, value in (("cost_unit", "1e1000000000"), ("error_unit", "1/0"), ("errors", [2**70])):
        changed = written | {"instance": written["instance"] | {name: value}}
        with pytest.raises(ValueError, match=r"expected a (problem written|number of at most|finite number)"):
            Problem.from_json(json.dumps(changed))
    with pytest.raises(ValueError, match="text: expected a refutation written by to_json"):
        Refutation.from_json("{}")


def test_sketches_are_instances_and_their_steps_are_smaller():
    rng = np.random.default_rng(3)
    for _ in range(10):
        instance = random_problem(rng, "nothing", max_internal=5).instance
        sketch = Sketch.of(instance)
        assert sketch.instance().objective(instance.unpruned, 1) == instance.objective(instance.unpruned, 1)
        for smaller in sketch.smaller():
            made = smaller.instance()
            assert made.n_nodes <= instance.n_nodes
            assert made.n_examples <= instance.n_examples


def test_programs_are_exact():
    assert [simplest(value) for value in (0.1, 1 / 3, 0.5)] == [Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)]
    program = checks.program_of(FORMULATIONS["ip1"], Problem(TREE, lam=Fraction(1)), relaxed=True)
    optimum = program.optimum()
    assert optimum.value == min(program.value(corner) for corner in vertices(program.polytope)) == Fraction(5, 2)
    unbounded = replace(program.program, upper=np.full(len(program.columns), np.inf))
    with pytest.raises(ValueError, match=r"w\[0,0\]: expected a lower and an upper bound"):
        ExactProgram(unbounded)


def test_continuous_usage_is_completed():
    """w in [0, 1] together with 0-1 z: the points are those of the vertices that each z leaves."""

    def relaxed_usage(instance, lam):
        model = formulations.build("compact", instance, lam)
        for variable in model.w.values():
            variable.domain = pyo.UnitInterval
        del model.specification
        return model

    mixed = ModelledFormulation("mixed", relaxed_usage)
    mixed.integer_units = True
    for lam in (Fraction(0), Fraction(1), Fraction(3, 2)):
        problem = Problem(TREE, lam=lam)
        assert checks.points_are_prunings(mixed, problem) is None
        assert checks.prunings_have_points(mixed, problem) is None


def test_continuous_variables_need_not_be_integral():
    """A third of the share of tests kept, as a variable: a fraction at most prunings, as `proofs.is_integral` knows."""

    def with_a_share(instance, lam):
        model = formulations.build("closure", instance, lam)
        model.share = pyo.Var(bounds=(0, 1))
        model.counted = pyo.Constraint(expr=3 * len(model.x) * model.share == sum(model.x.values()))
        del model.specification
        return model

    mixed = ModelledFormulation("sharing", with_a_share, integral=True)
    mixed.integer_units = True
    problem = Problem(TREE, lam=Fraction(1))
    assert proofs.is_integral(with_a_share(TREE, 1))
    assert checks.integral_vertices(mixed, problem) is None
    assert checks.integral_by_objectives(mixed, problem) is None
    check = dict(check_formulation(mixed, instances=[TREE]))["integral_is_kept"]
    check()


def test_what_cannot_be_studied_is_refused():
    with pytest.raises(ValueError, match="instances: expected 1 or more, got 0"):
        study("ip3", 0)
    with pytest.raises(ValueError, match="instances: expected one or more, got none"):
        study("ip3", [])
    with pytest.raises(ValueError, match="formulation: expected one of ip0"):
        formulations.study("ip4")


def without_points(instance, lam):
    """Write the closure form, by a slip with a row that no point keeps."""
    model = closure_in_floats(instance, lam)
    model.slip = pyo.Constraint(ModelData.of(instance).internal, rule=lambda m, h: m.x[h] >= 2)
    return model


def of_a_lambda_that_is_off(instance, lam):
    return closure_in_floats(instance, lam * Fraction(10001, 10000))


def closure_in_floats(instance, lam):
    data, model = ModelData.of(instance), pyo.ConcreteModel()
    model.x, model.w = pyo.Var(data.internal, domain=pyo.Binary), pyo.Var(data.pairs, domain=pyo.Binary)
    model.parent = pyo.Constraint(list(data.parent), rule=lambda m, h: m.x[h] <= m.x[data.parent[h]])
    model.needs = pyo.Constraint(
        list(data.first_use), rule=lambda m, *use: m.x[data.first_use[use]] <= m.w[use[1], use[2]]
    )
    add_objective(model, data, instance, lam)
    return model


@pytest.mark.parametrize("builder", [without_points, of_a_lambda_that_is_off])
def test_a_program_that_is_wrong_is_refuted_though_not_all_can_be_asked_of_it(builder):
    found = study(ModelledFormulation("slip", builder), 2)
    assert found.verdict().startswith("slip is wrong")
    assert found.refutations
    assert found.row("what else is asked").detail.startswith("not known of a program that is wrong: program: expected")
    assert found.row("what else is asked").holds is None


def test_a_program_that_nothing_refutes_and_floats_do_not_tell_is_refused():
    def large_m(instance, lam):
        model, data = closure_in_floats(instance, lam), ModelData.of(instance)
        model.needs.deactivate()
        model.large = pyo.Constraint(
            list(data.first_use), rule=lambda m, *use: m.x[data.first_use[use]] <= 1e7 * m.w[use[1], use[2]]
        )
        return model

    with pytest.raises(ArithmeticError, match=r"a big M no larger than it must be \(entries are 1 to 1e\+07\)"):
        study(ModelledFormulation("large M", large_m), 2)


@pytest.mark.slow
def test_the_command_studies_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    source = tmp_path / "mine.py"
    source.write_text(
        "import formulations\n"
        "def half(instance, lam):\n"
        "    model = formulations.build('compact', instance, lam)\n"
        "    model.objective.expr = float(model.specification.objective_unit) * model.objective.expr\n"
        "    model.del_component(model.usage_unless_stopped)\n"
        "    del model.specification\n"
        "    return model\n"
    )
    assert main(["study", f"{source}:half", "--json", "--instances", "3", "--out", str(tmp_path / "out")]) == 1
    assert json.loads(capsys.readouterr().out)["valid"] is False
    assert (tmp_path / "out" / "study.html").exists()
    saved = Refutation.from_json((tmp_path / "out" / "counterexample_1.json").read_text())
    assert saved.formulation == "half"
    assert main(["study", f"{source}:nothing"]) == 2
    assert "expected it to register or define 'nothing', got nothing of that name" in capsys.readouterr().err
    assert main(["study", f"{tmp_path / 'absent.py'}:half"]) == 2
    assert main(["study", "compact", "--instances", "2"]) == 0
    assert "proved by certificate" in " ".join(capsys.readouterr().out.split())


def test_what_takes_a_hundred_trees_is_made_small_otherwise():
    """After a step that goes on the next one is tried, not the first again, of which none may be left over."""

    def many_trees(_, problem):
        return Violation("many trees") if problem.instance.n_trees > 100 else None

    found = shrink(FORMULATIONS["ip3"], "few trees", Problem(many_stumps(), lam=Fraction(1)), many_trees, lambda _: ())
    assert found.problem.instance.n_trees == 101
    assert found.problem.instance.n_internal == 0


@pytest.mark.parametrize(("within", "why"), [(1, "that is not allowed"), (0, "beyond the budget 0")])
def test_a_pruning_that_is_not_allowed_exceeds_no_budget_by_that(within, why):
    def builder(instance, budget):
        return formulations.build("lp1", instance, budget=instance.evaluate(instance.unpruned)[1])

    nothing = ModelledFormulation("nothing", builder, "budget", worth=lambda instance, budget, pruning: None)
    problem = Problem(TREE, budget=within * TREE.evaluate(TREE.unpruned)[1])
    assert why in checks.points_are_prunings(nothing, problem).text


def test_numbers_of_any_size_are_made_smaller_step_by_step():
    assert _below(9 * 10**18) == [0, 1, 45 * 10**17, 9 * 10**18 - 1]
    assert _below(1) == [0]
    assert _below(0) == []


@pytest.mark.slow
def test_what_is_wrong_below_the_second_test_of_a_way_is_refuted_by_few_instances():
    def to_the_root(instance, lam):
        model, data = formulations.build("closure", instance, lam), ModelData.of(instance)
        model.kept_under_parent.deactivate()
        deep = [h for h in data.internal if h in data.parent]
        root = {h: h for h in data.internal}
        for h in deep:  # a parent comes before its children
            root[h] = root[data.parent[h]]
        model.kept_under_root = pyo.Constraint(deep, rule=lambda m, h: m.x[h] <= m.x[root[h]])
        return model

    assert not study(ModelledFormulation("to-the-root", to_the_root), 1)
