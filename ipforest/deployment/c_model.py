"""A fitted model with its stopping as C source: one function that asks for features and stops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from ipforest.deployment.document import document_of_numbers
from ipforest.deployment.reader import SETTLED_SLACK, SUREST, Trees
from ipforest.estimator import BudgetedEstimator

LINKS = ["mean", "identity", "log", "logit", "half logit", "multinomial logit"]
KINDS = ["trees", "stages", "linear"]


def write_c_model(model: BudgetedEstimator) -> str:
    """Write a fitted model as C99: the features that it asks for, the rule that stops it, names and prices.

    Parameters
    ----------
    model : fitted estimator
        See `ipforest.deployment.document.document_of`.

    Returns
    -------
    str

    Raises
    ------
    TypeError, ValueError
        The model is one that `document_of` refuses.
    """
    document = document_of_numbers(model, "C")
    parts = [document["gate"], *document["goals"]] if document["kind"] == "gate" else [document]
    ensembles = [each for part in parts for each in _ensembles_of(part)]
    classes, costs, cap, prices = (document[name] for name in ("classes", "class_costs", "cap", "prices"))
    n_features, n_outputs = len(document["features"]), 1 if classes is None else len(classes)
    functions = [each for part in parts for each in _functions_of(part)]
    scores = [each["base_score"] for each in ensembles] + [each["intercept"] for each in functions]
    width = max(n_outputs, *map(len, scores))
    categories = [document["categories"].get(str(column), []) for column in range(n_features)]
    source = Template(files("ipforest.deployment").joinpath("model.c").read_text(encoding="utf-8"))
    return source.substitute(
        n_features=n_features,
        n_outputs=n_outputs,
        n_units=len(prices["unit_cost"]),
        width=width,
        classes=", ".join(map(_text, classes or [""])),
        features=", ".join(map(_text, document["features"])),
        categories=", ".join(_text(name) for names in categories for name in names) or '""',
        first_category=_listed(_starts(map(len, categories))),
        is_whole=_listed(document["whole"]),
        unit_cost=_listed(prices["unit_cost"]),
        unit_of=_rows(prices["units"], 2),
        limit="INFINITY" if cap is None else _number(cap["limit"]),
        missing_seen=_listed([False] * n_features if cap is None else cap["missing_seen"]),
        has_class_costs=_number(costs is not None),
        class_cost=_rows(costs or [[]] * n_outputs, n_outputs),
        classifies=_number(classes is not None),
        settled_slack=repr(SETTLED_SLACK),
        surest=repr(SUREST),
        **_parts(document, parts),
        **_linear(functions, width),
        **_calibrations(document["calibrations"]),
        **_decision(document["decision"], n_outputs),
        **_rules([part.get("rule") for part in parts]),
        **_ensembles(ensembles, width, classify=classes is not None),
        **_sets(ensembles),
        **_stages(parts),
    )


def _sets(ensembles: Sequence[dict[str, Any]]) -> dict[str, str]:
    """List the sets of categories of all ensembles one after another."""
    sets = _joined("sets", ensembles)
    starts = _starts(len(ensemble["sets"]) for ensemble in ensembles)
    of_node = [
        start + number if number >= 0 else -1
        for start, ensemble in zip(starts, ensembles, strict=False)
        for number in ensemble["category_set"] or [-1] * len(ensemble["left"])
    ]
    return {
        "category_set": _listed(of_node),
        "first_listed": _listed(_starts(len(members) for members, _ in sets)),
        "listed": _listed([member for members, _ in sets for member in members]),
        "holds_others": _listed([others for _, others in sets]),
    }


def _ensembles(ensembles: Sequence[dict[str, Any]], width: int, *, classify: bool) -> dict[str, str]:
    """List all trees one after another, their nodes numbered over all."""
    trees = [Trees(each, classify=classify) for each in ensembles]

    def rows(name: str) -> str:
        return _rows((row for each in trees for row in getattr(each, name).tolist()), width)

    return {
        "first_tree": _listed(_starts(len(each["root"]) for each in ensembles)),
        "link": _listed([LINKS.index(each.link) for each in trees]),
        "width_of": _listed([len(each["value"][0]) for each in ensembles]),
        "n_margins": _listed([len(each["base_score"]) for each in ensembles]),
        "narrow": _listed([each["dtype"] == "float32" for each in ensembles]),
        "base_score": _rows((each.base.tolist() for each in trees), width),
        "root": _listed(_moved("root", ensembles)),
        "first_output": _listed(_joined("first_output", ensembles)),
        "left": _listed(_moved("left", ensembles)),
        "right": _listed(_moved("right", ensembles)),
        "feature": _listed(_joined("feature", ensembles)),
        "threshold": _listed(_joined("threshold", ensembles)),
        "missing_left": _listed(_joined("missing_left", ensembles)),
        "value": rows("value"),
        "lowest": rows("lowest"),
        "highest": rows("highest"),
    }


def _ensembles_of(part: dict[str, Any]) -> list[dict[str, Any]]:
    """List the ensembles of a part: one, or those that its stages average."""
    return [part["trees"]] if "trees" in part else [each for stage in part.get("stages", []) for each in stage["trees"]]


def _starts(sizes: Iterable[int]) -> list[int]:
    """Say where each of several lists begins that stand one after another, and where the last one ends."""
    starts: list[int] = np.cumsum([0, *sizes]).tolist()
    return starts


def _joined(name: str, given: Iterable[dict[str, Any]]) -> list[Any]:
    """List the entries of a field of several documents one after another."""
    return [entry for each in given for entry in each[name]]


def _moved(name: str, given: Sequence[dict[str, Any]]) -> list[int]:
    """List numbers of nodes of several ensembles one after another, counted over all; -1 stays."""
    pairs = zip(_starts(len(each["left"]) for each in given), given, strict=False)
    return [node + start if node >= 0 else -1 for start, each in pairs for node in each[name]]


def _parts(document: dict[str, Any], parts: Sequence[dict[str, Any]]) -> dict[str, str]:
    """List what each part is, and where its ensembles and stages begin."""
    n_features = len(document["features"])
    return {
        "has_gate": _number(document["kind"] == "gate"),
        "gate_threshold": _number(document.get("threshold", 0.0)),
        "part_kind": _listed([KINDS.index(part["kind"]) for part in parts]),
        "level": _listed([float(part.get("level", "-inf")) for part in parts]),
        "free": _rows((part.get("free", document["free"]) for part in parts), n_features),
        "ensemble_of": _listed(_starts(len(_ensembles_of(part)) for part in parts)),
        "stage_of": _listed(_starts(len(part.get("stages", [])) for part in parts)),
        "function_of": _listed(_starts(len(_functions_of(part)) for part in parts)),
    }


def _functions_of(part: dict[str, Any]) -> list[dict[str, Any]]:
    """List the linear functions of a part: itself, or those by which its stages answer."""
    own = [part] if part["kind"] == "linear" else [stage["linear"] for stage in part.get("stages", [])]
    return [each for each in own if each is not None]


def _linear(functions: Sequence[dict[str, Any]], width: int) -> dict[str, str]:
    """List the terms of linear functions one after another."""
    return {
        "first_term": _listed(_starts(len(each["features"]) for each in functions)),
        "term_feature": _listed(_joined("features", functions)),
        "term_category": _listed(_joined("category", functions)),
        "term_mean": _listed(_joined("mean", functions)),
        "term_spread": _listed(_joined("spread", functions)),
        "term_weight": _rows(_joined("weights", functions), width),
        "intercept": _rows((each["intercept"] for each in functions), width),
        "linear_narrow": _listed([each["dtype"] == "float32" for each in functions]),
        "linear_link": _listed([LINKS.index(each["link"]) for each in functions]),
        "n_scores": _listed([len(each["intercept"]) for each in functions]),
    }


def _calibrations(calibrations: Sequence[dict[str, Any]]) -> dict[str, str]:
    """List the maps of all places and classes one after another; a sigmoid is a point of slope and intercept."""
    maps = [each for calibration in calibrations for place in calibration["maps"] for each in place]
    is_sigmoid = [not isinstance(each[0], list) for each in maps]
    points = [[[each[0]], [each[1]]] if flat else each for each, flat in zip(maps, is_sigmoid, strict=True)]
    return {
        "n_calibrations": str(len(calibrations)),
        "n_maps": str(len(calibrations[0]["maps"][0]) if calibrations else 1),
        "first_place": _listed(_starts(len(each["first"]) for each in calibrations)),
        "place_begins": _listed(_joined("first", calibrations)),
        "is_sigmoid": _listed(is_sigmoid),
        "first_point": _listed(_starts(len(x) for x, _ in points)),
        "point_x": _listed([each for x, _ in points for each in x]),
        "point_y": _listed([each for _, y in points for each in y]),
    }


def _decision(decision: dict[str, Any] | None, n_outputs: int) -> dict[str, str]:
    given = decision or {"threshold": [1.0] * n_outputs, "positive": None}
    return {
        "has_thresholds": _number(decision is not None),
        "decision_threshold": _listed(given["threshold"]),
        "positive": str(-1 if given["positive"] is None else given["positive"]),
    }


def _rules(rules: Sequence[dict[str, Any] | None]) -> dict[str, str]:
    """List the histories of rules one after another."""
    none: dict[str, Any] = {"next_stage": [], "first_child": [], "edges": [], "lambdas": [], "tie": 0.0}
    given = [rule or none for rule in rules]
    rows = _joined("edges", given)
    return {
        "has_rule": _listed([rule is not None for rule in rules]),
        "first_row": _listed(_starts(len(rule["edges"]) for rule in given)),
        "first_edge": _listed(_starts(map(len, rows))),
        "edge": _listed([each for row in rows for each in row]),
        "lambda": _listed(map(float, _joined("lambdas", given))),
        "next_stage": _listed(_joined("next_stage", given)),
        "first_child": _listed(_joined("first_child", given)),
        "tie": _listed([rule["tie"] for rule in given]),
    }


def _stages(parts: Sequence[dict[str, Any]]) -> dict[str, str]:
    """List the stages of all parts one after another."""
    stages = [stage for part in parts for stage in part.get("stages", [])]
    numbered = zip(_starts(len(part.get("stages", [])) for part in parts), parts, strict=False)
    goals = [
        goal + start if goal >= 0 else goal
        for start, part in numbered
        for stage in part.get("stages", [])
        for goal in stage["following"]
    ]
    first_ensembles = [
        start + place
        for start, part in zip(_starts(len(_ensembles_of(part)) for part in parts), parts, strict=False)
        for place in _starts(len(stage["trees"]) for stage in part.get("stages", []))[:-1]
    ]
    functions = []
    for start, part in zip(_starts(len(_functions_of(part)) for part in parts), parts, strict=False):
        is_linear = np.array([stage["linear"] is not None for stage in part.get("stages", [])], dtype=bool)
        functions += np.where(is_linear, start + np.cumsum(is_linear) - 1, -1).tolist()
    leaf: dict[str, Any] = {
        "left": [-1],
        "right": [-1],
        "feature": [0],
        "threshold": [0.0],
        "missing_left": [False],
        "dtype": "",
    }
    routers = [stage["router"] or leaf for stage in stages]
    return {
        "first_of_stage": _listed(_starts(len(stage["features"]) for stage in stages)),
        "stage_feature": _listed(_joined("features", stages)),
        "first_ensemble": _listed(first_ensembles),
        "n_averaged": _listed([len(stage["trees"]) for stage in stages]),
        "stage_function": _listed(functions),
        "depth": _listed([stage["depth"] for stage in stages]),
        "first_router": _listed(_starts(len(router["left"]) for router in routers)),
        "router_left": _listed(_moved("left", routers)),
        "router_right": _listed(_moved("right", routers)),
        "router_feature": _listed([max(feature, 0) for feature in _joined("feature", routers)]),
        "router_threshold": _listed(_joined("threshold", routers)),
        "router_missing_left": _listed(_joined("missing_left", routers)),
        "router_narrow": _listed([router["dtype"] == "float32" for router in routers for _ in router["left"]]),
        "following": _listed(goals),
    }


def _rows(rows: Iterable[Sequence[float]], width: int) -> str:
    """List rows of numbers, filled up with 0; no rows are listed as one of 0."""
    return ", ".join(f"{{{_listed([*row, *[0.0] * (width - len(row))])}}}" for row in rows) or "{0}"


def _listed(values: Iterable[Any]) -> str:
    """List numbers so that C reads them back exactly; C has no empty arrays, so nothing is listed as 0."""
    return ", ".join(map(_number, values)) or "0"


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value).replace("inf", "INFINITY")


def _text(name: object) -> str:
    """Write a name as a C string, letters other than ASCII as the bytes of UTF-8 in octal."""
    plain = {ord(sign) for sign in " !#$%&'()*+,-./:;<=>@[]^_`{|}~"}
    quoted = (chr(b) if (chr(b).isalnum() and b < 128) or b in plain else f"\\{b:03o}" for b in str(name).encode())
    return f'"{"".join(quoted)}"'
