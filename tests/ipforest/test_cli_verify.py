"""The command `ipforest verify`: what was exchanged beside a genuine certificate is refused by its name."""

import json
import shutil

import numpy as np
import pytest

from ipforest import Forest
from ipforest.cli import main
from ipforest.tabular.model_files import load_model
from proofs.certificates.archive import read_archive, write_archive
from proofs.provenance import fingerprint_of_forest, read_result


def prune(folder, *goal, data="iris"):
    assert main(["prune", "--data", data, "--trees", "5", *goal, "--out", str(folder), "--json"]) == 0
    return folder


def verify(folder, certificate, capsys, **files):
    """Run the command on files of a folder, or others; return the exit code and what it says."""
    options = {"model": "model.skops", "examples": "examples.npz", "prices": "prices.csv", "pruned": "pruned.skops"}
    options |= {"result": "result.json", "instance": "instance.npz"}
    given = [f"--{name}={value}" for name, value in ({k: folder / file for k, file in options.items()} | files).items()]
    capsys.readouterr()
    code = main(["verify", str(folder / certificate), *given])
    return code, capsys.readouterr().out


def dearer(prices):
    """Double the first price of a list of prices of 1."""
    first, *rest = prices.read_text().splitlines()
    return "\n".join([first, rest[0].replace("1,,", "2,,"), *rest[1:]])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("pruned")
    return {
        "optimality.cert": (prune(base / "lambda", "--lam", "0.02"), prune(base / "other", "--lam", "0.1")),
        "path.cert": (prune(base / "budget", "--budget", "1"), prune(base / "less", "--budget", "0.5")),
    }


