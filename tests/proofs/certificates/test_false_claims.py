"""One false claim for each condition of the checkers, right but for that condition.

A claim with one number changed breaks conservation before anything else is looked at. These claims conserve: flows
above a capacity, circulations, flows across pieces, crooked trees. Each is refused for the reason it was made for, and
would be accepted if that condition were not there: `tests/mutation_gate.py` removes the conditions one by one.
"""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import assert_refused

from proofs.certificates.exact_arrays import add, array_fault, sum_at, sum_rows, total
from proofs.certificates.optimality import evaluate, verify_optimality
from proofs.certificates.records import InstanceRecord
from tests.proofs.certificates import handmade
from tests.proofs.certificates.handmade import (
    STANDARD,
    STANDARD_FLOW,
    STANDARD_PATH,
    STUMP,
    A,
    B,
    C,
    PathClaim,
    PruningClaim,
    changed,
    claims_of,
    flow,
    kept,
    make,
    path,
)

CHAIN = (-1, 0, 0, 1, 1)
"""A root with one test below it."""
LONG = (-1, 0, 1, 2, 2, 1, 0)
"""A root, a test below it, and one below that."""
FORK = (-1, 0, 0, 1, 1, 2, 2)
"""A root with two tests below it."""
NOTHING, FIRST, BOTH = kept(0, 0), kept(1, 0), kept(1, 1)
LARGEST = 2**63 - 1
HALF = Fraction(1, 2)


def deep(root_gain: int, child_gain: int, root_cost: int, child_cost: int) -> InstanceRecord:
    """Build one tree of two tests; the root needs A, the one below it C."""
    return make([CHAIN], {0: root_gain, 1: child_gain}, {0: [A], 1: [C]}, {A: root_cost, C: child_cost})


SPLIT = make([STUMP, STUMP], {0: 5, 3: 1}, {0: [A], 3: [B]}, {A: 2, B: 3}, {0: 1, 3: 1})
"""As STANDARD, a unit of each cost for the test itself."""
HELD_OUT = make([CHAIN], {0: -2, 1: 5}, {1: [A]}, {A: 1}, leaf_error=9)
"""The root loses 2, the test below it gains 5 and costs 1."""
SHARING = make([STUMP] * 3, {0: 5, 3: 1, 6: 0}, {0: [A], 3: [B], 6: [A, C]}, {A: 3, B: 4, C: 9})
"""As STANDARD, and a third tree whose test gains nothing, needs A too, and has plenty of room at C."""
BELOW = make([CHAIN, STUMP], {0: 5, 1: 0, 5: 1}, {0: [A], 1: [C], 5: [B]}, {A: 3, C: 9, B: 4})
"""As STANDARD, and a test below X that gains nothing and has plenty of room at C."""
FREE = make([STUMP], {0: 5}, {0: [A]}, {A: 0})
ONE_AND_ONE_FREE = make([STUMP, STUMP], {0: 1, 3: 1}, {0: [A], 3: [B]}, {A: 2, B: 0})
"""Two tests that gain 1: one is worth nothing at lambda 1, the other is free."""
ONE_FREE_SHARED = make([STUMP, STUMP], {0: 1, 3: 0}, {0: [A], 3: [A, C]}, {A: 0, C: 9})
"""A free test that gains 1, and one that gains nothing, needs the same and has plenty of room at C."""
IDLE = make([STUMP], {0: 0}, {0: [A]}, {A: 0})
BARE = make([STUMP], {0: 5}, {}, {})
"""No acquisitions at all."""
DEAR = make([STUMP], {0: 5}, {0: [A]}, {A: 4})
FULL_SPLITS = make([CHAIN], {0: 0, 1: 0}, {1: [A]}, {A: 4}, {0: 4, 1: 4})
THREE_TO_ONE = make([STUMP] * 3, {0: 3, 3: 3, 6: 2}, {0: [A], 3: [A], 6: [A]}, {A: 3})

TRUE_PRUNINGS = {
    "one of two": PruningClaim(STANDARD, FIRST, STANDARD_FLOW),
    "all at lambda 0": PruningClaim(STANDARD, BOTH, flow([0, 0], [0, 0], [0, 0], [0, 0], p=0), Fraction(0)),
    "split costs": PruningClaim(SPLIT, FIRST, flow([2, 1], [0, 0], [3, 1], [1, 0])),
    "a child that pays for its parent": PruningClaim(deep(0, 9, 3, 1), BOTH, flow([3, 1], [0, 3], [0, 4], [0, 0])),
    "a child dropped": PruningClaim(deep(5, 1, 3, 4), FIRST, flow([3, 1], [0, 0], [3, 1], [0, 0])),
    "parent and child dropped": PruningClaim(deep(1, 1, 3, 4), NOTHING, flow([1, 1], [0, 0], [1, 1], [0, 0])),
    "held-out errors": PruningClaim(HELD_OUT, BOTH, flow([1], [0, 2], [2, 3], [0, 0])),
    "no acquisitions": PruningClaim(BARE, kept(1), flow([], [0], [0], [0])),
    "beyond 64 bits": PruningClaim(DEAR, kept(0), flow([5], [0], [5], [0], p=2**62), Fraction(2**62)),
    "units beyond 256": PruningClaim(
        make([STUMP, STUMP], {0: 5, 3: 1}, {0: [(0, 1)], 3: [(256, 0)]}, {(0, 1): 3, (256, 0): 4}), FIRST, STANDARD_FLOW
    ),
    "costs of 2^62 - 1": PruningClaim(
        make([STUMP, STUMP], {0: 5, 3: 1}, {0: [A], 3: [B]}, {A: 3, B: 2**62 - 4}), FIRST, STANDARD_FLOW
    ),
    "a lambda of large parts": PruningClaim(DEAR, kept(1), flow([4], [0], [4], [0], 1, 2**62), Fraction(1, 2**62)),
}

