"""Any matrix of anybody: models and files become one kind of program, with names; what is not linear is refused."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from strategies import instances

import formulations
import proofs
from ipforest.cli import main
from proofs.integrality.any_program import FRACTIONAL, INTEGRAL, OPEN

MPS = """NAME t
ROWS
 N cost
 L cap
 G need
COLUMNS
 x cost 1 cap 1
 x need 1
 y cost 2 cap 1
RHS
 RHS cap 4 need 1
RANGES
 R cap 2
BOUNDS
 UP BND x 3
ENDATA
"""
LP = """\\ a comment with sos
maximize
 obj: x + 2 y
subject to
 cap: x + y <= 4
 low: - x - y >= -9
bounds
 x <= 3
binary
 y
end
"""
TRIANGLE = """minimize
 obj: - a - b - c
subject to
 ab: a + b <= 1
 bc: b + c <= 1
 ca: c + a <= 1
end
"""


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def triangle(tmp_path):
    return write(tmp_path, "triangle.lp", TRIANGLE)


def pyomo_triangle():
    model = pyo.ConcreteModel()
    model.v = pyo.Var(["a", "b", "c"], domain=pyo.Binary)
    model.edge = pyo.Constraint(["ab", "bc", "ca"], rule=lambda m, e: m.v[e[0]] + m.v[e[1]] <= 1)
    model.goal = pyo.Objective(expr=pyo.quicksum(model.v.values()), sense=pyo.maximize)
    return model


def test_a_file_is_read_with_its_names_ranges_and_sense(tmp_path):
    program = formulations.matrix(write(tmp_path, "t.mps", MPS))
    assert program.row_labels == ("cap", "cap", "need")
    assert program.senses.tolist() == ["<=", ">=", ">="]
    assert program.rhs.tolist() == [4, 2, 1]
    assert program.A.toarray().tolist() == [[1, 1], [1, 1], [1, 0]]
    assert program.upper.tolist() == [3, np.inf]
    program = formulations.matrix(str(write(tmp_path, "t.lp", LP)))
    assert program.maximised
    assert program.objective.tolist() == [-1, -2]
    assert program.integer.tolist() == [False, True]


@settings(max_examples=8)
@given(instance=instances(5))
def test_a_model_and_its_files_have_one_answer(tmp_path_factory, instance):
    folder = tmp_path_factory.mktemp("models")
    model = formulations.build("ip1", instance, "1/3")
    stated = formulations.matrix(model)
    for suffix in (".lp", ".mps"):
        read = formulations.matrix(formulations.export(model, folder / f"model{suffix}"))
        rows = [row for row in read.row_labels if "ONE_VAR_CONSTANT" not in row]  # Pyomo's, for an objective's constant
        assert len(rows) == stated.n_rows
        assert bool(proofs.is_totally_unimodular(read)) == bool(proofs.is_totally_unimodular(model))


def test_what_pyomo_adds_to_a_model_is_no_part_of_its_program():
    """Ports of expanded arcs, sets of discretised time, and variables of deactivated blocks that nothing uses."""
    from pyomo.dae import ContinuousSet
    from pyomo.network import Arc, Port

    model = pyomo_triangle()
    model.t = ContinuousSet(bounds=(0, 1))
    model.here = Port(initialize={"flow": model.v["a"]})
    model.there = Port(initialize={"flow": model.v["b"]})
    model.arc = Arc(source=model.here, destination=model.there)
    with pytest.raises(ValueError, match=r"arc: expected variables, .* got a Arc"):
        formulations.matrix(model)
    pyo.TransformationFactory("network.expand_arcs").apply_to(model)
    model.aside = pyo.Block()
    model.aside.used, model.aside.unused = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0.5, 1.5))
    model.link = pyo.Constraint(expr=model.aside.used <= model.v["c"])
    model.aside.deactivate()
    program = formulations.matrix(model)
    assert program.column_labels == ("v[a]", "v[b]", "v[c]", "aside.used")
    assert program.row_labels[-2:] == ("link", "arc_expanded.flow_equality")


def test_a_counterexample_speaks_in_names(triangle):
    for source, rows, columns in (
        (triangle, ["ab", "bc", "ca"], ["a", "b", "c"]),
        (pyomo_triangle(), [f"edge[{e}]" for e in ("ab", "bc", "ca")], ["v[a]", "v[b]", "v[c]"]),
    ):
        answer = proofs.is_totally_unimodular(source)
        assert not answer
        assert answer.check()
        assert (answer.row_names, answer.column_names) == (rows, columns)
        assert str(answer) == (
            f"not totally unimodular: rows [{', '.join(rows)}], columns [{', '.join(columns)}] have determinant "
            f"{answer.determinant}"
        )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.mps", MPS[: len(MPS) // 2], "expected ENDATA in the last line"),
        ("t.mps", MPS[:-4], "expected ENDATA in the last line"),
        ("t.lp", LP[:-4], "expected END in the last line"),
        ("t.lp", LP[:70], "expected END in the last line"),
        ("t.lp", "", "empty file"),
        ("t.mps", "* nothing\n\n", "empty file"),
        ("t.lp", "minimize\n obj:\nsubject to\nend\n", "with variables, got none"),
        ("t.lp", "hello\nend\n", "HiGHS can read, got one that it refuses"),
        ("t.txt", LP, r"ends in \.mps or \.lp, or these with \.gz, got 't\.txt'"),
        ("t.mps", MPS.replace(" L cap", " N second\n L cap"), r"several objectives \(rows of type N: cost, second\)"),
        ("t.mps", MPS.replace("ENDATA", "SOS\n S1 SOS s1\n SOS x 1\n SOS y 2\nENDATA"), "special ordered sets"),
        ("t.mps", MPS.replace("ENDATA", "QUADOBJ\n x x 1\nENDATA"), "a quadratic objective"),
        ("t.lp", LP.replace("end", "sos\n s: S1:: x:1 y:2\nend"), "special ordered sets"),
        ("t.lp", LP.replace("x + 2 y", "x + [ x^2 ]/2"), "a quadratic objective"),
        ("t.lp", LP.replace("x + y <= 4", "[ x^2 ] + y <= 4"), "quadratic terms"),
        ("t.lp", LP.replace("x ", "x[0,1] "), r"names without brackets, .* got x\[0,1\]; write the program as \.mps"),
        ("t.lp", LP.replace("binary\n y", "semi-continuous\n x"), "semi-continuous"),
        ("t.lp", LP.replace("binary\n y", "semi\nbinary\n y\nsemi\n x"), "semi-continuous"),
        ("t.lp", LP.replace("maximize", "maximize multi-objectives"), "several objectives"),
        ("t.mps", MPS.replace(" UP BND", " SC BND"), "the semi-continuous variable x"),
    ],
    ids=range(20),
)
def test_what_a_linear_program_does_not_hold_is_refused_by_name(tmp_path, capsys, name, text, message):
    path = write(tmp_path, name, text)
    for ask in (formulations.matrix, proofs.is_totally_unimodular, proofs.is_integral):
        with pytest.raises(ValueError, match=message):
            ask(path)
    for command in ("tu", "integral"):
        assert main([command, str(path)]) == 2
        assert "error: " in capsys.readouterr().err


def test_a_file_that_highs_writes_is_read(tmp_path):
    """It writes all headings, that of semi-continuous variables, too, whether or not they have any."""
    highspy = pytest.importorskip("highspy")
    source, target = write(tmp_path, "t.lp", LP), tmp_path / "written.lp"
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(source))
    highs.writeModel(str(target))
    assert "semi" in target.read_text()
    assert formulations.matrix(target).upper.tolist() == formulations.matrix(source).upper.tolist()
    quadratic = write(tmp_path, "t.mps", MPS.replace("ENDATA", "QUADOBJ\nENDATA"))  # without terms
    assert formulations.matrix(quadratic).n_rows == 3


def test_other_objects_and_bytes_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"expected a Pyomo model, a linopy model, .* got dict"):
        formulations.matrix({})
    path = tmp_path / "bytes.lp"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="expected text in UTF-8"):
        formulations.matrix(path)
    with pytest.raises(FileNotFoundError):
        proofs.is_totally_unimodular(tmp_path / "none.lp")


def test_infeasible_nonlinear_and_several_objectives_of_a_model():
    model = pyomo_triangle()
    model.none = pyo.Constraint(expr=model.v["a"] + model.v["b"] >= 2)
    with pytest.raises(ValueError, match="expected a feasible program"):
        proofs.is_integral(model)
    model = pyomo_triangle()
    model.second = pyo.Objective(expr=model.v["a"])
    with pytest.raises(ValueError, match="one active objective, got goal, second"):
        proofs.is_totally_unimodular(model)
    abstract = pyo.AbstractModel()
    with pytest.raises(ValueError, match=r"expected a ConcreteModel, got an AbstractModel; give what its create_inst"):
        proofs.is_integral(abstract)
    model = pyomo_triangle()
    model.product = pyo.Constraint(expr=model.v["a"] * model.v["b"] <= 0)
    with pytest.raises(ValueError, match="product: expected a linear expression"):
        proofs.is_totally_unimodular(model)


def test_integral_only_with_a_certificate(tmp_path, triangle):
    answer = proofs.is_integral(triangle)
    assert answer.verdict == FRACTIONAL
    assert answer.exact
    assert answer.fractional == {name: Fraction(1, 2) for name in "abc"}
    assert not answer
    interval = TRIANGLE.replace("c + a <= 1", "a + b + c <= 2")
    answer = proofs.is_integral(write(tmp_path, "interval.lp", interval))
    assert answer.verdict == INTEGRAL
    assert answer.certificate.check()
    halves = interval.replace("<= 2", "<= 1.5")
    answer = proofs.is_integral(write(tmp_path, "halves.lp", halves))
    assert not answer
    assert answer.verdict in (FRACTIONAL, OPEN)


def test_small_relaxations_are_proved_integral_by_all_their_vertices(tmp_path):
    wheel = TRIANGLE.replace("end", " all: a + b + c <= 1\nend")
    answer = proofs.is_integral(write(tmp_path, "wheel.lp", wheel))
    assert (answer.verdict, answer.exact, answer.certificate) == (INTEGRAL, True, None)
    assert str(answer) == "integral: all 4 vertices, enumerated in fractions, are integral"
    stretched = "minimize\n obj: x\nsubject to\n r: 2 x + 3 y <= 12\n s: x <= 3\n t: y <= 2\nend\n"
    answer = proofs.is_integral(write(tmp_path, "missed.lp", stretched), objectives=0)
    assert (answer.verdict, answer.exact) == (INTEGRAL, True)
    answer = proofs.is_integral(write(tmp_path, "missed.lp", stretched.replace("12", "11")), objectives=0)
    assert (answer.verdict, answer.exact) == (FRACTIONAL, True)


def test_a_fractional_vertex_that_random_objectives_miss_is_found():
    """Three commodities between three nodes, each arc of which takes one unit."""
    model, nodes = pyo.ConcreteModel(), "abc"
    arcs, commodities = [u + v for u in nodes for v in nodes if u != v], ("ab", "bc", "ca")
    model.f = pyo.Var(commodities, arcs, bounds=(0, None))
    model.balance = pyo.Constraint(
        commodities,
        nodes,
        rule=lambda m, k, v: sum(m.f[k, a] * ((a[0] == v) - (a[1] == v)) for a in arcs) == (v == k[0]) - (v == k[1]),
    )
    model.capacity = pyo.Constraint(arcs, rule=lambda m, a: sum(m.f[k, a] for k in commodities) <= 1)
    model.cost = pyo.Objective(expr=pyo.quicksum(model.f.values()))
    answer = proofs.is_integral(model)
    assert (answer.verdict, answer.exact) == (FRACTIONAL, True)
    assert set(answer.fractional.values()) == {Fraction(1, 2)}


def test_long_odd_cycles_are_answered_at_once_and_exactly():
    model, length = pyo.ConcreteModel(), 401
    model.x = pyo.Var(range(length), domain=pyo.Binary)
    model.edge = pyo.Constraint(range(length), rule=lambda m, i: m.x[i] + m.x[(i + 1) % length] <= 1)
    model.objective = pyo.Objective(expr=-pyo.quicksum(model.x.values()))
    answer = proofs.is_integral(model)
    assert (answer.verdict, answer.exact) == (FRACTIONAL, True)
    assert set(answer.fractional.values()) == {Fraction(1, 2)}
    found = proofs.is_totally_unimodular(model)
    assert (found.determinant, len(found.rows), bool(found.check())) == (2, length, True)


def test_large_programs_without_a_certificate_stay_open():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(41), domain=pyo.Binary)
    model.near = pyo.Constraint(range(40), rule=lambda m, i: m.x[i] + m.x[i + 1] <= 1)
    model.twice = pyo.Constraint(expr=2 * model.x[0] <= 2)
    model.objective = pyo.Objective(expr=-pyo.quicksum(model.x.values()))
    answer = proofs.is_integral(model)
    assert (answer.verdict, bool(answer)) == (OPEN, False)  # integral indeed, but nothing here proves it
    assert "proves nothing" in str(answer)


def test_an_unbounded_program_is_searched_by_objectives_that_have_an_optimum(tmp_path):
    cone = "minimize\n obj: x\nsubject to\n r: 2 x - 2 y <= 0\nend\n"
    answer = proofs.is_integral(write(tmp_path, "cone.lp", cone))
    assert answer.verdict == INTEGRAL
    assert 0 < answer.unbounded < answer.visited
    assert answer.visited == answer.integral + answer.unbounded
    model = pyo.ConcreteModel()  # each works five of seven days
    model.x = pyo.Var(range(21), domain=pyo.NonNegativeIntegers)
    model.day = pyo.Constraint(
        range(21), rule=lambda m, t: pyo.quicksum(m.x[t - t % 7 + (t - k) % 7] for k in range(5)) >= 3 + t % 2
    )
    model.objective = pyo.Objective(expr=model.x[0])
    answer = proofs.is_integral(model)
    assert (answer.verdict, answer.exact) == (FRACTIONAL, True)


def test_large_numbers_are_no_fractions():
    """HiGHS's floats of this vertex are off by more than 1e-7; that was called a fractional vertex."""
    rows = [
        [3, -7, 2, 5, 1, -4],
        [1, 8, -3, 0, 6, 2],
        [-5, 2, 7, 1, -1, 9],
        [4, 4, -6, 8, 3, -2],
        [0, -3, 5, -9, 7, 1],
        [6, 1, 1, 2, -8, 3],
    ]
    point = [7385524197343, 2468078563770, 6412471796719, 5663066135674, 2341471503749, 5745752232427]
    right = [sum(a * x for a, x in zip(row, point, strict=True)) for row in rows]
    program = formulations.LinearProgram(
        A=np.array(rows),
        senses=np.array(["=="] * 6),
        rhs=np.array(right),
        objective=np.ones(6),
        constant=0.0,
        lower=np.zeros(6),
        upper=np.full(6, np.inf),
        integer=np.zeros(6, dtype=bool),
        row_labels=list("abcdef"),
        column_labels=list("uvwxyz"),
    )
    assert proofs.is_integral(program).verdict == INTEGRAL


