"""The Coq proofs compile and assume nothing, and a proof that is tampered with is found out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import proofs.claims.machine_checked
from proofs.claims.machine_checked import CLOSED, BrokenProofError, CoqMissingError, MachineProof, compile_proof

SOURCES = Path(proofs.claims.machine_checked.__file__).parent.parent / "coq"


@pytest.fixture(scope="module")
def proof() -> MachineProof:
    try:
        return compile_proof()
    except CoqMissingError as missing:
        pytest.skip(str(missing))


def test_the_theorems_compile_and_assume_nothing(proof):
    assert {
        "integrality.integrality",
        "integrality.integrality_box",
        "integrality.relaxation_exact",
        "integrality.optimal_pruning_exists",
        "certificate.certificate_optimal",
        "unimodularity.constraint_matrix_totally_unimodular",
    } <= set(proof.theorems)
    assert proof.assumptions == (CLOSED,) * len(proof.theorems)
    assert proof.closed
    assert 0 < proof.seconds < 300
    assert re.match(r"\d+\.\d+", proof.coqc_version)
    assert str(proof).startswith(f"{len(proof.theorems)} of {len(proof.theorems)} theorems closed")


def test_compiling_leaves_nothing_beside_the_sources(proof):
    files = re.findall(r"^\S+\.v$", (SOURCES / "_CoqProject").read_text(), re.MULTILINE)
    assert sorted(path.name for path in SOURCES.iterdir()) == sorted([*files, "_CoqProject", "README.md"])


def test_the_sources_admit_nothing():
    escape = re.compile(
        r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort|bypass_check|Unset\s+\w+\s+Checking)\b"
    )
    for file in SOURCES.glob("*.v"):
        assert escape.findall(file.read_text()) == [], file.name


def test_the_readme_names_every_theorem(proof):
    readme = (SOURCES / "README.md").read_text()
    for theorem in proof.theorems:
        assert f"`{theorem.split('.')[1]}`" in readme


def _copy_with(directory: Path, file: str, old: str, new: str) -> Path:
    """Copy the sources with one change, to be compiled up to the changed file."""
    copy = directory / "coq"
    shutil.copytree(SOURCES, copy)
    text = (copy / file).read_text()
    assert text.count(old) == 1
    (copy / file).write_text(text.replace(old, new))
    project = (copy / "_CoqProject").read_text()
    (copy / "_CoqProject").write_text(project[: project.index(file) + len(file)] + "\n")
    return copy


def test_an_admitted_lemma_shows_in_the_theorems_that_use_it(proof, tmp_path):
    one_step = "Proof. by rewrite mulr_ge0 // (price_nonnegative well_formed_I). Qed."
    tampered = compile_proof(_copy_with(tmp_path, "integrality.v", one_step, "Admitted."))
    assumed = dict(zip(tampered.theorems, tampered.assumptions, strict=True))
    assert not tampered.closed
    assert assumed["integrality.integrality"].startswith("Axioms:\nusage_weight_ge0")
    assert assumed["integrality.point_of_feasible"] == CLOSED


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("forest.v", "path_to figure1 4 = [:: 1; 3; 4]", "path_to figure1 4 = [:: 1; 3; 5]"),
        ("program.v", "| 1, 2 => Some 6", "| 1, 2 => Some 11"),
    ],
)
def test_a_false_statement_does_not_compile(proof, tmp_path, file, old, new):
    with pytest.raises(BrokenProofError, match=rf"^{file} does not compile: .*Error"):
        compile_proof(_copy_with(tmp_path, file, old, new))


def test_without_coq_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CoqMissingError, match="apt-get install coq libcoq-mathcomp-algebra"):
        compile_proof()
