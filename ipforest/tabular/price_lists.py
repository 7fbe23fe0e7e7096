"""Price lists by feature name: read from files, tables and dictionaries, and matched to the features of a model.

A list may give one price per feature, or Turney's form: the price of a feature alone, its group, and its price once
another feature of the group is bought (``feature, cost, group, cost_in_group``). A column ``delayed`` marks features
whose values come in the next round only.

>>> prices = read_prices({"age": 1, "chol": 7.27, "thal": 102.9})
>>> prices.costs_for(["thal", "age", "chol"])
FeatureCosts(3 features, 0 groups, 3 units)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Number
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.callers import warn_caller
from ipforest._internal.delimited import RECOGNISED, CsvFormat, read_rows
from ipforest._internal.feature_names import as_in_training, known_to_scikit_learn, places_by_number, some_names
from ipforest._internal.files import write_text
from ipforest._internal.json_text import read_json
from ipforest._internal.measured_numbers import as_decimal
from ipforest._internal.rational import as_fraction, nonnegative_fraction
from ipforest._internal.records import records_to_csv
from ipforest._internal.words import as_given, plain
from ipforest.costs import NO_GROUP, FeatureCosts
from ipforest.tabular.name_matching import closest, folded, matched_names
from ipforest.tabular.numerals import is_written_number, notations

__all__ = ["PriceList", "Row", "read_prices", "write_prices"]

COLUMNS = ("feature", "cost", "group", "cost_in_group", "delayed")
MARKS = {"delayed": True, "yes": True, "true": True, "1": True}
MARKS |= {"immediate": False, "no": False, "false": False, "0": False}
"""How a price list says whether a feature is delayed."""
NO_CURRENCIES = ("%", "‰")


@dataclass(frozen=True, slots=True)
class Row:
    """The price of one feature.

    Parameters
    ----------
    where : str
        Where it stands, for error messages: "prices.csv, line 3".
    feature : str or None
    cost : Fraction
        Of the feature bought alone, or first in its group.
    group : str or None
    cost_in_group : Fraction
        Once another feature of the group is bought; the same as ``cost`` without a group.
    delayed : bool
        Whether the value comes in the next round only.
    """

    where: str
    feature: str | None
    cost: Fraction
    group: str | None
    cost_in_group: Fraction
    delayed: bool = False

    @property
    def discount(self) -> Fraction:
        """What the feature costs less in its group: the group's fee."""
        return self.cost - self.cost_in_group


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices as a user wrote them, before they are matched to features.

    Parameters
    ----------
    source : str
        File or kind of object, for error messages.
    rows : tuple of Row

    Raises
    ------
    ValueError
        No rows, a feature that stands twice, names for some rows only, a group in two spellings, or different
        discounts in one group.
    """

    source: str
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError(f"{self.source}: expected the price of at least one feature, got none")
        unnamed = [row for row in self.rows if row.feature is None]
        if unnamed and len(unnamed) < len(self.rows):
            raise ValueError(f"{unnamed[0].where}: expected the name of a feature as in the other rows, got none")
        for name, count in Counter(row.feature for row in self.rows if row.feature is not None).items():
            if count > 1:
                places = " and ".join(row.where for row in self.rows if row.feature == name)
                raise ValueError(f"{self.source}: expected each feature once, got {name!r} in {places}")
        self._check_spelling_of_groups()
        first_of_group: dict[str, Row] = {}
        for row in self.rows:
            first = first_of_group.setdefault(row.group, row) if row.group is not None else row
            if row.discount != first.discount:
                expected, got = as_given(first.discount), as_given(row.discount)
                if got == expected:
                    got += f" (they differ by {plain(float(abs(row.discount - first.discount)))}: round the prices)"
                raise ValueError(
                    f"{row.where}: expected the discount of group {row.group!r}, {expected} as in "
                    f"{first.where}, got {got}"
                )

    def _check_spelling_of_groups(self) -> None:
        spelt: dict[str, Row] = {}
        for row in self.rows:
            if row.group is not None:
                first = spelt.setdefault(folded(row.group), row)
                if first.group != row.group:
                    raise ValueError(
                        f"{row.where}: expected one spelling of a group, {first.group!r} as in {first.where}, "
                        f"got {row.group!r}"
                    )

    @property
    def has_names(self) -> bool:
        """Whether the rows name their features; if not they are matched by position."""
        return self.rows[0].feature is not None

    def costs_for(self, features: Sequence[str] | int) -> FeatureCosts:
        """Return the prices of a model's features, in their order.

        Parameters
        ----------
        features : sequence of str, or int
            Names in the order of the columns of X; their number where they have no names. Names are matched where
            both sides have them, without regard to case where that leaves no doubt. Rows that have numbers of columns
            in place of names, "0", "1", "10", go by number, rows without names by position.

        Raises
        ------
        ValueError
            A feature has no price (the message names the closest match) or two, the number of rows differs, or rows
            with names are for features that have none.

        Warns
        -----
        UserWarning
            Rows that price none of the features, as a list for several tables has them.
        """
        rows = self._matched(features)
        fee_of = {row.group: row.discount for row in rows if row.group is not None}
        labels = sorted(fee_of)
        groups = [NO_GROUP if row.group is None else labels.index(row.group) for row in rows]
        names = None if isinstance(features, int) else features
        fees = [as_decimal(fee_of[label]) for label in labels]
        prices, delayed = [as_decimal(row.cost_in_group) for row in rows], [row.delayed for row in rows]
        return FeatureCosts(prices, groups, fees, names, delayed)

    def _matched(self, features: Sequence[str] | int) -> list[Row]:
        expected = features if isinstance(features, int) else len(features)
        if len(self.rows) != expected and (isinstance(features, int) or not self.has_names):
            raise ValueError(f"{self.source}: expected {expected} prices, one per feature, got {len(self.rows)}")
        if not self.has_names:
            return list(self.rows)
        names = None if isinstance(features, int) else [name.strip() for name in features]  # as in the rows
        labels = [str(row.feature) for row in self.rows]
        places = places_by_number(labels, names, expected, f"{self.source}: expected prices")
        return self._by_name(names or []) if places is None else [self.rows[place] for place in places]

    def _by_name(self, features: Sequence[str]) -> list[Row]:
        labels = as_in_training([str(row.feature) for row in self.rows], features)
        by_name = dict(zip(labels, self.rows, strict=True))
        name_of = matched_names(features, by_name)
        absent = [name for name in features if name not in name_of]
        taken = set(name_of.values())
        if absent:
            hint = _computed_from(absent[0], by_name) or closest(
                absent[0], [label for label in by_name if label not in taken]
            )
            told = repr(absent[0]) if hint else some_names([repr(name) for name in absent])
            cure = hint or "; a feature that is free costs 0"
            raise ValueError(f"{self.source}: expected a price for each feature, got none for {told}{cure}")
        spelt = {folded(name): by_name[name] for name in taken}
        others = [row for label, row in zip(labels, self.rows, strict=True) if by_name.get(label) is not row]
        others += [row for label, row in by_name.items() if label not in taken]
        for row in others:
            again = spelt.get(folded(as_in_training([str(row.feature)], features)[0]))
            if again is not None:
                raise ValueError(
                    f"{row.where}: expected one price for {again.feature!r}, got another for {row.feature!r}"
                )
        if others:
            names = some_names([repr(row.feature) for row in others])
            warn_caller(f"{self.source}: prices of no feature here: {names}")
        return [by_name[name_of[name]] for name in features]

    @property
    def lone_groups(self) -> list[str]:
        """Groups with one feature, whose fee is paid with it alone."""
        counts = Counter(row.group for row in self.rows if row.group is not None)
        return [group for group, count in counts.items() if count == 1]


def _computed_from(column: str, labels: Iterable[str]) -> str:
    """Say how a column is priced that is named as scikit-learn's transformers name what they compute from others."""
    bare = column.rpartition("__")[2]
    sources = [label for label in labels if bare == label or bare.startswith(f"{label}_")]
    told = "; where it is computed from {!r}, FeatureCosts.for_columns gives its price; BudgetedPipeline calls it"
    return told.format(max(sources, key=len)) if sources else ""


