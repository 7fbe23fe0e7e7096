"""BoostedTrees: trees whose leaf values are added up, and a link that turns sums into predictions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, FloatArray, Int32Array, in_rows, places_in
from ipforest.ensemble import routing
from ipforest.ensemble.links import LINKS, linked
from ipforest.ensemble.margin_losses import MARGIN_LOSSES, MarginLoss
from ipforest.ensemble.trees import Trees

PASSED_BY_NONE = 1e-9
"""What a node that no example passes counts, as a share of its root's cover."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoostedTrees(Trees):
    """Decision trees whose leaf values are added to a base score: gradient boosting.

    The sums are called margins. A classifier of two classes has one margin, that of the second class; one of more
    classes has a margin per class; regression has one.

    Parameters
    ----------
    tree_offsets, left, right, feature, threshold, missing_left, n_features, comparison, dtype, feature_names
        The structure; see `ipforest.ensemble.Trees`.
    category_set, left_categories, categories
        Tests of categories; see there.
    value : ndarray of float64, shape (n_nodes, n_values)
        What a leaf adds, learning rate included; at an internal node what it adds if it becomes a leaf, 0 where the
        library does not store it (see `ipforest.ensemble.refitting.fill_inner_values`).
    cover : ndarray of float64, shape (n_nodes,), optional
        What passed each node in training, as the library counts it: examples, their weights or, of XGBoost, the sum of
        their Hessians. Written models have it for SHAP values along the paths; zeros where it is not known.
    first_output : ndarray of int32, shape (n_trees,)
        The leaves of tree t add to the margins ``first_output[t]`` to ``first_output[t] + n_values - 1``: a tree for
        one class has one value per leaf, a tree for all has as many as there are margins.
    base_score : ndarray of float64, shape (n_outputs,)
        Margins before the first tree.
    classes : ndarray, shape (n_classes,), or None
        Class labels; None for regression.
    link : {"identity", "log", "logit", "half logit", "multinomial logit"}
        Between margins and what they stand for: targets or probabilities.
    loss : str, optional
        What the trees were trained by, if it is not the loss of their link in
        `ipforest.ensemble.margin_losses.MARGIN_LOSSES`: "quantile", "gamma", ... They are then neither judged nor
        refitted; see `margin_loss`.

    Raises
    ------
    TypeError, ValueError
        Arrays of wrong length, numbers that are not finite, an unknown link, a margin outside the range, or a broken
        structure.
    """

    NODE_FIELDS: ClassVar[tuple[str, ...]] = (*Trees.NODE_FIELDS, "value", "cover")
    TREE_FIELDS: ClassVar[tuple[str, ...]] = ("first_output",)
    LATER_FIELDS: ClassVar[tuple[str, ...]] = ("cover",)

    value: FloatArray
    first_output: Int32Array
    base_score: FloatArray
    classes: Array | None
    link: str
    loss: str | None = field(default=None, kw_only=True)
    cover: FloatArray = field(default_factory=lambda: np.empty(0), kw_only=True)

    __getstate__, __setstate__ = Trees.__getstate__, Trees.__setstate__

    def __post_init__(self) -> None:
        Trees.__post_init__(self)
        if self.classes is not None and len(self.classes) < 2:
            raise ValueError(
                f"classes: expected two or more, got {self.classes!r}; a margin is that of a second class, and of one "
                "class alone nothing is to be predicted"
            )
        n_outputs = 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)
        n_values = np.asarray(self.value).shape[-1]
        self._check_numbers("value", np.float64, (self.n_nodes, n_values))
        if not np.size(self.cover):
            object.__setattr__(self, "cover", np.zeros(self.n_nodes))
        self._check_numbers("cover", np.float64, (self.n_nodes,))
        if self.cover.min() < 0:
            raise ValueError(f"cover: expected numbers >= 0, got {self.cover.min()}")
        self._check_numbers("first_output", np.int32, (self.n_trees,))
        self._check_numbers("base_score", np.float64, (n_outputs,))
        last = n_outputs - n_values
        if self.first_output.min() < 0 or self.first_output.max() > last:
            raise ValueError(
                f"first_output: expected 0..{last} with {n_values} values per leaf and {n_outputs} margins, "
                f"got {self.first_output.min()}..{self.first_output.max()}"
            )
        if self.link not in LINKS:
            raise ValueError(f"link: expected {', '.join(map(repr, LINKS))}, got {self.link!r}")

    @property
    def is_classifier(self) -> bool:
        """Whether the trees predict classes."""
        return self.classes is not None

    @property
    def margin_loss(self) -> MarginLoss:
        """The loss by which the trees are judged and refitted: that of their link.

        Raises
        ------
        ValueError
            They were trained by another one.
        """
        if self.loss is not None:
            raise ValueError(
                f"trees: expected trees that were trained by the loss of their link {self.link!r}, by which they are "
                f"judged and refitted, got trees of the loss {self.loss!r}; dataclasses.replace(trees, loss=None) has "
                "them judged all the same"
            )
        return MARGIN_LOSSES[self.link]

    def margins(self, X: npt.ArrayLike, before: FloatArray | None = None) -> FloatArray:
        """Add the leaf values to the base score, in the order of the trees.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
        before : ndarray of float64, shape (n_samples, n_outputs), optional
            What the values are added to in place of the base score, such as the margins of trees before these.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_outputs)
        """
        return self.margins_at(self.leaves(self.checked_examples(X)), before)

    def margins_at(self, leaves: Int32Array, before: FloatArray | None = None) -> FloatArray:
        """Add the values of leaves (n_trees, n_samples) to the base score; see `margins`."""
        total = np.tile(self.base_score, (leaves.shape[1], 1)) if before is None else before.copy()
        for reached, columns in zip(leaves, self.output_columns(), strict=True):
            total[:, columns] += self.value[reached]
        return total

    def output_columns(self) -> list[slice]:
        """Return the margins that each tree adds to."""
        return [slice(first, first + self.value.shape[1]) for first in self.first_output.tolist()]

    def with_classes(self, classes: Array) -> Self:
        """Return the same trees with their classes in another order.

        Parameters
        ----------
        classes : ndarray, shape (n_classes,)

        Raises
        ------
        ValueError
            They are not the classes of the trees.
        """
        if self.classes is None or len(classes) != len(self.classes):
            raise ValueError(f"classes: expected those of the trees in some order, got {len(classes)} classes")
        order = places_in(self.classes, classes)
        if np.array_equal(order, np.arange(order.size)):
            return self
        if self.base_score.size == 1:
            return replace(self, classes=classes, value=-self.value, base_score=-self.base_score)
        fields: dict[str, Any] = {"classes": classes, "base_score": self.base_score[order]}
        if self.value.shape[1] > 1:
            return replace(self, **fields, value=self.value[:, order])
        return replace(self, **fields, first_output=np.argsort(order)[self.first_output].astype(np.int32))

    def centred(self) -> Self:
        """Return the same trees, the means of their first round in the base score where that is 0.

        LightGBM adds what it starts from to the leaves of its first trees; so it is known before any tree is. Means are
        over what passed the leaves in training, as far as `cover` tells; margins are the same up to rounding. Means of
        later trees are left: their sum drifts, as examples of which trees are sure weigh less in training.
        """
        if self.base_score.any():
            return self
        base, value = self.base_score.copy(), self.value.copy()
        n_first = -(-base.size // value.shape[1])
        for (start, stop), columns in zip(self, self.output_columns()[:n_first], strict=False):
            cover = np.where(self.is_leaf[start:stop], self.cover[start:stop], 0.0)
            mean = cover @ value[start:stop] / (cover.sum() or 1.0)
            base[columns] += mean
            value[start:stop] -= mean
        return replace(self, value=value, base_score=base)

    def sums_of_tree(
        self,
        tree: int,
        reached: Int32Array,
        weight: FloatArray,
        gradient: FloatArray,
        hessian: FloatArray,
        other: Array,
    ) -> FloatArray:
        """Sum derivatives of the examples that pass each node of one tree, times their weights, and another amount.

        Parameters
        ----------
        tree : int
        reached : ndarray of int32, shape (n_samples,)
            The leaf, over all nodes, that each example reaches.
        weight : ndarray of float64, shape (n_samples,)
        gradient, hessian, other : ndarray of float64, shape (n_samples, k)

        Returns
        -------
        ndarray of float64, shape (3, n_nodes_of_the_tree, k)
        """
        start, stop = self.tree_offsets[tree : tree + 2].tolist()
        first, second, third = map(in_rows, (gradient, hessian, other))
        return routing.sums_of_tree(self.parent[start:stop], start, reached, in_rows(weight), first, second, third)

    def positive_cover(self) -> FloatArray:
        """Return the cover as other libraries divide by it: what nothing passed has a billionth of its root's."""
        least = PASSED_BY_NONE * self.cover[self.tree_offsets[:-1]]
        return np.maximum(self.cover, least[self.tree_of_node])

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the class probabilities that the link makes of the margins.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)

        Raises
        ------
        AttributeError
            The trees are for regression.
        """
        if not self.is_classifier:
            raise AttributeError("predict_proba: expected trees for classification, got trees for regression")
        return self.outputs(self.margins(X))

    def outputs(self, margins: FloatArray) -> FloatArray:
        """Turn margins (n_samples, n_outputs) into class probabilities (n_samples, n_classes), or targets."""
        return linked(self.link, margins, 1 if self.classes is None else len(self.classes))

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the class of the largest margin, or the target.

        Of two classes it is the second one if its margin is positive. At 0, where both are as probable, it is the
        first, as in all libraries that are read but for scikit-learn's ``GradientBoostingClassifier``.

        Returns
        -------
        ndarray, shape (n_samples,)
            Class labels, or float64 for regression.
        """
        margins = self.margins(X)
        if self.classes is None:
            return self.outputs(margins)[:, 0]
        best = np.argmax(margins, axis=1) if margins.shape[1] > 1 else (margins[:, 0] > 0).astype(np.intp)
        labels: Array = self.classes[best]
        return labels

    def __repr__(self) -> str:
        kind = "regression" if self.classes is None else f"{len(self.classes)} classes"
        return f"BoostedTrees({self._sizes()}, {kind}, {self.link})"
