"""Remove the conditions of the checkers one by one, or get them slightly wrong: each time a quick test must fail.

    python tests/mutation_gate.py [--slips] [--only WORD] [--jobs N]

Lists each change with its fate; exits with 1 if one survives. A removal is: an `if` that is never taken, one part of
an `and`, `or`, `&`, `|` or chain of comparisons left out, a conditional expression or a boolean answer fixed, a call
made for its error left out. A slip, with `--slips`: a relation taken for its neighbour, `and` for `or`, a bound or a
constant off by one. Not all slips that survive have been looked at: some change no answer, others want a test.

Tests run in a forked process in which one function's code has been exchanged.
"""

import argparse
import ast
import copy
import importlib
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TIME_LIMIT_S = 60
SURVIVES = "SURVIVES"
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
LISTED: list["Removal"] = []
"""What is removed in this run; forked processes find it here."""


@dataclass(frozen=True)
class Removal:
    """A function without one of its conditions."""

    module: str
    function: str
    line: int
    what: str
    code: CodeType

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.function}: {self.what}"

    def apply(self) -> None:
        """Exchange the function's code in this process, for all who have imported it."""
        target: Any = importlib.import_module(self.module)
        for name in self.function.split("."):
            target = target.__dict__[name]
        function = target.fget if isinstance(target, property) else target
        assert isinstance(function, FunctionType)
        function.__code__ = self.code


def removals(module: str, source: str, slips: bool = False) -> Iterator[Removal]:
    """Yield every removal of a condition in a module's functions, or every slip in one."""
    tree = ast.parse(source)
    places = {id(node): place for place, node in enumerate(ast.walk(tree))}
    for name, function in functions(tree):
        if module.startswith(SEARCHERS) and not CHECKS.search(name.split(".")[-1]):
            continue
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            for what, replacement in slightly_wrong(node) if slips else without_one(node, is_predicate(function)):
                changed = copy.deepcopy(tree)
                old = list(ast.walk(changed))[places[id(node)]]
                changed = ast.fix_missing_locations(Exchange(old, replacement).visit(changed))
                yield Removal(module, name, node.lineno, what, code_of(changed, module, name))


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


def without_one(node: ast.AST, in_predicate: bool) -> Iterator[tuple[str, ast.AST]]:
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
        case ast.Return(value=value) if in_predicate and not isinstance(value, ast.Constant):
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


def slightly_wrong(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
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
                    yield f"{_short(node)}: {_short(compared)}", compared
        case ast.BoolOp(op=op, values=values):
            swapped = ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
            yield f"{_short(node)}: {_short(swapped)}", swapped
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right) if _compares(node):
            joined = ast.BinOp(left, ast.BitAnd() if isinstance(op, ast.BitOr) else ast.BitOr(), right)
            yield f"{_short(node)}: {_short(joined)}", joined
        case ast.BinOp(left=left, op=op, right=ast.Constant(value=int()) as constant):
            for by_one in _off_by_one(constant):
                changed_sum = ast.BinOp(left, op, by_one)
                yield f"{_short(node)}: {_short(changed_sum)}", changed_sum


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


def code_of(tree: ast.Module, module: str, function: str) -> CodeType:
    """Compile a changed module and pick one function's code out of it."""
    code = compile(tree, module, "exec")
    for name in function.split("."):
        code = next(part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name)
    return code


def fate_of(place: int) -> str:
    """Run the tests without one of the conditions listed."""
    removal = LISTED[place]
    code = run_apart(TESTS[removal.module], removal)
    if code > pytest.ExitCode.TESTS_FAILED:
        raise RuntimeError(f"{removal}: the tests did not run, pytest ended with {code}")
    return "HANGS   " if code < 0 else "noticed " if code else SURVIVES


def run_apart(files: Iterable[str], removal: Removal | None = None) -> int:
    """Run test files in a forked process, so that this one never starts threads that a fork would wait for in vain."""
    child = os.fork()
    if child == 0:
        code: int = pytest.ExitCode.INTERNAL_ERROR
        try:
            if removal is not None:
                signal.alarm(TIME_LIMIT_S)
                silence = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silence, 1)
                os.dup2(silence, 2)
                removal.apply()
            code = run_tests(files)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_tests(files: Iterable[str]) -> int:
    """Run test files up to the first failure, in this process: others would not have the code that was exchanged."""
    without = ("cacheprovider", "faulthandler", "unraisableexception")
    options = ["-o", "addopts=--import-mode=importlib", *(f"-pno:{plugin}" for plugin in without)]
    with TemporaryDirectory() as scratch:
        options += ["-x", "-q", "--no-header", "--tb=no", f"--basetemp={scratch}/files", "-m", "not slow"]
        return int(pytest.main([*options, *(str(ROOT / file) for file in files)]))


def main() -> int:
    """Remove the conditions, list them with their fate, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only removals whose line contains it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time")
    parser.add_argument("--slips", action="store_true", help="conditions slightly wrong in place of removed; not in CI")
    options = parser.parse_args()
    LISTED.extend(
        removal
        for module in TESTS
        for removal in removals(module, Path(importlib.import_module(module).__file__ or "").read_text(), options.slips)
        if options.only in str(removal)
    )
    if run_apart({file for removal in LISTED for file in TESTS[removal.module]}) != pytest.ExitCode.OK:
        print("the tests fail before anything is removed")
        return 1
    fates = []
    with get_context("fork").Pool(options.jobs) as pool:
        for removal, fate in zip(LISTED, pool.imap(fate_of, range(len(LISTED))), strict=True):
            print(f"{fate}  {removal}", flush=True)
            fates.append(fate)
    survivors = fates.count(SURVIVES)
    print(f"{len(LISTED) - survivors} of {len(LISTED)} removals noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    sys.exit(main())
