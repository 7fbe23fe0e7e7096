"""Forest: an averaging ensemble of decision trees as flat arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ipforest._arrays import checked_array, checked_offsets, read_only
from ipforest.costs import FeatureCosts
from ipforest.ensemble import routing

if TYPE_CHECKING:
    from ipforest.results import Pruning

LEAF = -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Forest:
    """T decision trees whose leaf values are averaged, tree after tree in flat arrays.

    Nodes are numbered over all trees; in each tree the root comes first and each parent stands before
    its children.

    Parameters
    ----------
    tree_offsets : ndarray of int64, shape (n_trees + 1,)
        The nodes of tree t are ``tree_offsets[t]:tree_offsets[t + 1]``.
    left, right : ndarray of int32, shape (n_nodes,)
        Children over all nodes, -1 at leaves.
    feature : ndarray of int32, shape (n_nodes,)
        Feature tested, -1 at leaves.
    threshold : ndarray of float64, shape (n_nodes,)
        An example goes left if its float32 feature is at most this.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether a missing value (NaN) goes left.
    value : ndarray of float64, shape (n_nodes, n_classes) or (n_nodes, 1)
        Class distribution of the training examples at the node, or their predicted target.
    weight : ndarray of float64, shape (n_nodes,)
        In-bag weight at the node: the number of bootstrap draws, times sample and class weights.
    n_samples : ndarray of int64, shape (n_nodes,)
        Distinct training examples at the node.
    impurity : ndarray of float64, shape (n_nodes,)
        The training criterion at the node.
    n_features : int
    classes : ndarray, shape (n_classes,), or None
        Class labels; None for a regression forest.
    criterion : str
        The training criterion: "gini", "entropy", "squared_error", ...

    Raises
    ------
    ValueError
        Arrays of wrong length, no trees, a child that does not follow its parent, or a tested feature
        outside the range.
    """

    tree_offsets: npt.NDArray[np.int64]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_]
    value: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    n_samples: npt.NDArray[np.int64]
    impurity: npt.NDArray[np.float64]
    n_features: int
    classes: npt.NDArray[Any] | None
    criterion: str
    parent: npt.NDArray[np.int32] = field(init=False)
    internal_nodes: npt.NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree_offsets", checked_offsets(self.tree_offsets))
        n_nodes = self.n_nodes
        n_values = 1 if self.classes is None else len(self.classes)
        shapes: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
            "left": (np.int32, (n_nodes,)),
            "right": (np.int32, (n_nodes,)),
            "feature": (np.int32, (n_nodes,)),
            "threshold": (np.float64, (n_nodes,)),
            "missing_left": (np.bool_, (n_nodes,)),
            "value": (np.float64, (n_nodes, n_values)),
            "weight": (np.float64, (n_nodes,)),
            "n_samples": (np.int64, (n_nodes,)),
            "impurity": (np.float64, (n_nodes,)),
        }
        for name, (dtype, shape) in shapes.items():
            object.__setattr__(self, name, checked_array(getattr(self, name), name, dtype, shape))
        internal = np.flatnonzero(self.left != LEAF).astype(np.int32)
        self._check_tests(internal)
        object.__setattr__(self, "parent", read_only(self._parents(internal)))
        object.__setattr__(self, "internal_nodes", read_only(internal))

    def _check_tests(self, internal: npt.NDArray[np.int32]) -> None:
        tested = self.feature[internal]
        if tested.size and (tested.min() < 0 or tested.max() >= self.n_features):
            raise ValueError(
                f"feature: expected 0..{self.n_features - 1} at internal nodes, got {tested.min()}..{tested.max()}"
            )
        if np.any((self.right != LEAF) != (self.left != LEAF)):
            raise ValueError("right: expected a right child exactly where there is a left one, got one alone")

    def _parents(self, internal: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        tree_end = np.repeat(self.tree_offsets[1:], np.diff(self.tree_offsets))[internal]
        for children in (self.left, self.right):
            below = children[internal]
            if np.any(below <= internal) or np.any(below >= tree_end) or np.any(parent[below] != -1):
                raise ValueError(
                    "left, right: expected each child after its parent, in the same tree, with one parent only, "
                    "got another index"
                )
            parent[below] = internal
        if not np.array_equal(np.flatnonzero(parent == -1), self.tree_offsets[:-1]):
            raise ValueError("left, right: expected every node but the first of a tree to have a parent, one has none")
        return parent

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
        from ipforest.ensemble.scikit_learn import forest_from_sklearn

        return forest_from_sklearn(estimator)

    def to_sklearn(self) -> Any:
        """Give the forest as a fitted scikit-learn RandomForestClassifier or RandomForestRegressor."""
        from ipforest.ensemble.scikit_learn import forest_to_sklearn

        return forest_to_sklearn(self)

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return self.tree_offsets.size - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self.tree_offsets[-1])

    @property
    def n_internal(self) -> int:
        """Number of nodes that test a feature."""
        return self.internal_nodes.size

    @property
    def is_classifier(self) -> bool:
        """Whether the forest predicts classes."""
        return self.classes is not None

    def apply(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Leaf that each example reaches in each tree, numbered within the tree as scikit-learn does.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64, shape (n_samples, n_trees)
        """
        return self._leaves(X) - self.tree_offsets[:-1]

    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Average of the leaf distributions (BudgetPrune, Algorithm 1, steps 5-6).

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
        return self.mean_value(self._leaves(X))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Class of the highest average probability, or the average of the leaf values.

        Returns
        -------
        ndarray, shape (n_samples,)
            Class labels, or float64 for regression.
        """
        mean = self.mean_value(self._leaves(X))
        if self.classes is None:
            return mean[:, 0]
        labels: npt.NDArray[Any] = self.classes[np.argmax(mean, axis=1)]
        return labels

    def feature_usage(self, X: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """How often each example's paths test each feature (the count of BudgetPrune's Table 1).

        Returns
        -------
        ndarray of int32, shape (n_samples, n_features)
        """
        examples = self.checked_examples(X)
        tests = np.zeros(examples.shape, dtype=np.int32)
        routing.count_tests(examples, *self.routing_arrays, tests)
        return tests

    def cost(self, X: npt.ArrayLike, costs: FeatureCosts) -> npt.NDArray[np.float64]:
        """Compute what each example pays for the features that it uses in any tree, each bought once.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            In the unit of the prices.
        """
        self.check_costs(costs)
        return costs.cost_of(self.feature_usage(X))

    def prune(self, pruning: Pruning) -> Forest:
        """Collapse every internal node that the pruning does not keep into a leaf.

        Raises
        ------
        ValueError
            The pruning has another number of internal nodes, or keeps a node whose parent it does not keep.
        """
        if pruning.kept.size != self.n_internal:
            raise ValueError(
                f"pruning: expected {self.n_internal} internal nodes, one a test of the forest, got {pruning.kept.size}"
            )
        splits = np.zeros(self.n_nodes, dtype=bool)
        splits[self.internal_nodes] = pruning.kept
        has_parent = self.parent >= 0
        stays = ~has_parent
        stays[has_parent] = splits[self.parent[has_parent]]
        if np.any(splits & ~stays):
            orphan = int(np.flatnonzero(splits & ~stays)[0])
            raise ValueError(f"pruning: expected the parent of each kept node to be kept, not so at node {orphan}")
        return self._restrict(stays, splits)

    def _restrict(self, stays: npt.NDArray[np.bool_], splits: npt.NDArray[np.bool_]) -> Forest:
        new_index = np.cumsum(stays, dtype=np.int32) - np.int32(1)
        inner = splits[stays]

        def children(old: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
            return np.where(inner, new_index[old[stays]], np.int32(LEAF)).astype(np.int32)

        sizes = np.add.reduceat(stays, self.tree_offsets[:-1], dtype=np.int64)
        return Forest(
            tree_offsets=np.concatenate([[0], np.cumsum(sizes)]),
            left=children(self.left),
            right=children(self.right),
            feature=np.where(inner, self.feature[stays], LEAF),
            threshold=self.threshold[stays],
            missing_left=self.missing_left[stays],
            value=self.value[stays],
            weight=self.weight[stays],
            n_samples=self.n_samples[stays],
            impurity=self.impurity[stays],
            n_features=self.n_features,
            classes=self.classes,
            criterion=self.criterion,
        )

    def reach_counts(self, X: npt.ArrayLike, groups: npt.NDArray[np.int64], n_groups: int) -> npt.NDArray[np.int64]:
        """Count the examples of each group that pass each node.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        groups : ndarray of int64, shape (n_samples,)
            Group of each example, 0..n_groups-1 (its class, or 0).
        n_groups : int

        Returns
        -------
        ndarray of int64, shape (n_nodes, n_groups)
        """
        cells = self._leaves(X) * n_groups + groups[:, None]
        flat: npt.NDArray[np.int64] = np.bincount(cells.ravel(), minlength=self.n_nodes * n_groups)
        counts = flat.reshape(self.n_nodes, n_groups)
        routing.accumulate_to_ancestors(self.parent, counts)
        return counts

    def reach_sums(self, X: npt.ArrayLike, amounts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sum amounts of the examples that pass each node.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        amounts : ndarray of float64, shape (n_samples, k)

        Returns
        -------
        ndarray of float64, shape (n_nodes, k)
        """
        leaves = self._leaves(X).ravel()
        sums: npt.NDArray[np.float64] = np.column_stack(
            [
                np.bincount(leaves, weights=np.repeat(column, self.n_trees), minlength=self.n_nodes)
                for column in amounts.T
            ]
        )
        routing.accumulate_to_ancestors(self.parent, sums)
        return sums

    @property
    def routing_arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Roots, children, tests: what the kernels of `ipforest.ensemble.routing` walk on."""
        roots = self.tree_offsets[:-1]
        return (roots, self.left, self.right, self.feature, self.threshold, self.missing_left)

    def checked_examples(self, X: npt.ArrayLike, name: str = "X") -> npt.NDArray[np.float32]:
        """Take examples as the float32 matrix that the trees compare; NaN is a missing value.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        name : str
            What the examples are, for the error message.

        Raises
        ------
        TypeError
            X is sparse or not numeric.
        ValueError
            X is not 2-dimensional, empty, has another number of columns, or infinite (or too large) values.
        """
        if hasattr(X, "tocsr"):
            raise TypeError(f"{name}: expected a dense array, got a sparse matrix; call its toarray()")
        raw = np.asarray(X)
        if raw.ndim != 2:
            raise ValueError(f"{name}: expected 2 dimensions (n_samples, n_features), got {raw.ndim}")
        if raw.shape[1] != self.n_features:
            raise ValueError(f"{name}: expected {self.n_features} columns as in training, got {raw.shape[1]}")
        if raw.shape[0] == 0:
            raise ValueError(f"{name}: expected at least one example, got none")
        if np.iscomplexobj(raw):
            raise TypeError(f"{name}: expected real numbers, got dtype {raw.dtype}")
        try:
            with np.errstate(over="ignore"):
                examples = np.ascontiguousarray(raw, dtype=np.float32)
        except (TypeError, ValueError):
            raise TypeError(f"{name}: expected numbers, got dtype {raw.dtype}") from None
        if np.isinf(examples).any():
            raise ValueError(f"{name}: expected finite float32 values or NaN, got an infinite or too large one")
        return examples

    def check_costs(self, costs: FeatureCosts) -> None:
        """Require a price list with one price a feature.

        Raises
        ------
        TypeError
            It is no FeatureCosts.
        ValueError
            It is for another number of features.
        """
        if not isinstance(costs, FeatureCosts):
            raise TypeError(f"costs: expected FeatureCosts(prices), got {type(costs).__name__}")
        if costs.n_features != self.n_features:
            raise ValueError(f"costs: expected {self.n_features} prices, one per feature, got {costs.n_features}")

    def _leaves(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        examples = self.checked_examples(X)
        leaves = np.empty((examples.shape[0], self.n_trees), dtype=np.int64)
        routing.reached_leaves(examples, *self.routing_arrays, leaves)
        return leaves

    def mean_value(
        self, nodes: npt.NDArray[np.int64], counted: npt.NDArray[np.bool_] | None = None
    ) -> npt.NDArray[np.float64]:
        """Average the values of one node per tree, in the order of the trees, as scikit-learn adds: so ties fall alike.

        Parameters
        ----------
        nodes : ndarray of int64, shape (n_samples, n_trees)
            Numbered over all trees.
        counted : ndarray of bool, shape (n_samples, n_trees), optional
            The trees that count, at least one per example; by default all.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes) or (n_samples, 1)
        """
        total = np.zeros((nodes.shape[0], self.value.shape[1]))
        for tree in range(self.n_trees):
            value = self.value[nodes[:, tree]]
            total += value if counted is None else value * counted[:, tree, None]
        total /= self.n_trees if counted is None else counted.sum(axis=1)[:, None]
        return total

    def __len__(self) -> int:
        return self.n_trees

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Iterate over the node ranges of the trees."""
        return iter(zip(self.tree_offsets[:-1].tolist(), self.tree_offsets[1:].tolist(), strict=True))

    def __repr__(self) -> str:
        kind = "regression" if self.classes is None else f"{len(self.classes)} classes"
        return (
            f"Forest({self.n_trees} trees, {self.n_nodes} nodes, {self.n_internal} internal, "
            f"{self.n_features} features, {kind})"
        )
