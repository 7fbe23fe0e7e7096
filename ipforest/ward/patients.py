"""Patients with their sessions, and what is told of them: no web here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ipforest.session import Purchase, Session, Unit

RESULT, ABSENT, MISSING_RESULT = "result", "absent", "missing"
"""What came of an order: a value; nothing, as it could not be had; nothing, though it was done and is charged."""

MAX_NAME_LENGTH = 80


class Columns(Protocol):
    """Between what is typed about the columns of a table and what a model compares."""

    def name(self, unit: Unit) -> str:
        """Name the columns that a unit comes from."""

    def fields(self, unit: Unit) -> list[tuple[str, list[str] | None]]:
        """List the columns that a unit comes from, with the words that each knows, None for numbers."""

    def answer(self, unit: Unit, text: str) -> tuple[list[Any], bool]:
        """Read what was typed for a unit: a value for each of its features, and whether it is charged."""

    def known(self, pairs: list[str]) -> dict[int, Any]:
        """Read ``NAME=VALUE`` pairs."""

    def bought(self, line: Purchase) -> str:
        """Name the columns that a line of the ledger brought."""

    def told(self, line: Purchase) -> dict[str, Any]:
        """Give what a line of the ledger brought."""


class Refused(ValueError):
    """What was typed for some units is not taken.

    Parameters
    ----------
    problems : mapping from int to str
        What was expected, by the number of the unit.
    """

    def __init__(self, problems: Mapping[int, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


@dataclass(slots=True)
class Patient:
    """One patient.

    Parameters
    ----------
    number : int
    name : str
    session : Session
    note : str
        What happened last.
    """

    number: int
    name: str
    session: Session
    note: str = ""

    @property
    def orders(self) -> tuple[Unit, ...]:
        """What to order now; empty when the model answers."""
        return self.session.round()


@dataclass(slots=True)
class Ward:
    """Several patients of one model, in memory alone.

    Parameters
    ----------
    buyer : BudgetedEstimator
    columns : Columns
    max_cost : number or text, optional
        What a patient may pay at most.
    max_rounds : int, optional
        How often to wait for delayed results at most.
    """

    buyer: Any
    columns: Columns
    max_cost: Any = None
    max_rounds: int | None = None
    patients: dict[int, Patient] = field(default_factory=dict)
    _admitted: int = 0

    def admit(self, name: str, known: str = "", max_cost: str = "") -> Patient:
        """Begin with a patient.

        Parameters
        ----------
        name : str
        known : str
            ``NAME=VALUE`` lines of what is known already, for free.
        max_cost : str
            What to pay at most; by default what holds for the ward.

        Raises
        ------
        ValueError
            A line that is no such pair, or a limit that is no number.
        """
        pairs = [line.strip() for line in known.splitlines() if line.strip()]
        session = self.buyer.session(self.columns.known(pairs), max_cost.strip() or self.max_cost, self.max_rounds)
        return self._admitted_with(name, session, "The session has begun.")

    def readmit(self, name: str, saved: str) -> Patient:
        """Go on with a session that was saved as a file.

        Raises
        ------
        ValueError
            It is no session, or one of another model.
        """
        return self._admitted_with(name, self.buyer.resume(saved), "The saved session goes on.")

    def _admitted_with(self, name: str, session: Session, note: str) -> Patient:
        self._admitted += 1
        told = " ".join(name.split())[:MAX_NAME_LENGTH] or f"Patient {self._admitted}"
        self.patients[self._admitted] = Patient(self._admitted, told, session, note)
        return self.patients[self._admitted]

    def tell(self, patient: Patient, told: Mapping[int, tuple[str, list[str]]]) -> None:
        """Take results of a patient's orders; all or none.

        Parameters
        ----------
        patient : Patient
        told : mapping from int to (str, list of str)
            By the number of the unit: `RESULT`, `ABSENT` or `MISSING_RESULT`, and the text of each of its columns. Of
            several orders those whose texts are all blank are still out.

        Raises
        ------
        Refused
            A value that the model does not take, or no result at all.
        """
        orders = patient.orders
        read, problems = {}, {}
        for unit in orders:
            state, texts = told.get(unit.index, (RESULT, []))
            if state == RESULT and not any(text.strip() for text in texts):
                continue
            try:
                read[unit] = self.columns.answer(unit, _typed(state, texts))
            except ValueError as problem:
                problems[unit.index] = str(problem)
        if not read and not problems and orders:
            first = orders[0]
            problems[first.index] = (
                f"{self.columns.name(first)}: expected a value, or the choice that it could not be had, got neither"
            )
        if problems:
            raise Refused(problems)
        before = patient.session.to_json()
        for unit, (values, charged) in read.items():
            try:
                patient.session.tell(dict(zip(unit.features, values, strict=True)), charged)
            except ValueError as problem:
                patient.session = self.buyer.resume(before)
                raise Refused({unit.index: str(problem)}) from None
        patient.note = f"Noted: {', '.join(map(self.columns.name, read))}."

    def undo(self, patient: Patient) -> None:
        """Take the last result back; everything before is told again."""
        record = json.loads(patient.session.to_json())
        if not record["bought"]:
            patient.note = "There is nothing to take back."
            return
        record["bought"].pop()
        record["not_charged"] = [place for place in record["not_charged"] if place < len(record["bought"])]
        last = patient.session.ledger[-1]
        patient.session = self.buyer.resume(json.dumps(record))
        patient.note = f"Taken back: {self.columns.bought(last)}."

    def discharge(self, patient: Patient) -> None:
        """Forget a patient."""
        del self.patients[patient.number]


def _typed(state: str, texts: list[str]) -> str:
    """Put a result into the line that the terminal would take."""
    if state == ABSENT:
        return "?"
    if state == MISSING_RESULT:
        return "NA"
    cells = [text.strip() or "?" for text in texts]
    return cells[0] if len(cells) == 1 else shlex.join(cells)
