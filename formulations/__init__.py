r"""The papers' programs as Pyomo models, the same programs as plain arrays, and HiGHS behind both.

>>> model = formulations.build("ip3", instance, lam="1/100")  # doctest: +SKIP
>>> result = formulations.solve(model)  # doctest: +SKIP
>>> program = formulations.matrix(model)  # doctest: +SKIP

Glossary
--------

==============  ================================  =================  ====================================
symbol          name in the code                  shape              unit, meaning
==============  ================================  =================  ====================================
T, K, N         ``n_trees, n_units, n_examples``  integers           N counts the examples that pay
h, u            node                              0 .. n_nodes - 1   numbered tree by tree
leaves          ``ModelData.leaves``              (n_leaves,)        nodes without children
p(h)            ``ModelData.path``                one list per node  root to h, h included
S_h             ``split_cost``                    (n_internal,)      price of the examples passing h
e_h             ``errors``, ``ModelData.e``       (n_nodes,)         in ``error_unit``
c_k             ``acquisition_cost``,             (n_acquisitions,)  in ``cost_unit``
                ``ModelData.c``
(k, i)          acquisition, pair                 (n_acquisitions,)  unit k for example i
(t, k, i)       triple                            (n_triples,)       first use of k by i in tree t
u_{t,k,i}       ``ModelData.first_use``           (n_triples,)       node of first use
lambda          ``lam``                           Fraction           error per cost
p / q           ``ModelSpecification.weights``    two integers       lambda in integer units
B               ``budget``                        Fraction           average cost of an example
z_h             ``model.z``                       (n_nodes,)         1: h is a leaf when pruned
x_h             ``model.x``, ``Pruning.kept``     (n_internal,)      1: h keeps its test
w^(t)_{k,i}     ``model.w_tree``                  (n_triples,)       1: tree t uses k for i
w_{k,i}         ``model.w``                       (n_acquisitions,)  1: k is acquired for i
beta^(t)_{k,i}  ``exact_results.multipliers``     (n_triples,)       dual of w^(t) <= w
==============  ================================  =================  ====================================

The papers write one N. Errors may be counted on other examples than costs (in their experiments in-bag and validation
examples): then the N under e_h is the number of the former, and ``error_unit`` holds it.

The optimal-pruning paper leaves h out of p(h) and writes z_h apart; the models follow BudgetPrune, p(h) includes h.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulations.base import Formulation, ModelSize, ModelSpecification
from formulations.closure import Closure
from formulations.compact import Compact
from formulations.exact_results import FractionalOptimumError
from formulations.ip0 import IP0
from formulations.ip1 import IP1
from formulations.ip2 import IP2
from formulations.ip3 import IP3
from formulations.lp1 import LP1
from formulations.model_data import ModelData
from formulations.model_results import ModelResult
from formulations.modelled import ModelledFormulation, register
from formulations.registry import FORMULATIONS, formulation, register_formulation
from formulations.sizes import papers_bound, size
from formulations.specification import specify
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import LinearProgram

if TYPE_CHECKING:
    from formulations.solver_answers import SolversTable
    from ipforest.results import BudgetResult, PruningResult
    from proofs.study.study import Study

__all__ = [
    "FORMULATIONS",
    "Formulation",
    "FractionalOptimumError",
    "LinearProgram",
    "ModelData",
    "ModelResult",
    "ModelSize",
    "ModelSpecification",
    "ModelledFormulation",
    "build",
    "export",
    "formulation",
    "matrix",
    "papers_bound",
    "register",
    "register_formulation",
    "size",
    "solve",
    "solvers_table",
    "specify",
    "study",
]

for _builtin in (IP0(), IP1(), IP2(), IP3(), Compact(), Closure(), LP1()):
    register_formulation(_builtin)


def build(
    name: str | Formulation, instance: PruningInstance, lam: object = None, budget: object = None, relaxed: bool = False
) -> Any:
    """Build a formulation as a Pyomo model.

    Parameters
    ----------
    name : str or Formulation
        A name in `FORMULATIONS`, or a formulation that need not be registered.
    instance : PruningInstance
    lam, budget : number, optional
        The one that the formulation takes, >= 0: int, Fraction, Decimal, str, or float as its shortest decimal.
    relaxed : bool
        Let variables range over [0, 1] in place of {0, 1}.

    Returns
    -------
    pyomo.environ.ConcreteModel

    Raises
    ------
    TypeError
        Not an instance.
    ValueError
        Unknown name, a missing, needless or negative number, or an instance that does not fit.
    OverflowError
        Integers that reach 2^62.
    """
    specification = specify(name, instance, lam, budget, relaxed)
    return specification.formulation.build(specification)


def solve(
    model: Any, time_limit: float | None = None, relative_gap: float = 0.0, solver: str = "highs"
) -> PruningResult | BudgetResult | ModelResult:
    """Solve a Pyomo model with HiGHS, or another solver by name; see `formulations.solving.solve_model`."""
    from formulations import solving

    return solving.solve_model(model, time_limit, relative_gap, solver)


def solvers_table(
    formulation: str | Formulation,
    instance: PruningInstance,
    lam: object,
    solvers: Sequence[str] | None = None,
    time_limit: float | None = None,
) -> SolversTable:
    """Solve a formulation by every solver, and check each answer; see `formulations.solver_answers.solvers_table`."""
    from formulations import solver_answers

    return solver_answers.solvers_table(formulation, instance, lam, solvers, time_limit)


def matrix(model: Any) -> LinearProgram:
    """Take a model apart into a sparse matrix with labels; see `formulations.any_model.linear_program_of`.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel, linopy.Model, or path of an .mps or .lp file
    """
    from formulations.any_model import linear_program_of

    return linear_program_of(model)


def export(model: Any, path: str | Path) -> Path:
    """Write a Pyomo model as ``.lp`` or ``.mps``; see `formulations.models.export`."""
    from formulations import models

    return models.export(model, path)


def study(name: str | Formulation, instances: int | Sequence[PruningInstance] = 24, seed: int = 0) -> Study:
    """Ask everything about a formulation: is it right, how strong, how large; see `proofs.study.study.study`.

    Like the command line this reaches up, to `proofs`, when it is called.

    Examples
    --------
    >>> found = formulations.study("ip4")  # doctest: +SKIP
    >>> found.summary()  # doctest: +SKIP
    >>> found.to_html("ip4.html")  # doctest: +SKIP
    """
    from proofs.study import study as studies

    return studies.study(name, instances, seed)
