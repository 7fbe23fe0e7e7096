"""A linear program from whatever states one: a Pyomo or linopy model, a file, or the arrays themselves.

This is the one place where models of others become a `LinearProgram`, with their names. What rows, columns and one
linear objective do not hold is refused by its name: special ordered sets, several objectives, quadratic terms,
semi-continuous variables, indicators, cones.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ipforest.datasets.raw_files import file_bytes
from ipforest.solvers.highs import import_highspy, quiet_highs
from ipforest.solvers.linear_program import LinearProgram

__all__ = ["linear_program_of", "read_linear_program", "states_a_program"]

SUFFIXES = (".mps", ".lp")
MAX_TIMES_UNPACKED = 200
"""A file of a program unpacks to at most so many times its size, and some bytes."""
NOT_LINEAR = {
    "SOS": "special ordered sets (SOS)",
    "SOS1": "special ordered sets (SOS)",
    "SOS2": "special ordered sets (SOS)",
    "SETS": "special ordered sets (SOS)",
    "QUADOBJ": "a quadratic objective",
    "QMATRIX": "a quadratic objective",
    "QSECTION": "a quadratic objective",
    "QCMATRIX": "quadratic constraints",
    "CSECTION": "cones",
    "INDICATORS": "indicator constraints",
    "GENCONS": "general constraints",
    "GENERAL CONSTRAINTS": "general constraints",
    "GENERAL CONSTRAINT": "general constraints",
    "PWLOBJ": "a piecewise linear objective",
    "MULTI-OBJECTIVES": "several objectives",
    "LAZYCONS": "lazy constraints",
    "LAZY CONSTRAINTS": "lazy constraints",
    "USERCUTS": "user cuts",
    "USER CUTS": "user cuts",
    "SEMI": "semi-continuous variables",
    "SEMIS": "semi-continuous variables",
    "SEMI-CONTINUOUS": "semi-continuous variables",
    "SC": "semi-continuous variables",
}
"""Sections of .mps and .lp files, and what they hold that a linear program does not."""


MAXIMISED_IN_COMMENT = re.compile(r"\*SENSE:\s*max", re.IGNORECASE)
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|inf(inity)?)", re.IGNORECASE).fullmatch
LINE = re.compile(r"[^\r\n]+")
BRACKETED = re.compile(r"[A-Za-z_][^\s:+*<>=\[]*\[[^\]\s]*\]").search
"""A name of an .lp file with brackets."""
MAX_WORDS = 6
"""A line of data of an .mps file has fewer."""
LONG_HEADINGS = ("NAME", "OBJSENSE", "OBJNAME")
"""Headings of .mps files that words follow in the same line."""
BINARY = ("binary", "binaries", "bin")
SECTIONS_OF_LP = (*BINARY, "general", "generals", "gen", "integer", "integers", "int", "bounds", "bound", "end")
"""Headings of .lp files that may stand before and after names of binary variables."""
WHOLE_BOUNDS = ("LI", "UI", "SI")
UNNUMBERED_BOUNDS = ("FR", "MI", "PL", "BV")
TOLERATED = ("appears more than once in this", "have the same name")
"""Complaints of HiGHS about terms of one variable, which it adds up, and about names, which are looked at here."""
TOLERATED_OF_WHOLE_BOUNDS = ("Bound for LI/UI/SI column", "ignored 0 duplicate values and")
"""Complaints of HiGHS about bounds such as 10E20, by which Pyomo says that an integer variable has none."""


def states_a_program(source: object) -> bool:
    """Return whether `linear_program_of` takes this kind of object, without importing what it may come from."""
    return isinstance(source, LinearProgram | str | Path) or _is(source, "pyomo", "Block") or _is_linopy(source)


def linear_program_of(source: Any) -> LinearProgram:
    """Take a model apart: sparse matrix, names, senses, right-hand sides, bounds, objective.

    Parameters
    ----------
    source : pyomo.environ.ConcreteModel, linopy.Model, LinearProgram, or path of an .mps or .lp file
        A row with two different sides becomes two rows. An objective that is maximised is negated, which
        `LinearProgram.maximised` says.

    Raises
    ------
    TypeError
        Another kind of object.
    ValueError
        A model or file with something that a linear program does not hold, or a damaged or empty file; see
        `formulations.models.matrix` and `read_linear_program`.
    OSError
        The file cannot be opened.
    """
    if isinstance(source, LinearProgram):
        return source
    if isinstance(source, str | Path):
        return read_linear_program(source)
    if _is(source, "pyomo", "Block"):
        from formulations import models

        return models.matrix(source)
    if _is_linopy(source):
        return _of_linopy(source)
    raise TypeError(
        "model: expected a Pyomo model, a linopy model, a LinearProgram or the path of an .mps or .lp file, "
        f"got {type(source).__name__}"
    )


def read_linear_program(path: str | Path) -> LinearProgram:
    """Read an ``.mps`` or ``.lp`` file, or one that gzip has compressed (``.mps.gz``), with HiGHS.

    Parameters
    ----------
    path : str or Path
        The suffix says the format. Numbers are read as floats.

    Returns
    -------
    LinearProgram
        Rows and columns in the order and with the names of the file. Rows without a side, which bind nothing, are left
        out.

    Raises
    ------
    ValueError
        Another suffix; a file that is no text, is damaged, ends too early, or has no variables; two rows or columns of
        one name; sections and terms that are not linear, or several objectives; entries that HiGHS would leave out, as
        one that stands twice, is smaller than 1e-9, or is of no row; what is no number, such as 1,5, of which HiGHS
        would read a part; RANGES before RHS; bounds that tools read in two ways: a negative upper one without a lower
        one, other ones than 0 and 1 of a binary variable; names that begin with a parenthesis, as parts of products are
        read; bounds of what is no column; a sense that stands in a comment alone, as PuLP writes it.
    OSError
        The file cannot be opened.
    MissingSolverError
        HiGHS, which reads it, is not installed.
    """
    file = Path(path)
    if _format(file) not in SUFFIXES:
        raise ValueError(f"path: expected a file that ends in .mps or .lp, or these with .gz, got {file.name!r}")
    try:
        text = (
            file_bytes(file, MAX_TIMES_UNPACKED).decode("utf-8")
            if _is_compressed(file)
            else file.read_text(encoding="utf-8")
        )
    except UnicodeDecodeError:
        raise ValueError(f"{file}: expected text in UTF-8, got other bytes; write the program as text again") from None
    _check_text(file, text)
    highspy, highs = import_highspy(), quiet_highs()
    status, complaints = _read_unpacked(highs, file, text) if _is_compressed(file) else _read(highs, file)
    if status == highspy.HighsStatus.kError:
        if _format(file) == ".lp" and "[" in text:
            _refuse_brackets(file, text)
        raise ValueError(
            f"{file}: expected a linear program that HiGHS can read, got one that it refuses{_told(complaints)}; the "
            f"file may be damaged or cut off, have parts that are not linear rows, or a row with two sides (write two)"
        )
    if _format(file) == ".mps" and complaints and not _has_fractional_bounds(text):
        complaints = [each for each in complaints if not any(part in each for part in TOLERATED_OF_WHOLE_BOUNDS)]
    if complaints:
        raise ValueError(
            f"{file}: expected a linear program that HiGHS reads as it is written, got one that it changes"
            f"{_told(complaints)}"
        )
    program = _of_highs(file, highspy, highs)
    if _format(file) == ".lp":
        _check_columns_of_lp(file, text, program)
    return program


def _format(file: Path) -> str:
    """Return the suffix that says the format, in small letters, without that of gzip."""
    return (Path(file.stem) if _is_compressed(file) else file).suffix.lower()


def _is_compressed(file: Path) -> bool:
    return file.suffix.lower() == ".gz"


def _read_unpacked(highs: Any, file: Path, text: str) -> tuple[Any, list[str]]:
    """Read what was unpacked, as not every HiGHS unpacks."""
    with TemporaryDirectory() as folder:
        unpacked = Path(folder) / f"program{_format(file)}"
        unpacked.write_text(text, encoding="utf-8", newline="")
        return _read(highs, unpacked)


def _read(highs: Any, file: Path) -> tuple[Any, list[str]]:
    """Read a file; return the status and what HiGHS complains of, but for what is right or refused here by name."""
    said: list[str] = []
    highs.cbLogging += lambda event: said.append(event.message)
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("output_flag", True)
    status = highs.readModel(str(file))
    highs.setOptionValue("output_flag", False)
    lines = [message.strip().split("\n")[0] for message in said if message.startswith(("WARNING", "ERROR"))]
    return status, [line.partition(":")[2].strip() for line in lines if not any(part in line for part in TOLERATED)]


def _refuse_brackets(file: Path, text: str) -> None:
    """Say what the brackets of an .lp file are: of names such as x[0], as tools write them, or of quadratic terms."""
    named = next((found for line in _lines(text, is_mps=False) if (found := BRACKETED(line))), None)
    if named:
        raise ValueError(
            f"{file}: expected names without brackets, in which .lp files have quadratic terms, got {named[0]:.40}; "
            "write the program as .mps, where names may have them, or rename"
        )
    _refuse(file, "quadratic terms, in brackets")


def _told(complaints: Sequence[str]) -> str:
    return f": {complaints[0]}" if complaints else ""


def _check_text(file: Path, text: str) -> None:
    """Refuse what a reader would skip in silence, and files that end too early."""
    is_mps = _format(file) == ".mps"
    if text.startswith("\ufeff"):
        raise ValueError(
            f"{file}: expected UTF-8 without a byte order mark, got one with it, which HiGHS does not read"
        )
    last, refused = "", ""
    for line in _lines(text, is_mps):
        last = line.strip()
        heading = last.upper().rstrip(":") if not (is_mps and line[0].isspace()) else ""
        first, second, *_ = [*heading.split(maxsplit=2), "", ""]
        if refused and not (heading if is_mps else first.lower() in SECTIONS_OF_LP or heading in NOT_LINEAR):
            _refuse(file, refused)
        refused = NOT_LINEAR.get(first if is_mps else heading, "")  # unless nothing is in that section
        if not is_mps and second in NOT_LINEAR:
            _refuse(file, NOT_LINEAR[second])
    if not last:
        raise ValueError(f"{file}: expected a linear program, got an empty file")
    end = "ENDATA" if is_mps else "END"
    if last.upper() != end:
        raise ValueError(f"{file}: expected {end} in the last line, got {last[:40]!r}; the file is cut off")
    if is_mps:
        if MAXIMISED_IN_COMMENT.match(text) and "\nOBJSENSE" not in text.upper():
            raise ValueError(
                f"{file}: expected the sense in OBJSENSE, got it in a comment, *SENSE:Maximize, which other tools than "
                "PuLP pass over; write OBJSENSE and MAX in lines of their own after NAME, or an .lp file"
            )
        objectives: list[str] = []
        columns: set[str] = set()
        sections: set[str] = set()
        for section, words in _data_of_mps(text):
            if section == "RHS" and "RANGES" in sections:
                raise ValueError(
                    f"{file}: expected RHS before RANGES, got it after that, where HiGHS forgets the ranges of rows; "
                    "exchange the two sections"
                )
            sections.add(section)
            _check_numbers(file, section, words)
            if section == "COLUMNS":
                columns.add(words[0])
            elif section == "BOUNDS":
                _check_column(file, columns, words)
            if section == "ROWS" and words[0].upper() == "N":
                objectives.append(" ".join(words[1:]))
        if len(objectives) > 1:
            _refuse(file, f"several objectives (rows of type N: {', '.join(objectives):.200})")


def _lines(text: str, is_mps: bool) -> Iterator[str]:
    """Yield lines that are not empty, without comments, which fill a line of an .mps file, and end one of an .lp file.

    One at a time: as a list, short lines take ninety times the memory of the text.
    """
    for found in LINE.finditer(text):
        line = found[0] if is_mps else found[0].partition("\\")[0]
        if line.strip() and not (is_mps and line.startswith("*")):
            yield line


def _data_of_mps(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the first words of each line of data, those after the sixth in one piece, and the section that it is in."""
    section = ""
    for line in _lines(text, is_mps=True):
        words = line.split(maxsplit=MAX_WORDS)
        if not line[0].isspace() and (len(words) == 1 or words[0].upper() in LONG_HEADINGS):
            section = words[0].upper()
        else:
            yield section, words


