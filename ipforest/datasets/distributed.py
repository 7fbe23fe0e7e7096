"""The papers' data as their publishers distribute them: where each is to be had, and how its files are read."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from ipforest._internal.arrays import Array, one_line, save_arrays
from ipforest.datasets.afabench import is_afabench, read_afabench
from ipforest.datasets.class_last import CLASS_LAST, read_class_last
from ipforest.datasets.named import BUNDLED, GENERATED
from ipforest.datasets.pickled_arrays import DAMAGED_PICKLE, read_pickle
from ipforest.datasets.tables import Tables

__all__ = ["SOURCES", "SPLIT_SEED", "Source", "drawn_parts", "import_data"]

SPLIT_SEED = 20150706
MINIBOONE_PARTS = (45_523, 19_510)
"""Train and validation events of the papers; the other 65,031 are for testing."""
CIFAR_RECORD = 1 + 3 * 32 * 32
"""Bytes of an image: its class, and its pixels."""
IDX_IMAGES, IDX_LABELS = 0x0803, 0x0801
"""Magic numbers of the files of MNIST: bytes in three dimensions, and in one."""
MAX_PIXELS = 28 * 28
"""Of an image of MNIST."""
GZIP_MARK = b"\x1f\x8b"
MAX_TIMES_UNPACKED, SPARE_BYTES = 10, 1 << 24
"""What is compressed unpacks to at most so many times its size and these bytes; the data sets do to 7 times."""
BUDGETRF_PARTS = ("_tr", "_tv", "_te")
MAX_FEATURES = 100_000
"""Columns of a sparse file that are made room for."""
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
        An unknown name, or a file that is truncated or of another format.
    FileNotFoundError
        A file that belongs to the data set is not there.
    """
    tables = _reader(name, Path(path))(Path(path))
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
    return read_budgetrf if _is_budgetrf(path) else SOURCES[name].read


def read_miniboone(path: Path) -> Tables:
    """Read ``MiniBooNE_PID.txt``: a line with the numbers of signal and background events, then 50 values a line."""
    content = BytesIO(_bytes(path))
    first = content.readline(MAX_HEAD_LENGTH).rstrip()
    head = first.split()
    if len(head) != 2 or not all(count.isdigit() for count in head):
        raise ValueError(f"{path}: expected two counts in the first line, got {first[:40]!r}")
    values = _numbers(content, path, np.float32)
    n_signal, n_background = map(int, head)
    if values.shape != (n_signal + n_background, 50):
        raise ValueError(f"{path}: expected {n_signal + n_background} lines of 50 values, got {values.shape}")
    y = np.repeat([1, 0], [n_signal, n_background])
    names = [f"ParticleID_{number}" for number in range(50)]
    split = drawn_parts(y.size, MINIBOONE_PARTS) if y.size > sum(MINIBOONE_PARTS) else None
    return Tables(values, y, names, ["background", "signal"], split)


def read_covertype(path: Path) -> Tables:
    """Read ``covtype.data``, as it is or compressed: 54 attributes and a class from 1 to 7 a line."""
    values = _numbers(BytesIO(_bytes(path)), path, np.int16, ",")
    if values.shape[1] != 55 or values[:, -1].min() < 1 or values[:, -1].max() > 7:
        raise ValueError(f"{path}: expected 54 attributes and a class from 1 to 7 in each line, got {values.shape}")
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