def read_prices(source: Any, form: CsvFormat = RECOGNISED) -> PriceList:
    """Read a price list.

    Parameters
    ----------
    source : path, mapping, Series, DataFrame or sequence
        - a ``.csv`` file with a header: ``cost``, and optionally ``feature``, ``group``, ``cost_in_group`` and
          ``delayed`` (yes or no, true or false, 1 or 0, delayed or immediate). Where no column is called ``cost``, the
          only one of numbers holds the prices (``price``, ``EUR``), and where none is called ``feature``, the only
          other one the names; two columns, names and prices, need no header. A column such as ``panel`` holds the
          groups where there is a ``cost_in_panel``, or where it is the only one that can be meant by ``cost_in_group``.
          Further columns are passed over where the features have names, with a warning where they look like groups;
          separator, decimal mark and currency sign are recognised;
        - a ``.json`` file: ``{name: price}``, or a list of records with the keys of the columns above;
        - a dict or Series ``{name: price}``, or a dict whose values are records; integer keys are column numbers;
        - a DataFrame (pandas or polars) or Arrow table with those columns; without a column ``feature``, the index of a
          pandas one holds the names or column numbers;
        - a sequence of numbers, without names.
    form : CsvFormat
        How a CSV is written, as far as it is known.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        An unknown form, a missing column, a price that is no number >= 0, a group without ``cost_in_group``, a mark in
        ``delayed`` that is none of the words.
    TypeError
        The object is no price list.

    Warns
    -----
    UserWarning
        A column that may be meant for groups, but is passed over.
    """
    source = known_to_scikit_learn(source, "prices")
    source = source.to_pylist() if hasattr(source, "to_pylist") else source
    if isinstance(source, (str, Path)):
        path = Path(source)
        return _read_json(path) if path.suffix == ".json" else _read_csv(path, form)
    if hasattr(source, "to_dicts"):
        records = _renamed("DataFrame of prices", source.to_dicts(), has_names=False)
        return _from_records("DataFrame of prices", records, "row", 0)
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        labels = _labels_of(source, "DataFrame of prices")
        records = _renamed("DataFrame of prices", source.to_dict(orient="records"), has_names=not _are_numbers(labels))
        if any("feature" in record for record in records):
            return _from_records("DataFrame of prices", records, "row", 0)
        return _from_labels("DataFrame of prices", labels, records)
    if hasattr(source, "to_dict"):
        return _from_labels("Series of prices", _labels_of(source, "Series of prices"), list(source))
    if isinstance(source, Mapping):
        return _from_labels("dict of prices", list(source), list(source.values()))
    if isinstance(source, Iterable) and not isinstance(source, Set):
        return _from_records("prices", [{"cost": value} for value in source], "position", 0)
    raise TypeError(f"prices: expected a file, dict, Series, DataFrame or sequence, got {type(source).__name__}")


