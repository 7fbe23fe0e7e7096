"""Model files that somebody else wrote: nothing in them runs, and nothing that kernels rely on is taken on trust."""

import json
import pickle
import subprocess
import sys
import warnings
from functools import partial
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from edited_models import node, packed, plain, running, sequence, take_edits, unpacked, with_attribute
from fuzz_files import DRAWS, Evil, fuzz
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ipforest import BudgetPrune, FeatureCosts, Forest
from ipforest.cli import main
from ipforest.policy import TreesInOrder
from ipforest.tabular.loadable_types import KEYS, LOSSES, NAMED_TUPLES, OBJECTS, SCALARS
from ipforest.tabular.loaded_models import check_loaded
from ipforest.tabular.model_files import load_model, save_model
from ipforest.tabular.skops_files import _require_class, checked_file

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A genuine model, its files and a certificate; a pickle that writes ``marker``, and models that would load it."""
    folder = tmp_path_factory.mktemp("hostile")
    X.to_csv(folder / "table.csv", index=False)
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, Y)
    model = BudgetPrune(forest, budget=2, random_state=0).fit(X, Y)
    (folder / "evil.pkl").write_bytes(pickle.dumps(Evil(str(folder / "marker"))))
    hidden = running(str(folder / "evil.pkl"), str(folder / "marker"))["key type"]
    for name, saved in (("model", model), ("forest", forest)):
        content = save_model(saved, folder / f"{name}.skops").read_bytes()
        (folder / f"evil_{name}.skops").write_bytes(with_attribute(content, hidden))
    files = ["--model", str(folder / "forest.skops"), "--examples", str(folder / "table.csv")]
    assert main(["prune", *files, "--lam", "1/100", "--json", "--out", str(folder / "out")]) == 0
    return folder


@pytest.mark.slow
def test_no_command_runs_what_is_hidden_in_a_genuine_model(folder) -> None:
    evil, model = str(folder / "evil_model.skops"), ["--model", str(folder / "forest.skops")]
    of_forest = ["--model", str(folder / "evil_forest.skops")]
    examples, certificate = ["--examples", str(folder / "table.csv")], str(folder / "out" / "optimality.cert")
    commands = [
        ["predict", "--model", evil, "--csv", str(folder / "table.csv")],
        ["session", "--model", evil],
        ["prune", *of_forest, *examples, "--lam", "1/100"],
        ["path", *of_forest, *examples],
        ["verify", certificate, *of_forest, *examples],
        ["verify", certificate, *model, *examples, "--pruned", str(folder / "evil_forest.skops")],
        ["predict", "--model", str(folder / "evil.pkl"), "--csv", str(folder / "table.csv")],
    ]
    script = "import json, sys; from ipforest.cli import main; print([main(a) for a in json.loads(sys.argv[1])])"
    process = subprocess.run([sys.executable, "-c", script, json.dumps(commands)], capture_output=True, text=True)
    assert not (folder / "marker").exists()
    assert process.stdout.splitlines()[-1] == str([2] * len(commands)), process.stderr
    lines = [line for line in process.stderr.splitlines() if line.startswith("ipforest: error: ")]
    assert len(lines) == len(commands)
    assert "Traceback" not in process.stderr
    for line in lines[:-1]:
        assert (
            "skops, got: ipforest.tabular.model_files.load_model, a type that is neither scikit-learn's nor of this"
            in line
        )
    assert "expected a .skops file, got one that may run any code" in lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(running("", "")))
def test_no_kind_of_node_runs_anything(folder, tmp_path, kind: str) -> None:
    hidden = running(str(folder / "evil.pkl"), str(folder / "marker"))[kind]
    deeper = node("builtins.list", "ListNode", content=[hidden])
    for value in (hidden, deeper):
        (tmp_path / "model.skops").write_bytes(with_attribute((folder / "model.skops").read_bytes(), value))
        with pytest.raises(ValueError, match=r"model\.skops: expected a complete model written by skops, got: "):
            load_model(tmp_path / "model.skops")
    assert not (folder / "marker").exists()


def test_what_is_called_by_skops_is_what_was_looked_at(folder, tmp_path) -> None:
    """A number shared by two nodes: the second one must not be passed over, nor stand for the first."""
    load = node("ipforest.tabular.model_files.load_model", "TypeNode")
    types = node("builtins.list", "ListNode", __id__=77, content=[load])
    pair = sequence(
        plain(1) | {"__id__": 77}, node("builtins.dict", "DictNode", key_types=types, content={"x": plain(1)})
    )
    inner = node("builtins.list", "ListNode", __id__=78, content=[])
    cycle = node("builtins.list", "ListNode", __id__=78, content=[inner])
    content = (folder / "model.skops").read_bytes()
    for value, message in ((pair, "ListNode expected in the schema, got JsonNode"), (cycle, "a node inside itself")):
        (tmp_path / "model.skops").write_bytes(with_attribute(content, value))
        with pytest.raises(ValueError, match=message):
            load_model(tmp_path / "model.skops")


def test_every_type_on_the_list_is_a_class_of_its_module() -> None:
    for name in OBJECTS | NAMED_TUPLES | LOSSES | KEYS | SCALARS:
        _require_class(name)


def test_functions_and_methods_are_not_saved(tmp_path) -> None:
    model = BudgetPrune(RandomForestClassifier(2, random_state=0)).fit(X, Y)
    method = FeatureCosts([1]).cost_of
    for value, name in ((load_model, "load_model"), (method, "MethodNode"), (partial(int), "partial")):
        model.note_ = value
        with pytest.raises(TypeError, match=rf"model: expected parts of .* got .*{name}.*; write a \.joblib file"):
            save_model(model, tmp_path / "model.skops")


# Limits.


def write_schema(path: Path, schema: str) -> None:
    with ZipFile(path, "w") as archive:
        archive.writestr("schema.json", schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("[" * 100_000, "at most 100 nested objects and arrays"),
        ('{"protocol": 2, "content": ' + '{"a":' * 200 + "1" + "}" * 201, "at most 100 nested"),
        ("[" + "[]," * 2_000_000 + "1]", "fewer values, got about 4000001 in 6000003 characters"),
        ('{"protocol": 1}', "protocol 1, where 2 or later was expected"),
        ('{"protocol": true}', "protocol True"),
    ],
    ids=["deep", "deep in a model", "many", "old", "no protocol"],
)
def test_schemas_are_bounded(tmp_path, schema: str, message: str) -> None:
    write_schema(tmp_path / "model.skops", schema)
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "model.skops")


def test_bombs_are_refused_before_they_are_unpacked(folder, tmp_path) -> None:
    bomb = tmp_path / "model.skops"
    with ZipFile(bomb, "w", ZIP_DEFLATED) as archive:
        for name, content in unpacked((folder / "model.skops").read_bytes()).items():
            archive.writestr(name, content)
        with archive.open("more.npy", "w", force_zip64=True) as member:
            for _ in range(100):
                member.write(bytes(1 << 20))
    with pytest.raises(ValueError, match=r"unpacked bytes where at most 67108864 are taken; save without compression"):
        load_model(bomb)


def test_a_member_that_stands_twice_is_refused(folder, tmp_path) -> None:
    content = (folder / "model.skops").read_bytes()
    (tmp_path / "model.skops").write_bytes(content)
    with ZipFile(tmp_path / "model.skops", "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("schema.json", "{}")
    with pytest.raises(ValueError, match="a member that stands twice"):
        load_model(tmp_path / "model.skops")


def test_compressed_models_are_read(folder, tmp_path) -> None:
    with ZipFile(tmp_path / "model.skops", "w", ZIP_DEFLATED) as archive:
        for name, content in unpacked((folder / "model.skops").read_bytes()).items():
            archive.writestr(name, content)
    predicted, expected = (load_model(file / "model.skops").predict(X) for file in (tmp_path, folder))
    np.testing.assert_array_equal(predicted, expected)


# Arrays.


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("left", 10**6, "left, right: expected each child after its parent"),
        ("right", -7, "left, right: expected each child after its parent"),
        ("feature", 99, r"feature: expected 0\.\.3 at internal nodes"),
        ("tree_offsets", 10**6, "tree_offsets: expected 0 and then the ascending ends"),
    ],
)
def test_arrays_of_a_forest_are_checked_again(name: str, value: int, message: str) -> None:
    forest = Forest.from_sklearn(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y))
    array = getattr(forest, name).copy()
    array[0] = value
    object.__setattr__(forest, name, array)
    with pytest.raises(ValueError, match=message):
        check_loaded({"a": [forest]})


def test_what_is_derived_is_derived_again() -> None:
    forest = Forest.from_sklearn(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y))
    policy = TreesInOrder(forest)
    expected = policy._lowest
    policy._lowest = np.zeros((1, 1))
    parent = forest.parent
    object.__setattr__(forest, "parent", np.full(10, 10**6))
    check_loaded(policy)
    np.testing.assert_array_equal(policy._lowest, expected)
    np.testing.assert_array_equal(forest.parent, parent)


def test_prices_of_other_features_do_not_reach_the_kernels(folder) -> None:
    model = load_model(folder / "model.skops")
    model.costs_ = FeatureCosts([1, 2])
    with pytest.raises(
        ValueError, match=r"policy: expected trees of 2 features, as many as examples have, got trees of 4"
    ):
        model.session()


@pytest.mark.parametrize("field", ["left_child", "right_child", "feature"])
def test_trees_of_scikit_learn_are_checked(field: str) -> None:
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y)
    state = forest.estimators_[1].tree_.__getstate__()
    state["nodes"][field][0] = 10**6
    forest.estimators_[1].tree_.__setstate__(state)
    with pytest.raises(ValueError, match="expected"):
        check_loaded(forest)


def with_categories(content: bytes, categories: object) -> bytes:
    """Give a tree in a file numbers of categories, as scikit-learn 1.10 does."""
    members = unpacked(content)
    schema = json.loads(members["schema.json"])
    buffer = BytesIO()
    np.save(buffer, np.asarray(categories))
    arguments = schema["content"]["content"]["tree_"]["__reduce__"]["args"]["content"]
    arguments.append(node("numpy.ndarray", "NdArrayNode", type="numpy", file="categories.npy"))
    return packed({**members, "schema.json": json.dumps(schema).encode(), "categories.npy": buffer.getvalue()})


def test_trees_with_numbers_of_categories_are_looked_at(tmp_path) -> None:
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    content = save_model(tree, tmp_path / "tree.skops").read_bytes()
    assert checked_file(with_categories(content, [-1] * 4)).types == checked_file(content).types
    for wrong in ([-1] * 3, [-1.0] * 4, [-2] * 4, -1):
        with pytest.raises(ValueError, match="a number of categories for each feature of a tree expected, got"):
            checked_file(with_categories(content, wrong))
    if len(tree.tree_.__reduce__()[1]) == 3:
        (tmp_path / "later.skops").write_bytes(with_categories(content, [-1] * 4))
        with pytest.raises(ValueError, match="expected"):
            load_model(tmp_path / "later.skops")


def test_members_of_a_forest_have_its_features() -> None:
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y)
    forest.n_features_in_ = 2
    with pytest.raises(ValueError, match="estimators_: expected members of 2 features, got 4"):
        check_loaded(forest)


@pytest.mark.slow
def test_some_edited_arrays(folder) -> None:
    with warnings.catch_warnings(action="ignore"):
        outcomes = take_edits(str(folder / "model.skops"), str(folder / "table.csv"), 25)
    assert sum(outcomes.values()) == 25
    assert min(outcomes.values()) > 0


@pytest.mark.slow
@pytest.mark.long
def test_edited_arrays_end_in_no_signal(folder) -> None:
    """Before arrays were checked again, 20 of 400 edits ended in a segmentation fault and one never."""
    script, model = str(Path(__file__).parents[2] / "edited_models.py"), str(folder / "model.skops")
    command = [sys.executable, script, model, str(folder / "table.csv"), "400"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    assert sum(json.loads(process.stdout).values()) == 400


@pytest.mark.slow
def test_edited_files_of_all_kinds_end_in_one_line() -> None:
    counts, faults = fuzz(60, 11, list(DRAWS), count=40)
    assert faults == []
    assert sum(counts.values()) == 40
