"""Trees and cascades of linear classifiers: which examples pass a threshold, and which node they reach."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy.special import expit

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray, read_only

TERMINAL = -1
"""In place of a child: examples leave the tree here, with the answer of the node."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierTree:
    """Linear classifiers in a tree; a cascade is a tree whose lower children are all terminal.

    Node k scores an example by ``x @ coef[k] + intercept[k]``; above its threshold the example goes to the upper child,
    else to the lower one. Where the child is terminal the example leaves with the node's answer. So each node that
    lacks a child has one terminal element; a node that lacks both sends everything there.

    Parameters
    ----------
    upper, lower : ndarray of int, shape (n_nodes,)
        Children, `TERMINAL` for none; a child has a larger number than its parent. Node 0 is the root.
    coef : ndarray of float64, shape (n_nodes, n_weights)
    intercept, threshold : ndarray of float64, shape (n_nodes,)
    answer_coef, answer_intercept : ndarray of float64, optional
        What terminal elements answer by; by default what the nodes route by. They use no other weights than those.

    Attributes
    ----------
    parent : ndarray of int, shape (n_nodes,)
        `TERMINAL` for the root.
    on_path : ndarray of bool, shape (n_nodes, n_nodes)
        ``on_path[k, j]``: node j is node k or above it.
    """

    upper: IntArray
    lower: IntArray
    coef: FloatArray
    intercept: FloatArray
    threshold: FloatArray
    answer_coef: FloatArray | None = None
    answer_intercept: FloatArray | None = None
    parent: IntArray = field(init=False)
    on_path: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        n_nodes = self.coef.shape[0]
        for name in ("upper", "lower", "intercept", "threshold"):
            shape = getattr(self, name).shape
            if shape != (n_nodes,):
                raise ValueError(f"{name}: expected one entry per node, shape ({n_nodes},), got {shape}")
        parent = np.full(n_nodes, TERMINAL)
        for children in (self.upper, self.lower):
            inner = np.flatnonzero(children != TERMINAL)
            if np.any(children[inner] <= inner) or np.any(parent[children[inner]] != TERMINAL):
                raise ValueError("children: expected numbers above their parent's, each the child of one node")
            parent[children[inner]] = inner
        if np.any(parent[1:] == TERMINAL):
            raise ValueError("children: expected each node but 0 to be a child, got one that is none")
        on_path = np.eye(n_nodes, dtype=bool)
        for node in range(1, n_nodes):
            on_path[node] |= on_path[parent[node]]
        object.__setattr__(self, "parent", read_only(parent))
        object.__setattr__(self, "on_path", read_only(on_path))

    @classmethod
    def single(cls, coef: FloatArray, intercept: float = 0.0) -> Self:
        """Make a tree of one node, coefficients of shape (n_weights,)."""
        end = np.full(1, TERMINAL)
        return cls(end, end.copy(), coef[None, :], np.array([intercept]), np.zeros(1))

    @property
    def answers_by(self) -> tuple[FloatArray, FloatArray]:
        """Weights and intercepts that terminal elements answer by."""
        coef = self.coef if self.answer_coef is None else self.answer_coef
        return coef, self.intercept if self.answer_intercept is None else self.answer_intercept

    @property
    def n_nodes(self) -> int:
        """Number of classifiers."""
        return int(self.coef.shape[0])

    @property
    def depth(self) -> IntArray:
        """Depth of each node, 0 for the root, shape (n_nodes,)."""
        return np.asarray(self.on_path.sum(axis=1) - 1)

    @property
    def is_leaf(self) -> BoolArray:
        """Return which nodes have no children, shape (n_nodes,)."""
        return np.asarray((self.upper == TERMINAL) & (self.lower == TERMINAL))

    @property
    def answers(self) -> BoolArray:
        """Return which nodes have a terminal element, shape (n_nodes,)."""
        return np.asarray((self.upper == TERMINAL) | (self.lower == TERMINAL))

    @property
    def level_order(self) -> IntArray:
        """Return the nodes from the root downwards."""
        return np.argsort(self.depth, kind="stable")

    def with_node(
        self, node: int, coef: FloatArray, intercept: float, threshold: float | None = None
    ) -> ClassifierTree:
        """Return the tree with other parameters at one node."""
        new_coef, new_intercept, new_threshold = self.coef.copy(), self.intercept.copy(), self.threshold.copy()
        new_coef[node], new_intercept[node] = coef, intercept
        if threshold is not None:
            new_threshold[node] = threshold
        return replace(
            self,
            coef=new_coef,
            intercept=new_intercept,
            threshold=new_threshold,
            answer_coef=None,
            answer_intercept=None,
        )

    def with_child(self, node: int, *, above: bool, coef: FloatArray, intercept: float) -> ClassifierTree:
        """Return the tree with one more node, the last, in place of a terminal child."""
        upper, lower = np.append(self.upper, TERMINAL), np.append(self.lower, TERMINAL)
        (upper if above else lower)[node] = self.n_nodes
        return ClassifierTree(
            upper,
            lower,
            np.vstack([self.coef, coef]),
            np.append(self.intercept, intercept),
            np.append(self.threshold, 0.0),
        )

    def without(self, node: int) -> ClassifierTree:
        """Return the tree with a terminal element in place of a leaf.

        Raises
        ------
        ValueError
            The node is the root, or has children.
        """
        if node == 0 or not self.is_leaf[node]:
            raise ValueError(f"node: expected a leaf that is not the root, got {node}")
        stays = np.delete(np.arange(self.n_nodes), node)

        def renumber(children: Array) -> Array:
            kept = np.where(children == node, TERMINAL, children)[stays]
            return kept - (kept > node)

        return ClassifierTree(
            renumber(self.upper),
            renumber(self.lower),
            self.coef[stays],
            self.intercept[stays],
            self.threshold[stays],
            None if self.answer_coef is None else self.answer_coef[stays],
            None if self.answer_intercept is None else self.answer_intercept[stays],
        )

    def scores(self, phi: FloatArray) -> FloatArray:
        """Score examples at every node, shape (n_samples, n_nodes)."""
        return np.asarray(phi @ self.coef.T + self.intercept)

    def traverse(self, scores: FloatArray, root: int = 0) -> tuple[FloatArray, FloatArray]:
        """Compute how likely examples reach nodes and leave by their terminal elements, section 3.2.1, (4).

        Parameters
        ----------
        scores : ndarray of float64, shape (n_samples, n_nodes)
        root : int
            Where the examples start.

        Returns
        -------
        arrival, exit : ndarray of float64, shape (n_samples, n_nodes)
            Zero for nodes that are not below `root`; the exits of an example sum to 1, (5).
        """
        arrival, leaving = np.zeros(scores.shape), np.zeros(scores.shape)
        arrival[:, root] = 1
        for node in range(root, self.n_nodes):
            if not self.on_path[node, root]:
                continue
            if self.is_leaf[node]:
                leaving[:, node] = arrival[:, node]
                continue
            up = arrival[:, node] * expit(scores[:, node] - self.threshold[node])
            for child, part in ((self.upper[node], up), (self.lower[node], arrival[:, node] - up)):
                if child == TERMINAL:
                    leaving[:, node] = part
                else:
                    arrival[:, child] = part
        return arrival, leaving

    def route(self, phi: FloatArray) -> IntArray:
        """Find the node whose terminal element each example leaves by, hard thresholds, shape (n_samples,)."""
        last = np.zeros(phi.shape[0], dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):
            here = np.flatnonzero(last == node)
            goes_up = phi[here] @ self.coef[node] + self.intercept[node] > self.threshold[node]
            child = np.where(goes_up, self.upper[node], self.lower[node])
            last[here] = np.where(child == TERMINAL, node, child)
        return last

    def answer(self, phi: FloatArray, last: IntArray | None = None) -> FloatArray:
        """Compute the answer of each example's last node, shape (n_samples,)."""
        last = self.route(phi) if last is None else last
        coef, intercept = self.answers_by
        answer = np.empty(phi.shape[0])
        for node in np.unique(last):
            here = last == node
            answer[here] = phi[here] @ coef[node] + intercept[node]
        return answer