def _check_columns_of_lp(file: Path, text: str, program: LinearProgram) -> None:
    """Refuse what HiGHS takes for names and is a product, and bounds of binary variables that it alone keeps."""
    for name in program.column_labels:
        if name.startswith(("(", ")")):
            raise ValueError(
                f"{file}: expected names that do not begin with a parenthesis, got {name}; write products out"
            )
    binary = _binaries_of_lp(text)
    for name, low, high in zip(program.column_labels, program.lower.tolist(), program.upper.tolist(), strict=True):
        if name in binary and not 0 <= low <= high <= 1:
            raise ValueError(
                f"{file}: expected bounds of the binary variable {name} within 0 and 1, got {low:g} and {high:g}, "
                "which HiGHS keeps and others replace by 0 and 1; name it among general ones, or leave its bounds out"
            )


def _binaries_of_lp(text: str) -> set[str]:
    names: set[str] = set()
    within = False
    for line in _lines(text, is_mps=False):
        words = line.split()
        if words[0].lower() in SECTIONS_OF_LP:
            within = words[0].lower() in BINARY
            words = words[1:]
        if within:
            names.update(words)
    return names


def _has_fractional_bounds(text: str) -> bool:
    """Return whether an .mps file has a bound of an integer variable that is no whole number."""
    return any(
        section == "BOUNDS" and words[0].upper() in WHOLE_BOUNDS and float(words[-1].lower().replace("d", "e")) % 1
        for section, words in _data_of_mps(text)
    )


