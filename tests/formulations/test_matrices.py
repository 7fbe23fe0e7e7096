"""Arrays and Pyomo state the same program, of the size that the papers count."""

import builtins
import gzip
import inspect
import re
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from reference import load_reference
from strategies import instances, lambdas

import formulations
from formulations import FORMULATIONS, ModelSize, exact_results
from formulations.arrays import linear_program
from ipforest import PruningInstance
from ipforest.cli import main


def assert_same(one, other):
    assert one.A.shape == other.A.shape
    assert (one.A != other.A).nnz == 0
    assert one.constant == other.constant
    for field in ("senses", "rhs", "objective", "lower", "upper", "integer"):
        assert np.array_equal(getattr(one, field), getattr(other, field)), field
    assert list(one.row_labels) == list(other.row_labels)
    assert list(one.column_labels) == list(other.column_labels)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@pytest.mark.parametrize("name", FORMULATIONS)
@given(instance=instances(), lam=lambdas)
def test_arrays_equal_pyomo(name, instance, lam):
    if FORMULATIONS[name].one_tree and instance.n_trees > 1:
        with pytest.raises(ValueError, match="instance: expected one tree for ip2, got"):
            formulations.build(name, instance, lam)
        return
    for relaxed in (False, True):
        model = formulations.build(name, instance, relaxed=relaxed, **FORMULATIONS[name].numbers(lam))
        assert_same(formulations.matrix(model), linear_program(model.specification))


@settings(max_examples=50, deadline=None)
@given(instance=instances(), lam=lambdas)
def test_sizes_in_closed_form(instance, lam):
    for name, info in FORMULATIONS.items():
        if info.one_tree and instance.n_trees > 1:
            continue
        built = linear_program(formulations.specify(name, instance, **FORMULATIONS[name].numbers(lam)))
        assert formulations.size(name, instance) == ModelSize(built.n_columns, built.n_rows)
    ours, papers = formulations.size("ip3", instance), formulations.papers_bound(instance)
    assert ours.variables <= papers.variables
    assert ours.constraints <= papers.constraints


def test_the_papers_count_is_exact_where_all_trees_and_examples_are_alike():
    """Two copies of one tree, every example through both tests: the bounds of section 4 are met with equality."""
    one = load_reference("figure_1_tree").instance
    twice = PruningInstance(
        tree_offsets=[0, 5, 10],
        node_parent=[*one.node_parent, *(above + 5 if above >= 0 else -1 for above in one.node_parent)],
        errors=[*one.errors, *one.errors],
        indptr=[0, 1, 2, 3, 4],
        indices=[0, 1, 0, 1],
        acquisition_unit=one.acquisition_unit,
        acquisition_example=one.acquisition_example,
        acquisition_cost=one.acquisition_cost,
        split_cost=[0, 0, 0, 0],
        error_unit=one.error_unit,
        cost_unit=one.cost_unit,
        n_units=2,
        n_examples=1,
    )
    assert formulations.size("ip3", twice) == formulations.papers_bound(twice) == ModelSize(10 + 4 + 2, 6 + 8)


def test_entries_of_the_tree_relations_are_units():
    instance = load_reference("figure_1_ensemble").instance
    for name in ("ip1", "ip3", "compact", "closure"):
        A = linear_program(formulations.specify(name, instance, 1)).A
        assert set(A.data.tolist()) <= {1.0, -1.0}
    closure = linear_program(formulations.specify("closure", instance, 1)).A.toarray()
    assert np.array_equal(np.sort(closure, axis=1)[:, [0, -1]], np.tile([-1, 1], (closure.shape[0], 1)))
    assert np.array_equal(np.abs(closure).sum(axis=1), np.full(closure.shape[0], 2))


