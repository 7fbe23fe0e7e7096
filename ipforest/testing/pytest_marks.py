"""Checks as tests of pytest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ipforest.testing.checks import Check

__all__ = ["checks_of", "parametrize_with_checks"]


def checks_of(subject: Any) -> Iterator[tuple[str, Check]]:
    """Yield the checks of a formulation, an estimator, a stopping rule, or else a solver, by its kind."""
    from formulations.base import Formulation
    from ipforest import testing
    from ipforest.estimator.model import BudgetedModel

    if isinstance(subject, Formulation):
        return testing.check_formulation(subject)
    if isinstance(subject, BudgetedModel):
        return testing.check_budgeted_estimator(subject)
    return testing.check_stopping_rule(subject) if hasattr(subject, "fit") else testing.check_solver(subject)


def parametrize_with_checks(subjects: Iterable[Any]) -> Any:
    """Make a test of pytest for every check of every formulation, estimator, stopping rule and solver.

    Parameters
    ----------
    subjects : iterable
        Formulations for `check_formulation`, estimators for `check_budgeted_estimator`, objects with ``fit`` for
        `check_stopping_rule`; all else is a solver for `check_solver`.

    Returns
    -------
    pytest.MarkDecorator
        Gives the test an argument ``check``, to be called; its identifier names the subject and the check.

    Examples
    --------
    >>> @parametrize_with_checks([my_formulation, my_solver])  # doctest: +SKIP
    ... def test_mine(check):
    ...     check()
    """
    import pytest

    cases = []
    for subject in subjects:
        checks, words = checks_of(subject), str(subject).split("(")[0]
        label = subject if isinstance(subject, str) else getattr(subject, "__name__", words)
        cases += [pytest.param(check, id=f"{label}-{name}") for name, check in checks]
    return pytest.mark.parametrize("check", cases)
