"""Remove the conditions of the checkers one by one, and get them slightly wrong: each time a quick test must fail.

    python tests/mutation_gate.py [--only WORD] [--jobs N]

Lists each mutant with its fate; exits with 1 if one survives that is not in `EQUIVALENT`, or if one listed there is
noticed or no longer made. A removal is: an `if` that is never taken, one part of an `and`, `or`, `&`, `|` or chain of
comparisons left out, a conditional expression or a boolean answer fixed, a call made for its error left out. A slip
is: a relation taken for its neighbour, `and` for `or`, a bound or a constant off by one. CI tries all of them.

The tests are collected and run once, which loads the kernels and tells which tests call which function. Each mutant
is then tried in a process forked from there: one function's code is exchanged, and the tests that call it run up to
the first failure, those first that noticed most mutants so far in the time that they take.
"""

import __future__

import argparse
import ast
import copy
import gc
import importlib
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from highspy import Highs
from mutation_equivalents import EQUIVALENT

ROOT = Path(__file__).parent.parent
TIME_LIMIT_S = 20
"""Of a processor's time, for the tests of one mutant."""
NOTICED, HANGS, CRASHES, SURVIVES = "noticed ", "HANGS   ", "CRASHES ", "SURVIVES"
CLAIMS, FILES, SUMS, ORIGINS = (
    f"tests/proofs/{file}.py"
    for file in (
        "certificates/test_false_claims",
        "certificates/test_archive",
        "unimodularity/test_false_certificates",
        "test_provenance",
    )
)
TESTS = {
    "proofs.certificates.exact_arrays": (CLAIMS,),
    "proofs.certificates.instance": (CLAIMS,),
    "proofs.certificates.optimality": (CLAIMS,),
    "proofs.certificates.path_optimality": (CLAIMS,),
    "proofs.certificates.archive": (FILES,),
    "proofs.certificates.path_file": (FILES,),
    "proofs.certificates.pruning_file": (FILES,),
    "proofs.provenance": (ORIGINS,),
    "proofs.unimodularity.counterexample": (SUMS,),
    "proofs.unimodularity.decomposition": (SUMS,),
    "proofs.unimodularity.network_certificate": (SUMS,),
    "proofs.unimodularity.network_form": (SUMS,),
    "proofs.unimodularity.small_matrices": (SUMS,),
}
"""The modules that check, and the tests that must notice."""
SEARCHERS = "proofs.unimodularity."
CHECKS = re.compile(r"(^|_)(check|fault|parts|require|off_diagonal|are_parallel)(_|$)")
"""Modules that search as well, and the names of what checks in them."""


@dataclass(frozen=True)
class Mutant:
    """A function with one of its conditions removed or slightly wrong."""

    module: str
    function: str
    line: int
    what: str
    code: CodeType

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.function}: {self.what}"

    @property
    def name(self) -> str:
        """What tells the mutant from others, wherever the function stands in its file."""
        return f"{self.module} {self.function}: {self.what}"

    @property
    def target(self) -> FunctionType:
        """The function itself, as it is in use."""
        target: Any = importlib.import_module(self.module)
        for name in self.function.split("."):
            target = target.__dict__[name]
        function = target.fget if isinstance(target, property) else target
        assert isinstance(function, FunctionType)
        return function

    def apply(self) -> None:
        """Exchange the function's code in this process, wherever it has been imported."""
        self.target.__code__ = self.code


def removals(module: str, source: str) -> Iterator[Mutant]:
    """Yield every removal of a condition in a module's functions."""
    return _changed(module, source, without_one)


def slips(module: str, source: str) -> Iterator[Mutant]:
    """Yield every slip in a condition of a module's functions."""
    return _changed(module, source, slightly_wrong)


def _changed(
    module: str, source: str, changes: Callable[[ast.AST, ast.FunctionDef], Iterator[tuple[str, ast.AST]]]
) -> Iterator[Mutant]:
    tree = ast.parse(source)
    for name, function in functions(tree):
        if module.startswith(SEARCHERS) and not CHECKS.search(name.split(".")[-1]):
            continue
        places = {id(node): place for place, node in enumerate(ast.walk(function))}
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            for what, replacement in changes(node, function):
                copied = copy.deepcopy(function)
                old = list(ast.walk(copied))[places[id(node)]]
                changed = ast.fix_missing_locations(Exchange(old, replacement).visit(copied))
                yield Mutant(module, name, node.lineno, what, code_of(changed, module))


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes, with their names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{part.name}", part) for part in node.body if isinstance(part, ast.FunctionDef))


def is_predicate(function: ast.FunctionDef) -> bool:
    """Return whether a function answers yes or no."""
    return isinstance(function.returns, ast.Name) and function.returns.id == "bool"


