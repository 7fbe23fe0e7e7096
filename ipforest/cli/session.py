"""The command ``session``: a saved model asks for one feature after another in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest.cli.options import DONE, Arguments, Subparsers, add_command
from ipforest.cli.predict import encoded_columns

if TYPE_CHECKING:
    from ipforest.session import Session, Unit

MISSING = ("", "?")
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
    command.add_argument("--known", nargs="+", default=[], metavar="NAME=VALUE", help="values that are free")
    command.add_argument("--max-cost", metavar="COST", help="what to pay at most")
    command.add_argument("--save", metavar="FILE", help="write the session there at the end, to go on another day")
    command.add_argument("--resume", metavar="FILE", help="go on with a session that --save wrote")


def run(options: Arguments) -> int:
    """Hold the session; its ledger is printed at the end."""
    from sklearn.pipeline import Pipeline

    from ipforest._files import write_text
    from ipforest.cli.fit import MODEL_FILE
    from ipforest.model_files import load_model

    path = Path(options.model)
    model = load_model(path / MODEL_FILE if path.is_dir() else path)
    table = _Table(model)
    buyer = model[-1] if isinstance(model, Pipeline) else model
    if options.resume is not None:
        session = buyer.resume(Path(options.resume).read_text(encoding="utf-8"))
    else:
        session = buyer.session(known=table.known(options.known), max_cost=options.max_cost)
    _hold(session, table, quiet=options.json)
    if options.save is not None:
        write_text(options.save, session.to_json())
    print(session.to_json() if options.json else _summary(session))
    return DONE


class _Table:
    """Between what the user types about the columns of the table and what the model compares."""

    def __init__(self, model: Any) -> None:
        from sklearn.pipeline import Pipeline

        self._transformer: Any = model[:-1] if isinstance(model, Pipeline) else None
        self._encoded = encoded_columns(model)
        self._names = [str(name) for name in getattr(model, "feature_names_in_", [])]
        self._sources = (model[-1] if isinstance(model, Pipeline) else model).costs_.sources

    def name(self, unit: Unit) -> str:
        """Name the column of the table that a unit comes from."""
        columns = {int(self._sources[feature]) for feature in unit.features}
        return self._names[columns.pop()] if len(columns) == 1 and self._names else unit.name

    def values(self, unit: Unit, text: str) -> list[float | None]:
        """Read what was typed for a unit: one value per column of the table, with blanks between."""
        columns = list(dict.fromkeys(int(self._sources[feature]) for feature in unit.features))
        words = text.split() if len(columns) > 1 else [text.strip()]
        if len(words) != len(columns):
            raise ValueError(f"{unit}: expected {len(columns)} values, got {len(words)}")
        typed = dict(zip(columns, words, strict=True))
        if self._transformer is None:
            return [_number(typed[int(self._sources[feature])]) for feature in unit.features]
        row = self._transform(typed)
        return [row[feature] for feature in unit.features]

    def known(self, pairs: list[str]) -> dict[int, float | None]:
        """Read ``NAME=VALUE`` pairs."""
        typed = {}
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals or name not in self._names:
                raise ValueError(f"--known: expected NAME=VALUE with one of {', '.join(self._names)}, got {pair!r}")
            typed[self._names.index(name)] = value
        if self._transformer is None:
            return {column: _number(value) for column, value in typed.items()}
        row = self._transform(typed)
        return {place: row[place] for place, source in enumerate(self._sources.tolist()) if source in typed}

    def _transform(self, typed: dict[int, str]) -> list[float]:
        """Encode a row of which only some columns are known."""
        import pandas as pd

        cells = {name: typed.get(column, "?") for column, name in enumerate(self._names)}
        row = {name: cell if name in self._encoded else _number(cell) for name, cell in cells.items()}
        table = pd.DataFrame([row]).astype({name: float for name in self._names if name not in self._encoded})
        return [float(value) for value in self._transformer.transform(table).to_numpy()[0]]


def _number(text: str) -> float | None:
    return None if text in MISSING else float(text)


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


def _summary(session: Session) -> str:
    """Say what was answered, how surely, and what was paid for what."""
    lines = [f"  {line.price:8.2f}  {line.unit}: {line.reason}" for line in session.ledger]
    verdict = f"{'Answer' if session.next_unit is None else 'So far'}: {session.guess}"
    if session.is_classifier:
        verdict += f" ({max(session.probabilities.values()):.0%})"
    return "\n".join([verdict, f"Paid {session.paid:.2f}:", *lines])
