"""The Coq proofs in `proofs/coq`, compiled afresh: what is proved, and what each theorem assumes.

`compile_proof` copies the sources into a temporary directory, runs `coqc` on them in the order of `_CoqProject`, and
reads what the `Print Assumptions` commands at the end of each file answer. A theorem is closed when the answer is
"Closed under the global context": no axiom, nothing admitted. On request `coqchk`, Coq's own small checker, reads the
compiled files again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

CLOSED = "Closed under the global context"
PACKAGES = ("coq", "libcoq-mathcomp-algebra")

_SOURCES = Path(__file__).parent.parent / "coq"
_ASKED = re.compile(r"^Print Assumptions (\w+)\.$", re.MULTILINE)
_BEFORE_ANSWER = re.compile(rf"^(?={CLOSED}$|Axioms:$)", re.MULTILINE)


class CoqMissingError(RuntimeError):
    """Coq or its Mathematical Components library is not installed."""


class BrokenProofError(RuntimeError):
    """A file does not compile, or does not answer what it was asked."""


@dataclass(frozen=True, slots=True)
class MachineProof:
    """What Coq accepted.

    Attributes
    ----------
    theorems : tuple of str
        The main theorems, as ``file.name``.
    assumptions : tuple of str
        For each theorem, Coq's answer to `Print Assumptions`.
    coqc_version : str
    seconds : float
        Wall time of the compilation.
    """

    theorems: tuple[str, ...]
    assumptions: tuple[str, ...]
    coqc_version: str
    seconds: float

    @property
    def closed(self) -> bool:
        """Whether there are theorems and none of them assumes anything."""
        return bool(self.theorems) and all(answer == CLOSED for answer in self.assumptions)

    def __str__(self) -> str:
        n_closed = self.assumptions.count(CLOSED)
        return (
            f"{n_closed} of {len(self.theorems)} theorems closed under the global context "
            f"(Coq {self.coqc_version}, {self.seconds:.1f} s)"
        )


def compile_proof(directory: Path | str | None = None, recheck: bool = False) -> MachineProof:
    """Compile the proofs in a temporary directory and ask what each main theorem assumes.

    Parameters
    ----------
    directory : path, optional
        Where `_CoqProject` and the sources are; those of this package if not given. Nothing is written there.
    recheck : bool
        Whether `coqchk` reads the compiled files again, which takes about a minute.

    Raises
    ------
    CoqMissingError
        If `coqc` is not on the PATH, or Mathematical Components is not installed.
    BrokenProofError
        If a file does not compile, or `coqchk` refuses it.
    """
    coqc = shutil.which("coqc")
    if coqc is None:
        raise CoqMissingError(f"coqc is not on the PATH: {_how_to_install()}")
    sources = _SOURCES if directory is None else Path(directory)
    files = re.findall(r"^\S+\.v$", (sources / "_CoqProject").read_text(encoding="utf-8"), re.MULTILINE)
    start = perf_counter()
    theorems: list[str] = []
    assumptions: list[str] = []
    with TemporaryDirectory(prefix="ipforest-coq-") as build:
        for file in files:
            shutil.copy(sources / file, build)
            asked, answers = _compile(coqc, Path(build), file)
            theorems += asked
            assumptions += answers
        if recheck:
            _recheck(Path(build), files)
    seconds = perf_counter() - start
    return MachineProof(tuple(theorems), tuple(assumptions), _version(coqc), seconds)


def _compile(coqc: str, build: Path, file: str) -> tuple[list[str], list[str]]:
    """Compile one file; the theorems it asks about, and the answers."""
    done = subprocess.run([coqc, "-q", "-R", ".", "IpForest", file], cwd=build, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        if re.search(r"(?s)Cannot find a physical path.*mathcomp", done.stderr):
            raise CoqMissingError(f"Mathematical Components is not installed: {_how_to_install()}")
        raise BrokenProofError(f"{file} does not compile: {' '.join(done.stderr.split())}")
    asked = _ASKED.findall((build / file).read_text(encoding="utf-8"))
    answers = [answer.strip() for answer in _BEFORE_ANSWER.split(done.stdout)[1:]]
    if len(answers) != len(asked):
        raise BrokenProofError(f"{file} asks about {len(asked)} theorems and gets {len(answers)} answers")
    return [f"{Path(file).stem}.{name}" for name in asked], answers


def _recheck(build: Path, files: list[str]) -> None:
    """Run `coqchk` on the compiled files; what they import is taken as compiled."""
    modules = [f"IpForest.{Path(file).stem}" for file in files]
    command = ["coqchk", "-silent", "-R", ".", "IpForest", "-norec", *modules]
    done = subprocess.run(command, cwd=build, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        raise BrokenProofError(f"coqchk refuses: {' '.join((done.stdout + done.stderr).split())}")


def _version(coqc: str) -> str:
    printed = subprocess.run([coqc, "--print-version"], capture_output=True, encoding="utf-8", check=True).stdout
    return printed.split()[0]


def _how_to_install() -> str:
    return f"install the Debian packages {' and '.join(PACKAGES)} (apt-get install {' '.join(PACKAGES)})"
