r"""Certificates of total unimodularity at any size: a tree of sums that ends in network matrices.

A regular matroid is built from graphic and cographic ones and copies of R10 by 1-, 2- and 3-sums (Seymour 1980;
Schrijver, "Theory of Linear and Integer Programming", section 19.4). A certificate is such a construction of the matrix
itself. Each step says how the matrix splits into smaller ones, so that it is totally unimodular (TU) if they are:

=================== =================================================================================================
`NetworkCertificate` a leaf: the matrix, or its transpose, is a network matrix
`ColouringCertificate` a leaf with at most five rows or columns, such as R10: a colouring for every set of lines
`Peeling`           lines with at most one nonzero, or parallel to another, are taken off one by one
`Blocks`            1-sum: the matrix falls into blocks without nonzeros outside them
`TwoSum`            .. math:: \begin{pmatrix} A & 0 \\ dc & B \end{pmatrix} \gets (A; c), \ (d \; B)
`ThreeSum`          .. math:: \begin{pmatrix} A & ab \\ dc & B \end{pmatrix} \gets
                    \begin{pmatrix} A & a & a \\ c & 0 & \epsilon \end{pmatrix},
                    \begin{pmatrix} \epsilon & 0 & b \\ d & d & B \end{pmatrix}
`Pivot`             a pivot on an entry 1 or -1, which keeps total unimodularity both ways
=================== =================================================================================================

Here a, d are columns and b, c rows. Each step is checked against its matrix in time linear in the nonzeros of that
matrix and of its parts; no step asks for a search. Nothing here imports a solver, numba or `ipforest`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proofs.certificates.exact_arrays import array_fault
from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.small_matrices import ColouringCertificate
from proofs.verdict import Verdict, accept, refuse

Array = NDArray[np.int64]
Matrix: TypeAlias = sparse.csr_array


class BrokenStepError(ValueError):
    """A step of a decomposition that does not fit its matrix; the text says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Peeling:
    """Take off lines that are zero, unit vectors or parallel to another line, in this order.

    Attributes
    ----------
    lines : (k,) int64 ndarray
        Row i as i, column j as m + j.
    partners : (k,) int64 ndarray
        The parallel line of the same kind that stays; -1 for a line with at most one nonzero.
    rest : Proof
        Of the matrix without these lines.
    """

    lines: Array
    partners: Array
    rest: Proof

    def parts(self, matrix: Matrix) -> list[tuple[Proof, Matrix]]:
        """Check each line against what is left of the matrix when it goes."""
        _require_array("lines", self.lines, np.int64)
        _require_array("partners", self.partners, np.int64, self.lines.size)
        m, n = matrix.shape
        left = LinesOf(matrix)
        for line, partner in zip(self.lines.tolist(), self.partners.tolist(), strict=True):
            if line not in left:
                raise BrokenStepError(f"line {line} is not there to be taken off")
            if partner == -1:
                if len(left[line]) > 1:
                    raise BrokenStepError(f"line {line} has more than one nonzero")
            elif (line < m) != (partner < m) or partner == line or partner not in left:
                raise BrokenStepError(f"line {partner} is no partner of line {line}")
            elif not left.are_parallel(line, partner):
                raise BrokenStepError(f"lines {line} and {partner} are not parallel")
            left.remove(line)
        keep = np.ones(m + n, dtype=np.bool_)
        keep[self.lines] = False
        return [(self.rest, submatrix(matrix, np.flatnonzero(keep[:m]), np.flatnonzero(keep[m:])))]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """1-sum: every nonzero lies in the rows and columns of one block.

    Attributes
    ----------
    row_block : (m,) int64 ndarray
    column_block : (n,) int64 ndarray
        Numbers of blocks from 0.
    proofs : tuple of Proof
        One for each block.
    """

    row_block: Array
    column_block: Array
    proofs: tuple[Proof, ...]

    def parts(self, matrix: Matrix) -> list[tuple[Proof, Matrix]]:
        """Check that no nonzero lies outside the blocks."""
        m, n = matrix.shape
        _require_array("row_block", self.row_block, np.int64, m)
        _require_array("column_block", self.column_block, np.int64, n)
        for numbers in (self.row_block, self.column_block):
            if ((numbers < 0) | (numbers >= len(self.proofs))).any():
                raise BrokenStepError("a row or column belongs to no block")
        entries = matrix.tocoo()
        if (self.row_block[entries.row] != self.column_block[entries.col]).any():
            raise BrokenStepError("a nonzero lies outside the blocks")
        blocks = blocks_of(matrix, self.row_block, self.column_block, len(self.proofs))
        return list(zip(self.proofs, blocks, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class TwoSum:
    """2-sum: nothing above the second block, a product of a column and a row below the first.

    Attributes
    ----------
    first_rows : (m,) bool ndarray
    first_columns : (n,) bool ndarray
        Which lines belong to the first part.
    row, column : int
        A row of the second part and a column of the first with a nonzero in common: c and d, up to sign.
    first, second : Proof
        Of the first part with that row, and of the second with that column, each as the last line.
    """

    first_rows: NDArray[np.bool_]
    first_columns: NDArray[np.bool_]
    row: int
    column: int
    first: Proof
    second: Proof

    def parts(self, matrix: Matrix) -> list[tuple[Proof, Matrix]]:
        """Check the zero block and the product."""
        above, below = _off_diagonal(matrix, self.first_rows, self.first_columns)
        if above.nnz:
            raise BrokenStepError("the block that should be zero has a nonzero")
        _require_product(below, self.row, self.column)
        rows, columns = np.flatnonzero(self.first_rows), np.flatnonzero(self.first_columns)
        others, behind = np.flatnonzero(~self.first_rows), np.flatnonzero(~self.first_columns)
        return [
            (self.first, submatrix(matrix, np.append(rows, self.row), columns)),
            (self.second, submatrix(matrix, others, np.append(behind, self.column))),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ThreeSum:
    """3-sum: a product of a column and a row above the second block, and one below the first.

    Attributes
    ----------
    first_rows : (m,) bool ndarray
    first_columns : (n,) bool ndarray
        Which lines belong to the first part.
    above, below : (row, column) tuples of int
        A nonzero of each product.
    sign : int
        The corner of both parts, 1 or -1.
    first, second : Proof
        Of the two parts as they stand in the module's table.
    """

    first_rows: NDArray[np.bool_]
    first_columns: NDArray[np.bool_]
    above: tuple[int, int]
    below: tuple[int, int]
    sign: int
    first: Proof
    second: Proof

    def parts(self, matrix: Matrix) -> list[tuple[Proof, Matrix]]:
        """Check the products, and put the parts together."""
        if self.sign not in (-1, 1):
            raise BrokenStepError(f"the corner is {self.sign}, not 1 or -1")
        above, below = _off_diagonal(matrix, self.first_rows, self.first_columns)
        _require_product(above, *self.above)
        _require_product(below, *self.below)
        return list(
            zip(
                (self.first, self.second),
                three_sum_parts(matrix, self.first_rows, self.first_columns, self.above, self.below, self.sign),
                strict=True,
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class Pivot:
    """A pivot: row and column change places.

    Attributes
    ----------
    row, column : int
        Where an entry 1 or -1 stands.
    rest : Proof
        Of the matrix after the pivot.
    """

    row: int
    column: int
    rest: Proof

    def parts(self, matrix: Matrix) -> list[tuple[Proof, Matrix]]:
        """Pivot."""
        m, n = matrix.shape
        if not (0 <= self.row < m and 0 <= self.column < n) or matrix[self.row, self.column] not in (-1, 1):
            raise BrokenStepError(f"there is no 1 or -1 to pivot on in row {self.row}, column {self.column}")
        return [(self.rest, pivoted(matrix, self.row, self.column))]


Step: TypeAlias = Peeling | Blocks | TwoSum | ThreeSum | Pivot
Proof: TypeAlias = Step | NetworkCertificate | ColouringCertificate


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """A proof that a matrix is totally unimodular; true as a truth value if it passes its check.

    Attributes
    ----------
    matrix : (m, n) ndarray or scipy csr_array
        The matrix in question.
    proof : Proof
        Steps down to network matrices and matrices with a short side.
    """

    matrix: NDArray[Any] | Matrix
    proof: Proof

    def check(self) -> Verdict:
        """Recompute every step, from the matrix down to the leaves."""
        entries = summed(self.matrix)
        if not np.isin(entries.data, (-1, 0, 1)).all():
            return refuse("the matrix has an entry other than 0, 1, -1")
        todo: list[tuple[Proof, Matrix]] = [(self.proof, sparse_matrix(entries))]
        leaves = 0
        while todo:
            proof, matrix = todo.pop()
            if isinstance(proof, NetworkCertificate):
                verdict = proof.check(matrix)
            elif isinstance(proof, ColouringCertificate):
                verdict = _check_colouring(proof, matrix)
            else:
                try:
                    todo += proof.parts(matrix)
                except BrokenStepError as fault:
                    return refuse(f"{type(proof).__name__}: {fault}")
                continue
            if not verdict:
                return verdict
            leaves += 1
        m, n = self.matrix.shape
        counted = f"{leaves} {'leaf' if leaves == 1 else 'leaves'}"
        return accept(f"{m} x {n}: {self._steps() or 'no sums'}, {counted} ({self._leaves()})")

    def proofs(self) -> Iterator[Proof]:
        """Walk through the steps and leaves."""
        todo: list[Proof] = [self.proof]
        while todo:
            proof = todo.pop()
            yield proof
            todo += _following(proof)

    def _steps(self) -> str:
        names = {Peeling: "peeling", Blocks: "1-sum", TwoSum: "2-sum", ThreeSum: "3-sum", Pivot: "pivot"}
        found = [names[type(proof)] for proof in self.proofs() if type(proof) in names]
        return ", ".join(f"{found.count(name)} {name}{'s' * (found.count(name) > 1)}" for name in dict.fromkeys(found))

    def _leaves(self) -> str:
        found = [
            "small"
            if isinstance(proof, ColouringCertificate)
            else ("network" if proof.transposed else "transposed network")
            for proof in self.proofs()
            if isinstance(proof, NetworkCertificate | ColouringCertificate)
        ]
        return ", ".join(f"{found.count(name)} {name}" for name in dict.fromkeys(found))

    def __bool__(self) -> bool:
        return bool(self.check())

    def __str__(self) -> str:
        verdict = self.check()
        return f"totally unimodular ({verdict.reason})" if verdict else f"no certificate: {verdict.reason}"


def _following(proof: Proof) -> Sequence[Proof]:
    if isinstance(proof, Peeling | Pivot):
        return (proof.rest,)
    if isinstance(proof, TwoSum | ThreeSum):
        return (proof.first, proof.second)
    return proof.proofs if isinstance(proof, Blocks) else ()


def _check_colouring(proof: ColouringCertificate, matrix: Matrix) -> Verdict:
    if not np.array_equal(proof.matrix, matrix.toarray()):
        return refuse("the colourings are about another matrix")
    return proof.check()


def submatrix(matrix: Matrix, rows: Array, columns: Array) -> Matrix:
    """Return the entries in some rows and columns, in this order."""
    return sparse.csr_array(matrix[rows][:, columns])


def blocks_of(matrix: Matrix, row_block: Array, column_block: Array, n_blocks: int) -> list[Matrix]:
    """Cut a matrix into its diagonal blocks in one pass."""
    rows, columns = np.argsort(row_block, kind="stable"), np.argsort(column_block, kind="stable")
    sorted_rows = sparse.csr_array(matrix[rows])
    place = np.empty(columns.size, dtype=np.int64)
    place[columns] = np.arange(columns.size)
    row_ends = np.concatenate([[0], np.cumsum(np.bincount(row_block, minlength=n_blocks))])
    column_ends = np.concatenate([[0], np.cumsum(np.bincount(column_block, minlength=n_blocks))])
    found = []
    for block in range(n_blocks):
        first, last = row_ends[block : block + 2]
        start, stop = sorted_rows.indptr[first], sorted_rows.indptr[last]
        indices = place[sorted_rows.indices[start:stop]] - column_ends[block]
        shape = (int(last - first), int(column_ends[block + 1] - column_ends[block]))
        indptr = sorted_rows.indptr[first : last + 1] - start
        found.append(sparse.csr_array((sorted_rows.data[start:stop], indices, indptr), shape=shape))
    return found


def pivoted(matrix: Matrix, row: int, column: int) -> Matrix:
    """Pivot on an entry e = 1 or -1: e, c; d, B becomes -e, e c; e d, B - e d c."""
    entry = int(matrix[row, column])
    c = sparse.csr_array(matrix[[row]])
    d = sparse.csr_array(matrix[:, [column]])
    result = sparse.lil_array(matrix - entry * (d @ c))
    result[[row]] = entry * c
    result[:, [column]] = entry * d
    result[row, column] = -entry
    changed = sparse.csr_array(result)
    changed.eliminate_zeros()
    return changed


def three_sum_parts(
    matrix: Matrix,
    first_rows: NDArray[np.bool_],
    first_columns: NDArray[np.bool_],
    above: tuple[int, int],
    below: tuple[int, int],
    sign: int,
) -> tuple[Matrix, Matrix]:
    """Put the two parts of a 3-sum together; see the module's table."""
    rows, columns = np.flatnonzero(first_rows), np.flatnonzero(first_columns)
    others, behind = np.flatnonzero(~first_rows), np.flatnonzero(~first_columns)
    a = submatrix(matrix, rows, np.array([above[1]]))
    b = int(matrix[above]) * submatrix(matrix, np.array([above[0]]), behind)
    d = submatrix(matrix, others, np.array([below[1]]))
    c = int(matrix[below]) * submatrix(matrix, np.array([below[0]]), columns)
    corner, zero = sparse.csr_array([[sign]]), sparse.csr_array((1, 1), dtype=np.int64)
    first = sparse.block_array([[submatrix(matrix, rows, columns), a, a], [c, zero, corner]], format="csr")
    second = sparse.block_array([[corner, zero, b], [d, d, submatrix(matrix, others, behind)]], format="csr")
    return sparse.csr_array(first), sparse.csr_array(second)


def _off_diagonal(
    matrix: Matrix, first_rows: NDArray[np.bool_], first_columns: NDArray[np.bool_]
) -> tuple[Matrix, Matrix]:
    """Keep of a matrix what lies above the second block, and what lies below the first, in place."""
    m, n = matrix.shape
    _require_array("first_rows", first_rows, np.bool_, m)
    _require_array("first_columns", first_columns, np.bool_, n)
    entries = matrix.tocoo()
    blocks = []
    for side in (True, False):
        inside = (first_rows[entries.row] == side) & (first_columns[entries.col] != side)
        places = entries.row[inside], entries.col[inside]
        blocks.append(sparse.csr_array((entries.data[inside], places), shape=matrix.shape))
    return blocks[0], blocks[1]


def _require_array(name: str, values: object, dtype: type[np.generic], size: int | None = None) -> None:
    """Check that an array of a step is a plain one of the dtype and size."""
    fault = array_fault(name, values, dtype, size)
    if fault:
        raise BrokenStepError(fault)


def _require_product(block: Matrix, row: int, column: int) -> None:
    """Check that a block is the product of its column and its row through a nonzero."""
    m, n = block.shape
    if not (0 <= row < m and 0 <= column < n) or block[row, column] == 0:
        raise BrokenStepError(f"row {row}, column {column} is no nonzero of its block")
    across, down = sparse.csr_array(block[[row]]), sparse.csr_array(block[:, [column]])
    if block.nnz != across.nnz * down.nnz:
        raise BrokenStepError(f"a block has {block.nnz} nonzeros, not {down.nnz} x {across.nnz}")
    difference = block - int(block[row, column]) * (down @ across)
    if difference.count_nonzero():
        raise BrokenStepError("a block is not the product of a column and a row")


class LinesOf:
    """Rows and columns of a matrix as dictionaries, from which lines can be taken; row i is i, column j is m + j."""

    def __init__(self, matrix: Matrix) -> None:
        m, n = matrix.shape
        entries = matrix.tocoo()
        lines: list[dict[int, int]] = [{} for _ in range(m + n)]
        for row, column, value in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True):
            if value:
                lines[row][m + column] = value
                lines[m + column][row] = value
        self._lines: dict[int, dict[int, int]] = dict(enumerate(lines))

    def __contains__(self, line: int) -> bool:
        return line in self._lines

    def __getitem__(self, line: int) -> dict[int, int]:
        return self._lines[line]

    def are_parallel(self, line: int, other: int) -> bool:
        """Return whether one line is the other or its negative."""
        entries, others = self._lines[line], self._lines[other]
        if entries.keys() != others.keys():
            return False
        return len({value * others[place] for place, value in entries.items()}) <= 1

    def remove(self, line: int) -> None:
        """Take a line off."""
        for other in self._lines.pop(line):
            del self._lines[other][line]


def summed(matrix: Any) -> Matrix:
    """Copy a matrix to csr, each entry stored once; its type stays."""
    entries = sparse.csr_array(matrix, copy=True)
    entries.sum_duplicates()
    return entries


def sparse_matrix(matrix: Any) -> Matrix:
    """Copy a 0/+-1 matrix to int64 csr without stored zeros."""
    entries = summed(matrix).astype(np.int64)
    entries.eliminate_zeros()
    return entries
