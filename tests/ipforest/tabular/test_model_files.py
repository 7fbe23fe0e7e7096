"""Models on disk: read as they were written, or refused with the file's name."""

import copy
import json
import pickle
from collections import Counter
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from skops import io

from ipforest.frontiers import AveragedTrees
from ipforest.tabular.model_files import load_model, save_model

X = np.random.default_rng(0).random((50, 3))


@pytest.mark.parametrize("name", ["model.skops", "model.joblib"])
def test_models_predict_as_before_and_cut_files_are_refused(tmp_path, name: str) -> None:
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, X[:, 0] > 0.5)
    path = save_model(model, tmp_path / name)
    np.testing.assert_array_equal(load_model(path).predict(X), model.predict(X))
    whole = path.read_bytes()
    for size in np.random.default_rng(0).integers(len(whole), size=20).tolist():
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=f"{name}: expected a complete .*, got: ."):
            load_model(path)


@pytest.mark.parametrize("content", [b"junk", b"", b"."])
def test_what_is_no_pickle_is_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "model.pkl").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.pkl: expected a complete file written by joblib\.dump, got: ."):
        load_model(tmp_path / "model.pkl")


def test_a_schema_that_is_no_model_is_refused(tmp_path) -> None:
    with ZipFile(tmp_path / "model.skops", "w") as archive:
        archive.writestr("schema.json", json.dumps([1]))
    with pytest.raises(ValueError, match=r"model\.skops: expected a complete model written by skops, got: "):
        load_model(tmp_path / "model.skops")


def test_what_would_not_be_read_back_is_not_written(tmp_path) -> None:
    model = RandomForestClassifier(2, random_state=0).fit(X, X[:, 0] > 0.5)
    model.note_ = Counter(a=1)
    with pytest.raises(TypeError, match=r"parts of .*model\.skops, got collections\.Counter; write"):
        save_model(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())
    io.dump(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"model\.skops: expected .*, got: collections\.Counter, a type"):
        load_model(tmp_path / "model.skops")
    assert load_model(save_model(model, tmp_path / "model.joblib")).note_ == {"a": 1}


def test_an_absent_file_is_no_damaged_one(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "model.joblib")


def test_a_model_takes_a_fraction_of_its_pickle(tmp_path) -> None:
    many = np.random.default_rng(1).random((1000, 3))
    model = RandomForestClassifier(5, random_state=0).fit(many, many[:, 0] + many[:, 2] ** 2 > many[:, 1] * 2)
    path = save_model(model, tmp_path / "model.skops")
    assert path.stat().st_size < 0.4 * len(pickle.dumps(model))
    np.testing.assert_array_equal(load_model(path).predict_proba(X), model.predict_proba(X))


def test_a_model_is_taken_apart_once_and_small_files_are_compressed(tmp_path, monkeypatch) -> None:
    model, dumped, dumps = RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 0.5), [], io.dumps
    monkeypatch.setattr(io, "dumps", lambda value, **options: dumped.append(value) or dumps(value, **options))
    file = save_model(model, tmp_path / "model.skops")
    assert dumped == [model]
    with ZipFile(file) as archive:
        assert {member.compress_type for member in archive.infolist()} == {ZIP_DEFLATED}


def test_averaged_trees_at_rest_are_saved_and_damaged_ones_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ipforest.ensemble.packed_forests.MIN_RESTING_BYTES", 1)
    X, y = load_breast_cancer(return_X_y=True)
    trees = AveragedTrees(3, random_state=0).fit(X, y).rest()
    again = load_model(save_model(trees, tmp_path / "trees.skops"), allow_pickle=False)
    np.testing.assert_array_equal(again.predict_proba(X), trees.predict_proba(X))
    packed = trees.ensembles_.members[0].packed
    damaged = {"nodes": packed["nodes"][:-9], "n_features": 31, "tree_offsets": packed["tree_offsets"][:-1]}
    for name, value in damaged.items():
        wrong = copy.deepcopy(trees)
        wrong.ensembles_.members[0].packed[name] = value
        with pytest.raises(ValueError, match=r"expected"):
            load_model(save_model(wrong, tmp_path / "wrong.skops"), allow_pickle=False)


def test_a_package_that_is_not_installed_is_told_with_the_file(tmp_path) -> None:
    file = tmp_path / "model.pkl"
    file.write_bytes(b"cno_such_package\nModel\n.")
    with pytest.raises(ModuleNotFoundError, match=r"model\.pkl: expected a model of packages .*'no_such_package'"):
        load_model(file)


def test_losses_are_read_as_scikit_learn_1_8_names_their_module(tmp_path):
    X, y = load_iris(return_X_y=True)
    boosted = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    saved, renamed = save_model(boosted, tmp_path / "model.skops"), tmp_path / "renamed.skops"
    with ZipFile(saved) as archive, ZipFile(renamed, "w") as written:
        for member in archive.namelist():
            content = archive.read(member)
            written.writestr(member, content.replace(b'"sklearn._loss._loss"', b'"_loss"'))
            assert member != "schema.json" or b'"sklearn._loss._loss"' in content or b'"_loss"' in content
    np.testing.assert_array_equal(load_model(renamed).predict(X), boosted.predict(X))
