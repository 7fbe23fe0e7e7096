"""The command ``session``: a saved model asks for one feature after another in the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ipforest._internal.words import some_of
from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Parser, nonnegative_integer
from ipforest.cli.saved_models import add_mixture_option, add_model_options, mixed, read_model, using

if TYPE_CHECKING:
    from ipforest.session import Purchase, Session
    from ipforest.wrappers.typed_cells import TypedCells

LEAVE = "quit"

DESCRIPTION = (
    "Ask for the features of one example, one after another, until the model answers; say what each costs and why. "
    "An empty line, or ?, is a value that could not be had, and is not paid; NA is one that was paid for but is "
    f"missing; {LEAVE} ends the session, which --save keeps. With --max-cost, what would pass it counts as a value "
    "that cannot be had, and the others are still asked for. Where values are delayed, all that may be wanted "
    "before more is known is listed, to be ordered at once; --max-rounds says how often to wait."
)


def add(command: Parser) -> None:
    """Describe its options."""
    add_model_options(command)
    command.add_list("--known", "NAME=VALUE", "values that are free", [])
    command.add_argument("--max-cost", metavar="COST", help="the most to pay in all")
    command.add_argument("--max-rounds", type=int, metavar="N", help="how often to wait for delayed values at most")
    add_mixture_option(command, "which is that of --key, or that the page asks for")
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
    from ipforest.wrappers.typed_cells import TypedCells

    caps = {"max_cost": options.max_cost, "max_rounds": options.max_rounds}
    if options.resume is not None and (options.known or any(cap is not None for cap in caps.values())):
        raise ValueError(
            "--resume: expected no --known and no --max-cost with it, nor --max-rounds: the session has its own"
        )
    if options.save is not None and not Path(options.save).absolute().parent.is_dir():
        raise ValueError(f"--save: expected a file in a folder that exists, got {options.save}")
    if not options.serve and (options.mixture is None) != (options.key is None):
        raise ValueError("--mixture: expected it with --key, and --key with it, got one of them")
    _check_page(options)
    parts = read_model(options)
    with using(options.model):
        table, model = TypedCells(parts), parts.in_columns()
        if options.mixture is not None:
            model = mixed(options, model)
        if options.serve:
            return _serve(options, model, table)
        if options.mixture is not None:
            model = model.drawn(options.key)
        if options.resume is not None:
            session = _resumed(model, Path(options.resume))
        else:
            session = model.session(known=table.known(options.known), **caps)
        try:
            _hold(session, table, quiet=options.json)
        finally:
            if options.save is not None:
                write_text(options.save, session.to_json())
        told = json.dumps(_record(session), indent=2) if options.json else _summary(session)
    print(told)
    return DONE


def _resumed(model: Any, file: Path) -> Any:
    """Go on with a saved session; what it cannot be is said of its file."""
    try:
        return model.resume(file.read_text(encoding="utf-8-sig"))
    except ValueError as problem:
        raise ValueError(f"{file}: {str(problem).removeprefix('saved: ')}") from None


def _check_page(options: Arguments) -> None:
    """Refuse options of the terminal for the page, which asks for what they say, and the other way round."""
    if options.port is not None and not options.serve:
        raise ValueError("--port: expected it with --serve only, got it without")
    for name in ("resume", "save", "known", "json", "key"):
        if options.serve and getattr(options, name):
            raise ValueError(f"--{name}: expected none with --serve, got a value; the page has it")


def _serve(options: Arguments, model: Any, table: TypedCells) -> int:
    """Serve the page until the program is interrupted."""
    from ipforest.ward.page import serve
    from ipforest.ward.patients import Ward

    def announce(address: str) -> None:
        print(
            f"The page is at {address}\nOnly this machine can open it, and only at this address. Ctrl+C ends it.",
            flush=True,
        )

    ward = Ward(model, table, options.max_cost, options.max_rounds)
    first = model.costly if ward.takes_keys else model
    first.session(None, ward.max_cost, ward.max_rounds)  # refuses bad limits, and compiles what is slow the first time
    serve(ward, options.port or 0, announce)
    return DONE


def _hold(session: Session, table: TypedCells, *, quiet: bool) -> None:
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
        for name, words in table.fields(unit):
            if words:
                print(f"  {f'{name}: ' if len(unit.features) > 1 else ''}one of {some_of(words)}", file=screen)
        print(f"{table.name(unit)} = ", end="", file=screen, flush=True)
        line = sys.stdin.readline() if sys.stdin else LEAVE  # started with it closed, there is none
        if not line or line.strip() == LEAVE:
            return
        try:
            session.tell(*table.answer(unit, table.parted(unit, line.rstrip("\r\n"))))
        except ValueError as problem:
            print(f"ipforest: {problem}", file=sys.stderr)


def _order(session: Session, table: TypedCells) -> str:
    """Say what to order in this round, and where to go on once the results are in."""
    names = ", ".join(map(table.name, session.round()))
    price = f"{session.round_price:.2f} in all"
    return f"Round {session.round_number}: order now {names}; {price}. Type the results when they are in, or {LEAVE}."


def _record(session: Session) -> dict[str, Any]:
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
        {"values": dict(line.values), "price": line.price, "reason": line.reason, "charged": line.charged}
        | ({"round": line.round, "in_vain": line.in_vain} if in_rounds else {})
        for line in session.ledger
    ]
    return {**told, "ledger": ledger, **answers, **chances, "paid": session.paid}


def _remarks(line: Purchase, *, in_rounds: bool) -> str:
    told = {f"round {line.round}": in_rounds, "in vain": line.in_vain, "could not be had": not line.charged}
    remarks = [remark for remark, holds in told.items() if holds]
    return f" ({', '.join(remarks)})" if remarks else ""


def _summary(session: Session) -> str:
    """Say what was answered, how surely, and what was paid for what."""
    lines = [
        f"  {line.price:8.2f}  {line.brought}: {line.reason}{_remarks(line, in_rounds=session.has_rounds)}"
        for line in session.ledger
    ]
    verdict = f"{'Answer' if session.next_unit is None else 'So far'}: {session.guess}"
    if session.is_classifier:
        verdict += f" ({max(session.probabilities.values()):.0%})"
    return "\n".join([verdict, f"Paid {session.paid:.2f}:", *lines])
