"""CMR as another back end: the Combinatorial Matrix Recognition library finds, this package checks.

Optional: install `passagemath-cmr`, a maintained build of the library (https://discopt.github.io/cmr/). Its violating
submatrix is checked by its determinant; its word that a matrix is totally unimodular is taken only together with a
certificate of `total_unimodularity`.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse

from proofs.unimodularity.counterexample import Counterexample, NoViolationError, as_matrix
from proofs.unimodularity.decomposition import Certificate
from proofs.unimodularity.total_unimodularity import is_totally_unimodular


class CmrMissingError(ImportError):
    """CMR is not installed."""


def decide_with_cmr(matrix: Any) -> Certificate | Counterexample:
    """Decide total unimodularity by CMR, and check its answer.

    Parameters
    ----------
    matrix : (m, n) array_like or scipy sparse matrix of integers

    Returns
    -------
    Certificate or Counterexample
        As `is_totally_unimodular` returns them; CMR's submatrix need not be minimal.

    Raises
    ------
    CmrMissingError
        If `passagemath-cmr` is not installed.
    RuntimeError
        If CMR stops at its time limit, or its answer does not pass the check.
    """
    violator = cmr_violator(matrix)
    if violator is None:
        answer = is_totally_unimodular(matrix)
        if not answer:
            raise RuntimeError(f"CMR accepts a matrix that is {answer}: report it")
        return answer
    try:
        return Counterexample.of(as_matrix(matrix), *violator)
    except NoViolationError as problem:
        raise RuntimeError(f"CMR's violating submatrix is none: {problem}: report this matrix") from problem


def cmr_violator(matrix: Any) -> tuple[list[int], list[int]] | None:
    """Ask CMR alone: rows and columns of a violating submatrix, or None if it accepts the matrix; nothing is checked.

    Raises
    ------
    CmrMissingError
        If `passagemath-cmr` is not installed.
    RuntimeError
        If CMR stops at its time limit.
    """
    try:
        from sage.matrix.matrix_cmr_sparse import Matrix_cmr_chr_sparse
        from sage.matrix.matrix_space import MatrixSpace
        from sage.rings.integer_ring import ZZ
    except ImportError as problem:
        raise CmrMissingError("CMR is not installed: pip install passagemath-cmr") from problem
    values = as_matrix(matrix)
    rows, columns, entries = sparse.find(sparse.coo_array(values))
    nonzeros = dict(zip(zip(rows.tolist(), columns.tolist(), strict=True), entries.tolist(), strict=True))
    asked = Matrix_cmr_chr_sparse(MatrixSpace(ZZ, *values.shape, sparse=True), nonzeros)
    if asked.is_totally_unimodular():
        return None
    _, (_, (violating_rows, violating_columns)) = asked.is_totally_unimodular(certificate=True)
    return [int(row) for row in violating_rows], [int(column) for column in violating_columns]
