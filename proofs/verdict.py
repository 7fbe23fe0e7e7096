"""What a checker answers: accepted, or refused with the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a check; true when accepted.

    Attributes
    ----------
    accepted : bool
        Whether everything that was claimed was found true.
    reason : str
        The first thing found wrong, in one line; what was checked when accepted.
    """

    accepted: bool
    reason: str

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return f"{'accepted' if self.accepted else 'refused'}: {self.reason}"


def accept(reason: str) -> Verdict:
    """Return the verdict of a check that went through, with what it covered."""
    return Verdict(True, reason)


def refuse(reason: str) -> Verdict:
    """Return the verdict of a check that failed, with the reason."""
    return Verdict(False, reason)