def _check_numbers(file: Path, section: str, words: Sequence[str]) -> None:
    """Refuse a line without the numbers of its section; HiGHS takes what a word begins with, and 0 for none."""
    if section == "BOUNDS":
        without = words[0].upper() in UNNUMBERED_BOUNDS
        numbers = [] if without else words[-1:] if len(words) in (3, 4) else None
    elif section in ("RHS", "RANGES"):
        numbers = words[1 + len(words) % 2 :: 2] if len(words) in (2, 3, 4, 5) else None
    elif section == "COLUMNS" and words[1:2] != ["'MARKER'"]:
        numbers = words[2::2] if len(words) in (3, 5) else None
    else:
        return
    wrong = (
        "other words, or names with spaces"
        if numbers is None
        else next((each for each in numbers if not NUMBER(each)), None)
    )
    if wrong is not None:
        raise ValueError(
            f"{file}: expected numbers such as 1.5 and 1e-3 in {section}, got {wrong:.40} in {' '.join(words)!r:.120}"
        )


def _check_column(file: Path, columns: set[str], words: Sequence[str]) -> None:
    """Refuse bounds of what is no column; HiGHS makes one of it, and the bound of the one that was meant is lost."""
    place = 1 if len(words) == 2 or (len(words) == 3 and words[0].upper() not in UNNUMBERED_BOUNDS) else 2
    if words[place] not in columns:
        raise ValueError(
            f"{file}: expected bounds of a column in COLUMNS, got {words[place]:.40} in {' '.join(words)!r:.120}"
        )


