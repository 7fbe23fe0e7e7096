"""Formulations with constraints weakened, and exact proofs that a weakening changes nothing."""

from fractions import Fraction

import numpy as np
from pyomo.repn import generate_standard_repn

import formulations
from formulations import FORMULATIONS, Formulation
from proofs.corners import corner_instances, corner_numbers
from proofs.study.checks import program_of
from proofs.study.problem import Problem

DELETED, AT_MOST, AT_LEAST, LOOSER, DOUBLED = "deleted", "at most", "at least", "looser by one", "doubled right side"
EQUATIONS = ("one_leaf_per_path", "usage_in_tree")
IMPLIED = "the other rows and the bounds imply it, for every point of the relaxation"
IN_VAIN = "what it forbids never pays: less of the column that is one too many is a point, too, and costs no more"


def ways(block):
    """Return how a constraint can be weakened: sides are taken from equations, inequalities are loosened."""
    return (
        [DELETED, AT_MOST, AT_LEAST]
        if block in EQUATIONS
        else [DELETED, LOOSER] + [DOUBLED] * (block != "within_budget")
    )


def weaken(row, way):
    if way == DELETED:
        row.deactivate()
    elif way == AT_MOST:
        row.set_value((None, row.body, row.upper))
    elif way == AT_LEAST:
        row.set_value((row.lower, row.body, None))
    elif way == LOOSER:
        row.set_value((row.lower and row.lower - 1, row.body, None if row.upper is None else row.upper + 1))
    else:
        terms = generate_standard_repn(row.body)
        sign = 1 if row.upper is None else -1
        larger = sum(a * v for a, v in zip(terms.linear_coefs, terms.linear_vars, strict=True) if sign * a > 0)
        row.set_value((row.lower, row.body + larger, row.upper))


class Weakened(Formulation):
    """A formulation one of whose constraints is weakened: all rows of it, or one."""

    def __init__(self, base, block, way=DELETED, row=None):
        self.base, self.block, self.way, self.row = base, block, way, row
        self.name = f"{base.name}, {block}, {way}, {'all rows' if row is None else f'row {row}'}"
        for promise in ("takes", "integral", "one_tree", "routing", "integer_units", "variant"):
            setattr(self, promise, getattr(base, promise))

    def rows(self, model):
        block = model.component(self.block)
        rows = [] if block is None else list(block.values())
        return rows if self.row is None else rows[self.row : self.row + 1]

    def build(self, specification):
        model = self.base.build(specification)
        for row in self.rows(model):
            weaken(row, self.way)
        return model

    def linear_program(self, specification):
        return formulations.matrix(self.build(specification))

    def size(self, instance):
        program = self.linear_program(formulations.specify(self, instance, **self.numbers(1)))
        return formulations.ModelSize(program.n_columns, program.n_rows)

    def kept_shares(self, specification, values):
        return self.base.kept_shares(specification, values)

    def reader(self, specification):
        return self.base.reader(specification)

    def worth(self, specification, pruning):
        return self.base.worth(specification, pruning)

    def tree_objective(self, instance, p, q):
        return self.base.tree_objective(instance, p, q)


def single_rows(name, block):
    """Yield each row of a block in each corner instance, weakened in each way, with that instance."""
    base = FORMULATIONS[name]
    for instance in filter(base.fits, corner_instances()):
        model = formulations.build(name, instance, **base.numbers(1))
        for row in range(len(model.component(block))):
            for way in ways(block):
                yield Weakened(base, block, way, row), instance


def why_redundant(weakened, instances):
    """Prove that the weakened rows change nothing on some instances: return why, or None if they do."""
    reasons = {_why_redundant(weakened, problem) for instance in instances for problem in problems(weakened, instance)}
    return None if None in reasons else " and ".join(sorted(reasons))


def problems(formulation, instance):
    """Return the problems at which `check_formulation` looks at an instance."""
    numbers = corner_numbers(instance, formulation.takes)
    return [Problem(instance, **formulation.numbers(number)) for number in numbers]


def _why_redundant(weakened, problem):
    base = weakened.base
    known, found = (program_of(one, problem, relaxed=True) for one in (base, weakened))
    rows = set(map(_key, found.rows))
    lost = [row for row in known.rows if _key(row) not in rows]
    same = [({j: Fraction(1)}, Fraction(0)) for j in range(len(known.columns))]
    if _lies_in(found, lost, same):
        return IMPLIED
    if weakened.way != AT_LEAST:
        return None
    read = _columns_read(base, problem, len(known.columns))
    lower = list(same)
    for entries, _, side in lost:
        free = [j for j, a in entries.items() if a == 1 and known.objective[j] >= 0 and j not in read]
        if not free:
            return None
        others = {k: -a for k, a in entries.items() if k != free[0]}
        lower[free[0]] = others, side
        if _least(found, {free[0]: Fraction(1)} | {k: -a for k, a in others.items()}) < side:
            return None
    bounds = [({j: Fraction(1)}, ">=", low) for j, low in enumerate(known.lower)]
    bounds += [({j: Fraction(1)}, "<=", high) for j, high in enumerate(known.upper)]
    return IN_VAIN if _lies_in(found, [*known.rows, *bounds], lower) else None


def _key(row):
    entries, sense, side = row
    return tuple(sorted(entries.items())), sense, side


def _lies_in(program, rows, maps):
    """Return whether every point of a relaxation goes by affine maps of its columns to one that meets some rows."""
    for entries, sense, side in rows:
        left, constant = {}, Fraction(0)
        for j, a in entries.items():
            more, start = maps[j]
            constant += a * start
            for k, b in more.items():
                left[k] = left.get(k, Fraction(0)) + a * b
        if sense in (">=", "==") and constant + _least(program, left) < side:
            return False
        if sense in ("<=", "==") and constant - _least(program, {k: -b for k, b in left.items()}) > side:
            return False
    return True


def _least(program, entries):
    """Return the least value of a linear function over a relaxation, exactly."""
    return program.minimum([entries.get(j, Fraction(0)) for j in range(len(program.columns))]).value


def _columns_read(formulation, problem, width):
    read = formulation.reader(problem.specification(formulation, relaxed=True))
    start = read(np.zeros(width))
    return {j for j, unit in enumerate(np.eye(width)) if (read(unit) != start).any()}
