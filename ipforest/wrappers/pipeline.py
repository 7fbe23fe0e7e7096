"""A table's own columns, encoded and then bought: prices, costs and sessions in the columns that the user has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import Array, BoolArray, FloatArray, checked_count
from ipforest._internal.examples import require_rows_in_order
from ipforest._internal.feature_names import column_names, in_pandas, known_to_scikit_learn, positions_by_name
from ipforest._internal.records import object_of
from ipforest.ensemble.sklearn_trees import unfrozen
from ipforest.estimator import BudgetedEstimator, read_costs
from ipforest.estimator.checks import is_fitted
from ipforest.estimator.measurement import Measurement
from ipforest.estimator.mixed_model import MixedModel
from ipforest.estimator.predicting import Answers
from ipforest.estimator.tags import AroundEstimator
from ipforest.estimator.whole_fits import whole_or_none
from ipforest.session import Known, PredictsOnDemand, Seller, Session
from ipforest.tabular.preprocessing import categories_of, input_columns, source_columns
from ipforest.tabular.word_columns import names_in_words
from ipforest.wrappers.table_columns import (
    TableColumns,
    in_words,
    marks_of_gaps,
    mixed_row,
    plain_row,
    row_of,
    with_marks,
)
from ipforest.wrappers.table_session import TableSession, TableSessions, known_cells

__all__ = ["BudgetedPipeline", "TableSession", "TableSessions", "parted"]


class BudgetedPipeline(PredictsOnDemand, AroundEstimator, BaseEstimator):
    """Preprocessing, then an estimator of this package; prices are those of the table's columns.

    All columns that are computed from one column of the table are one purchase, such as the one-hot columns of a
    column of words. Costs, purchases and sessions are about the columns of the table.

    Parameters
    ----------
    preprocessing : transformer
        Each column that it makes comes from one column of the table; see
        `ipforest.tabular.preprocessing.source_columns`. One that is fitted already is used as it is, as
        ``pipeline[:-1]`` of a fitted scikit-learn pipeline.
    estimator : estimator
        `BudgetPrune`, `BudgetedClassifier`, `EarlyExit` or another of this package, without prices. One that wraps a
        fitted ensemble, as ``pipeline[-1]``, keeps it.
    feature_costs : optional
        Prices by column of the table, as `BudgetPrune` takes them.

    Attributes
    ----------
    preprocessing_ : transformer
    estimator_ : estimator
        Fitted, with prices of the computed columns.
    costs_ : FeatureCosts
        The prices of the table's columns.
    sources_ : ndarray of int64, shape (n_computed_columns,)
        Which column of the table each computed column comes from.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X has column names.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from ipforest import BudgetedPipeline, BudgetPrune
    >>> table = pd.DataFrame({"ecg": ["st", "af", "normal", "st"] * 50, "age": np.arange(200) % 70})
    >>> y = (table.ecg == "st").to_numpy()
    >>> encoder = make_column_transformer((OneHotEncoder(), ["ecg"]), remainder="passthrough")
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> model = BudgetedPipeline(encoder, BudgetPrune(forest, budget=12), feature_costs={"ecg": 12, "age": 0})
    >>> model.fit(table, y).cost(table).max()
    np.float64(12.0)
    >>> model.session({"age": 40}).next_unit.name
    'ecg'
    """

    __metadata_request__fit: ClassVar = {"sample_weight": None, "groups": None}
    _marks: Mapping[str, str] = {}  # of files from before there were any

    def __init__(self, preprocessing: Any, estimator: Any, *, feature_costs: Any = None) -> None:
        self.preprocessing = preprocessing
        self.estimator = estimator
        self.feature_costs = feature_costs

    @whole_or_none
    def fit(self, X: Any, y: npt.ArrayLike | None = None, **parameters: Any) -> Self:
        """Fit the preprocessing, price what it computes, and fit the estimator.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
        y : array, shape (n_samples,)
        **parameters
            For the estimator's ``fit``; tables such as ``X_val`` and ``X_cost`` are preprocessed, too.

        Raises
        ------
        TypeError
            The estimator is none of this package; the preprocessing draws examples, or does not name what it computes.
        ValueError
            The estimator has prices of its own, a column is computed from several, bad prices or examples.
        """
        parameter = self._parameter_of_prices()
        _require_no_sampler(self.preprocessing)
        require_rows_in_order(X, y)
        for name in ("sample_weight", "groups"):
            require_rows_in_order(X, parameters.get(name), name)
        require_rows_in_order(parameters.get("X_val"), parameters.get("y_val"), "y_val")
        X = known_to_scikit_learn(X)
        self._remember(X)
        if is_fitted(self.preprocessing):
            self.preprocessing_ = unfrozen(self.preprocessing)
            computed = self.preprocessing_.transform(X)
        else:
            self.preprocessing_ = clone(self.preprocessing)
            computed = self.preprocessing_.fit_transform(X, y)
        names = getattr(self, "feature_names_in_", None)
        self.costs_ = read_costs(self.feature_costs, self.n_features_in_, names)
        self.sources_ = source_columns(self.preprocessing_, self.n_features_in_)
        examples = self._dense(computed)
        prices = self.costs_.for_columns(self.sources_, column_names(examples))
        others = {
            name: self._transformed(given) if name.startswith("X_") and given is not None else given
            for name, given in parameters.items()
        }
        self.estimator_ = _copied(self.estimator).set_params(**{parameter: prices}).fit(examples, y, **others)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_row": plain_row(self._row)} if "_row" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        row = state.get("_row")
        super().__setstate__({**state, "_row": row_of(row)} if isinstance(row, dict) else state)

    def _parameter_of_prices(self) -> str:
        """Check the estimator, and find the parameter that takes prices, perhaps of the estimator that it is around."""
        name, estimator = "feature_costs", self.estimator
        while isinstance(estimator, BudgetedEstimator) and "feature_costs" not in estimator.get_params(deep=False):
            name, around, estimator = f"estimator__{name}", estimator, estimator.estimator
            if is_fitted(unfrozen(estimator)):
                raise ValueError(
                    f"estimator: expected a model within {type(around).__name__} that is not fitted, as its prices are "
                    f"those of BudgetedPipeline, got a fitted {type(unfrozen(estimator)).__name__}"
                )
        if not isinstance(estimator, BudgetedEstimator):
            raise TypeError(
                "estimator: expected one that buys, such as BudgetPrune(forest) or EarlyExit(FrozenEstimator(trees)), "
                f"got {type(estimator).__name__}"
            )
        if estimator.feature_costs is not None:
            raise ValueError(
                f"feature_costs: expected none in {type(estimator).__name__}, as the prices of the table's columns are "
                "given to BudgetedPipeline, got a value"
            )
        return name

    def _remember(self, X: Any) -> None:
        """Remember the columns of the table and a row of its cells, in which a session replaces what it is told."""
        shape = np.shape(X)
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"X: expected a table with rows and columns, got shape {shape}")
        names = column_names(X)
        self.n_features_in_ = shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._row, self._marks = mixed_row(X), marks_of_gaps(X)

    @property
    def table_columns(self) -> TableColumns:
        """The columns of the table of training, and what is computed from them."""
        names = getattr(self, "feature_names_in_", [f"column {place}" for place in range(self.n_features_in_)])
        has_names = hasattr(self, "feature_names_in_")
        return TableColumns(tuple(map(str, names)), has_names, self._row, self.sources_, self._transformed)

    def _transformed(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Compute what the estimator sees; a data frame may have its columns in any order, and others."""
        check_is_fitted(self, "preprocessing_")
        require_rows_in_order(X, y)
        require_rows_in_order(X, sample_weight, "sample_weight")
        X = known_to_scikit_learn(X)
        names, trained = column_names(X), getattr(self, "feature_names_in_", None)
        if names is None and len(np.shape(X)) == 2 and np.shape(X)[1] != self.n_features_in_:
            raise ValueError(f"X: expected {self.n_features_in_} columns as in training, got {np.shape(X)[1]}")
        if names is not None and trained is not None and names != tuple(trained):
            expected = set(trained)
            X = self._with_unused_columns(X, expected.difference(names))
            known = [name for name in column_names(X) or () if name in expected]
            positions_by_name(known, [*trained], "X: expected the columns of training")
            X = X[[*trained]] if hasattr(X, "columns") else X.select([*trained])
        X = in_words(X, self._row, partial(_words_of, self.preprocessing_, trained))
        return self._dense(self.preprocessing_.transform(with_marks(X, self._marks)))

    def _with_unused_columns(self, X: Any, absent: set[str]) -> Any:
        """Add the columns that a data frame lacks, with a cell of training, where the model never wants them."""
        if not absent or not hasattr(self, "estimator_"):
            return X
        wanted = np.unique(self.sources_[self.estimator_.policy().features])
        if not {self.table_columns.name(column) for column in wanted.tolist()}.isdisjoint(absent):
            return X
        frame = in_pandas(X)
        row = self._row.iloc[[0] * len(frame)].set_index(frame.index)  # of the types of training, where it is missing
        return frame.assign(**{name: row[name] for name in absent})

    def _dense(self, computed: Any) -> Any:
        """Fill a sparse matrix: what it does not store is 0, but missing for XGBoost."""
        if not issparse(computed):
            return computed
        parts = self.estimator.get_params().values()
        if not any(kind.__module__.partition(".")[0] == "xgboost" for part in parts for kind in type(part).__mro__):
            return computed.toarray()
        stored = computed.tocoo()
        dense = np.full(stored.shape, np.nan)
        dense[stored.row, stored.col] = stored.data
        return dense

    def predict(self, X: Any, return_cost: bool = False) -> Any:
        """Predict from the columns that are bought.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
            A data frame may have its columns in any order, further ones, and lack those that the model never wants.
        return_cost : bool, default=False
            Whether to tell as well what each example pays; both come from one pass.

        Returns
        -------
        ndarray, shape (n_samples,)
            Class labels or targets; with ``return_cost`` a tuple of these and of ``cost(X)``.
        """
        return self.estimator_.predict(self._transformed(X), return_cost=return_cost)

    def answers(self, X: Any) -> Answers:
        """Predict, and tell probabilities, costs and purchases of columns of the table, all from one pass."""
        found: Answers = self.estimator_.answers(self._transformed(X))
        return found._replace(acquired=self.estimator_.costs_.bought(found.acquired))

    @available_if(is_classifier)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, shape (n_samples, n_classes)."""
        return np.asarray(self.estimator_.predict_proba(self._transformed(X)))

    def score(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Compute the accuracy, or the coefficient of determination for regression."""
        return float(self.estimator_.score(self._transformed(X, y, sample_weight), y, sample_weight))

    def cost(self, X: Any) -> FloatArray:
        """Compute what each example pays, shape (n_samples,)."""
        return np.asarray(self.estimator_.cost(self._transformed(X)))

    def acquired(self, X: Any) -> BoolArray:
        """Return which columns of the table predicting each example buys, shape (n_samples, n_features)."""
        bought: BoolArray = self.estimator_.costs_.bought(self.estimator_.acquired(self._transformed(X)))
        return bought

    def misclassification_cost(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Average what the predictions cost by ``class_costs``, which the estimator has to have."""
        return float(self.estimator_.misclassification_cost(self._transformed(X, y, sample_weight), y, sample_weight))

    def total_cost(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Average what examples pay for columns and what mistakes cost together; see `misclassification_cost`."""
        return float(self.estimator_.total_cost(self._transformed(X, y, sample_weight), y, sample_weight))

    def at_budget(self, budget: object) -> Self:
        """Return the same model at another budget, without training again."""
        check_is_fitted(self)
        return self._with_estimator(self.estimator_.at_budget(budget))

    def at_safe_budget(self, budget: object, X: Any, confidence: float = 0.95, bound: str = "betting") -> Self:
        """Return the same model at the largest budget at which it is sure that a given one is kept.

        See `ipforest.estimator.BudgetedModel.at_safe_budget`.
        """
        check_is_fitted(self)
        return self._with_estimator(self.estimator_.at_safe_budget(budget, self._transformed(X), confidence, bound))

    def mixture(self, budget: object, seed: int = 0) -> MixedModel:
        """Return a coin between two models of this one; see `ipforest.estimator.BudgetedModel.mixture`."""
        check_is_fitted(self)
        mixed = self.estimator_.mixture(budget, seed)
        return MixedModel(self._with_estimator(mixed.cheap), self._with_estimator(mixed.costly), mixed.share, seed)

    def _with_estimator(self, estimator: BudgetedEstimator) -> Self:
        """Return the same preprocessing and prices around another fitted estimator of the computed columns."""
        other = copy(self)
        other.estimator_ = estimator
        return other

    @property
    def mixture_gain(self) -> float:
        """By which share of the loss on held-out examples the mixture is better; see `BudgetedModel.mixture_gain`."""
        check_is_fitted(self)
        return float(self.estimator_.mixture_gain)

    def mixture_gain_on(self, X: Any = None, y: npt.ArrayLike | None = None) -> float:
        """By which share of the loss on these examples the mixture is better; see `BudgetedModel.mixture_gain_on`."""
        check_is_fitted(self)
        return float(self.estimator_.mixture_gain_on(None if X is None else self._transformed(X), y))

    @property
    def classes_(self) -> Array:
        """Class labels, shape (n_classes,); classifiers only."""
        return np.asarray(self.estimator_.classes_)

    def session(
        self, known: Known | None = None, max_cost: object | None = None, max_rounds: int | None = None
    ) -> TableSession:
        """Start buying the columns of one example.

        Parameters
        ----------
        known : mapping, optional
            Values that are free, by name or number of a column of the table; None for one that cannot be had.
        max_cost : number, optional
            What to pay at most.
        max_rounds : int, optional
            How often to wait for delayed values at most.
        """
        check_is_fitted(self)
        columns = self.table_columns
        cells = columns.computed({columns.place(name): value for name, value in known.items()}) if known else {}
        ready, limit = self.estimator_._ready, self.estimator_._limit(max_cost)
        return TableSession(columns, Session(ready.policy, self._seller_in_words, cells, limit, max_rounds))

    def sessions(
        self, n: int, known: Known | None = None, max_cost: object | None = None, max_rounds: int | None = None
    ) -> TableSessions:
        """Start buying the columns of many examples at once.

        Parameters
        ----------
        n : int
            Number of examples.
        known : mapping, optional
            Cells that are free, shape (n,) or one for all, by name or number of a column of the table.
        max_cost, max_rounds : number and int, optional
            As in `session`.
        """
        check_is_fitted(self)
        n, columns = checked_count(n, "n"), self.table_columns
        sessions = self.estimator_.sessions(n, known_cells(columns, known, n), max_cost, max_rounds)
        return TableSessions(columns, sessions, self.estimator_.costs_)

    @property
    def _seller_in_words(self) -> Seller:
        """What sessions need of the estimator; one-hot columns are told by the word of the table."""
        seller: Seller = self.estimator_._ready.seller
        if not hasattr(self, "feature_names_in_"):
            return seller
        return replace(seller, words=partial(names_in_words, self.preprocessing_, self.feature_names_in_.tolist()))

    def resume(self, saved: str) -> TableSession:
        """Go on with a session that `TableSession.to_json` wrote."""
        check_is_fitted(self)
        session = Session.resume(self.estimator_._ready.policy, self._seller_in_words, saved)
        cells = object_of(saved).get("cells", {})
        if not isinstance(cells, dict):
            raise ValueError(f"saved: expected cells by column, as TableSession.to_json writes them, got {cells!r}")
        return TableSession(self.table_columns, session, cells)

    decides_by = "the preparation of columns (preprocessing_)"

    def to_trees(self) -> Any:
        """Refuse to give trees alone, which `ipforest.ensemble.write` would write without the preparation of columns.

        Raises
        ------
        ValueError
        """
        raise ValueError(
            f"BudgetedPipeline: expected a model whose trees alone decide, got one with {self.decides_by}, which an "
            "export of its trees would drop; write its estimator_, and give the model what preprocessing_ computes"
        )

    def measured(self, X: Any = None, y: npt.ArrayLike | None = None) -> Measurement:
        """Measure errors, costs and purchases of computed columns; see `BudgetedModel.measured`."""
        check_is_fitted(self)
        found: Measurement = self.estimator_.measured(None if X is None else self._transformed(X), y)
        return found

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each column of the table in all tests.

        See `ipforest.estimator.BudgetedModel.feature_importances_`.
        """
        check_is_fitted(self)
        of_computed = self.estimator_.feature_importances_
        return np.bincount(self.sources_, of_computed, self.n_features_in_).astype(np.float64)

    def summary(self, X: Any = None, y: npt.ArrayLike | None = None, n_units: int = 5) -> str:
        """Describe what was chosen, from what, and what it comes to; see `BudgetedModel.summary`."""
        check_is_fitted(self)
        inner, named = self.estimator_, self.table_columns.named
        units = [replace(unit, name=named(unit.features)) for unit in inner._units_that_bring()]
        computed = None if X is None else self._transformed(X)
        measured = inner.measured(computed, y)
        return str(inner._described(measured, inner._gain_over(measured, computed, y), X is None, units, n_units))

    def as_pipeline(self) -> Pipeline:
        """Return the fitted model as a scikit-learn pipeline, which shares its parts."""
        check_is_fitted(self)
        return Pipeline([("preprocessing", self.preprocessing_), ("model", self.estimator_)])

    @property
    def named_steps(self) -> Any:
        """The fitted parts by name, as libraries look for them in what is called a pipeline."""
        return self.as_pipeline().named_steps

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.preprocessing).input_tags
        return tags


class Parted(NamedTuple):
    """A fitted model, and its two parts.

    Parameters
    ----------
    whole : estimator or Pipeline
    buyer : BudgetedEstimator
    encode : callable (table) -> examples
        What the buyer sees of a table.
    preprocessing : transformer or None
    """

    whole: Any
    buyer: BudgetedEstimator
    encode: Callable[[Any], Any]
    preprocessing: Any = None

    def columns(self) -> dict[str, dict[str, Any]]:
        """List the columns of the table by name, each with its words and the cells that they stand for.

        The words are those that an encoder knows, else those of the categories that are computed of the column alone.
        Columns of numbers have none, also where an encoder takes numbers for categories.
        """
        n = self.whole.n_features_in_
        if self.preprocessing is None:
            seller = self.buyer._seller()
            names: Any = seller.feature_names
            known: list[Any] = [seller.categories.get(place, ()) for place in range(n)]
        else:
            names = getattr(self.whole, "feature_names_in_", [f"column {place}" for place in range(n)])
            known = [*_words_of(self.preprocessing, names).values()]
            for place, categories in self.buyer._seller().categories.items():
                sources = input_columns(self.preprocessing, n)[[place]].indices
                if sources.size == 1 and not known[sources[0]]:
                    known[sources[0]] = categories
        return {str(name): {str(word): word for word in words} for name, words in zip(names, known, strict=True)}

    def wanted(self) -> set[str]:
        """Find the columns of the table that predictions may need: all, where columns are computed from several."""
        names = [str(name) for name in self.whole.feature_names_in_]
        inputs = input_columns(self.preprocessing, len(names))[self.buyer.policy().features]
        return {names[column] for column in inputs.indices.tolist()}

    def in_columns(self) -> Any:
        """Return a model whose sessions are about the columns of the table: the whole, a `Pipeline` as one of ours.

        Raises
        ------
        ValueError
            A column is computed from several.
        """
        if not isinstance(self.whole, Pipeline):
            return self.whole
        model = BudgetedPipeline(self.preprocessing, self.buyer)
        model.preprocessing_, model.estimator_ = self.preprocessing, self.buyer
        model.sources_ = source_columns(self.preprocessing, self.whole.n_features_in_)
        cells = [next(iter(words.values()), 1.0) for words in self.columns().values()]
        row = pd.DataFrame([cells], columns=getattr(self.whole, "feature_names_in_", None))
        model._remember(row if hasattr(self.whole, "feature_names_in_") else row.to_numpy())
        return model


def parted(model: Any) -> Parted:
    """Part a fitted estimator, a `BudgetedPipeline` or a scikit-learn pipeline into what buys and what that sees.

    Raises
    ------
    TypeError
        The model does not buy.
    """
    if isinstance(model, BudgetedPipeline):
        check_is_fitted(model)
        return Parted(model, model.estimator_, model._transformed, model.preprocessing_)
    steps = model if isinstance(model, Pipeline) else [model]
    buyer = steps[-1]
    if not isinstance(buyer, BudgetedEstimator):
        raise TypeError(f"model: expected one that buys, such as BudgetedClassifier, got {type(buyer).__name__}")
    check_is_fitted(buyer)
    if len(steps) == 1:
        return Parted(buyer, buyer, lambda table: table)
    return Parted(model, buyer, model[:-1].transform, model[:-1])


def _words_of(preprocessing: Any, names: Any) -> dict[Any, Sequence[Any]]:
    """List the words that encoders know of each column; none of numbers."""
    parts = categories_of(preprocessing, len(names), lambda _: None)
    return {name: next(filter(_has_words, known), ()) for name, known in zip(names, parts, strict=True)}


def _has_words(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, str) for cell in cells)


def _require_no_sampler(preprocessing: Any) -> None:
    """Refuse steps of imbalanced-learn's kind, which leave out examples or make others, so that labels do not fit."""
    params = preprocessing.get_params() if hasattr(preprocessing, "get_params") else {}
    for part in (*params.values(), preprocessing):
        if hasattr(part, "fit_resample") and not hasattr(part, "transform"):
            raise TypeError(
                f"preprocessing: expected transformers, which keep the rows, got {type(part).__name__}; a pipeline of "
                "imbalanced-learn takes a sampler before the whole, make_pipeline(sampler, BudgetedPipeline(...))"
            )


def _copied(estimator: BudgetedEstimator) -> BudgetedEstimator:
    """Copy an estimator, but not a fitted ensemble within, which a clone would forget."""
    inner = getattr(estimator, "estimator", None)
    return copy(estimator) if inner is not None and is_fitted(unfrozen(inner)) else clone(estimator)
