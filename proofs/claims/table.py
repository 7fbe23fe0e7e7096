"""The papers' claims, one by one, each verdict computed when asked.

>>> from proofs.claims import table
>>> findings = table.prove()  # doctest: +SKIP
>>> table.all_passed(findings)  # doctest: +SKIP
True
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any

import numpy as np

from ipforest._internal.json_text import read_json
from ipforest._internal.progress import ProgressCallback, silent
from ipforest._internal.records import records_to_markdown
from proofs.claims import method_claims, pruning_claims, tree_claims
from proofs.claims.claim import Claim, Finding, Ruling


def all_claims() -> list[Claim]:
    """List every claim that `prove` examines."""
    return [*pruning_claims.CLAIMS, *method_claims.CLAIMS, *tree_claims.CLAIMS]


def prove(seed: int = 0, progress: ProgressCallback = silent, claims: Sequence[Claim] | None = None) -> list[Finding]:
    """Examine the claims.

    Parameters
    ----------
    seed : int
        Of the random instances; each claim gets its own stream, so that none depends on which others are examined.
    progress : callable
        Told the share done and the claim being examined.
    claims : sequence of Claim, optional
        All of `all_claims` by default. The machine-checked proof takes as long as the others together.

    Returns
    -------
    list of Finding
    """
    findings = []
    examined = all_claims() if claims is None else claims
    for place, claim in enumerate(examined):
        progress(place / len(examined), claim.text)
        started = perf_counter()
        verdict, evidence = claim.examine(np.random.default_rng([seed, *claim.text.encode()]))
        runtime = perf_counter() - started
        findings.append(Finding(claim.text, claim.where, verdict, claim.expected, claim.kind, evidence, runtime))
    progress(1.0, "done")
    return findings


def all_passed(findings: Sequence[Finding]) -> bool:
    """Return whether every verdict is the expected one."""
    return all(finding.passed for finding in findings)


def to_json(findings: Sequence[Finding]) -> str:
    """Write the table as a JSON list of objects."""
    rows: list[dict[str, Any]] = [{**asdict(finding), "passed": finding.passed} for finding in findings]
    return json.dumps(rows, indent=1)


def from_json(text: str) -> list[Finding]:
    """Read what `to_json` wrote."""
    return [
        Finding(
            row["claim"],
            row["where"],
            Ruling(row["verdict"]),
            Ruling(row["expected"]),
            row["kind"],
            row["evidence"],
            row["runtime_s"],
        )
        for row in read_json(text)
    ]


def to_markdown(findings: Sequence[Finding]) -> str:
    """Write the table as Markdown."""
    rows = [
        {
            "claim": finding.claim,
            "where": finding.where,
            "verdict": _shown_verdict(finding),
            "kind": finding.kind,
            "evidence": finding.evidence,
        }
        for finding in findings
    ]
    return records_to_markdown(rows) + "\n"


def to_rich(findings: Sequence[Finding]) -> Any:
    """Lay the table out as a `rich.table.Table` for a terminal."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(title="The papers' claims, examined", show_lines=True)
    for heading, ratio in (("claim", 4), ("where", 3), ("verdict", 2), ("kind", 2), ("evidence", 6)):
        shown.add_column(heading, ratio=ratio)
    styles = {Ruling.TRUE: "green", Ruling.REPAIRED: "green", Ruling.FALSE: "yellow", Ruling.NOT_RUN: "dim"}
    for finding in findings:
        style = styles[finding.verdict] if finding.passed else "bold red"
        cells = (finding.claim, finding.where, finding.kind, finding.evidence)
        claim, where, kind, evidence = map(Text, cells)
        shown.add_row(claim, where, Text(_shown_verdict(finding), style), kind, evidence)
    return shown


def _shown_verdict(finding: Finding) -> str:
    return str(finding.verdict) if finding.passed else f"FAILED: {finding.verdict}, expected {finding.expected}"
