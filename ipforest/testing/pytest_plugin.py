"""A plugin of pytest: each check of a formulation or solver becomes a test, without a test file.

``pytest -p ipforest.testing.pytest_plugin --check-formulation my_file.py:ip4 --check-solver my_file.py:greedy``, or the
first two words in ``addopts``. It is not loaded by itself, as importing ipforest would slow down every run of pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("ipforest")
    for kind in ("formulation", "solver"):
        group.addoption(
            f"--check-{kind}",
            action="append",
            default=[],
            metavar="FILE:NAME",
            help=f"make a test of each check of a {kind}: one that a file defines or registers, or one by its name",
        )


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Put the checks after the tests that were collected."""
    for label, checks in _asked_for(session.config):
        items += [
            CheckItem.from_parent(session, name=f"{label}-{name}", nodeid=f"ipforest::{label}-{name}", check=check)
            for name, check in checks
        ]


def _asked_for(config: pytest.Config) -> Iterator[tuple[str, list[tuple[str, Callable[[], None]]]]]:
    for kind in ("formulation", "solver"):
        for text in config.getoption(f"--check-{kind}"):
            from ipforest.testing import check_formulation, check_solver
            from ipforest.testing.subjects import find_formulation, find_solver

            try:
                if kind == "formulation":
                    checks = list(check_formulation(find_formulation(text)))
                else:
                    checks = list(check_solver(find_solver(text)))
            except (OSError, TypeError, ValueError) as problem:
                raise pytest.UsageError(f"--check-{kind}: {problem}") from None
            yield text.rpartition(":")[2], checks


class CheckItem(pytest.Item):
    """One check as a test.

    Parameters
    ----------
    check : callable
        Raises where the subject is not what it promises.
    """

    def __init__(self, *, check: Callable[[], None], **others: Any) -> None:
        super().__init__(**others)
        self._check = check

    def runtest(self) -> None:
        """Run the check."""
        self._check()

    def reportinfo(self) -> tuple[str, None, str]:
        """Name the check in reports."""
        return "ipforest", None, self.name
