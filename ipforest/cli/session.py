"""The command ``session``: a saved model asks for one feature after another in the terminal."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ipforest._internal.words import number_of, some_of
from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Subparsers, add_command, add_list, nonnegative_integer
from ipforest.cli.saved_models import add_mixture_option, add_model_options, known_words, mixed, read_model, using
from ipforest.tabular.name_matching import matched_labels, matched_names
from ipforest.tabular.tables import MISSING

if TYPE_CHECKING:
    from ipforest.costs import FeatureCosts
    from ipforest.session import Purchase, Session, Unit

LEAVE = "quit"

NOT_HAD = ("", "?")
"""What is typed for a value that could not be had; the other `MISSING` are for one that was paid for but is missing."""


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(
        commands,
        "session",
        run,
        "Ask for the features of one example, one after another, until the model answers; say what each costs and why. "
        "An empty line, or ?, is a value that could not be had, and is not paid; NA is one that was paid for but is "
        f"missing; {LEAVE} ends the session, which --save keeps. With --max-cost, what would pass it counts as a value "
        "that cannot be had, and the others are still asked for. Where values are delayed, all that may be wanted "
        "before more is known is listed, to be ordered at once; --max-rounds says how often to wait.",
    )
    add_model_options(command)
    add_list(command, "--known", "NAME=VALUE", "values that are free", [])
    command.add_argument("--max-cost", metavar="COST", help="the most to pay in all")
    command.add_argument("--max-rounds", type=int, metavar="N", help="how often to wait for delayed values at most")
    add_mixture_option(command, "which is that of --key")
    command.add_argument("--key", metavar="KEY", help="what tells the example apart, as the column of --id in predict")
    command.add_argument("--save", metavar="FILE", help="write the session there at the end, to go on another day")
    command.add_argument("--resume", metavar="FILE", help="go on with a session that --save wrote")
    page = command.add_argument_group("a page in place of the terminal")
    page.add_argument(
        "--serve", action="store_true", help="serve a page for several patients, to this machine alone, until Ctrl+C"
    )
    page.add_argument(
        "--port", type=nonnegative_integer, metavar="N", help="where to serve it (default: any port that is free)"
    )


def run(options: Arguments) -> int:
    """Hold the session; its ledger is printed at the end."""
    from ipforest._internal.files import write_text

    caps = {"max_cost": options.max_cost, "max_rounds": options.max_rounds}
    if options.resume is not None and (options.known or any(cap is not None for cap in caps.values())):
        raise ValueError(
            "--resume: expected no --known and no --max-cost with it, nor --max-rounds: the session has its own"
        )
    if options.save is not None and not Path(options.save).absolute().parent.is_dir():
        raise ValueError(f"--save: expected a file in a folder that exists, got {options.save}")
    if (options.mixture is None) != (options.key is None):
        raise ValueError("--mixture: expected it with --key, and --key with it, got one of them")
    _check_page(options)
    model, buyer, _ = read_model(options)
    with using(options.model):
        table = SessionTable(model, buyer)
        if options.mixture is not None:
            buyer = mixed(options, buyer).drawn(options.key)
        if options.serve:
            return _serve(options, buyer, table)
        if options.resume is not None:
            session = _resumed(buyer, Path(options.resume))
        else:
            session = buyer.session(known=table.known(options.known), **caps)
        try:
            _hold(session, table, quiet=options.json)
        finally:
            if options.save is not None:
                write_text(options.save, session.to_json())
        told = json.dumps(_record(session, table), indent=2) if options.json else _summary(session, table)
    print(told)
    return DONE


def _resumed(buyer: Any, file: Path) -> Any:
    """Go on with a saved session; what it cannot be is said of its file."""
    try:
        return buyer.resume(file.read_text(encoding="utf-8-sig"))
    except ValueError as problem:
        raise ValueError(f"{file}: {str(problem).removeprefix('saved: ')}") from None


def _check_page(options: Arguments) -> None:
    """Refuse options of the terminal for the page, which asks for what they say, and the other way round."""
    if options.port is not None and not options.serve:
        raise ValueError("--port: expected it with --serve only, got it without")
    for name in ("resume", "save", "known", "json"):
        if options.serve and getattr(options, name):
            raise ValueError(f"--{name}: expected none with --serve, got a value; the page has it")
    if options.serve and options.mixture is not None:
        raise ValueError("--mixture: expected none with --serve, got a value; a page asks what one choice asks")


def _serve(options: Arguments, buyer: Any, table: SessionTable) -> int:
    """Serve the page until the program is interrupted."""
    from ipforest.ward.page import serve
    from ipforest.ward.patients import Ward

    def announce(address: str) -> None:
        print(
            f"The page is at {address}\nOnly this machine can open it, and only at this address. Ctrl+C ends it.",
            flush=True,
        )

    ward = Ward(buyer, table, options.max_cost, options.max_rounds)
    buyer.session(None, ward.max_cost, ward.max_rounds)  # refuses bad limits, and compiles what is slow the first time
    serve(ward, options.port or 0, announce)
    return DONE


class SessionTable:
    """Between what the user types about the columns of the table and what the model compares."""

    def __init__(self, model: Any, buyer: Any) -> None:
        self._transformer: Any = None if model is buyer else model[:-1]
        self._words = known_words(model)
        self._names = [str(name) for name in getattr(model, "feature_names_in_", [])]
        self._features = [str(name) for name in getattr(buyer, "feature_names_in_", [])]
        self._costs: FeatureCosts = buyer.costs_

    def _columns(self, unit: Unit) -> list[int]:
        """List the columns of the table that a unit comes from, in the table's order."""
        return self._costs.sources_of(unit.features)

    def name(self, unit: Unit) -> str:
        """Name the columns of the table that a unit comes from."""
        return ", ".join(self._names[column] for column in self._columns(unit)) if self._names else unit.name

    def bought(self, line: Purchase) -> str:
        """Name the columns of the table that a line of the ledger brought."""
        if not self._names:
            return line.unit
        columns = self._costs.sources_of(self._features.index(feature) for feature, _ in line.values)
        return ", ".join(self._names[column] for column in columns)

    def told(self, line: Purchase) -> dict[str, Any]:
        """Give what a line of the ledger brought by column of the table, words as words; None is no value."""
        if self._transformer is None:
            return dict(line.values)
        brought: dict[str, list[float | None]] = {}
        for feature, value in line.values:
            brought.setdefault(self._names[self._costs.sources[self._features.index(feature)]], []).append(value)
        return {name: self._cell_of(name, values) for name, values in brought.items()}

    def _cell_of(self, name: str, values: list[float | None]) -> Any:
        """Turn what encodes a cell into the cell: one-hot columns into their word."""
        if name not in self._words:
            return values[0]
        return next((word for word, value in zip(self._words[name], values, strict=True) if value), "") or None

    def words(self, unit: Unit) -> list[str]:
        """List the words of each column of words that a unit comes from, for the user to choose from."""
        names = [self._names[column] for column in self._columns(unit)] if self._names else []
        of_several = len(names) > 1
        return [
            f"{f'{name}: ' if of_several else ''}one of {some_of(self._words[name])}"
            for name in names
            if name in self._words
        ]

    def fields(self, unit: Unit) -> list[tuple[str, list[str] | None]]:
        """List the columns of the table that a unit comes from, with the words that each knows; None for numbers."""
        columns = self._columns(unit)
        alone = [unit.name] if len(columns) == 1 else [f"column {column}" for column in columns]
        names = [self._names[column] for column in columns] if self._names else alone
        return [(name, [*filter(None, self._words[name])] if name in self._words else None) for name in names]

    def answer(self, unit: Unit, text: str) -> tuple[list[Any], bool]:
        """Read what was typed for a unit: one value per column of the table, with blanks between; perhaps quoted.

        Returns
        -------
        values : list
            One per feature of the unit; None for what could not be had.
        charged : bool
            False where nothing of it could be had.
        """
        columns = self._columns(unit)
        cells = [text] if len(columns) == 1 else shlex.split(text)
        if text in MISSING:
            cells = [text] * len(columns)
        if len(cells) != len(columns):
            raise ValueError(f"{self.name(unit)}: expected {len(columns)} values, got {len(cells)}")
        typed = {column: self._cell(column, cell) for column, cell in zip(columns, cells, strict=True)}
        told = self._told(typed)
        return [told[feature] for feature in unit.features], not set(cells) <= set(NOT_HAD)

    def _told(self, typed: dict[int, Any]) -> dict[int, Any]:
        """Turn cells of the table into what the model's features are; None stays None where it is a number's."""
        sources = {
            feature: int(source) for feature, source in enumerate(self._costs.sources.tolist()) if source in typed
        }
        if self._transformer is None:
            return {feature: typed[source] for feature, source in sources.items()}
        row = self._transform(typed)
        return {
            feature: None if typed[source] is None and np.isnan(row[feature]) else row[feature]
            for feature, source in sources.items()
        }

    def known(self, pairs: list[str]) -> dict[int, Any]:
        """Read ``NAME=VALUE`` pairs."""
        typed = dict[int, Any]()
        for pair in pairs:
            typed_name, equals, value = pair.partition("=")
            name = matched_names([typed_name], self._names).get(typed_name)
            if not equals or name is None:
                raise ValueError(f"--known: expected NAME=VALUE with one of {', '.join(self._names)}, got {pair!r}")
            column = self._names.index(name)
            if column in typed:
                raise ValueError(f"--known: expected one value of {name}, got another in {pair!r}")
            typed[column] = self._cell(column, value)
        return self._told(typed)

    def _cell(self, column: int, text: str) -> Any:
        """Read a cell: a number or a known word; None where it could not be had, NaN where it is missing."""
        if text in NOT_HAD:
            return None
        if text in MISSING:
            return np.nan
        name = self._names[column] if self._names else f"column {column}"
        words = self._words.get(name)
        if words is None:
            return number_of(text, name)
        found = matched_labels([text], words)
        if not found:
            raise ValueError(f"{name}: expected one of {some_of(words)}, or ? for none, got {text!r}")
        return words[found[text]]

    def _transform(self, typed: dict[int, Any]) -> list[float]:
        """Encode a row of which only some columns are known."""
        import pandas as pd

        row = {name: typed.get(column) for column, name in enumerate(self._names)}
        cells = {name: "" if name in self._words and pd.isna(row[name]) else row[name] for name in self._names}
        table = pd.DataFrame([cells]).astype({name: float for name in self._names if name not in self._words})
        return [float(value) for value in self._transformer.transform(table).to_numpy()[0]]