X_TO_ALL = flow([3, 3], [0, 0], [3, 3], [0, 0])
FALSE_PRUNINGS = {
    "the flow of another pruning": (
        PruningClaim(STANDARD, NOTHING, STANDARD_FLOW),
        "the pruning is worth 0 scaled units, the flow only proves that none exceeds 2",
    ),
    "more from the source than it has": (PruningClaim(STANDARD, NOTHING, X_TO_ALL), "flow.gain exceeds q * |gain|"),
    "more into a split than it takes": (
        PruningClaim(STANDARD, NOTHING, flow([3, 1], [0, 0], [5, 1], [2, 0])),
        "flow.split exceeds p * split_cost",
    ),
    "more into an acquisition than it takes": (
        PruningClaim(STANDARD, NOTHING, flow([5, 1], [0, 0], [5, 1], [0, 0])),
        "the flow into acquisition 0 exceeds p * its cost",
    ),
    "flow that leaves at the root": (
        PruningClaim(STANDARD, NOTHING, flow([3, 1], [2, 0], [5, 1], [0, 0])),
        "flow.up leaves the root 0",
    ),
    "flow that vanishes": (
        PruningClaim(STANDARD, NOTHING, flow([3, 1], [0, 0], [5, 1], [0, 0])),
        "at node 0 the flow in is 5, out 3",
    ),
    "a circulation through an acquisition": (
        PruningClaim(SHARING, kept(0, 0, 0), flow([5, 1, -2, 2], [0, 0, 0], [5, 1, 0], [0, 0, 0])),
        "flow.triple is negative at position 2",
    ),
    "a circulation through a parent": (
        PruningClaim(BELOW, kept(0, 0, 0), flow([3, 2, 1], [0, -2, 0], [5, 0, 1], [0, 0, 0])),
        "flow.up is negative at position 1",
    ),
    "one more from the source than it has": (
        PruningClaim(ONE_AND_ONE_FREE, NOTHING, flow([2, 0], [0, 0], [2, 0], [0, 0])),
        "flow.gain exceeds q * |gain|",
    ),
    "as much from the source as lambda would allow": (
        PruningClaim(ONE_AND_ONE_FREE, NOTHING, flow([2, 0], [0, 0], [2, 0], [0, 0], p=2), Fraction(2)),
        "flow.gain exceeds q * |gain|",
    ),
    "one more into a split than it takes": (
        PruningClaim(make([STUMP], {0: 1}, {}, {}, {0: 1}), kept(0), flow([], [0], [2], [2], q=2), HALF),
        "flow.split exceeds p * split_cost",
    ),
    "one more into an acquisition than it takes": (
        PruningClaim(make([STUMP], {0: 1}, {0: [A]}, {A: 1}), kept(0), flow([2], [0], [2], [0], q=2), HALF),
        "the flow into acquisition 0 exceeds p * its cost",
    ),
    "one unit round through an acquisition": (
        PruningClaim(ONE_FREE_SHARED, NOTHING, flow([1, -1, 1], [0, 0], [1, 0], [0, 0])),
        "flow.triple is negative at position 1",
    ),
    "one unit round through a parent": (
        PruningClaim(deep(1, 0, 0, 9), NOTHING, flow([0, 1], [0, -1], [1, 0], [0, 0])),
        "flow.up is negative at position 1",
    ),
    "one unit that leaves at the root": (
        PruningClaim(make([STUMP], {0: 1}, {0: [A]}, {A: 0}), kept(0), flow([0], [1], [1], [0])),
        "flow.up leaves the root 0",
    ),
    "an orphan": (
        PruningClaim(
            deep(0, 3, 10, 1),
            kept(0, 1),
            flow([0, 1], [0, 0], [0, 1], [0, 0]),
            claims={"error": Fraction(0), "cost": Fraction(1), "objective": Fraction(1)},
        ),
        "node 1 is kept under a parent that is not",
    ),
    "another lambda": (
        PruningClaim(STANDARD, FIRST, STANDARD_FLOW, Fraction(2)),
        "lambda 2 in integer units is 2, not 1/1",
    ),
    "sums that wrap around to nothing": (
        PruningClaim(
            THREE_TO_ONE,
            kept(0, 0, 0),
            flow([3 * 2**61, 3 * 2**61, 2**62], [0] * 3, [3 * 2**61, 3 * 2**61, 2**62], [0] * 3, q=2**61),
            Fraction(1, 2**61),
        ),
        "the flow into acquisition 0 exceeds p * its cost",
    ),
}


def crooked(**changes: object) -> PruningClaim:
    """Claim the standard pruning of a standard instance with something changed in it."""
    return PruningClaim(changed(STANDARD, **changes), FIRST, STANDARD_FLOW, claims={})


def with_bytes(*values: int) -> np.ndarray:
    """Make bools of any bytes."""
    return np.array(values, dtype=np.uint8).view(np.bool_)


class Sly(np.ndarray):
    """An array that could compare as it likes."""