def _labels_of(source: pd.Series | pd.DataFrame, what: str) -> list[Any]:
    """List the labels of the rows, of one level each."""
    if source.index.nlevels > 1:
        raise ValueError(
            f"{what}: expected an index of names of features, got one of {source.index.nlevels} levels, with "
            f"{source.index[0]}; use prices.droplevel(...), or prices.tolist() in the order of the columns"
        )
    return list(source.index)


def write_prices(costs: FeatureCosts, path: str | Path) -> Path:
    """Write a price list as a ``.csv`` file, prices exactly, so that `read_prices` and `costs_for` give it again.

    Raises
    ------
    OSError
        The file cannot be written.
    ValueError
        A group has a fee but no feature, for which there is no row; or these are prices of columns computed from the
        features (`FeatureCosts.for_columns`), which a file does not tell from the features.
    """
    if not costs.is_plain:
        raise ValueError("costs: expected prices of features, got prices of columns computed from them (for_columns)")
    groups = costs.groups.tolist()
    empty = set(range(len(costs.group_fees))) - set(groups)
    if empty:
        raise ValueError(f"group_fees: expected a feature in each group, got none in group {min(empty)}")
    digits = len(str(len(costs.group_fees)))  # labels in the order of the groups
    records = []
    for feature, (price, group) in enumerate(zip(costs.prices, groups, strict=True)):
        record = {} if costs.feature_names is None else {"feature": costs.feature_names[feature]}
        if group == NO_GROUP:
            record |= {"cost": str(price), "group": "", "cost_in_group": ""}
        else:
            fee = costs.group_fees[group]
            record |= {"cost": str(price + fee), "group": f"{group:0{digits}}", "cost_in_group": str(price)}
        if costs.delayed.any():
            record["delayed"] = "yes" if costs.delayed[feature] else "no"
        records.append(record)
    return write_text(path, records_to_csv(records))