def _hold(session: Session, table: SessionTable, *, quiet: bool) -> None:
    """Ask until the model answers or the user leaves."""
    told_of = 0
    while (unit := session.next_unit) is not None:
        screen = sys.stderr if quiet else sys.stdout
        if session.waits and session.round_number > told_of:
            told_of = session.round_number
            print(_order(session, table), file=screen)
        if not quiet:
            fee = f", {session.fee:.2f} of it the fee of its group" if 0 < session.fee < session.price else ""
            print(f"{table.name(unit)} costs {session.price:.2f}{fee}: {session.reason}")
        for words in table.words(unit):
            print(f"  {words}", file=screen)
        print(f"{table.name(unit)} = ", end="", file=screen, flush=True)
        line = sys.stdin.readline() if sys.stdin else LEAVE  # started with it closed, there is none
        if not line or line.strip() == LEAVE:
            return
        try:
            values, charged = table.answer(unit, line.strip())
            session.tell(values, charged)
        except ValueError as problem:
            print(f"ipforest: {problem}", file=sys.stderr)


def _order(session: Session, table: SessionTable) -> str:
    """Say what to order in this round, and where to go on once the results are in."""
    names = ", ".join(map(table.name, session.round()))
    price = f"{session.round_price:.2f} in all"
    return f"Round {session.round_number}: order now {names}; {price}. Type the results when they are in, or {LEAVE}."


