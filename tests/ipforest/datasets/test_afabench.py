"""Splits of AFABench, whose tensors are read without PyTorch."""

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

from ipforest import datasets
from ipforest.cli import main
from ipforest.datasets.distributed import import_data
from ipforest.datasets.tensors import read_tensors

STORAGES = {"f4": "FloatStorage", "f8": "DoubleStorage", "i8": "LongStorage", "?": "BoolStorage"}


class Tensor:
    """Pickled as PyTorch pickles a tensor."""

    def __init__(self, values, shape=None, strides=None, offset=0, kind="f4"):
        self.values = np.asarray(values, dtype=kind)
        self.shape = self.values.shape if shape is None else shape
        steps = [int(np.prod(self.shape[axis + 1 :])) for axis in range(len(self.shape))]
        self.strides = tuple(steps) if strides is None else strides
        self.offset, self.kind = offset, kind


@pytest.fixture
def written(monkeypatch):
    """What ``torch.save`` writes for a dict, with stand-ins for the names that it refers to."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in STORAGES.values():
        setattr(torch, name, type(name, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2():
        """Only its name is pickled."""

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)

    class Storage:
        def __init__(self, number, tensor):
            self.number, self.tensor = number, tensor

    class Pickler(pickle.Pickler):
        def __init__(self, file, stored):
            super().__init__(file, protocol=2)
            self.stored = stored

        def persistent_id(self, part):
            if not isinstance(part, Storage):
                return None
            kind = getattr(torch, STORAGES[part.tensor.kind])
            return ("storage", kind, str(part.number), "cpu", part.tensor.values.size)

        def reducer_override(self, part):
            if not isinstance(part, Tensor):
                return NotImplemented
            self.stored.append(part.values)
            storage = Storage(len(self.stored) - 1, part)
            return _rebuild_tensor_v2, (storage, part.offset, part.shape, part.strides, False, OrderedDict())

    def write(content, order="little"):
        packed, stored, file = io.BytesIO(), [], io.BytesIO()
        Pickler(packed, stored).dump(content)
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("dataset/data.pkl", packed.getvalue())
            archive.writestr("dataset/byteorder", order)
            for number, values in enumerate(stored):
                swapped = values if order == "little" else values.astype(values.dtype.newbyteorder(">"))
                archive.writestr(f"dataset/data/{number}", swapped.tobytes())
        return file.getvalue()

    return write


@pytest.fixture
def split(tmp_path, written):
    rng = np.random.default_rng(0)
    parts = {}
    for part, size in (("train", 6), ("val", 3), ("test", 4)):
        X, y = rng.normal(size=(size, 5)).astype(np.float32), rng.integers(3, size=size)
        X[0, 0] = np.nan
        file = tmp_path / "diabetes" / f"{part}.bundle" / "data" / "dataset.pt"
        file.parent.mkdir(parents=True)
        file.write_bytes(written({"features": Tensor(X), "labels": Tensor(np.eye(3)[y]), "config": {"seed": 42}}))
        parts[part] = X, y
    return tmp_path / "diabetes", parts


@pytest.mark.parametrize("order", ["little", "big"])
def test_tensors_are_arrays(written, order):
    told = {
        "rows": Tensor([[1.5, 2], [3, 4]]),
        "columns": Tensor(range(6), (2, 3), (1, 2), kind="i8"),
        "part": Tensor([9, 8, 7, 6], (2,), (2,), 1, "f8"),
        "one": Tensor(3.5, ()),
        "none": Tensor([], (0, 4)),
        "flags": Tensor([True, False], kind="?"),
        "config": {"seed": 3, "name": "cube", "shares": [0.5, None]},
    }
    found = read_tensors(written(told, order))
    assert found["rows"].tolist() == [[1.5, 2], [3, 4]]
    assert found["columns"].tolist() == [[0, 2, 4], [1, 3, 5]]
    assert found["part"].tolist() == [8, 6]
    assert found["one"] == 3.5
    assert found["none"].shape == (0, 4)
    assert found["flags"].tolist() == [True, False]
    assert found["config"] == told["config"]


def test_what_pytorch_writes_is_read():
    torch = pytest.importorskip("torch")
    told = {"features": torch.randn(7, 3).t(), "labels": torch.eye(3)[torch.tensor([0, 2, 1])], "config": {"seed": 1}}
    file = io.BytesIO()
    torch.save(told, file)
    found = read_tensors(file.getvalue())
    assert all(np.array_equal(found[name], told[name].numpy()) for name in ("features", "labels"))
    assert found["config"] == {"seed": 1}


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(range(4), (5,), (1,)), "5 entries in 4 values"),
        (Tensor(range(4), (2, 2), (3, 1)), "4 entries in 4 values"),
        (Tensor(range(4), (2**40, 2**40), (0, 0)), "entries in 4 values"),
        (Tensor(range(4), (2,), (-1,), 1), "of another shape than its strides"),
        (Tensor(range(4), (2,), (1, 1)), "of another shape than its strides"),
        (Tensor(range(4), (1,), (1,), 4), "1 entries in 4 values"),
    ],
)
def test_tensors_that_reach_beyond_their_values_are_refused(written, tensor, message):
    with pytest.raises(ValueError, match=message):
        read_tensors(written({"features": tensor}))


def test_what_names_other_things_is_refused(written):
    for told in ({"features": print}, {"features": np.float64(1)}, {"features": types.SimpleNamespace()}):
        with pytest.raises(pickle.UnpicklingError, match="a file that names"):
            read_tensors(written(told))


def test_a_split_is_taken_in_under_a_name_of_ones_own(split, tmp_path, monkeypatch, capsys):
    folder, parts = split
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path / "data"))
    (folder / "costs.csv").write_text("1.5,0.5,1,1,1\n")
    assert main(["data", "afabench-diabetes-1", str(folder)]) == 0
    data = datasets.load("afabench-diabetes-1")
    for number, (X, y) in enumerate(parts.values()):
        np.testing.assert_array_equal(data.X[data.split == number], X)
        assert data.y[data.split == number].tolist() == y.tolist()
    assert data.costs.cost_of(np.eye(5)).tolist() == [1.5, 0.5, 1, 1, 1]
    (folder / "costs.csv").unlink()
    import_data("plain", folder, tmp_path / "data")
    assert datasets.load("plain").costs.cost_of(np.eye(5)).tolist() == [1] * 5


def test_splits_that_are_damaged_are_refused(split, tmp_path, written):
    folder, _ = split
    for name in ("iris", "../out", "a/b", ""):
        with pytest.raises(ValueError, match="name: expected a new name of letters, digits, _ and -"):
            import_data(name, folder, tmp_path / "data")
    (folder / "costs.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"costs\.csv: expected 5 prices of at least 0, one per feature, got 2"):
        import_data("own", folder, tmp_path / "data")
    (folder / "costs.csv").write_text("one\n")
    with pytest.raises(ValueError, match=r"costs\.csv: expected prices parted by commas, got: could not convert"):
        import_data("own", folder, tmp_path / "data")
    (folder / "costs.csv").unlink()
    file = folder / "val.bundle" / "data" / "dataset.pt"
    labels = Tensor(np.eye(3))
    for content, message in (
        (file.read_bytes()[:-30], "expected the tensors features and labels, got: "),
        (written({"features": Tensor(np.ones((3, 5)))}), "expected the tensors features and labels, got: 'labels'"),
        (written({"features": Tensor(np.ones(3)), "labels": labels}), r"got shapes \(3,\) and \(3, 3\)"),
        (written({"features": Tensor(np.ones((3, 4))), "labels": labels}), "as many features and classes in each part"),
        (written({"features": Tensor(np.full((3, 5), np.inf)), "labels": labels}), "expected finite values or NaN"),
        (written({"features": Tensor(np.ones((3, 5))), "labels": Tensor(np.ones((3, 3)))}), "1 for one class and 0"),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            import_data("own", folder, tmp_path / "data")
    file.unlink()
    with pytest.raises(FileNotFoundError, match="expected the tensors of a part of the split, got no such file"):
        import_data("own", folder, tmp_path / "data")
