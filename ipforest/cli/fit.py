"""The command ``fit``: from a table and a price list to a model within a budget, saved for ``predict``."""

from __future__ import annotations

import json
import shlex
import warnings
from dataclasses import asdict
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ipforest._internal.words import as_given, plain
from ipforest.cli.exit_codes import DONE
from ipforest.cli.learning_table import add_table_options, read_table
from ipforest.cli.options import (
    SEARCH_SECONDS,
    Arguments,
    Parser,
    exact_number,
    format_of_prices,
    made_directory,
    make_kernels_ready,
    new_table,
    plain_console,
    positive_integer,
    print_note,
    warnings_as_notes,
)

if TYPE_CHECKING:
    import pandas as pd

    from ipforest._internal.arrays import IntArray
    from ipforest.costs import FeatureCosts
    from ipforest.tabular.column_kinds import Column

MODEL_FILE, REPORT_FILE = "model.skops", "report.json"

PRUNED, CHOSEN, CHOSEN_NUMBER = "BudgetPrune", "BudgetedClassifier", "BudgetedRegressor"
"""The estimators: a forest that is pruned with proof, and the model of least error on rows held out."""
MEMBERS = ("BudgetForest", "BudgetBoost", "BudgetLinear")
"""What the latter choose from; of one alone, of either kind, less time is spent."""
NEEDED = {"budget": "what an example may cost on average", "out": "a folder for the model"}
"""What training cannot do without."""

OF_PRUNED: dict[str, Any] = {"trees": 100, "search": "exact"}
"""Options that only the first has, with their defaults."""

TOTAL_COST = "total-cost"

MAX_IDLE_SHOWN = 30
"""So many columns that nothing needs are told by name; the report has all."""

DESCRIPTION = (
    "Train a model within a budget on a table; save it, and say what it buys and its error on rows held out. "
    f"{PRUNED} is a random forest, pruned optimally. {CHOSEN} and {CHOSEN_NUMBER} grow with prices, prune, and "
    "stop buying when going on is not worth it; their error is often lower, and they take longer. --search and "
    f"--trees are for {PRUNED} alone."
)


def add(command: Parser) -> None:
    """Describe its options."""
    add_table_options(command, required=True)
    command.add_argument("--budget", metavar="B", help="what an example may cost on average")
    command.add_argument(
        "--class-costs",
        metavar="FILE",
        help=".csv (true classes in the first column, a column for each predicted one) or .json of what mistakes cost",
    )
    command.add_argument(
        "--scoring",
        metavar="NAME",
        help=f"what chooses in place of the error within the budget: {TOTAL_COST}, of what is bought and what mistakes "
        f"cost together; or, for {CHOSEN} and {CHOSEN_NUMBER}, a scikit-learn scorer, such as roc_auc or neg_log_loss, "
        "or sensitivity_at=0.9, at a specificity of 0.9",
    )
    command.add_folder(f"write {MODEL_FILE} and {REPORT_FILE} there")
    command.add_argument(
        "--dry-run", action="store_true", help="say what is made of each column and its price; train nothing"
    )
    command.add_argument(
        "--estimator",
        choices=(PRUNED, CHOSEN, CHOSEN_NUMBER, *MEMBERS),
        default=PRUNED,
        metavar="NAME",
        help=f"what to train: {PRUNED} (the default), {CHOSEN}, {CHOSEN_NUMBER}, {', '.join(MEMBERS)}",
    )
    command.add_search_options("; none for the others, whose training ends then")
    command.add_argument("--trees", type=positive_integer, metavar="T", help="trees of the forest (default: 100)")
    command.set_defaults(**dict.fromkeys([*OF_PRUNED, "time_limit"]))
    command.add_argument(
        "--test-share", default="0.25", metavar="S", help="share of the rows held out to measure on (default: 0.25)"
    )
    command.add_seed("seed of the model and of what is held out")


