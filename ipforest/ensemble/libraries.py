"""Which libraries' models are read and written, and by which module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

import numpy as np

from ipforest._internal.registry import installed
from ipforest._internal.words import some_of
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.library_checks import require_own_predictions
from ipforest.ensemble.scikit_learn import BOOSTED, HISTOGRAM_BOOSTED
from ipforest.ensemble.sklearn_trees import unfrozen

READERS: dict[str, str | Callable[..., Any]] = {
    "sklearn": "ipforest.ensemble.scikit_learn:read_sklearn",
    "lightgbm": "ipforest.ensemble.lightgbm:read_lightgbm",
    "xgboost": "ipforest.ensemble.xgboost:read_xgboost",
    "catboost": "ipforest.ensemble.catboost:read_catboost",
}
"""Reader of a fitted model, by the package that its class, or the nearest of its bases, comes from: MODULE:FUNCTION, or
the function itself. Entry points of the group "ipforest.readers" add those of installed packages."""

WRITERS = {
    "sklearn": "ipforest.ensemble.scikit_learn:write_sklearn",
    "lightgbm": "ipforest.ensemble.lightgbm:write_lightgbm",
    "xgboost": "ipforest.ensemble.xgboost:write_xgboost",
    "onnx": "ipforest.ensemble.onnx:write_onnx",
    "c": "ipforest.ensemble.c_source:write_c",
}
"""Writer of trees, by format."""

MODEL_WRITERS = {
    "json": "ipforest.deployment.document:write_json",
    "c": "ipforest.deployment.c_model:write_c_model",
    "onnx": "ipforest.deployment.onnx_model:write_onnx_model",
}
"""Writer of estimators in which more than trees decides, by format."""


SHARE_ROOM = 1e-6
"""By how much the sum of a node's class shares may differ from 1."""

CATEGORIES = {
    "sklearn": "ipforest.ensemble.histogram_boosting:trained_categories",
    "lightgbm": "ipforest.ensemble.lightgbm:trained_categories",
    "xgboost": "ipforest.ensemble.xgboost:trained_categories",
}
"""What the numbers of categories stood for in training, by the package of the model; elsewhere for themselves."""


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
    library = _library_of(model)
    if library is None:
        package = type(model).__module__.partition(".")[0]
        raise TypeError(
            f"model: expected a fitted model of {', '.join(_readers())}, got {package}.{type(model).__name__}"
        )
    require_own_predictions(model, library)
    return read_by(_readers()[library], model)


def _readers() -> dict[str, str | Callable[..., Any]]:
    """Return the readers of this package, of the user, and of installed packages, which replace none of the others."""
    return {plugin.name: plugin.value for plugin in installed("ipforest.readers")} | READERS


def read_by(entry: str | Callable[..., Any], model: object) -> Forest | BoostedTrees:
    """Read by a reader, which may be one of another package.

    Raises
    ------
    ImportError
        The reader is not there.
    TypeError
        It returns no trees.
    ValueError
        It returns counts of classes in place of shares.
    """
    try:
        reader = _load(entry) if isinstance(entry, str) else entry
    except (AttributeError, ImportError, ValueError) as problem:
        raise ImportError(f"READERS: expected MODULE:FUNCTION or a function, got {entry!r} ({problem})") from problem
    trees: Forest | BoostedTrees = reader(model)
    if not isinstance(trees, Forest | BoostedTrees):
        raise TypeError(f"READERS: expected {entry!r} to return a Forest or BoostedTrees, got {type(trees).__name__}")
    if isinstance(trees, Forest) and trees.is_classifier:
        wrong = (np.abs(trees.value.sum(axis=1) - 1) > SHARE_ROOM) | (trees.value.min(axis=1) < 0)
        if wrong.any():
            node = int(wrong.argmax())
            raise ValueError(
                f"READERS: expected {entry!r} to return class shares >= 0 whose sum is 1, got value "
                f"{trees.value[node].tolist()} at node {node}; divide counts by their sum"
            )
    return trees


def sums_trees(model: object) -> bool:
    """Return whether a model is of a kind that `read` takes as summed trees, or refuses with what is special in it."""
    return _library_of(model) not in (None, "sklearn") or isinstance(model, (*BOOSTED, *HISTOGRAM_BOOSTED))


def trained_categories(model: object) -> Categories:
    """Return the columns of categories that a fitted model was trained on, as far as its library keeps their names."""
    model = unfrozen(model)
    entry = CATEGORIES.get(_library_of(model) or "")
    return _load(entry)(model) if entry else Categories()


