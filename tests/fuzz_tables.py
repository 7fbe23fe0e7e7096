"""Write random tables and price lists as people do, read them, and compare: the truth, or a refusal of one line.

    python tests/fuzz_tables.py [--seconds S] [--seed N] [--case C]

The text is made from numbers and words that are known, with random separators, encodings, decimal marks, marks between
thousands, signs, quotes, blanks, line ends, order and case of headers. Exits with 1 at the first failure and prints
what makes it again.
"""

import argparse
import csv
import io
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Literal

import numpy as np

from ipforest.costs import NO_GROUP, FeatureCosts
from ipforest.tabular.column_kinds import Kind, typed_columns
from ipforest.tabular.price_lists import read_prices
from ipforest.tabular.tables import CsvFormat, read_cells, read_examples

NAMES = [
    *("age", "Dose", "bmi [kg/m2]", "=cmd()", "+x", "-y", "@z", "naïve", "größe", "price, net", 'a "b"', "x;y", "1st"),
    *(
        "kind",
        "l/min",
        "Ärger",
        "t\u00a0n",
        "%",
        "$",
        "two  blanks",
        "'quoted",
        "feature",
        "cost",
        "line\nbreak",
        "tab\tbed",
    ),
]
WORDS = [
    "red",
    "green",
    "B",
    "AB",
    "0",
    "yes",
    "No",
    "it's",
    "a,b",
    "c;d",
    "été",
    "x y",
    "=1+1",
    "-",
    "1-2",
    "3rd",
    "<5",
]
MISSING = ["", "NA", "NaN", "nan", "?", "N/A", "NULL"]
ENCODINGS = ["utf-8"] * 4 + ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"]


@dataclass(frozen=True)
class Style:
    """How a file is written."""

    separator: str
    decimal: str
    encoding: str
    newline: str
    quoting: Literal[0, 1, 2, 3]
    blanks: bool
    thousands: str

    @classmethod
    def random(cls, rng: np.random.Generator) -> "Style":
        separator = str(rng.choice([",", ";", "\t"]))
        decimal = str(rng.choice([".", "."] if rng.random() < 0.5 else [","]))
        marks = [
            "",
            "",
            " ",
            "\u00a0",
            "'",
            *([","] if decimal == "." else []),
            *("." if separator == ";" and decimal == "," else []),
        ]
        newline = str(rng.choice(["\n", "\r\n", "\r"]))
        return cls(
            separator,
            decimal,
            str(rng.choice(ENCODINGS)),
            newline,
            csv.QUOTE_ALL if newline == "\r" or rng.random() < 0.5 else csv.QUOTE_MINIMAL,  # csv leaves "\n" bare there
            bool(rng.random() < 0.2),
            str(rng.choice(marks)),
        )

    def number(self, text: str) -> str:
        """Write a plain number in this style."""
        whole, point, fraction = text.partition(".")
        if self.thousands:
            sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
            whole = sign + f"{int(digits):,}".replace(",", self.thousands)
        return whole + (self.decimal + fraction if point else "")

    def encoded(self, rows: list[list[str]], rng: np.random.Generator) -> bytes:
        """Write rows of cells, with separators or blank lines at the end now and then."""
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=self.separator, quoting=self.quoting, lineterminator=self.newline).writerows(
            [[f" {cell} " if self.blanks and "\n" not in cell else cell for cell in row] for row in rows]
        )
        text = buffer.getvalue()
        if (
            self.quoting == csv.QUOTE_MINIMAL
            and not any("\n" in cell for row in rows for cell in row)
            and rng.random() < 0.1
        ):
            text = text.replace(self.newline, self.separator * 2 + self.newline)
        if rng.random() < 0.1:
            text += self.newline * 2
        declared = f"sep={self.separator}\r\n" if self.newline != "\r" and rng.random() < 0.05 else ""
        return (declared + text).encode(self.encoding, errors="xmlcharrefreplace")

    def known(self, rng: np.random.Generator) -> CsvFormat:
        """Say some of what a user may say about it."""
        said = rng.random(3) < 0.3
        encoding = self.encoding if said[2] or (self.encoding in ("cp1252", "latin-1") and rng.random() < 0.8) else None
        return CsvFormat(self.separator if said[0] else None, self.decimal if said[1] else None, encoding)


def written_name(name: str, style: Style) -> str:
    """A name as it comes out of the file: what an encoding lacks is written otherwise, blanks are left out."""
    return name.encode(style.encoding, errors="xmlcharrefreplace").decode(style.encoding).removeprefix("\ufeff").strip()


def random_numbers(rng: np.random.Generator, n_rows: int) -> list[str]:
    digits, size = int(rng.integers(0, 4)), 10.0 ** rng.integers(0, 7)
    return [
        f"{value:.{digits}f}".replace("-0", "0" if digits == 0 else "-0") for value in rng.normal(size=n_rows) * size
    ]


