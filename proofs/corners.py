"""Small instances on which every row of the known programs matters: a check looks at them before it draws others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from formulations.base import Formulation
    from ipforest.instance import PruningInstance
    from proofs.study.sketch import SketchedTree

__all__ = [
    "broad_stump",
    "corner_instances",
    "corner_numbers",
    "costlier_for_the_second",
    "crowded_instances",
    "delayed_instance",
    "in_finer_units",
    "knapsack_instance",
    "larger_problems",
    "many_stumps",
    "parted_instance",
    "problems_of_many_trees",
    "tall_ladder",
    "telling_instances",
    "telling_problems",
    "tower_instance",
    "twin_instances",
]

PRICES = (2, 3, 1, 2, 3, 1)
"""Cost units of each unit of features, for every example; of more units in turn."""
FINER = 3 * 10**9
CROWD = 6
"""Trees and examples that one unit of features joins in the crowded instances."""
RUNGS = 6
"""Tests of the ladder, one below the other, each with a unit."""
FAR = (Fraction(10**4, 3), Fraction(1, 3 * 10**4))
"""Lambdas that are neither small whole numbers nor short decimals."""
MANY = 120
"""Trees of the forest that shares one unit, examples of the broad stump, tests of the tower, one below the other."""
LARGER = ((1, 3, 70, 5), (9, 1, 12, 3), (3, 2, 70, 4))
"""Trees, depth, examples and units of the larger problems, which have at most 512 prunings."""
TOWER_LAMBDAS = (Fraction(1, 5), Fraction(21, 20))
"""At the second no test of the tower pays but the last, which is kept alone where a row below a parent is missing."""


def corner_instances() -> tuple[PruningInstance, ...]:
    """Make instances of at most two trees and two examples, the smallest first, anew: a check may spoil its own.

    They are a stump, two stumps that share what they buy (one of them is not worth it), a chain of tests, and a chain
    that shares its purchases with a second tree. All errors and prices are above 0, so that no row is idle because what
    it forces is free.
    """
    one, two = (_stump({(0, 0)}, (6, 1, 2), (1,)), _stump({(0, 0)}, (2, 2, 1), (2,)))
    chain = _chain({(0, 0), (1, 0)}, {(0, 1), (1, 1)}, {(0, 2)})
    sharing = _stump({(0, 1), (1, 0), (1, 2)}, (5, 1, 1), (1, 2))
    return (_instance(one), _instance(one, two), _instance(chain), _instance(chain, sharing))


def crowded_instances() -> tuple[PruningInstance, ...]:
    """Make a stump that six examples reach, and six such stumps that share what they buy.

    A program with a constant that holds for two trees or two examples only is right on the corner instances.
    """
    stump = _stump({(example, 0) for example in range(CROWD)}, (12, 1, 2), (1, 2) * (CROWD // 2))
    return (_instance(stump), _instance(*[stump] * CROWD))


def in_finer_units(instance: PruningInstance) -> PruningInstance:
    """Write the same errors and prices as integers of more than 32 bits, in units that are a fraction of theirs."""
    return replace(
        instance,
        errors=instance.errors * FINER,
        error_unit=instance.error_unit / FINER,
        acquisition_cost=instance.acquisition_cost * FINER,
        split_cost=instance.split_cost * FINER,
        cost_unit=instance.cost_unit / FINER,
    )


def costlier_for_the_second(instance: PruningInstance) -> PruningInstance:
    """Let each example pay more for a unit than the one before: prices are those of an example and a unit."""
    return replace(instance, acquisition_cost=instance.acquisition_cost * (1 + instance.acquisition_example))


def telling_instances(program: Formulation) -> list[PruningInstance]:
    """Make the instances that tell formulations apart.

    They are the corners, a chain and a fork whose second example pays more for the same units, another fork, a ladder,
    crowds and one of large integers.

    Parameters
    ----------
    program : Formulation
        HiGHS refuses rows of large integers, or takes them for others: those of a budget, and of variants, whose rows
        hold errors and prices. For these there is no such instance.
    """
    corners = corner_instances()
    large = [] if program.takes == "budget" or program.variant else [in_finer_units(corners[0])]
    return [
        *corners,
        costlier_for_the_second(corners[2]),
        parted_instance(),
        _instance(_fork()),
        _instance(_ladder()),
        *crowded_instances(),
        *large,
    ]


def telling_problems(program: Formulation) -> Iterator[tuple[PruningInstance, Fraction | None]]:
    """Make the small problems that tell formulations apart: instances with their numbers, a stump at far lambdas."""
    for instance in filter(program.fits, telling_instances(program)):
        for number in corner_numbers(instance, program.takes):
            yield instance, number
    if program.takes == "lam":
        stump = corner_instances()[0]
        yield from ((stump, lam) for lam in FAR)


def larger_problems(program: Formulation) -> Iterator[tuple[PruningInstance, Fraction | None]]:
    """Make problems of seventy examples and of nine trees, which a program that is right on small ones only gets wrong.

    Their lambdas lie below the first breakpoint of the path, where all that helps is bought, above it, and above the
    last one, where only a node whose need was forgotten is kept. At last come a test that 120 examples pass, a tower of
    120 tests, and a ladder of as many, each with a unit of its own: at lambdas below and above that at which all are
    kept.

    Parameters
    ----------
    program : Formulation
        Variants, such as a cap on each example, may need long for three trees with seventy examples.
    """
    from ipforest.path_search import prune_path
    from proofs.study.generated_forests import Shape, generated_instance

    for size in LARGER[:2] if program.variant else LARGER:
        instance = generated_instance(np.random.default_rng(0), Shape(*size))
        if not program.fits(instance):
            continue
        if program.takes == "lam":
            at = prune_path(instance).breakpoints
            yield from ((instance, lam) for lam in (at[0] / 2, (at[0] + at[1]) / 2, 2 * at[-1]))
        else:
            yield from ((instance, number) for number in corner_numbers(instance, program.takes))
    for instance, lams in (
        (broad_stump(), (Fraction(1, 5), Fraction(1))),
        (tower_instance(), TOWER_LAMBDAS),
        (tall_ladder(), (Fraction(1, 5), Fraction(1))),
    ):
        numbers = lams if program.takes == "lam" else corner_numbers(instance, program.takes)
        yield from ((instance, number) for number in numbers)


def problems_of_many_trees(program: Formulation) -> Iterator[tuple[PruningInstance, Fraction | None]]:
    """State a forest of 120 stumps at a lambda, or within a budget, at which all are kept, and just below that.

    At the lambda each pays for its own unit and more: an optimum without any of them is worse.
    """
    instance = many_stumps()
    cost = instance.evaluate(instance.unpruned)[1]
    numbers: dict[str, list[Fraction | None]] = {
        "lam": [Fraction(1, 3)],
        "budget": [cost, cost - instance.cost_unit / 2],
        "nothing": [None],
    }
    if program.fits(instance):
        yield from ((instance, number) for number in numbers[program.takes])


def many_stumps() -> PruningInstance:
    """Make 120 stumps that share a unit, and each of which needs one of its own."""
    needs = [{0: {(0, 0), (0, tree)}} for tree in range(MANY)]
    return _instance(*[_tree((-1, 0, 0), (6, 1, 2), (0, 0, 0), need, (1,)) for need in needs])


def broad_stump() -> PruningInstance:
    """Make a stump that many examples reach, each of which needs the first unit and one of its own."""
    needs = {(example, unit) for example in range(MANY) for unit in (0, example)}
    return _instance(_stump(needs, (4 * MANY, MANY // 6, MANY // 3), (1, 2) * (MANY // 2)))


def delayed_instance() -> PruningInstance:
    """Make a tree whose root is a delayed test: an example needs the same unit in both branches.

    At a lambda of 1/2 it does not pay to buy the unit. To a program that knows one of the two places, it does.
    """
    from proofs.study.sketch import Sketch

    needs = {0: {(0, 0)}, 1: {(0, 1)}, 2: {(0, 1)}}
    tree = _tree((-1, 0, 0, 1, 1, 2, 2), (9, 2, 2, 1, 0, 1, 0), (1, 0, 0, 0, 0, 0, 0), needs, ())
    return Sketch((tree,), {(0, unit): PRICES[unit] for unit in (0, 1)}, Fraction(1, 2), Fraction(1), 1).instance()


def knapsack_instance() -> PruningInstance:
    """Make five stumps with a unit each, of which greed keeps others than the best ones within 14 and within 15."""
    from proofs.study.sketch import Sketch

    gains, prices = (10, 11, 2, 2, 7), (6, 7, 9, 5, 3)
    trees = [_tree((-1, 0, 0), (gain + 2, 1, 1), (0, 0, 0), {0: {(0, unit)}}, (1,)) for unit, gain in enumerate(gains)]
    priced = {(0, unit): price for unit, price in enumerate(prices)}
    return Sketch((*trees,), priced, Fraction(1, 2), Fraction(1), 1).instance()


def tower_instance() -> PruningInstance:
    """Make a chain of 120 tests; the first and the last need units of their own."""
    errors = [3 * (MANY - storey) + 9 * (storey < MANY) for storey in range(MANY + 1)]
    return _instance(_line(errors, {0: 0, MANY - 1: 1}))


def twin_instances() -> list[tuple[PruningInstance, PruningInstance]]:
    """Make pairs of instances that differ in one thing alone; at a lambda of 1 what is best of one is not of the other.

    They differ in the shape of the tree, in what nodes need, in costs of tests, in errors, in prices, and in the unit
    of costs.
    """
    root, child, both = {(0, 0)}, {(0, 1)}, {(0, 0), (0, 1)}
    errors, splits = (20, 12, 2, 0, 0), (0, 0, 0, 0, 0)
    left = _tree((-1, 0, 0, 1, 1), errors, splits, {0: root, 1: child}, (3,))
    right = _tree((-1, 0, 0, 2, 2), errors, splits, {0: root, 2: child}, (3,))
    needs = [
        [_tree((-1, 0, 0), (gain, 0, 0), (0, 0, 0), {0: need}, (1,)) for gain, need in trees]
        for trees in (((6, root), (5, both)), ((6, both), (5, root)))
    ]
    one = replace(_instance(left), example_leaf=None)
    return [
        (one, replace(_instance(right), example_leaf=None)),
        (_instance(*needs[0]), _instance(*needs[1])),
        (one, replace(one, split_cost=one.split_cost + 9)),
        (one, replace(one, errors=one.errors // 4)),
        (one, replace(one, acquisition_cost=one.acquisition_cost * 9)),
        (one, replace(one, cost_unit=one.cost_unit * 9)),
    ]


def corner_numbers(instance: PruningInstance, takes: str) -> list[Fraction | None]:
    """Return the numbers that a formulation takes: two lambdas, or a unit below two costs of prunings, or nothing."""
    cost = instance.evaluate(instance.unpruned)[1]
    numbers: dict[str, list[Fraction | None]] = {
        "lam": [Fraction(1, 2), Fraction(1, 5)],
        "budget": [cost - instance.cost_unit / 2, cost / 2],
        "nothing": [None],
    }
    return numbers[takes]


def _stump(needs: set[tuple[int, int]], errors: tuple[int, ...], leaf: tuple[int, ...]) -> SketchedTree:
    return _tree((-1, 0, 0), errors, (len(leaf), 0, 0), {0: needs}, leaf)


def _chain(root: set[tuple[int, int]], middle: set[tuple[int, int]], last: set[tuple[int, int]]) -> SketchedTree:
    """Three tests one below the other; the first example passes all, the second the upper two."""
    needs = {0: root, 1: middle, 3: last}
    return _tree((-1, 0, 0, 1, 1, 3, 3), (14, 9, 1, 5, 2, 1, 1), (2, 2, 0, 1, 0, 0, 0), needs, (5, 4))


def _fork() -> SketchedTree:
    """Make a test with one below it on either side, which need units of their own, of one example each."""
    needs = {0: {(0, 0), (1, 0)}, 1: {(0, 1)}, 2: {(1, 2)}}
    return _tree((-1, 0, 0, 1, 1, 2, 2), (14, 6, 6, 2, 1, 1, 2), (2, 1, 1, 0, 0, 0, 0), needs, (3, 5))


def parted_instance() -> PruningInstance:
    """Make a fork whose branches need the same unit, for which the second example pays twice as much as the first.

    At a lambda of 1/5 both tests below the root are worth these prices, the first is not worth their mean.
    """
    needs = {0: {(0, 0), (1, 0)}, 1: {(0, 1)}, 2: {(1, 1)}}
    errors = (20, 6, 6, 2, 2, 1, 2)
    return costlier_for_the_second(
        _instance(_tree((-1, 0, 0, 1, 1, 2, 2), errors, (2, 1, 1, 0, 0, 0, 0), needs, (3, 5)))
    )


def _ladder() -> SketchedTree:
    """Make a chain of tests, each of which needs a unit of its own."""
    return _line([2 * (RUNGS - rung) for rung in range(RUNGS + 1)], dict(enumerate(range(RUNGS))))


def tall_ladder() -> PruningInstance:
    """Make a chain of 120 tests with a unit each, of which at a lambda of 1 the upper half pays, and no other."""
    gains = [9] * (MANY // 2) + [2] * (MANY // 2)
    errors = [sum(gain + 1 for gain in gains[rung:]) for rung in range(MANY + 1)]
    return _instance(_line(errors, dict(enumerate(range(MANY)))))


def _line(errors: list[int], units: dict[int, int]) -> SketchedTree:
    """Make a chain of tests with the errors of its nodes from the root down, which passes one example.

    Parameters
    ----------
    errors : list of int
    units : dict
        The unit that a test needs first, by its depth.
    """
    parent, all_errors, splits = [-1], errors[:1], [1]
    for depth in range(1, len(errors)):
        parent += [max(2 * depth - 3, 0)] * 2
        all_errors += [errors[depth], 1]
        splits += [int(depth < len(errors) - 1), 0]
    needs = {max(2 * depth - 1, 0): {(0, unit)} for depth, unit in units.items()}
    return _tree(parent, all_errors, splits, needs, (len(parent) - 2,))


def _tree(
    parent: Sequence[int],
    errors: Sequence[int],
    splits: Sequence[int],
    needs: Mapping[int, set[tuple[int, int]]],
    leaf: tuple[int, ...],
) -> SketchedTree:
    from proofs.study.sketch import SketchedTree

    needed = tuple(frozenset(needs.get(node, ())) for node in range(len(parent)))
    return SketchedTree((*parent,), (*errors,), (*splits,), needed, leaf)


def _instance(*trees: SketchedTree) -> PruningInstance:
    from proofs.study.sketch import Sketch

    prices = {need: PRICES[need[1] % len(PRICES)] for tree in trees for needs in tree.needs for need in needs}
    return Sketch(trees, prices, Fraction(1, 2), Fraction(1), len(trees[0].leaf)).instance()
