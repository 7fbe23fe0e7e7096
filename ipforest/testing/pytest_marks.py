"""Checks as tests of pytest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ipforest.testing.formulation_checks import Check

__all__ = ["checks_of", "parametrize_with_checks"]


def checks_of(subject: Any) -> Iterator[tuple[str, Check]]:
    """Yield the checks of a formulation, an estimator, or else a solver, by its kind."""
    from formulations.base import Formulation
    from ipforest.estimator.model import BudgetedModel
    from ipforest.testing import check_budgeted_estimator, check_formulation, check_solver

    if isinstance(subject, Formulation):
        return check_formulation(subject)
    return check_budgeted_estimator(subject) if isinstance(subject, BudgetedModel) else check_solver(subject)


def parametrize_with_checks(subjects: Iterable[Any]) -> Any:
    """Make a test of pytest for every check of every formulation, estimator and solver.

    Parameters
    ----------
    subjects : iterable
        Formulations for `check_formulation`, estimators for `check_budgeted_estimator`; all else is a solver for
        `check_solver`.

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
