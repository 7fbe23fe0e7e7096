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

from typing import TYPE_CHECKING, Any

from ipforest._internal.handed_on import handed_on

if TYPE_CHECKING:
    from formulations.any_model import linear_program_of
    from formulations.base import Formulation as Formulation
    from formulations.base import ModelSize as ModelSize
    from formulations.base import ModelSpecification as ModelSpecification
    from formulations.exact_results import FractionalOptimumError as FractionalOptimumError
    from formulations.model_data import ModelData as ModelData
    from formulations.model_results import ModelResult as ModelResult
    from formulations.modelled import ModelledFormulation as ModelledFormulation
    from formulations.modelled import register as register
    from formulations.models import export as export
    from formulations.registry import FORMULATIONS as FORMULATIONS
    from formulations.registry import formulation as formulation
    from formulations.registry import register_formulation as register_formulation
    from formulations.sizes import papers_bound as papers_bound
    from formulations.sizes import size as size
    from formulations.solver_answers import solvers_table as solvers_table
    from formulations.solving import solve as solve
    from formulations.specification import build as build
    from formulations.specification import specify as specify
    from ipforest.solvers.linear_program import LinearProgram as LinearProgram

    matrix = linear_program_of

_HOME = {
    "FORMULATIONS": "formulations.registry",
    "Formulation": "formulations.base",
    "FractionalOptimumError": "formulations.exact_results",
    "LinearProgram": "ipforest.solvers.linear_program",
    "ModelData": "formulations.model_data",
    "ModelResult": "formulations.model_results",
    "ModelSize": "formulations.base",
    "ModelSpecification": "formulations.base",
    "ModelledFormulation": "formulations.modelled",
    "build": "formulations.specification",
    "export": "formulations.models",
    "formulation": "formulations.registry",
    "matrix": "formulations.any_model:linear_program_of",
    "papers_bound": "formulations.sizes",
    "register": "formulations.modelled",
    "register_formulation": "formulations.registry",
    "size": "formulations.sizes",
    "solve": "formulations.solving",
    "solvers_table": "formulations.solver_answers",
    "specify": "formulations.specification",
    "study": "proofs.study.study",
}
"""Where each name is defined; it is imported when it is asked for."""
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    return handed_on(__name__, _HOME, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
