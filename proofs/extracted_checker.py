"""The checker that is itself proved: built from the Coq sources, run on the certificates that the Python checkers read.

`coq/checker.v` and `coq/certificate_files.v` hold boolean functions and the theorems that say what "true" means: no
pruning is better, for one lambda or along a whole path. `coq/without_stack.v` has them once more, proved equal, in
tail calls only, so that forests of any size and depth are checked. Coq extracts these to OCaml; `coq/main.ml` reads
numbers and nodes and is all that is not proved. `build` compiles the program, `pruning_text` and `path_text` write what
it reads.

The text holds each tree with its nodes in place, so that arrays which describe no forest cannot be written: they are
refused before the program sees them.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from proofs.certificates.instance import InternalNodes, instance_fault
from proofs.certificates.optimality import used_fault
from proofs.claims.machine_checked import BrokenProofError, CoqMissingError

if TYPE_CHECKING:
    from proofs.certificates.records import AnyPath, Flow, Instance, PathFlow

SOURCES = Path(__file__).parent / "coq"
COMPILED = ("checker.v", "certificate_files.v", "without_stack.v", "extraction.v")


class NoForestError(ValueError):
    """Arrays that describe no forest with a flow on it, so that there is nothing to check."""


def build(directory: Path | str) -> Path:
    """Compile the proofs of the checker, extract it and compile the program.

    Parameters
    ----------
    directory : path
        Where the program and all intermediate files go.

    Returns
    -------
    pathlib.Path
        The program.

    Raises
    ------
    CoqMissingError
        If `coqc` or `ocamlfind` is not on the PATH.
    BrokenProofError
        If something does not compile.
    """
    for program, package in (("coqc", "coq"), ("ocamlfind", "ocaml-findlib ocaml-nox")):
        if shutil.which(program) is None:
            raise CoqMissingError(f"{program} is not on the PATH: install it with apt-get install {package}")
    target = Path(directory)
    for name in (*COMPILED, "main.ml"):
        shutil.copy(SOURCES / name, target)
    for name in COMPILED:
        _run(["coqc", "-q", "-R", ".", "IpForest", name], target)
    _run(
        ["ocamlfind", "ocamlopt", "-O3", "-w", "-a", "extracted.mli", "extracted.ml", "main.ml", "-o", "checker"],
        target,
    )
    return target / "checker"


def _run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        raise BrokenProofError(f"{' '.join(command)} fails: {' '.join((done.stdout + done.stderr).split())}")


def run(program: Path, certificates: Sequence[str]) -> list[bool]:
    """Say of each certificate whether the program accepts it.

    Raises
    ------
    RuntimeError
        If the program stops before the last one.
    """
    done = subprocess.run([program], input="\n".join(certificates), capture_output=True, encoding="utf-8")
    answers = done.stdout.split()
    if done.returncode != 0 or len(answers) != len(certificates):
        raise RuntimeError(f"the extracted checker stopped after {len(answers)} certificates: {done.stderr.strip()}")
    return [answer == "accepted" for answer in answers]


def pruning_text(
    instance: Instance, lam: Fraction, kept: NDArray[np.bool_], flow: Flow, claims: dict[str, Fraction]
) -> str:
    """Write the certificate of one pruning; the arguments are those of `verify_claim`, with all four claims.

    Raises
    ------
    NoForestError
        If the arrays do not fit together.
    """
    words = ["pruning", *_data(instance, flow, kept, np.full(kept.size, -1))]
    numbers = (claims[name] for name in ("error", "cost", "objective", "bound"))
    words += [*_fraction(lam), _hex(flow.p), _hex(flow.q), *(word for number in numbers for word in _fraction(number))]
    return " ".join(words)


def path_text(instance: Instance, path: AnyPath) -> str:
    """Write the certificate of a whole path.

    Raises
    ------
    NoForestError
        If the arrays do not fit together, or the path has no flow.
    """
    flow = path.flow
    if flow is None or not np.array_equal(flow.node_breakpoint, path.node_breakpoint):
        raise NoForestError("the path has no flow, or one with other pieces")
    if len(flow.p) != len(flow.q):
        raise NoForestError("the breakpoints' numerators and denominators differ in number")
    nothing = np.zeros(flow.node_breakpoint.size, dtype=np.bool_)
    words = ["path", *_data(instance, flow, nothing, flow.node_breakpoint)]
    words += [_hex(len(flow.p)), *(_hex(number) for pair in zip(flow.p, flow.q, strict=True) for number in pair)]
    for numbers in (path.breakpoints, path.errors, path.costs):
        words += [_hex(len(numbers)), *(word for number in numbers for word in _fraction(number))]
    return " ".join(words)


def _data(
    instance: Instance, flow: Flow | PathFlow, kept: NDArray[np.bool_], piece: NDArray[np.integer]
) -> Iterator[str]:
    """Write units, prices and the trees with everything that stands at their nodes."""
    fault = instance_fault(instance)
    if fault:
        raise NoForestError(fault)
    internal = InternalNodes(instance).number
    sizes = {"triple": flow.used.size, "up": internal.size, "gain": internal.size, "split": internal.size}
    if any(getattr(flow, name).size != size for name, size in sizes.items()) or kept.size != internal.size:
        raise NoForestError("the flow or the pruning has the wrong length")
    fault = used_fault(instance, flow.used)
    if fault:
        raise NoForestError(fault)
    triple = np.zeros(instance.indices.size, dtype=np.int64)
    triple[flow.used] = flow.triple
    yield from _fraction(instance.error_unit)
    yield from _fraction(instance.cost_unit)
    yield from _counted(map(_hex, instance.acquisition_cost.tolist()), instance.acquisition_cost.size)
    place_of = {int(node): place for place, node in enumerate(internal)}
    children: list[list[int]] = [[] for _ in range(instance.node_parent.size)]
    for node, above in enumerate(instance.node_parent.tolist()):
        if above >= 0:
            children[above].append(node)
    roots = instance.tree_offsets[:-1].tolist()
    yield _hex(len(roots))
    todo = roots[::-1]
    while todo:
        node = todo.pop()
        yield _hex(int(instance.errors[node]))
        if node not in place_of:
            yield "0 0 -1 0 0 0 0"
        else:
            place = place_of[node]
            uses = range(int(instance.indptr[place]), int(instance.indptr[place + 1]))
            at_node = (instance.split_cost[place], kept[place], piece[place])
            arcs = (flow.gain[place], flow.split[place], flow.up[place])
            yield from (_hex(int(value)) for value in (*at_node, *arcs))
            yield _hex(len(uses))
            for use in uses:
                yield _hex(int(instance.indices[use]) + 1)
                yield _hex(int(triple[use]))
        yield _hex(len(children[node]))
        todo += children[node][::-1]


def _counted(words: Iterable[str], count: int) -> Iterator[str]:
    yield _hex(count)
    yield from words


def _fraction(number: Fraction) -> tuple[str, str]:
    return _hex(number.numerator), _hex(number.denominator)


def _hex(number: int) -> str:
    return f"{number:x}"
