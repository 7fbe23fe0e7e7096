"""Delimited text: encoding and separator recognised where they are certain, cells that a spreadsheet would compute."""

from __future__ import annotations

import codecs
import csv
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import IntArray

SEPARATORS = (",", ";", "\t")
"""Separators that are recognised; others are asked for."""

MIN_ZEROS = 0.05
"""Share of zero bytes from which on a file is taken for UTF-16; one is a fault of a text."""

MARKS_OF_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

OTHER_FILES = (
    (b"\x1f\x8b", "a file packed by gzip", "unpack it"),
    (b"BZh91AY&SY", "a file packed by bzip2", "unpack it"),
    (b"\xfd7zXZ", "a file packed by xz", "unpack it"),
    (b"\x28\xb5\x2f\xfd", "a file packed by zstd", "unpack it"),
    (b"PK\x03\x04", "a zip file, as spreadsheets are", "unpack it, or save the spreadsheet as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet", "save it as CSV UTF-8"),
    (b"PAR1", "a Parquet file", "write it as CSV, as by pandas.read_parquet(...).to_csv(..., index=False),"),
    (b"ARROW1", "a Feather file", "write it as CSV, as by pandas.read_feather(...).to_csv(..., index=False),"),
    (b"\x89HDF", "an HDF5 file", "write it as CSV"),
    (b"\x93NUMPY", "an array of NumPy", "write it as CSV with the names of the columns"),
    (b"\x80\x04", "a pickle", "write it as CSV"),
    (b"\x80\x05", "a pickle", "write it as CSV"),
)
"""How files begin that are no text, what they are, and what makes a table of them."""

FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""How a text begins that a spreadsheet computes, or that was escaped for it."""
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
MAX_KEPT_ONCE = 1 << 18
"""Of so many different cells, the first ones, each is in memory once however often it stands in the file."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV is written; None is recognised from the file, or refused where the file leaves it open.

    Parameters
    ----------
    separator : str or None
        One character; comma, semicolon and tab are recognised.
    decimal : "." or "," or None
    encoding : str or None
        As `bytes.decode` names it; UTF-8, and UTF-16 and UTF-32 with a byte order mark, are recognised.

    Raises
    ------
    ValueError
        Not one character, another decimal mark, one mark for both, or an encoding that Python does not know.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in "\r\n\"'"):
            raise ValueError(f"separator: expected one character, such as ; or a tab, got {self.separator!r}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal: expected . or , got {self.decimal!r}")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError):
                raise ValueError(
                    f"encoding: expected the name of an encoding, such as cp1252, got {self.encoding!r}"
                ) from None


RECOGNISED = CsvFormat()
"""Nothing of how a file is written is known beforehand."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a delimited file, stripped, without blank lines.

    Parameters
    ----------
    lines : ndarray of int64, shape (n_rows,)
        Line of each row in the file, its last one where a cell has line breaks.
    cells : ndarray of str, dtype object, shape (n_rows, n_columns)
        Each column in one piece of memory.
    separator : str
    """

    lines: IntArray
    cells: npt.NDArray[np.object_]
    separator: str

    def without_empty_rows_at_the_end(self) -> Rows:
        """Leave out what a spreadsheet makes of blank lines at the end: rows without a value."""
        n_rows = self.lines.size
        while n_rows > 0 and not any(self.cells[n_rows - 1]):
            n_rows -= 1
        return replace(self, lines=self.lines[:n_rows], cells=self.cells[:n_rows])

    def without_empty_columns(self) -> Rows:
        """Leave out what separators at the ends of all lines make: columns without a name and without a value."""
        if not self.cells.size or all(self.cells[0]) or self.cells.shape[1] == 1:
            return self
        places = [place for place, column in enumerate(self.cells.T) if any(column)]
        return replace(self, cells=self.cells.T[places].T)


def read_rows(path: str | Path, form: CsvFormat) -> Rows:
    """Read a delimited file.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        The encoding or the separator is in doubt (the message says what to give), rows have different lengths, or a
        quote is not closed.
    """
    text = _decoded(Path(path).read_bytes(), str(path), form.encoding)
    first_line, separator = 1, form.separator
    declared = re.match(r"sep=(.)\r?\n", text, re.IGNORECASE)  # as Excel reads and writes it
    if declared and separator in (None, declared[1]):
        first_line, separator, text = 2, declared[1], text[declared.end() :]
    if separator is None:
        separator = _recognised_separator(text, str(path))
    lines, columns = _split(text, separator, str(path), first_line)
    return Rows(lines, _table(columns, lines.size), separator)


def _table(columns: list[list[str]], n_rows: int) -> npt.NDArray[np.object_]:
    """Make a table of columns; each is emptied as soon as it is copied, so that few are in memory twice."""
    table = np.empty((len(columns), n_rows), dtype=object)
    for place, column in enumerate(columns):
        table[place] = column
        column.clear()
    return table.T