EMPTY = np.zeros(0, dtype=np.int64)
MALFORMED_PRUNINGS = {
    "a negative lambda": (
        PruningClaim(FREE, kept(1), flow([0], [0], [0], [0], p=-1), Fraction(-1)),
        "the integer form -1/1 of lambda must not be negative",
    ),
    "a negative scale": (
        PruningClaim(IDLE, kept(1), flow([0], [0], [0], [0], p=0, q=-1), Fraction(0)),
        "the integer form 0/-1 of lambda must not be negative",
    ),
    "a scale of nothing": (
        PruningClaim(IDLE, kept(1), flow([0], [0], [0], [0], p=0, q=0), Fraction(0)),
        "the integer form 0/0 of lambda must not be negative",
    ),
    "a smaller lambda than the flow's": (
        PruningClaim(STANDARD, FIRST, STANDARD_FLOW, HALF),
        "lambda 1/2 in integer units is 1/2, not 1/1",
    ),
    "a sum that wraps around at a node": (
        PruningClaim(
            FULL_SPLITS, NOTHING, flow([2], [0, LARGEST], [0, 0], [LARGEST, LARGEST], p=2**62), Fraction(2**62)
        ),
        f"at node 1 the flow in is 0, out {2**64}",
    ),
    "numpy's p": (
        PruningClaim(DEAR, kept(1), flow([0], [0], [0], [0], p=np.int64(2**62)), Fraction(2**62), claims={}),
        "p: expected an int, got int64",
    ),
    "numpy's q": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, q=np.int64(1))),
        "q: expected an int, got int64",
    ),
    "a float as lambda": (PruningClaim(STANDARD, FIRST, STANDARD_FLOW, 1.0), "lambda: expected an int or a Fraction"),
    "numpy's lambda": (
        PruningClaim(STANDARD, FIRST, STANDARD_FLOW, Fraction(np.int64(1), np.int64(1))),
        "lambda: expected an int or a Fraction",
    ),
    "a float as a claim": (
        PruningClaim(STANDARD, FIRST, STANDARD_FLOW, claims={"error": 1.0}),
        "error: expected an int or a Fraction",
    ),
    **{
        f"another {name}": (
            PruningClaim(
                STANDARD, FIRST, STANDARD_FLOW, claims={**claims_of(STANDARD, Fraction(1), FIRST), name: wrong}
            ),
            f"the {name} is",
        )
        for name, wrong in (("error", 0), ("cost", 2), ("objective", Fraction(7, 2)), ("bound", 1))
    },
    "kept by number": (
        PruningClaim(STANDARD, np.array([0, 0]), STANDARD_FLOW, claims={}),
        "kept: expected a one-dimensional bool array, got ndarray of int64 and shape (2,)",
    ),
    "kept of another length": (
        PruningClaim(STANDARD, kept(1), STANDARD_FLOW, claims={}),
        "kept: expected 2 entries, got 1",
    ),
    "kept of other bytes": (PruningClaim(STANDARD, with_bytes(2, 0), STANDARD_FLOW), "kept: expected bytes 0 and 1"),
    "a flow of floats": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, triple=np.array([3.0, 1.0]))),
        "flow.triple: expected a one-dimensional int64 array, got ndarray of float64",
    ),
    "triples of another type": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, used=np.array([0, 1], dtype=np.int32))),
        "flow.used: expected a one-dimensional int64 array, got ndarray of int32",
    ),
    "triples that fall": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, used=np.array([1, 0]), triple=np.array([1, 3]))),
        "flow.used does not ascend at position 1",
    ),
    "a triple twice": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, used=np.array([0, 0, 1]), triple=np.array([1, 2, 1]))),
        "flow.used does not ascend at position 1",
    ),
    "a triple that does not exist": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, used=np.array([0, 1, 2]), triple=np.array([3, 1, 0]))),
        "flow.used: expected triples 0..1, got 2",
    ),
    "a triple before the first": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, used=np.array([-1, 0, 1]), triple=np.array([0, 3, 1]))),
        "flow.used: expected triples 0..1, got -1",
    ),
    "a flow of another length": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, triple=np.array([3, 1, 0]))),
        "flow.triple: expected 2 entries, got 3",
    ),
    "a subclass of array": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, up=np.zeros(2, dtype=np.int64).view(Sly))),
        "flow.up: expected a one-dimensional int64 array, got Sly of int64",
    ),
    "a list": (
        PruningClaim(STANDARD, FIRST, replace(STANDARD_FLOW, up=[0, 0])),
        "flow.up: expected a one-dimensional int64 array, got list",
    ),
    "wide indices": (
        crooked(indices=np.array([0, 1])),
        "indices: expected a one-dimensional int32 array, got ndarray of int64",
    ),
    "numpy's number of units": (crooked(n_units=np.int64(2)), "n_units: expected an int, got int64"),
    "a float as unit of cost": (crooked(cost_unit=1.0), "cost_unit: expected an int or a Fraction"),
    "no tree": (
        PruningClaim(
            changed(STANDARD, tree_offsets=[0], node_parent=[], errors=[], indptr=[0], indices=[], split_cost=[]),
            kept(),
            flow([], [], [], []),
            claims={},
        ),
        "tree_offsets do not split",
    ),
    "trees that begin later": (crooked(tree_offsets=[1, 3, 6]), "tree_offsets do not split"),
    "trees that begin before the first node": (crooked(tree_offsets=[-1, 3, 6]), "tree_offsets do not split"),
    "trees that end later": (crooked(tree_offsets=[0, 3, 7]), "tree_offsets do not split"),
    "trees that end earlier": (crooked(tree_offsets=[0, 3, 5]), "tree_offsets do not split"),
    "a tree without nodes": (crooked(tree_offsets=[0, 3, 3, 6]), "tree_offsets do not split"),
    "offsets that wrap around": (
        crooked(tree_offsets=[0, 2**62, LARGEST, -(2**63) + 5, -(2**62), 6]),
        "tree_offsets do not split",
    ),
    "a root with a parent": (
        crooked(node_parent=[-1, 0, 0, 0, 3, 3], errors=[6, 0, 0, 1, 0, 0]),
        "a node's parent is not",
    ),
    "a root below none": (crooked(node_parent=[-2, 0, 0, -1, 3, 3]), "a node's parent is not"),
    "two roots in a tree": (crooked(node_parent=[-1, 0, -1, -1, 3, 3]), "a node's parent is not"),
    "a parent in another tree": (crooked(node_parent=[-1, 0, 0, -1, 0, 3]), "a node's parent is not"),
    "a later parent": (
        PruningClaim(
            changed(STANDARD, node_parent=[-1, 2, 0, -1, 3, 3], indptr=[0, 1, 1, 2], split_cost=[0, 0, 0]),
            kept(1, 0, 0),
            flow([3, 1], [0, 0, 0], [3, 0, 1], [0, 0, 0]),
            claims={},
        ),
        "a node's parent is not",
    ),
    "a node as its own parent": (
        PruningClaim(
            changed(STANDARD, node_parent=[-1, 0, 0, -1, 3, 5], indptr=[0, 1, 2, 2], split_cost=[0, 0, 0]),
            kept(1, 0, 0),
            flow([3, 1], [0, 0, 0], [3, 1, 0], [0, 0, 0]),
            claims={},
        ),
        "a node's parent is not",
    ),
    "errors of no node": (crooked(errors=[5, 0, 0, 1, 0, 0, 7]), "errors: expected 6 entries, got 7"),
    "a negative number of units": (
        PruningClaim(changed(BARE, n_units=-7), kept(1), flow([], [0], [0], [0])),
        "n_units or n_examples is negative",
    ),
    "one unit less than none": (
        PruningClaim(changed(BARE, n_units=-1), kept(1), flow([], [0], [0], [0])),
        "n_units or n_examples is negative",
    ),
    "one example less than none": (
        PruningClaim(changed(BARE, n_examples=-1), kept(1), flow([], [0], [0], [0])),
        "n_units or n_examples is negative",
    ),
    "a negative number of examples": (
        PruningClaim(changed(BARE, n_examples=-7), kept(1), flow([], [0], [0], [0])),
        "n_units or n_examples is negative",
    ),
    "a unit too few": (
        crooked(acquisition_unit=[0]),
        "acquisition_unit, acquisition_example and acquisition_cost have different lengths",
    ),
    "a unit too many": (
        crooked(acquisition_unit=[0, 1, 0]),
        "acquisition_unit, acquisition_example and acquisition_cost have different lengths",
    ),
    "acquisitions without a cost": (
        crooked(acquisition_unit=[0, 1, 0], acquisition_example=[0, 0, 1], n_examples=2),
        "acquisition_unit, acquisition_example and acquisition_cost have different lengths",
    ),
    "a cost too many": (
        crooked(acquisition_cost=[3, 4, 5]),
        "acquisition_unit, acquisition_example and acquisition_cost have different lengths",
    ),
    "a unit that does not exist": (crooked(n_units=1), "acquisition_unit is not in 0..0"),
    "a negative unit": (crooked(acquisition_unit=[-1, 1]), "acquisition_unit is not in 0..1"),
    "an example that does not exist": (crooked(acquisition_example=[0, 1]), "acquisition_example is not in 0..0"),
    "a negative example": (crooked(acquisition_example=[-1, 0]), "acquisition_example is not in 0..0"),
    "an acquisition twice": (crooked(acquisition_unit=[0, 0]), "two acquisitions are of the same unit and example"),
    "a row too many": (crooked(indptr=[0, 1, 2, 2]), "indptr does not describe 2 rows"),
    "a row too few": (crooked(indptr=[0, 2]), "indptr does not describe 2 rows"),
    "rows that begin before the first index": (crooked(indptr=[-1, 1, 2]), "indptr does not describe 2 rows"),
    "rows that end later": (crooked(indptr=[0, 1, 3]), "indptr does not describe 2 rows"),
    "rows that begin later": (crooked(indptr=[1, 1, 2]), "indptr does not describe 2 rows"),
    "rows that end earlier": (crooked(indptr=[0, 1, 1]), "indptr does not describe 2 rows"),
    "rows that run backwards": (crooked(indptr=[0, 3, 2]), "indptr does not describe 2 rows"),
    "an index from behind": (crooked(indices=[0, -1]), "indices do not point to acquisitions"),
    "an index too large": (crooked(indices=[0, 2]), "indices do not point to acquisitions"),
    "an acquisition twice in a tree": (
        PruningClaim(
            make([CHAIN], {0: 5, 1: 0}, {0: [A], 1: [A]}, {A: 3}), kept(1, 0), flow([3, 0], [0, 0], [3, 0], [0, 0])
        ),
        "an acquisition is first needed twice on a path",
    ),
    "an acquisition twice at a node": (
        PruningClaim(
            make([CHAIN], {0: 5, 1: 0}, {0: [A, A]}, {A: 3}), kept(1, 0), flow([3, 0], [0, 0], [3, 0], [0, 0])
        ),
        "an acquisition is first needed twice on a path",
    ),
    "an acquisition twice on a path, with a test between": (
        PruningClaim(
            make([LONG], {0: 5, 1: 0, 2: 0}, {0: [A], 1: [B], 2: [A]}, {A: 3, B: 1}),
            kept(1, 0, 0),
            flow([3, 0, 0], [0, 0, 0], [3, 0, 0], [0, 0, 0]),
        ),
        "an acquisition is first needed twice on a path",
    ),
    "split costs of no node": (crooked(split_cost=[0, 0, 0]), "split_cost: expected 2 entries, got 3"),
    "a negative unit of error": (
        PruningClaim(changed(STANDARD, error_unit=-1), FIRST, STANDARD_FLOW, Fraction(-1), {}),
        "error_unit and cost_unit must be positive",
    ),
    "a negative unit of cost": (
        PruningClaim(changed(STANDARD, cost_unit=-1), FIRST, STANDARD_FLOW, Fraction(-1), {}),
        "error_unit and cost_unit must be positive",
    ),
    "errors worth nothing": (
        PruningClaim(changed(STANDARD, error_unit=Fraction(0)), FIRST, STANDARD_FLOW, Fraction(1), {}),
        "error_unit and cost_unit must be positive",
    ),
    "costs worth nothing": (
        PruningClaim(changed(STANDARD, cost_unit=Fraction(0)), FIRST, STANDARD_FLOW, Fraction(1), {}),
        "error_unit and cost_unit must be positive",
    ),
    "costs of 2^62": (crooked(acquisition_cost=[3, 2**62 - 3]), "acquisition_cost sums to 2^62 or more"),
    "negative errors": (crooked(errors=[5, 0, 0, 1, -1, 1]), "errors has a negative entry"),
    "errors beyond 2^62": (crooked(errors=[2**62 + 5, 2**62, 0, 1, 0, 0]), "errors sums to 2^62 or more"),
}


