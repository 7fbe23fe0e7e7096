"""Warnings about what a user wrote, at the line that they wrote."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

PASSED_ON_BY = {"ipforest", "formulations", "proofs", "sklearn", "joblib"}
"""Their lines are none of the user's: `GridSearchCV` calls ``fit``, say."""


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of a call of this package at the line that made it.

    Parameters
    ----------
    message : str
    category : type
    """
    frame: FrameType | None = sys._getframe(1)
    level = outermost = 1
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED_ON_BY:
            outermost = level
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=outermost + 2)
