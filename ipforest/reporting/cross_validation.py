"""Cross-validation of a whole estimator, its own choices included: measures and costs at several budgets."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from pickle import PicklingError
from typing import Any, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

from ipforest._internal.arrays import IntArray, one_line
from ipforest._internal.files import write_text
from ipforest._internal.rational import nonnegative_fraction
from ipforest.choosing.measures import listed_scoring, name_of
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.held_out import Brought
from ipforest.reporting.contents import answers_about, read_budgets
from ipforest.reporting.measured import measures_of
from ipforest.wrappers.pipeline import BudgetedPipeline, parted

__all__ = ["CrossValidation", "cross_validated"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """What an estimator comes to on examples that it has not seen; made by `cross_validated`.

    Parameters
    ----------
    folds : DataFrame
        A row for each outer fold and budget: ``fold``, ``budget`` (NaN for none), ``n_samples``, and a column for each
        measure, NaN where it is not defined on the fold.
    """

    folds: pd.DataFrame

    @property
    def means(self) -> pd.DataFrame:
        """Means over folds, a row for each budget and measure.

        The columns are ``mean``, ``standard_error``, and ``n_folds``: on how many folds the measure is defined. The
        training parts of folds overlap, so standard errors are rather too small (Bengio, Grandvalet, "No unbiased
        estimator of the variance of k-fold cross-validation", JMLR 2004).
        """
        names = [name for name in self.folds.columns if name not in ("fold", "budget", "n_samples")]
        long = self.folds.melt(["fold", "budget"], names, var_name="measure", value_name="value")
        values = long.groupby(["budget", "measure"], sort=False, dropna=False)["value"]
        return pd.DataFrame({"mean": values.mean(), "standard_error": values.sem(), "n_folds": values.count()})

    def __str__(self) -> str:
        return str(self.means.to_string(float_format="{:.4g}".format))


class _Fold(NamedTuple):
    """An outer fold: what is trained on some examples and measured on others, at which budgets, by named measures."""

    model: Any
    data: Brought
    number: int
    training: IntArray
    test: IntArray
    budgets: Sequence[Fraction] | None
    measures: Sequence[tuple[str, Any]]


def cross_validated(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    budgets: Sequence[Any] | None = None,
    cv: Any = 5,
    groups: npt.ArrayLike | None = None,
    scoring: Sequence[Any] | str = (),
    sample_weight: npt.ArrayLike | None = None,
    n_jobs: int | None = None,
    directory: str | Path | None = None,
) -> CrossValidation:
    """Train an estimator on each outer training part, and measure it at every budget on the rest.

    What the estimator chooses itself, when to stop, prunings, models, it chooses on the outer training part alone, on
    its own validation part: this is nested cross-validation. It is fitted once per fold for all budgets.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetedPipeline
        Not fitted; it is cloned.
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
    budgets : sequence of number, optional
        By default the model's own.
    cv : int, splitter or iterable of splits, default=5
        Outer folds. An integer stands for stratified folds, and with groups for folds that keep these together.
    groups : array, shape (n_samples,), optional
        Examples of one group are parted neither between outer folds nor, within, between training and validation.
    scoring : sequence of str or callable, optional
        Measures in addition to those of `ipforest.report`; see `ipforest.choosing.measures.read_scoring`.
    sample_weight : array, shape (n_samples,), optional
        Weights in training, where the estimator takes them, and in the measures.
    n_jobs : int, optional
        Folds at once, by joblib.
    directory : path, optional
        Where each fold is written as soon as it is measured. A call with the same estimator, data and measures goes on
        from there: nothing but the fold at work is lost when it is interrupted.

    Returns
    -------
    CrossValidation
        ``print`` it for the means; ``folds`` has every value.

    Raises
    ------
    TypeError
        The model does not buy.
    ValueError
        Bad budgets or measures, folds that part groups, or an estimator that cannot keep groups together.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BoostSearch, BudgetBoost, cross_validated
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> boosted = BudgetBoost(10, search=BoostSearch(n_lambdas=2), random_state=0)
    >>> found = cross_validated(boosted, X, y, budgets=[2, 4], cv=2)
    >>> bool(found.means.loc[(4, "AUC"), "mean"] > 0.9)
    True
    """
    if not isinstance(model, BudgetedEstimator | BudgetedPipeline):
        raise TypeError(f"model: expected one that buys, such as BudgetedClassifier, got {type(model).__name__}")
    wanted = read_budgets(budgets, least=1)
    named = [(name_of(each), each) for each in listed_scoring(scoring)]
    data = Brought.of(X, y, groups, sample_weight)
    splits = _outer_splits(model, data, cv)
    if directory is not None:
        Path(directory).mkdir(parents=True, exist_ok=True)
    rows = Parallel(n_jobs=n_jobs)(
        delayed(_rows_of)(_Fold(model, data, number, training, test, wanted, named), directory)
        for number, (training, test) in enumerate(splits)
    )
    return CrossValidation(pd.DataFrame([row for of_fold in rows for row in of_fold]))


def _outer_splits(model: Any, data: Brought, cv: Any) -> list[tuple[IntArray, IntArray]]:
    classify = is_classifier(_buyer(model))
    splitter = cv
    if isinstance(cv, int) and data.groups is not None:
        splitter = StratifiedGroupKFold(cv) if classify else GroupKFold(cv)
    folds = check_cv(splitter, data.y, classifier=classify)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)  # refused below if so
        found = [*folds.split(np.zeros(data.y.size), data.y, data.groups)]
    splits = [(np.asarray(training), np.asarray(test)) for training, test in found]
    for training, test in splits:
        parted = np.empty(0) if data.groups is None else np.intersect1d(data.groups[training], data.groups[test])
        if parted.size:
            raise ValueError(
                f"cv: expected folds that keep groups together, such as GroupKFold(5), got {type(cv).__name__}, which "
                f"parts group {parted.tolist()[0]!r}"
            )
        alone = classify and data.groups is None  # too few groups are refused in training
        lacking = np.setdiff1d(data.y[test], data.y[training]) if alone else np.empty(0)
        if lacking.size:
            raise ValueError(
                f"cv: expected examples of each class to train on in each fold, got none of {lacking.tolist()[0]!r}; "
                "leave out or merge rare classes"
            )
    return splits


def _buyer(model: Any) -> Any:
    return model.estimator if isinstance(model, BudgetedPipeline) else model


def _rows_of(fold: _Fold, directory: str | Path | None) -> list[dict[str, Any]]:
    """Fit and measure one fold, unless it was written before."""
    if directory is None:
        return _measured(fold)
    model, data, number, training, test, budgets, measures = fold
    said = None if budgets is None else [*map(str, budgets)]
    try:
        key = joblib.hash((type(model).__name__, model.get_params(), tuple(data), training, test, said, measures))
    except PicklingError as problem:
        raise ValueError(
            f"directory: expected an estimator and measures that pickle takes, so that folds are found again, got "
            f"{one_line(problem)}"
        ) from None
    file = Path(directory) / f"fold-{number}-{key}.json"
    if not file.exists():
        write_text(file, json.dumps(_measured(fold)))
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return rows


def _measured(fold: _Fold) -> list[dict[str, Any]]:
    model, data, number, training, test, budgets, measures = fold
    scoring = [each for _, each in measures]
    fitted, unseen, rows = _fitted(clone(model), data.rows(training)), data.rows(test), []
    own = _buyer(model).budget
    for budget in [own] if budgets is None else budgets:
        _, buyer, encode, _ = parted(fitted if budgets is None else fitted.at_budget(budget))
        answered = answers_about(buyer, encode(unseen.X), unseen.y, unseen.weight)
        values = {measure.name: measure.value for measure in measures_of(answered, scoring, 0, 0)}
        nominal = float("nan") if budget is None else float(nonnegative_fraction(budget, "budgets"))
        rows.append({"fold": number, "budget": nominal, "n_samples": int(test.size), **values})
    return rows


def _fitted(model: Any, data: Brought) -> Any:
    """Fit a model; what it holds out shares no group with what it trains on."""
    takes = inspect.signature(type(_buyer(model)).fit).parameters
    weighted = {} if data.weight is None or "sample_weight" not in takes else {"sample_weight": data.weight}
    if data.groups is None:
        return model.fit(data.X, data.y, **weighted)
    share = getattr(_buyer(model), "validation_fraction", None)
    if share is not None and np.unique(data.groups).size < 2:
        raise ValueError(
            "groups: expected two at least in each outer training part, got one, of which none is held out"
        )
    if "groups" not in takes:
        raise ValueError(f"groups: expected an estimator whose fit takes groups, got {type(_buyer(model)).__name__}")
    return model.fit(data.X, data.y, groups=data.groups, **weighted)
