"""The table of claims: every verdict is the stated one, and a wrong one would be noticed."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from proofs.claims import pruning_claims, tree_claims
from proofs.claims import table as claims
from proofs.claims.table import Claim, Question, Ruling

LISTED = claims.questions()
EXAMINATION = "tuple[Ruling, str]"


def named(question):
    """Name the test; the machine-checked proof compiles for half a minute, and has its own tests."""
    name = question.examine.__name__
    marks = [pytest.mark.slow] if name == "the_theorem_is_machine_checked" else []
    return pytest.param(question, id=name, marks=marks)


@pytest.mark.parametrize("question", [named(question) for question in LISTED])
def test_each_claim_gets_the_stated_verdict(question):
    verdict, evidence = question.examine(np.random.default_rng(71))
    assert verdict in (question.expected, Ruling.NOT_RUN), evidence
    assert len(evidence) > 20
    assert "\n" not in evidence


@pytest.mark.parametrize("module", [pruning_claims, tree_claims])
def test_every_examination_is_asked(module):
    examinations = {
        name for name, item in vars(module).items() if getattr(item, "__annotations__", {}).get("return") == EXAMINATION
    }
    assert examinations
    assert examinations == {question.examine.__name__ for question in module.QUESTIONS}


def test_claims_are_distinct():
    assert len({question.claim for question in LISTED}) == len(LISTED) > 20


def fixed(verdict):
    return lambda rng: (verdict, f"drew {rng.integers(10)} | found [nothing]")


@pytest.fixture
def short_table(monkeypatch):
    listed = [
        Question("a", "here", Ruling.TRUE, fixed(Ruling.TRUE)),
        Question("b", "there", Ruling.FALSE, fixed(Ruling.FALSE)),
        Question("c", "nowhere", Ruling.TRUE, fixed(Ruling.NOT_RUN)),
    ]
    monkeypatch.setattr(claims, "questions", lambda: listed)
    return listed


def test_prove_reports_progress_and_passes(short_table):
    told = []
    table = claims.prove(5, lambda share, message: told.append((share, message)))
    assert [share for share, _ in told] == [0, 1 / 3, 2 / 3, 1]
    assert claims.all_passed(table)
    assert [claim.evidence for claim in table] == [claim.evidence for claim in claims.prove(5)]


def test_an_unexpected_verdict_fails(short_table):
    short_table.append(Question("d", "here", Ruling.FALSE, fixed(Ruling.TRUE)))
    short_table.append(Question("e", "here", Ruling.FALSE, fixed(Ruling.INCONSISTENT)))
    table = claims.prove()
    assert [claim.passed for claim in table] == [True, True, True, False, False]
    assert not claims.all_passed(table)
    assert "FAILED: true, expected false as printed" in claims.to_markdown(table)


def test_the_table_survives_json_and_prints(short_table):
    table = claims.prove()
    assert claims.from_json(claims.to_json(table)) == table
    markdown = claims.to_markdown(table)
    assert markdown.count("\n") == 2 + len(table)
    assert r"\| found" in markdown
    console = Console(width=200, record=True, file=StringIO())
    console.print(claims.to_rich(table))
    assert "found [nothing]" in console.export_text()


def test_a_claim_reads_as_one_line():
    claim = Claim("x is y", "a paper", Ruling.TRUE, Ruling.TRUE, "computed", 0.1)
    assert str(claim) == "[true] x is y (a paper): computed"
    assert not replace(claim, verdict=Ruling.FALSE).passed
