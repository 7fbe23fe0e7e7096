"""What a linear solver takes and gives: a program as a sparse matrix with named rows and columns, and its solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from math import ceil, isfinite
from numbers import Real
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from ipforest._internal.arrays import Array, BoolArray, FloatArray, read_only
from ipforest.results import Status

__all__ = ["Block", "Labels", "LinearProgram", "Solution", "selection"]

BOUND_TOLERANCE = 1e-6
RELATIVE_BOUND_TOLERANCE = 1e-9
"""Both are taken off the bound of branch and bound before it is rounded up to an integer."""
SENSES = ("==", "<=", ">=")
TEXTS, NUMBERS, BOOLS = ("texts", "U"), ("numbers", "fiu"), ("bools", "b")
"""Words for what an array holds, and numpy's letters for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows or columns of one name: ``name[index]`` for each entry, or ``name`` alone.

    Parameters
    ----------
    name : str
        The Pyomo component's name.
    index : tuple of ndarray
        One array for each part of the index; none for a single row.
    """

    name: str
    index: tuple[Array, ...] = ()

    def __len__(self) -> int:
        return self.index[0].size if self.index else 1

    def label(self, position: int) -> str:
        """Return the name of one entry, as Pyomo writes it."""
        if not self.index:
            return self.name
        return f"{self.name}[{','.join(str(part[position]) for part in self.index)}]"

    def tuples(self) -> list[tuple[int, ...]]:
        """Return the indices of all entries."""
        return list(zip(*(part.tolist() for part in self.index), strict=True))


class Labels(Sequence[str]):
    """The labels of several blocks, made when asked for: millions of them cost nothing."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = tuple(blocks)
        self._ends = np.cumsum([len(block) for block in self.blocks])

    def __len__(self) -> int:
        return int(self._ends[-1]) if self.blocks else 0

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> list[str]: ...
    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, slice):
            return [self[one] for one in range(*position.indices(len(self)))]
        at = range(len(self))[position]
        number = int(np.searchsorted(self._ends, at, side="right"))
        block = self.blocks[number]
        return block.label(at - int(self._ends[number]) + len(block))

    def __iter__(self) -> Iterator[str]:
        return (block.label(position) for block in self.blocks for position in range(len(block)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearProgram:
    """Minimise ``objective @ v + constant`` where ``A @ v`` meets ``rhs`` and ``lower <= v <= upper``.

    Parameters
    ----------
    A : csr_array of float64, shape (n_rows, n_columns)
        Integers in every formulation of this package. A dense or another sparse matrix is taken, too.
    senses : ndarray of str, shape (n_rows,)
        "==", "<=" or ">=".
    rhs : ndarray of float64, shape (n_rows,)
    objective : ndarray of float64, shape (n_columns,)
    constant : float
    lower, upper : ndarray of float64, shape (n_columns,)
    integer : ndarray of bool, shape (n_columns,)
    row_labels, column_labels : sequence of str
        Names as Pyomo writes them: ``z[3]``, ``usage_in_tree[0,2,5]``.
    maximised : bool
        Whether the program was stated as a maximum; objective and constant are negated then.

    Raises
    ------
    TypeError, ValueError
        A field of the wrong kind or shape, another sense, a number that is NaN, or an equation whose right-hand side is
        infinite; the message names the field.
    """

    A: csr_array
    senses: npt.NDArray[np.str_]
    rhs: FloatArray
    objective: FloatArray
    constant: float
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    maximised: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "A", _read_matrix(self.A))
        rows, columns = self.A.shape
        for name, size, kinds in (
            ("senses", rows, TEXTS),
            ("rhs", rows, NUMBERS),
            ("objective", columns, NUMBERS),
            ("lower", columns, NUMBERS),
            ("upper", columns, NUMBERS),
            ("integer", columns, BOOLS),
        ):
            object.__setattr__(self, name, _read_array(getattr(self, name), name, size, kinds))
        unknown = ~np.isin(self.senses, SENSES)
        if unknown.any():
            raise ValueError(f"senses: expected {' or '.join(SENSES)}, got {str(self.senses[unknown][0])!r}")
        infinite = np.flatnonzero((self.senses == "==") & np.isinf(self.rhs))
        if infinite.size:
            row = int(infinite[0])
            raise ValueError(
                f"rhs: expected a finite number in equations, got {self.rhs[row]} in {self.row_labels[row]}"
            )
        if not np.isfinite(self.objective).all():
            raise ValueError("objective: expected finite numbers, got infinity")
        if not isinstance(self.constant, Real) or not isfinite(self.constant):
            raise ValueError(f"constant: expected a finite number, got {self.constant!r}")
        for name, size in (("row_labels", rows), ("column_labels", columns)):
            labels = getattr(self, name)
            got = len(labels) if isinstance(labels, Sized) else type(labels).__name__
            if got != size:
                raise ValueError(f"{name}: expected {size} labels, got {got}")

    @property
    def n_rows(self) -> int:
        """Number of constraints."""
        return int(self.A.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of variables."""
        return int(self.A.shape[1])

    @property
    def is_integer(self) -> bool:
        """Whether any variable is integer."""
        return bool(self.integer.any())

    @property
    def row_lower(self) -> FloatArray:
        """Lower sides of the rows: the right-hand side, or minus infinity."""
        return np.where(self.senses == "<=", -np.inf, self.rhs)

    @property
    def row_upper(self) -> FloatArray:
        """Upper sides of the rows: the right-hand side, or infinity."""
        return np.where(self.senses == ">=", np.inf, self.rhs)

    def violation(self, values: npt.NDArray[np.number]) -> float:
        """Return by how much a point misses the row or bound that it misses most; 0 where it keeps all."""
        left = self.A @ values
        missed = (self.row_lower - left, left - self.row_upper, self.lower - values, values - self.upper)
        return float(np.concatenate(missed).max(initial=0.0))

    def __repr__(self) -> str:
        binary = (self.lower[self.integer] >= 0) & (self.upper[self.integer] <= 1)
        kind = ("0-1" if binary.all() else "integer") if self.is_integer else "linear"
        return f"LinearProgram({kind}, {self.n_rows} rows, {self.n_columns} columns, {self.A.nnz} nonzeros)"


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What a solver returned for a program, in its floats.

    Parameters
    ----------
    status : Status
    values : ndarray of float64, shape (n_columns,), or None
        A feasible point, the optimum if the status says so.
    row_duals : ndarray of float64, shape (n_rows,), or None
        Of a linear program: what the objective gains when a right-hand side grows by 1 (<= 0 for "<=" rows).
    objective : float
        Of ``values``; infinite without them.
    bound : float
        The solver's lower bound; minus infinity without one.
    runtime_s : float
    iterations : int
        Simplex iterations, or nodes of branch and bound.
    """

    status: Status
    values: FloatArray | None
    row_duals: FloatArray | None
    objective: float
    bound: float
    runtime_s: float
    iterations: int

    @classmethod
    def of_nothing(cls, program: LinearProgram) -> Solution | None:
        """Solve a program without variables: the closure of bare roots, which HiGHS calls empty; None if rows fail."""
        nothing, value = np.zeros(0), program.constant
        if program.violation(nothing) > 0:
            return None
        return cls(Status.OPTIMAL, nothing, np.zeros(program.n_rows), value, value, 0.0, 0)

    @property
    def integer_bound(self) -> int:
        """The bound (finite) of a program with integer objectives: rounded up, less the error allowed to its floats."""
        return ceil(self.bound - BOUND_TOLERANCE - RELATIVE_BOUND_TOLERANCE * abs(self.bound))


def selection(columns: npt.NDArray[np.integer], width: int) -> csr_array:
    """One row for each of `columns`, with a 1 in that column."""
    return csr_array((np.ones(columns.size), columns, np.arange(columns.size + 1)), shape=(columns.size, width))


def _read_matrix(matrix: Any) -> csr_array:
    """Take a matrix, sparse or dense, as a `csr_array`.

    Raises
    ------
    TypeError
        It holds no numbers.
    ValueError
        It is no matrix, or an entry is not finite.
    """
    if not issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2:
        raise ValueError(f"A: expected a matrix, got {matrix.ndim} dimensions")
    if matrix.dtype.kind not in NUMBERS[1]:
        raise TypeError(f"A: expected numbers, got {matrix.dtype}")
    read = csr_array(matrix, dtype=np.float64)
    if not read.has_canonical_format:
        read = read.copy()
        read.sum_duplicates()
    if not np.isfinite(read.data).all():
        raise ValueError("A: expected finite numbers, got NaN or infinity")
    return read


def _read_array(value: object, name: str, size: int, kinds: tuple[str, str]) -> Array:
    """Take the array of a program's rows or columns, numbers as float64.

    Raises
    ------
    TypeError
        It is of another kind.
    ValueError
        It has another shape, or a number is NaN.
    """
    array = np.asarray(value)
    if array.shape != (size,):
        raise ValueError(f"{name}: expected shape ({size},), got {array.shape}")
    expected, letters = kinds
    if size and array.dtype.kind not in letters:
        raise TypeError(f"{name}: expected {expected}, got {array.dtype}")
    if kinds is NUMBERS:
        array = array.astype(np.float64, copy=False)
        if np.isnan(array).any():
            raise ValueError(f"{name}: expected numbers, got NaN")
    return read_only(array)
