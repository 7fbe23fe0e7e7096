"""Assertions about programs and matrices; what fails them is said in the names of rows and columns."""

from __future__ import annotations

from typing import Any

__all__ = ["assert_integral", "assert_totally_unimodular"]


def assert_totally_unimodular(matrix: Any) -> None:
    """Assert that a matrix, or that of a model, is totally unimodular.

    Parameters
    ----------
    matrix : array_like, scipy sparse matrix, Pyomo or linopy model, LinearProgram, or path of an .mps or .lp file

    Raises
    ------
    AssertionError
        It is not; the message has the rows and columns of a minimal submatrix, its determinant, and
        its entries if they are few.
    """
    from proofs.unimodularity.counterexample import MAX_LISTED, Counterexample
    from proofs.unimodularity.total_unimodularity import is_totally_unimodular

    answer = is_totally_unimodular(matrix)
    verdict = answer.check()
    if not verdict:
        raise AssertionError(f"evidence that does not pass its check: {verdict.reason}")
    if isinstance(answer, Counterexample):
        entries = f"\n{answer.submatrix}" if len(answer.rows) <= MAX_LISTED else ""
        raise AssertionError(f"{answer}{entries}")


def assert_integral(model: Any, objectives: int = 50, seed: int = 0) -> None:
    """Assert that no vertex of a program's relaxation, or of a polytope, is fractional.

    A `proofs.integrality.vertices.Polytope` is decided: all its vertices are enumerated. So is a small program, and one
    whose matrix has a certificate. Of other programs random vertices are tried, and passing proves nothing; ask
    `proofs.is_integral` for the evidence, and which variables must be integral.

    Parameters
    ----------
    model : Polytope, Pyomo or linopy model, LinearProgram, or path of an .mps or .lp file
    objectives : int
        Random objectives for programs without a certificate.
    seed : int

    Raises
    ------
    AssertionError
        A vertex is fractional; the message has the names and values of its fractional coordinates.
    """
    from proofs.integrality.any_program import FRACTIONAL, is_integral
    from proofs.integrality.vertices import Polytope, vertices

    if not isinstance(model, Polytope):
        answer = is_integral(model, objectives, seed)
        if answer.verdict == FRACTIONAL:
            raise AssertionError(f"not integral: {answer.evidence}")
        return
    for vertex in vertices(model):
        broken = {name: value for name, value in zip(model.names, vertex, strict=True) if value.denominator > 1}
        if broken:
            listed = ", ".join(f"{name} = {value}" for name, value in broken.items())
            raise AssertionError(f"not integral: a vertex has {listed} (recomputed in fractions)")