def read_mnist(folder: Path) -> Tables:
    """Read the four idx files of MNIST, as they are or compressed; the last sixth of the training images validates."""
    images, labels = [], []
    for part in ("train", "t10k"):
        images.append(_idx(_found(folder, f"{part}-images-idx3-ubyte", f"{part}-images.idx3-ubyte"), IDX_IMAGES))
        labels.append(_idx(_found(folder, f"{part}-labels-idx1-ubyte", f"{part}-labels.idx1-ubyte"), IDX_LABELS))
        if len(images[-1]) != len(labels[-1]):
            raise ValueError(f"{folder}: expected a label for each of {len(images[-1])} images, got {len(labels[-1])}")
    if images[0].shape[1:] != images[1].shape[1:] or prod(images[0].shape[1:]) > MAX_PIXELS:
        sizes = " and ".join(f"{rows} x {columns}" for _, rows, columns in (part.shape for part in images))
        raise ValueError(f"{folder}: expected images of one size, of at most {MAX_PIXELS} pixels, got {sizes}")
    n_train, n_test = map(len, images)
    split = np.repeat([0, 1, 2], [n_train - n_train // 6, n_train // 6, n_test]).astype(np.uint8)
    X = np.concatenate([part.reshape(len(part), -1) for part in images])
    height, width = images[0].shape[1:]
    names = [f"pixel_{row}_{column}" for row in range(height) for column in range(width)]
    return Tables(X, np.concatenate(labels).astype(np.int64), names, [str(digit) for digit in range(10)], split)


def read_cifar10(path: Path) -> Tables:
    """Read CIFAR-10, a folder or the archive as it is distributed; the fifth batch validates. Features are pixels.

    Of the Python version, whose files are pickles, nothing is run; see `ipforest.datasets.pickled_arrays`.
    """
    stems = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    binary = [f"{stem}.bin" for stem in stems]
    contents = _members(path, {*binary, *stems}) if path.is_file() else _files(path, [*binary, *stems])
    is_pickled = stems[0] in contents and binary[0] not in contents
    files, read = (stems, _pickled_batch) if is_pickled else (binary, _batch)
    for file in files:
        if file not in contents:
            raise FileNotFoundError(f"{path}: expected {file} (or {stems[0]} to {stems[-1]} as pickles), got none")
    batches = [read(path, file, contents[file]) for file in files]
    records = np.concatenate(batches)
    split = np.repeat([0, 0, 0, 0, 1, 2], [len(batch) for batch in batches]).astype(np.uint8)
    if records[:, 0].max() > 9:
        raise ValueError(f"{path}: expected classes from 0 to 9, got {records[:, 0].max()}")
    colours = ("red", "green", "blue")
    names = [f"{colour}_{row}_{column}" for colour in colours for row in range(32) for column in range(32)]
    kinds = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    return Tables(records[:, 1:], records[:, 0].astype(np.int64), names, kinds, split)


def read_yahoo(folder: Path) -> Tables:
    """Read set 1 of Yahoo's learning to rank challenge, ``set1.train.txt``, ``set1.valid.txt`` and ``set1.test.txt``.

    A line is a document: ``degree qid:query feature:value ...``. Of the 699 features those are taken that occur, 519.
    Their prices are not distributed with the set: the file ``yahoo_cs_cost`` of BudgetRF's authors, a price per line in
    the order of these features, is read where it is in the folder; else each costs 1.
    """
    files = [_found(folder, f"set1.{part}.txt") for part in ("train", "valid", "test")]
    prices = folder / "yahoo_cs_cost"
    return _documents(files, prices if prices.is_file() else None)


def read_letor(folder: Path) -> Tables:
    """Read a fold of LETOR, ``train.txt``, ``vali.txt`` and ``test.txt``; each feature costs 1."""
    return _documents([_found(folder, f"{part}.txt") for part in ("train", "vali", "test")], None)


def read_budgetrf(folder: Path) -> Tables:
    """Read files in the text format of the program that BudgetRF's and BudgetPrune's authors released.

    The folder has one file each whose name ends with ``_tr`` (train), ``_tv`` (validation) and ``_te`` (test). A line
    is an example, ``label feature:value ...``, or a document, ``degree qid:query feature:value ...``; features are
    numbered from 1. A file that ends with ``_cost`` has the price of each feature, a line each, and one that ends with
    ``_costgroup`` the number of its descriptor: what a descriptor costs is paid once for all its features.
    """
    files = [path for ending in BUDGETRF_PARTS if (path := _ending(folder, ending)) is not None]
    if len(files) != len(BUDGETRF_PARTS):
        raise FileNotFoundError(
            f"{folder}: expected one file each that ends with {', '.join(BUDGETRF_PARTS)} in the folder, "
            f"got {len(files)}"
        )
    cost, group = _ending(folder, "_cost"), _ending(folder, "_costgroup")
    if group is not None and cost is None:
        raise FileNotFoundError(
            f"{group}: expected the prices of the features in a file that ends with _cost, got none"
        )
    parts = [_sparse(path) for path in files]
    width = max(X.shape[1] for X, _, _ in parts)
    prices = None if cost is None else _column(cost, np.float64)
    if prices is not None and prices.size < width:
        raise ValueError(f"{cost}: expected {width} prices, one per feature, got {prices.size}")
    width = width if prices is None else prices.size
    groups = None if group is None else _column(group, np.int64)
    if groups is not None and groups.size != width:
        raise ValueError(f"{group}: expected {width} numbers of descriptors, one per price, got {groups.size}")
    return _joined(files, parts, np.arange(width), prices, groups)


def _is_budgetrf(path: Path) -> bool:
    return path.is_dir() and any(path.glob("*_tr"))


def _ending(folder: Path, ending: str) -> Path | None:
    """Find the file whose name ends so, if there is one."""
    found = sorted(path for path in folder.iterdir() if path.name.endswith(ending) and path.is_file())
    if len(found) > 1:
        raise ValueError(f"{folder}: expected one file that ends with {ending}, got {len(found)}")
    return found[0] if found else None


def _documents(files: list[Path], prices_file: Path | None) -> Tables:
    """Read documents of queries, with the features that occur, in their order."""
    parts = [_sparse(path) for path in files]
    for path, (_, y, queries) in zip(files, parts, strict=True):
        if queries.size != y.size:
            raise ValueError(f"{path}: expected qid:NUMBER in each line, got {queries.size} of {y.size}")
    used = np.unique(np.concatenate([X.indices for X, _, _ in parts]))
    prices = None if prices_file is None else _column(prices_file, np.float64)
    width = max(X.shape[1] for X, _, _ in parts)
    if prices is not None and prices.size not in (used.size, width):
        raise ValueError(
            f"{prices_file}: expected {used.size} prices, one per feature that occurs, or {width}, one per feature, "
            f"got {prices.size}"
        )
    if prices is not None and prices.size != used.size:
        prices = prices[used]
    return _joined(files, parts, used, prices, None)


def _joined(
    files: list[Path], parts: list[tuple[Any, Array, Array]], used: Array, prices: Array | None, groups: Array | None
) -> Tables:
    """Put train, validation and test together, with some of the features."""
    columns: list[Array] = []
    for X, _, _ in parts:
        X.resize((X.shape[0], int(used.max(initial=-1)) + 1))
        columns.append(X[:, used].toarray())
    degrees = np.concatenate([y for _, y, _ in parts])
    if not np.array_equal(degrees, np.rint(degrees)):
        raise ValueError(f"{files[0].parent}: expected whole numbers as labels, got other values")
    labels, y = np.unique(degrees.astype(np.int64), return_inverse=True)
    ranked = all(queries.size == of_part.size for _, of_part, queries in parts)
    return Tables(
        np.concatenate(columns),
        y.astype(np.int64),
        [f"feature{number + 1}" for number in used.tolist()],
        [str(label) for label in labels],
        np.repeat([0, 1, 2], [X.shape[0] for X, _, _ in parts]).astype(np.uint8),
        np.concatenate([queries for _, _, queries in parts]).astype(np.int64) if ranked else None,
        prices,
        groups,
    )


def _sparse(path: Path) -> tuple[Any, Array, Array]:
    """Read lines of a label, perhaps a query, and features with their values."""
    try:
        X, y, queries = load_svmlight_file(BytesIO(_bytes(path)), dtype=np.float32, zero_based=False, query_id=True)
    except (ValueError, OverflowError) as problem:
        raise ValueError(f"{path}: expected lines of a label and feature:value, got: {problem}") from None
    if X.shape[1] > MAX_FEATURES:
        raise ValueError(f"{path}: expected at most {MAX_FEATURES} features, got number {X.shape[1]}")
    return X, y, queries


def _column(path: Path, dtype: type) -> Array:
    """Read a number per line; there may be empty lines between them."""
    values = _numbers(BytesIO(_bytes(path)), path, dtype)
    if values.shape[1] != 1:
        raise ValueError(f"{path}: expected one number in each line, got {values.shape[1]}")
    return values[:, 0]


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


def _bytes(path: Path) -> bytes:
    """Read a file, decompressing it if it is compressed, but not a bomb."""
    with path.open("rb") as plain:
        if plain.read(len(GZIP_MARK)) != GZIP_MARK:
            plain.seek(0)
            return plain.read()
    most = MAX_TIMES_UNPACKED * path.stat().st_size + SPARE_BYTES
    try:
        with gzip.open(path) as unpacked:
            content = unpacked.read(most + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise ValueError(f"{path}: expected a whole compressed file, got: {problem}") from None
    if len(content) > most:
        raise ValueError(f"{path}: expected a compressed file of at most {most} bytes, got one that unpacks to more")
    return content


def _numbers(text: BytesIO, path: Path, dtype: type, separator: str | None = None) -> Array:
    """Read a table of numbers that fit a type."""
    try:
        values = np.loadtxt(text, np.float64, delimiter=separator, ndmin=2)
    except ValueError as problem:
        raise ValueError(f"{path}: expected numbers, as many in each line, got: {problem}") from None
    with np.errstate(invalid="ignore", over="ignore"):
        fitted: Array = values.astype(dtype)
    if np.issubdtype(dtype, np.integer) and not np.array_equal(values, fitted):
        raise ValueError(f"{path}: expected integers of {np.dtype(dtype).itemsize} bytes, got other values")
    return fitted


def drawn_parts(n_samples: int, sizes: tuple[int, int]) -> Array:
    """Draw train (0) and validation (1) rows of the papers' sizes, always the same; the others are for testing (2)."""
    split = np.full(n_samples, 2, dtype=np.uint8)
    order = np.random.default_rng(SPLIT_SEED).permutation(n_samples)
    split[order[: sizes[0]]] = 0
    split[order[sizes[0] : sum(sizes)]] = 1
    return split


def _found(folder: Path, *names: str) -> Path:
    """Find one of several names in a folder, compressed or not."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise FileNotFoundError(f"{folder}: expected {names[0]} or {names[0]}.gz in the folder, got neither")


def _idx(path: Path, magic: int) -> Array:
    """Read one idx file of bytes."""
    content, n_dimensions = _bytes(path), magic & 0xFF
    start = 4 + 4 * n_dimensions
    head = np.frombuffer(content[:start][: len(content) // 4 * 4], dtype=">u4")
    if head.size != 1 + n_dimensions or head[0] != magic:
        raise ValueError(f"{path}: expected an idx file that begins with {magic:#06x}, got another beginning")
    shape = tuple(int(size) for size in head[1:])
    if len(content) - start != prod(shape) or 0 in shape:
        raise ValueError(f"{path}: expected {prod(shape)} bytes of values, at least one, got {len(content) - start}")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _batch(path: Path, name: str, content: bytes) -> Array:
    """Read one file of images of CIFAR-10."""
    if len(content) == 0 or len(content) % CIFAR_RECORD:
        raise ValueError(f"{path}: expected {name} to hold images of {CIFAR_RECORD} bytes, got {len(content)} bytes")
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, CIFAR_RECORD)


def _pickled_batch(path: Path, name: str, content: bytes) -> Array:
    """Read one file of the Python version of CIFAR-10 as records of its binary version."""
    try:
        batch = read_pickle(content)
        labels, pixels = np.asarray(batch[b"labels"]), batch[b"data"]
        if labels.dtype.kind != "i" or pixels.shape != (labels.size, CIFAR_RECORD - 1) or labels.size == 0:
            raise ValueError(f"{labels.size} labels and pixels of shape {pixels.shape}")
        if labels.min() < 0 or labels.max() > 255:
            raise ValueError(f"classes from {labels.min()} to {labels.max()}")
    except DAMAGED_PICKLE as problem:
        raise ValueError(
            f"{path}: expected {name} to hold labels and {CIFAR_RECORD - 1} pixels per image, got: {one_line(problem)}"
        ) from None
    return np.column_stack([labels.astype(np.uint8), pixels])


def _files(folder: Path, names: Collection[str]) -> dict[str, bytes]:
    """Read those files of a folder that are there."""
    found = {}
    for name in names:
        try:
            found[name] = _bytes(_found(folder, name))
        except FileNotFoundError:
            continue
    return found


def _members(archive: Path, names: Collection[str]) -> dict[str, bytes]:
    """Read some files of an archive in one pass, without unpacking the others."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=BytesIO(_bytes(archive)), mode="r:") as files:
            for member in files:
                name = Path(member.name).name
                file = files.extractfile(member) if member.isfile() and not member.issparse() else None
                if file is not None and name in names and name not in found:
                    found[name] = file.read()
    except (tarfile.TarError, ArithmeticError, EOFError, LookupError, RecursionError, ValueError) as problem:
        raise ValueError(f"{archive}: expected an archive of CIFAR-10, got: {problem}") from None
    return found
