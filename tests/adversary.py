"""Attack the package for ever: solvers, paths, recogniser, interrupts and checkers, on cases drawn at random.

    python tests/adversary.py [--minutes M] [--only PART] [--seed N] [--case K]

Parts take turns until the time is up, each with as much of it. A case is drawn from its part's name, the seed and its
number alone. Each fault is printed with the command that repeats it; exits with 1 if there is any.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from zlib import crc32

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from unimodular_matrices import network_to_glue, three_sum, transposed_network_to_glue, two_sum

from formulations.arrays import linear_program
from formulations.specification import specify
from ipforest import FeatureCosts, Forest, Pruning, PruningInstance, Status, prune_path, solve, solve_budget
from ipforest.path import PruningPath
from ipforest.path_search import PathSearch
from ipforest.solvers.highs import run as run_highs
from proofs import extracted_checker, find_network, is_totally_unimodular, verify_path
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.definition import Definition, error_on_frontier, lower_frontier
from proofs.crosschecks.methods import crosscheck
from proofs.crosschecks.random_checks import draw_question
from proofs.crosschecks.random_instances import draw_knapsack, integers_of, random_instance
from proofs.unimodularity.known_matrices import r10_hoffman, random_network_matrix
from tests.proofs.certificates.handmade import PathClaim, PruningClaim, claims_of

ROOT = Path(__file__).parent.parent
Rng = np.random.Generator
AT_LAMBDA = ("min-cut", "networkx", "tree-dp", "primal-dual", "path")
WITHIN_BUDGET = ("budget-path", "budget-greedy", "budget-mip", "budget-lp1")
HIGHS_SECONDS = 10
INTERRUPTS = 12
"""Of one process."""
CLAIMS = 30
"""Of one case: the extracted checker is started once for all."""


@dataclass
class Part:
    """A kind of attack: `attack` draws a case from a generator and raises an error where something is wrong."""

    attack: Callable[[Rng], None]
    seconds: float = 0.0
    fates: Counter[str] = field(default_factory=Counter)


PARTS: dict[str, Part] = {}


def part(attack: Callable[[Rng], None]) -> Callable[[Rng], None]:
    """Enter a function among the parts."""
    PARTS[attack.__name__.replace("_", "-")] = Part(attack)
    return attack


def stretched(rng: Rng, instance: PruningInstance) -> PruningInstance:
    """Make costs, or errors, of some instances differ by up to 10^12; errors by 10^6, for gain x cost to fit."""
    kind = rng.integers(4)
    if kind == 0:
        price = (10 ** rng.uniform(0, 12, instance.n_units)).astype(np.int64)
        return replace(instance, acquisition_cost=instance.acquisition_cost * price[instance.acquisition_unit])
    if kind == 1:
        factor = int(10 ** rng.uniform(0, 6))
        errors = instance.errors * factor + rng.integers(0, 2, instance.errors.size) * (instance.errors > 0)
        return replace(instance, errors=errors, error_unit=instance.error_unit / factor)
    return instance


@part
def solvers(rng: Rng) -> None:
    """All methods at a lambda and within a budget, against all prunings."""
    instance = stretched(rng, random_instance(rng, int(rng.integers(0, 9))))
    lam, budget = draw_question(rng, int(rng.integers(4)), instance)
    check = crosscheck(instance, lam, [*AT_LAMBDA, *WITHIN_BUDGET], budget)
    assert check.agree, check.problems


@part
def caps(rng: Rng) -> None:
    """Branch and bound, and greed, under a budget and a cap, against all prunings; with and without routing."""
    instance = random_instance(rng, 8)
    if instance.split_cost.any():
        instance = replace(instance, split_cost=np.zeros_like(instance.split_cost))
    if rng.integers(2):
        instance = replace(instance, example_leaf=None)
    unit = instance.cost_unit * instance.n_examples
    points = [(*instance.evaluate(one), most_paid(instance, one) * unit) for one in prunings(instance)]
    budget = points[rng.integers(len(points))][1]
    cap = points[rng.integers(len(points))][2]
    best = min(error for error, cost, paid in points if cost <= budget and paid <= cap)
    exact, greedy = (solve_budget(instance, budget, method, max_cost=cap) for method in ("mip", "greedy"))
    assert (exact.status, exact.error, exact.bound) == (Status.OPTIMAL, best, best), (exact, best)
    assert greedy.bound <= best <= greedy.error
    for result in (exact, greedy):
        assert most_paid(instance, result.pruning) * unit <= cap, f"an example pays more than {cap}: {result}"


def most_paid(instance: PruningInstance, pruning: Pruning) -> int:
    """Return what the example that pays most pays, in integers."""
    paid = np.zeros(instance.n_examples, dtype=np.int64)
    np.add.at(paid, instance.acquisition_example, instance.acquisition_cost * instance.acquired(pruning))
    return int(paid.max())


@part
def paths(rng: Rng) -> None:
    """Whole, coarse and partial paths, every subproblem moved or none, against the lower frontier of all prunings."""
    instance = stretched(rng, random_instance(rng, int(rng.integers(1, 9))))
    definition = Definition(instance)
    corners = lower_frontier(definition.every)
    whole = searched(instance, small=int(rng.choice([0, 1, 10**9])))
    assert list(zip(whole.costs, whole.errors, strict=True))[::-1] == corners
    verdict = verify_path(instance, whole)
    assert verdict, verdict
    low, high = sorted(rng.choice([Fraction(0), *whole.breakpoints, 2 * max(whole.breakpoints, default=1)], 2))
    coarse = [searched(instance, max_points=int(rng.integers(1, 4))), prune_path(instance, lam_range=(low, high))]
    for path in (whole, *coarse):
        for lam in {Fraction(0), low, *whole.breakpoints, *(lam * Fraction(9, 10) for lam in whole.breakpoints)}:
            with suppress(ValueError):  # skipped, as the path says
                error, cost = instance.evaluate(path.pruning(lam))
                assert error + lam * cost == min(e + lam * c for e, c in definition.every), (lam, path)
        for _, cost in definition.every:
            budget = cost * Fraction(int(rng.integers(90, 120)), 100)
            best = min(e for e, c in definition.every if c <= budget)
            result = path.at_budget(budget)
            assert result.bound <= error_on_frontier(corners, budget) <= best <= result.error
            assert not path.is_complete or result.bound == error_on_frontier(corners, budget)


def searched(instance: PruningInstance, max_points: int | None = None, small: int = 10) -> PruningPath:
    """Find a path by a search with subproblems that move at another size."""
    search = PathSearch(instance, max_points, small=small)
    search.run()
    return search.path()


@part
def branch_and_bound(rng: Rng) -> None:
    """Budgets where greed fails, against HiGHS on the 0-1 program; one of eight on a fitted forest."""
    instance = fitted_forest(rng) if rng.integers(8) == 0 else draw_knapsack(integers_of(rng), 14)
    budget = instance.total_cost * instance.cost_unit * Fraction(int(rng.integers(5, 95)), 100)
    result = solve_budget(instance, budget, "mip", time_limit=HIGHS_SECONDS)
    printed = run_highs(linear_program(specify("lp1", instance, budget=budget)), time_limit=HIGHS_SECONDS)
    if printed.status is Status.OPTIMAL:
        best = round(printed.objective) * instance.error_unit
        assert result.bound <= best <= result.error, (result, best)
        assert result.status is Status.TIME_LIMIT or result.error == best, (result, best)


@cache
def cancer() -> tuple[np.ndarray, np.ndarray]:
    """Return the Wisconsin breast cancer data."""
    return load_breast_cancer(return_X_y=True)


def fitted_forest(rng: Rng) -> PruningInstance:
    """Fit a forest with trees that are single leaves, or pure on its sample; count errors in or out of it."""
    X, y = cancer()
    rows = rng.permutation(y.size)
    fitted, others, paying = rows[:200], rows[200:300], rows[300:330]
    impurity = float(rng.choice([0, 0.02, 0.05]))
    model = RandomForestClassifier(
        int(rng.integers(2, 12)),
        min_impurity_decrease=impurity,
        max_leaf_nodes=5,
        max_features=1,
        random_state=int(rng.integers(2**31)),
    ).fit(X[fitted], y[fitted])
    prices = FeatureCosts(rng.integers(1, 30, X.shape[1]))
    error_data = (X[others], y[others]) if rng.integers(2) else None
    return PruningInstance.from_forest(Forest.from_sklearn(model), X[paying], prices, error_data=error_data)


@part
def unimodularity(rng: Rng) -> None:
    """Networks, their transposes and sums, permuted, are totally unimodular; every answer passes its own check."""
    size = int(rng.integers(2, 12))
    network = random_network_matrix(rng, size, int(rng.integers(2, 12)))
    three = three_sum(network_to_glue(rng, size), transposed_network_to_glue(rng, size)) if size > 2 else network
    sums = [
        network,
        network.T,
        two_sum(network, r10_hoffman()),
        two_sum(network, network.T),
        three,
        two_sum(three, network),
    ]
    kind = int(rng.integers(len(sums)))
    matrix = sums[kind][rng.permutation(sums[kind].shape[0])][:, rng.permutation(sums[kind].shape[1])]
    answer = is_totally_unimodular(matrix)
    assert answer, f"{answer} for {matrix.tolist()}"
    assert answer.check(), f"{answer.check()} for {matrix.tolist()}"
    if kind == 0:
        assert find_network(matrix) is not None, f"no network for {matrix.tolist()}"
    row, column = rng.integers(matrix.shape[0]), rng.integers(matrix.shape[1])
    changed = matrix.copy()
    changed[row, column] = rng.choice([value for value in (-1, 0, 1) if value != matrix[row, column]])
    answer = is_totally_unimodular(changed)
    assert answer.check(), f"{bool(answer)} with {answer.check()} for {changed.tolist()}"


@part
def interrupts(rng: Rng) -> None:
    """Ctrl-C at random moments of a path, in a process of its own; what goes on from there ends in the true path."""
    command = [sys.executable, str(ROOT / "tests" / "adversary.py"), "--interrupted", str(rng.integers(2**31))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(command[1:])} ended with {done.returncode}: {done.stderr[-2000:]}"


def interrupted(seed: int) -> int:
    """Interrupt a path again and again, in memory and saved; return 0 if it ends as the uninterrupted one does."""
    rng = np.random.default_rng(seed)
    X, y = cancer()
    model = RandomForestClassifier(60, random_state=seed).fit(X[:350], y[:350])
    prices = FeatureCosts(rng.integers(1, 50, X.shape[1]))
    instance = PruningInstance.from_forest(Forest.from_sklearn(model), X[350:], prices)
    prune_path(instance)  # compiles
    started = monotonic()
    true = prune_path(instance)
    seconds = monotonic() - started
    with TemporaryDirectory() as folder:
        file = Path(folder) / "search.npz"
        search, count = None, 0
        while True:
            delay = rng.uniform(0, seconds) if count < INTERRUPTS else 3600
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                if search is None:
                    search = PathSearch.load(file, instance) if file.exists() else PathSearch(instance)
                search.run_saved(file)
                timer.cancel()
                path = search.path()
                break
            except KeyboardInterrupt:
                count += 1
                if rng.integers(2):
                    search = None  # go on from the file
    verdict = verify_path(instance, path)
    same = (path.breakpoints, path.errors, path.costs) == (true.breakpoints, true.errors, true.costs)
    if not (verdict and same and path.status is Status.OPTIMAL):
        print(
            f"after {count} interrupts {len(path.breakpoints)} of {len(true.breakpoints)} breakpoints, {path.status}, "
            f"{verdict}",
            file=sys.stderr,
        )
        return 1
    return 0


@part
def claims(rng: Rng) -> None:
    """Claims off by exactly one: the checkers in Python and from Coq agree, and accept what all prunings confirm."""
    verdicts, texts = [], []
    for _ in range(CLAIMS):
        instance = random_instance(rng, 5)
        claim = near_pruning(rng, instance) if rng.integers(2) else near_path(rng, instance)
        verdict = claim.verdict()
        assert not verdict or claim.is_true(), f"{verdict} for {claim}"
        verdicts.append(bool(verdict))
        texts.append(text_of(claim))
    program = checker()
    if program is not None:
        said = iter(extracted_checker.run(program, [text for text in texts if text is not None]))
        answers = [text is not None and next(said) for text in texts]
        assert answers == verdicts, [
            text for text, *both in zip(texts, answers, verdicts, strict=True) if len(set(both)) > 1
        ]


def near_pruning(rng: Rng, instance: PruningInstance) -> PruningClaim:
    """Claim that a pruning is optimal, with one number off by one, or one unit more sent along a way to the sink."""
    lam, _ = draw_question(rng, int(rng.integers(4)), instance)
    result = solve(instance, lam)
    kept, flow = result.pruning.kept, result.flow
    others = [one.kept for one in prunings(instance)]
    if rng.integers(2):
        kept = others[rng.integers(len(others))]
    honest = claims_of(instance, lam, kept)
    kind = rng.integers(5)
    if kind == 0:
        flow = with_one_more(rng, instance, flow)
    elif kind == 1:
        flow = off_by_one(rng, flow, ("triple", "up", "gain", "split"))
    elif kind == 2:
        name = str(rng.choice(["p", "q"]))
        flow = replace(flow, **{name: getattr(flow, name) + int(rng.choice([-1, 1]))})
    elif kind == 3:
        name = str(rng.choice(sorted(honest)))
        honest[name] += instance.error_unit * int(rng.choice([-1, 1]))
    return StatedClaim(instance, kept, flow, lam, honest)


class StatedClaim(PruningClaim):
    """A claim that is true only if the numbers that it states are."""

    def is_true(self) -> bool:
        """Compare the numbers with those of the pruning, and that with every pruning."""
        return self.claims == claims_of(self.instance, self.lam, self.kept) and super().is_true()


def near_path(rng: Rng, instance: PruningInstance) -> PathClaim:
    """Claim a path with one number changed by one, or one unit more sent along a way to the sink."""
    path = prune_path(instance)
    kind = rng.integers(6)
    if kind == 0:
        path = replace(path, flow=with_one_more(rng, instance, path.flow))
    elif kind == 1:
        path = replace(path, flow=off_by_one(rng, path.flow, ("triple", "up", "gain", "split")))
    elif kind == 2 and path.node_breakpoint.size:
        pieces = path.node_breakpoint.copy()
        place = rng.integers(pieces.size)
        pieces[place] = np.clip(pieces[place] + rng.choice([-1, 1]), -1, len(path.breakpoints))
        path = replace(path, node_breakpoint=pieces, flow=replace(path.flow, node_breakpoint=pieces))
    elif kind == 3 and path.breakpoints:
        place, step = int(rng.integers(len(path.breakpoints))), int(rng.choice([-1, 1]))
        numbers = list(path.flow.p)
        numbers[place] += step
        path = replace(path, flow=replace(path.flow, p=tuple(numbers)))
    elif kind == 4:
        name, step = str(rng.choice(["errors", "costs"])), int(rng.choice([-1, 1]))
        numbers = list(getattr(path, name))
        numbers[rng.integers(len(numbers))] += step * (instance.error_unit if name == "errors" else instance.cost_unit)
        path = replace(path, **{name: tuple(numbers)})
    return PathClaim(instance, path)


def off_by_one(rng: Rng, flow, names: tuple[str, ...]):
    """Change one amount of a flow by one."""
    name = str(rng.choice(names))
    values = getattr(flow, name).copy()
    if values.size:
        values[rng.integers(values.size)] += rng.choice([-1, 1])
    return replace(flow, **{name: values})


def with_one_more(rng: Rng, instance: PruningInstance, flow):
    """Send one unit more, or less, from the source into a node, up some way, and out to a sink; it still conserves."""
    if not instance.n_internal:
        return flow
    step = int(rng.choice([-1, 1]))
    arrays = {name: getattr(flow, name).copy() for name in ("triple", "up", "gain", "split")}
    node = int(rng.integers(instance.n_internal))
    arrays["gain"][node] += step
    while instance.parent[node] >= 0 and rng.integers(2):
        arrays["up"][node] += step
        node = int(instance.parent[node])
    used = np.flatnonzero(instance.node_of_triples(flow.used) == node)
    if used.size and rng.integers(3):
        arrays["triple"][rng.choice(used)] += step
    else:
        arrays["split"][node] += step
    return replace(flow, **arrays)


def text_of(claim: PruningClaim | PathClaim) -> str | None:
    """Write a claim for the extracted checker; None where its arrays are none that can be written."""
    with suppress(extracted_checker.NoForestError):
        if isinstance(claim, PathClaim):
            return extracted_checker.path_text(claim.instance, claim.path)
        return extracted_checker.pruning_text(claim.instance, claim.lam, claim.kept, claim.flow, claim.claims)
    return None


CLEAN_UP = ExitStack()


@cache
def checker() -> Path | None:
    """Build the extracted checker, where Coq and OCaml are installed."""
    if shutil.which("coqc") is None or shutil.which("ocamlfind") is None:
        print("claims: coqc and ocamlfind are not installed, so the extracted checker is not asked", flush=True)
        return None
    return extracted_checker.build(CLEAN_UP.enter_context(TemporaryDirectory()))


def tried(name: str, seed: int, case: int) -> bool:
    """Try one case of a part; print the fault, if any, and how to repeat it."""
    rng = np.random.default_rng([crc32(name.encode()), seed, case])
    try:
        PARTS[name].attack(rng)
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        print(
            f"FAULT in {name}: python tests/adversary.py --only {name} --seed {seed} --case {case}\n"
            f"    {type(problem).__name__} at {Path(where.filename).name}:{where.lineno}: {problem}",
            flush=True,
        )
        return False
    return True


def turns(names: list[str], minutes: float) -> Iterator[str]:
    """Name the part that has used least time, until the time is up."""
    end = monotonic() + 60 * minutes
    while monotonic() < end:
        yield min(names, key=lambda name: PARTS[name].seconds)


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0, metavar="M", help="how long (default: 2)")
    parser.add_argument("--only", choices=list(PARTS), metavar="PART", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all cases (default: 0)")
    parser.add_argument("--case", type=int, metavar="K", help="only this one, of the part given by --only")
    parser.add_argument("--interrupted", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.interrupted is not None:
        return interrupted(options.interrupted)
    names = [options.only] if options.only else list(PARTS)
    with CLEAN_UP:
        if "claims" in names:
            checker()
        if options.case is not None:
            return not tried(names[0], options.seed, options.case)
        for name in turns(names, options.minutes):
            attacked, started = PARTS[name], monotonic()
            fate = "right" if tried(name, options.seed, attacked.fates.total()) else "faults"
            attacked.fates[fate] += 1
            attacked.seconds += monotonic() - started
    for name in names:
        attacked = PARTS[name]
        print(f"{name}: {attacked.fates.total()} cases, {attacked.fates['faults']} faults, {attacked.seconds:.0f} s")
    return int(any(PARTS[name].fates["faults"] for name in names))


if __name__ == "__main__":
    sys.exit(main())
