"""Which libraries' models are read and written, and by which module."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest

READERS = {
    "sklearn": "ipforest.ensemble.scikit_learn:read_sklearn",
    "lightgbm": "ipforest.ensemble.lightgbm:read_lightgbm",
}
"""Reader of a fitted model, by the package that its class, or the nearest of its bases, comes from."""

WRITERS = {"sklearn": "ipforest.ensemble.scikit_learn:forest_to_sklearn"}
"""Writer of a forest, by format."""


def read(model: object) -> Forest | BoostedTrees:
    """Read a fitted tree ensemble of any known library.

    Parameters
    ----------
    model : fitted model
        scikit-learn: RandomForest*, ExtraTrees*, Bagging* of trees, DecisionTree*, ExtraTree*, GradientBoosting*; also
        in a FrozenEstimator. LightGBM: LGBMClassifier, LGBMRegressor, Booster.

    Returns
    -------
    Forest or BoostedTrees
        Its predictions are the model's.

    Raises
    ------
    TypeError
        No reader for the model's library, or the library's reader does not know this kind of model.
    """
    packages = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    reader = next((READERS[package] for package in packages if package in READERS), None)
    if reader is None:
        raise TypeError(
            f"model: expected a fitted model of {', '.join(READERS)}, got {packages[0]}.{type(model).__name__}"
        )
    return cast("Forest | BoostedTrees", _load(reader)(model))


def write(forest: Forest, target: str) -> Any:
    """Return a forest as a model of another library, or in another format.

    Parameters
    ----------
    forest : Forest
    target : str
        "sklearn": a fitted RandomForestClassifier or RandomForestRegressor.

    Raises
    ------
    TypeError
        It is no Forest.
    ValueError
        Unknown target.
    """
    if not isinstance(forest, Forest):
        raise TypeError(f"forest: expected a Forest, got {type(forest).__name__}")
    if target not in WRITERS:
        raise ValueError(f"target: expected one of {', '.join(WRITERS)}, got {target!r}")
    return _load(WRITERS[target])(forest)


def _load(entry: str) -> Callable[[Any], Any]:
    module, _, function = entry.partition(":")
    return cast("Callable[[Any], Any]", getattr(import_module(module), function))