@pytest.mark.parametrize("instance", [STANDARD, SPLIT, HELD_OUT, SHARING])
def test_prunings_are_evaluated_from_the_arrays(instance):
    for keeps in handmade.prunings(instance):
        assert evaluate(instance, kept(*keeps)) == handmade.evaluate(instance, keeps)


def test_what_is_no_pruning_of_an_instance_has_no_value():
    assert evaluate(HELD_OUT, kept(0, 1)) == "node 1 is kept under a parent that is not"
    assert evaluate(changed(STANDARD, error_unit=-1), FIRST) == "instance: error_unit and cost_unit must be positive"


@pytest.mark.parametrize("claim", TRUE_PRUNINGS.values(), ids=TRUE_PRUNINGS)
def test_true_claims_are_accepted(claim):
    verdict = claim.verdict()
    assert verdict, verdict
    assert claim.is_true()


@pytest.mark.parametrize(("claim", "reason"), FALSE_PRUNINGS.values(), ids=FALSE_PRUNINGS)
def test_false_claims_are_refused(claim, reason):
    assert_refused(claim.verdict(), reason)
    assert not claim.is_true()


@pytest.mark.parametrize("costs", [{A: 2, B: 4}, {B: 4, A: 2}])
def test_below_a_delayed_test_both_branches_may_need_an_acquisition(costs):
    instance = make([FORK], {0: 5, 1: 3, 2: 3}, {0: [A], 1: [B], 2: [B]}, costs)
    claim = PruningClaim(instance, kept(1, 1, 1), flow([2, 3, 1], [0, 0, 0], [2, 3, 1], [0, 0, 0]))
    assert claim.verdict()
    assert claim.is_true()


