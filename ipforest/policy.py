"""What a fitted model wants to know next: the protocol of models that buy feature by feature, and trees in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from ipforest._arrays import Array
from ipforest.ensemble import routing
from ipforest.ensemble.forest import Forest

Rows = npt.NDArray[np.int64]

ANSWERS = -1
"""What a policy wants of an example about which it knows enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """What is known about examples, and where a policy stands with each of them.

    Parameters
    ----------
    values : ndarray of float, shape (n_samples, n_features)
        In the policy's ``dtype``; read only where known. NaN is a value that cannot be had.
    known : ndarray of bool, shape (n_samples, n_features)
    tests : ndarray of int32, shape (n_samples, n_features)
        How often each feature was tested so far. A feature that the policy wanted counts as tested once it is known
        and the policy has moved on.
    place : ndarray of int32, shape (n_samples, place_size)
        What the policy keeps for each example, zeros at the start.
    """

    values: Array
    known: npt.NDArray[np.bool_]
    tests: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]

    @classmethod
    def start(cls, policy: Policy, n_samples: int, n_features: int) -> Self:
        """Give the progress of examples about which nothing is known."""
        shape = (n_samples, n_features)
        return cls(
            values=np.full(shape, np.nan, dtype=policy.dtype),
            known=np.zeros(shape, dtype=bool),
            tests=np.zeros(shape, dtype=np.int32),
            place=np.zeros((n_samples, policy.place_size), dtype=np.int32),
        )


class Policy(Protocol):
    """How a fitted model buys: given what is known about examples, it wants one more feature of each, or answers.

    Sessions, costs and predictions follow from it; see `ipforest.session`. Many examples move at once.

    A policy is fitted state only: it is told the progress of examples, and keeps nothing about them itself.
    """

    @property
    def dtype(self) -> npt.DTypeLike:
        """Floating-point type in which the model compares values."""

    @property
    def place_size(self) -> int:
        """How many integers say where it stands with one example."""

    @property
    def ignores_unwanted(self) -> bool:
        """Whether it takes no notice of known features that it did not want.

        Then examples whose features are all known pass through it in one call.
        """

    def advance(self, progress: Progress, rows: Rows) -> npt.NDArray[np.int32]:
        """Move examples on as far as what is known allows; change their tests and place.

        Parameters
        ----------
        progress : Progress
        rows : ndarray of int64
            The examples to move.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
            The feature wanted next of each, or -1 where the model answers.
        """

    def answer(self, progress: Progress, rows: Rows) -> npt.NDArray[np.float64]:
        """Predict from what is known, wherever the examples stand.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes) or (n_rows, 1)
            Class probabilities, or the target.
        """

    def reason(self, progress: Progress, row: int) -> str:
        """Say in a few words why one example's next feature is wanted."""


class TreesInOrder:
    """The trees of an ensemble, one after another: each test on the path wants its feature.

    Parameters
    ----------
    forest : Forest

    Notes
    -----
    Before the end, a tree answers with the node at which it stands; trees about which nothing is known are left out
    as long as there are others.
    """

    dtype = np.float32
    place_size = 2
    ignores_unwanted = True

    def __init__(self, forest: Forest) -> None:
        self._forest = forest

    def advance(self, progress: Progress, rows: Rows) -> npt.NDArray[np.int32]:
        """Walk on; the place is the tree and, counted from its root, the node."""
        wanted = np.empty(rows.size, dtype=np.int32)
        routing.walk_on(
            self._forest.splits, rows, progress.values, progress.known, progress.place, progress.tests, wanted
        )
        return wanted

    def answer(self, progress: Progress, rows: Rows) -> npt.NDArray[np.float64]:
        """Average the nodes that what is known leads to."""
        nodes = self.reached(progress, rows)
        return self._forest.mean_value(nodes, counted=self._counted(nodes))

    def reached(self, progress: Progress, rows: Rows) -> npt.NDArray[np.int64]:
        """Find the node of each tree that what is known leads to, shape (n_rows, n_trees)."""
        nodes = np.empty((rows.size, self._forest.n_trees), dtype=np.int64)
        routing.reached_nodes(self._forest.splits, rows, progress.values, progress.known, nodes)
        return nodes

    def _counted(self, nodes: Array) -> npt.NDArray[np.bool_]:
        """Mark the trees that are past their root, or all where none is."""
        roots = self._forest.tree_offsets[:-1]
        counted: npt.NDArray[np.bool_] = (nodes != roots) | (self._forest.left[roots] < 0)
        counted |= ~counted.any(axis=1, keepdims=True)
        return counted

    def reason(self, progress: Progress, row: int) -> str:
        """Name the tree and the threshold."""
        tree, node = progress.place[row].tolist()
        threshold = self._forest.threshold[self._forest.tree_offsets[tree] + node]
        return f"tree {tree + 1} of {self._forest.n_trees} compares it with {threshold:.6g}"