def test_only_integer_variables_of_a_mixed_program_must_be_integral():
    """The facility location form of lot sizing is integral in the setups; what is made need not be."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var([1, 2], bounds=(0, 1.5))
    model.y = pyo.Var([1, 2], domain=pyo.Integers, bounds=(-0.5, 1.5))
    model.setup = pyo.Constraint([1, 2], rule=lambda m, t: m.x[t] <= 1.5 * m.y[t])
    model.objective = pyo.Objective(expr=model.y[1] - model.x[1])
    answer = proofs.is_integral(model)
    assert str(answer) == "integral: all 9 vertices, enumerated in fractions, are integral in the integer variables"
    model.most = pyo.Constraint(expr=model.x[1] + model.x[2] >= 2)
    assert set(proofs.is_integral(model).fractional) <= {"y[1]", "y[2]"}
    for variable in model.y.values():
        variable.domain = pyo.Reals
    assert proofs.is_integral(model).verdict == FRACTIONAL


def test_decimals_are_the_fractions_that_they_mean():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.least = pyo.Constraint(expr=0.5 * model.x >= 0.1)
    model.objective = pyo.Objective(expr=model.x)
    assert str(proofs.is_integral(model)) == "fractional: a vertex has x = 1/5 (recomputed in fractions)"


def test_the_commands_print_evidence_in_names(tmp_path, triangle, capsys):
    assert main(["tu", str(triangle)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "not totally unimodular: rows [ab, bc, ca], columns [a, b, c] have determinant" in said
    assert main(["tu", str(write(tmp_path, "t.lp", LP)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["totally_unimodular"] is True
    assert main(["integral", str(triangle), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["fractional"] == {"a": "1/2", "b": "1/2", "c": "1/2"}
    assert main(["integral", str(write(tmp_path, "t.lp", LP))]) == 0
    assert "integral: the matrix is totally unimodular" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda model, x: model.add_objective((x * x).sum(), overwrite=True),
            "got a quadratic objective; write them as",
        ),
        (lambda model, x: model.add_sos_constraints(x, sos_type=1, sos_dim="dim_0"), "got special ordered sets"),
        (lambda model, x: model.add_variables(1, 3, name="y", semi_continuous=True), "got semi-continuous variables"),
        (lambda model, x: (model.remove_objective(), model.remove_variables("x")), "with variables, got none"),
    ],
)
def test_what_a_model_of_linopy_does_not_hold_here_is_refused_by_name(change, message):
    linopy = pytest.importorskip("linopy")
    model = linopy.Model()
    x = model.add_variables(lower=0, upper=9, coords=[range(3)], name="x")
    model.add_objective(x.sum())
    change(model, x)
    with pytest.raises(ValueError, match=message):
        formulations.matrix(model)


def test_a_model_of_linopy_keeps_its_names():
    linopy = pytest.importorskip("linopy")

    model = linopy.Model()
    x = model.add_variables(lower=0, upper=1, coords=[np.arange(3)], name="x")
    y = model.add_variables(binary=True, name="y")
    model.add_constraints(x.sum() + y <= 2, name="cap")
    model.add_constraints(x - y >= 0, name="before")
    model.add_objective(x.sum() + 2 * y, sense="max")
    program = formulations.matrix(model)
    assert program.column_labels == ("x[0]", "x[1]", "x[2]", "y")
    assert program.row_labels == ("cap", "before[0]", "before[1]", "before[2]")
    assert program.objective.tolist() == [-1, -1, -1, -2]
    assert program.integer.tolist() == [False, False, False, True]
    assert program.senses.tolist() == ["<=", ">=", ">=", ">="]
    answer = proofs.is_totally_unimodular(model)
    assert not answer
    assert set(answer.column_names) <= set(program.column_labels)
    pairs = pd.Index([("a", 1), ("b", 2)], tupleize_cols=False, name="pair")
    model.add_variables(coords=[pairs], name="z")
    assert formulations.matrix(model).column_labels[-2:] == ("z[a,1]", "z[b,2]")


MPS_TWICE = """NAME t
ROWS
 N obj
 L r1
 L r2
