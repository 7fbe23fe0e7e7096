"""Patients with their sessions, and what is told of them: no web here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ipforest.estimator.mixed_model import MixedModel
from ipforest.session import Unit
from ipforest.wrappers.typed_cells import TypedCells

RESULT, ABSENT, MISSING_RESULT = "result", "absent", "missing"
"""What came of an order: a value; nothing, as it could not be had; nothing, though it was done and is charged."""

MAX_NAME_LENGTH = 80

Told: TypeAlias = Mapping[int, tuple[str, list[str]]]
"""By the number of the unit: `RESULT`, `ABSENT` or `MISSING_RESULT`, and the text of each of its columns."""


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
    model : BudgetedEstimator or BudgetedPipeline
        What asks; of a mixture, what the patient's key drew.
    session : Session or TableSession
    note : str
        What happened last.
    refused : tuple (problems, told)
        What is wrong with the form that was sent last, and what was typed there, each by the number of the unit.
    """

    number: int
    name: str
    model: Any
    session: Any
    note: str = ""
    refused: tuple[dict[int, str], Told] = field(default_factory=lambda: ({}, {}))

    @property
    def orders(self) -> tuple[Unit, ...]:
        """What to order now; empty when the model answers."""
        return tuple(self.session.round())


@dataclass(slots=True)
class Ward:
    """Several patients of one model, in memory alone.

    Parameters
    ----------
    model : BudgetedEstimator, BudgetedPipeline or MixedModel
    columns : TypedCells
    max_cost : number or text, optional
        What a patient may pay at most.
    max_rounds : int, optional
        How often to wait for delayed results at most.
    """

    model: Any
    columns: TypedCells
    max_cost: Any = None
    max_rounds: int | None = None
    patients: dict[int, Patient] = field(default_factory=dict)
    _admitted: int = 0

    @property
    def takes_keys(self) -> bool:
        """Whether a patient needs a key, by which a mixture draws one of two models."""
        return isinstance(self.model, MixedModel)

    def _drawn(self, key: str) -> Any:
        if not self.takes_keys:
            return self.model
        if not key.strip():
            raise ValueError("key: expected what tells the patient apart, which draws one of two models, got none")
        return self.model.drawn(key.strip())

    def admit(self, name: str, known: str = "", max_cost: str = "", key: str = "") -> Patient:
        """Begin with a patient.

        Parameters
        ----------
        name : str
        known : str
            ``NAME=VALUE`` lines of what is known already, for free.
        max_cost : str
            What to pay at most; by default what holds for the ward.
        key : str
            See `takes_keys`.

        Raises
        ------
        ValueError
            A line that is no such pair, a limit that is no number, or no key where one is needed.
        """
        model = self._drawn(key)
        pairs = [line.strip() for line in known.splitlines() if line.strip()]
        session = model.session(self.columns.known(pairs), max_cost.strip() or self.max_cost, self.max_rounds)
        return self._admitted_with(name, model, session, "The session has begun.")

    def readmit(self, name: str, saved: str, key: str = "") -> Patient:
        """Go on with a session that was saved as a file.

        Raises
        ------
        ValueError
            It is no session, or one of another model, or there is no key where one is needed.
        """
        model = self._drawn(key)
        return self._admitted_with(name, model, model.resume(saved), "The saved session goes on.")

    def _admitted_with(self, name: str, model: Any, session: Any, note: str) -> Patient:
        self._admitted += 1
        told = " ".join(name.split())[:MAX_NAME_LENGTH] or f"Patient {self._admitted}"
        self.patients[self._admitted] = Patient(self._admitted, told, model, session, note)
        return self.patients[self._admitted]

    def tell(self, patient: Patient, told: Told) -> None:
        """Take results of a patient's orders, of which there are some; all or none.

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
                is_nothing, charged = state in (ABSENT, MISSING_RESULT), state == MISSING_RESULT
                answer = self.columns.nothing(unit, charged=charged) if is_nothing else self.columns.answer(unit, texts)
                read[unit] = answer
            except ValueError as problem:
                problems[unit.index] = str(problem)
        if not read and not problems:
            first = orders[0]
            problems[first.index] = (
                f"{self.columns.name(first)}: expected a value, or the choice that it could not be had, got neither"
            )
        if problems:
            raise Refused(problems)
        before = patient.session.to_json()
        for unit, (cells, charged) in read.items():
            try:
                patient.session.tell(cells, charged)
            except ValueError as problem:
                patient.session = patient.model.resume(before)
                raise Refused({unit.index: str(problem)}) from None
        patient.note = f"Noted: {', '.join(map(self.columns.name, read))}."

    def undo(self, patient: Patient) -> None:
        """Take the last result back; everything before is told again."""
        record = json.loads(patient.session.to_json())
        if not record["bought"]:
            patient.note = "There is nothing to take back."
            return
        record["bought"].pop()
        last = patient.session.ledger[-1]
        patient.session = patient.model.resume(json.dumps(record))
        patient.note = f"Taken back: {last.brought}."

    def discharge(self, patient: Patient) -> None:
        """Forget a patient."""
        del self.patients[patient.number]
