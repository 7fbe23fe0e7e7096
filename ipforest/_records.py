"""Tables of plain records, as CSV and as text for a terminal."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table


def records_to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Write records of the same keys as CSV with a header."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()


def records_to_text(records: Sequence[dict[str, Any]]) -> str:
    """Write records of the same keys as aligned columns with a header, lines as long as they need to be."""
    table = Table(*records[0], box=None, pad_edge=False)
    for record in records:
        table.add_row(*map(str, record.values()))
    console = Console(file=StringIO(), width=1 << 16, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
