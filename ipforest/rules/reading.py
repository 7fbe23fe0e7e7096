"""Reading the rules of a fitted model from what it does with examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import Array
from ipforest._internal.examples import require_rows_in_order
from ipforest.estimator.checks import check_integer
from ipforest.estimator.held_out import checked_labels
from ipforest.policy import Policy
from ipforest.rules.ends import Ends, OrderNames
from ipforest.rules.policy_reader import PolicyReader
from ipforest.rules.rules import Rules, parts_of
from ipforest.rules.tree_reader import TreeReader, single_tree
from ipforest.session import Seller
from ipforest.tabular.preprocessing import input_columns
from ipforest.tabular.word_columns import names_in_words
from ipforest.wrappers.pipeline import parted

__all__ = ["read_rules", "rules_of"]


def read_rules(
    model: Any, X: Any, y: npt.ArrayLike | None = None, *, max_questions: int | None = None, max_clauses: int = 6
) -> Rules:
    """Follow a fitted model on examples, and say in conditions what it orders of which, and where it stops.

    Parameters
    ----------
    model : estimator, BudgetedPipeline or Pipeline
        A fitted estimator of this package, or a pipeline that ends in one.
    X : array or DataFrame, shape (n_samples, n_features)
        Examples, best those that were not trained on.
    y : array, shape (n_samples,), optional
        Their labels or targets, to say how often answers are right.
    max_questions : int, optional
        Most orders to tell of; what is ordered after them is only counted.
    max_clauses : int, default=6
        Most clauses by which the steps after an order are told apart; fewer where fewer do as well.

    Returns
    -------
    Rules
        Of a model that is a single tree it is the tree. Of another the steps are what the model does with these
        examples, and the conditions are those that tell the steps apart best; each step says for how many examples they
        do not, and ``n_followed`` for how many they do throughout.

    Raises
    ------
    TypeError
        The model is none of this package.
    ValueError
        No examples, or labels of another number or of classes that the model does not know.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ipforest import BudgetPrune
    >>> from ipforest.rules import read_rules
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = BudgetPrune(DecisionTreeClassifier(max_depth=2, random_state=0), random_state=0).fit(X, y)
    >>> read_rules(model, X, y).is_exact
    True
    """
    require_rows_in_order(X, y)
    buyer, prepare, names = parts_of(model)
    seller, columns = buyer._seller(), None
    if names is not None:
        preprocessing = parted(model).preprocessing
        sources = input_columns(preprocessing, len(names))
        inputs = np.split(sources.indices, sources.indptr[1:-1])
        columns = [", ".join(names[place] for place in places) for places in inputs]
        if not hasattr(buyer, "feature_names_in_"):
            seller = replace(seller, feature_names=tuple(names_in_words(preprocessing, names)))
    rules = rules_of(
        buyer.policy(),
        seller,
        prepare(X),
        y,
        max_cost=buyer._cap,
        max_questions=max_questions,
        max_clauses=max_clauses,
        names=columns,
    )
    return replace(rules, prepare=prepare)


def rules_of(
    policy: Policy,
    seller: Seller,
    X: Array,
    y: npt.ArrayLike | None = None,
    *,
    max_cost: object | None = None,
    max_questions: int | None = None,
    max_clauses: int = 6,
    names: Sequence[str] | None = None,
) -> Rules:
    """Say in conditions what any policy does, as `read_rules` does for estimators.

    Parameters
    ----------
    policy : Policy
    seller : Seller
    X : ndarray, shape (n_samples, n_features)
    y : array, shape (n_samples,), optional
    max_cost : number, optional
        What each example may pay at most.
    max_questions, max_clauses
        See `read_rules`.
    names : sequence of str, optional
        Of what is ordered for each feature; by default those of the features.
    """
    if max_questions is not None:
        check_integer(max_questions, "max_questions", 1)
    check_integer(max_clauses, "max_clauses", 2)
    if X.shape[0] == 0:
        raise ValueError("X: expected at least one example, got none")
    labels = None if y is None else checked_labels(y, X, seller.classes, "y")
    end = Ends.of(policy, seller, X, labels, max_cost)
    tree = None if seller.costs.delayed.any() else single_tree(policy, max_cost)
    orders, most = OrderNames(seller, names), inf if max_questions is None else max_questions
    reader: TreeReader | PolicyReader
    if tree is not None:
        reader = TreeReader(tree, seller, end, orders, most)
    else:
        reader = PolicyReader(policy, seller, end, orders, max_cost, most, max_clauses)
    first = reader.read()
    return Rules(
        first,
        seller,
        tree is not None and not any(step.goes_on for step in first.ends),
        X.shape[0],
        int(reader.told.sum()),
        int((reader.told & ~reader.goes_on).sum()),
        float(end.paid.mean()),
        end.error,
        lambda examples: np.asarray(examples, dtype=policy.dtype),
    )