def test_two_acquisitions_may_come_again_where_the_branches_of_one_hold_those_of_the_other():
    instance = make(
        [(-1, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5)],
        {0: 5, 1: 3, 2: 3, 3: 3, 5: 3},
        {0: [A], 1: [B], 2: [B], 3: [C], 5: [C]},
        {A: 2, B: 4, C: 4},
    )
    claim = PruningClaim(instance, kept(*[1] * 5), flow([2, 3, 1, 3, 1], [0] * 5, [2, 3, 1, 3, 1], [0] * 5))
    assert claim.verdict()
    assert claim.is_true()


@pytest.mark.parametrize(("claim", "reason"), MALFORMED_PRUNINGS.values(), ids=MALFORMED_PRUNINGS)
def test_malformed_claims_are_refused(claim, reason):
    verdict = claim.verdict()
    assert not verdict
    assert verdict.reason.removeprefix("instance: ").startswith(reason), verdict
    assert "\n" not in verdict.reason


@pytest.mark.parametrize(
    "bad",
    [
        {"flow": None},
        {"status": "feasible"},
        {"status": "time limit"},
        *({name: wrong} for name in ("bound", "objective", "error", "cost") for wrong in (0, 9)),
    ],
)
def test_results_state_what_they_prove(bad):
    claims = claims_of(STANDARD, Fraction(1), FIRST)
    result = {"flow": STANDARD_FLOW, "status": "optimal", "lam": Fraction(1), "method": "by hand", **claims}
    result |= {"pruning": SimpleNamespace(kept=FIRST)}
    assert verify_optimality(STANDARD, SimpleNamespace(**result))
    reasons = {"flow": "carries no flow", "status": f"the status is {bad.get('status')!r}"}
    (name,) = bad
    assert reasons.get(name, f"the {name} is") in verify_optimality(STANDARD, SimpleNamespace(**result | bad)).reason


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            np.zeros((2, 1), dtype=np.int64),
            "x: expected a one-dimensional int64 array, got ndarray of int64 and shape (2, 1)",
        ),
        (np.array(1), "x: expected a one-dimensional int64 array, got ndarray of int64 and shape ()"),
        (np.zeros(2, dtype=">i8"), "x: expected a one-dimensional int64 array, got ndarray of >i8"),
        (np.zeros(2, dtype="M8[ns]"), "x: expected a one-dimensional int64 array, got ndarray of datetime64[ns]"),
        (np.ma.masked_array([1, 2]), "x: expected a one-dimensional int64 array, got MaskedArray of int64"),
        (None, "x: expected a one-dimensional int64 array, got NoneType"),
    ],
)
def test_arrays_of_other_kinds_are_refused(values, reason):
    assert array_fault("x", np.zeros(2, dtype=np.int64), np.int64) is None
    assert (array_fault("x", values, np.int64) or "").startswith(reason)


