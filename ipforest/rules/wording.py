"""Rules in words: each step as a condition, an action and some figures, and all of them as text and Markdown."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ipforest.rules.conditions import in_words

if TYPE_CHECKING:
    from ipforest.rules.steps import Rules, Step

NARROWEST = 24
"""Characters that a line keeps for words, however deep it is."""

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


def sentences(rules: Rules) -> Iterator[tuple[int, Step, Sentence]]:
    """Give each step in words, with its depth, a step before those below it."""
    waiting: list[tuple[int, Step, str]] = [(0, rules.first, "")]
    while waiting:
        depth, step, when = waiting.pop()
        yield depth, step, Sentence(when, _does(step), tuple(_facts(step)))
        conditions = _conditions(rules, step.below)
        waiting += [(depth + 1, *pair) for pair in reversed([*zip(step.below, conditions, strict=True)])]


def summary(rules: Rules) -> list[str]:
    """Say how good the model is on the examples, and how far the rules are what it does."""
    of_all = f"{rules.n_samples} examples pay {_money(rules.cost)} on average"
    if rules.error is None:
        quality = f"{of_all}."
    elif rules.seller.classes is None:
        quality = f"{of_all}; the mean squared error is {rules.error:.4g}."
    else:
        quality = f"{of_all}; {rules.error:.1%} of the answers are wrong."
    if rules.is_exact:
        return [quality, "The model is this tree: the rules hold for every example."]
    beyond = sum(end.n_samples for end in rules.ends if end.goes_on)
    if not beyond:
        answer = "the same answer" if rules.seller.classes is not None else "a mean of its answers"
        return [
            quality,
            f"To follow the rules is to do what the model does, the same orders with {answer}, for "
            f"{rules.n_followed} of these {rules.n_samples} examples.",
        ]
    return [
        quality,
        f"What is told is what the model does with {rules.n_told} of these {rules.n_samples} examples. For {beyond} "
        f"of the {rules.n_samples} it orders more than is told.",
    ]


def to_text(rules: Rules, width: int | None = None) -> str:
    """Write the rules as a list within a list, no line longer than the terminal."""
    wide = shutil.get_terminal_size().columns if width is None else width
    lines = [*(fill(line, max(wide, NARROWEST)) for line in summary(rules)), ""]
    for depth, _, sentence in sentences(rules):
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


def to_markdown(rules: Rules) -> str:
    """Write the rules as a list of Markdown."""
    lines = [*summary(rules), ""]
    for depth, _, (when, does, facts) in sentences(rules):
        action = f"{_plain(when)}: **{_plain(does)}**" if when else f"**{_plain(does[:1].upper() + does[1:])}**"
        lines.append(f"{'  ' * depth}- {action} ({_plain('; '.join(facts))})")
    return "\n".join(lines) + "\n"


def to_record(rules: Rules) -> dict[str, Any]:
    """Return the rules as what JSON holds: figures, and steps within steps."""
    root: dict[str, Any] = {}
    path = [root]
    for depth, step, sentence in sentences(rules):
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
    return {
        "examples": rules.n_samples,
        "cost": rules.cost,
        "error": rules.error,
        "is_exact": rules.is_exact,
        "told": rules.n_told,
        "followed": rules.n_followed,
        "rules": root["below"][0],
    }


def _plain(text: str) -> str:
    return MARKS.sub(r"\\\1", text)


def _conditions(rules: Rules, steps: tuple[Step, ...]) -> list[str]:
    """Say when examples come to each of some steps; "otherwise" for the last of which it is told, if that is long."""
    words = [f"if {in_words(step.clauses, rules.seller)}" if step.clauses else "in other cases" for step in steps]
    told = [place for place, step in enumerate(steps) if step.clauses]
    if told and sum(map(len, steps[told[-1]].clauses)) > 1:
        words[told[-1]] = "otherwise"
    return words


def _does(step: Step) -> str:
    rounds = dict.fromkeys(order.round for order in step.orders)
    told = [[f"{order.name} ({_price(order.price)})" for order in step.orders if order.round == one] for one in rounds]
    parts = ["; when these results are in, ".join(f"order {_listed(orders)}" for orders in told)] if told else []
    if step.goes_on:
        parts.append(f"go on; the answer is {_answer(step)} most often")
    elif step.is_end:
        parts.append(f"answer {_answer(step)}")
    return ", then ".join(parts) or "look at what is known"


def _answer(step: Step) -> str:
    if isinstance(step.answer, float) and np.isnan(step.probability):
        return f"{step.answer:.4g}"
    return f"{step.answer}" + ("" if np.isnan(step.probability) else f" ({step.probability:.0%})")


def _facts(step: Step) -> Iterator[str]:
    noun = "example" if step.n_samples == 1 else "examples"
    pays = "" if not step.is_end else f", paid {_money(step.paid)}"
    yield f"{step.n_samples} {noun}{pays}"
    if step.n_right is not None and step.n_samples:
        yield f"right for {step.n_right}"
    if step.n_missed or step.n_strays:
        holds = f"the condition holds for {step.n_samples - step.n_missed} of these"
        yield holds + (f" and for {step.n_strays} other{'s'[: step.n_strays - 1]}" if step.n_strays else "")


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _price(amount: float) -> str:
    return _money(amount) if amount else "free"


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount < 1e6 else f"{amount:.4g}"
