"""Rules from left to right, in boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ipforest._internal.axes import Axes, literal
from ipforest.plotting.trees import children_lists

if TYPE_CHECKING:
    from ipforest.rules import Rules

__all__ = ["draw_rules"]

MAX_FONT_SIZE = 9.0
COLUMN_OF_WORDS, EM_PER_CHARACTER, LINE_HEIGHT = 30, 0.66, 1.3
"""Characters in a line, and the room for each, in sizes of the font."""


def draw_rules(rules: Rules, *, ax: Axes | None = None) -> Axes:
    """Draw rules from left to right: what is ordered in turn, under which conditions, and the answers at the ends.

    Parameters
    ----------
    rules : Rules
        From `ipforest.rules.read_rules`.
    ax : matplotlib Axes, optional
        Where to draw, in letters as large as fit; by default on a new figure, as large as the rules need.
    """
    boxes = _boxes(rules)
    tops, places = _stacked(boxes)
    n_lines, n_columns = max(top + box.height for top, box in zip(tops, boxes, strict=True)), 1 + max(places)
    axes = _axes_for_words(n_columns, n_lines) if ax is None else ax
    width, height = axes.get_window_extent().size / axes.figure.dpi * 72
    width_of_box, pitch = COLUMN_OF_WORDS * EM_PER_CHARACTER, (COLUMN_OF_WORDS + 4) * EM_PER_CHARACTER
    font = min(MAX_FONT_SIZE, width / (n_columns * pitch), height / (n_lines * LINE_HEIGHT))
    axes.set(xlim=(0, width / font), ylim=(height / font / LINE_HEIGHT, 0))
    labels = [] if rules.seller.classes is None else rules.seller.classes.tolist()
    for place, (box, top) in enumerate(zip(boxes, tops, strict=True)):
        left = places[place] * pitch
        colour = f"C{labels.index(box.answer)}" if box.answer in labels else "0.5"
        axes.add_patch(_rectangle(left, top + 0.25, width_of_box, box.height - 0.5, colour))
        for number, (line, style) in enumerate(box.lines):
            axes.text(left + 0.5, top + 1 + number, literal(line), fontsize=font * 0.92, va="center", **style)
        if box.above is not None:
            start = places[box.above] * pitch + width_of_box, tops[box.above] + boxes[box.above].height / 2
            middle = left - (pitch - width_of_box) / 2
            end = top + box.height / 2
            axes.plot([start[0], middle, middle, left], [start[1], start[1], end, end], color="0.6", linewidth=0.8)
    axes.set_axis_off()
    title = "\n".join(fill(line, width=max(COLUMN_OF_WORDS, n_columns * COLUMN_OF_WORDS)) for line in rules.summary())
    axes.set_title(literal(title), fontsize=font, loc="left")
    return axes


@dataclass(frozen=True, slots=True)
class _Box:
    """A step on paper: its lines with their styles, what it answers, and the number of the box before it."""

    lines: tuple[tuple[str, dict[str, Any]], ...]
    answer: Any
    above: int | None

    @property
    def height(self) -> int:
        return len(self.lines) + 1


def _boxes(rules: Rules) -> list[_Box]:
    """Put each step into words, a step before those below it."""
    boxes: list[_Box] = []
    path: list[int] = []
    for depth, step, sentence in rules.sentences():
        parts: tuple[tuple[str, dict[str, Any]], ...] = (
            (sentence.when, {"style": "italic"}),
            (sentence.does, {"weight": "bold"}),
            *((fact, {"alpha": 0.75}) for fact in sentence.facts),
        )
        lines = [(line, style) for text, style in parts for line in wrap(text, COLUMN_OF_WORDS)]
        boxes.append(_Box(tuple(lines), step.answer if step.is_end else None, path[depth - 1] if depth else None))
        path[depth:] = [len(boxes) - 1]
    return boxes


def _stacked(boxes: Sequence[_Box]) -> tuple[list[float], list[int]]:
    """Give each box its top and its column: none overlaps another, each stands over the middle of those after it."""
    room = [float(box.height) for box in boxes]
    after = children_lists(np.array([-1 if box.above is None else box.above for box in boxes]))
    columns = [0] * len(boxes)
    for place, box in enumerate(boxes):
        columns[place] = 0 if box.above is None else columns[box.above] + 1
    for place in reversed(range(len(boxes))):
        room[place] = max(room[place], sum(room[child] for child in after[place]))
    start = [0.0] * len(boxes)
    for place, children in enumerate(after):
        top = start[place] + (room[place] - sum(room[child] for child in children)) / 2
        for child in children:
            start[child] = top
            top += room[child]
    return [start[place] + (room[place] - box.height) / 2 for place, box in enumerate(boxes)], columns


def _axes_for_words(n_columns: int, n_lines: float) -> Axes:
    """Make a figure as large as rules need in the largest letters."""
    import matplotlib.pyplot as plt

    inch = MAX_FONT_SIZE / 72
    width = n_columns * (COLUMN_OF_WORDS + 4) * EM_PER_CHARACTER * inch
    height = n_lines * LINE_HEIGHT * inch
    figure = plt.figure(figsize=(width + 0.2, height + 0.8))
    return figure.add_axes((0.1 / (width + 0.2), 0.1 / (height + 0.8), width / (width + 0.2), height / (height + 0.8)))


def _rectangle(left: float, top: float, width: float, height: float, colour: str) -> Any:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    return Rectangle((left, top), width, height, facecolor=to_rgba(colour, 0.15), edgecolor=colour, linewidth=0.8)
