"""The table of claims: every verdict is the stated one, and a wrong one would be noticed."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from proofs.claims import method_claims, pruning_claims, table, tree_claims
from proofs.claims.claim import CERTIFICATE, COUNTEREXAMPLE, EXHAUSTIVE, PROVED, Claim, Finding, Ruling, sample_of

LISTED = table.all_claims()
EXAMINATION = "tuple[Ruling, str]"


def named(claim):
    """Name the test; the machine-checked proof compiles for half a minute, and has its own tests."""
    name = claim.examine.__name__
    marks = [pytest.mark.long] if name == "the_theorem_is_machine_checked" else []
    return pytest.param(claim, id=name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("claim", [named(claim) for claim in LISTED])
def test_each_claim_gets_the_expected_verdict(claim):
    verdict, evidence = claim.examine(np.random.default_rng(71))
    assert verdict in (claim.expected, Ruling.NOT_RUN), evidence
    assert len(evidence) > 20
    assert "\n" not in evidence


@pytest.mark.parametrize("module", [pruning_claims, method_claims, tree_claims])
def test_every_examination_is_listed(module):
    examinations = {
        name for name, item in vars(module).items() if getattr(item, "__annotations__", {}).get("return") == EXAMINATION
    }
    assert examinations
    assert examinations == {claim.examine.__name__ for claim in module.CLAIMS}


def test_claims_are_distinct():
    assert len({claim.text for claim in LISTED}) == len(LISTED) > 20


def fixed(verdict):
    return lambda rng: (verdict, f"drew {rng.integers(10)} | found [nothing]")


@pytest.fixture
def short_table(monkeypatch):
    listed = [
        Claim("a", "here", Ruling.TRUE, fixed(Ruling.TRUE), EXHAUSTIVE),
        Claim("b", "there", Ruling.FALSE, fixed(Ruling.FALSE), COUNTEREXAMPLE),
        Claim("c", "nowhere", Ruling.TRUE, fixed(Ruling.TRUE), sample_of(7)),
    ]
    monkeypatch.setattr(table, "all_claims", lambda: listed)
    return listed


def test_prove_reports_progress_and_passes(short_table):
    told = []
    findings = table.prove(5, lambda share, message: told.append((share, message)))
    assert [share for share, _ in told] == [0, 1 / 3, 2 / 3, 1]
    assert table.all_passed(findings)
    assert [claim.evidence for claim in findings] == [claim.evidence for claim in table.prove(5)]


def test_an_unexpected_verdict_fails(short_table):
    short_table.append(Claim("d", "here", Ruling.FALSE, fixed(Ruling.TRUE), CERTIFICATE))
    short_table.append(Claim("e", "here", Ruling.FALSE, fixed(Ruling.INCONSISTENT), CERTIFICATE))
    findings = table.prove()
    assert [claim.passed for claim in findings] == [True, True, True, False, False]
    assert not table.all_passed(findings)
    assert "FAILED: true, expected false as printed" in table.to_markdown(findings)


def test_what_was_not_run_has_not_passed(short_table):
    short_table.append(Claim("f", "here", Ruling.TRUE, fixed(Ruling.NOT_RUN), PROVED))
    findings = table.prove()
    assert not findings[-1].passed
    assert not table.all_passed(findings)
    assert "FAILED: not run, expected true" in table.to_markdown(findings)


def test_every_claim_names_its_kind_of_evidence():
    kinds = {claim.kind for claim in LISTED}
    assert kinds >= {PROVED, EXHAUSTIVE, CERTIFICATE, COUNTEREXAMPLE}
    assert all(kind.startswith("sample of ") for kind in kinds - {PROVED, EXHAUSTIVE, CERTIFICATE, COUNTEREXAMPLE})


def test_the_table_survives_json_and_prints(short_table):
    findings = table.prove()
    assert table.from_json(table.to_json(findings)) == findings
    markdown = table.to_markdown(findings)
    assert markdown.count("\n") == 2 + len(findings)
    assert r"\| found" in markdown
    assert "sample of 7" in markdown
    console = Console(width=200, record=True, file=StringIO())
    console.print(table.to_rich(findings))
    printed = console.export_text()
    assert "found [nothing]" in printed
    assert "sample of 7" in printed


def test_a_finding_reads_as_one_line():
    finding = Finding("x is y", "a paper", Ruling.TRUE, Ruling.TRUE, PROVED, "computed", 0.1)
    assert str(finding) == "[true; proved] x is y (a paper): computed"
    assert not replace(finding, verdict=Ruling.FALSE).passed


def test_a_table_that_is_nested_deep_is_refused() -> None:
    with pytest.raises(ValueError, match="expected JSON of at most 100 nested objects and arrays"):
        table.from_json("[" * 100_000 + "]" * 100_000)