COLUMNS
 x obj 1 r1 1
 y r1 1
 x2 r2 2
RHS
 RHS r1 1
ENDATA
"""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.mps", MPS_TWICE.replace("r2", "r1"), "expected rows of different names, got two of the same name"),
        (
            "columns.mps",
            MPS_TWICE.replace("x2", "x"),
            "expected columns of different names, got two of the same name; name each column once",
        ),
        (
            "rows.lp",
            "Minimize\n o: x + y\nSubject To\n c: x + y <= 1\n c: x - y >= 0\nEnd\n",
            "expected rows of different names, got two of the name c; name each row once",
        ),
    ],
)
def test_names_in_a_file_that_clash(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        formulations.matrix(write(tmp_path, name, text))


CHANGED_BY_HIGHS = {
    "an entry twice": (MPS.replace(" x need 1", " x need 1 need 2"), "t.mps", 'has duplicate nonzero 2 in row "need"'),
    "a side twice": (MPS.replace("need 1\nRANGES", "need 1\n RHS cap 5\nRANGES"), "t.mps", "duplicate value 5"),
    "a small entry": (MPS.replace("y cost 2 cap 1", "y cost 2 cap 1e-12"), "t.mps", "at/below tolerance of 1e-09"),
    "an unknown row": (MPS.replace("y cost 2 cap 1", "y cost 2 other 1"), "t.mps", "other|fixed format"),
}


@pytest.mark.parametrize(("text", "name", "reason"), CHANGED_BY_HIGHS.values(), ids=CHANGED_BY_HIGHS)
def test_files_that_highs_would_change_are_refused_with_its_reason(tmp_path, capfd, text, name, reason):
    with pytest.raises(ValueError, match=f"HiGHS reads as it is written, got one that it changes: .*({reason})"):
        proofs.is_totally_unimodular(write(tmp_path, name, text))
    assert capfd.readouterr() == ("", "")


def test_ranges_before_sides_are_refused(tmp_path):
    """HiGHS reads the row as if it had no range."""
    sides, ranges = "RHS\n RHS cap 4 need 1\n", "RANGES\n R cap 2\n"
    with pytest.raises(ValueError, match="expected RHS before RANGES"):
        formulations.matrix(write(tmp_path, "t.mps", MPS.replace(sides + ranges, ranges + sides)))


def test_a_sense_in_a_comment_is_refused(tmp_path):
    """PuLP writes so what it maximises; others minimise it."""
    for text in (MPS, MPS.replace("NAME t", "NAME t\nOBJSENSE\n MAX")):
        for sense in ("Minimize", "Maximize"):
            file, said = write(tmp_path, "pulp.mps", f"*SENSE:{sense}\n{text}"), "MAX" in text
            if sense == "Minimize" or said:
                assert formulations.matrix(file).maximised == said
            else:
                with pytest.raises(ValueError, match="expected the sense in OBJSENSE, got it in a comment"):
                    formulations.matrix(file)


def test_bounds_of_binary_variables_are_read_in_two_ways_so_they_are_refused(tmp_path):
    """HiGHS keeps them, wherever they stand; others put 0 and 1 in their place."""
    for section in ("binary", "Bin", "BINARIES"):
        text = LP.replace("x <= 3", "y <= 5").replace("binary", section)
        with pytest.raises(ValueError, match="expected bounds of the binary variable y within 0 and 1, got 0 and 5"):
            formulations.matrix(write(tmp_path, "t.lp", text))
    fixed = formulations.matrix(write(tmp_path, "f.lp", LP.replace("x <= 3", "y = 1")))
    assert fixed.lower[1] == fixed.upper[1] == 1
    whole = formulations.matrix(
        write(tmp_path, "w.lp", LP.replace("x <= 3", "x <= 5").replace(" y\nend", " y\ngeneral\n x\nend"))
    )
    assert whole.upper.tolist() == [5, 1]


def test_products_that_highs_takes_for_names_are_refused(tmp_path):
    """HiGHS reads the variables (y and ) in place of 4 times y less 4."""
    for product in ("4 (y - 1)", "4 (y)"):
        with pytest.raises(ValueError, match=r"expected names that do not begin with a parenthesis, got \(y"):
            formulations.matrix(write(tmp_path, "t.lp", LP.replace("cap: x + y", f"cap: x - {product}")))
    named = formulations.matrix(write(tmp_path, "n.lp", TRIANGLE.replace("a", "v(1,a)")))
    assert named.column_labels[0] == "v(1,a)"


def test_bounds_of_no_column_are_refused(tmp_path):
    """HiGHS makes a column of the name, and the bound of the one that was meant is lost."""
    for line in (" UP BND X 3", " UP X 3", " FR BND X", " MI X"):
        with pytest.raises(ValueError, match="expected bounds of a column in COLUMNS, got X in"):
            formulations.matrix(write(tmp_path, "t.mps", MPS.replace(" UP BND x 3", line)))


def test_a_negative_upper_bound_alone_is_read_in_two_ways_so_it_is_refused(tmp_path):
    negative = MPS.replace("UP BND x 3", "UP BND x -3")
    for name, text in (("t.mps", negative), ("t.lp", LP.replace("x <= 3", "x <= -3"))):
        with pytest.raises(ValueError, match=r"expected a lower bound of x, whose upper bound is -3.0"):
            formulations.matrix(write(tmp_path, name, text))
    both = formulations.matrix(write(tmp_path, "b.mps", negative.replace(" UP BND", " MI BND x\n UP BND")))
    assert (both.lower[0], both.upper[0]) == (-np.inf, -3)


def test_files_with_a_mistake_or_a_mark_are_refused_with_the_reason(tmp_path):
    for text, reason in (
        (LP.replace("x + y <= 4", "x y <= 4"), "that it refuses: expected"),
        ("\ufeff" + LP, "without a byte order mark"),
    ):
        with pytest.raises(ValueError, match=reason):
            proofs.is_totally_unimodular(write(tmp_path, "t.lp", text))


def test_terms_of_one_variable_are_added_up(tmp_path):
    program = LP.replace("x + y <= 4", "x + y + x <= 4")
    assert not proofs.is_totally_unimodular(write(tmp_path, "t.lp", program))


def test_rows_of_several_lengths_are_no_matrix():
    with pytest.raises(ValueError, match=r"^matrix: expected rows of one length, got some of 1 and 2$"):
        proofs.is_totally_unimodular([[1], [1, 2]])


def test_a_relaxation_without_vertices_has_no_fractional_one():
    """A solver's point on an edge of it is 1/3 or 1/2 by chance: x = y = 1 is another."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(), pyo.Var()
    model.above = pyo.Constraint(expr=3 * model.x - 2 * model.y >= 1)
    model.objective = pyo.Objective(expr=3 * model.x - 2 * model.y)
    answer = proofs.is_integral(model)
    assert answer.verdict == OPEN
    assert "the relaxation has no vertices" in answer.evidence
    model.x.setlb(0)
    assert proofs.is_integral(model).verdict == FRACTIONAL


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lazy.mps", MPS.replace("COLUMNS", "LAZYCONS\n L later\nCOLUMNS")),
        ("cuts.mps", MPS.replace("COLUMNS", "USERCUTS\n L later\nCOLUMNS")),
        ("lazy.lp", LP.replace("bounds", "lazy constraints\n later: x <= 1\nbounds")),
    ],
)
def test_sections_that_highs_reads_as_rows_are_refused(tmp_path, name, text):
    with pytest.raises(ValueError, match=r"got (lazy constraints|user cuts); write them as rows"):
        proofs.is_totally_unimodular(write(tmp_path, name, text))


@pytest.mark.parametrize("number", ["1,5", "1/2", "1_000", "abc", "--1", "1e", ""])
@pytest.mark.parametrize("line", [" x cost 1 cap 1", " RHS cap 4 need 1", " R cap 2", " UP BND x 3"])
def test_what_is_no_number_is_refused(tmp_path, line, number):
    """HiGHS reads 1 for 1,5 and 1/2, and 0 for the others: a matrix that is not totally unimodular would be."""
    file = write(tmp_path, "odd.mps", MPS.replace(line, f"{line[:-1]}{number}"))
    with pytest.raises(ValueError, match=r"odd\.mps: expected numbers such as 1\.5 and 1e-3 in "):
        proofs.is_totally_unimodular(file)


@pytest.mark.parametrize("number", ["+1", "1.", "1.0D0", "1e0"])
def test_numbers_in_other_writings_are_read(tmp_path, number):
    file = write(tmp_path, "plain.mps", MPS.replace(" x need 1", f" x need {number}"))
    assert proofs.is_totally_unimodular(file)
