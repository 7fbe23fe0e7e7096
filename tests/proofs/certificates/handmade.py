"""Claims made by hand: instances small enough to see, and flows that are right but for one thing.

`make` lays out an instance from its trees. `STANDARD` is one of two trees, X and Y of one test each: X gains 5 and
costs 3, Y gains 1 and costs 4. At lambda = 1 (p = q = 1) keeping X alone is best, worth 2; so a claim that keeping
nothing is best needs a flow of 6, while 4 is all that the network carries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from proofs.certificates.optimality import verify_claim
from proofs.certificates.path_optimality import verify_path
from proofs.certificates.records import FlowRecord, InstanceRecord, PathFlowRecord, PathRecord
from proofs.verdict import Verdict

Pair = tuple[int, int]


def make(
    trees: Sequence[Sequence[int]],
    gains: Mapping[int, int],
    needs: Mapping[int, Sequence[Pair]],
    costs: Mapping[Pair, int],
    splits: Mapping[int, int] | None = None,
    leaf_error: int = 0,
) -> InstanceRecord:
    """Lay out an instance in units of 1.

    Parameters
    ----------
    trees : sequences of int
        Parents within each tree, -1 first.
    gains : mapping from node to int
        Of each internal node.
    needs : mapping from node to pairs (unit, example)
        Acquisitions first needed there.
    costs : mapping from pair (unit, example) to int
        In the order of the acquisitions.
    splits : mapping from node to int
        Split costs; 0 by default.
    leaf_error : int
        Errors of each leaf.
    """
    offsets = np.cumsum([0, *map(len, trees)])
    parents = [
        above + start if above >= 0 else -1 for start, tree in zip(offsets, trees, strict=False) for above in tree
    ]
    internal = sorted({above for above in parents if above >= 0})
    errors = [leaf_error] * len(parents)
    for node in reversed(internal):
        errors[node] = gains[node] + sum(errors[child] for child, above in enumerate(parents) if above == node)
    number = {pair: place for place, pair in enumerate(costs)}
    rows = [sorted(number[pair] for pair in needs.get(node, ())) for node in internal]
    units, examples = [unit for unit, _ in costs], [example for _, example in costs]
    return InstanceRecord(
        tree_offsets=np.array(offsets, dtype=np.int64),
        node_parent=np.array(parents, dtype=np.int32),
        errors=np.array(errors, dtype=np.int64),
        indptr=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        indices=np.array([place for row in rows for place in row], dtype=np.int32),
        acquisition_unit=np.array(units, dtype=np.int32),
        acquisition_example=np.array(examples, dtype=np.int32),
        acquisition_cost=np.array(list(costs.values()), dtype=np.int64),
        split_cost=np.array([(splits or {}).get(node, 0) for node in internal], dtype=np.int64),
        error_unit=Fraction(1),
        cost_unit=Fraction(1),
        n_units=max(units, default=-1) + 1,
        n_examples=max(examples, default=-1) + 1,
    )


def flow(
    triple: Sequence[int], up: Sequence[int], gain: Sequence[int], split: Sequence[int], p: int = 1, q: int = 1
) -> FlowRecord:
    """Write a flow down, with an amount for every triple."""
    arrays = (np.array(values, dtype=np.int64) for values in (range(len(triple)), triple, up, gain, split))
    return FlowRecord(p, q, *arrays)


def kept(*values: int) -> np.ndarray:
    """Mark the internal nodes that are kept."""
    return np.array(values, dtype=bool)


def evaluate(instance: InstanceRecord, keeps: Sequence[bool]) -> tuple[Fraction, Fraction]:
    """Error and cost of a pruning, node by node."""
    parents = instance.node_parent.tolist()
    internal = sorted({above for above in parents if above >= 0})
    chosen = {node for node, keep in zip(internal, keeps, strict=True) if keep}
    leaves = [node for node, above in enumerate(parents) if node not in chosen and (above < 0 or above in chosen)]
    places = [place for place, node in enumerate(internal) if node in chosen]
    bought = {int(a) for place in places for a in instance.indices[instance.indptr[place] : instance.indptr[place + 1]]}
    cost = sum(int(instance.acquisition_cost[a]) for a in bought) + sum(int(instance.split_cost[h]) for h in places)
    return sum(int(instance.errors[leaf]) for leaf in leaves) * instance.error_unit, cost * instance.cost_unit


def prunings(instance: InstanceRecord) -> list[tuple[bool, ...]]:
    """List every set of internal nodes that is closed under parents."""
    parents = instance.node_parent.tolist()
    internal = sorted({above for above in parents if above >= 0})
    number = {node: place for place, node in enumerate(internal)}
    above = [number.get(parents[node]) for node in internal]
    sets = product((False, True), repeat=len(internal))
    return [keeps for keeps in sets if all(not k or a is None or keeps[a] for k, a in zip(keeps, above, strict=True))]


def claims_of(instance: InstanceRecord, lam: Fraction, keeps: Sequence[bool]) -> dict[str, Fraction]:
    """Error, cost, objective and bound that an honest claim of optimality states."""
    error, cost = evaluate(instance, keeps)
    return {"error": error, "cost": cost, "objective": error + lam * cost, "bound": error + lam * cost}


def path(
    instance: InstanceRecord,
    pieces: Sequence[int],
    p: Sequence[int],
    q: Sequence[int],
    triple: Sequence[int],
    up: Sequence[int],
    gain: Sequence[int],
    split: Sequence[int],
) -> PathRecord:
    """Write a path down, with the errors and costs that its pieces have."""
    piece = np.array(pieces, dtype=np.int32)
    arrays = (np.array(values, dtype=np.int64) for values in (range(len(triple)), triple, up, gain, split))
    unit = instance.error_unit / instance.cost_unit
    curve = [evaluate(instance, piece >= number) for number in range(len(p) + 1)]
    return PathRecord(
        breakpoints=tuple(Fraction(a, b) * unit for a, b in zip(p, q, strict=True)),
        errors=tuple(error for error, _ in curve),
        costs=tuple(cost for _, cost in curve),
        node_breakpoint=piece,
        flow=PathFlowRecord(tuple(p), tuple(q), piece, *arrays),
    )


A, B, C, D = (0, 0), (1, 0), (2, 0), (3, 0)
STUMP = (-1, 0, 0)
STANDARD = make([STUMP, STUMP], {0: 5, 3: 1}, {0: [A], 3: [B]}, {A: 3, B: 4})
STANDARD_FLOW = flow(triple=[3, 1], up=[0, 0], gain=[3, 1], split=[0, 0])
STANDARD_PATH = path(STANDARD, [1, 0], (1, 5), (4, 3), triple=[15, 4], up=[0, 0], gain=[15, 4], split=[0, 0])


def changed(instance: InstanceRecord, **changes: object) -> InstanceRecord:
    """Change fields of an instance; lists take the dtype of what they replace."""
    arrays = {
        name: np.array(value, dtype=getattr(instance, name).dtype) if isinstance(value, list) else value
        for name, value in changes.items()
    }
    return replace(instance, **arrays)


@dataclass(frozen=True)
class PruningClaim:
    """A pruning that is said to be optimal."""

    instance: InstanceRecord
    kept: np.ndarray
    flow: FlowRecord
    lam: object = Fraction(1)
    claims: dict | None = None

    def verdict(self) -> Verdict:
        claims = claims_of(self.instance, self.lam, self.kept) if self.claims is None else self.claims
        return verify_claim(self.instance, self.lam, self.kept, self.flow, claims)

    def is_true(self) -> bool:
        """Compare with every pruning; a kept set that is no pruning is not optimal."""
        worth = {keeps: evaluate(self.instance, keeps) for keeps in prunings(self.instance)}
        values = {keeps: error + self.lam * cost for keeps, (error, cost) in worth.items()}
        return values.get(tuple(self.kept.tolist())) == min(values.values())


@dataclass(frozen=True)
class PathClaim:
    """A path that is said to hold all optimal prunings."""

    instance: InstanceRecord
    path: PathRecord

    def verdict(self) -> Verdict:
        return verify_path(self.instance, self.path)

    def is_true(self) -> bool:
        """Compare each pruning with every other at both ends of its interval and in the middle."""
        every = [evaluate(self.instance, keeps) for keeps in prunings(self.instance)]
        ends = [Fraction(0), *self.path.breakpoints]
        ends.append(ends[-1] + 1000)
        points = zip(pairwise(ends), self.path.errors, self.path.costs, strict=False)
        return ends == sorted(set(ends)) and all(
            error + lam * cost == min(other + lam * price for other, price in every)
            for (low, high), error, cost in points
            for lam in (low, (low + high) / 2, high)
        )
