"""A coin between two fitted models: what an average budget allows in addition to the models themselves."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from dataclasses import fields, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import _safe_indexing

from ipforest._internal.arrays import (
    Array,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    checked_count,
    one_line,
    require_function,
)
from ipforest._internal.examples import require_rows_in_order
from ipforest._internal.feature_names import known_to_scikit_learn

if TYPE_CHECKING:
    from ipforest.estimator.predicting import Answers
    from ipforest.session import Demand, Fetch, Known, Session, Unit

__all__ = ["MixedModel"]

Keys = Sequence[Hashable] | Array


class MixedModel:
    """Two fitted models of one estimator, of which each example gets one, drawn at random.

    `ipforest.estimator.BudgetedModel.mixture` makes it. The coin is a hash of the seed and of the example's key:
    the same example gets the same model whenever it comes, in a table as in a session. The coin does not depend on the
    features of the example, as nothing is known of them before they are bought.

    Parameters
    ----------
    cheap, costly : BudgetedEstimator or BudgetedPipeline
        Fitted.
    share : float
        The probability of the costly one.
    seed : int

    Notes
    -----
    On the examples on which models are chosen no mixture of any number of them loses less within the average budget.
    For prunings of a forest that is the optimum of the relaxation between two breakpoints of the path (LP1).
    """

    def __init__(self, cheap: Any, costly: Any, share: float, seed: int = 0) -> None:
        self.cheap = cheap
        self.costly = costly
        self.share = share
        self.seed = seed

    def __repr__(self) -> str:
        models = self.cheap, self.costly
        first, second = (model.budget if hasattr(model, "budget") else model.estimator_.budget for model in models)
        costly = f"{self.share:.4g} of the examples at {float(second):.6g}" if self.share else "for all examples"
        return f"MixedModel({type(self.cheap).__name__} at {float(first):.6g}, {costly})"

    @property
    def classes_(self) -> Array | None:
        """Class labels, shape (n_classes,); None for regression."""
        return getattr(self.cheap, "classes_", None)

    @property
    def n_features_in_(self) -> int:
        """How many columns examples have."""
        return int(self.cheap.n_features_in_)

    def gets_costly(self, keys: Keys | int) -> BoolArray:
        """Tell which examples the costly model answers.

        Parameters
        ----------
        keys : sequence of hashable, shape (n_samples,), or int
            What tells examples apart, such as their numbers in a register; equal texts are equal keys. An int stands
            for the keys 0, 1, ..., n - 1.

        Returns
        -------
        ndarray of bool, shape (n_samples,)

        Raises
        ------
        TypeError
            A single text, or what is no sequence and no integer.
        ValueError
            An integer below 0, or so large that no memory holds the answers.
        """
        named = range(checked_count(keys, "keys")) if isinstance(keys, (int, np.integer)) else keys
        if isinstance(named, str) or not isinstance(named, Iterable):
            raise TypeError(f"keys: expected a sequence of keys, or their number, got {one_line(repr(keys))}")
        costly = (_uniform(self.seed, key) < self.share for key in named)
        return np.fromiter(costly, dtype=bool, count=len(named) if isinstance(named, Sized) else -1)

    def drawn(self, key: Hashable) -> Any:
        """Return the model that an example gets."""
        return self.costly if self.gets_costly([key])[0] else self.cheap

    def predict(self, X: npt.ArrayLike, keys: Keys | None = None, return_cost: bool = False) -> Any:
        """Predict from what the drawn models buy.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
        keys : sequence of hashable, shape (n_samples,), optional
            By default the numbers of the rows, 0, 1, ...; see `gets_costly`.
        return_cost : bool, default=False
            Whether to tell as well what each example pays; see `ipforest.estimator.BudgetedModel.predict`.

        Returns
        -------
        ndarray, shape (n_samples,)
            Class labels, or targets; with ``return_cost`` a tuple of these and of ``cost(X, keys)``.
        """
        if return_cost:
            told = self.answers(X, keys)
            return told.predicted, told.cost
        return self._joined(X, keys, lambda model, part: model.predict(part))

    def answers(self, X: npt.ArrayLike, keys: Keys | None = None) -> Answers:
        """Predict, and tell probabilities, costs and purchases, all from one pass of the drawn models."""
        rows, found = zip(*self._told(X, keys, lambda model, part: model.answers(part)), strict=True)
        columns = zip(*found, strict=True)
        joined = (None if each[0] is None else _put_together([*zip(rows, each, strict=True)]) for each in columns)
        return cast("Answers", found[0]._make(joined))

    def predict_proba(self, X: npt.ArrayLike, keys: Keys | None = None) -> FloatArray:
        """Return the class probabilities of the drawn models, shape (n_samples, n_classes); classifiers only."""
        return self._joined(X, keys, lambda model, part: model.predict_proba(part))

    def cost(self, X: npt.ArrayLike, keys: Keys | None = None) -> FloatArray:
        """Compute what each example pays with the model drawn for it, shape (n_samples,)."""
        return self._joined(X, keys, lambda model, part: model.cost(part))

    def acquired(self, X: npt.ArrayLike, keys: Keys | None = None) -> BoolArray:
        """Return which features each example buys with the model drawn for it, shape (n_samples, n_features)."""
        return self._joined(X, keys, lambda model, part: model.acquired(part))

    def feature_usage(self, X: npt.ArrayLike, keys: Keys | None = None) -> Int32Array:
        """Count how often each example tests each feature, shape (n_samples, n_features)."""
        return self._joined(X, keys, lambda model, part: model.feature_usage(part))

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, keys: Keys | None = None) -> float:
        """Compute the accuracy, or the coefficient of determination for regression."""
        require_rows_in_order(X, y)
        measure = accuracy_score if is_classifier(self.cheap) else r2_score
        return float(measure(y, self.predict(X, keys)))

    def session(
        self, key: Hashable, known: Known | None = None, max_cost: object | None = None, max_rounds: int | None = None
    ) -> Session:
        """Start buying the features of one example, by the model drawn for its key.

        Parameters
        ----------
        key : hashable
            What tells the example apart from others; see `gets_costly`.
        known, max_cost, max_rounds
            See `ipforest.estimator.BudgetedModel.session`.
        """
        return cast("Session", self.drawn(key).session(known, max_cost, max_rounds))

    def resume(self, saved: str, key: Hashable) -> Session:
        """Go on with a session that `ipforest.session.Session.to_json` wrote, of the example with this key."""
        return cast("Session", self.drawn(key).resume(saved))

    def predict_on_demand(
        self,
        fetch: Fetch,
        n: int,
        keys: Keys | None = None,
        max_cost: object | None = None,
        max_rounds: int | None = None,
    ) -> Demand:
        """Predict examples whose features are fetched only when they are wanted, first by the cheap model.

        Parameters
        ----------
        fetch : callable
            See `ipforest.estimator.BudgetedModel.predict_on_demand`; rows are those among all n examples.
        n : int
        keys : sequence of hashable, shape (n,), optional
            By default 0, 1, ...
        max_cost, max_rounds
            See `ipforest.estimator.BudgetedModel.session`.
        """
        require_function(fetch)
        n = checked_count(n, "n")

        def predicted(model: Any, rows: IntArray) -> Demand:
            def asked(unit: Unit, places: IntArray) -> npt.ArrayLike:
                return fetch(unit, rows[places])

            return cast("Demand", model.predict_on_demand(asked, rows.size, None, max_cost, max_rounds))

        parts = [(rows, predicted(model, rows)) for model, rows in self._parted(n, keys)]
        joined = {
            field.name: _put_together([(rows, getattr(part, field.name)) for rows, part in parts])
            for field in fields(parts[0][1])
        }
        return replace(parts[0][1], **joined)

    def _joined(self, X: Any, keys: Keys | None, tell: Callable[[Any, Any], Any]) -> Array:
        return _put_together(self._told(X, keys, tell))

    def _told(self, X: Any, keys: Keys | None, tell: Callable[[Any, Any], Any]) -> list[tuple[IntArray, Any]]:
        """Ask each model about its own rows."""
        X = known_to_scikit_learn(X)
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        return [(rows, tell(model, _safe_indexing(X, rows))) for model, rows in self._parted(n_samples, keys)]

    def _parted(self, n: int, keys: Keys | None) -> Iterator[tuple[Any, IntArray]]:
        """Give each model with the rows that are its own; none that has no rows."""
        is_costly = self.gets_costly(n if keys is None else keys)
        if is_costly.size != n:
            raise ValueError(f"keys: expected {n}, one per example, got {is_costly.size}")
        if n == 0:
            yield self.cheap, np.zeros(0, dtype=np.int64)
        for model, rows in ((self.cheap, np.flatnonzero(~is_costly)), (self.costly, np.flatnonzero(is_costly))):
            if rows.size:
                yield model, rows


def _put_together(parts: Sequence[tuple[IntArray, Array]]) -> Array:
    """Put values back into the order of the rows."""
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    joined: Array = np.concatenate([np.asarray(values) for _, values in parts])
    return joined[order]


def _uniform(seed: int, key: Hashable) -> float:
    """Hash a seed and a key to a number that is at least 0 and below 1."""
    digest = blake2b(f"{seed}:{key}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53