def run(options: Arguments) -> int:
    """Read, train, measure, save."""
    from sklearn.model_selection import train_test_split

    from ipforest._internal.files import write_text
    from ipforest._internal.progress import progress_bar
    from ipforest.tabular.column_kinds import summary
    from ipforest.tabular.model_files import save_model

    budget, share = exact_number(options.budget, "budget"), exact_number(options.test_share, "test-share")
    if share is None or not 0 < share < 1:
        raise ValueError(f"--test-share: expected a share between 0 and 1, got {options.test_share}")
    _check_options(options)
    with warnings_as_notes():
        X, y, columns, costs = read_table(options)
        class_costs = _class_costs(options, y)
    untrained = _untrained(options, budget, class_costs)
    if options.dry_run:
        _print_reading(columns, costs, options)
        return DONE
    for line in summary(columns):
        print_note(f"{options.csv}: {line}")
    _check_parts(y, share, options)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=float(share), random_state=options.seed, stratify=None if options.regression else y
    )
    directory = made_directory(options.out)
    make_kernels_ready(options)
    with progress_bar("ipforest fit", visible=options.estimator == PRUNED and not options.json) as progress:
        progress(0.1, f"training {options.estimator}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            model, compared = _fitted(untrained, X_train, y_train, costs)
        progress(1.0, "")
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print_note(message)
    report = _report(model, compared, X_test, y_test, list(X.columns))
    if compared is not model:
        report["left_out"] = [X.columns[column] for column in _beyond_budget(budget, costs)]
    save_model(model, directory / MODEL_FILE)
    write_text(directory / REPORT_FILE, json.dumps(report, indent=1))
    if options.json:
        print(json.dumps(report))
        return DONE
    console = plain_console()
    console.print(_bill(report))
    console.print(_verdict(report, options, costs), soft_wrap=True)
    console.print(f"Wrote {MODEL_FILE} and {REPORT_FILE} to {directory}.", soft_wrap=True)
    return DONE


def _check_options(options: Arguments) -> None:
    """Refuse options of the pruned forest for the other estimator, and training without a budget or a folder."""
    given = [name for name in OF_PRUNED if getattr(options, name) is not None]
    chosen = options.estimator
    if chosen != PRUNED and given:
        raise ValueError(f"--{given[0].replace('_', '-')}: expected it with --estimator {PRUNED} only, got {chosen}")
    least_total = options.scoring == TOTAL_COST
    if chosen == PRUNED and options.scoring is not None and not least_total:
        raise ValueError(
            f"--scoring: expected {TOTAL_COST} with --estimator {PRUNED}, got {options.scoring}; a scorer chooses with "
            f"{CHOSEN} or {CHOSEN_NUMBER}"
        )
    wanted = {CHOSEN: False, CHOSEN_NUMBER: True}.get(chosen, options.regression)
    if options.regression not in (None, wanted):
        other = CHOSEN_NUMBER if options.regression else CHOSEN
        raise ValueError(f"--estimator: expected {PRUNED} or {other} to predict as --regression says, got {chosen}")
    options.regression = wanted
    for option in () if options.dry_run else ("out",) if least_total else ("budget", "out"):
        if getattr(options, option) is None:
            raise ValueError(f"--{option}: expected {NEEDED[option]}, got none; only --dry-run needs none")
    if least_total and options.class_costs is None:
        raise ValueError("--class-costs: expected a file of what mistakes cost, to minimise the total cost, got none")
    if least_total and options.estimator == PRUNED and options.budget is not None:
        raise ValueError(f"--budget: expected none with --scoring {TOTAL_COST} of {PRUNED}, got {options.budget}")
    if options.class_costs is not None and options.regression:
        raise ValueError("--class-costs: expected none with --regression, got a value")


def _check_parts(y: pd.Series, share: Fraction, options: Arguments) -> None:
    """Refuse a share that leaves too few rows to measure on, or to train on: two numbers, or one of each class."""
    n_held_out = ceil(float(share) * len(y))
    least, what = (2, "rows") if options.regression else (y.nunique(), "rows, one of each class,")
    for n_rows, purpose in ((n_held_out, "held out"), (len(y) - n_held_out, "to train on")):
        if n_rows < least:
            raise ValueError(
                f"--test-share: expected at least {least} {what} {purpose}, got {n_rows} of {len(y)} by a share of "
                f"{float(share):g}"
            )


def _print_reading(columns: list[Column], costs: FeatureCosts, options: Arguments) -> None:
    """Print what was made of each column, and what it costs."""
    from ipforest.costs import NO_GROUP
    from ipforest.tabular.column_kinds import summary

    names = costs.feature_names or ()
    fees = [0.0 if group == NO_GROUP else float(costs.group_fees[group]) for group in costs.groups.tolist()]
    priced = list(zip(names, map(float, costs.prices), fees, strict=True))
    if options.json:
        prices = [{"name": name, "price": price, "fee_of_group": fee} for name, price, fee in priced]
        print(json.dumps({"columns": [asdict(column) for column in columns], "prices": prices}))
        return
    console = plain_console()
    for line in summary(columns):
        console.print(line, soft_wrap=True)
    table = new_table("Prices", "feature", "price", "fee of its group", left=("feature",))
    for name, price, fee in priced:
        table.add_row(name, as_given(price), as_given(fee) if fee else "")
    console.print(table)


def _class_costs(options: Arguments, y: pd.Series) -> dict[str, dict[str, float]] | None:
    """Read what mistakes cost, by the names of the classes, of which training may see fewer."""
    import numpy as np

    from ipforest.choosing.class_costs import class_costs_of_file

    if options.class_costs is None:
        return None
    classes = np.unique(y)
    matrix = class_costs_of_file(options.class_costs, classes, format_of_prices(options, options.class_costs))
    return {true: dict(zip(classes, row, strict=True)) for true, row in zip(classes, matrix.tolist(), strict=True)}


def _untrained(options: Arguments, budget: Fraction | None, class_costs: dict[str, dict[str, float]] | None) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    import ipforest
    from ipforest.frontiers.budgeted_classifier import BudgetedClassifier, BudgetedRegressor, RunSettings
    from ipforest.learners.budget_prune import BudgetPrune
    from ipforest.learners.forest_pruner import PruningSettings

    common = {"budget": budget, "max_cost": exact_number(options.max_cost, "max-cost"), "random_state": options.seed}
    common["scoring"] = TOTAL_COST.replace("-", " ") if options.scoring == TOTAL_COST else options.scoring
    if class_costs is not None:
        common["class_costs"] = class_costs
    if options.estimator != PRUNED:
        ending, front_end = ("Regressor", BudgetedRegressor) if options.regression else ("", BudgetedClassifier)
        alone = [getattr(ipforest, options.estimator + ending)()] if options.estimator in MEMBERS else None
        run = RunSettings(options.time_limit, verbose=not options.json)
        return front_end(alone, n_jobs=-1, run=run, **common)
    given = {name: getattr(options, name) for name in OF_PRUNED}
    chosen = {name: default if given[name] is None else given[name] for name, default in OF_PRUNED.items()}
    limit = SEARCH_SECONDS if options.time_limit is None else options.time_limit
    kind = RandomForestRegressor if options.regression else RandomForestClassifier
    return BudgetPrune(
        kind(chosen["trees"], random_state=options.seed, n_jobs=-1),
        pruning=PruningSettings(search=chosen["search"], time_limit=limit),
        validation_fraction=None,  # costs need no target, and a quarter of a small table tells them badly
        **common,
    )


def _fitted(untrained: Any, X: pd.DataFrame, y: pd.Series, costs: FeatureCosts) -> tuple[Any, Any]:
    """Train the estimator; return also what it is compared with."""
    from sklearn.base import clone

    from ipforest.learners.budget_prune import BudgetPrune
    from ipforest.tabular.word_columns import as_categories

    if isinstance(untrained, BudgetPrune):
        return _pruned(untrained, X, y, costs)
    model = clone(untrained).set_params(feature_costs=costs).fit(as_categories(X), y)
    return model, model


def _pruned(untrained: Any, X: pd.DataFrame, y: pd.Series, costs: FeatureCosts) -> tuple[Any, Any]:
    """Train and prune a forest, behind one-hot columns where there is text; return also what it is compared with.

    A forest is also trained without the columns that cost more than the budget. If that is no worse, it is compared
    with a forest on all columns, and otherwise with itself, both without a budget.
    """
    from sklearn.base import clone
    from sklearn.frozen import FrozenEstimator

    from ipforest.estimator.model import trying_budgets
    from ipforest.tabular.word_columns import one_hot, text_columns
    from ipforest.wrappers.pipeline import BudgetedPipeline, parted

    encoder = FrozenEstimator(one_hot(X, costs)[0]) if text_columns(X) else None

    def trained(table: pd.DataFrame, budget: Fraction | None) -> Any:
        model = clone(untrained).set_params(budget=budget)
        model = model if encoder is None else BudgetedPipeline(encoder, model)
        return model.set_params(feature_costs=costs).fit(table, y)

    budget, hidden = untrained.budget, _beyond_budget(untrained.budget, costs)
    whole = trained(X, None if hidden.size else budget)
    if not hidden.size:
        return whole, whole
    shown = X.copy()
    shown.iloc[:, hidden] = 0  # also none of the words
    with trying_budgets():
        model = whole.at_budget(budget)
    other = trained(shown, budget)
    if parted(other).buyer.result_.error > parted(model).buyer.result_.error:
        return model, model
    return other, whole


def _beyond_budget(budget: Fraction | None, costs: FeatureCosts) -> IntArray:
    """List the columns without which a forest is trained as well."""
    from ipforest.learners.budget_prune import columns_beyond

    hidden = columns_beyond(costs, budget or Fraction(0))
    is_tried = budget and hidden.size < costs.n_features
    return hidden if is_tried else hidden[:0]


def _report(model: Any, compared: Any, X: pd.DataFrame, y: pd.Series, names: list[str]) -> dict[str, Any]:
    """Measure a model on rows held out, and without a budget what it is compared with."""
    from sklearn.base import is_classifier

    from ipforest.choosing.measures import name_of, read_scoring
    from ipforest.learners.budget_prune import BudgetPrune
    from ipforest.tabular.purchases import purchases
    from ipforest.wrappers.pipeline import parted

    (_, bought, encode, _), (_, other, _, _) = parted(model), parted(compared)
    columns = encode(X)
    is_pruned = isinstance(bought, BudgetPrune)
    has_all_classes = not is_classifier(bought) or y.nunique() == len(bought.classes_)
    is_scored = bought._scorer is not None and has_all_classes
    report: dict[str, Any] = {
        "budget": None if bought.budget is None else str(bought.budget),
        "rows_held_out": len(X),
        "measure": "error" if is_classifier(bought) else "1 - R2",
        "bought": [asdict(line) for line in purchases(bought.acquired(columns), bought.costs_, names)],
        "wanted": sorted(parted(model).wanted(), key=names.index),
    }
    if is_pruned:
        report["gap"] = float(bought.gap_)
    if is_scored:
        report["scoring"] = name_of(bought.scoring)
    whole = other.at_lambda(0).set_params(max_cost=None) if is_pruned else other.at_budget(None)
    alone = bought.measured(columns, y)
    gain = bought._gain_over(alone, columns, y)
    if alone.is_beyond_chance(gain):
        report["mixture_gain"] = gain
    for ending, measured in (("", bought), ("_unpruned" if is_pruned else "_without_budget", whole)):
        report[f"error{ending}"] = 1 - measured.score(columns, y)
        report[f"cost{ending}"] = float(measured.cost(columns).mean())
        if bought.class_costs_ is not None:
            report[f"mistakes{ending}"] = measured.misclassification_cost(columns, y)
        if is_scored:
            report[f"score{ending}"] = float(read_scoring(bought.scoring)(measured, columns, y))
    return report


def _bill(report: dict[str, Any]) -> Table:
    title = f"What is bought, on {report['rows_held_out']} rows held out"
    table = new_table(title, "feature", "price", "bought by", "paid per example", left=("feature",))
    for line in report["bought"]:
        if line["share"] > 0:
            table.add_row(line["name"], as_given(line["price"]), f"{line['share']:.1%}", plain(line["paid"]))
    return table


def _verdict(report: dict[str, Any], options: Arguments, costs: FeatureCosts) -> str:
    from ipforest._internal.feature_names import some_names

    left_out, wanted = report.get("left_out", []), report["wanted"]
    idle = [line["name"] for line in report["bought"] if line["share"] == 0 and line["name"] not in left_out]
    reasons = {
        "Not bought within the budget" if report["budget"] else "Not needed": [x for x in idle if x not in wanted],
        "For none of these rows, but perhaps for others": [x for x in idle if x in wanted],
        "Left out, as one example alone pays more than the budget": left_out,
    }
    unused = "".join(f"{why}: {some_names(names, MAX_IDLE_SHOWN)}.\n" for why, names in reasons.items() if names)
    proof = ""
    ending, otherwise = "_without_budget", "without a budget"
    if "gap" in report:
        ending, otherwise = "_unpruned", "unpruned"
        error = "error" if report["measure"] == "error" else "mean squared error"
        error = "cost of mistakes" if "mistakes" in report else error
        of, measured = ("within the budget", error) if report["budget"] else ("of the forest", "total cost")
        of = f"of this forest {of}" if left_out else of
        proof = f"\nNo pruning {of} has a training {measured} that is smaller by more than {plain(report['gap'], 2)}."
    scored = ""
    if "scoring" in report:
        before = report[f"score{ending}"]
        scored = f", {report['scoring']} {report['score']:.4f} ({otherwise} {before:.4f})"
    budget = f"budget {as_given(Fraction(report['budget']))}; " if report["budget"] else ""
    return (
        f"{unused}An example costs {plain(report['cost'])} on average ({budget}{otherwise} "
        f"{plain(report[f'cost{ending}'])}) at {report['measure']} {report['error']:.4f} ({otherwise} "
        f"{report[f'error{ending}']:.4f}){scored}.{_mistakes(report, ending, otherwise)}{proof}{_coin(report, options)}"
        f"{_other_estimator(report, costs)}"
    )


def _coin(report: dict[str, Any], options: Arguments) -> str:
    """Point to a coin between two choices, where that is much better, by a command that runs on the same table."""
    if "mixture_gain" not in report:
        return ""
    given = {name: getattr(options, name) for name in ("csv", "sep", "decimal", "encoding")}
    given |= {"model": options.out, "mixture": as_given(Fraction(report["budget"]))}
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]
    gain = f"{report['mixture_gain']:.0%}"
    command = shlex.join(["ipforest", "predict", *words])
    return f"\nA coin between two choices, `{command}`, loses {gain} less on the rows held out."


def _other_estimator(report: dict[str, Any], costs: FeatureCosts) -> str:
    """Point to the estimator of least error, where a forest loses accuracy by a budget that buys a feature at least."""
    budget = Fraction(report["budget"] or 0)
    if "gap" not in report or report["error"] <= report["error_unpruned"]:
        return ""
    if not any(0 < price <= budget for price in costs.alone):
        return ""
    name, often = (CHOSEN, "usually") if report["measure"] == "error" else (CHOSEN_NUMBER, "often")
    return f"\nWithin a budget the error is {often} lower with `--estimator {name}`, which grows with prices."


def _mistakes(report: dict[str, Any], ending: str, otherwise: str) -> str:
    """Say what mistakes cost, where a price list of them was given."""
    if "mistakes" not in report:
        return ""
    total, before = (report[f"cost{end}"] + report[f"mistakes{end}"] for end in ("", ending))
    mistakes = plain(report["mistakes"])
    return f"\nMistakes cost {mistakes}, with what is bought {plain(total)} ({otherwise} {plain(before)})."
