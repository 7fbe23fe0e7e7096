"""The table of claims: every verdict is the stated one, and a wrong one would be noticed."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from proofs.claims import pruning_claims, table, tree_claims
from proofs.claims.claim import Claim, Finding, Ruling

LISTED = table.all_claims()
EXAMINATION = "tuple[Ruling, str]"


def named(claim):
    """Name the test; the machine-checked proof compiles for half a minute, and has its own tests."""
    name = claim.examine.__name__
    marks = [pytest.mark.slow] if name == "the_theorem_is_machine_checked" else []
    return pytest.param(claim, id=name, marks=marks)


@pytest.mark.parametrize("claim", [named(claim) for claim in LISTED])
def test_each_claim_gets_the_expected_verdict(claim):
    verdict, evidence = claim.examine(np.random.default_rng(71))
    assert verdict in (claim.expected, Ruling.NOT_RUN), evidence
    assert len(evidence) > 20
    assert "\n" not in evidence


@pytest.mark.parametrize("module", [pruning_claims, tree_claims])
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
        Claim("a", "here", Ruling.TRUE, fixed(Ruling.TRUE)),
        Claim("b", "there", Ruling.FALSE, fixed(Ruling.FALSE)),
        Claim("c", "nowhere", Ruling.TRUE, fixed(Ruling.NOT_RUN)),
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
    short_table.append(Claim("d", "here", Ruling.FALSE, fixed(Ruling.TRUE)))
    short_table.append(Claim("e", "here", Ruling.FALSE, fixed(Ruling.INCONSISTENT)))
    findings = table.prove()
    assert [claim.passed for claim in findings] == [True, True, True, False, False]
    assert not table.all_passed(findings)
    assert "FAILED: true, expected false as printed" in table.to_markdown(findings)


def test_the_table_survives_json_and_prints(short_table):
    findings = table.prove()
    assert table.from_json(table.to_json(findings)) == findings
    markdown = table.to_markdown(findings)
    assert markdown.count("\n") == 2 + len(findings)
    assert r"\| found" in markdown
    console = Console(width=200, record=True, file=StringIO())
    console.print(table.to_rich(findings))
    assert "found [nothing]" in console.export_text()


def test_a_finding_reads_as_one_line():
    finding = Finding("x is y", "a paper", Ruling.TRUE, Ruling.TRUE, "computed", 0.1)
    assert str(finding) == "[true] x is y (a paper): computed"
    assert not replace(finding, verdict=Ruling.FALSE).passed
