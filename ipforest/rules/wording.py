"""Steps of rules in words: each as a condition, an action and some figures, and all of them as text and Markdown."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ipforest._internal.words import counted, listed, plain, unbroken
from ipforest.rules.conditions import in_words
from ipforest.rules.steps import Step
from ipforest.session import Seller

__all__ = ["Sentence", "money", "sentences", "to_markdown", "to_record", "to_text"]

NARROWEST = 24
"""Characters that a line keeps for words, however deep it is."""

LONG = 80
"""Characters of a condition with many categories."""

MARKS = re.compile(r"([\\`*_\[\]<>#|])")


class Sentence(NamedTuple):
    """A step in words.

    Parameters
    ----------
    when : str
        When examples come to it; empty for the first step.
    does : str
        What is ordered or answered.
    facts : tuple of str
        How many examples, what they pay, how often it is right.
    """

    when: str
    does: str
    facts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.when}: {self.does}" if self.when else self.does[:1].upper() + self.does[1:]


Told: TypeAlias = tuple[int, Step, Sentence]
"""The depth of a step, the step, and what it is in words."""


def sentences(first: Step, seller: Seller) -> Iterator[Told]:
    """Give each step from the first on in words, with its depth, a step before those below it."""
    waiting: list[tuple[int, Step, str]] = [(0, first, "")]
    while waiting:
        depth, step, when = waiting.pop()
        yield depth, step, Sentence(when, _does(step), tuple(_facts(step)))
        conditions = _conditions(step.below, seller)
        waiting += [(depth + 1, *pair) for pair in reversed([*zip(step.below, conditions, strict=True)])]


def to_text(summary: Sequence[str], told: Iterable[Told], width: int | None = None) -> str:
    """Write a summary, and steps as a list within a list, no line longer than the terminal."""
    wide = shutil.get_terminal_size().columns if width is None else width
    lines = [*(fill(line, max(wide, NARROWEST)) for line in summary), ""]
    for depth, _, sentence in told:
        bullet = "  " * (depth - 1) + "- " if depth else ""
        lines.append(
            fill(
                f"{sentence} [{'; '.join(sentence.facts)}]",
                max(wide, len(bullet) + NARROWEST),
                initial_indent=bullet,
                subsequent_indent=" " * len(bullet),
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)


def to_markdown(summary: Sequence[str], told: Iterable[Told]) -> str:
    """Write a summary, and steps as a list of Markdown."""
    lines = [*summary, ""]
    for depth, _, (when, does, facts) in told:
        action = f"{_plain(when)}: **{_plain(does)}**" if when else f"**{_plain(does[:1].upper() + does[1:])}**"
        lines.append(f"{'  ' * depth}- {action} ({_plain('; '.join(facts))})")
    return "\n".join(lines) + "\n"


def to_record(told: Iterable[Told]) -> Any:
    """Return the first step as what JSON holds, those below it within."""
    root: dict[str, Any] = {}
    path = [root]
    for depth, step, sentence in told:
        record = {
            "when": sentence.when,
            "orders": [{"name": order.name, "price": order.price} for order in step.orders],
            "answer": np.asarray(step.answer).item() if step.is_end else None,
            "probability": None if np.isnan(step.probability) else step.probability,
            "goes_on": step.goes_on,
            "examples": step.n_samples,
            "right": step.n_right,
            "paid": step.paid,
            "holds_for": step.n_samples - step.n_missed,
            "holds_for_others": step.n_strays,
            "below": [],
        }
        path[depth + 1 :] = [record]
        path[depth].setdefault("below", []).append(record)
    return root["below"][0]


def _plain(text: str) -> str:
    return MARKS.sub(r"\\\1", unbroken(text))


def _conditions(steps: tuple[Step, ...], seller: Seller) -> list[str]:
    """Say when examples come to each of some steps.

    The last one that has a condition is "otherwise", if that is long. Then no example is left for steps without one.
    """
    words = [f"if {in_words(step.clauses, seller)}" if step.clauses else "in other cases" for step in steps]
    told = [place for place, step in enumerate(steps) if step.clauses]
    if told and (sum(map(len, steps[told[-1]].clauses)) > 1 or len(words[told[-1]]) > LONG):
        words = ["in cases that no condition tells apart" if word == "in other cases" else word for word in words]
        words[told[-1]] = "otherwise"
    return words


def _does(step: Step) -> str:
    rounds = dict.fromkeys(order.round for order in step.orders)
    told = [[f"{order.name} ({_price(order.price)})" for order in step.orders if order.round == one] for one in rounds]
    parts = ["; when these results are in, ".join(f"order {listed(orders, 'and')}" for orders in told)] if told else []
    if step.goes_on:
        parts.append(f"go on; the answer is {_answer(step)} most often")
    elif step.is_end:
        parts.append(f"answer {_answer(step)}")
    return ", then ".join(parts)


def _answer(step: Step) -> str:
    if isinstance(step.answer, float) and np.isnan(step.probability):
        return plain(step.answer)
    return f"{step.answer}" + ("" if np.isnan(step.probability) else f" ({step.probability:.0%})")


def _facts(step: Step) -> Iterator[str]:
    pays = "" if not step.is_end else f", paid {money(step.paid)}"
    yield f"{counted(step.n_samples, 'example')}{pays}"
    if step.n_right is not None and step.n_samples:
        yield f"right for {step.n_right}"
    if step.n_missed or step.n_strays:
        holds = f"the condition holds for {step.n_samples - step.n_missed} of these"
        yield holds + (f" and for {step.n_strays} other{'s'[: step.n_strays - 1]}" if step.n_strays else "")


def _price(amount: float) -> str:
    return money(amount) if amount else "free"


def money(amount: float) -> str:
    """Write an amount, of a large one four digits."""
    return f"{amount:.2f}" if amount < 1e6 else f"{amount:.4g}"
