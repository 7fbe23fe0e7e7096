"""What a linear solver takes and gives: a program as a sparse matrix with named rows and columns, and its solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ipforest._internal.arrays import Array, BoolArray, FloatArray, read_only
from ipforest.results import Status

__all__ = ["Block", "Labels", "LinearProgram", "Solution"]

BOUND_TOLERANCE = 1e-6
RELATIVE_BOUND_TOLERANCE = 1e-9
"""Both are taken off the bound of branch and bound before it is rounded up to an integer."""


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
        Integers in every formulation of this package.
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
        rows, columns = self.A.shape
        for name, size in (
            ("senses", rows),
            ("rhs", rows),
            ("objective", columns),
            ("lower", columns),
            ("upper", columns),
            ("integer", columns),
        ):
            array = np.asarray(getattr(self, name))
            if array.shape != (size,):
                raise ValueError(f"{name}: expected shape ({size},), got {array.shape}")
            object.__setattr__(self, name, read_only(array))
        for name, size in (("row_labels", rows), ("column_labels", columns)):
            if len(getattr(self, name)) != size:
                raise ValueError(f"{name}: expected {size} labels, got {len(getattr(self, name))}")

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

    def __repr__(self) -> str:
        kind = "0-1" if self.is_integer else "linear"
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
    def of_nothing(cls, constant: float) -> Solution:
        """Solve the program without variables: the closure of bare roots, which HiGHS calls empty."""
        nothing = np.zeros(0)
        return cls(Status.OPTIMAL, nothing, nothing, constant, constant, 0.0, 0)

    @property
    def integer_bound(self) -> int:
        """The bound (finite) of a program with integer objectives: rounded up, less the error allowed to its floats."""
        return ceil(self.bound - BOUND_TOLERANCE - RELATIVE_BOUND_TOLERANCE * abs(self.bound))