def test_labels_name_rows_and_columns():
    built = linear_program(formulations.specify("lp1", load_reference("figure_1_tree").instance, budget=1))
    assert list(built.column_labels) == [
        *(f"z[{node}]" for node in range(5)), "w_tree[0,0,0]", "w_tree[0,1,0]", "w[0,0]", "w[1,0]",
    ]  # fmt: skip
    assert built.row_labels[-1] == "within_budget"
    assert built.row_labels[:3] == [f"one_leaf_per_path[{leaf}]" for leaf in (1, 3, 4)]
    assert [place for place, label in enumerate(built.row_labels) if label.startswith("usage_anywhere[")] == [5, 6]
    with pytest.raises(IndexError):
        built.row_labels[8]
    assert repr(built) == "LinearProgram(0-1, 8 rows, 9 columns, 19 nonzeros)"
    for number, name in ((-1, "lower"), (np.inf, "upper")):
        integer = replace(built, **{name: np.full(9, number)})
        assert repr(integer) == "LinearProgram(integer, 8 rows, 9 columns, 19 nonzeros)"
    assert repr(replace(built, integer=np.zeros(9, dtype=bool))).startswith("LinearProgram(linear, ")


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_exported_files_hold_the_program(tmp_path, name, suffix):
    reference = load_reference("figure_1_tree")
    model = formulations.build(name, reference.instance, **FORMULATIONS[name].numbers(1))
    path = formulations.export(model, tmp_path / f"model{suffix}")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    value = highs.getInfo().objective_function_value * float(model.specification.objective_unit)
    expected = {"ip0": 0, "lp1": 5}.get(name, 3)
    assert value == pytest.approx(expected)
    assert "one_leaf_per_path" in path.read_text() or name == "closure"


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_an_integer_variable_without_an_upper_bound_comes_back(tmp_path, suffix):
    model = pyo.ConcreteModel()
    model.count = pyo.Var([1, 2], domain=pyo.NonNegativeIntegers)
    model.row = pyo.Constraint(expr=model.count[1] - model.count[2] >= 1)
    model.objective = pyo.Objective(expr=model.count[1] + model.count[2])
    file = formulations.export(model, tmp_path / f"counts{suffix}")
    program = formulations.matrix(file)
    assert program.integer.tolist() == [True, True]
    assert program.upper.tolist() == [np.inf, np.inf]
    if suffix == ".mps":
        file.write_text(file.read_text().replace("10E20", "2.5", 1))
        with pytest.raises(ValueError, match="reads as it is written, got one that it changes: Bound for"):
            formulations.matrix(file)


def test_export_refuses_other_formats(tmp_path):
    model = formulations.build("ip0", load_reference("figure_1_tree").instance)
    with pytest.raises(ValueError, match=r"path: expected a name that ends in .lp or .mps, got 'model.txt'"):
        formulations.export(model, tmp_path / "model.txt")


def test_matrix_refuses_what_is_not_linear():
    model = formulations.build("ip0", load_reference("figure_1_tree").instance)
    model.objective.expr = model.z[0] * model.z[1]
    with pytest.raises(ValueError, match="objective: expected a linear expression"):
        formulations.matrix(model)


def test_rows_and_variables_of_a_user_are_taken_as_they_are():
    """A row with two sides is two rows, a fixed variable is its value, a free one is unbounded."""
    model = formulations.build("closure", load_reference("figure_1_tree").instance, 1, relaxed=True)
    before = formulations.matrix(model)
    model.free = pyo.Var()
    model.between = pyo.Constraint(expr=(1, model.free + model.x[0], 2))
    model.x[2].fix(0)
    after = formulations.matrix(model)
    assert after.n_rows == before.n_rows + 2
    assert (after.senses[-2:].tolist(), after.rhs[-2:].tolist()) == (["<=", ">="], [2, 1])
    assert (after.lower[-1], after.upper[-1]) == (-np.inf, np.inf)
    assert after.upper[1] == 0
    assert formulations.solve(model).pruning.kept.tolist() == [True, False]