def test_the_parts_of_a_sum_are_small_and_the_sum_is_not():
    parts = [np.array([2**61, 1])] * 4
    assert add(*parts).tolist() == [2**63, 4]


def test_sums_are_exact_above_and_below_32_bits():
    values = np.array([2**62 + 2**33 - 1, 2**62 + 2**32 + 5, 2**31 + 3])
    sums = [2**63 + 2**33 + 2**32 + 4, 2**31 + 3]
    assert total(values) == sum(sums)
    assert sum_at(np.array([0, 0, 1]), values, 2).tolist() == sums
    assert sum_rows(np.array([0, 2, 3]), values).tolist() == sums


def altered(**changes: object) -> PathClaim:
    """Claim the standard path with something changed in it."""
    return PathClaim(STANDARD, replace(STANDARD_PATH, **changes))


def altered_flow(**changes: object) -> PathClaim:
    """Claim the standard path with something changed in its flow."""
    return altered(flow=replace(STANDARD_PATH.flow, **changes))


def path_claim(instance: InstanceRecord, pieces, p, q, triple, up, gain, split) -> PathClaim:
    return PathClaim(instance, path(instance, pieces, p, q, triple, up, gain, split))


LOSS = make([CHAIN], {0: -10, 1: 5}, {}, {}, leaf_error=9)
"""The root loses 10, the test below it gains 5; nothing costs."""
LOSS_OF_6 = make([CHAIN], {0: -6, 1: 5}, {}, {}, leaf_error=9)
EVEN = make([CHAIN], {0: -5, 1: 5}, {}, {}, leaf_error=9)
LOSS_BELOW = make([CHAIN], {0: 5, 1: -2}, {0: [A]}, {A: 3}, leaf_error=9)
LOSS_OF_1_BELOW = make([CHAIN], {0: 5, 1: -1}, {0: [A]}, {A: 3}, leaf_error=9)
TWO_NEEDS = make([STUMP], {0: 5}, {0: [A, B]}, {A: 3, B: 2})
SHARED = make([STUMP, STUMP], {0: 5, 3: 1}, {0: [A], 3: [A, B]}, {A: 3, B: 4})
IDLE_LAST = make([STUMP, STUMP], {0: 5, 3: 0}, {0: [A], 3: [B]}, {A: 3, B: 4})

TRUE_PATHS = {
    "two breakpoints": PathClaim(STANDARD, STANDARD_PATH),
    "no breakpoint": path_claim(BARE, [0], (), (), [], [0], [0], [0]),
    "parent and child in one piece": path_claim(deep(0, 4, 3, 1), [0, 0], (1,), (1,), [3, 1], [0, 3], [0, 4], [0, 0]),
    "a child in another piece": path_claim(deep(5, 1, 3, 4), [1, 0], (1, 5), (4, 3), [15, 4], [0, 0], [15, 4], [0, 0]),
    "split costs": path_claim(SPLIT, [1, 0], (1, 5), (4, 3), [10, 3], [0, 0], [15, 4], [5, 1]),
    "held-out errors": path_claim(HELD_OUT, [0, 0], (3,), (1,), [3], [0, 2], [2, 5], [0, 0]),
    "split costs alone": path_claim(make([STUMP], {0: 5}, {}, {}, {0: 2}), [0], (5,), (2,), [], [0], [10], [10]),
    "losses in two pieces": path_claim(
        make([CHAIN, CHAIN], {0: -2, 1: 5, 5: -1, 6: 3}, {1: [A], 6: [B]}, {A: 1, B: 4}, leaf_error=9),
        [1, 1, 0, 0],
        (1, 3),
        (2, 1),
        [3, 4],
        [0, 2, 0, 2],
        [2, 5, 2, 6],
        [0, 0, 0, 0],
    ),
    "a loss that is never kept": path_claim(LOSS_BELOW, [0, -1], (5,), (3,), [15], [0, 0], [15, 0], [0, 0]),
    "a loss of 1 that is never kept": path_claim(LOSS_OF_1_BELOW, [0, -1], (5,), (3,), [15], [0, 0], [15, 0], [0, 0]),
    "a gain of 1 that is never dropped": path_claim(make([STUMP], {0: 1}, {}, {}), [0], (), (), [], [0], [0], [0]),
    "more loss than gain, never kept": path_claim(LOSS, [-1, -1], (), (), [], [0, 5], [5, 5], [0, 0]),
    "a shared acquisition": path_claim(SHARED, [1, 0], (1, 5), (4, 3), [15, 0, 4], [0, 0], [15, 4], [0, 0]),
    "beyond 62 bits": path_claim(DEAR, [0], (5 * 2**58,), (2**60,), [5 * 2**60], [0], [5 * 2**60], [0]),
}

ONE_SHARED = make([STUMP, STUMP], {0: 1, 3: 1}, {0: [A], 3: [A, B]}, {A: 2, B: 1})
"""Two tests that gain 1 and need A; the second needs B, too."""
TWICE = make([STUMP, STUMP], {0: 1, 3: 1}, {0: [A], 3: [B]}, {A: 1, B: 1})

