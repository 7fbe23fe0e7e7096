"""The papers' data as their publishers distribute them: where each is to be had, and how its files are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from ipforest._internal.arrays import Array, save_arrays
from ipforest.datasets.afabench import is_afabench, read_afabench
from ipforest.datasets.class_last import CLASS_LAST, read_class_last
from ipforest.datasets.images import read_cifar10, read_mnist
from ipforest.datasets.named import BUNDLED, GENERATED
from ipforest.datasets.raw_files import file_bytes, numbers_in
from ipforest.datasets.sparse_text import read_budgetrf, read_letor, read_yahoo
from ipforest.datasets.tables import Tables

__all__ = ["SOURCES", "SPLIT_SEED", "Source", "drawn_parts", "import_data"]

SPLIT_SEED = 20150706
MINIBOONE_PARTS = (45_523, 19_510)
"""Train and validation events of the papers; the other 65,031 are for testing."""
MAX_HEAD_LENGTH = 100
"""Bytes of the first line of MiniBooNE's file."""


@dataclass(frozen=True, slots=True)
class Source:
    """A data set that users fetch themselves.

    Parameters
    ----------
    files : str
        What its publisher calls them.
    origin : str
        Where it is to be had.
    read : callable (path) -> Tables
    """

    files: str
    origin: str
    read: Callable[[Path], Tables]