def _refuse(where: object, part: str) -> None:
    raise ValueError(f"{where}: expected linear rows, bounds and one linear objective, got {part}; write them as rows")


def _of_highs(file: Path, highspy: Any, highs: Any) -> LinearProgram:
    lp = highs.getLp()
    if highs.getModel().hessian_.dim_:
        _refuse(file, NOT_LINEAR["QUADOBJ"])
    kinds = list(lp.integrality_)
    plain = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    for name, kind in zip(lp.col_names_, kinds, strict=False):
        if kind not in plain:
            _refuse(file, f"the semi-continuous variable {name}")
    if not lp.num_col_:
        raise ValueError(f"{file}: expected a linear program with variables, got none")
    A = _matrix_of_highs(highspy, lp)
    for name, low, high in zip(lp.col_names_, lp.col_lower_, lp.col_upper_, strict=False):
        if high < low == 0:
            raise ValueError(
                f"{file}: expected a lower bound of {name}, whose upper bound is {high}, got none or 0; some take "
                "-infinity where there is none, HiGHS takes 0; write both bounds"
            )
    return _program(
        A,
        np.array(lp.row_lower_),
        np.array(lp.row_upper_),
        _names(file, lp.row_names_, lp.num_row_, "row"),
        objective=np.array(lp.col_cost_),
        constant=float(lp.offset_),
        lower=np.array(lp.col_lower_),
        upper=np.array(lp.col_upper_),
        integer=np.array([kind == highspy.HighsVarType.kInteger for kind in kinds] or [False] * lp.num_col_),
        column_labels=_names(file, lp.col_names_, lp.num_col_, "column"),
        maximised=lp.sense_ == highspy.ObjSense.kMaximize,
    )


