"""The command ``session``: a saved model asks for one feature after another in the terminal."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest.cli.options import DONE, Arguments, Subparsers, add_command, add_pickle_option
from ipforest.cli.saved_models import known_words, read_model, some_of, using
from ipforest.tables import MISSING

if TYPE_CHECKING:
    from ipforest.session import Purchase, Session, Unit

LEAVE = "quit"


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands,
        "session",
        run,
        "Ask for the features of one example, one after another, until the model answers; say what each costs and why. "
        f"An empty line, or ?, is a value that cannot be had; {LEAVE} ends the session, which --save keeps.",
    )
    command.add_argument("--model", required=True, metavar="DIR", help="folder of `ipforest fit`, or a model file")
    add_pickle_option(command)
    command.add_argument(
        "--known", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="values that are free"
    )
    command.add_argument("--max-cost", metavar="COST", help="the most to pay in all")
    command.add_argument("--save", metavar="FILE", help="write the session there at the end, to go on another day")
    command.add_argument("--resume", metavar="FILE", help="go on with a session that --save wrote")


def run(options: Arguments) -> int:
    """Hold the session; its ledger is printed at the end."""
    from ipforest._files import write_text

    if options.resume is not None and (options.known or options.max_cost is not None):
        raise ValueError("--resume: expected no --known and no --max-cost beside it: the session has its own")
    if options.save is not None and not Path(options.save).absolute().parent.is_dir():
        raise ValueError(f"--save: expected a file in a folder that exists, got {options.save}")
    model, buyer = read_model(options.model, allow_pickle=options.allow_pickle)
    with using(options.model):
        table = _Table(model, buyer)
        if options.resume is not None:
            session = buyer.resume(Path(options.resume).read_text(encoding="utf-8"))
        else:
            session = buyer.session(known=table.known(options.known), max_cost=options.max_cost)
        try:
            _hold(session, table, quiet=options.json)
        finally:
            if options.save is not None:
                write_text(options.save, session.to_json())
        told = json.dumps(_record(session), indent=2) if options.json else _summary(session, table)
    print(told)
    return DONE


class _Table:
    """Between what the user types about the columns of the table and what the model compares."""

    def __init__(self, model: Any, buyer: Any) -> None:
        self._transformer: Any = None if model is buyer else model[:-1]
        self._words = known_words(model)
        self._names = [str(name) for name in getattr(model, "feature_names_in_", [])]
        self._features = [str(name) for name in getattr(buyer, "feature_names_in_", [])]
        self._sources = buyer.costs_.sources

    def _columns(self, unit: Unit) -> list[int]:
        """List the columns of the table that a unit comes from, in the table's order."""
        return sorted({int(self._sources[feature]) for feature in unit.features})

    def name(self, unit: Unit) -> str:
        """Name the columns of the table that a unit comes from."""
        return ", ".join(self._names[column] for column in self._columns(unit)) if self._names else unit.name

    def bought(self, line: Purchase) -> str:
        """Name the columns of the table that a line of the ledger brought."""
        if not self._names:
            return line.unit
        columns = {int(self._sources[self._features.index(feature)]) for feature, _ in line.values}
        return ", ".join(self._names[column] for column in sorted(columns))

    def values(self, unit: Unit, text: str) -> list[Any]:
        """Read what was typed for a unit: one value per column of the table, with blanks between; perhaps quoted."""
        columns = self._columns(unit)
        cells = [text] if len(columns) == 1 else shlex.split(text)
        if text in MISSING:
            cells = [""] * len(columns)
        if len(cells) != len(columns):
            raise ValueError(f"{self.name(unit)}: expected {len(columns)} values, got {len(cells)}")
        typed = {column: self._cell(column, cell) for column, cell in zip(columns, cells, strict=True)}
        if self._transformer is None:
            return [typed[int(self._sources[feature])] for feature in unit.features]
        row = self._transform(typed)
        return [row[feature] for feature in unit.features]

    def known(self, pairs: list[str]) -> dict[int, Any]:
        """Read ``NAME=VALUE`` pairs."""
        typed = {}
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals or name not in self._names:
                raise ValueError(f"--known: expected NAME=VALUE with one of {', '.join(self._names)}, got {pair!r}")
            typed[self._names.index(name)] = self._cell(self._names.index(name), value)
        if self._transformer is None:
            return typed
        row = self._transform(typed)
        return {place: row[place] for place, source in enumerate(self._sources.tolist()) if source in typed}

    def _cell(self, column: int, text: str) -> Any:
        """Read a cell: a number or a known word; None where it is missing."""
        if text in MISSING:
            return None
        words = self._words.get(self._names[column]) if self._names else None
        if words is None:
            return float(text)
        if text not in words:
            raise ValueError(f"{self._names[column]}: expected one of {some_of(words)}, or ? for none, got {text!r}")
        return words[text]

    def _transform(self, typed: dict[int, Any]) -> list[float]:
        """Encode a row of which only some columns are known."""
        import pandas as pd

        row = {name: typed.get(column) for column, name in enumerate(self._names)}
        cells = {name: row[name] or "" if name in self._words else row[name] for name in self._names}
        table = pd.DataFrame([cells]).astype({name: float for name in self._names if name not in self._words})
        return [float(value) for value in self._transformer.transform(table).to_numpy()[0]]


def _hold(session: Session, table: _Table, *, quiet: bool) -> None:
    """Ask until the model answers or the user leaves."""
    while (unit := session.next_unit) is not None:
        if not quiet:
            print(f"{table.name(unit)} costs {session.price:.2f}: {session.reason}")
        print(f"{table.name(unit)} = ", end="", file=sys.stderr if quiet else sys.stdout, flush=True)
        line = sys.stdin.readline()
        if not line or line.strip() == LEAVE:
            return
        try:
            session.tell(table.values(unit, line.strip()))
        except ValueError as problem:
            print(f"ipforest: {problem}", file=sys.stderr)


def _record(session: Session) -> dict[str, Any]:
    """Return what was told and bought, what it costs, and the answer, None while something is wanted."""
    import numpy as np

    guess = np.asarray(session.guess).item()
    answers = {"guess": guess, "answer": guess if session.next_unit is None else None}
    chances = {"probabilities": session.probabilities} if session.is_classifier else {}
    told: dict[str, Any] = json.loads(session.to_json())
    return {**told, **answers, **chances, "paid": session.paid}


def _summary(session: Session, table: _Table) -> str:
    """Say what was answered, how surely, and what was paid for what."""
    lines = [f"  {line.price:8.2f}  {table.bought(line)}: {line.reason}" for line in session.ledger]
    verdict = f"{'Answer' if session.next_unit is None else 'So far'}: {session.guess}"
    if session.is_classifier:
        verdict += f" ({max(session.probabilities.values()):.0%})"
    return "\n".join([verdict, f"Paid {session.paid:.2f}:", *lines])
