"""Progress of long work: one callback type, and the bar that the command line shows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

ProgressCallback: TypeAlias = Callable[[float, str], None]
"""Called with the share of the work that is done (0 to 1) and a short message."""


def silent(share: float, message: str) -> None:
    """Report nothing."""


@contextmanager
def progress_bar(description: str, *, visible: bool = True, transient: bool = False) -> Iterator[ProgressCallback]:
    """Show a bar on standard error while the block runs, a transient one no longer; yield its callback."""
    if not visible:  # rich 13.7 prints a line break even where it is told to print nothing
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[message]}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
    )  # a long message is cut, not what stands before it
    with Progress(*columns, console=Console(stderr=True), transient=transient, expand=True) as bar:
        task = bar.add_task(description, total=1.0, message="")

        def report(share: float, message: str) -> None:
            bar.update(task, completed=share, message=message)

        yield report
