"""The command line: ``ipforest COMMAND``, one module per command.

Exit codes: 0 done, 1 a check failed, 2 wrong usage or bad input, 130 interrupted, 141 what reads the output has ended,
143 terminated.
The commands import what they need when they run, and are imported where an interrupt is caught; together with the
solver registry and `ipforest.testing` they are the only code of this package that reaches up, to `formulations` and
`proofs`.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper

from ipforest.cli.exit_codes import BAD_INPUT, INTERRUPTED, PIPE_CLOSED, TERMINATED

TYPE_CHECKING = False  # as in `typing`, which like `argparse` is imported where an interrupt is caught
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence
    from typing import Any, TextIO

COMMANDS = (
    *("demo", "fit", "predict", "report", "session", "rules"),
    *("prune", "path", "verify"),
    *("crosscheck", "prove", "study", "tu", "integral", "atlas", "instances"),
    *("reproduce", "frontier", "data", "bench", "versions"),
)
"""The modules, in the order of the help."""


EXPECTED = ValueError, TypeError, OverflowError, OSError, ImportError
"""Errors that are told in a line."""


NOTE_OF_PYTHON = "Error calling __set_name__"
"""How a note begins that Python 3.12 and newer put on an interrupt in a class; before, they raised another error."""


class Terminated(KeyboardInterrupt):
    """The command was asked to end (SIGTERM): it ends as at an interrupt, with its temporary files and workers."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    debug = True
    raised: list[KeyboardInterrupt] = []
    try:
        with _signals_as_interrupts(raised), _closed_streams_opened(), _errors_optional(), _any_text_printed():
            options = build_parser().parse_args(arguments)
            debug = options.debug
            code: int = options.run(options)
            sys.stdout.flush()
    except BrokenPipeError:  # what reads the output has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (KeyboardInterrupt, Exception) as problem:
        interrupt = _interrupt_of(problem)
        if interrupt is not None:
            notes = [note for note in getattr(interrupt, "__notes__", []) if not note.startswith(NOTE_OF_PYTHON)]
            return _interrupted(interrupt, notes)
        if raised and not debug:
            return _interrupted(raised[0], [_told(problem)])
        if debug or not isinstance(problem, EXPECTED):
            raise
        with _errors_optional():
            print(f"ipforest: error: {_told(problem)}", file=sys.stderr)
        return BAD_INPUT
    return code


@contextmanager
def _signals_as_interrupts(raised: list[KeyboardInterrupt]) -> Iterator[None]:
    """Raise an interrupt at SIGTERM as at SIGINT while the block runs, unless a handler is there already.

    Each is added to the list: compiled code can drop it and raise an error of its own, as matplotlib's does.
    """
    kinds = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}

    def interrupt(number: int, frame: object) -> None:
        raised.append(kinds[signal.Signals(number)]())
        raise raised[-1]

    with ExitStack() as handlers:
        for number, free in (signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL):
            with suppress(ValueError):  # outside of the main thread, which signals go to
                if signal.getsignal(number) is free:
                    signal.signal(number, interrupt)
                    handlers.callback(signal.signal, number, free)
        yield


@contextmanager
def _closed_streams_opened() -> Iterator[None]:
    """Let what is printed go nowhere where Python was started without an output, as by pythonw or with ``>&-``."""
    with ExitStack() as streams:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:
                setattr(sys, name, streams.enter_context(open(os.devnull, "w", encoding="utf-8")))
                streams.callback(setattr, sys, name, None)
        yield


class _Optional:
    """A stream whose text is lost where it cannot be written, as on a full disk or to a reader that has ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


@contextmanager
def _errors_optional() -> Iterator[None]:
    """Let no note and no progress bar end a command, nor change its exit code, where standard error takes no more."""
    stream = sys.stderr
    if stream is not None:
        sys.stderr = _Optional(stream)  # a stream in all that is asked of it
    try:
        yield
    finally:
        sys.stderr = stream


@contextmanager
def _any_text_printed() -> Iterator[None]:
    r"""Print what the encoding of the output lacks as ``\u03bb``, as Python does on standard error."""
    output = sys.stdout
    if not isinstance(output, TextIOWrapper) or output.errors not in ("strict", "surrogateescape"):
        yield
        return
    errors = output.errors  # Python's own where the locale is C are for names of files alone
    output.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        output.reconfigure(errors=errors)


def _interrupted(interrupt: KeyboardInterrupt, notes: list[str]) -> int:
    """Tell of an interrupt and return the exit code."""
    exec("")  # after an interrupt within exec, as in dataclasses, Python would not end with this code
    is_terminated = isinstance(interrupt, Terminated)
    with _errors_optional():
        print(f"ipforest: {'; '.join(['terminated' if is_terminated else 'interrupted', *notes])}", file=sys.stderr)
    return TERMINATED if is_terminated else INTERRUPTED


def _interrupt_of(problem: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interrupt that an error comes of: one in `__set_name__`, say, reaches us as a RuntimeError."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__ or problem.__context__
    return problem


def _told(problem: BaseException) -> str:
    """Return the message of an error and its notes in one line, without the number that the system gives to it."""
    if isinstance(problem, OSError) and problem.filename is not None and problem.strerror is not None:
        return f"{problem.filename}: {problem.strerror}"
    from ipforest._internal.arrays import one_line

    return "; ".join(map(one_line, [problem, *getattr(problem, "__notes__", [])]))


def build_parser() -> ArgumentParser:
    """Describe all commands: each module has a DESCRIPTION, its options (`add`), and what it does (`run`)."""
    from ipforest.cli.options import Parser

    parser = Parser(
        prog="ipforest",
        description="Prune tree ensembles to a feature budget, provably optimally.",
        epilog="`ipforest COMMAND --help` describes a command and its options.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = import_module(f"ipforest.cli.{name}")
        in_short = module.DESCRIPTION.split(". ")[0].rstrip(".")
        command = commands.add_parser(name, help=in_short, description=module.DESCRIPTION)
        command.set_defaults(run=module.run)
        command.add_argument("--json", action="store_true", help="print JSON in place of a table")
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        module.add(command)
    return parser
