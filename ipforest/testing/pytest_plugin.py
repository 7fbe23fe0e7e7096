"""A plugin of pytest: checks of formulations, solvers, estimators and stopping rules become tests, without a test file.

``pytest -p ipforest.testing.pytest_plugin --check-formulation my_file.py:ip4 --check-estimator my_file.py:MyForest``,
or the first two words in ``addopts``. It is not loaded by itself, as importing ipforest would slow down every run of
pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

KINDS = {
    "formulation": ("find_formulation", "check_formulation"),
    "solver": ("find_solver", "check_solver"),
    "estimator": ("find_object", "check_budgeted_estimator"),
    "rule": ("find_object", "check_stopping_rule"),
}
"""How what a text stands for is found, and what checks it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for each kind."""
    group = parser.getgroup("ipforest")
    for kind in KINDS:
        group.addoption(
            f"--check-{kind}",
            action="append",
            default=[],
            metavar="FILE:NAME",
            help=f"make a test of each check of a {kind}: one that a file has, or a formulation or solver by its name",
        )


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Put the checks after the tests that were collected."""
    for label, checks in _asked_for(session.config):
        items += [
            CheckItem.from_parent(session, name=f"{label}-{name}", nodeid=f"ipforest::{label}-{name}", check=check)
            for name, check in checks
        ]


def _asked_for(config: pytest.Config) -> Iterator[tuple[str, list[tuple[str, Callable[[], None]]]]]:
    asked = [(kind, text) for kind in KINDS for text in config.getoption(f"--check-{kind}")]
    for kind, text in asked:
        from ipforest import testing
        from ipforest.testing import subjects

        find, check = KINDS[kind]
        try:
            checks = list(getattr(testing, check)(getattr(subjects, find)(text)))
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
