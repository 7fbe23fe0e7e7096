"""Order of the units: which to buy first, by what they tell per price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.inspection import permutation_importance

from ipforest._arrays import Array, FloatArray
from ipforest.ensemble.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.losses import loss_for
from ipforest.path import prune_path
from ipforest.session import Seller, Unit

ORDERS = ("importance", "path", "forward")

TIE = 1e-12


def order_units(
    order: str | Sequence[Any],
    estimator: Any,
    X: Array,
    y: Array,
    validation: tuple[Array, Array],
    seller: Seller,
    n_jobs: int | None = None,
) -> tuple[Unit, ...]:
    """Order the units that cost something.

    Parameters
    ----------
    order : {"importance", "path", "forward"} or sequence of features
        By importance in a model of all features per price; by how long acquisitions stay on the path of optimal
        prunings of a random forest; by which unit lowers the validation loss most per price when it is added to those
        before; or as the features are given.
    estimator : estimator
        Trained for "importance" and "forward".
    X, y : ndarrays
        Training examples.
    validation : tuple (X, y)
        Held-out examples for "forward", for permutation importance where the estimator states none, and for the costs
        of "path".
    seller : Seller
        Prices and names.
    n_jobs : int, optional

    Returns
    -------
    tuple of Unit

    Raises
    ------
    ValueError
        Features are named that do not exist, or twice, or that are free.
    """
    if not isinstance(order, str):
        return _given(order, seller)
    if order == "forward":
        return _forward(estimator, X, y, validation, seller, n_jobs)
    score = _importance if order == "importance" else _persistence
    values = score(estimator, X, y, validation, seller)
    return _by_price(seller, lambda unit: float(values[list(unit.features)].sum()))


def _given(features: Sequence[Any], seller: Seller) -> tuple[Unit, ...]:
    columns = [seller.column(feature) for feature in features]
    by_index = {unit.index: unit for unit in seller.paid_units()}
    indices = list(dict.fromkeys(int(seller.first_unit[column]) for column in columns))
    free = [index for index in indices if index not in by_index]
    if free or len(set(columns)) < len(columns):
        raise ValueError(f"order: expected features that cost something, each once, got {list(features)!r}")
    return tuple(by_index[index] for index in indices)


def _by_price(seller: Seller, worth: Callable[[Unit], float]) -> tuple[Unit, ...]:
    """Take the unit that is worth most per price that is left to pay, one after another."""
    remaining, ordered = list(seller.paid_units()), list[Unit]()
    while remaining:
        prices = [seller.price_after(unit, ordered) for unit in remaining]
        ratios = [worth(unit) / max(price, TIE) for unit, price in zip(remaining, prices, strict=True)]
        ordered.append(remaining.pop(int(np.argmax(ratios))))
    return tuple(ordered)


def _importance(estimator: Any, X: Array, y: Array, validation: tuple[Array, Array], seller: Seller) -> FloatArray:
    model = clone(estimator).fit(X, y)
    if hasattr(model, "feature_importances_"):
        values = np.asarray(model.feature_importances_, dtype=np.float64)
    else:
        values = permutation_importance(model, *validation, random_state=0).importances_mean
    return np.maximum(values, 0)


def _persistence(estimator: Any, X: Array, y: Array, validation: tuple[Array, Array], seller: Seller) -> FloatArray:
    """Sum, per feature, the largest lambda at which examples still buy it."""
    classify = is_classifier(estimator)
    kind = RandomForestClassifier if classify else RandomForestRegressor
    forest = Forest.from_sklearn(kind(50, min_samples_leaf=5, random_state=0).fit(X, y))
    instance = PruningInstance.from_forest(forest, validation[0], seller.costs, loss_for(None, classify))
    lambdas = prune_path(instance).node_lambda.astype(np.float64)[instance.triple_node]
    finite = np.where(np.isfinite(lambdas), lambdas, lambdas[np.isfinite(lambdas)].max(initial=0))
    endurance = np.zeros(instance.n_acquisitions)
    np.maximum.at(endurance, instance.indices, finite)
    of_unit = np.bincount(instance.acquisition_unit, weights=endurance, minlength=instance.n_units)
    brought = np.bincount(seller.first_unit, minlength=instance.n_units)
    price = np.array([float(price) for price in seller.costs.unit_costs])
    persistence: FloatArray = (of_unit * price / np.maximum(brought, 1))[seller.first_unit]
    return persistence


def _forward(
    estimator: Any, X: Array, y: Array, validation: tuple[Array, Array], seller: Seller, n_jobs: int | None
) -> tuple[Unit, ...]:
    remaining, ordered = list(seller.paid_units()), list[Unit]()
    columns = [feature for unit in seller.free_units() for feature in unit.features]
    prior = DummyClassifier() if is_classifier(estimator) else DummyRegressor()
    loss = _loss_with(estimator if columns else prior, columns, X, y, validation)
    while remaining:
        losses = Parallel(n_jobs=n_jobs)(
            delayed(_loss_with)(estimator, [*columns, *unit.features], X, y, validation) for unit in remaining
        )
        prices = [max(seller.price_after(unit, ordered), TIE) for unit in remaining]
        gains = [loss - value for value in losses]
        best = int(
            np.argmax([gain / price if gain > 0 else gain * price for gain, price in zip(gains, prices, strict=True)])
        )
        loss = losses[best]
        ordered.append(remaining.pop(best))
        columns += ordered[-1].features
    return tuple(ordered)


def _loss_with(estimator: Any, columns: list[int], X: Array, y: Array, validation: tuple[Array, Array]) -> float:
    """Train on some columns; compute the squared error of the probabilities, or of the target, on held-out examples."""
    model = clone(estimator).fit(X[:, columns], y)
    held_out, truth = validation[0][:, columns], validation[1]
    if is_classifier(estimator):
        missed = model.predict_proba(held_out) - (truth[:, None] == model.classes_)
        return float(np.square(missed).sum() / truth.size)
    return float(np.square(model.predict(held_out) - truth).mean())