def without_one(node: ast.AST, function: ast.FunctionDef) -> Iterator[tuple[str, ast.AST]]:
    """Yield what can be removed from a node: a description, and what is left."""
    match node:
        case ast.If(test=test, orelse=orelse):
            yield f"if {ast.unparse(test)}", ast.If(ast.Constant(False), node.body, orelse)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield f"{ast.unparse(node)}: always the first", body
            yield f"{ast.unparse(node)}: always the second", orelse
        case ast.BoolOp(op=op, values=values):
            for place, value in enumerate(values):
                rest = values[:place] + values[place + 1 :]
                yield f"{ast.unparse(value)} in {_short(node)}", ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right) if _compares(node):
            yield f"{ast.unparse(left)} in {_short(node)}", right
            yield f"{ast.unparse(right)} in {_short(node)}", left
        case ast.Compare(left=left, ops=[_, _, *_] as ops, comparators=comparators):
            ends = [left, *comparators]
            links: list[ast.expr] = [ast.Compare(ends[place], [op], [ends[place + 1]]) for place, op in enumerate(ops)]
            for place, link in enumerate(links):
                rest = links[:place] + links[place + 1 :]
                left_over = ast.BoolOp(ast.And(), rest) if len(rest) > 1 else rest[0]
                yield f"{ast.unparse(link)} in {_short(node)}", left_over
        case ast.Expr(value=ast.Call() as call):
            yield f"the call {_short(call)}", ast.Pass()
        case ast.Return(value=value) if is_predicate(function) and not isinstance(value, ast.Constant):
            for answer in (True, False):
                yield f"{_short(node)}: always {answer}", ast.Return(ast.Constant(answer))


NEIGHBOURS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE,),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE,),
    ast.GtE: (ast.Gt,),
    ast.Eq: (ast.GtE, ast.LtE),
    ast.NotEq: (ast.Gt, ast.Lt),
}
"""What each relation is mistaken for: the answer differs where both sides are equal, or on one side."""


def slightly_wrong(node: ast.AST, _: ast.FunctionDef) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a slip makes of a node: a relation or a connective mistaken, a bound or a constant off by one."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for place, (op, end) in enumerate(zip(ops, comparators, strict=True)):
                mistaken = [[*ops[:place], other(), *ops[place + 1 :]] for other in NEIGHBOURS.get(type(op), ())]
                changes = [(other, comparators) for other in mistaken if not isinstance(end, ast.Tuple)]
                if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                    ends = ([*comparators[:place], by_one, *comparators[place + 1 :]] for by_one in _off_by_one(end))
                    changes += [(ops, changed) for changed in ends]
                for other, changed in changes:
                    compared = ast.Compare(left, other, changed)
                    yield f"{ast.unparse(node)}: {ast.unparse(compared)}", compared
        case ast.BoolOp(op=op, values=values):
            swapped = ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
            yield f"{ast.unparse(node)}: {ast.unparse(swapped)}", swapped
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right) if _compares(node):
            joined = ast.BinOp(left, ast.BitAnd() if isinstance(op, ast.BitOr) else ast.BitOr(), right)
            yield f"{ast.unparse(node)}: {ast.unparse(joined)}", joined
        case ast.BinOp(left=left, op=op, right=ast.Constant(value=int()) as constant):
            for by_one in _off_by_one(constant):
                changed_sum = ast.BinOp(left, op, by_one)
                yield f"{ast.unparse(node)}: {ast.unparse(changed_sum)}", changed_sum


def _off_by_one(bound: ast.expr) -> Iterator[ast.expr]:
    """Yield a bound that is larger by one, and one that is smaller."""
    for change, sign in ((1, ast.Add()), (-1, ast.Sub())):
        match bound:
            case ast.Constant(value=int(value)):
                yield ast.Constant(value + change)
            case ast.Name() | ast.Attribute() | ast.BinOp() | ast.Call() | ast.Subscript():
                yield ast.BinOp(bound, sign, ast.Constant(1))


def _compares(node: ast.AST) -> bool:
    return any(isinstance(part, (ast.Compare, ast.Invert)) for part in ast.walk(node))


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Exchange(ast.NodeTransformer):
    """Put one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit a node and what is below it."""
        return copy.deepcopy(self.new) if node is self.old else self.generic_visit(node)


def code_of(function: ast.FunctionDef, module: str) -> CodeType:
    """Compile a changed function."""
    code = compile(ast.Module([function], []), module, "exec", flags=__future__.annotations.compiler_flag)
    return next(part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == function.name)


