"""Fitted forests with data and prices, and whether the package makes of them what the definition says.

`ipforest` reads the forest, routes the examples, and counts errors and costs; `proofs.crosschecks.reference` does the
same from scikit-learn's arrays in plain Python. Forests are small, data coarse and full of ties: thresholds are moved
onto values that occur, values are missing, prices are zero, groups have fees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipforest.costs import FeatureCosts
from ipforest.ensemble.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.results import Pruning
from ipforest.solvers import solve
from proofs.crosschecks.methods import CrossCheck, crosscheck
from proofs.crosschecks.reference import Prices, Reference

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class FittedProblem:
    """All that an instance is made of.

    Parameters
    ----------
    model : fitted estimator
        A forest of scikit-learn.
    rows : ndarray, shape (n_examples, n_features)
        The examples that pay.
    prices : Prices
    loss : str
    error_data : tuple (X, y) or None
        Errors are counted on these examples; None for the in-bag ones.
    """

    model: Any
    rows: NDArray[np.float64]
    prices: Prices
    loss: str
    error_data: tuple[NDArray[np.float64], NDArray[Any]] | None

    def forest(self) -> Forest:
        """Read the forest by the package."""
        return Forest.from_sklearn(self.model)

    def costs(self) -> FeatureCosts:
        """Write the price list as the package takes it."""
        return FeatureCosts(self.prices.prices, groups=self.prices.groups, group_fees=self.prices.fees)

    def instance(self) -> PruningInstance:
        """Build the instance by the package."""
        return PruningInstance.from_forest(
            self.forest(), self.rows, self.costs(), self.loss, error_data=self.error_data, split_cost=self.prices.test
        )

    def reference(self) -> Reference:
        """Walk the forest by the definition."""
        return Reference(self.model, self.rows, self.prices, self.loss, self.error_data)


def crosscheck_fitted(
    problem: FittedProblem, lam: Fraction, methods: Any = None, budget: Fraction | None = None
) -> CrossCheck:
    """Cross-check the instance of a fitted forest as `crosscheck` does, and the instance against the data.

    Parameters
    ----------
    problem : FittedProblem
    lam : Fraction
    methods, budget
        See `crosscheck`.
    """
    instance = problem.instance()
    differences = (*instance_differences(problem, instance), *pruning_differences(problem, instance, lam))
    return replace(crosscheck(instance, lam, methods, budget), differences=differences)


def instance_differences(problem: FittedProblem, instance: PruningInstance) -> tuple[str, ...]:
    """List where an instance is not what the definition makes of the data."""
    reference = problem.reference()
    return tuple(_structure_differences(reference, instance)) + tuple(_amount_differences(reference, instance))


def _structure_differences(reference: Reference, instance: PruningInstance) -> Iterator[str]:
    if instance.tree_offsets.tolist() != reference.starts or instance.node_parent.tolist() != reference.parents():
        yield "the trees are others"
    if instance.example_leaf is None or instance.example_leaf.tolist() != reference.leaves():
        yield "the examples reach other leaves"
    pairs = list(zip(instance.acquisition_unit.tolist(), instance.acquisition_example.tolist(), strict=True))
    nodes = instance.internal_nodes[instance.triple_node].tolist()
    uses = {(node, *pairs[pair]) for node, pair in zip(nodes, instance.indices.tolist(), strict=True)}
    if uses != reference.first_uses() or len(nodes) != len(uses):
        yield "the examples first need other units, or at other nodes"


def _amount_differences(reference: Reference, instance: PruningInstance) -> Iterator[str]:
    unit_prices, n_examples = reference.prices.unit_prices, len(reference.rows)
    per_example = instance.cost_unit * n_examples
    if (instance.n_units, instance.n_examples) != (len(unit_prices), n_examples):
        yield f"{instance.n_units} units and {instance.n_examples} examples, not {len(unit_prices)} and {n_examples}"
    paid = [per_example * cost for cost in instance.acquisition_cost.tolist()]
    if paid != [unit_prices[unit] for unit in instance.acquisition_unit.tolist()]:
        yield "units have other prices"
    passing = reference.passing()
    tests = [per_example * cost for cost in instance.split_cost.tolist()]
    if tests != [reference.prices.test * passing[node] for node in instance.internal_nodes.tolist()]:
        yield "tests cost something else"
    weight = reference.weight()
    step = float(instance.error_unit) * weight
    for node, (error, loss) in enumerate(zip(instance.errors.tolist(), reference.losses(), strict=True)):
        allowed = TOLERANCE * max(1.0, loss) + (0 if reference.loss == "misclassification" else step / 2)
        if abs(error * step - loss) > allowed:
            yield f"stopping at node {node} loses {error * step}, not {loss}"
            return


def pruning_differences(problem: FittedProblem, instance: PruningInstance, lam: Fraction) -> tuple[str, ...]:
    """List where the pruned forests, and their errors and costs, are not what the definition says.

    Compared are the optimal pruning at lambda and the one that keeps everything.
    """
    forest, reference = problem.forest(), problem.reference()
    found: list[str] = []
    for pruning in (solve(instance, lam).pruning, instance.unpruned):
        found += _pruned_differences(problem, forest, instance, reference, pruning)
    return tuple(dict.fromkeys(found))


def _pruned_differences(
    problem: FittedProblem, forest: Forest, instance: PruningInstance, reference: Reference, pruning: Pruning
) -> Iterator[str]:
    kept = set(instance.internal_nodes[pruning.kept].tolist())
    error, cost = instance.evaluate(pruning)
    if cost != reference.cost(kept):
        yield f"a pruning costs {cost}, not {reference.cost(kept)}"
    stops = [
        node for number, start in enumerate(reference.starts[:-1]) for node in _stops(reference, number, start, kept)
    ]
    losses = reference.losses()
    expected = sum(losses[node] for node in stops) / reference.weight()
    allowed = TOLERANCE * max(1.0, expected)
    if reference.loss != "misclassification":
        allowed += float(instance.error_unit) * len(stops) / 2
    if abs(float(error) - expected) > allowed:
        yield f"a pruning has error {float(error)}, not {expected}"
    pruned = forest.prune(pruning)
    predicted = pruned.predict_proba(problem.rows) if pruned.is_classifier else pruned.predict(problem.rows)[:, None]
    if not np.allclose(predicted, [reference.predict(row, kept) for row in reference.rows], rtol=0, atol=TOLERANCE):
        yield "a pruned forest predicts something else"


def _stops(reference: Reference, number: int, root: int, kept: set[int]) -> Iterator[int]:
    """Yield the leaves of a pruned tree."""
    tree, start, todo = reference.trees[number], reference.starts[number], [root]
    while todo:
        node = todo.pop()
        if node in kept:
            todo += [start + int(side[node - start]) for side in (tree.children_left, tree.children_right)]
        else:
            yield node


def draw_fitted_problem(rng: np.random.Generator, large: bool) -> FittedProblem:
    """Fit a forest to coarse random data, move some of its thresholds onto values, and price its features.

    Parameters
    ----------
    rng : numpy Generator
    large : bool
        Up to 8 trees of depth 6; otherwise so small that all prunings can be listed.
    """
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    n_samples, n_features = int(rng.integers(20, 120)), int(rng.integers(2, 7))
    X = rng.integers(0, 5, size=(n_samples, n_features)).astype(np.float64)
    score = X[:, 0] + X[:, 1] * X[:, -1] + 3 * rng.random(n_samples)
    is_classifier, missing = rng.random() < 0.8, rng.random() < 0.3
    y = (score > 6).astype(int) + (X[:, -1] > 3) if is_classifier else np.round(score)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    half = n_samples // 2
    kinds = (
        (RandomForestClassifier, ExtraTreesClassifier)
        if is_classifier
        else (RandomForestRegressor, ExtraTreesRegressor)
    )
    shape = {"n_estimators": int(rng.integers(2, 9) if large else rng.integers(1, 4))}
    if rng.random() < 0.3:
        shape["max_leaf_nodes"] = int(rng.integers(2, 20 if large else 5))
    else:
        shape["max_depth"] = int(rng.integers(1, 7 if large else 3))
    kind = kinds[0] if missing else kinds[int(rng.integers(2))]
    model = kind(**shape, bootstrap=bool(rng.integers(0, 2)), random_state=int(rng.integers(0, 2**31)))
    model.fit(X[:half], y[:half])
    for member in model.estimators_:
        thresholds = member.tree_.threshold
        moved = (member.tree_.children_left >= 0) & (rng.random(thresholds.size) < 0.5)
        thresholds[moved] = np.floor(thresholds[moved])
    held_out = None
    known = np.isin(y[half:], y[:half])
    if known.any() and rng.integers(0, 2):
        held_out = X[half:][known], y[half:][known]
    losses = ("misclassification", "misclassification", "gini", "entropy") if is_classifier else ("squared_error",)
    loss = losses[int(rng.integers(len(losses)))] if held_out is None else losses[0]
    return FittedProblem(
        model=model,
        rows=X[half : half + int(rng.integers(3, 40))],
        prices=_draw_prices(rng, n_features),
        loss=loss,
        error_data=held_out,
    )


def _draw_prices(rng: np.random.Generator, n_features: int) -> Prices:
    scale = int(rng.integers(1, 4))
    return Prices(
        prices=[Fraction(price, scale) for price in rng.integers(0, 4, size=n_features).tolist()],
        groups=rng.integers(-1, 2, size=n_features).tolist(),
        fees=[Fraction(fee, scale) for fee in rng.integers(0, 6, size=2).tolist()],
        test=Fraction(int(rng.integers(0, 3)), 7),
    )
