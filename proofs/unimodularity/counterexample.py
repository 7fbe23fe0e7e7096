"""A submatrix that shows a matrix is not totally unimodular; what is accepted as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proofs.exact import Number, determinant, sparse_determinant
from proofs.verdict import Verdict, accept, refuse

MAX_LISTED = 20
"""Of more rows or columns, the first ones are told, and how many others there are."""


class NoViolationError(ValueError):
    """A submatrix that violates nothing; the text says what it is."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A square submatrix that shows a matrix is not totally unimodular; false as a truth value.

    Attributes
    ----------
    matrix : (m, n) ndarray or scipy csr_array
        The matrix in question.
    rows, columns : tuple of int
        The submatrix, by position; both of the same length.
    determinant : int or Fraction
        Its determinant, outside -1, 0, 1.
    row_labels, column_labels : sequence of str, optional
        Names of all rows and columns of the matrix, where it is that of a model.
    """

    matrix: NDArray[Any] | sparse.csr_array
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    determinant: Number
    row_labels: Sequence[str] | None = None
    column_labels: Sequence[str] | None = None

    @classmethod
    def of(cls, matrix: NDArray[Any] | sparse.csr_array, rows: Sequence[int], columns: Sequence[int]) -> Counterexample:
        """Compute the determinant of a submatrix, and state it as a violation.

        Raises
        ------
        NoViolationError
            If it is not square, or its determinant is -1, 0 or 1.
        """
        size = _determinant(matrix, rows, columns) if len(rows) == len(columns) else 0
        found = cls(matrix, tuple(rows), tuple(columns), size)
        verdict = found.check()
        if not verdict:
            raise NoViolationError(f"rows, columns: expected a violating submatrix, got one of which {verdict.reason}")
        return found

    def __bool__(self) -> bool:
        return False

    @property
    def submatrix(self) -> NDArray[Any]:
        """The violating square submatrix."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix[np.ix_(self.rows, self.columns)]
        return np.asarray(self.matrix[list(self.rows)][:, list(self.columns)].toarray())

    def check(self) -> Verdict:
        """Recompute the determinant exactly."""
        m, n = self.matrix.shape
        if len(self.rows) != len(self.columns) or not self.rows:
            return refuse(f"{len(self.rows)} rows and {len(self.columns)} columns are no square submatrix")
        if len(set(self.rows)) != len(self.rows) or len(set(self.columns)) != len(self.columns):
            return refuse("a row or a column is listed twice")
        if not all(0 <= i < m for i in self.rows) or not all(0 <= j < n for j in self.columns):
            return refuse(f"a row or a column lies outside the {m} x {n} matrix")
        found = _determinant(self.matrix, self.rows, self.columns)
        if found != self.determinant:
            return refuse(f"the determinant is {found}, not {self.determinant}")
        if found in (-1, 0, 1):
            return refuse(f"the determinant {found} does not violate total unimodularity")
        rows = self.row_names or list(map(str, self.rows))
        columns = self.column_names or list(map(str, self.columns))
        return accept(f"rows {_listed(rows)}, columns {_listed(columns)} have determinant {found}")

    @property
    def row_names(self) -> list[str] | None:
        """Names of the submatrix's rows; None where the matrix has none."""
        return None if self.row_labels is None else [self.row_labels[row] for row in self.rows]

    @property
    def column_names(self) -> list[str] | None:
        """Names of the submatrix's columns; None where the matrix has none."""
        return None if self.column_labels is None else [self.column_labels[column] for column in self.columns]

    def __str__(self) -> str:
        verdict = self.check()
        return f"{'not totally unimodular' if verdict else 'no counterexample'}: {verdict.reason}"


def _listed(names: Sequence[str]) -> str:
    others = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"[{', '.join(names[:MAX_LISTED])}{others}]"


def as_matrix(matrix: Any) -> NDArray[Any] | sparse.csr_array:
    """Copy a matrix of finite numbers to a read-only ndarray, or csr_array without stored zeros if it is sparse.

    Raises
    ------
    ValueError
        Says what is no matrix of finite numbers.
    """
    if sparse.issparse(matrix):
        values = sparse.csr_array(matrix, copy=True)
        values.sum_duplicates()
        values.eliminate_zeros()
        values.data = _as_numbers(values.data)
        for array in (values.indices, values.indptr):
            array.flags.writeable = False
        return values
    lengths = {np.size(row) for row in matrix} if isinstance(matrix, (list, tuple)) else set()
    if len(lengths) > 1:
        raise ValueError(f"matrix: expected rows of one length, got some of {min(lengths)} and {max(lengths)}")
    dense = np.array(matrix)
    if dense.shape == (0,):
        dense = dense.reshape(0, 0)
    if dense.ndim != 2:
        raise ValueError(f"matrix: expected two dimensions, got {dense.ndim}; pass a list of rows or a 2-d array")
    return _as_numbers(dense)


def as_dense_matrix(matrix: Any) -> NDArray[Any]:
    """Copy a matrix of finite numbers to a read-only ndarray; see `as_matrix`."""
    dense: NDArray[Any] = as_matrix(matrix.toarray() if sparse.issparse(matrix) else matrix)
    return dense


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype == np.bool_:
        values = values.astype(np.int64)
    if values.dtype == object:
        if not all(isinstance(entry, int | Fraction) for entry in values.flat):
            raise ValueError("matrix: expected int or Fraction objects; convert the entries first")
    elif not np.issubdtype(values.dtype, np.integer) and not np.issubdtype(values.dtype, np.floating):
        raise ValueError(f"matrix: expected numbers, got dtype {values.dtype}; convert it first")
    elif not np.isfinite(values).all():
        raise ValueError("matrix: expected finite numbers, got NaN or infinity; clean it first")
    if np.isin(values, (-1, 0, 1)).all():
        values = values.astype(np.int64)
    values.flags.writeable = False
    return values


def exact_rows(values: NDArray[Any]) -> list[list[Number]]:
    """Write a dense matrix with int and Fraction entries."""
    return [_exact(row) for row in values]


def _exact(values: NDArray[Any]) -> list[Number]:
    if values.dtype == object or np.issubdtype(values.dtype, np.integer):
        return list(values.tolist())
    return [Fraction(entry) for entry in values.tolist()]


def _determinant(matrix: NDArray[Any] | sparse.csr_array, rows: Sequence[int], columns: Sequence[int]) -> Number:
    if isinstance(matrix, np.ndarray):
        return determinant(exact_rows(matrix[np.ix_(rows, columns)]))
    part = sparse.csr_array(matrix[list(rows)][:, list(columns)])
    part.sum_duplicates()
    part.eliminate_zeros()
    ends, places, entries = part.indptr.tolist(), part.indices.tolist(), _exact(part.data)
    return sparse_determinant([dict(zip(places[a:b], entries[a:b], strict=True)) for a, b in pairwise(ends)])