def _read_csv(path: Path, form: CsvFormat) -> PriceList:
    rows = read_rows(path, form).without_empty_columns().without_empty_rows_at_the_end()
    header, first = _header(rows.cells)
    named = dict(zip(header, rows.cells[first:].T, strict=True)) if header else {}
    names = _known_names(str(path), named, has_names=False)
    columns = [names.get(column, column) for column in header]
    doubled = [name for name, count in Counter(columns).items() if count > 1]
    if doubled:
        raise ValueError(f"{path}: expected each column once, got {doubled[0]!r} twice")
    records = [dict(zip(columns, row, strict=True)) for row in rows.cells[first:]]
    _make_prices_plain(records, str(path), form.decimal, rows.separator)
    places = [f"{path}, line {line}" for line in rows.lines[first:]]
    return PriceList(str(path), tuple(_row(place, record) for place, record in zip(places, records, strict=True)))


def _header(cells: npt.NDArray[np.object_]) -> tuple[list[str], int]:
    """Return the names of the columns and the first row below them; two columns, names and prices, need no header."""
    if not cells.size:
        return [], 0
    first: list[str] = cells[0].tolist()
    priced = [place for place, cell in enumerate(first) if _is_number(cell)]
    if len(first) == 2 and len(priced) == 1 and not matched_names(COLUMNS, first):
        place = priced[0]
        if all(map(_is_number, cells[:, place])) and not any(map(_is_number, cells[:, 1 - place])):
            return ["cost" if column == place else "feature" for column in range(2)], 0
    return first, 1


def _known_names(source: str, columns: Mapping[Any, Sequence[Any]], *, has_names: bool) -> dict[Any, str]:
    """Name columns as `COLUMNS` does: those called so, and others where only one column can be meant.

    Prices are in the only other column of numbers, the names of features, unless the rows have them already, in the
    only other column of texts.

    Raises
    ------
    ValueError
        The prices or the names may be in none or in several of the columns.
    """
    labels = {str(column): column for column in columns}
    known = {labels[label]: name for name, label in matched_names(COLUMNS, labels).items()}
    known |= _prices_in_groups(labels, known)
    numbers = [column for column, cells in columns.items() if column not in known and _are_prices(cells)]
    if "cost" not in known.values():
        if len(numbers) != 1:
            found = some_names([repr(label) for label in labels]) or "an empty file"
            close = closest("price", labels) or closest("cost", labels)
            cure = (close or "; name the columns feature and cost, and write a row for each feature") if columns else ""
            raise ValueError(f"{source}: expected a column cost, or one column of numbers, got {found}{cure}")
        known[numbers[0]] = "cost"
    others = [column for column in columns if column not in known]
    if not has_names and others and "feature" not in known.values():
        if len(others) > 1 or others[0] in numbers:
            found = some_names([repr(str(column)) for column in others])
            raise ValueError(
                f"{source}: expected the names of the features in a column feature, or no names, got {found} together "
                "with the prices"
            )
        known[others[0]] = "feature"
    others = [] if "group" in known.values() else [column for column in columns if column not in known]
    groups = [column for column in others if _name_groups(columns[column])]
    if len(groups) == 1 and "cost_in_group" in known.values():
        known[groups[0]] = "group"
    elif groups:
        warn_caller(
            f"{source}: passed over {some_names([repr(str(column)) for column in groups])}; features that share a fee "
            "have the same group, and what they cost once another one is bought in cost_in_group"
        )
    return known


