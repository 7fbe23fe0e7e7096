"""Vertices by their definition, in exponential time: what faster code is compared with."""

from itertools import combinations

from proofs.exact import Number, rank, solve_square
from proofs.integrality.vertices import Polytope, Vector


def vertices_by_bases(polytope: Polytope) -> list[Vector]:
    """Enumerate all vertices by solving every square subsystem: exponential, for checking `vertices`."""
    equalities, inequalities = polytope.equalities(), polytope.inequalities()
    independent: list[tuple[Number, ...]] = []
    for row in equalities:
        if rank([other[1:] for other in [*independent, row]]) > len(independent):
            independent.append(row)
    points: set[Vector] = set()
    for chosen in combinations(inequalities, len(polytope.names) - len(independent)):
        system = [*independent, *chosen]
        point = solve_square([row[1:] for row in system], [-row[0] for row in system])
        if point is not None and polytope.contains(point):
            points.add(tuple(point))
    return sorted(points)