def test_the_glossary_names_what_there_is():
    instance = load_reference("figure_1_ensemble").instance
    models = [formulations.build(name, instance, "1/4") for name in ("ip3", "closure")]
    owners = {
        "": [instance, SimpleNamespace(**inspect.signature(formulations.build).parameters)],
        "ModelData": [models[0].data],
        "ModelSpecification": [models[0].specification],
        "Pruning": [instance.unpruned],
        "model": models,
        "exact_results": [exact_results],
    }
    names = re.findall(r"``([\w.,\s]+?)``", formulations.__doc__.split("Glossary")[1])
    assert len(names) > 15
    for name in (single for group in names for single in group.split(", ")):
        owner, _, attribute = name.rpartition(".")
        assert any(hasattr(one, attribute) for one in owners[owner]), name


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ([0, 2, 5], "{0, 2, 5}"),
        (pyo.RangeSet(0, 10, 2), "[0:10:2]"),
        (pyo.RangeSet(0.5, 4.5, 1), "[0.5:4.5]"),
        (pyo.Binary & pyo.Set(initialize=[2, 3]), "an empty set"),
    ],
)
def test_a_variable_over_a_set_with_gaps_is_refused(domain, said):
    """As a continuous one it would have vertices that are no values of it, and none of them found."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=domain)
    model.objective = pyo.Objective(expr=model.x)
    with pytest.raises(
        ValueError, match=rf"x: expected a variable over the reals or .*, got one over {re.escape(said)};"
    ):
        formulations.matrix(model)


def test_a_row_without_a_side_binds_nothing():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.open = pyo.Constraint(expr=(None, 2 * model.x, float("inf")))
    model.objective = pyo.Objective(expr=model.x)
    assert formulations.matrix(model).n_rows == 0


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_names_that_are_one_in_a_file_are_refused(tmp_path, suffix):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a b", "a_b"], domain=pyo.Binary)
    model.some = pyo.Constraint(expr=model.x["a b"] + model.x["a_b"] >= 1)
    model.objective = pyo.Objective(expr=model.x["a b"])
    with pytest.raises(ValueError, match="model: expected names that differ in more than signs"):
        formulations.export(model, tmp_path / f"model{suffix}")
    assert not list(tmp_path.iterdir())


def test_many_short_lines_take_little_more_memory_than_their_text(tmp_path):
    file = tmp_path / "program.mps"
    file.write_text(f"NAME\nROWS\n N o\n{' G a' * 3}\n{'x y' + chr(10)}" + " G a\n" * 400_000)
    tracemalloc.start()
    with pytest.raises(ValueError, match="expected ENDATA in the last line, got 'G a'; the file is cut off"):
        formulations.matrix(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * file.stat().st_size


@pytest.mark.parametrize(("bounds", "lower"), [(" MI b x\n UP b x -5\n", -np.inf), (" UP b x -5\n LO b x -9\n", -9)])
def test_an_upper_bound_below_0_stands_with_the_lower_one_of_the_file(tmp_path, bounds, lower):
    file = tmp_path / "program.mps"
    file.write_text(f"NAME\nROWS\n N o\n G r\nCOLUMNS\n x o 1 r 1\nRHS\n set r 1\nBOUNDS\n{bounds}ENDATA\n")
    program = formulations.matrix(file)
    assert (program.lower.tolist(), program.upper.tolist()) == ([lower], [-5])


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_a_file_that_gzip_compressed_is_read_as_itself(tmp_path, suffix, capsys):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a", "b"], domain=pyo.Binary)
    model.some = pyo.Constraint(expr=model.x["a"] + model.x["b"] >= 1)
    model.objective = pyo.Objective(expr=model.x["a"])
    plain = formulations.export(model, tmp_path / f"model{suffix}")
    file, content = tmp_path / f"model{suffix}.GZ", plain.read_bytes().replace(b"\n", b"\r\n")
    file.write_bytes(gzip.compress(content))
    expected, program = formulations.matrix(plain), formulations.matrix(file)
    assert (program.A != expected.A).nnz == 0
    assert (program.row_labels, program.column_labels) == (expected.row_labels, expected.column_labels)
    assert main(["tu", str(file)]) == 0
    assert "totally unimodular" in capsys.readouterr().out
    for damaged, message in (
        (gzip.compress(content)[:-9], "expected a whole compressed file, got: Compressed file ended"),
        (gzip.compress(content[:-8]), "in the last line, got .*; the file is cut off"),
        (gzip.compress(content.replace(b"1", b"1,5")), "expected "),
        (gzip.compress(bytes(1 << 25)), "expected a compressed file of at most .* bytes, got one that unpacks to more"),
    ):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"^{re.escape(str(file))}: .*{message}"):
            formulations.matrix(file)
    with pytest.raises(
        ValueError, match=r"^path: expected a file that ends in .mps or .lp, or these with .gz, got 'a.g"
    ):
        formulations.matrix(tmp_path / "a.gz")


def test_what_is_no_number_is_quoted_in_part(tmp_path):
    file = tmp_path / "program.mps"
    file.write_text(f"NAME\nROWS\n N o\n G r\nCOLUMNS\n x o {'a' * 5000}\nRHS\nENDATA\n")
    with pytest.raises(ValueError, match=r"expected numbers .* in COLUMNS, got aaa") as refused:
        formulations.matrix(file)
    assert len(str(refused.value)) < 400 + len(str(file))


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_names_that_the_encoding_of_the_system_lacks_are_refused(tmp_path, monkeypatch, suffix):
    """Pyomo writes in it, which on Windows is not UTF-8."""
    opened = builtins.open

    def in_ascii(file, mode="r", *rest, encoding=None, **options):
        return opened(file, mode, *rest, encoding="ascii" if mode == "w" else encoding, **options)

    monkeypatch.setattr(builtins, "open", in_ascii)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["λ"], domain=pyo.Binary)
    model.some = pyo.Constraint(expr=model.x["λ"] >= 1)
    model.objective = pyo.Objective(expr=model.x["λ"])
    with pytest.raises(ValueError, match=r"model: expected names in ascii, the encoding of this system, .* got 'λ'"):
        formulations.export(model, tmp_path / f"model{suffix}")
    assert not list(tmp_path.iterdir())