def _prices_in_groups(labels: Mapping[str, Any], known: Mapping[Any, str]) -> dict[Any, str]:
    """Find a column of groups by that of the prices in them: ``panel`` by ``cost_in_panel``."""
    if "group" in known.values() or "cost_in_group" in known.values():
        return {}
    by_name = {folded(label): column for label, column in labels.items() if column not in known}
    pairs = [
        {by_name[name]: "group", by_name[price]: "cost_in_group"}
        for name in by_name
        for price in (folded(f"{kind}_in_{name}") for kind in ("cost", "price"))
        if price in by_name
    ]
    return pairs[0] if len(pairs) == 1 else {}


def _name_groups(cells: Sequence[Any]) -> bool:
    """Return whether texts look like names of groups: some stand in more than one row, and not one in all rows."""
    filled = [cell.strip() for cell in cells if isinstance(cell, str) and not _is_empty(cell)]
    distinct = {*filled}
    is_the_same = len(distinct) == 1 and len(filled) == len(cells)
    return len(distinct) < len(filled) and not is_the_same and not any(map(_is_number, filled))


def _renamed(source: str, records: Sequence[Mapping[Any, Any]], *, has_names: bool) -> list[dict[Any, Any]]:
    """Name the entries of records as `COLUMNS` does."""
    keys = dict.fromkeys(key for record in records for key in record)
    names = _known_names(source, {key: [record.get(key) for record in records] for key in keys}, has_names=has_names)
    return [{names.get(key, key): value for key, value in record.items()} for record in records]


def _are_prices(cells: Sequence[Any]) -> bool:
    """Return whether most of what is there are numbers; one that is none is refused later, with its line."""
    filled = [cell for cell in cells if not _is_empty(cell)]
    return 2 * sum(map(_is_number, filled)) > len(filled)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return is_written_number(cell) or _is_exact(cell)
    return isinstance(cell, Number) and not isinstance(cell, (bool, np.bool_))


def _are_numbers(labels: Sequence[Any]) -> bool:
    return bool(labels) and all(isinstance(label, Integral) and not isinstance(label, bool) for label in labels)


def _make_prices_plain(records: Sequence[dict[str, str]], path: str, decimal: str | None, separator: str) -> None:
    """Rewrite prices such as 7,27 or $7.27 as plain numbers, if all have one notation; others are refused later.

    Points in threes (1.234) are in doubt where semicolons speak for decimal commas.
    """
    keys = [key for key in ("cost", "cost_in_group") if any(key in record for record in records)]
    texts = [*dict.fromkeys(record[key] for record in records for key in keys if record[key])]
    in_doubt = decimal is None and separator == ";" and any("." in text for text in texts)
    if not texts or (decimal != "," and not in_doubt and all(map(_is_exact, texts))):
        return
    readings = [notation for notation in notations(texts, decimal) if notation.unit not in NO_CURRENCIES]
    if len(readings) > 1:
        text = next(text for text in texts if len({notation.plain(text) for notation in readings}) > 1)
        raise ValueError(
            f"{path}: expected one price, got {text!r}, which can be "
            f"{' and '.join(str(notation.plain(text)) for notation in readings)}; write prices without marks between "
            "thousands"
        )
    written = [text for text in texts if is_written_number(text)]
    other = next((text for text in texts if not notations([texts[0], text], decimal)), None)
    if not readings and len(written) == len(texts) and notations(texts[:1], decimal) and other is not None:
        raise ValueError(
            f"{path}: expected all prices with the same decimal mark and currency, got {texts[0]!r} and {other!r}"
        )
    for record in records if readings else ():
        record.update({key: readings[0].plain(record[key]) or "" for key in keys})


def _is_exact(text: str) -> bool:
    try:
        as_fraction(text, "price")
    except ValueError:
        return False
    return True


