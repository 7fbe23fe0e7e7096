"""A fitted model as plain data: trees or stages, the rule that stops them, names; what JSON and C are made from.

The schema is `schema.json`; `ipforest.deployment.reader` predicts from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf, isinf
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray
from ipforest.adaptive.gated_policy import FULL, AllAtOnce, Constant, GatedPolicy, LinearScores
from ipforest.classifier_trees.feature_map import ScaledFeatures
from ipforest.costs import two_units
from ipforest.deployment.reader import HEAD
from ipforest.deployment.table import features_alone, table_of
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read
from ipforest.ensemble.linear import NUMBER, LinearModel
from ipforest.estimator import BudgetedEstimator
from ipforest.frontiers.averaged_trees import MeanOfForests
from ipforest.learners.greedy_miser import Logistic, Squared, SummedTrees
from ipforest.policy import Policy, TreesInOrder
from ipforest.session import Seller
from ipforest.stopping.certified_stopping import CertifiedRule
from ipforest.stopping.early_exit_policy import EarlyExitPolicy
from ipforest.stopping.optimal_stopping import StagedRule
from ipforest.stopping.paths import FittedRule, tables_of
from ipforest.stopping.stages import Stage, StagesInOrder
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.walks import END
from ipforest.wrappers.adapted import PolicyAround
from ipforest.wrappers.calibration import CalibratedPolicy, Calibration
from ipforest.wrappers.pipeline import BudgetedPipeline

MAX_FLOAT = float(np.finfo(np.float64).max)
"""Stands for an infinite threshold, which JSON does not write: all numbers are at most this."""

ANSWERS_NOTHING = {
    "link": "mean",
    "root": [0],
    "first_output": [0],
    "base_score": [0.0],
    "category_set": [],
    "sets": [],
}
"""What a tree has whose nodes count, and not what these say."""


def write_json(model: BudgetedEstimator | BudgetedPipeline) -> str:
    """Write a fitted model as JSON; see `document_of`.

    Raises
    ------
    TypeError, ValueError
        As `document_of`, or labels that are neither texts nor numbers nor booleans.
    """
    return json.dumps(document_of(model), allow_nan=False, separators=(",", ":"), default=_refuse_label)


def _refuse_label(label: Any) -> Any:
    raise ValueError(
        f"classes: expected texts, booleans or numbers of at most 64 bits, got {label!r}; train with y.astype(str)"
    )


def document_of(model: BudgetedEstimator | BudgetedPipeline) -> dict[str, Any]:
    """Describe how a fitted model buys features, when it stops, and what it answers.

    Parameters
    ----------
    model : fitted estimator
        Its trees in order, these with a rule that stops buying, stages whose models are trees or linear, or a gate
        between two of these; calibrated, and with decision thresholds, or not; or one of these in a `BudgetedPipeline`.

    Returns
    -------
    dict
        As ``schema.json`` says.

    Raises
    ------
    TypeError
        A stage, or a model behind a gate, is neither an ensemble of trees nor linear.
    ValueError
        Something decides that the document does not hold: delayed features, a stage that sees what the one before
        answers, a cap on what a gate buys, another policy than these; or columns of a table are computed by more than
        encoders of categories and imputers of single columns.
    """
    check_is_fitted(model)
    if isinstance(model, BudgetedPipeline):
        inner = document_of(model.estimator_)
        return inner | {"table": table_of(model, inner["table"]["codings"])}
    _check_exportable(model)
    seller, (policy, calibrations) = model._seller(), _calibrations(model.policy())
    purse = seller.purse(model._cap)
    categories = {column: _names(names) for column, names in seller.categories.items()}
    document: dict[str, Any] = {
        **HEAD,
        "classes": None if seller.classes is None else seller.classes.tolist(),
        "class_costs": None if seller.class_costs is None else seller.class_costs.tolist(),
        "features": list(seller.feature_names),
        "table": features_alone(seller.costs.n_features, categories),
        "categories": {str(column): names for column, names in categories.items()},
        "whole": [column in seller.whole for column in range(seller.costs.n_features)],
        "prices": {"unit_cost": purse.unit_cost.tolist(), "units": two_units(seller.costs).tolist()},
        "cap": None,
        "free": seller.free_features.tolist(),
        "calibrations": [_calibration(each) for each in calibrations],
        "decision": None if seller.decision is None else _decision(seller.decision),
    }
    if purse.has_limit and not isinstance(policy, StagesInOrder):
        if isinstance(policy, GatedPolicy | SummedTrees):
            raise ValueError(
                f"{type(model).__name__}: expected no cap, as what {policy.decides_by} answers before all is bought is "
                f"not exported, got max_cost={model._cap}"
            )
        document |= {"cap": {"limit": purse.limit, "missing_seen": purse.missing_seen.tolist()}}
    if isinstance(policy, GatedPolicy):
        return document | _gate(policy, seller)
    return document | _part(policy, "model", seller.costs.n_features)


def document_of_numbers(model: BudgetedEstimator | BudgetedPipeline, target: str) -> dict[str, Any]:
    """Describe a model for a format that holds numbers, and no words from which they are computed.

    Raises
    ------
    TypeError, ValueError
        See `document_of`; or the model is a `BudgetedPipeline`.
    """
    if isinstance(model, BudgetedPipeline):
        raise ValueError(
            f"BudgetedPipeline: expected a model without the preparation of columns (preprocessing_), which {target} "
            "does not hold, got one with it; write its estimator_, and give the model what preprocessing_ computes, or "
            "write 'json'"
        )
    return document_of(model)


def _check_exportable(model: BudgetedEstimator) -> None:
    parts = {
        "delayed features": bool(model.costs_.delayed.any()),
        "a price of each test (split_cost)": model.split_cost_ != 0,
    }
    decides = [part for part, is_there in parts.items() if is_there]
    if decides:
        raise ValueError(
            f"{type(model).__name__}: expected a model that an export holds whole, got one with {' and '.join(decides)}"
        )


def _calibrations(policy: Policy) -> tuple[Policy, list[Calibration]]:
    """Return the policy that buys, and the calibrations of its answers in the order in which they apply."""
    found: list[Calibration] = []
    while isinstance(policy, PolicyAround):
        if isinstance(policy, CalibratedPolicy):
            found.insert(0, policy._calibration)
        policy = policy.inner
    return policy, found


def _calibration(calibration: Calibration) -> dict[str, Any]:
    """Describe the maps of each place: a sigmoid by slope and intercept, isotonic ones by their points."""
    maps = [
        [_map(each) for each in calibrator.calibrated_classifiers_[0].calibrators]
        for calibrator in calibration.calibrators
    ]
    return {"first": calibration.first.tolist(), "maps": maps}


def _map(calibrator: Any) -> list[Any]:
    if isinstance(calibrator, IsotonicRegression):
        return [calibrator.X_thresholds_.tolist(), calibrator.y_thresholds_.tolist()]
    return [float(calibrator.a_), float(calibrator.b_)]


def _decision(decision: Any) -> dict[str, Any]:
    """Describe decision thresholds."""
    return {"threshold": decision.threshold.tolist(), "positive": decision.positive}


def _gate(policy: GatedPolicy, seller: Seller) -> dict[str, Any]:
    """Describe a gate and the models to which it sends examples."""
    names, n_features = ("gate", "cheap model", "full model"), seller.costs.n_features
    gate, cheap, full = (_part(part, name, n_features) for part, name in zip(policy._parts, names, strict=True))
    costs, others = getattr(policy._parts[FULL], "_class_costs", None), seller.class_costs
    if full.get("rule") is not None and not np.array_equal(_or_empty(costs), _or_empty(others)):
        raise ValueError("full model: expected one that stops by the class costs of the gate, got other class costs")
    return {"kind": "gate", "gate": gate, "goals": [cheap, full], "threshold": policy._threshold}


def _or_empty(costs: FloatArray | None) -> FloatArray:
    return np.empty(0) if costs is None else costs


def _part(policy: Policy, name: str, n_features: int) -> dict[str, Any]:
    """Describe a policy that buys and answers by itself.

    Parameters
    ----------
    policy : Policy
    name : str
        What it is, for the error message.
    n_features : int
    """
    columns = np.arange(n_features)
    if isinstance(policy, StagesInOrder):
        policy = policy.compact()
        stages = [_stage(policy, number) for number in range(len(policy.stages))]
        return {"kind": "stages", "stages": stages, "rule": _rule(policy._rule), "level": _number(policy._level)}
    rule: dict[str, Any] = {"rule": None, "level": "-inf"}
    if isinstance(policy, EarlyExitPolicy):
        rule = {"rule": _rule(policy._rule), "level": _number(policy._level), "free": policy._free.tolist()}
        policy = policy._trees
    if type(policy) is TreesInOrder:
        answer = policy.trees.link == "mean"
        return {"kind": "trees", "trees": _trees(policy.trees, columns, inner_nodes_answer=answer), **rule}
    if isinstance(policy, SummedTrees) and rule["rule"] is None:
        return {"kind": "trees", "trees": _summed(policy, columns), **rule}
    if isinstance(policy, Constant):
        return {"kind": "linear"} | _linear(LinearModel.constant(policy._outputs), columns)
    if isinstance(policy, LinearScores) and isinstance(policy._feature_map, ScaledFeatures):
        wants, weights, scaled = policy._wants, policy._weights, policy._feature_map
        numbers = np.full(wants.size, NUMBER), scaled.mean_[wants], scaled.spread_[wants]
        link = _link_of(policy._loss, weights.shape[1])
        scores = LinearModel(np.arange(wants.size), *numbers, weights[wants], weights[-1], link, wants.size)
        return {"kind": "linear"} | _linear(scores, wants)
    part = type(policy._model).__name__ if isinstance(policy, AllAtOnce) else policy.decides_by
    raise ValueError(f"{name}: expected averaged trees or stages, got one that decides by {part}")


def _linear(linear: LinearModel, columns: IntArray) -> dict[str, Any]:
    """Describe a linear function of some columns, in the order in which they are bought."""
    return {
        "features": columns[linear.feature].tolist(),
        "category": linear.category.tolist(),
        "mean": linear.mean.tolist(),
        "spread": linear.spread.tolist(),
        "weights": linear.weight.tolist(),
        "intercept": linear.intercept.tolist(),
        "link": linear.link,
        "dtype": "float32" if linear.narrow else "float64",
    }


def _link_of(loss: Squared, n_scores: int) -> str:
    """Name what a loss turns scores into outputs by."""
    if type(loss) is Squared:
        return "identity"
    if type(loss) is Logistic:
        return "logit" if n_scores == 1 else "multinomial logit"
    raise ValueError(f"scores: expected targets or log-odds, got scores of {type(loss).__name__}")


def _summed(policy: SummedTrees, features: IntArray) -> dict[str, Any]:
    """Describe trees whose values are added to a base, which the first tree of each column takes in.

    So sums are formed in the same order as in Python.
    """
    n_columns, trees = policy._base.size, policy.trees
    tree = trees.tree_of_node
    added = np.where((tree < policy._n_trees)[:, None], trees.value[:, :1], 0.0)
    takes_base = tree < min(n_columns, policy._n_trees)
    added[takes_base, 0] += policy._base[tree[takes_base]]
    base = np.zeros(n_columns) if policy._n_trees else policy._base
    return _trees(trees, features, inner_nodes_answer=False) | {
        "link": _link_of(policy._loss, n_columns),
        "value": np.where(trees.is_leaf[:, None], added, 0.0).tolist(),
        "first_output": (np.arange(trees.n_trees) % n_columns).tolist(),
        "base_score": base.tolist(),
    }


def _stage(policy: StagesInOrder, number: int) -> dict[str, Any]:
    stage = policy.stages[number]
    if stage.sees_before:
        raise ValueError(f"stage {number + 1}: expected one that sees features only, got one that sees the one before")
    linear, (router, following) = policy.linear_of(number), _router(stage, policy.affordable)
    trees = _ensembles(stage, number) if linear is None else ()
    return {
        "features": stage.features.tolist(),
        "depth": int(policy._depth[number]),
        "linear": None if linear is None else _linear(linear, stage.features),
        "trees": [_trees(each, stage.features, inner_nodes_answer=False) for each in trees],
        "router": router,
        "following": following,
    }


def _ensembles(stage: Stage, number: int) -> Sequence[Forest | BoostedTrees]:
    """Return the ensembles whose answers a stage averages."""
    if isinstance(stage.model, MeanOfForests):
        return stage.model.ensembles_
    try:
        return (read(stage.model),)
    except TypeError as error:
        raise TypeError(f"stage {number + 1}: {error}") from None


def _router(stage: Stage, affordable: BoolArray) -> tuple[dict[str, Any] | None, list[int]]:
    """Describe how a stage sends examples on: a tree, and where examples go from each of its nodes, if they can pay."""
    tree = stage.router_tree
    if tree is None:
        raise TypeError(f"router: expected a context or a regression tree, got {type(stage.router).__name__}")
    splits, is_leaf = tree.splits, tree.splits.left < 0
    following = stage.following[np.where(is_leaf, splits.right, 0)]
    following = np.where(is_leaf & (following != END) & affordable[following], following, END)
    if stage.router is None:
        return None, following.tolist()
    return {
        "left": splits.left.tolist(),
        "right": np.where(is_leaf, -1, splits.right).tolist(),
        "feature": stage.features[np.maximum(splits.feature, 0)].tolist(),
        "threshold": [_finite(each) for each in splits.threshold.tolist()],
        "missing_left": splits.missing_left.tolist(),
        "dtype": "float32" if tree.narrow else "float64",
        **ANSWERS_NOTHING,
        "value": [[0.0]] * splits.left.size,
    }, following.tolist()


def _names(names: Sequence[Any]) -> list[Any]:
    """Write the categories of a column as JSON does: numbers and texts as they are, others as texts."""
    plain = np.asarray(names, dtype=object).tolist()
    return [name if isinstance(name, str | int | float | bool) else str(name) for name in plain]


def _trees(trees: Forest | BoostedTrees, features: IntArray, *, inner_nodes_answer: bool) -> dict[str, Any]:
    """Describe trees whose columns are some of the features.

    The values of inner nodes are left out of stages, which see all that they test, and of summed trees, where they
    follow from those of the leaves.
    """
    splits, sets = trees.splits, trees.left_categories
    value = trees.value if inner_nodes_answer else np.where(trees.is_leaf[:, None], trees.value, 0.0)
    return {
        "link": trees.link,
        "dtype": str(trees.dtype),
        "root": splits.root.tolist(),
        "left": splits.left.tolist(),
        "right": splits.right.tolist(),
        "feature": np.where(trees.is_leaf, -1, features[np.maximum(splits.feature, 0)]).tolist(),
        "threshold": [_finite(each) for each in np.where(trees.is_leaf, 0.0, splits.threshold).tolist()],
        "missing_left": splits.missing_left.tolist(),
        "value": value.tolist(),
        "first_output": trees.first_output.tolist(),
        "base_score": trees.base_score.tolist(),
        "category_set": splits.category_set.tolist() if len(sets) else [],
        "sets": [[sets.members(number).tolist(), bool(sets.others[number])] for number in range(len(sets))],
    }


def _rule(rule: FittedRule) -> dict[str, Any]:
    """Describe a rule by histories: bins of the signals so far, how keen each is to go on, and what follows it.

    By thresholds it is told apart whether the signal of the first stage is 0. A rule for each stage remembers the last
    bin alone, so that all histories of a stage are followed by the same ones; what comes after its last stage is
    followed by nothing.
    """
    known = isinstance(rule, ThresholdStopping | CertifiedRule | StagedRule)
    if not known or tables_of(rule) is None:
        raise TypeError(f"rule: expected one of this package, got {type(rule).__name__}")
    if isinstance(rule, ThresholdStopping):
        below_0_and_above = [0.0, float(np.finfo(np.float64).tiny)]
        return _histories([0, -1, 1, -1], [1, 0, 1, 0], [below_0_and_above, [], [], []], [0.0, 0.0, inf, 0.0], 1.0)
    if isinstance(rule, CertifiedRule):
        edges = [row.tolist() for row in rule.edges]
        return _histories([*rule.next_stage], [*rule.first_child], edges, rule.lambdas.tolist(), 0.0)
    assert isinstance(rule, StagedRule)
    lambdas = [[inf], *(row.tolist() for row in rule.lambdas), [inf]]
    sizes, n_stages = list(map(len, lambdas)), len(rule.lambdas)
    stage = np.repeat(np.arange(n_stages + 2), sizes).tolist()
    edges = [*(row.tolist() for row in rule.edges), [], []]
    return _histories(
        [*(number if number <= n_stages else -1 for number in stage)],
        np.repeat(np.cumsum(sizes), sizes).tolist(),
        [edges[number] for number in stage],
        [each for row in lambdas for each in row],
        rule.tie,
    )


def _histories(
    next_stage: list[int], first_child: list[int], edges: list[list[float]], lambdas: list[float], tie: float
) -> dict[str, Any]:
    numbers = [_number(each) for each in lambdas]
    return {"next_stage": next_stage, "first_child": first_child, "edges": edges, "lambdas": numbers, "tie": tie}


def _number(value: float) -> float | str:
    """Write infinite numbers as texts, which `float` reads in Python."""
    return str(value) if isinf(value) else value


def _finite(threshold: float) -> float:
    return min(max(threshold, -MAX_FLOAT), MAX_FLOAT)