@pytest.mark.slow
@pytest.mark.parametrize("certificate", ["optimality.cert", "path.cert"])
def test_what_prune_writes_is_verified(folders, certificate, capsys):
    folder, _ = folders[certificate]
    code, out = verify(folder, certificate, capsys)
    assert code == 0, out
    assert out.startswith("accepted: ")
    for entry in ("model", "examples", "prices", "loss", "pruning", "file pruned.skops"):
        assert f"\n  {entry} " in out
    assert ("\n  budget " in out) == (certificate == "path.cert")
    assert main(["verify", str(folder / certificate), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["provenance"]["loss"] == "misclassification"


@pytest.mark.parametrize("certificate", ["optimality.cert", "path.cert"])
@pytest.mark.parametrize(
    ("name", "file"), [("pruned", "pruned.skops"), ("result", "result.json"), ("prices", "prices.csv")]
)
def test_what_is_exchanged_beside_a_certificate_is_refused_by_name(folders, certificate, name, file, capsys, tmp_path):
    folder, other = folders[certificate]
    if name == "prices":
        (tmp_path / file).write_text(dearer(folder / file))
    else:
        shutil.copy(other / file, tmp_path / file)
    code, out = verify(folder, certificate, capsys, **{name: tmp_path / file})
    assert code == 1
    assert out.startswith(f"refused: {name}: ")
    swapped = shutil.copytree(folder, tmp_path / "swapped")
    shutil.copy(tmp_path / file, swapped / file)
    assert main(["verify", str(swapped / certificate)]) == 1
    assert capsys.readouterr().out.startswith(f"refused: {file} in the certificate's folder is not the file")


@pytest.mark.parametrize("name", ["model", "examples"])
def test_another_model_or_other_examples_are_refused_by_name(folders, name, capsys, tmp_path):
    folder, _ = folders["optimality.cert"]
    if name == "model":
        other = prune(tmp_path / "seed", "--lam", "0.02", "--seed", "1") / "model.skops"
    else:
        with np.load(folder / "examples.npz") as arrays:
            np.savez(tmp_path / "other.npz", X=arrays["X"][1:])
        other = tmp_path / "other.npz"
    code, out = verify(folder, "optimality.cert", capsys, **{name: other})
    assert code == 1
    assert out.startswith(f"refused: {name}: the certificate was made with ")


def test_a_forged_origin_does_not_help(folders, capsys, tmp_path):
    """Seal a genuine proof with the fingerprints of other prices: the instance made again is another one."""
    folder, _ = folders["optimality.cert"]
    (tmp_path / "prices.csv").write_text(dearer(folder / "prices.csv"))
    forged = shutil.copytree(folder, tmp_path / "forged")
    header, arrays = read_archive(folder / "optimality.cert")
    kept = {k: v for k, v in header["provenance"].items() if k != "prices" and not k.startswith("file ")}
    write_archive(forged / "optimality.cert", header | {"provenance": kept}, arrays)
    code, out = verify(forged, "optimality.cert", capsys, prices=tmp_path / "prices.csv")
    assert code == 1
    assert out.startswith("refused: instance: the model, examples and prices given make another one")


def test_loss_and_split_cost_can_be_asked_for(folders, capsys):
    folder, _ = folders["optimality.cert"]
    code, out = verify(folder, "optimality.cert", capsys, **{"loss": "misclassification", "split-cost": "0.0"})
    assert code == 0, out
    assert "make the instance, counted by misclassification; " in out
    for name, value in (("loss", "gini"), ("split-cost", "1/2")):
        code, out = verify(folder, "optimality.cert", capsys, **{name: value})
        assert code == 1
        assert out.startswith(f"refused: {name.replace('-', '_')}: the certificate was made with ")
        assert out.splitlines()[0].endswith(f", the one given is {value}")


def test_a_cap_is_part_of_what_is_verified(capsys, tmp_path):
    folder = prune(tmp_path, "--budget", "1", "--max-cost", "1")
    code, out = verify(folder, "path.cert", capsys)
    assert code == 0, out
    assert "\n  max_cost " in out


@pytest.mark.parametrize("goal", [("--lam", "0.02"), ("--budget", "2")])
def test_prices_that_no_path_counts_exactly_are_rounded_and_the_verdict_says_so(goal, capsys, tmp_path):
    names = [f"{part} {size} (cm)" for part in ("sepal", "petal") for size in ("length", "width")]
    prices = tmp_path / "list.csv"
    lines = ("feature,price", *map(",".join, zip(names, ("1e13", "1", ".333", "2"), strict=True)))
    prices.write_text("\n".join(lines))
    folder = prune(tmp_path / "pruned", *goal, "--prices", str(prices))
    notes = capsys.readouterr().err
    assert notes.startswith("ipforest: note: feature_costs: prices are counted in multiples of ")
    code, out = verify(folder, "path.cert" if goal[0] == "--budget" else "optimality.cert", capsys)
    assert code == 0, out
    rounded = ", with prices rounded up to multiples of 1/10"
    assert f"counted by misclassification{rounded}; " in out
    given = ("--data", "iris", "--trees", "5", "--prices", str(prices), "--out", str(tmp_path / "again"))
    assert main(["prune", *goal, *given]) == 0
    assert f"{rounded}.\n" in capsys.readouterr().out


def test_usage_is_checked(folders, capsys):
    folder, _ = folders["optimality.cert"]
    file = str(folder / "optimality.cert")
    assert main(["verify", file, "--model", str(folder / "model.skops")]) == 2
    assert main(["verify", file, "--pruned", str(folder / "pruned.skops")]) == 2
    assert main(["verify", file, "--result", file]) == 2
    assert main(["verify", str(folder / "absent.cert")]) == 2
    assert main(["verify", file, "--loss", "gini"]) == 2
    assert main(["verify", file, "--split-cost", "1"]) == 2
    assert capsys.readouterr().err.count("ipforest: error: ") == 6
    assert main(["verify", str(folder / "result.json")]) == 1
    assert capsys.readouterr().out.startswith("refused: ")


def test_what_prune_writes_reads_as_the_same_model(folders):
    folder, _ = folders["optimality.cert"]
    model = load_model(folder / "model.skops")
    pruned = Forest.from_sklearn(load_model(folder / "pruned.skops"))
    result = read_result((folder / "result.json").read_text())
    assert fingerprint_of_forest(Forest.from_sklearn(model).prune(result.pruning)) == fingerprint_of_forest(pruned)
