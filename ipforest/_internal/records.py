"""Plain records, dictionaries of JSON types: dataclasses as records and back, tables of records as CSV and as text."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from io import StringIO
from pathlib import PurePath
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from rich.console import Console
from rich.table import Table

from ipforest._internal.delimited import escaped
from ipforest._internal.json_text import read_json
from ipforest._internal.rational import written_fraction

T = TypeVar("T")

ENDING = "\r\n"
_BAR = "\\|"
_NUMBERS = re.compile(r"[-+]?\.?\d[\d.,e+-]*%?( (±|/|of) [-+]?[\d.,e+-]+%?)?")


def to_record(item: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON types: exact numbers as "p/q", paths as text, enumerations as values.

    Parameters
    ----------
    item : dataclass instance
        What it holds and has a ``to_dict`` of its own is asked for it.
    names : sequence of str, optional
        Fields to give; by default all.
    """
    return {name: _plain(getattr(item, name)) for name in names or [field.name for field in fields(item)]}


def from_record(kind: type[T], record: Mapping[str, Any], **more: Any) -> T:
    """Make a dataclass of what `to_record` gave.

    Parameters
    ----------
    kind : type
        A dataclass; the types of its fields say how to read them.
    record : mapping
        Keys that are no fields are left alone.
    **more
        Values of fields that are not read from the record.

    Raises
    ------
    ValueError
        A field is missing, or holds what cannot be read as its type.
    """
    hints = get_type_hints(kind)
    values = dict(more)
    for field in fields(cast("Any", kind)):
        if field.name in record and field.name not in more:
            values[field.name] = _read(hints[field.name], record[field.name], field.name)
        elif field.init and field.name not in more and field.default is field.default_factory is MISSING:
            raise ValueError(f"{field.name}: expected a value in the record of a {kind.__name__}, got none")
    return kind(**values)


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    ValueError
        The text is no JSON that `read_json` takes, or another value.
    """
    try:
        return object_of(text)
    except ValueError as problem:
        raise ValueError(f"text: expected a JSON object, got {problem}") from None


def object_of(text: str) -> dict[str, Any]:
    """Read a JSON object, for readers with messages of their own.

    Raises
    ------
    ValueError
        Says what came in place of an object, as the end of a sentence.
    """
    try:
        value = read_json(text)
    except json.JSONDecodeError as broken:
        raise ValueError(f"text that is damaged or cut off ({broken})") from None
    if not isinstance(value, dict):
        raise ValueError(type(value).__name__)
    return value


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (Fraction, Decimal, PurePath)):
        return str(value)
    if is_dataclass(value):
        return to_record(value)
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(entry) for entry in value]
    return value


def _read(kind: Any, value: Any, name: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None and NoneType in inner else _read(inner[0], value, name)
    try:
        if hasattr(kind, "from_dict"):
            return kind.from_dict(value)
        if origin is tuple and inner[1:] == (...,):
            return tuple(_read(inner[0], entry, name) for entry in value)
        if origin is tuple:
            return tuple(_read(part, entry, name) for part, entry in zip(inner, value, strict=True))
        if is_dataclass(kind):
            return from_record(cast("type[Any]", kind), value)
        if kind is Fraction:
            return written_fraction(value, name)
        return kind(value) if isinstance(kind, type) and not isinstance(value, kind) else value
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise ValueError(f"{name}: expected {getattr(kind, '__name__', kind)}, got {value!r} ({problem})") from None


def records_to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Write records as CSV with a header of all their keys; what a record lacks is empty. See `csv_lines`."""
    return "".join(csv_lines(_completed(records)))


def csv_lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Write records of the same keys, in any order, as lines of CSV, a header first, one record at a time.

    Texts that a spreadsheet would compute get an apostrophe; see `ipforest._internal.delimited.escaped` for the rule.
    Tables and price lists are read without it.

    Raises
    ------
    ValueError
        A record has other keys than the first one.
    """
    lines, names = list[str](), list[str]()
    target: Any = SimpleNamespace(write=lines.append)
    writer = csv.writer(target, lineterminator=ENDING)  # quotes either line break; with "\n" it leaves "\r" bare
    for place, record in enumerate(records):
        names = names or [*record]
        if record.keys() != set(names):
            raise ValueError(f"records: expected the keys {', '.join(names)} in each, got {', '.join(record)}")
        cells = [record[name] for name in names]
        for row in (cells,) if place else (names, cells):
            writer.writerow([escaped(cell) if isinstance(cell, str) else cell for cell in row])
            yield lines.pop().removesuffix(ENDING) + "\n"


def _completed(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give all records the same keys in the same order; what one lacks is an empty text."""
    names = dict.fromkeys((name for record in records for name in record), "")
    return [{**names, **record} for record in records]


def records_to_text(records: Sequence[dict[str, Any]]) -> str:
    """Write records as aligned columns with a header of all their keys, lines as long as they need to be."""
    completed = _completed(records)
    table = Table(*completed[0], box=None, pad_edge=False)
    for record in completed:
        table.add_row(*map(str, record.values()))
    console = Console(file=StringIO(), width=1 << 16, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def records_to_markdown(records: Sequence[Mapping[str, Any]]) -> str:
    """Write records as a table in Markdown with a header of all their keys, numbers to the right; nothing of none."""
    completed = _completed(records)
    header = [[*line] for line in completed[:1]]
    rules = [[_rule([str(record[name]) for record in completed]) for name in names] for names in header]
    lines = [*header, *rules, *(record.values() for record in completed)]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', _BAR) for cell in cells)} |" for cells in lines)


def _rule(cells: Sequence[str]) -> str:
    return "---:" if all(_NUMBERS.fullmatch(cell) for cell in cells if cell) else "---"
