"""Checks as tests of pytest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations.base import Formulation

__all__ = ["parametrize_with_checks"]


def parametrize_with_checks(subjects: Iterable[Formulation | Any]) -> Any:
    """Make a test of pytest for every check of every formulation and solver.

    Parameters
    ----------
    subjects : iterable
        Formulations for `check_formulation`; all else is a solver for `check_solver`.

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

    from formulations.base import Formulation
    from ipforest.testing.formulation_checks import check_formulation
    from ipforest.testing.solver_checks import check_solver

    cases = []
    for subject in subjects:
        checks = check_formulation(subject) if isinstance(subject, Formulation) else check_solver(subject)
        label = str(subject) if isinstance(subject, Formulation | str) else getattr(subject, "__name__", str(subject))
        cases += [pytest.param(check, id=f"{label}-{name}") for name, check in checks]
    return pytest.mark.parametrize("check", cases)