def _read_json(path: Path) -> PriceList:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, count in Counter(key for key, _ in pairs).items():
            if count > 1:
                raise ValueError(f"expected each key once, got {key!r} {count} times")
        return dict(pairs)

    try:
        content = read_json(path.read_text(encoding="utf-8-sig"), object_pairs_hook=once, parse_float=str)
    except ValueError as problem:
        raise ValueError(f"{path}: expected a price list in JSON, got: {problem}") from None
    if isinstance(content, dict):
        return _from_labels(str(path), list(content), list(content.values()))
    if isinstance(content, list) and all(isinstance(record, dict) for record in content):
        return _from_records(str(path), _renamed(str(path), content, has_names=False), "entry", 1)
    raise ValueError(f"{path}: expected an object of prices by name or a list of records, got {type(content).__name__}")


def _from_labels(source: str, labels: Sequence[Any], values: Sequence[Any]) -> PriceList:
    """Read prices, or records, that stand under the names of their features or the numbers of their columns."""
    entries = [value if isinstance(value, Mapping) else {"cost": value} for value in values]
    records = _renamed(source, entries, has_names=True)
    if _are_numbers(labels):
        if sorted(labels) != list(range(len(labels))):
            raise ValueError(
                f"{source}: expected column numbers 0..{len(labels) - 1} as keys, got {sorted(map(int, labels))}; "
                "where columns are labelled by other numbers, give a list in their order, or make the labels texts"
            )
        by_column = dict(zip(labels, records, strict=True))
        return _from_records(source, [by_column[column] for column in range(len(labels))], "column", 0)
    named = ({**record, "feature": str(name)} for name, record in zip(labels, records, strict=True))
    places = (f"{source}, {name!r}" for name in labels)
    return PriceList(source, tuple(_row(place, record) for place, record in zip(places, named, strict=True)))


def _from_records(source: str, records: Sequence[Mapping[str, Any]], counted: str, first: int) -> PriceList:
    places = (f"{source}, {counted} {number}" for number in range(first, first + len(records)))
    return PriceList(source, tuple(_row(place, record) for place, record in zip(places, records, strict=True)))


def _row(where: str, record: Mapping[str, Any]) -> Row:
    """Read one record; an empty cell, None and NaN are no group and no name."""
    cells = {key: record[key] for key in COLUMNS if not _is_empty(record.get(key))}
    if "cost" not in cells:
        names = [str(key) for key in record if key not in COLUMNS]
        others = f" among {some_names(names)}; name the columns feature and cost" if names else ""
        raise ValueError(f"{where}: expected a cost, in a row for each feature, got none{others}")
    cost = _price(where, "cost", cells["cost"])
    feature, group = (str(cells[key]).strip() if key in cells else None for key in ("feature", "group"))
    delayed = _mark(where, record["delayed"]) if "delayed" in record else False
    if group is None:
        later = _price(where, "cost_in_group", cells.get("cost_in_group", cost))
        if later != cost:
            told = f"cost_in_group {as_given(later)} and cost {as_given(cost)}"
            raise ValueError(f"{where}: expected a group with {told}, got none")
        return Row(where, feature, cost, None, cost, delayed)
    if "cost_in_group" not in cells:
        raise ValueError(
            f"{where}: expected cost_in_group with group {group!r:.80}, the price once another feature of the group is "
            "bought, got none"
        )
    later = _price(where, "cost_in_group", cells["cost_in_group"])
    if later > cost:
        raise ValueError(f"{where}: expected cost_in_group of at most the cost {as_given(cost)}, got {as_given(later)}")
    return Row(where, feature, cost, group, later, delayed)


def _mark(where: str, cell: Any) -> bool:
    word = str(int(cell)) if isinstance(cell, (float, np.floating)) and cell in (0, 1) else str(cell).strip().lower()
    if word not in MARKS:
        raise ValueError(f"{where}, delayed: expected one of {', '.join(MARKS)}, got {cell!r}")
    return MARKS[word]


def _is_empty(cell: Any) -> bool:
    return not cell.strip() if isinstance(cell, str) else bool(np.ndim(cell) == 0 and pd.isna(cell))


def _price(where: str, column: str, cell: Any) -> Fraction:
    return nonnegative_fraction(cell.strip() if isinstance(cell, str) else cell, f"{where}, {column}")