class Gate:
    """A plugin of pytest that runs the collected tests as they are, and then with each mutant."""

    def __init__(self, tried: list[Mutant], jobs: int) -> None:
        self.tried, self.jobs = tried, jobs
        self.fates: dict[Mutant, str] = {}
        self.kills: Counter[int] = Counter()
        self.killers = RawArray("i", len(tried))
        """The tests that noticed, written by the forked processes."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests in place of pytest; HiGHS' threads end before, since a fork would wait for them in vain."""
        items = session.items
        calls, seconds = calls_in(items, {mutant.target.__code__ for mutant in self.tried})
        Highs.resetGlobalScheduler(True)
        gc.freeze()
        running: dict[int, int] = {}
        for number in range(len(self.tried)):
            if len(running) == self.jobs:
                self._wait(running)
            chosen = [place for place, called in enumerate(calls) if self.tried[number].target.__code__ in called]
            chosen.sort(key=lambda place: seconds[place] / (1 + self.kills[place]))
            running[self._start([items[place] for place in chosen], chosen, number)] = number
        while running:
            self._wait(running)
        return True

    def _start(self, items: list[pytest.Item], places: list[int], number: int) -> int:
        """Try a mutant on some tests in a forked process, and return the process."""
        child = os.fork()
        if child == 0:
            code: int = pytest.ExitCode.INTERNAL_ERROR
            try:
                limit_time()
                silence()
                self.tried[number].apply()
                after = [*items[1:], None]
                tests = zip(items, after, places, strict=True)
                killer = next((place for item, following, place in tests if fails(item, following)), None)
                code = pytest.ExitCode.OK if killer is None else pytest.ExitCode.TESTS_FAILED
                self.killers[number] = killer or 0
            finally:
                os._exit(code)
        return child

    def _wait(self, running: dict[int, int]) -> None:
        """Wait for one of the processes, and list the fate of its mutant."""
        child, status = os.wait()
        number, code = running.pop(child), os.waitstatus_to_exitcode(status)
        mutant = self.tried[number]
        if code > pytest.ExitCode.TESTS_FAILED or code == -signal.SIGALRM:
            raise RuntimeError(f"{mutant}: the tests did not run, or waited for something in vain")
        if code == pytest.ExitCode.TESTS_FAILED:
            self.kills[self.killers[number]] += 1
        died = HANGS if code == -signal.SIGPROF else CRASHES
        self.fates[mutant] = died if code < 0 else NOTICED if code else SURVIVES
        print(f"{self.fates[mutant]}  {mutant}", flush=True)


def calls_in(items: list[pytest.Item], functions: set[CodeType]) -> tuple[list[set[CodeType]], list[float]]:
    """Run tests, and return which of the functions each one calls, and the seconds that each one takes."""
    calls: list[set[CodeType]] = []
    seconds: list[float] = []
    files = {function.co_filename for function in functions}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename in files:
            calls[-1].add(frame.f_code)

    for item in items:
        calls.append(set())
        started = process_time()
        sys.setprofile(note)
        try:
            failed = fails(item)
        finally:
            sys.setprofile(None)
        seconds.append(process_time() - started)
        if failed:
            raise RuntimeError(f"{item.nodeid} fails before anything is changed")
    return calls, seconds


def fails(item: pytest.Item, following: pytest.Item | None = None) -> bool:
    """Run a test; fixtures that the following one uses, too, stay, all others end."""
    before = item.session.testsfailed
    item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
    return item.session.testsfailed > before


def limit_time() -> None:
    """End this process with a signal when the tests of one mutant take too long, and with another if they idle."""
    signal.setitimer(signal.ITIMER_PROF, TIME_LIMIT_S)
    signal.alarm(15 * TIME_LIMIT_S)


def silence() -> None:
    """Print nothing more from this process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def main() -> int:
    """Try all mutants, list them with their fate, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only mutants whose line contains it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time")
    options = parser.parse_args()
    made: list[Mutant] = []
    for module in TESTS:
        source = Path(importlib.import_module(module).__file__ or "").read_text()
        made += [*removals(module, source), *slips(module, source)]
    gate = Gate([mutant for mutant in made if options.only in str(mutant)], options.jobs)
    files = sorted({file for mutant in gate.tried for file in TESTS[mutant.module]})
    without = ("cacheprovider", "faulthandler", "logging", "unraisableexception")
    arguments = ["-o", "addopts=--import-mode=importlib", *(f"-pno:{plugin}" for plugin in without)]
    with TemporaryDirectory() as scratch:
        arguments += ["-q", "--no-header", "--capture=no", "--tb=line", f"--basetemp={scratch}/files", "-m", "not slow"]
        code = pytest.main([*arguments, *(str(ROOT / file) for file in files)], plugins=[gate])
    if code != pytest.ExitCode.OK:
        return int(code)
    survivors = {mutant.name for mutant, fate in gate.fates.items() if fate == SURVIVES}
    noticed = {mutant.name for mutant, fate in gate.fates.items() if fate != SURVIVES}
    unlisted = survivors - EQUIVALENT.keys()
    wrongly = (EQUIVALENT.keys() & noticed) | (EQUIVALENT.keys() - {mutant.name for mutant in made})
    for name in sorted(unlisted):
        print(f"survives, and is not listed as equivalent: {name}")
    for name in sorted(wrongly):
        print(f"listed as equivalent, but noticed or no longer made: {name}")
    n_survivors = sum(fate == SURVIVES for fate in gate.fates.values())
    print(f"{len(gate.fates) - n_survivors} of {len(gate.fates)} mutants noticed, {n_survivors} equivalent")
    return 1 if unlisted or wrongly else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"
    sys.exit(main())
