"""Checks of formulations, solvers, estimators, rules and readers of your own, in the manner of `check_estimator`.

The checks are named: ``for name, check in check_formulation(ip4): check()``.

===========================  =========================================================================
`check_formulation`          its 0-1 points are the prunings, at their objective; its promises hold
`check_solver`               the result is what it says, the bound is valid, promises are kept
`check_budgeted_estimator`   tables, sessions, budgets and copies tell the same
`check_stopping_rule`        keenness depends on what it is given alone, and budgets hold
`check_reader`               the trees that are read predict as the model does
`parametrize_with_checks`    makes each check a pytest test of its own
`pytest_plugin`              does so without a test file: ``--check-formulation FILE:NAME``
`assert_totally_unimodular`  fails with the violator in the names of rows and columns
`assert_integral`            fails with a fractional vertex
`strategies`                 Hypothesis strategies: instances, lambdas, price lists, forests, matrices
===========================  =========================================================================

The checks of formulations and solvers, and the strategies, need Hypothesis: ``pip install hypothesis``. Nothing of it
is imported with `ipforest`. Like the command line, this package reaches up to `formulations` and `proofs`, when a check
runs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ipforest._internal.handed_on import handed_on

if TYPE_CHECKING:
    from ipforest.testing import strategies as strategies
    from ipforest.testing.assertions import assert_integral as assert_integral
    from ipforest.testing.assertions import assert_totally_unimodular as assert_totally_unimodular
    from ipforest.testing.estimator_checks import check_budgeted_estimator as check_budgeted_estimator
    from ipforest.testing.formulation_checks import check_formulation as check_formulation
    from ipforest.testing.pytest_marks import parametrize_with_checks as parametrize_with_checks
    from ipforest.testing.reader_checks import check_reader as check_reader
    from ipforest.testing.rule_checks import check_stopping_rule as check_stopping_rule
    from ipforest.testing.solver_checks import check_solver as check_solver

_HOME = {
    "assert_integral": "ipforest.testing.assertions",
    "assert_totally_unimodular": "ipforest.testing.assertions",
    "check_budgeted_estimator": "ipforest.testing.estimator_checks",
    "check_formulation": "ipforest.testing.formulation_checks",
    "check_reader": "ipforest.testing.reader_checks",
    "check_solver": "ipforest.testing.solver_checks",
    "check_stopping_rule": "ipforest.testing.rule_checks",
    "parametrize_with_checks": "ipforest.testing.pytest_marks",
}
__all__ = ["strategies", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "strategies":
        return import_module(f"{__name__}.strategies")
    return handed_on(__name__, _HOME, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
