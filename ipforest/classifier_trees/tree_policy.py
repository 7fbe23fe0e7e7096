"""How a tree of classifiers buys: all that a node needs, the cheapest first, then on to the next node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array, BoolArray, FloatArray, Int32Array, IntArray
from ipforest.classifier_trees.classifier_tree import TERMINAL, ClassifierTree
from ipforest.classifier_trees.feature_map import FeatureMap
from ipforest.policy import ANSWERS, InWords, Progress, Rows, compared


class TreeOfClassifiers:
    """Nodes from the root downwards: each wants the features that its weights need, then scores and routes.

    Parameters
    ----------
    tree : ClassifierTree
    feature_map : FeatureMap
    prices : ndarray of float64, shape (n_features,)
        Features of a node are wanted by rising price.
    prior : float
        Score of examples about which too little is known for the root.
    outputs : callable
        Turns scores (n_samples,) into what the model answers, shape (n_samples, n_outputs).

    Notes
    -----
    An example that is stopped before a node has all that it needs gets the answer of the node above.

    A node scores when it has all that it needs, and the next one is decided then. So delayed features change no cost:
    what a node needs is ordered together with its first delayed feature, what the next one needs in another round.

    Scores are summed row by row: a matrix product may round the same row differently in a larger batch, and the label
    of a session would not be that of `predict` where votes tie.
    """

    place_size = 2
    ignores_unwanted = True
    decides_by = "classifiers at the nodes of a tree"

    def __init__(
        self,
        tree: ClassifierTree,
        feature_map: FeatureMap,
        prices: FloatArray,
        prior: float,
        outputs: Callable[[FloatArray], FloatArray],
    ) -> None:
        self._tree, self._map, self._prior, self._outputs = tree, feature_map, prior, outputs
        uses = feature_map.feature_of_weight_
        weights = tree.coef != 0
        self._wants = [np.flatnonzero(np.asarray(uses @ own.astype(float)) > 0) for own in weights]
        self._wants = [wants[np.argsort(prices[wants], kind="stable")] for wants in self._wants]
        evaluated = (tree.on_path.astype(float) @ weights) > 0
        self._tests: Array = np.asarray(uses @ evaluated.T.astype(float)).T.astype(np.int32)
        self._weights = [np.flatnonzero(own) for own in weights]

    @property
    def dtype(self) -> npt.DTypeLike:
        """Floating-point type in which the feature map reads features."""
        return self._map.dtype

    @property
    def features(self) -> IntArray:
        """The features that nodes weigh."""
        return np.unique(np.concatenate(self._wants)).astype(np.int64)

    def advance(self, progress: Progress, rows: Rows) -> Int32Array:
        """Move on; the place is the node, and 1 once the example has left the tree by it."""
        wanted = np.full(rows.size, ANSWERS, dtype=np.int32)
        for node in range(self._tree.n_nodes):
            here = np.flatnonzero((progress.place[rows, 0] == node) & (progress.place[rows, 1] == 0))
            if here.size == 0:
                continue
            wants = self._wants[node]
            known = progress.known[np.ix_(rows[here], wants)]
            self._count_tests(progress, rows[here], node, known)
            complete = known.all(axis=1)
            wanted[here[~complete]] = wants[np.argmin(known[~complete], axis=1)] if not complete.all() else ANSWERS
            self._route(progress, rows[here[complete]], node)
        return wanted

    def may_want(self, progress: Progress, rows: Rows) -> BoolArray:
        """Mark what the node needs at which each example stands."""
        together = np.zeros((rows.size, progress.known.shape[1]), dtype=bool)
        for node in np.unique(progress.place[rows, 0]).tolist():
            together[np.ix_(progress.place[rows, 0] == node, self._wants[node])] = True
        return together

    def _count_tests(self, progress: Progress, rows: Rows, node: int, known: BoolArray) -> None:
        cells = np.ix_(rows, self._wants[node])
        progress.tests[cells] = np.where(known, self._tests[node, self._wants[node]], progress.tests[cells])

    def _route(self, progress: Progress, rows: Rows, node: int) -> None:
        upper, lower = self._tree.upper[node], self._tree.lower[node]
        if upper == lower == TERMINAL:
            progress.place[rows, 1] = 1
            return
        above = self._score(progress, rows, node, self._tree.coef, self._tree.intercept) > self._tree.threshold[node]
        child = np.where(above, upper, lower)
        progress.place[rows, 0] = np.where(child == TERMINAL, node, child)
        progress.place[rows, 1] = child == TERMINAL

    def _score(self, progress: Progress, rows: Rows, node: int, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        weights: IntArray = self._weights[node]
        if weights.size == 0:
            return np.full(rows.size, intercept[node])
        phi = np.ascontiguousarray(self._map.transform(progress.values[rows], weights))
        return np.asarray((phi * coef[node, weights]).sum(axis=1) + intercept[node])

    def answer(self, progress: Progress, rows: Rows) -> FloatArray:
        """Answer by the node that the example left by, or the last one that knew all that it needs."""
        node = progress.place[rows, 0].astype(np.int64)
        node[progress.place[rows, 1] == 0] = self._tree.parent[node[progress.place[rows, 1] == 0]]
        scores = np.full(rows.size, self._prior)
        coef, intercept = self._tree.answers_by
        for last in np.unique(node[node != TERMINAL]):
            here = node == last
            scores[here] = self._score(progress, rows[here], int(last), coef, intercept)
        return self._outputs(scores)

    def reason(self, progress: Progress, row: int, in_words: InWords = compared) -> str:
        """Name the node and what it is for."""
        node = int(progress.place[row, 0])
        purpose = "answers" if self._tree.is_leaf[node] else "decides where it goes"
        return f"classifier {node} of {self._tree.n_nodes}, which {purpose}, weighs it"