def _matrix_of_highs(highspy: Any, lp: Any) -> csr_array:
    stored = lp.a_matrix_
    shape = (lp.num_row_, lp.num_col_)
    parts = (np.array(stored.value_), np.array(stored.index_), np.array(stored.start_))
    if stored.format_ == highspy.MatrixFormat.kColwise:
        return csr_array(csr_array(parts, shape=shape[::-1]).T)
    return csr_array(parts, shape=shape)


def _names(file: Path, names: Sequence[str], count: int, kind: str) -> tuple[str, ...]:
    """Return the names, made up where a file has none; HiGHS drops those of an .mps file if two are the same."""
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice or (len(names) != count and _format(file) == ".mps"):
        told = f"two of the name {twice[0]}" if twice else "two of the same name"
        raise ValueError(f"{file}: expected {kind}s of different names, got {told}; name each {kind} once")
    return tuple(names) if len(names) == count else tuple(f"{kind} {place}" for place in range(count))


def _of_linopy(model: Any) -> LinearProgram:
    parts = model.matrices
    if parts.Q is not None:
        _refuse("model", NOT_LINEAR["QUADOBJ"])
    if len(getattr(model.variables, "sos", ())):
        _refuse("model", NOT_LINEAR["SOS"])
    if getattr(parts, "indicator_A", None) is not None and parts.indicator_A.shape[0]:
        _refuse("model", NOT_LINEAR["INDICATORS"])
    if "S" in parts.vtypes:
        _refuse("model", NOT_LINEAR["SEMI"])
    if not len(parts.vlabels):
        raise ValueError("model: expected a linear program with variables, got none")
    senses, sides = np.asarray(parts.sense), np.asarray(parts.b, dtype=np.float64)
    A = csr_array((0, len(parts.vlabels))) if parts.A is None else csr_array(parts.A)
    return _program(
        A,
        np.where(senses == "<", -np.inf, sides),
        np.where(senses == ">", np.inf, sides),
        tuple(_linopy_name(model.constraints, label) for label in parts.clabels),
        objective=np.asarray(parts.c, dtype=np.float64),
        constant=0.0,
        lower=np.asarray(parts.lb, dtype=np.float64),
        upper=np.asarray(parts.ub, dtype=np.float64),
        integer=np.isin(parts.vtypes, ("B", "I")),
        column_labels=tuple(_linopy_name(model.variables, label) for label in parts.vlabels),
        maximised=model.objective.sense == "max",
    )


def _linopy_name(container: Any, label: int) -> str:
    """Write a name as Pyomo does: the component, and its coordinates in brackets, parts of tuples one by one."""
    name, coordinates = container.get_label_position(int(label))
    parts = (part for value in coordinates.values() for part in (value if isinstance(value, tuple) else (value,)))
    return f"{name}[{','.join(map(str, parts))}]" if coordinates else str(name)


def _program(
    A: csr_array, row_lower: Any, row_upper: Any, row_labels: Sequence[str], *, maximised: bool, **columns: Any
) -> LinearProgram:
    """Give each row one side, as `LinearProgram` has it, and minimise."""
    rows: list[int] = []
    senses: list[str] = []
    for row, (low, high) in enumerate(zip(row_lower.tolist(), row_upper.tolist(), strict=True)):
        sides = ["=="] if low == high else ["<="] * (high < np.inf) + [">="] * (low > -np.inf)
        rows += [row] * len(sides)
        senses += sides
    kinds = np.array(senses, dtype="<U2")
    A = csr_array(A[rows]) if rows else csr_array((0, A.shape[1]))
    A.sort_indices()
    if maximised:
        columns |= {"objective": -columns["objective"], "constant": -columns["constant"]}
    return LinearProgram(
        A=A,
        senses=kinds,
        rhs=np.where(kinds == ">=", row_lower[rows], row_upper[rows]),
        row_labels=tuple(row_labels[row] for row in rows),
        maximised=bool(maximised),
        **columns,
    )


def _is(source: object, package: str, name: str) -> bool:
    """Return whether an object's class comes from a class of that name in a package, which need not be importable."""
    return package in sys.modules and any(
        re.match(rf"{package}(\.|$)", cls.__module__) and cls.__name__ in (name, f"{name}Data")
        for cls in type(source).__mro__
    )


def _is_linopy(source: object) -> bool:
    return _is(source, "linopy", "Model")
