"""The instance library: its checksums, its certificates, its readers, a table of solvers."""

import json

import numpy as np
import pytest

from ipforest import solve
from ipforest.cli import main
from ipforest.solvers import SOLVERS
from proofs.study import instance_library as library
from proofs.study.generated_forests import Shape, generated_instance
from proofs.study.instance_library import INSTANCES, LibraryInstance

FEW = ("small-03", "knapsack-00", "forest-00")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    assert library.make(folder, FEW) == []
    return folder


def test_there_are_forty_and_each_has_a_checksum():
    assert len(INSTANCES) == 40
    assert set(library.stored_checksums()) == set(INSTANCES)


@pytest.mark.parametrize("name", FEW)
def test_an_instance_is_read_and_certified(made, name):
    assert library.check(made, name), library.check(made, name)
    known = library.read(made, name)
    assert LibraryInstance.from_json(known.to_json()).to_json() == known.to_json()
    for lam, optimum in known.optima.items():
        assert solve(known.instance, lam).objective == optimum


def test_truncated_edited_and_exchanged_files_are_refused(made, tmp_path):
    text = (made / "small-03.json").read_text()
    for other in (text[: len(text) // 2], text.replace('"optima":{"', '"optima":{"1', 1)):
        (tmp_path / "small-03.json").write_text(other)
        with pytest.raises(ValueError, match=r"expected the checksum .* make the instance again"):
            library.read(tmp_path, "small-03")
        assert not library.check(tmp_path, "small-03")
    (tmp_path / "small-03.json").write_text(text)
    (tmp_path / "small-03.certificate").write_bytes((made / "forest-00.certificate").read_bytes())
    assert "about" in library.check(tmp_path, "small-03").reason
    with pytest.raises(ValueError, match="name: expected an instance of the library, such as small-00, got 'none'"):
        library.read(made, "none")
    for broken, message in (
        ("[]", "expected a JSON object"),
        ('{"version": 1}', "expected an instance written by to_json"),
        ('{"version": 9}', "expected an instance of version 1, got version 9"),
        (text[: len(text) // 2], "expected a JSON object, got text that is damaged or cut off"),
    ):
        with pytest.raises(ValueError, match=message):
            LibraryInstance.from_json(broken)


def test_generated_forests_are_the_same_from_a_seed():
    shape = Shape(2, 3, 10, 4)
    one, two = (generated_instance(np.random.default_rng(7), shape) for _ in range(2))
    assert one.fingerprint() == two.fingerprint()
    assert one.n_trees == 2
    assert one.n_examples == 10
    assert one.node_depth.max() <= 3


@pytest.mark.parametrize("action", ["check", "table"])
def test_a_folder_that_is_not_there_is_told_once(capsys, tmp_path, action):
    assert main(["instances", action, str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.endswith("none: expected the folder of `ipforest instances make`, got no such one\n")


def test_the_commands(made, capsys, tmp_path):
    assert main(["instances", "check", str(made), "--names", *FEW]) == 0
    assert capsys.readouterr().out.count("accepted") == 3
    table = ["instances", "table", str(made), "--names", *FEW, "--solvers", "min-cut", "highs-lp", "--json"]
    assert main([*table, "--out", str(tmp_path)]) == 0
    written = (tmp_path / "instance-solvers.csv").read_text().splitlines()
    assert written[0] == "solver,solved,wrong,failed,cpu_seconds,problem"
    assert written[1].startswith("min-cut,3,0,0,")
    runs = json.loads(capsys.readouterr().out)
    assert [(run["solver"], run["solved"], run["wrong"], run["failed"]) for run in runs] == [
        ("min-cut", 3, 0, 0),
        ("highs-lp", 3, 0, 0),
    ]


def test_a_solver_of_a_file_joins_the_table_whatever_it_raises(made, capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def nothing(instance, lam):\n    return None\n\n\ndef stops(instance, lam):\n    raise StopIteration\n"
    )
    table = ["instances", "table", str(made), "--names", *FEW, "--solvers"]
    try:
        assert main([*table, f"{file}:nothing", f"{file}:stops", "--json"]) == 0
    finally:
        for name in {"nothing", "stops"} & set(SOLVERS):
            SOLVERS.remove(name)
    nothing, stops = json.loads(capsys.readouterr().out)
    assert (nothing["failed"], stops["failed"]) == (3, 3)
    assert "nothing: expected a Pruning" in nothing["problem"]
    assert stops["problem"].endswith("StopIteration")
    assert main([*table, "min-cut", "mine"]) == 2
    assert "solvers: expected some of min-cut, " in capsys.readouterr().err


def test_a_wrong_answer_is_counted():
    assert library._judged((1, 1), 1) == ("solved", "")
    assert library._judged((2, 1), 1)[0] == "failed"
    assert library._judged((2, 2), 1)[0] == "wrong"


@pytest.mark.slow
@pytest.mark.long
def test_all_forty(tmp_path):
    assert library.make(tmp_path) == []
    assert all(library.check(tmp_path, name) for name in INSTANCES)
