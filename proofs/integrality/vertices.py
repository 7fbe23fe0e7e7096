r"""Exact vertices of small polytopes, and the rounding argument as code.

`vertices` enumerates all extreme points of {x : A x <=, =, >= b, lower <= x <= upper} by the double description
method (Motzkin, Raiffa, Thompson and Thrall 1953; Fukuda and Prodon 1996): equalities are solved first, then one
inequality after the other cuts a cone whose extreme rays are kept as coprime integers. Degenerate vertices, which
pruning polytopes have in plenty, cost nothing extra, unlike in an enumeration of bases.

`round_by_threshold` is an elementary proof of integrality that needs no total unimodularity. Let (x, w) be feasible
for the closure form, 0 <= x, w <= 1. For theta uniform on (0, 1] the set {x >= theta} is closed under parents and needs
only acquisitions with w >= theta, and each indicator has the coordinate as its mean. So the mean objective over theta
is that of (x, w), and some theta, which may be taken among the coordinates' values, does at least as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from ipforest.instance import PruningInstance
from ipforest.results import Pruning
from proofs.exact import Number, independent_rows, rank, reduced_rows

Vector = tuple[Fraction, ...]
_Ray = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """Linear constraints with exact data.

    Attributes
    ----------
    matrix : sequence of rows of int or Fraction
    senses : sequence of {"<=", "=", ">="}
        One for each row.
    right : sequence of int or Fraction
        Right-hand sides.
    names : tuple of str
        Variables.
    lower, upper : int, Fraction or None
        Bounds of every variable; None where only rows bound some.
    """

    matrix: Sequence[Sequence[Number]]
    senses: Sequence[str]
    right: Sequence[Number]
    names: tuple[str, ...]
    lower: Number | None = 0
    upper: Number | None = 1

    def __post_init__(self) -> None:
        if any(len(row) != len(self.names) for row in self.matrix):
            raise ValueError(f"matrix: expected rows of {len(self.names)} entries, one for each name")
        if not len(self.matrix) == len(self.senses) == len(self.right):
            raise ValueError("matrix, senses, right: expected the same number of rows")
        unknown = set(self.senses) - {"<=", "=", ">="}
        if unknown:
            raise ValueError(f"senses: expected '<=', '=' or '>=', got {sorted(unknown)}")

    def equalities(self) -> list[tuple[Number, ...]]:
        """Rows (b, -a) with b - a x = 0."""
        return [
            (b, *(-value for value in row))
            for row, sense, b in zip(self.matrix, self.senses, self.right, strict=True)
            if sense == "="
        ]

    def inequalities(self) -> list[tuple[Number, ...]]:
        """Rows (b, -a) with b - a x >= 0, the bounds included."""
        rows: list[tuple[Number, ...]] = []
        for row, sense, b in zip(self.matrix, self.senses, self.right, strict=True):
            if sense == "<=":
                rows.append((b, *(-value for value in row)))
            elif sense == ">=":
                rows.append((-b, *row))
        for place in range(len(self.names)):
            unit = [int(place == other) for other in range(len(self.names))]
            if self.lower is not None:
                rows.append((-self.lower, *unit))
            if self.upper is not None:
                rows.append((self.upper, *(-value for value in unit)))
        return rows

    def contains(self, point: Sequence[Number]) -> bool:
        """Return whether a point satisfies every constraint exactly."""
        extended = (1, *point)
        return all(_dot(row, extended) == 0 for row in self.equalities()) and all(
            _dot(row, extended) >= 0 for row in self.inequalities()
        )

    def is_vertex(self, point: Sequence[Number]) -> bool:
        """Return whether a point is feasible and its active constraints have full rank."""
        if not self.contains(point):
            return False
        extended = (1, *point)
        active = self.equalities() + [row for row in self.inequalities() if _dot(row, extended) == 0]
        return rank([row[1:] for row in active]) == len(self.names)


class TooManyVerticesError(ValueError):
    """Vertices, or extreme rays on the way to them, are too many to be compared."""


def vertices(polytope: Polytope, most: int | None = None) -> list[Vector]:
    """Enumerate all vertices exactly, in lexicographic order; empty for an empty polytope.

    Parameters
    ----------
    polytope : Polytope
        It may be unbounded, but contains no line. Up to some twelve dimensions after the equalities, and a few thousand
        vertices.
    most : int, optional
        Comparisons of extreme rays, some ten million a second, at which the search is given up.

    Returns
    -------
    list of tuple of Fraction

    Raises
    ------
    TooManyVerticesError
        More comparisons than `most` are needed.
    ValueError
        The polytope contains a line.
    """
    dimension = len(polytope.names) + 1
    span = _null_space(polytope.equalities(), dimension)
    if not span:
        return []
    homogeneous = [(1,) + (0,) * (dimension - 1), *polytope.inequalities()]
    rows = [_coprime([_dot(row, direction) for direction in span]) for row in homogeneous]
    rays = _extreme_rays(sorted({row for row in rows if any(row)}), len(span), most)
    points: set[Vector] = set()
    for ray in rays:
        whole = [
            sum(weight * direction[i] for weight, direction in zip(ray, span, strict=True)) for i in range(dimension)
        ]
        if whole[0] > 0:
            points.add(tuple(Fraction(value) / whole[0] for value in whole[1:]))
    return sorted(points)


def is_integral(point: Sequence[Fraction]) -> bool:
    """Return whether every coordinate is an integer."""
    return all(value.denominator == 1 for value in point)


def _dot(row: Sequence[Number], vector: Sequence[Number]) -> Number:
    total: Number = 0
    for a, b in zip(row, vector, strict=True):
        if a and b:
            total += a * b
    return total


def _coprime(values: Sequence[Number]) -> _Ray:
    """Scale to coprime integers, keeping the direction."""
    scale = lcm(*(Fraction(value).denominator for value in values))
    integers = [int(value * scale) for value in values]
    divisor = gcd(*integers) or 1
    return tuple(value // divisor for value in integers)


def _null_space(rows: list[tuple[Number, ...]], dimension: int) -> list[_Ray]:
    """Return an integral basis of {y : rows y = 0}."""
    reduced, pivots = reduced_rows(rows)
    basis = []
    for free in (column for column in range(dimension) if column not in pivots):
        vector = [Fraction(0)] * dimension
        vector[free] = Fraction(1)
        for place, column in enumerate(pivots):
            vector[column] = -reduced[place][free]
        basis.append(_coprime(vector))
    return basis


def _extreme_rays(rows: list[_Ray], dimension: int, most: int | None) -> list[_Ray]:
    """Return the extreme rays of the pointed cone {u : rows u >= 0} as coprime integers; `vertices` explains `most`.

    Two rays are adjacent iff no third ray lies on all the hyperplanes that both lie on.
    """
    start = [rows[place] for place in independent_rows(rows)]
    if len(start) < dimension:
        raise ValueError("polytope: expected bounded variables, got a set that contains a line")
    units = np.eye(dimension, dtype=int).tolist()
    solved, _ = reduced_rows([(*row, *unit) for row, unit in zip(start, units, strict=True)])
    rays = [_coprime([row[dimension + place] for row in solved]) for place in range(dimension)]
    done, compared = list(start), 0
    touching = {ray: sum(1 << i for i, row in enumerate(done) if _dot(row, ray) == 0) for ray in rays}
    for row in (row for row in rows if row not in start):
        side = {ray: _dot(row, ray) for ray in touching}
        bit = 1 << len(done)
        done.append(row)
        following = {ray: mask | (bit if side[ray] == 0 else 0) for ray, mask in touching.items() if side[ray] >= 0}
        inside = [ray for ray in touching if side[ray] > 0]
        outside = [ray for ray in touching if side[ray] < 0]
        masks = list(touching.values())
        compared += len(inside) * len(outside) * len(masks)
        if most is not None and compared > most:
            raise TooManyVerticesError(f"polytope: expected one that {most} comparisons suffice for, got a larger one")
        for good in inside:
            for bad in outside:
                common = touching[good] & touching[bad]
                if sum(mask & common == common for mask in masks) == 2:
                    new = _coprime([side[good] * b - side[bad] * a for a, b in zip(good, bad, strict=True)])
                    following[new] = sum(1 << i for i, other in enumerate(done) if _dot(other, new) == 0)
        touching = following
    return list(touching)


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdRounding:
    """A threshold whose pruning is at least as good as a fractional point.

    Attributes
    ----------
    threshold : Fraction
        The nodes with x_h >= threshold are kept; above every coordinate it keeps none.
    pruning : Pruning
    objective : Fraction
        Of the pruning.
    fractional_objective : Fraction
        Of the point that was rounded; at least `objective`.
    """

    threshold: Fraction
    pruning: Pruning
    objective: Fraction
    fractional_objective: Fraction


def round_by_threshold(
    instance: PruningInstance, lam: Fraction, x: Sequence[Number], w: Sequence[Number]
) -> ThresholdRounding:
    """Round a feasible fractional point of the closure form to a pruning that is at least as good.

    Parameters
    ----------
    instance : PruningInstance
    lam : Fraction
        The multiplier of the cost, >= 0.
    x : (n_internal,) exact numbers
        How far each internal node is kept; `kept_from_leaf_weights` gives it from z.
    w : (n_acquisitions,) exact numbers
        How far each acquisition is made.

    Returns
    -------
    ThresholdRounding
        The best of the thresholds among the coordinates' values.

    Raises
    ------
    ValueError
        If the point is not feasible; says which constraint fails.
    """
    kept, made = [Fraction(value) for value in x], [Fraction(value) for value in w]
    _require_feasible(instance, kept, made)
    p_error, p_cost = instance.error_unit, lam * instance.cost_unit
    start = p_error * sum(int(error) for error in instance.errors[instance.tree_offsets[:-1]])
    node_worth = [
        p_error * int(gain) - p_cost * int(split)
        for gain, split in zip(instance.gain, instance.split_cost, strict=True)
    ]
    fee = [p_cost * int(cost) for cost in instance.acquisition_cost]
    fractional = start - sum((a * b for a, b in zip(node_worth, kept, strict=True)), Fraction(0))
    fractional += sum((a * b for a, b in zip(fee, made, strict=True)), Fraction(0))
    best: tuple[Fraction, Fraction, Pruning] | None = None
    for threshold in sorted({Fraction(1), *(value for value in (*kept, *made) if value > 0)}):
        pruning = Pruning(np.array([value >= threshold for value in kept], dtype=bool))
        objective = instance.objective(pruning, lam)
        if best is None or objective < best[0]:
            best = objective, threshold, pruning
    assert best is not None, "threshold 1 is always tried"
    if best[0] > fractional:
        raise ArithmeticError(f"the best threshold gives {best[0]}, the point {fractional}: the proof would be wrong")
    return ThresholdRounding(best[1], best[2], best[0], fractional)


def kept_from_leaf_weights(instance: PruningInstance, z: Sequence[Number]) -> list[Fraction]:
    """Turn z by node into x by internal node: x_h = 1 - sum of z over p(h)."""
    above: list[Fraction] = []
    for node, value in enumerate(z):
        parent = int(instance.node_parent[node])
        above.append(Fraction(value) + (above[parent] if parent >= 0 else 0))
    return [1 - above[int(node)] for node in instance.internal_nodes]


def leaf_weights_from_kept(instance: PruningInstance, x: Sequence[Number]) -> list[Fraction]:
    """Turn x by internal node into z by node: z_h = x_parent(h) - x_h, with 1 above a root and 0 at a leaf."""
    by_node = [Fraction(0)] * instance.n_nodes
    for node, value in zip(instance.internal_nodes, x, strict=True):
        by_node[int(node)] = Fraction(value)
    parents: NDArray[np.int32] = instance.node_parent
    return [(by_node[int(parents[node])] if parents[node] >= 0 else 1) - by_node[node] for node in range(len(by_node))]


def _require_feasible(instance: PruningInstance, x: list[Fraction], w: list[Fraction]) -> None:
    if len(x) != instance.n_internal or len(w) != instance.n_acquisitions:
        raise ValueError(
            f"x, w: expected {instance.n_internal} and {instance.n_acquisitions} numbers, got {len(x)} and {len(w)}"
        )
    if not all(0 <= value <= 1 for value in (*x, *w)):
        raise ValueError("x, w: expected numbers between 0 and 1")
    for node, above in enumerate(instance.parent):
        if above >= 0 and x[node] > x[int(above)]:
            raise ValueError(f"x: node {node} is kept further ({x[node]}) than its parent ({x[int(above)]})")
    for node, acquisition in zip(instance.triple_node, instance.indices, strict=True):
        if x[int(node)] > w[int(acquisition)]:
            raise ValueError(f"w: acquisition {acquisition} is {w[int(acquisition)]}, node {node} needs {x[int(node)]}")
