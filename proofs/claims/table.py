"""The papers' claims, one by one, each verdict computed when asked.

>>> from proofs.claims import table as claims
>>> table = claims.prove()  # doctest: +SKIP
>>> claims.all_passed(table)  # doctest: +SKIP
True
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ipforest.progress import ProgressCallback, silent
from proofs.claims import pruning_claims, tree_claims
from proofs.claims.claim import Question, Ruling


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the table.

    Attributes
    ----------
    claim : str
        What is claimed.
    where : str
        By whom, where.
    verdict : Ruling
        What this run found.
    expected : Ruling
        What the project states; a run that finds something else has failed.
    evidence : str
        What was computed, in one line.
    runtime_s : float
    """

    claim: str
    where: str
    verdict: Ruling
    expected: Ruling
    evidence: str
    runtime_s: float

    @property
    def passed(self) -> bool:
        """Whether the verdict is the stated one; a check that could not be run has not failed."""
        return self.verdict in (self.expected, Ruling.NOT_RUN)

    def __str__(self) -> str:
        return f"[{self.verdict}] {self.claim} ({self.where}): {self.evidence}"


def questions() -> list[Question]:
    """List every claim that `prove` examines."""
    return [*pruning_claims.QUESTIONS, *tree_claims.QUESTIONS]


def prove(seed: int = 0, progress: ProgressCallback = silent, asked: Sequence[Question] | None = None) -> list[Claim]:
    """Examine the claims.

    Parameters
    ----------
    seed : int
        Of the random instances; each claim gets its own stream, so that none depends on which others are asked.
    progress : callable
        Told the share done and the claim being examined.
    asked : sequence of Question, optional
        Which ones; all of `questions` by default. The machine-checked proof takes as long as the others together.

    Returns
    -------
    list of Claim
    """
    table = []
    listed = questions() if asked is None else asked
    for place, question in enumerate(listed):
        progress(place / len(listed), question.claim)
        started = perf_counter()
        stream = [seed, *question.claim.encode()]
        verdict, evidence = question.examine(np.random.default_rng(stream))
        runtime = perf_counter() - started
        table.append(Claim(question.claim, question.where, verdict, question.expected, evidence, runtime))
    progress(1.0, "done")
    return table


def all_passed(table: Sequence[Claim]) -> bool:
    """Say whether every verdict is the stated one."""
    return all(claim.passed for claim in table)


def to_json(table: Sequence[Claim]) -> str:
    """Give the table as a JSON list of objects."""
    rows: list[dict[str, Any]] = [{**asdict(claim), "passed": claim.passed} for claim in table]
    return json.dumps(rows, indent=1)


def from_json(text: str) -> list[Claim]:
    """Read what `to_json` gave."""
    return [
        Claim(
            row["claim"],
            row["where"],
            Ruling(row["verdict"]),
            Ruling(row["expected"]),
            row["evidence"],
            row["runtime_s"],
        )
        for row in json.loads(text)
    ]


def to_markdown(table: Sequence[Claim]) -> str:
    """Give the table as Markdown."""
    lines = ["| claim | where | verdict | evidence |", "| --- | --- | --- | --- |"]
    for claim in table:
        cells = (claim.claim, claim.where, _shown_verdict(claim), claim.evidence)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def to_rich(table: Sequence[Claim]) -> Any:
    """Give the table as a `rich.table.Table` for a terminal."""
    from rich.markup import escape
    from rich.table import Table

    shown = Table(title="The papers' claims, examined", show_lines=True)
    shown.add_column("claim", ratio=4)
    shown.add_column("where", ratio=3)
    shown.add_column("verdict", ratio=2)
    shown.add_column("evidence", ratio=6)
    styles = {Ruling.TRUE: "green", Ruling.REPAIRED: "green", Ruling.FALSE: "yellow", Ruling.NOT_RUN: "dim"}
    styles[Ruling.INCONSISTENT] = "bold red"
    for claim in table:
        style = styles[claim.verdict] if claim.passed else "bold red"
        shown.add_row(
            escape(claim.claim), escape(claim.where), f"[{style}]{_shown_verdict(claim)}[/]", escape(claim.evidence)
        )
    return shown


def _shown_verdict(claim: Claim) -> str:
    return str(claim.verdict) if claim.passed else f"FAILED: {claim.verdict}, expected {claim.expected}"
