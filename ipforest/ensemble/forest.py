"""Forest: trees whose leaf values are averaged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest._internal.examples import require_rows_in_order
from ipforest.ensemble import routing
from ipforest.ensemble.margin_losses import checked_targets, checked_weights
from ipforest.ensemble.packing import without_counts
from ipforest.ensemble.sklearn_trees import averaged_fields, averaging_trees, random_forest_of
from ipforest.ensemble.trees import Trees


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Forest(Trees):
    """Decision trees whose leaf values are averaged, and what their nodes learnt in training.

    Parameters
    ----------
    tree_offsets, left, right, feature, threshold, missing_left, n_features, comparison, dtype, feature_names
        The structure; see `ipforest.ensemble.Trees`.
    category_set, left_categories, categories
        Tests of categories; see there.
    value : ndarray of float64, shape (n_nodes, n_classes) or (n_nodes, 1)
        Class distribution of the training examples at the node, or their predicted target.
    weight : ndarray of float64, shape (n_nodes,)
        In-bag weight at the node: the number of bootstrap draws, times sample and class weights.
    n_samples : ndarray of int64, shape (n_nodes,)
        Distinct training examples at the node.
    impurity : ndarray of float64, shape (n_nodes,)
        The training criterion at the node.
    classes : ndarray, shape (n_classes,), or None
        Class labels; None for a regression forest.
    criterion : str
        The training criterion: "gini", "entropy", "squared_error", ...

    Raises
    ------
    TypeError, ValueError
        Arrays of wrong length, numbers that are not finite, negative weights, or a broken structure.
    """

    NODE_FIELDS: ClassVar[tuple[str, ...]] = (*Trees.NODE_FIELDS, "value", "weight", "n_samples", "impurity")
    link: ClassVar[str] = "mean"
    """Sums over the trees are divided by their number; see `ipforest.ensemble.BoostedTrees` for other links."""

    value: FloatArray
    weight: FloatArray
    n_samples: IntArray
    impurity: FloatArray
    classes: Array | None
    criterion: str

    __getstate__, __setstate__ = Trees.__getstate__, Trees.__setstate__

    def __post_init__(self) -> None:
        Trees.__post_init__(self)
        n_values = 1 if self.classes is None else len(self.classes)
        self._check_numbers("value", np.float64, (self.n_nodes, n_values))
        self._check_numbers("weight", np.float64, (self.n_nodes,))
        self._check_numbers("n_samples", np.int64, (self.n_nodes,))
        self._check_numbers("impurity", np.float64, (self.n_nodes,))
        if self.weight.min() < 0:
            raise ValueError(
                f"weight: expected numbers >= 0, got {self.weight.min()}; train the forest without negative weights"
            )

    @classmethod
    def from_sklearn(cls, estimator: object) -> Forest:
        """Read a fitted scikit-learn tree or averaging ensemble of trees.

        Parameters
        ----------
        estimator : fitted estimator
            RandomForest*, ExtraTrees*, Bagging* of trees, DecisionTree* or ExtraTree*; also in a FrozenEstimator.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The estimator is not fitted.
        TypeError
            The estimator does not average trees (gradient boosting sums them, for instance).
        ValueError
            It predicts several outputs.
        """
        trees = averaging_trees(estimator)
        check_is_fitted(trees)
        if hasattr(trees, "to_forest"):
            forest: Forest = trees.to_forest()
            return forest
        return cls(**averaged_fields(trees))

    def to_sklearn(self) -> Any:
        """Return the forest as a fitted scikit-learn RandomForestClassifier or RandomForestRegressor.

        Raises
        ------
        ValueError
            A test is none of scikit-learn's forests: of a category, by "<", or of float64 values.
        RuntimeError
            This version of scikit-learn holds trees in another way.
        """
        return random_forest_of(self)

    @property
    def is_classifier(self) -> bool:
        """Whether the forest predicts classes."""
        return self.classes is not None

    @property
    def base_score(self) -> FloatArray:
        """Sums before the first tree: zeros, shape (n_values,)."""
        return np.zeros(self.value.shape[1])

    @property
    def first_output(self) -> Int32Array:
        """The first of the sums that each tree adds to: 0, shape (n_trees,)."""
        return np.zeros(self.n_trees, dtype=np.int32)

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Average the leaf distributions (BudgetPrune, Algorithm 1, steps 5-6).

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)

        Raises
        ------
        AttributeError
            The forest is for regression.
        """
        if not self.is_classifier:
            raise AttributeError("predict_proba: expected a classification forest, got a regression forest")
        return self.mean_value(self.checked_examples(X))

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the class of the highest average probability, or the average of the leaf values.

        Returns
        -------
        ndarray, shape (n_samples,)
            Class labels, or float64 for regression.
        """
        mean = self.mean_value(self.checked_examples(X))
        if self.classes is None:
            return mean[:, 0]
        labels: Array = self.classes[np.argmax(mean, axis=1)]
        return labels

    def mean_value(self, examples: Array) -> FloatArray:
        """Average what the trees say, in their order, as scikit-learn adds: so ties fall alike.

        Parameters
        ----------
        examples : ndarray, shape (n_samples, n_features)
            From `checked_examples`.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes) or (n_samples, 1)
        """
        total: FloatArray = routing.summed_values(self.splits, self.value, examples)
        total /= self.n_trees
        return total

    def without_counts(self) -> Forest:
        """Forget how many examples the leaves have seen; they predict the same to the last bit.

        What other nodes predict changes, as leaves count otherwise then.
        """
        fields: dict[str, Any] = without_counts({name: getattr(self, name) for name in self.NODE_FIELDS})
        return replace(self, **fields)

    def without_bare_roots(self) -> Forest:
        """Leave out the trees that test nothing, if any tests something: they know nothing of an example.

        A bare root says the same of every example. In an average over 40 trees of which 39 are bare roots, the one that
        has seen something is hardly heard.
        """
        roots = self.tree_offsets[:-1]
        silent = ~self.voting_trees(~self.is_leaf)
        if not silent.any():
            return self
        stays = np.ones(self.n_nodes, dtype=bool)
        stays[roots[silent]] = False
        return self._of_nodes(stays, ~self.is_leaf)

    def voting_trees(self, tests: BoolArray) -> BoolArray:
        """Tell which trees of a pruning vote: those that test something, or all if none does.

        Parameters
        ----------
        tests : ndarray of bool, shape (n_nodes,)
            Which nodes test a feature.

        Returns
        -------
        ndarray of bool, shape (n_trees,)
        """
        tested: BoolArray = tests[self.tree_offsets[:-1]]
        return tested if tested.any() else ~tested

    def refit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Forest:
        """Learn what the nodes predict anew from examples, tests unchanged; nodes that none reaches stay as they are.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        sample_weight : array, shape (n_samples,), optional

        Raises
        ------
        ValueError
            A class that the forest does not know, targets that are no finite numbers, weights that are negative or not
            finite, or other shapes.
        """
        require_rows_in_order(X, y)
        require_rows_in_order(X, sample_weight, "sample_weight")
        leaves = self.leaves(self.checked_examples(X))
        targets = checked_targets(y, self.classes, leaves.shape[1])
        weights = checked_weights(sample_weight, targets.size)
        if self.classes is None:
            amounts = [weights, weights * targets, weights * targets**2]
        else:
            amounts = [weights, *(weights * (targets == label) for label in self.classes)]
        total, *sums = self.reach_sums(leaves, amounts).T
        reached = total > 0
        means = np.column_stack(sums)[reached] / total[reached, None]
        passing = self.reach_counts(leaves)
        variance_or_impurity = (
            means[:, 1] - means[:, 0] ** 2 if self.classes is None else _impurity(means, self.criterion)
        )
        learnt = {
            "value": means[:, :1] if self.classes is None else means,
            "weight": total[reached],
            "n_samples": passing[reached],
            "impurity": variance_or_impurity,
        }
        per_node: dict[str, Any] = {name: getattr(self, name).copy() for name in learnt}
        for name, values in learnt.items():
            per_node[name][reached] = values
        return replace(self, **per_node)

    def __repr__(self) -> str:
        kind = "regression" if self.classes is None else f"{len(self.classes)} classes"
        return f"Forest({self._sizes()}, {kind})"


def _impurity(shares: FloatArray, criterion: str) -> FloatArray:
    """Compute the Gini index of class shares, or their entropy in bits where that is the criterion."""
    if criterion == "gini":
        return np.asarray(1 - (shares**2).sum(axis=1))
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1))
