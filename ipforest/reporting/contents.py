"""What a report tells: measures, costs, rounds, purchases and other budgets of a model on examples."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from ipforest._internal.arrays import Array, IntArray
from ipforest._internal.axes import MAX_CLASSES, short
from ipforest._internal.examples import checked_weight, require_rows_in_order
from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.words import as_given, plain
from ipforest.choosing.class_costs import costs_of
from ipforest.choosing.measures import listed_scoring
from ipforest.estimator import BudgetedEstimator
from ipforest.estimator.checks import check_each, check_integer
from ipforest.estimator.held_out import checked_labels
from ipforest.estimator.model import trying_budgets
from ipforest.estimator.predicting import Seen
from ipforest.reporting.measured import Answered, Measure, measures_of, recall_of
from ipforest.reporting.pages import Report, Table
from ipforest.session import Seller, Sessions
from ipforest.tabular.purchases import purchases
from ipforest.wrappers.adapted import AdaptedClassifier
from ipforest.wrappers.calibration import number_asked
from ipforest.wrappers.pipeline import parted

if TYPE_CHECKING:
    from ipforest.reporting.figures import Picture

__all__ = ["answers_about", "report"]

MAX_BUDGETS = 8
"""Budgets that are tried, of those that a frontier distinguishes."""

MAX_NAMED = 12
"""Features that are bought for no example, of which the names are given."""

UNKNOWN = "–"

PER_CENT = "95% interval"


def report(
    model: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    scoring: Sequence[Any] | str = (),
    budgets: Sequence[Any] | None = None,
    sample_weight: npt.ArrayLike | None = None,
    n_resamples: int = 999,
    random_state: Any = 0,
) -> Report:
    """Measure a fitted model on examples that it has not seen, and put it on one page.

    Parameters
    ----------
    model : BudgetedEstimator, BudgetedPipeline, or Pipeline that ends with a BudgetedEstimator
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        Held-out examples.
    scoring : sequence of str or callable, optional
        Further measures; see `ipforest.choosing.measures.read_scoring`.
    budgets : sequence of number, optional
        Other budgets to compare; by default some of those that a model with a frontier distinguishes.
    sample_weight : array, shape (n_samples,), optional
        Weights in the measures and in mean costs; quartiles, rounds and purchases count each example once.
    n_resamples : int, default=999
        How often the bootstrap draws the examples anew; with 0 there are no intervals.
    random_state : int, default=0
        Seeds the bootstrap.

    Returns
    -------
    Report
        Printed, it is a text; ``save("report.html")`` writes a page.

    Raises
    ------
    TypeError
        The model does not buy.
    ValueError
        Bad examples, labels, weights or measures.

    Notes
    -----
    Intervals are of the percentile bootstrap over examples (`scipy.stats.bootstrap`): they tell how much other examples
    would change the measures of this model, not how much other training examples would.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ipforest import BoostSearch, BudgetBoost, report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BudgetBoost(20, search=BoostSearch(n_lambdas=2), budget=3, random_state=0).fit(X[::2], y[::2])
    >>> page = report(model, X[1::2], y[1::2], n_resamples=50)
    >>> bool(page.to_frame().loc["AUC", "value"] > 0.9)
    True
    """
    check_integer(n_resamples, "n_resamples", 0)
    listed = listed_scoring(scoring)
    others = read_budgets(budgets)
    require_rows_in_order(X, y)
    require_rows_in_order(X, sample_weight, "sample_weight")
    _, buyer, encode, _ = parted(model)
    table = encode(X)
    answered = answers_about(buyer, table, y, sample_weight)
    measures = measures_of(answered, listed, n_resamples, random_state)
    lost = measures[0]
    budget = None if buyer.budget is None else float(buyer.budget)
    tried = [_at_budget(buyer, each, table, y, sample_weight) for each in _budgets(buyer, others)]
    tables = [
        _measure_table(measures, answered),
        _cost_table(answered, measures, budget),
        _round_table(answered, delayed=bool(buyer.costs_.delayed.any())),
    ]
    tables.append(_purchase_table(buyer, model, answered))
    if _has_many_classes(answered):
        tables.append(_class_table(answered, measures))
    if tried:
        rows = tuple((plain(nominal), plain(cost), plain(loss)) for nominal, cost, loss in tried)
        tables.append(Table("Other budgets", ("budget", "mean cost", lost.name), rows, "On the same examples."))
    bought = buyer.costs_.bought(answered.acquired)
    drawing = partial(_drawn, answered, bought, _names(buyer, model), budget, tried, lost)
    kind = type(buyer).__name__
    title = f"{kind} at no budget" if budget is None else f"{kind} at budget {plain(budget)}"
    return Report(title, _facts(buyer, answered, n_resamples), measures, tuple(tables), drawing)


def _drawn(*shown: Any) -> tuple[Picture, ...]:
    """Draw what a report shows; matplotlib is loaded only then."""
    from ipforest.reporting.figures import pictures_of

    return pictures_of(*shown)


def answers_about(buyer: BudgetedEstimator, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Answered:
    """Note what each example is answered, and what it buys for that."""
    examples = buyer._checked(buyer._with_unused_columns(X))
    classes = np.asarray(buyer.classes_) if is_classifier(buyer) else None
    labels = checked_labels(y, examples, classes, "y")
    weight = checked_weight(sample_weight, X, examples)
    if not (weight > 0).any():
        raise ValueError("sample_weight: expected an example of positive weight, got none")
    seen = buyer._ready.see(examples)
    predicted = seen.labels(seen.outputs)
    prices = buyer.class_costs_
    mistakes = None if prices is None or classes is None else costs_of(prices, classes, labels, predicted)
    return Answered(
        examples,
        labels,
        seen.outputs,
        predicted,
        seen.paid,
        seen.tests > 0,
        rounds_of(seen, buyer._seller()),
        number_asked(seen.tests),
        weight,
        classes,
        mistakes,
    )


def rounds_of(seen: Seen | Sessions, seller: Seller) -> IntArray:
    """Count how often each example waited, shape (n_samples,): for delayed values, or, without any, for each unit."""
    if isinstance(seen, Sessions) and seller.costs.delayed.any():
        return seen.rounds.astype(np.int64)
    return np.asarray(seller.units_of(seen.bought & ~seller.free_features).sum(axis=1))


def _innermost(buyer: Any) -> Any:
    """Return what buys, without what changes its answers."""
    return _innermost(buyer.model_) if isinstance(buyer, AdaptedClassifier) else buyer


def read_budgets(budgets: Any, least: int = 0) -> list[Fraction] | None:
    """Read budgets, so many or more of them, or None for those of a model."""
    check_each(budgets, "budgets", nonnegative_fraction, or_none=True, least=least)
    return None if budgets is None else [nonnegative_fraction(budget, "budgets") for budget in budgets]


def _budgets(buyer: BudgetedEstimator, budgets: Sequence[Fraction] | None) -> Sequence[Any]:
    if budgets is not None:
        return sorted(budgets)
    frontier = _innermost(buyer).frontier_
    if frontier is None or np.ptp(frontier.cost) == 0:
        return []
    costs = np.sort(frontier.cost)
    wanted = np.geomspace(max(costs[costs > 0].min(), costs[-1] / 1000), costs[-1], MAX_BUDGETS - 1)
    nearest = {float(costs[np.argmin(np.abs(costs - cost))]) for cost in wanted}
    return sorted({float(costs[0]), *nearest})


def _at_budget(
    buyer: BudgetedEstimator, budget: Any, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[float, float, float]:
    """Return a budget, and the mean cost and the first measure of the model there."""
    with trying_budgets():
        answered = answers_about(buyer.at_budget(budget), X, y, sample_weight)
    measures = measures_of(answered, (), 0, 0)
    return float(budget), _of_cost(measures).value, measures[0].value


def _facts(buyer: BudgetedEstimator, answered: Answered, n_resamples: int) -> tuple[str, ...]:
    facts = []
    chosen = getattr(_innermost(buyer), "chosen_", None)
    if isinstance(chosen, str):
        facts.append(f"The model takes {chosen}.")
    if answered.classes is None:
        facts.append(f"Measured on {answered.n_samples} examples.")
    elif _has_many_classes(answered):
        facts.append(f"Measured on {answered.n_samples} examples of {np.unique(answered.y).size} classes.")
    else:
        counts = ", ".join(f"{(answered.y == label).sum()} of {label}" for label in answered.classes.tolist())
        facts.append(f"Measured on {answered.n_samples} examples: {counts}.")
    if answered.classes is not None and answered.classes.size == 2:
        facts.append(f"The positive class is {answered.classes.tolist()[1]}.")
    if not (answered.weight == 1).all():
        facts.append("The measures are weighted.")
    if n_resamples:
        facts.append(f"Intervals are of {n_resamples} bootstrap drawings of these examples, for this one model.")
    return tuple(facts)


def _has_many_classes(answered: Answered) -> bool:
    return answered.classes is not None and answered.classes.size > MAX_CLASSES


def _class_table(answered: Answered, measures: Sequence[Measure]) -> Table:
    """List the classes, which are many: their examples, recalls and costs."""
    assert answered.classes is not None
    by_name = {each.name: each for each in measures}
    rows = []
    for label in answered.classes.tolist():
        of_class, recall = answered.y == label, by_name[recall_of(label)]
        cost = _number(float(answered.cost[of_class].mean())) if of_class.any() else UNKNOWN
        rows.append((str(label), str(of_class.sum()), _number(recall.value), _between(recall), cost))
    return Table("Classes", ("class", "examples", "recall", PER_CENT, "mean cost"), tuple(rows))


def _measure_table(measures: Sequence[Measure], answered: Answered) -> Table:
    if _has_many_classes(answered):
        elsewhere = set(map(recall_of, np.asarray(answered.classes).tolist()))
        measures = [each for each in measures if each.name not in elsewhere]
    rows = tuple((each.name, _number(each.value), _between(each)) for each in measures)
    undefined = [each.name for each in measures if np.isnan(each.value)]
    note = f"Not defined on these examples: {', '.join(undefined)}." if undefined else ""
    return Table("Measures", ("measure", "value", PER_CENT), rows, note)


def _of_cost(measures: Sequence[Measure]) -> Measure:
    return next(each for each in measures if each.name == "cost")


def _cost_table(answered: Answered, measures: Sequence[Measure], budget: float | None) -> Table:
    low, middle, high = np.quantile(answered.cost, [0.25, 0.5, 0.75]).tolist()
    of_cost = _of_cost(measures)
    mean = of_cost.value
    values = [("mean", mean), ("lower quartile", low), ("median", middle), ("upper quartile", high)]
    values += [("most", float(answered.cost.max())), ("least", float(answered.cost.min()))]
    note = ""
    if budget is not None:
        share = f", {mean / budget:.0%} of the budget" if budget > 0 else ""
        within = "" if np.isnan(of_cost.low) else f"; the interval is {_between(of_cost)}"
        note = f"The budget is {plain(budget)}. The mean cost on these examples is {plain(mean)}{share}{within}."
    return Table("Cost per example", ("", "cost"), tuple((name, _number(value)) for name, value in values), note)


def _round_table(answered: Answered, *, delayed: bool) -> Table:
    counts = np.bincount(answered.rounds)
    beyond = np.cumsum(counts[::-1])[::-1] / answered.n_samples
    rows = tuple(
        (str(number), str(count), f"{count / answered.n_samples:.1%}", f"{beyond[number]:.1%}")
        for number, count in enumerate(counts.tolist())
        if count
    )
    what = "what is ordered together, and the wait for its results" if delayed else "one purchase; no test is delayed"
    note = f"{answered.rounds.mean():.3g} on average. A round is {what}."
    return Table("Rounds", ("rounds", "examples", "share", "this many or more"), rows, note)


def _purchase_table(buyer: BudgetedEstimator, model: Any, answered: Answered) -> Table:
    parts: list[tuple[str, Array]] = [("all", np.ones(answered.n_samples, dtype=bool))]
    if answered.classes is not None:
        parts += [(str(label), answered.y == label) for label in answered.classes.tolist()]
    parts = [(name, rows) for name, rows in parts if rows.any()]
    names, costs = _names(buyer, model), buyer.costs_
    bills = [purchases(answered.acquired[rows], costs, names) for _, rows in parts]
    shares = [{line.name: line.share for line in bill} for bill in bills]
    heads = [f"bought for {name}" for name, _ in parts]
    if _has_many_classes(answered):
        heads = ["bought for all", "least for a class", "most for a class"]

    def told(feature: str) -> list[str]:
        each = [share[feature] for share in shares]
        if not _has_many_classes(answered):
            return [f"{share:.1%}" for share in each]
        ends = [int(place) for place in (1 + np.argmin(each[1:]), 1 + np.argmax(each[1:]))]
        return [f"{each[0]:.1%}", *(f"{each[place]:.1%} ({short(parts[place][0])})" for place in ends)]

    rows = tuple(
        (line.name, as_given(line.price), *told(line.name), plain(line.paid)) for line in bills[0] if line.share > 0
    )
    idle = [line.name for line in bills[0] if line.share == 0]
    more = f" and {len(idle) - MAX_NAMED} more" if len(idle) > MAX_NAMED else ""
    note = f"Bought for no example: {', '.join(idle[:MAX_NAMED])}{more}." if idle else ""
    return Table("What is bought", ("feature", "price", *heads, "paid per example"), rows, note)


def _names(buyer: BudgetedEstimator, model: Any) -> list[str]:
    """Name what has prices: columns of the table, which preprocessing may have made several of."""
    of_table = buyer._seller().feature_names if model is buyer else getattr(model, "feature_names_in_", ())
    if len(of_table) != len(buyer.costs_.prices) or (model is buyer and not buyer.costs_.is_plain):
        return [f"feature {number}" for number in range(len(buyer.costs_.prices))]
    return [*map(str, of_table)]


def _number(value: float) -> str:
    return UNKNOWN if np.isnan(value) else plain(value)


def _between(measure: Measure) -> str:
    if np.isnan(measure.low) or np.isnan(measure.high):
        return UNKNOWN
    return f"{plain(measure.low)} to {plain(measure.high)}"
