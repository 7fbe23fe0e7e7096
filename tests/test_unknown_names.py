"""A name that is not known is refused in every place that takes one, with what was expected and what came."""

import inspect
from typing import Any

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from reference import load_reference
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import formulations
import proofs
from ipforest import FeatureCosts, Forest, PruningInstance, datasets, ensemble, solve, solve_budget
from ipforest.datasets.distributed import import_data
from ipforest.experiments import catalogue
from ipforest.experiments.frontier import frontier_experiment
from ipforest.losses import loss_for
from ipforest.settings import groups_of
from ipforest.testing import check_formulation, check_solver
from ipforest.wrappers.calibration import CalibratedClassifier
from proofs.study import instance_library

UNKNOWN = "no-such-name"
TREE = load_reference("figure_1_ensemble").instance
X = np.random.default_rng(0).normal(size=(60, 4))
LABELS, NUMBERS = (X[:, 0] > 0).astype(int), X[:, 0]
COSTS = FeatureCosts([1, 2, 1, 3])

PLACES: dict[str, Any] = {
    "solve": lambda: solve(TREE, 1, UNKNOWN),
    "solve_budget": lambda: solve_budget(TREE, 1, UNKNOWN),
    "step rule": lambda: solve(TREE, 1, "primal-dual", step_rule=UNKNOWN),
    "master": lambda: solve(TREE, 1, "dantzig-wolfe", master=UNKNOWN),
    "pricing": lambda: solve(TREE, 1, "dantzig-wolfe", pricing=UNKNOWN),
    "linear solver": lambda: solve(TREE, 1, "highs-lp", solver=UNKNOWN),
    "formulation of a solver": lambda: solve(TREE, 1, "highs-mip", formulation=UNKNOWN),
    "build": lambda: formulations.build(UNKNOWN, TREE, 1),
    "size": lambda: formulations.size(UNKNOWN, TREE),
    "solver of Pyomo's": lambda: formulations.solve(formulations.build("closure", TREE, 1), solver=UNKNOWN),
    "solvers_table": lambda: formulations.solvers_table("closure", TREE, 1, [UNKNOWN]),
    "study": lambda: formulations.study(UNKNOWN),
    "check_formulation": lambda: list(check_formulation(UNKNOWN)),
    "check_solver": lambda: list(check_solver(UNKNOWN)),
    "crosscheck": lambda: proofs.crosscheck(TREE, 1, methods=[UNKNOWN]),
    "library of instances": lambda: instance_library.read("folder", UNKNOWN),
    "loss": lambda: loss_for(UNKNOWN, True),
    "loss of an instance": lambda: PruningInstance.from_forest(FOREST, X, COSTS, loss=UNKNOWN),
    "resolution of an instance": lambda: PruningInstance.from_forest(FOREST, X, COSTS, resolution=UNKNOWN),
    "write": lambda: ensemble.write(FOREST, UNKNOWN),
    "data set": lambda: datasets.load(UNKNOWN),
    "data set to import": lambda: import_data(UNKNOWN, "file", "folder"),
    "experiment": lambda: catalogue.find(UNKNOWN),
    "method of the frontier": lambda: frontier_experiment(["cube"], methods=[UNKNOWN]),
    "calibration": lambda: CalibratedClassifier(CLASSIFIERS["BudgetRF"](COSTS), method=UNKNOWN).fit(X, LABELS),
}
FOREST = Forest.from_sklearn(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, LABELS))


LOADS_PYOMO = {"solver of Pyomo's", "solvers_table", "study"}


@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=pytest.mark.slow if place in LOADS_PYOMO else ()) for place in PLACES]
)
def test_it_is_refused(place):
    with pytest.raises((ValueError, FileNotFoundError), match=rf"expected .*{UNKNOWN}"):
        PLACES[place]()


def named_parameters() -> dict[str, tuple[Any, str, Any]]:
    """Each estimator's parameters that are, or may be, names."""
    found = {}
    for registry, target in ((CLASSIFIERS, LABELS), (REGRESSORS, NUMBERS)):
        for make in registry.values():
            kind = type(make(COSTS))
            places = {"": inspect.signature(kind)}
            places |= {f"{name}__": inspect.signature(group.kind) for name, group in groups_of(kind).items()}
            for place, signature in places.items():
                for name, parameter in signature.parameters.items():
                    if isinstance(parameter.default, str) or "str" in str(parameter.annotation):
                        told = f"{place}{name}".replace("__", ".")
                        found.setdefault(f"{kind.__name__}.{told}", (make, f"{place}{name}", target))
    return found


PARAMETERS = named_parameters()


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_it_is_refused_by_an_estimator(parameter):
    make, name, target = PARAMETERS[parameter]
    told = name.replace("__", r"\.")
    with pytest.raises((TypeError, ValueError), match=rf"^{told}: expected .*{UNKNOWN}"):
        make(COSTS).set_params(**{name: UNKNOWN}).fit(X, target)


def test_parameters_are_found():
    assert PARAMETERS.keys() >= {
        "BudgetPrune.pruning.search",
        "BudgetRF.growth.impurity",
        "CSCC.objective.class_weight",
        "NestedCascade.stages.order",
    }


def test_a_model_of_an_unknown_library_is_refused():
    class Foreign:
        pass

    with pytest.raises(TypeError, match="expected"):
        ensemble.read(Foreign())
    with pytest.raises(TypeError, match="expected"):
        Forest.from_sklearn(GradientBoostingClassifier())
