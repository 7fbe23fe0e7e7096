"""Order of the units: which to buy first, by what they tell per price."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.inspection import permutation_importance

from ipforest._internal.arrays import Array, FloatArray
from ipforest._internal.examples import Labelled, weights_for
from ipforest.ensemble.forest import Forest
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.losses import loss_for
from ipforest.path_search import prune_path
from ipforest.session import Seller, Unit

ORDERS = ("importance", "path", "forward")

LEAST_PRICE = 1e-12
"""Stands for a price of 0 where something is divided by prices."""

LOCAL_LEAF = 0.005
"""Share of the examples that a leaf has at least in the forest in which importance is measured for each example."""


def order_units(
    order: str | Sequence[Any],
    estimator: Any,
    training: Labelled,
    validation: Labelled,
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
    training : Labelled
    validation : Labelled
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
        return _forward(estimator, training, validation, seller, n_jobs)
    score = _importance if order == "importance" else _persistence
    values = score(estimator, training, validation, seller)
    worth = values @ features_of_units(seller)
    return by_price(seller, worth, (), len(seller.paid_units()))


def _given(features: Sequence[Any], seller: Seller) -> tuple[Unit, ...]:
    columns = [seller.column(feature) for feature in features]
    by_index = {unit.index: unit for unit in seller.paid_units()}
    indices = list(dict.fromkeys(int(seller.first_unit[column]) for column in columns))
    if seller.free_features[columns].any() or len(set(columns)) < len(columns):
        raise ValueError(f"order: expected features that cost something, each once, got {list(features)!r}")
    return tuple(by_index[index] for index in indices if index in by_index)


def features_of_units(seller: Seller) -> csr_array:
    """Mark with 1 the features that each unit of the seller brings, shape (n_features, n_units)."""
    n, n_units = seller.costs.n_features, seller.costs.n_units
    return csr_array((np.ones(n), (np.arange(n), seller.first_unit)), shape=(n, n_units))


def by_price(seller: Seller, worth: FloatArray, bought: Sequence[Unit], n_more: int) -> tuple[Unit, ...]:
    """Add to units that are bought those that are worth most per price that is left to pay, one after another.

    Parameters
    ----------
    seller : Seller
    worth : ndarray of float64, shape (n_units,)
    bought : sequence of Unit
    n_more : int
        How many to add at most.

    Returns
    -------
    tuple of Unit
        Those bought, then the others.
    """
    owned = {unit.index for unit in bought}
    remaining = [unit for unit in seller.paid_units() if unit.index not in owned]
    price, values = np.append(seller.costs.float_unit_costs, 0.0), worth[[unit.index for unit in remaining]]
    price[seller.needs(bought)] = 0.0
    needs = seller.needs(remaining)
    rows, nothing = np.repeat(np.arange(len(remaining)), 2), seller.costs.n_units
    with_need = csc_array((np.ones(rows.size), (rows, needs.ravel())), shape=(len(remaining), nothing + 1))
    ordered = list(bought)

    def per_price(rows: Any) -> FloatArray:
        return np.asarray(values[rows] / np.maximum(price[needs[rows]].sum(axis=1), LEAST_PRICE))

    ratios = per_price(slice(None))
    for _ in range(min(n_more, len(remaining))):
        best = int(np.argmax(ratios))
        ordered.append(remaining[best])
        values[best] = -inf
        for paid in needs[best][needs[best] < nothing].tolist():
            price[paid] = 0.0
            cheaper = with_need.indices[with_need.indptr[paid] : with_need.indptr[paid + 1]]
            ratios[cheaper] = per_price(cheaper)
    return tuple(ordered)


def prices_left(seller: Seller, units: Sequence[Unit], bought: Sequence[Unit]) -> FloatArray:
    """Compute what each unit still costs once others are bought, never 0, shape (n_given,)."""
    return np.maximum(seller.prices_after(units, bought), LEAST_PRICE)


def _importance(estimator: Any, training: Labelled, validation: Labelled, seller: Seller) -> FloatArray:
    model = _trained(estimator, training)
    if hasattr(model, "feature_importances_"):
        values = np.asarray(model.feature_importances_, dtype=np.float64)
    else:
        values = permutation_importance(
            model, validation.X, validation.y, random_state=0, sample_weight=validation.weight_unless_equal
        ).importances_mean
    return np.maximum(values, 0)


def importance_to_each(training: Labelled, classify: bool) -> FloatArray:
    """Compute how much each feature tells about each training example: its local importance in a random forest.

    Parameters
    ----------
    training : Labelled
    classify : bool
        Whether the targets are classes.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_features)
        See `local_importance`.
    """
    return local_importance(_forest(training, classify, LOCAL_LEAF), training.X.astype(np.float32))


def local_importance(forest: Forest, X: Array) -> FloatArray:
    """Compute by how much the tests of each feature on an example's paths lower the impurity, averaged over trees.

    The mean over the examples that a tree was grown on is the importance of its features as scikit-learn has it, before
    these are scaled to sum to 1.

    Parameters
    ----------
    forest : Forest
    X : ndarray of float32, shape (n_samples, n_features)

    Returns
    -------
    ndarray of float64, shape (n_samples, n_features)

    References
    ----------
    Sutera, Louppe, Huynh-Thu, Wehenkel, Geurts, "From global to local MDI variable importances for random forests and
    when they are Shapley values", NeurIPS 2021.
    """
    inner, impurity, n = forest.internal_nodes, forest.weight * forest.impurity, X.shape[0]
    told = np.zeros(forest.n_nodes)
    told[inner] = impurity[inner] - impurity[forest.left[inner]] - impurity[forest.right[inner]]
    told[inner] /= forest.weight[inner]
    leaf = np.flatnonzero(forest.left < 0)
    above, on_path = forest.parent[leaf], []
    while leaf.size:
        leaf, above = leaf[above >= 0], above[above >= 0]
        on_path.append((leaf, above))
        above = forest.parent[above]
    leaves, tests = (np.concatenate(numbers) for numbers in zip(*on_path, strict=True))
    by_leaf = csr_array((told[tests], (leaves, forest.feature[tests])), shape=(forest.n_nodes, forest.n_features))
    reached = forest.leaves(X).T.ravel()
    paths = (np.ones(reached.size), reached, np.arange(0, reached.size + 1, forest.n_trees))
    mean: FloatArray = (csr_array(paths, shape=(n, forest.n_nodes)) @ by_leaf).toarray() / forest.n_trees
    return mean


def _persistence(estimator: Any, training: Labelled, validation: Labelled, seller: Seller) -> FloatArray:
    """Sum, per feature, the largest lambda at which examples still buy it."""
    classify = is_classifier(estimator)
    forest, loss = _forest(training, classify, 5), loss_for(None, classify)
    instance = PruningInstance.from_forest(forest, validation.X, seller.costs, loss, resolution=FITS_PATH)
    lambdas = prune_path(instance).node_lambda.astype(np.float64)[instance.triple_node]
    finite = np.where(np.isfinite(lambdas), lambdas, lambdas[np.isfinite(lambdas)].max(initial=0))
    endurance = np.zeros(instance.n_acquisitions)
    np.maximum.at(endurance, instance.indices, finite)
    of_unit = np.bincount(instance.acquisition_unit, weights=endurance, minlength=instance.n_units)
    brought = np.bincount(seller.first_unit, minlength=instance.n_units)
    price = seller.costs.float_unit_costs
    persistence: FloatArray = (of_unit * price / np.maximum(brought, 1))[seller.first_unit]
    return persistence


def _forward(
    estimator: Any, training: Labelled, validation: Labelled, seller: Seller, n_jobs: int | None
) -> tuple[Unit, ...]:
    remaining, ordered = list(seller.paid_units()), list[Unit]()
    columns = [feature for unit in seller.free_units() for feature in unit.features]
    prior = DummyClassifier() if is_classifier(estimator) else DummyRegressor()
    loss = _loss_with(estimator if columns else prior, columns, training, validation)
    while remaining:
        losses = Parallel(n_jobs=n_jobs)(
            delayed(_loss_with)(estimator, [*columns, *unit.features], training, validation) for unit in remaining
        )
        prices, gains = prices_left(seller, remaining, ordered), loss - np.array(losses)
        best = int(np.argmax(np.where(gains > 0, gains / prices, gains * prices)))
        loss = losses[best]
        ordered.append(remaining.pop(best))
        columns += ordered[-1].features
    return tuple(ordered)


def _loss_with(estimator: Any, columns: list[int], training: Labelled, validation: Labelled) -> float:
    """Train on some columns; compute the squared error of the probabilities, or of the target, on held-out examples."""
    model = _trained(estimator, training._replace(X=training.X[:, columns]))
    held_out, truth = validation.X[:, columns], validation.y
    if is_classifier(estimator):
        missed = np.square(model.predict_proba(held_out) - (truth[:, None] == model.classes_)).sum(axis=1)
    else:
        missed = np.square(model.predict(held_out) - truth)
    return float(np.average(missed, weights=validation.weight))


def _forest(training: Labelled, classify: bool, min_samples_leaf: float) -> Forest:
    kind = RandomForestClassifier if classify else RandomForestRegressor
    return Forest.from_sklearn(_trained(kind(50, min_samples_leaf=min_samples_leaf, random_state=0), training))


def _trained(estimator: Any, training: Labelled) -> Any:
    """Train a new model like another, by weights unless they are all the same."""
    return clone(estimator).fit(training.X, training.y, **weights_for(estimator, training.weight_unless_equal))
