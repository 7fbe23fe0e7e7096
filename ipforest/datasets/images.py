"""MNIST and CIFAR-10 as their publishers distribute them."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from ipforest._internal.arrays import Array, one_line
from ipforest.datasets.pickled_arrays import DAMAGED_PICKLE, read_pickle
from ipforest.datasets.raw_files import file_bytes, file_in, files_in, members_of
from ipforest.datasets.tables import Tables

__all__ = ["read_cifar10", "read_mnist"]

CIFAR_RECORD = 1 + 3 * 32 * 32
"""Bytes of an image: its class, and its pixels."""
IDX_IMAGES, IDX_LABELS = 0x0803, 0x0801
"""Magic numbers of the files of MNIST: bytes in three dimensions, and in one."""
MAX_PIXELS = 28 * 28
"""Of an image of MNIST."""


def read_mnist(folder: Path) -> Tables:
    """Read the four idx files of MNIST, as they are or compressed; the last sixth of the training images validates."""
    images, labels = [], []
    for part in ("train", "t10k"):
        images.append(_idx(file_in(folder, f"{part}-images-idx3-ubyte", f"{part}-images.idx3-ubyte"), IDX_IMAGES))
        labels.append(_idx(file_in(folder, f"{part}-labels-idx1-ubyte", f"{part}-labels.idx1-ubyte"), IDX_LABELS))
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
    contents = members_of(path, {*binary, *stems}) if path.is_file() else files_in(path, [*binary, *stems])
    is_pickled = stems[0] in contents and binary[0] not in contents
    files, read = (stems, _pickled_batch) if is_pickled else (binary, _batch)
    for file in files:
        if file not in contents:
            raise FileNotFoundError(f"{path}: expected {file} (or {stems[0]} to {stems[-1]} as pickles), got none")
    batches = [read(path, file, contents[file]) for file in files]
    records = np.concatenate(batches)
    split = np.repeat([0, 0, 0, 0, 1, 2], [len(batch) for batch in batches]).astype(np.uint8)
    colours = ("red", "green", "blue")
    names = [f"{colour}_{row}_{column}" for colour in colours for row in range(32) for column in range(32)]
    kinds = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    return Tables(records[:, 1:], records[:, 0].astype(np.int64), names, kinds, split)


def _idx(path: Path, magic: int) -> Array:
    """Read one idx file of bytes."""
    content, n_dimensions = file_bytes(path), magic & 0xFF
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
