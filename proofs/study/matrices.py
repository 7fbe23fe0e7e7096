"""What a formulation's matrix is: totally unimodular, balanced, perfect, ideal; violators in the names of the model."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import sparse

from formulations.base import Formulation
from proofs.integrality.vertices import Polytope, is_integral, vertices
from proofs.study.checks import program_of
from proofs.study.problem import Problem
from proofs.study.programs import ExactProgram
from proofs.study.refutation import Violation
from proofs.unimodularity.counterexample import Counterexample
from proofs.unimodularity.formulation_networks import network_certificate
from proofs.unimodularity.odd_holes import odd_hole
from proofs.unimodularity.total_unimodularity import is_totally_unimodular

__all__ = ["balanced", "has_integral_sides", "has_network", "ideal", "is_zero_one", "perfect", "totally_unimodular"]


def has_network(formulation: Formulation, problem: Problem) -> bool:
    """Return whether the formulation states a network, of which the matrix is then checked to be the path matrix.

    Raises
    ------
    ArithmeticError
        It states a network that is not that of its matrix.
    """
    if formulation.network(problem.instance) is None:
        return False
    matrix = program_of(formulation, problem, relaxed=True).program.A
    verdict = network_certificate(problem.instance, formulation).check(matrix)
    if not verdict:
        raise ArithmeticError(f"{formulation.name}: expected the network of its matrix, got one {verdict}")
    return True


def totally_unimodular(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a square submatrix of a determinant other than -1, 0, 1; `is_totally_unimodular` proves there is none.

    Raises
    ------
    ArithmeticError
        An answer whose evidence is refused.
    """
    program = program_of(formulation, problem, relaxed=True)
    answer = is_totally_unimodular(program.program.A)
    verdict = answer.check()
    if not verdict:
        raise ArithmeticError(f"{formulation.name}: expected evidence that is accepted, got one {verdict}")
    if not isinstance(answer, Counterexample):
        return None
    return Violation(f"determinant {answer.determinant} of {_named(program, answer.rows, answer.columns)}")


def balanced(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a chordless cycle of nonzeros whose sum is 2 modulo 4; finding none says nothing."""
    program = program_of(formulation, problem, relaxed=True)
    matrix = sparse.csr_array(program.program.A)
    if any(value not in (-1, 1) for value in matrix.data.tolist()):
        return None
    hole = odd_hole(matrix)
    if hole is None:
        return None
    return Violation(f"odd hole of {_named(program, hole[0].tolist(), hole[1].tolist())}")


def is_zero_one(formulation: Formulation, problem: Problem) -> bool:
    """Return whether all entries are 0 or 1; `perfect` and `ideal` are asked of such matrices alone."""
    matrix = sparse.csr_array(program_of(formulation, problem, relaxed=True).program.A)
    return bool((matrix.data == 1).all())


def perfect(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a fractional vertex of {0 <= x <= 1: A x <= 1}, all of whose vertices are enumerated (Padberg 1974)."""
    return _fractional_vertex(formulation, problem, "<=")


def ideal(formulation: Formulation, problem: Problem) -> Violation | None:
    """Look for a fractional vertex of {0 <= x <= 1: A x >= 1}, all of whose vertices are enumerated (Lehman 1979)."""
    return _fractional_vertex(formulation, problem, ">=")


def _fractional_vertex(formulation: Formulation, problem: Problem, sense: str) -> Violation | None:
    program = program_of(formulation, problem, relaxed=True)
    rows = [row for row in program.program.A.toarray().astype(int).tolist() if any(row)]
    n_rows = len(rows)
    of_ones = Polytope(rows, (sense,) * n_rows, (1,) * n_rows, tuple(program.columns))
    found = next((point for point in vertices(of_ones) if not is_integral(point)), None)
    if found is None:
        return None
    values = zip(program.columns, found, strict=True)
    return Violation(f"of A x {sense} 1 the vertex {', '.join(f'{name} = {value}' for name, value in values if value)}")


def has_integral_sides(formulation: Formulation, problem: Problem) -> bool:
    """Return whether right-hand sides and bounds are integers."""
    program = program_of(formulation, problem, relaxed=True)
    sides = [side for _, _, side in program.rows]
    return all(value.denominator == 1 for value in (*sides, *program.lower, *program.upper))


def _named(program: ExactProgram, rows: Sequence[int], columns: Sequence[int]) -> str:
    row_names = ", ".join(program.row_names[row] for row in rows)
    return f"rows {row_names} and columns {', '.join(program.columns[column] for column in columns)}"
