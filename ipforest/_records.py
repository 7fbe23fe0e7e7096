"""Tables of plain records as text."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any


def records_to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Write records of the same keys as CSV with a header."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()