def _decoded(data: bytes, path: str, encoding: str | None) -> str:
    for mark, name in MARKS_OF_ENCODINGS:
        if data.startswith(mark):
            return _decode(data, name, path)
    for mark, kind, cure in OTHER_FILES:
        if data.startswith(mark) and (b"\0" in data or not mark.isascii()):  # a column may be called PAR1
            raise ValueError(f"{path}: expected a text file, got {kind}; {cure} first")
    if encoding is not None:
        return _decode(data, encoding, path)
    if b"\0" in data:
        first, second = (b"\0" in data[place::2] for place in (0, 1))
        is_frequent = data.count(b"\0") > MIN_ZEROS * len(data)  # the high bytes of European letters and separators
        if len(data) % 2 == 0 and first != second and is_frequent:
            return _decode(data, "utf-16-be" if first else "utf-16-le", path)
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(
            f"{path}, line {line}: expected a text file, got zero bytes; a spreadsheet is saved as CSV UTF-8 first"
        )
    return _decode(data, "utf-8", path)


def is_utf8(path: Path) -> bool:
    """Return whether all bytes of a file can be read as UTF-8, which hardly happens to texts in other encodings."""
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode(data: bytes, encoding: str, path: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(
            f"{path}, line {line}: expected text in {encoding.upper()}, got the byte 0x{data[problem.start]:02x}; save "
            "it as UTF-8, or give its encoding (--encoding cp1252 for most files of Excel in western Europe)"
        ) from None


def _recognised_separator(text: str, path: str) -> str:
    """Find the one separator that gives all rows the same length, above one."""
    widths = {separator: _widths(text, separator) for separator in SEPARATORS}
    fitting = [separator for separator, found in widths.items() if len(found) == 1 and found[0] > 1]
    if fitting == [",", ";"] and _are_decimal_commas(text):
        return ";"
    if len(fitting) > 1:
        told = " and ".join(f"{separator!r} ({widths[separator][0]} columns)" for separator in fitting)
        raise ValueError(f"{path}: expected one separator, got rows that fit {told}; give it (--sep)")
    if fitting:
        return fitting[0]
    return max(SEPARATORS, key=lambda separator: widths[separator][0] if widths[separator] else 0)


def _are_decimal_commas(text: str) -> bool:
    """Return whether all commas stand between digits, as in ``CRP;6,50``, and a semicolon does not."""
    commas, semicolons = (len(re.findall(rf"[0-9]{mark}[0-9]", text)) for mark in ",;")
    return commas == text.count(",") and semicolons < text.count(";")


def _widths(text: str, separator: str) -> list[int]:
    """List the different lengths of the rows, that of the first row first; a first row of one cell tells enough."""
    reader = csv.reader(_lines(text), delimiter=separator, skipinitialspace=True, strict=True)
    found: dict[int, None] = {}
    try:
        for row in reader:
            if row:
                found[len(row)] = None
            if len(found) > 1 or len(row) == 1:
                break
    except csv.Error:
        found[0] = None
    return list(found)


def _lines(text: str) -> Iterator[str]:
    """Give lines with their ends, one at a time: a copy of the text could take four times its memory."""
    return (line[0] for line in LINE.finditer(text))


def _split(text: str, separator: str, path: str, first_line: int) -> tuple[IntArray, list[list[str]]]:
    """Split a text into columns, and tell the line of each row."""
    reader = csv.reader(_lines(text), delimiter=separator, skipinitialspace=True, strict=True)
    has_escapes = "'" in text
    lines, columns = array("q"), list[list[str]]()
    known: dict[str, str] = {}
    try:
        for row in reader:
            if not row:
                continue
            lines.append(reader.line_num + first_line - 1)
            columns = columns or [[] for _ in row]
            if len(row) != len(columns):
                extra = "; remove a title above the names of the columns" if len(columns) == 1 else ""
                extra = extra or ("; remove a remark between or below the rows" if len(row) == 1 else "")
                raise ValueError(
                    f"{path}, line {lines[-1]}: expected {len(columns)} cells as in line {lines[0]}, got {len(row)}; "
                    f"cells are separated by {separator!r}, one that holds it stands in double quotes{extra}"
                )
            for column, cell in zip(columns, row, strict=True):
                text = unescaped(cell.strip()) if has_escapes else cell.strip()
                column.append(known.setdefault(text, text) if len(known) < MAX_KEPT_ONCE else known.get(text, text))
    except csv.Error as problem:
        line, begun = reader.line_num + first_line - 1, lines[-1] + 1 if lines else first_line
        raise ValueError(
            f"{path}, line {line}: expected text in cells, got: {problem}, in the row that begins in line {begun}; a "
            "double quote opens a cell, and another one closes it"
        ) from None
    return np.frombuffer(lines, dtype=np.int64), columns


def escaped(text: str) -> str:
    """Escape a text that a spreadsheet would compute, by an apostrophe before it; numbers stay as they are.

    `unescaped` gives it back. The rule is that of OWASP, "CSV Injection": a text that begins with ``=``, ``+``, ``-``,
    ``@``, their wide forms, a tab or a line break. A text that looks escaped is escaped once more.
    """
    return f"'{text}" if FORMULA.match(text) and not _is_number(text) else text


def unescaped(text: str) -> str:
    """Give back what `escaped` was given."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return re.fullmatch(r"[+-]?\d+/\d+", text) is not None
    return True
