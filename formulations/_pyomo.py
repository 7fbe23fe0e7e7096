"""Pyomo, imported when it is first used: that takes a second, and arrays do without it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _PyomoEnvironment:
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pyomo.environ"), name)


pyo: Any = _PyomoEnvironment()
"""Stands for ``pyomo.environ``."""