FALSE_PATHS = {
    "breakpoints that fall": (
        path_claim(STANDARD, [0, 1], (5, 1), (3, 4), [15, 4], [0, 0], [15, 4], [0, 0]),
        "breakpoint 1 is not above the one before",
    ),
    "twice the breakpoints": (
        altered(breakpoints=tuple(2 * lam for lam in STANDARD_PATH.breakpoints)),
        "breakpoint 0 is 1/4, not 1/2",
    ),
    "half the breakpoints": (
        altered(breakpoints=tuple(lam / 2 for lam in STANDARD_PATH.breakpoints)),
        "breakpoint 0 is 1/4, not 1/8",
    ),
    "a child kept longer than its parent": (
        path_claim(deep(1, 5, 4, 3), [0, 1], (1, 5), (4, 3), [4, 15], [0, 0], [4, 15], [0, 0]),
        "node 1 is kept longer than its parent",
    ),
    "one unit up into another piece": (
        path_claim(deep(0, 1, 1, 1), [1, 0], (1, 1), (2, 1), [1, 1], [0, 1], [0, 2], [0, 0]),
        "flow.up leaves the piece of node 1",
    ),
    "one unit into an acquisition of another piece": (
        path_claim(ONE_SHARED, [1, 0], (1, 1), (2, 1), [1, 1, 1], [0, 0], [1, 2], [0, 0]),
        "a triple carries flow out of its piece",
    ),
    "more into an acquisition than it takes": (
        path_claim(STANDARD, [1, 0], (1, 1), (4, 1), [5, 4], [0, 0], [5, 4], [0, 0]),
        "acquisition 0 is not saturated at its breakpoint",
    ),
    "a circulation": (
        path_claim(SHARING, [1, 0, 1], (1, 5), (4, 12), [60, 4, -45, 45], [0, 0, 0], [60, 4, 0], [0, 0, 0]),
        "flow.triple is negative",
    ),
    "flow up into another piece": (
        path_claim(deep(0, 5, 5, 1), [1, 0], (5, 2), (3, 1), [10, 5], [0, 10], [0, 15], [0, 0]),
        "flow.up leaves the piece of node 1",
    ),
    "flow into an acquisition of another piece": (
        path_claim(SHARED, [1, 0], (1, 4), (6, 2), [10, 2, 4], [0, 0], [10, 6], [0, 0]),
        "a triple carries flow out of its piece",
    ),
    "flow from nowhere": (
        path_claim(STANDARD, [1, 0], (1, 2), (4, 1), [6, 4], [0, 0], [5, 4], [0, 0]),
        "at node 0 the flow in is 5, out 6",
    ),
    "flow that leaves at the root": (
        path_claim(STANDARD, [1, 0], (1, 1), (4, 1), [3, 4], [2, 0], [5, 4], [0, 0]),
        "flow.up leaves the root 0",
    ),
    "a price never dropped": (
        path_claim(STANDARD, [1, 0], (1,), (4,), [0, 4], [0, 0], [0, 4], [0, 0]),
        "a node that is never dropped has a cost",
    ),
    "a split cost never dropped": (
        path_claim(make([STUMP], {0: 5}, {}, {}, {0: 1}), [0], (), (), [], [0], [0], [0]),
        "a node that is never dropped has a cost",
    ),
    "a gain that is not used up": (
        path_claim(STANDARD, [1, 0], (1, 1), (4, 1), [3, 4], [0, 0], [3, 4], [0, 0]),
        "the gain arc of node 0",
    ),
    "a loss that is not made good": (
        path_claim(
            make([CHAIN], {0: -2, 1: 5}, {1: [A]}, {A: 3}, leaf_error=9),
            [0, 0],
            (5,),
            (3,),
            [15],
            [0, 0],
            [0, 15],
            [0, 0],
        ),
        "the gain arc of node 0",
    ),
    "more from the source than it has": (
        path_claim(LOSS, [0, 0], (), (), [], [0, 10], [10, 10], [0, 0]),
        "the gain arc of node 1",
    ),
    "one more from the source than it has": (
        path_claim(LOSS_OF_6, [0, 0], (), (), [], [0, 6], [6, 6], [0, 0]),
        "the gain arc of node 1",
    ),
    "one more into a split than it takes": (
        path_claim(make([STUMP], {0: 5}, {}, {}, {0: 2}), [0], (2,), (1,), [], [0], [5], [5]),
        "the split arc of node 0",
    ),
    "a gain that is never kept": (
        path_claim(make([STUMP], {0: 5}, {0: [A]}, {A: 3}), [-1], (), (), [0], [0], [0], [0]),
        "the gain arc of node 0",
    ),
    "a loss that is never dropped": (
        path_claim(LOSS, [0, 0], (), (), [], [0, 0], [0, 0], [0, 0]),
        "the gain arc of node 0",
    ),
    "a split cost that is not paid": (
        path_claim(make([STUMP], {0: 5}, {0: [A]}, {A: 3}, {0: 2}), [0], (5,), (3,), [15], [0], [15], [0]),
        "the split arc of node 0",
    ),
    "an acquisition that is not paid": (
        path_claim(TWO_NEEDS, [0], (5,), (3,), [15, 0], [0], [15], [0]),
        "acquisition 1 is not saturated",
    ),
}

