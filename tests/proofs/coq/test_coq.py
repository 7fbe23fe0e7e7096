"""The Coq proofs compile and assume nothing, and a proof that is tampered with is found out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import proofs.claims.machine_checked
from proofs.claims.machine_checked import CLOSED, BrokenProofError, CoqMissingError, MachineProof, compile_proof

SOURCES = Path(proofs.claims.machine_checked.__file__).parent.parent / "coq"

pytestmark = pytest.mark.xdist_group("coq")
"""On one worker, which compiles everything once."""


FILES = re.findall(r"^\S+\.v$", (SOURCES / "_CoqProject").read_text(), re.MULTILINE)
THEOREMS = [
    name
    for file in FILES
    for name in re.findall(r"^Print Assumptions (\w+)\.", (SOURCES / file).read_text(), re.MULTILINE)
]


@pytest.fixture(scope="module")
def proof() -> MachineProof:
    """Compile everything."""
    return compiled_or_skipped()


@pytest.fixture(scope="module")
def coq(tmp_path_factory) -> None:
    """Skip without Coq and Mathematical Components."""
    folder = tmp_path_factory.mktemp("coq")
    shutil.copy(SOURCES / "forest.v", folder)
    (folder / "_CoqProject").write_text("forest.v\n")
    compiled_or_skipped(folder)


def compiled_or_skipped(*arguments, **options) -> MachineProof:
    try:
        return compile_proof(*arguments, **options)
    except CoqMissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
def test_the_theorems_compile_and_assume_nothing(proof):
    assert {
        "integrality.integrality",
        "integrality.integrality_box",
        "integrality.relaxation_exact",
        "integrality.optimal_pruning_exists",
        "certificate.certificate_optimal",
        "maxflow.maximum_flow",
        "duality.strong_duality",
        "duality.certificate_exists",
        "budget.exact_on_the_path",
        "budget.exact_only_on_the_path",
        "correspondence.same_errors",
        "correspondence.same_costs",
        "correspondence.checked_for_the_program",
        "unimodularity.constraint_matrix_totally_unimodular",
        "delays.acquired_in_rounds",
        "delays.delayed_integrality",
        "delays.delayed_matrix_totally_unimodular",
        "vertices.vertex_integral",
        "vertices.relaxation_vertices_integral",
        "checker.check_pruning_optimal",
        "checker.check_path_optimal",
        "certificate_files.check_pruning_file_correct",
        "certificate_files.check_path_file_correct",
        "without_stack.run_pruning_file_correct",
        "without_stack.run_path_file_correct",
    } <= set(proof.theorems)
    assert proof.assumptions == (CLOSED,) * len(proof.theorems)
    assert [theorem.split(".")[1] for theorem in proof.theorems] == THEOREMS
    assert proof.closed
    assert proof.seconds > 0
    assert re.match(r"\d+\.\d+", proof.coqc_version)
    assert str(proof).startswith(f"{len(proof.theorems)} of {len(proof.theorems)} theorems closed")


@pytest.mark.slow
@pytest.mark.long
def test_coqs_own_small_checker_reads_the_compiled_files_again():
    assert compiled_or_skipped(recheck=True).closed


@pytest.mark.slow
def test_compiling_leaves_nothing_beside_the_sources(proof):
    assert sorted(path.name for path in SOURCES.iterdir()) == sorted([*FILES, "_CoqProject", "README.md", "main.ml"])


def test_the_sources_admit_nothing():
    escape = re.compile(
        r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort|bypass_check|Unset\s+\w+\s+Checking)\b"
    )
    for file in SOURCES.glob("*.v"):
        assert escape.findall(file.read_text()) == [], file.name


def test_the_readme_names_every_theorem():
    readme = (SOURCES / "README.md").read_text()
    assert [theorem for theorem in THEOREMS if f"`{theorem}`" not in readme] == []


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


@pytest.mark.slow
@pytest.mark.long
def test_an_admitted_lemma_shows_in_the_theorems_that_use_it(coq, tmp_path):
    one_step = "Proof. by rewrite mulr_ge0 // (price_nonnegative well_formed_I). Qed."
    tampered = compile_proof(_copy_with(tmp_path, "integrality.v", one_step, "Admitted."))
    assumed = dict(zip(tampered.theorems, tampered.assumptions, strict=True))
    assert not tampered.closed
    assert assumed["integrality.integrality"].startswith("Axioms:\nusage_weight_ge0")
    assert assumed["integrality.point_of_feasible"] == CLOSED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("forest.v", "path_to figure1 4 = [:: 1; 3; 4]", "path_to figure1 4 = [:: 1; 3; 5]"),
        ("program.v", "| 1, 2 => Some 6", "| 1, 2 => Some 11"),
    ],
)
def test_a_false_statement_does_not_compile(coq, tmp_path, file, old, new):
    with pytest.raises(BrokenProofError, match=rf"^{file} does not compile: .*Error"):
        compile_proof(_copy_with(tmp_path, file, old, new))


CHECKER_FILES = ("checker.v", "certificate_files.v", "without_stack.v", "checker_statements.v")


def _weakened(directory: Path, file: str, old: str, new: str) -> Path:
    """Copy the sources with one theorem weakened, and its proof adapted."""
    copy = directory / "coq"
    shutil.copytree(SOURCES, copy)
    text = (copy / file).read_text()
    assert text.count(old) == 1
    (copy / file).write_text(text.replace(old, new))
    return copy


@pytest.mark.slow
def test_a_weakened_theorem_of_the_checker_does_not_fit_its_statement(coq, tmp_path):
    """The proof goes through with lambda > 0 as well; the statement is about lambda >= 0."""
    copy = _weakened(tmp_path, "checker.v", "0 <= p -> 0 < q -> optimal", "0 < p -> 0 < q -> optimal")
    (copy / "_CoqProject").write_text("\n".join(CHECKER_FILES) + "\n")
    with pytest.raises(BrokenProofError, match=r"^checker_statements\.v does not compile"):
        compile_proof(copy)


@pytest.mark.slow
@pytest.mark.long
def test_a_weakened_theorem_of_the_program_does_not_fit_its_statement(coq, tmp_path):
    old = "Theorem vertex_integral m n (A : 'M[R]_(m, n)) (b : 'cV[R]_m) : totally"
    copy = _weakened(tmp_path, "vertices.v", old, old.replace("totally", "b = b -> totally"))
    text = (copy / "vertices.v").read_text()
    text = text.replace("case: n A => [|n'] A A_tu b_integer f x;", "case: n A => [|n'] A _ A_tu b_integer f x;")
    text = text.replace("apply: vertex_integral bounded", "apply: vertex_integral (erefl _) bounded")
    (copy / "vertices.v").write_text(text)
    statements = (copy / "statements.v").read_text()
    begin = statements.index("Check vertex_integral")
    imports = "mathcomp Require Import all_ssreflect all_algebra", "IpForest Require Import unimodularity vertices"
    header = "".join(f"From {line}.\n" for line in imports)
    alone = f"{header}Local Open Scope ring_scope.\n{statements[begin : statements.index('Check', begin + 1)]}"
    (copy / "statements.v").write_text(alone)
    needed = ("forest.v", "program.v", "unimodularity.v", "vertices.v", "statements.v")
    (copy / "_CoqProject").write_text("\n".join(needed) + "\n")
    with pytest.raises(BrokenProofError, match=r"^statements\.v does not compile: .* \"vertex_integral\" has type"):
        compile_proof(copy)


def test_every_theorem_is_stated_once_more():
    texts = ((SOURCES / name).read_text() for name in ("statements.v", "checker_statements.v"))
    stated = re.findall(r"^Check (?:\w+\.)?(\w+) :", "\n".join(texts), re.MULTILINE)
    assert set(THEOREMS) - set(stated) == {"bounded_matrix_totally_unimodular"}


def test_without_coq_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CoqMissingError, match="apt-get install coq libcoq-mathcomp-algebra"):
        compile_proof()
