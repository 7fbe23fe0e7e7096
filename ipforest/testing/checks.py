"""What all kinds of named checks share; it needs no Hypothesis."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Check", "require_assertions"]

Check = Callable[[], None]


def require_assertions() -> None:
    """Require that Python keeps the assert statements that the checks are made of.

    Raises
    ------
    RuntimeError
        It leaves them out, and every check would pass.
    """
    if not __debug__:
        raise RuntimeError(
            "expected a Python that keeps assert statements, which the checks are made of, got one with -O or "
            "PYTHONOPTIMIZE; run the checks without it"
        )