def import_data(name: str, path: str | Path, folder: str | Path) -> Path:
    """Read a data set as it is distributed, and write it where `ipforest.datasets.load` finds it.

    A folder of files in the text format of BudgetRF's authors is read under each name; see `read_budgetrf`. So is a
    split of AFABench, whose name may be any other, too; see `ipforest.datasets.afabench.read_afabench`.

    Parameters
    ----------
    name : str
        A key of `SOURCES`; of a split of AFABench the name of the file that is written.
    path : path
        Its file, archive or folder.
    folder : path
        The data folder, which the environment variable IPFOREST_DATA names.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    ValueError
        An unknown name, or a file that is truncated, of another format, or of more classes.
    FileNotFoundError
        A file that belongs to the data set is not there.
    """
    tables = _reader(name, Path(path))(Path(path))
    last = len(tables.class_names) - 1
    if tables.y.min() < 0 or tables.y.max() > last:
        raise ValueError(f"{path}: expected classes from 0 to {last}, got {tables.y.min()} to {tables.y.max()}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    target = Path(folder) / f"{name}.npz"
    save_arrays(target, tables.arrays())
    return target


def _reader(name: str, path: Path) -> Callable[[Path], Tables]:
    """Say what reads a file, archive or folder that is to have a name."""
    if is_afabench(path):
        if name in (*BUNDLED, *GENERATED) or not name.replace("-", "_").isidentifier():
            raise ValueError(f"name: expected a new name of letters, digits, _ and -, got {name!r}")
        return read_afabench
    if name not in SOURCES:
        raise ValueError(f"name: expected one of {', '.join(SOURCES)}, got {name!r}")
    return read_budgetrf if path.is_dir() and any(path.glob("*_tr")) else SOURCES[name].read


def read_miniboone(path: Path) -> Tables:
    """Read ``MiniBooNE_PID.txt``: a line with the numbers of signal and background events, then 50 values a line."""
    content = BytesIO(file_bytes(path))
    first = content.readline(MAX_HEAD_LENGTH).rstrip()
    head = first.split()
    if len(head) != 2 or not all(count.isdigit() for count in head):
        raise ValueError(f"{path}: expected two counts in the first line, got {first[:40]!r}")
    values = numbers_in(content, path, np.float32)
    n_signal, n_background = map(int, head)
    if values.shape != (n_signal + n_background, 50):
        raise ValueError(f"{path}: expected {n_signal + n_background} lines of 50 values, got {values.shape}")
    y = np.repeat([1, 0], [n_signal, n_background])
    names = [f"ParticleID_{number}" for number in range(50)]
    split = drawn_parts(y.size, MINIBOONE_PARTS) if y.size > sum(MINIBOONE_PARTS) else None
    return Tables(values, y, names, ["background", "signal"], split)


def read_covertype(path: Path) -> Tables:
    """Read ``covtype.data``, as it is or compressed: 54 attributes and a class from 1 to 7 a line."""
    values = numbers_in(BytesIO(file_bytes(path)), path, np.int16, ",")
    if values.shape[1] != 55 or values[:, -1].min() < 1 or values[:, -1].max() > 7:
        got = (
            f"{values[:, -1].min()} to {values[:, -1].max()}" if values.shape[1] == 55 else f"{values.shape[1]} values"
        )
        raise ValueError(f"{path}: expected 54 attributes and a class from 1 to 7 in each line, got {got}")
    measured = [
        "Elevation",
        "Aspect",
        "Slope",
        "Horizontal_Distance_To_Hydrology",
        "Vertical_Distance_To_Hydrology",
        "Horizontal_Distance_To_Roadways",
        "Hillshade_9am",
        "Hillshade_Noon",
        "Hillshade_3pm",
        "Horizontal_Distance_To_Fire_Points",
    ]
    areas = [f"Wilderness_Area{number}" for number in range(1, 5)]
    soils = [f"Soil_Type{number}" for number in range(1, 41)]
    kinds = ["Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow", "Aspen", "Douglas-fir", "Krummholz"]
    return Tables(values[:, :-1], values[:, -1].astype(np.int64) - 1, [*measured, *areas, *soils], kinds, None)


def drawn_parts(n_samples: int, sizes: tuple[int, int]) -> Array:
    """Draw train (0) and validation (1) rows of the papers' sizes, always the same; the others are for testing (2)."""
    split = np.full(n_samples, 2, dtype=np.uint8)
    order = np.random.default_rng(SPLIT_SEED).permutation(n_samples)
    split[order[: sizes[0]]] = 0
    split[order[sizes[0] : sum(sizes)]] = 1
    return split


SOURCES: Mapping[str, Source] = {
    "miniboone": Source("MiniBooNE_PID.txt", "UCI, MiniBooNE particle identification (dataset 199)", read_miniboone),
    "forest": Source("covtype.data or covtype.data.gz", "UCI, Covertype (dataset 31)", read_covertype),
    "mnist": Source("a folder with the four idx files, plain or .gz", "yann.lecun.com/exdb/mnist", read_mnist),
    "cifar10": Source(
        "cifar-10-binary.tar.gz, cifar-10-python.tar.gz, or the folder in one",
        "www.cs.toronto.edu/~kriz/cifar.html",
        read_cifar10,
    ),
    "yahoo": Source(
        "a folder with set1.train.txt, set1.valid.txt, set1.test.txt, and for prices yahoo_cs_cost",
        "Yahoo! Webscope, C14 (its licence forbids sharing), and github.com/fnan/FeatureBudgetedRandomForest",
        read_yahoo,
    ),
    "letor": Source("a folder with train.txt, vali.txt, test.txt, a fold", "Microsoft Research, LETOR 4.0", read_letor),
    "scene15": Source(
        "a folder in the text format of BudgetRF: margins of SVMs, _cost and _costgroup",
        "your own SVMs on the descriptors of Scene-15; the papers' margins are not published",
        read_budgetrf,
    ),
    **{name: Source(f"{name}.dat, the class last", origin, read_class_last) for name, origin in CLASS_LAST.items()},
}
"""The papers' large data sets, by the names that experiments use, LETOR, and tables that no default was chosen on.

No reader takes the vectors of Object Bank: its program computes 44,604 values of an image (177 detectors x 12 scales x
21 cells), but in which files they are distributed is not documented where we looked (public programs that call it, and
pages about it), and the papers use the margins of 15 SVMs per descriptor in their place.
"""