def _record(session: Session, table: SessionTable) -> dict[str, Any]:
    """Return what was told and bought, what it costs, and the answer, None while something is wanted.

    ``ledger`` has the columns and words of the table, the rest what `Session.to_json` writes of the model's features.
    """
    guess = np.asarray(session.guess).item()
    answers = {"guess": guess, "answer": guess if session.next_unit is None else None}
    by_label = session.probabilities.items() if session.is_classifier else ()
    chances = {"probabilities": {str(label): chance for label, chance in by_label}} if by_label else {}
    told: dict[str, Any] = json.loads(session.to_json())
    in_rounds = session.has_rounds
    ledger = [
        {"values": table.told(line), "price": line.price, "reason": line.reason, "charged": line.charged}
        | ({"round": line.round, "in_vain": line.in_vain} if in_rounds else {})
        for line in session.ledger
    ]
    return {**told, "ledger": ledger, **answers, **chances, "paid": session.paid}


def _remarks(line: Purchase, *, in_rounds: bool) -> str:
    told = {f"round {line.round}": in_rounds, "in vain": line.in_vain, "could not be had": not line.charged}
    remarks = [remark for remark, holds in told.items() if holds]
    return f" ({', '.join(remarks)})" if remarks else ""


def _summary(session: Session, table: SessionTable) -> str:
    """Say what was answered, how surely, and what was paid for what."""
    lines = [
        f"  {line.price:8.2f}  {table.bought(line)}: {line.reason}{_remarks(line, in_rounds=session.has_rounds)}"
        for line in session.ledger
    ]
    verdict = f"{'Answer' if session.next_unit is None else 'So far'}: {session.guess}"
    if session.is_classifier:
        verdict += f" ({max(session.probabilities.values()):.0%})"
    return "\n".join([verdict, f"Paid {session.paid:.2f}:", *lines])
