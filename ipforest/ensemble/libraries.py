"""Which libraries' models are read and written, and by which module."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.library_checks import require_own_predictions
from ipforest.ensemble.scikit_learn import unfrozen

READERS = {
    "sklearn": "ipforest.ensemble.scikit_learn:read_sklearn",
    "lightgbm": "ipforest.ensemble.lightgbm:read_lightgbm",
    "xgboost": "ipforest.ensemble.xgboost:read_xgboost",
    "catboost": "ipforest.ensemble.catboost:read_catboost",
}
"""Reader of a fitted model, by the package that its class, or the nearest of its bases, comes from."""

WRITERS = {
    "sklearn": "ipforest.ensemble.scikit_learn:forest_to_sklearn",
    "lightgbm": "ipforest.ensemble.lightgbm:write_lightgbm",
    "onnx": "ipforest.ensemble.onnx:write_onnx",
    "c": "ipforest.ensemble.c_source:write_c",
}
"""Writer of trees, by format."""

MODEL_WRITERS = {
    "json": "ipforest.deployment.document:write_json",
    "c": "ipforest.deployment.c_model:write_c_model",
}
"""Writer of classifiers in which more than trees decides, by format."""


def read(model: object) -> Forest | BoostedTrees:
    """Read a fitted tree ensemble of any known library.

    Parameters
    ----------
    model : fitted model
        scikit-learn: RandomForest*, ExtraTrees*, Bagging* of trees, DecisionTree*, ExtraTree*, GradientBoosting*,
        HistGradientBoosting*. LightGBM: LGBMClassifier, LGBMRegressor, Booster. XGBoost: XGBClassifier, XGBRegressor,
        Booster. CatBoost with symmetric trees: CatBoostClassifier, CatBoostRegressor. All may be in a FrozenEstimator.

    Returns
    -------
    Forest or BoostedTrees
        Its predictions are the model's: those of a classifier or regressor, labels and probabilities or targets. A bare
        LightGBM or XGBoost Booster with a logistic objective is read as a classifier.

    Raises
    ------
    TypeError
        No reader for the model's library, the library's reader does not know this kind of model, or the model's class
        predicts in a way of its own.
    """
    model = unfrozen(model)
    packages = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    library = next((package for package in packages if package in READERS), None)
    if library is None:
        raise TypeError(
            f"model: expected a fitted model of {', '.join(READERS)}, got {packages[0]}.{type(model).__name__}"
        )
    require_own_predictions(model, library)
    return cast("Forest | BoostedTrees", _load(READERS[library])(model))


def write(trees: Any, target: str) -> Any:
    """Return trees as a model of another library, or in another format.

    Parameters
    ----------
    trees : Forest, BoostedTrees, or fitted estimator of this package
        An estimator is refused where more than its trees decides: class costs, a cap, a rule that stops buying; but
        "json" and "c" hold rules and stages. Its trees by themselves (``pruned_``, ``trees_.trees``) are written
        without these: as what they predict, no more.
    target : str
        "sklearn": a Forest as a fitted RandomForestClassifier or RandomForestRegressor.
        "lightgbm": BoostedTrees as a `lightgbm.Booster`; its ``model_to_string`` is LightGBM's text model.
        "onnx": an `onnx.ModelProto`. "c": C source, as text. "json": text for `ipforest.deployment.reader`, of a
        classifier of this package with its rule and stages; see ``ipforest/deployment/schema.json``.

    Raises
    ------
    TypeError
        They are no trees of this package, or not of the kind that the format holds.
    ValueError
        Unknown target, tests that the format cannot express, or an estimator whose decision trees do not hold.
    """
    if hasattr(trees, "to_trees"):
        if target in MODEL_WRITERS and (target not in WRITERS or trees.decides_by):
            return _load(MODEL_WRITERS[target])(trees)
        trees = trees.to_trees()
    elif target == "json":
        raise TypeError(f"trees: expected a fitted estimator of this package for 'json', got {type(trees).__name__}")
    if not isinstance(trees, Forest | BoostedTrees):
        raise TypeError(f"trees: expected a Forest or BoostedTrees, got {type(trees).__name__}")
    if target not in WRITERS:
        formats = ", ".join(dict.fromkeys([*WRITERS, *MODEL_WRITERS]))
        raise ValueError(f"target: expected one of {formats}, got {target!r}")
    return _load(WRITERS[target])(trees)


def _load(entry: str) -> Callable[[Any], Any]:
    module, _, function = entry.partition(":")
    return cast("Callable[[Any], Any]", getattr(import_module(module), function))