COSTLESS = path_claim(EVEN, [0, 0], (1,), (1,), [], [0, 5], [5, 5], [0, 0])
MALFORMED_PATHS = {
    "a breakpoint twice": (
        path_claim(TWICE, [1, 0], (1, 1), (1, 1), [1, 1], [0, 0], [1, 1], [0, 0]),
        "breakpoint 1 is not above the one before",
    ),
    "no flow": (altered(flow=None), "the path carries no flow"),
    "an instance that is none": (
        PathClaim(changed(STANDARD, acquisition_unit=[0, 0]), STANDARD_PATH),
        "instance: two acquisitions",
    ),
    "a breakpoint without a form": (
        altered(breakpoints=(*STANDARD_PATH.breakpoints, Fraction(9))),
        "3 breakpoints, but 2 and 2 integer forms",
    ),
    "a scale too many": (altered_flow(q=(4, 3, 1)), "2 breakpoints, but 2 and 3 integer forms"),
    "a breakpoint too few": (altered(breakpoints=(Fraction(1, 4),)), "1 breakpoints, but 2 and 2 integer forms"),
    "a scale of nothing": (altered_flow(q=(0, 3)), "breakpoint 0 has the integer form 1/0"),
    "a form too few": (altered_flow(p=(1,)), "2 breakpoints, but 1 and 2 integer forms"),
    "a scale too few": (altered_flow(q=(4,)), "2 breakpoints, but 2 and 1 integer forms"),
    "a float as breakpoint": (
        altered(breakpoints=(0.25, Fraction(5, 3))),
        "breakpoint 0: expected an int or a Fraction",
    ),
    "numpy's p": (altered_flow(p=(np.int64(1), 5)), "p[0]: expected an int, got int64"),
    "numpy's q": (altered_flow(q=(4, np.int64(3))), "q[1]: expected an int, got int64"),
    "a breakpoint at 0": (
        path_claim(IDLE_LAST, [1, 0], (0, 5), (1, 3), [15, 0], [0, 0], [15, 0], [0, 0]),
        "breakpoint 0 has the integer form 0/1",
    ),
    "a negative scale": (
        path_claim(IDLE_LAST, [1, 0], (1, 5), (-1, 3), [15, 0], [0, 0], [15, 0], [0, 0]),
        "breakpoint 0 has the integer form 1/-1",
    ),
    "wide pieces": (
        altered(flow=replace(STANDARD_PATH.flow, node_breakpoint=np.array([1, 0]))),
        "node_breakpoint: expected a one-dimensional int32 array",
    ),
    "a piece below all": (
        path_claim(
            make([STUMP, STUMP], {0: 5, 3: 0}, {0: [A]}, {A: 3}), [0, -2], (5,), (3,), [15], [0, 0], [15, 0], [0, 0]
        ),
        "node_breakpoint: expected pieces from -1 to 1",
    ),
    "a piece above all": (
        altered_flow(node_breakpoint=np.array([3, 0], dtype=np.int32)),
        "node_breakpoint: expected pieces",
    ),
    "two opinions on the pieces": (
        altered(node_breakpoint=np.array([0, 1], dtype=np.int32)),
        "the path and its flow put nodes into different pieces",
    ),
    "an error too many": (
        altered(errors=(*STANDARD_PATH.errors, Fraction(0))),
        "expected 3 errors and costs, got 4 and 3",
    ),
    "a cost too many": (altered(costs=(*STANDARD_PATH.costs, Fraction(0))), "expected 3 errors and costs, got 3 and 4"),
    "an error too few": (altered(errors=STANDARD_PATH.errors[1:]), "expected 3 errors and costs, got 2 and 3"),
    "a cost too few": (altered(costs=STANDARD_PATH.costs[1:]), "expected 3 errors and costs, got 3 and 2"),
    "an error and a cost too few": (
        altered(errors=STANDARD_PATH.errors[1:], costs=STANDARD_PATH.costs[1:]),
        "expected 3 errors and costs, got 2 and 2",
    ),
    "an error and a cost too many": (
        altered(errors=(*STANDARD_PATH.errors, Fraction(0)), costs=(*STANDARD_PATH.costs, Fraction(0))),
        "expected 3 errors and costs, got 4 and 4",
    ),
    "a float as error": (altered(errors=(0.0, *STANDARD_PATH.errors[1:])), "error 0 of the path: expected an int"),
    "a float as cost": (altered(costs=(7.0, *STANDARD_PATH.costs[1:])), "cost 0 of the path: expected an int"),
    "another error": (altered(errors=(Fraction(0), Fraction(2), Fraction(6))), "error 1 of the path is 1, not 2"),
    "another cost": (altered(costs=(Fraction(7), Fraction(2), Fraction(0))), "cost 1 of the path is 3, not 2"),
    "an error too small": (altered(errors=(Fraction(0), Fraction(0), Fraction(6))), "error 1 of the path is 1, not 0"),
    "a cost too large": (altered(costs=(Fraction(7), Fraction(4), Fraction(0))), "cost 1 of the path is 3, not 4"),
    "a breakpoint where nothing is saved": (COSTLESS, "breakpoint 0 is none"),
}


@pytest.mark.parametrize("claim", TRUE_PATHS.values(), ids=TRUE_PATHS)
def test_true_paths_are_accepted(claim):
    verdict = claim.verdict()
    assert verdict, verdict
    assert claim.is_true()


@pytest.mark.parametrize(("claim", "reason"), FALSE_PATHS.values(), ids=FALSE_PATHS)
def test_false_paths_are_refused(claim, reason):
    assert_refused(claim.verdict(), reason)
    assert not claim.is_true()


@pytest.mark.parametrize(("claim", "reason"), MALFORMED_PATHS.values(), ids=MALFORMED_PATHS)
def test_malformed_paths_are_refused(claim, reason):
    assert_refused(claim.verdict(), reason)