def check_table(rng: np.random.Generator, folder: Path) -> str:
    """Write and read one table; return what became of it."""
    style, n_rows = Style.random(rng), int(rng.integers(1, 40))
    names = [written_name(str(name), style) for name in rng.choice(NAMES, rng.integers(2, 8), replace=False)]
    if len(set(names)) < len(names):
        return "skipped"
    truth: dict[str, list[Any]] = {}
    columns = []
    for name in names:
        cells: list[str]
        if rng.random() < 0.6:
            plain = random_numbers(rng, n_rows)
            unit = str(rng.choice(["", "", "", "", "%", "$"]))
            texts = [style.number(text) for text in plain]
            cells = [f"{unit}{text}" if unit == "$" else f"{text}{unit}" for text in texts]
            truth[name] = [float(text) for text in plain]
            gap: Any = np.nan
        else:
            cells = [written_name(str(word), style) for word in rng.choice(WORDS, n_rows)]
            truth[name], gap = list(cells), ""
        for row in np.flatnonzero(rng.random(n_rows) < rng.choice([0, 0.2])):
            cells[row], truth[name][row] = str(rng.choice(MISSING)), gap
        if set(truth[name]) <= {"0", ""}:
            truth[name] = [float(value or "nan") for value in truth[name]]
        columns.append(cells)
    rows = [names, *map(list, zip(*columns, strict=True))]
    (folder / "t.csv").write_bytes(style.encoded(rows, rng))
    form = style.known(rng)
    try:
        cells_read = read_cells(folder / "t.csv", form=form)
        table, told = typed_columns(cells_read, "t.csv", form)
    except ValueError as problem:
        return refused(problem)
    assert [column.name for column in told] == names, (told, names)
    left_out = {column.name for column in told if column.kind == Kind.LEFT_OUT}
    assert list(table) == [name for name in names if name not in left_out]
    for name in table:
        same(name, table[name].tolist(), truth[name])
    numeric = [name for name in names if all(isinstance(value, float) for value in truth[name])]
    if numeric and len(numeric) == len(names):
        wanted = [str(name) for name in rng.permutation(numeric)]
        examples = read_examples(
            folder / "t.csv",
            [
                name.upper()
                if name.upper() != name
                and len({n.casefold() for n in names}) == len(names)
                and name.upper().lower() == name.lower()
                else name
                for name in wanted
            ],
            form=form,
        )
        for place, name in enumerate(wanted):
            same(name, examples.iloc[:, place].tolist(), truth[name])
    return "read"


def same(name: str, got: list[Any], expected: list[Any]) -> None:
    """Compare a column with the truth; a column without any value has no kind."""
    if all(value in ("", None) or value != value for value in expected):
        return
    matches = [a == b or (a != a and b != b) for a, b in zip(got, expected, strict=True)]
    assert all(matches), f"column {name!r}: got {got}, expected {expected}"


def check_prices(rng: np.random.Generator, folder: Path) -> str:
    """Write and read one price list; return what became of it."""
    style, n_rows = Style.random(rng), int(rng.integers(1, 12))
    names = [written_name(str(name), style) for name in rng.choice(NAMES, n_rows, replace=False)]
    folded = {" ".join(name.casefold().split()) for name in names}
    if len(folded) < len(names):
        return "skipped"
    costs = [Fraction(int(rng.integers(0, 4_000_000)), int(rng.choice([1, 10, 100, 1000]))) for _ in names]
    fees = [Fraction(int(fee), 100) for fee in rng.integers(0, 900, 2)]
    groups = rng.choice([NO_GROUP, 0, 1], n_rows)
    unit = str(rng.choice(["", "", "$", " €"] if style.encoding not in ("latin-1",) else [""]))

    def price(value: Fraction) -> str:
        plain = f"{value.numerator * 1000 // value.denominator / 1000:.3f}".rstrip("0").rstrip(".")
        text = style.number(plain)
        return f"{unit}{text}" if unit == "$" else f"{text}{unit}"

    rows = [
        [name, price(cost + (fees[group] if group >= 0 else 0)), "ab"[group] if group >= 0 else "", price(cost)]
        for name, cost, group in zip(names, costs, groups.tolist(), strict=True)
    ]
    header = [
        str(rng.choice([name, name.upper(), name.title()])) for name in ("feature", "cost", "group", "cost_in_group")
    ]
    order = rng.permutation(4)
    extra = [["other thing", price(Fraction(5)), "", price(Fraction(5))]] if rng.random() < 0.3 else []
    shuffled = [
        [row[place] for place in order] for row in [header, *(rows[i] for i in rng.permutation(n_rows)), *extra]
    ]
    (folder / "p.csv").write_bytes(style.encoded(shuffled, rng))
    used = sorted({int(group) for group in groups} - {NO_GROUP})
    numbers = [used.index(group) if group >= 0 else NO_GROUP for group in groups.tolist()]
    expected = FeatureCosts(costs, numbers, [fees[group] for group in used], feature_names=names)
    try:
        got = read_prices(folder / "p.csv", style.known(rng)).costs_for(names)
    except ValueError as problem:
        return refused(problem)
    assert got == expected, f"got {got.prices}, {got.group_fees}, expected {expected.prices}, {expected.group_fees}"
    return "read"


def refused(problem: ValueError) -> str:
    """Return the kind of a refusal, which has one line."""
    message = str(problem)
    assert "expected" in message, message
    return "refused: " + message.split("expected", 1)[1][:24]


def main() -> int:
    """Fuzz until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="try this case alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    counts: Counter[str] = Counter()
    end, case = monotonic() + options.seconds, options.case or 0
    with TemporaryDirectory() as folder:
        while monotonic() < end:
            for check in (check_table, check_prices):
                try:
                    became = check(np.random.default_rng([options.seed, case]), Path(folder))
                except Exception as problem:
                    print(f"FAIL {check.__name__}: {type(problem).__name__}: {str(problem)[:1000]}")
                    print(f"again: python tests/fuzz_tables.py --seed {options.seed} --case {case}")
                    return 1
                counts[f"{check.__name__.removeprefix('check_')} {became}"] += 1
            case += 1
            if options.case is not None:
                break
    for kind, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:8} {kind}")
    return 0 if sum(count for kind, count in counts.items() if kind.endswith("read")) * 2 > sum(counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