def learns_categories(model: object) -> bool:
    """Return whether a model is of a library that learns from columns of a data frame of dtype "category"."""
    return _library_of(model) in ("lightgbm", "xgboost")


def require_trained_categories(model: object, names: Mapping[int, Sequence[Any]], labels: Sequence[str]) -> None:
    """Require that the categories of a table have the numbers that they had when a model was trained.

    Parameters
    ----------
    model : fitted model
    names : mapping from int to sequence
        Of each column of categories, what its numbers 0, 1, 2, ... stand for in the table.
    labels : sequence of str, shape (n_features,)
        Names of all columns, for the error message.
    """
    trained = trained_categories(model).placed_in(sorted(names)).names
    for column, given in names.items():
        expected = trained.get(column)
        if [*given] != [*(range(len(given)) if expected is None else expected)]:
            name, kind = labels[column], type(unfrozen(model)).__name__
            if expected is None:
                raise ValueError(
                    f"X: expected in column {name!r} the numbers that {kind} was trained on, as it keeps no names of "
                    f"categories, got {some_of(given)}; use X[{name!r}].astype(float) if they are these numbers"
                )
            raise ValueError(
                f"X: expected in column {name!r} the categories of {kind} in their order, "
                f"{some_of(expected) or 'none'}, got {some_of(given)}; use X[{name!r}].cat.set_categories(...)"
            )


def _library_of(model: object) -> str | None:
    """Return the package with a reader that a model's class, or the nearest of its bases, comes from."""
    packages = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    known = _readers()
    return next((package for package in packages if package in known), None)


def write(trees: Any, target: str) -> Any:
    """Return trees as a model of another library, or in another format.

    Parameters
    ----------
    trees : Forest, BoostedTrees, or fitted estimator of this package
        An estimator is refused where more than its trees decides: class costs, a cap, a rule that stops buying; but
        "json", "c" and "onnx" hold these, and stages, gates, calibration and decision thresholds. Its trees by
        themselves (``pruned_``, ``trees_.trees``) are written without these: as what they predict, no more.
    target : str
        "sklearn": a Forest as a fitted RandomForestClassifier or RandomForestRegressor.
        "lightgbm": BoostedTrees as a `lightgbm.Booster`; its ``model_to_string`` is LightGBM's text model.
        "xgboost": BoostedTrees as an `xgboost.Booster`; its ``save_raw("json")`` is XGBoost's JSON.
        "onnx": an `onnx.ModelProto`. "c": C source, as text. "json": text for `ipforest.deployment.reader`, of an
        estimator of this package with all that decides; see ``ipforest/deployment/schema.json``.

    Raises
    ------
    TypeError
        They are no trees of this package, or not of the kind that the format holds.
    ValueError
        Unknown target, tests that the format cannot express, or an estimator whose decision trees do not hold.
    """
    formats = dict.fromkeys([*WRITERS, *MODEL_WRITERS])
    if target not in formats:
        raise ValueError(f"target: expected one of {', '.join(formats)}, got {target!r}")
    if hasattr(trees, "to_trees"):
        if target in MODEL_WRITERS and (target not in WRITERS or trees.decides_by or _holds_more(trees, target)):
            return _load(MODEL_WRITERS[target])(trees)
        trees = _in_words(trees) if target == "lightgbm" else trees.to_trees()
    elif target == "json":
        raise TypeError(f"trees: expected a fitted estimator of this package for 'json', got {type(trees).__name__}")
    if not isinstance(trees, Forest | BoostedTrees):
        raise TypeError(f"trees: expected a Forest or BoostedTrees, got {type(trees).__name__}")
    return _load(WRITERS[target])(trees)


def _in_words(model: Any) -> Any:
    """Return the trees of an estimator; of words also their names and those of the columns, as of a data frame."""
    trees, categories = model.to_trees(), model.categories_
    names = getattr(model, "feature_names_in_", None)
    if not categories.names or names is None:
        return trees
    return replace(trees, categories=categories, feature_names=trees.feature_names or tuple(map(str, names)))


def _holds_more(model: Any, target: str) -> bool:
    """Tell whether a format holds more of an estimator than of its trees: ONNX tests of categories, C their names."""
    if target == "c":
        return bool(model.categories_.names)
    return target == "onnx" and bool(model.to_trees().tests_categories.any())


def _load(entry: str) -> Callable[..., Any]:
    module, _, function = entry.partition(":")
    return cast("Callable[..., Any]", getattr(import_module(module), function))
