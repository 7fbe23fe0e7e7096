"""The report: every number computed anew from the model's answers, the page, and the text."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
    recall_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipforest import (
    BoostGrowth,
    BoostSearch,
    BudgetBoost,
    BudgetBoostRegressor,
    BudgetedPipeline,
    BudgetPrune,
    FeatureCosts,
    NestedCascade,
    report,
)
from ipforest.choosing.measures import sensitivity_at
from ipforest.cli import main
from ipforest.plotting import plot_reliability
from ipforest.reporting.contents import answers_about
from ipforest.reporting.figures import _costs, _roc
from ipforest.reporting.measured import calibration_error, measures_of
from ipforest.wrappers.calibration import calibrated
from ipforest.wrappers.thresholds import ThresholdClassifier

DATA = load_breast_cancer(as_frame=True)
X, y = DATA.data.iloc[:, :6], np.where(DATA.target == 1, "benign", "malignant")
TRAINED, UNSEEN = slice(0, 250), slice(250, 400)
COSTS = {"benign": {"malignant": 3}, "malignant": {"benign": 20}}
SMALL = {
    "growth": BoostGrowth(max_leaf_nodes=4),
    "search": BoostSearch(n_lambdas=2, n_prunings=0, single_price=False),
    "random_state": 0,
}


@pytest.fixture(scope="module")
def model():
    return BudgetBoost(8, budget=2, class_costs=COSTS, **SMALL).fit(X[TRAINED], y[TRAINED])


@pytest.fixture(scope="module")
def page(model):
    return report(model, X[UNSEEN], y[UNSEEN], scoring=["sensitivity_at=0.9"], n_resamples=60)


def values(model, X, y, weight):
    """Compute the measures by scikit-learn."""
    probability, labels, weighted = model.predict_proba(X), model.predict(X), {"sample_weight": weight}
    costs = pd.DataFrame(COSTS).reindex(index=model.classes_, columns=model.classes_).fillna(0)
    mistakes = np.array([costs.loc[guess, truth] for truth, guess in zip(y, labels, strict=True)])
    return {
        "error": np.average(labels != y, weights=weight),
        "balanced accuracy": balanced_accuracy_score(y, labels, **weighted),
        "sensitivity": recall_score(y, labels, pos_label="malignant", **weighted),
        "specificity": recall_score(y, labels, pos_label="benign", **weighted),
        "AUC": roc_auc_score(y, probability[:, 1], **weighted),
        "average precision": average_precision_score(y, probability[:, 1], pos_label="malignant", **weighted),
        "log loss": log_loss(y, probability, **weighted),
        "Brier score": brier_score_loss(y, probability[:, 1], pos_label="malignant", **weighted),
        "cost": np.average(model.cost(X), weights=weight),
        "cost of mistakes": np.average(mistakes, weights=weight),
        "total cost": np.average(model.cost(X) + mistakes, weights=weight),
    }


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_are_those_of_scikit_learn(model, weighted):
    weight = 1.0 + np.arange(150) % 4 if weighted else np.ones(150)
    found = report(model, X[UNSEEN], y[UNSEEN], sample_weight=weight if weighted else None, n_resamples=0, budgets=())
    for name, value in values(model, X[UNSEEN], y[UNSEEN], weight).items():
        assert found.to_frame().loc[name, "value"] == pytest.approx(value), name
    assert found.to_frame()["low"].isna().all()


def test_the_calibration_error_is_that_of_ten_bins(page, model):
    probability, true = model.predict_proba(X[UNSEEN])[:, 1], y[UNSEEN] == "malignant"
    bins = np.minimum(np.floor(probability * 10), 9)
    gaps = [
        abs(probability[bins == place].mean() - true[bins == place].mean()) * np.mean(bins == place)
        for place in np.unique(bins)
    ]
    assert page.to_frame().loc["calibration error", "value"] == pytest.approx(sum(gaps))


def test_sure_answers_are_in_the_last_bin_of_the_calibration_error():
    random = np.random.default_rng(0)
    for _ in range(20):
        probability, true = random.choice([0, 0.05, 0.1, 0.5, 0.93, 1], 40), random.random(40) < 0.5
        weight = random.integers(0, 3, 40) + 0.5
        bins = [(low / 10 <= probability) & ((probability < (low + 1) / 10) | (low == 9)) for low in range(10)]
        gaps = [abs((weight * (probability - true))[each].sum()) for each in bins]
        assert calibration_error(probability, true, weight) == pytest.approx(sum(gaps) / weight.sum())


def test_ties_count_half_in_the_area():
    constant = BudgetBoost(2, budget=0, **SMALL).fit(X[TRAINED], y[TRAINED])
    found = report(constant, X[UNSEEN], y[UNSEEN], n_resamples=0, budgets=()).to_frame()["value"]
    assert found["AUC"] == 0.5
    assert found["average precision"] == pytest.approx(np.mean(y[UNSEEN] == "malignant"))


def test_many_classes_have_a_recall_each():
    data, labels = load_iris(return_X_y=True)
    boosted = BudgetBoost(6, budget=2, **SMALL).fit(data[::2], labels[::2])
    page = report(boosted, data[1::2], labels[1::2], n_resamples=5)
    found = page.to_frame()["value"]
    probability, labels = boosted.predict_proba(data[1::2]), labels[1::2]
    assert found["AUC"] == pytest.approx(roc_auc_score(labels, probability, multi_class="ovr"))
    assert found["Brier score"] == pytest.approx(np.square(probability - np.eye(3)[labels]).sum(axis=1).mean())
    assert found["log loss"] == pytest.approx(log_loss(labels, probability))
    assert page.facts[1:] == ("Measured on 75 examples: 25 of 0, 25 of 1, 25 of 2.", page.facts[-1])
    recalls = recall_score(labels, boosted.predict(data[1::2]), average=None)
    assert found[[f"recall of {label}" for label in range(3)]].tolist() == pytest.approx(recalls.tolist())


def test_more_classes_than_columns_have_a_table_with_a_row_each():
    data, labels = load_digits(return_X_y=True)
    data, labels = np.tile(data[:400], (2, 1)), np.append(labels[:400], labels[:400] + 10)
    names = np.array([f"grade {label:02}" for label in labels])
    model = BudgetPrune(RandomForestClassifier(5, random_state=0), budget=8, random_state=0).fit(data, names)
    page = report(model, data[::2], names[::2], n_resamples=5, budgets=())
    tables = {table.title: table for table in page.tables}
    assert page.facts[0] == "Measured on 400 examples of 20 classes."
    assert "recall of grade 03" in page.to_frame().index
    assert not any(row[0].startswith("recall") for row in tables["Measures"].rows)
    rows = [row for row in tables["Classes"].rows if row[0] == "grade 03"]
    of_class = data[::2][names[::2] == "grade 03"]
    recall = page.to_frame().loc["recall of grade 03", "value"]
    assert rows[0][1:3] == (str(len(of_class)), f"{recall:.4g}")
    assert float(rows[0][4]) == pytest.approx(model.cost(of_class).mean(), rel=1e-3)
    bought = tables["What is bought"]
    assert bought.heads[2:5] == ("bought for all", "least for a class", "most for a class")
    assert {len(row) for row in bought.rows} == {len(bought.heads)}
    overall, least, most = bought.rows[-1][2:5]
    assert float(least.split("%")[0]) <= float(overall[:-1]) <= float(most.split("%")[0])
    assert most.endswith(")")


@pytest.mark.slow
def test_targets_have_their_own_measures():
    target = X["mean radius"] * 2.0
    boosted = BudgetBoostRegressor(8, budget=1, **SMALL).fit(X[TRAINED], target[TRAINED])
    found = report(boosted, X[UNSEEN], target[UNSEEN], n_resamples=5, budgets=())
    guesses = boosted.predict(X[UNSEEN])
    assert found.to_frame().loc["R2", "value"] == pytest.approx(r2_score(target[UNSEEN], guesses))
    assert found.to_frame().loc["mean absolute error", "value"] == pytest.approx(
        mean_absolute_error(target[UNSEEN], guesses)
    )
    assert [picture.title for picture in found.pictures] == ["Cost per example", "What is bought"]


def test_intervals_are_of_a_seeded_percentile_bootstrap(model):
    one, same, other = (
        report(model, X[UNSEEN], y[UNSEEN], n_resamples=200, random_state=seed, budgets=()).to_frame()
        for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(one, same)
    assert (one["low"] != other["low"]).any()
    wrong, random = model.predict(X[UNSEEN]) != y[UNSEEN], np.random.default_rng(3)
    drawn = wrong[random.integers(0, 150, (4000, 150))].mean(axis=1)
    assert one.loc["error", ["low", "high"]].tolist() == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.02)
    assert (one["low"] <= one["value"] + 1e-12).all()
    assert (one["value"] <= one["high"] + 1e-12).all()


def test_one_class_leaves_measures_undefined_and_says_so(model):
    benign = X[UNSEEN][y[UNSEEN] == "benign"]
    found = report(
        model, benign, np.full(len(benign), "benign"), n_resamples=5, scoring=[sensitivity_at(0.9)], budgets=()
    )
    undefined = ["sensitivity", "AUC", "average precision", "sensitivity at specificity 0.9"]
    assert found.to_frame().loc[undefined, "value"].isna().all()
    assert f"Not defined on these examples: {', '.join(undefined)}." in str(found)
    assert found.to_frame().loc["specificity", "value"] == np.mean(model.predict(benign) == "benign")


def table(page, title):
    return next(each for each in page.tables if each.title == title)


def test_costs_purchases_and_budgets_are_those_of_the_model(page, model):
    cost, bought = model.cost(X[UNSEEN]), model.acquired(X[UNSEEN])
    rows = dict(table(page, "Cost per example").rows)
    assert rows["mean"] == f"{cost.mean():.4g}"
    assert rows["upper quartile"] == f"{np.quantile(cost, 0.75):.4g}"
    assert rows["most"] == f"{cost.max():.4g}"
    assert f"{cost.mean() / 2:.0%} of the budget" in table(page, "Cost per example").note
    malignant = y[UNSEEN] == "malignant"
    purchases = table(page, "What is bought")
    assert purchases.heads[2:5] == ("bought for all", "bought for benign", "bought for malignant")
    for row in purchases.rows:
        column = bought[:, X.columns.get_loc(row[0])]
        shares = [column.mean(), column[~malignant].mean(), column[malignant].mean()]
        assert list(row[2:5]) == [f"{share:.1%}" for share in shares]


def test_the_text_has_the_intervals(page):
    rows = {row[0]: row[2] for row in table(page, "Measures").rows}
    for name, low, high in page.to_frame()[["low", "high"]].itertuples():
        assert rows[name] == f"{low:.4g} to {high:.4g}"
    assert f"the interval is {rows['cost']}." in table(page, "Cost per example").note


def test_mean_costs_are_weighted_as_errors_are(model):
    weight = np.where(model.cost(X[UNSEEN]) > model.cost(X[UNSEEN]).mean(), 9.0, 1.0)
    page = report(model, X[UNSEEN], y[UNSEEN], sample_weight=weight, budgets=[1, 4], n_resamples=0)
    mean = f"{np.average(model.cost(X[UNSEEN]), weights=weight):.4g}"
    assert table(page, "Cost per example").rows[0] == ("mean", mean)
    assert f"The mean cost on these examples is {mean}, " in table(page, "Cost per example").note
    for budget, row in zip([1, 4], table(page, "Other budgets").rows, strict=True):
        at = model.at_budget(budget)
        costs, wrong = at.cost(X[UNSEEN]), at.predict(X[UNSEEN]) != y[UNSEEN]
        assert row[1:] == tuple(f"{np.average(each, weights=weight):.4g}" for each in (costs, wrong))


def test_pictures_show_what_the_tables_say(model):
    weight = np.where(model.cost(X[UNSEEN]) > model.cost(X[UNSEEN]).mean(), 9.0, 1.0)
    answered = answers_about(model, X[UNSEEN], y[UNSEEN], weight)
    measures = {each.name: each.value for each in measures_of(answered, (), 0, 0)}
    roc, costs = Figure().subplots(2)
    _roc(roc, answered, model.classes_)
    curve, point, _ = (line.get_xydata() for line in roc.lines)
    np.testing.assert_allclose(point, [[1 - measures["specificity"], measures["sensitivity"]]])
    np.testing.assert_allclose(np.trapezoid(curve[:, 1], curve[:, 0]), measures["AUC"])
    _costs(costs, answered, 2)
    bars = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in costs.patches}
    values, counts = np.unique(model.cost(X[UNSEEN]), return_counts=True)
    assert bars == pytest.approx(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    assert f"mean {measures['cost']:.4g}" in [line.get_label() for line in costs.lines]


def test_a_class_whose_examples_weigh_nothing_has_no_roc_curve(model):
    found = report(model, X[UNSEEN], y[UNSEEN], sample_weight=(y[UNSEEN] == "benign") * 1.0, n_resamples=0, budgets=())
    assert np.isnan(found.to_frame().loc["AUC", "value"])
    assert "ROC curve" not in [picture.title for picture in found.pictures]


def test_other_budgets_are_realised_on_the_same_examples(model):
    found = report(model, X[UNSEEN], y[UNSEEN], budgets=np.array([4, 0, 1]), n_resamples=0)
    for budget, row in zip([0, 1, 4], table(found, "Other budgets").rows, strict=True):
        at = model.at_budget(budget)
        error = np.mean(at.predict(X[UNSEEN]) != y[UNSEEN])
        assert row == (f"{budget}", f"{at.cost(X[UNSEEN]).mean():.4g}", f"{error:.4g}")


def test_rounds_count_purchases_or_waits_for_delayed_values(page, model):
    rounds = {row[0]: int(row[1]) for row in table(page, "Rounds").rows}
    counts = np.bincount(model.acquired(X[UNSEEN]).sum(axis=1))
    assert rounds == {str(number): count for number, count in enumerate(counts.tolist()) if count}
    costs = FeatureCosts([1] * 6, delayed=[True, False] * 3)
    late = BudgetBoost(8, budget=2, feature_costs=costs, **SMALL).fit(X[TRAINED], y[TRAINED])
    sessions = late.sessions(150)
    sessions.see(np.asarray(X[UNSEEN]))
    found = table(report(late, X[UNSEEN], y[UNSEEN], n_resamples=0, budgets=()), "Rounds")
    assert {row[0]: int(row[1]) for row in found.rows} == {
        str(number): count for number, count in enumerate(np.bincount(sessions.rounds).tolist()) if count
    }
    assert "ordered together" in found.note


def test_models_that_all_cost_nothing_have_no_other_budgets():
    forest = RandomForestClassifier(4, max_depth=3, random_state=0)
    free = NestedCascade(forest, feature_costs=FeatureCosts([0] * 6), random_state=0).fit(X[TRAINED], y[TRAINED])
    assert free.frontier_.cost.size > 1
    found = report(free, X[UNSEEN], y[UNSEEN], n_resamples=0)
    assert "Other budgets" not in [each.title for each in found.tables]
    assert dict(table(found, "Cost per example").rows)["mean"] == "0"
    assert "Cost per example" in [picture.title for picture in found.pictures]


class _Page(HTMLParser):
    """What a browser would load, show and read aloud."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.slow
def test_the_page_needs_no_other_file_and_can_be_read_aloud(page, tmp_path):
    page.save(tmp_path / "report.html")
    read = _Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert read.open == []
    tags = [tag for tag, _ in read.tags]
    assert "script" not in tags
    assert "link" not in tags
    assert ("html", {"lang": "en"}) in read.tags
    assert tags.count("h1") == 1
    pictures = [attributes for tag, attributes in read.tags if tag == "img"]
    assert len(pictures) == 5
    assert all(each["src"].startswith("data:image/svg+xml;base64,") and len(each["alt"]) > 20 for each in pictures)
    assert all("scope" in attributes for tag, attributes in read.tags if tag == "th")
    text = " ".join(read.text)
    for row in page.to_frame().itertuples():
        assert row.Index in text
        assert f"{row.value:.4g}" in text


@pytest.mark.slow
def test_names_cannot_write_into_the_page():
    evil = '<script>alert("x")</script>'
    frame = X.rename(columns={"mean radius": evil, "mean texture": "a $b$ & c"})
    labels = np.where(y == "benign", "<b>", "&amp;")
    boosted = BudgetBoost(8, budget=6, **SMALL).fit(frame[TRAINED], labels[TRAINED])
    html = report(boosted, frame[UNSEEN], labels[UNSEEN], n_resamples=0, budgets=()).to_html()
    read = _Page(html)
    assert "script" not in [tag for tag, _ in read.tags]
    assert "b" not in [tag for tag, _ in read.tags]
    assert evil not in html
    assert "<b>" in " ".join(read.text)


def test_the_text_has_the_same_tables(page):
    text = str(page)
    assert text.startswith("BudgetBoost at budget 2\n\nThe model takes ")
    for each in page.tables:
        assert f"\n\n{each.title}\n" in text
        for row in each.rows:
            assert any(line.split() == " ".join(row).split() for line in text.splitlines())
    assert max(map(len, text.splitlines())) < 140


def test_a_model_within_preprocessing_is_reported_in_the_columns_of_its_table():
    scaled = BudgetedPipeline(StandardScaler(), BudgetBoost(6, **SMALL)).fit(X[TRAINED], y[TRAINED])
    found = report(scaled, X[UNSEEN], y[UNSEEN], n_resamples=0, budgets=())
    assert {row[0] for row in table(found, "What is bought").rows} <= set(X.columns)
    assert found.to_frame().loc["cost", "value"] == scaled.cost(X[UNSEEN]).mean()
    forest = BudgetPrune(RandomForestClassifier(4, max_depth=4, random_state=0))
    pipeline = make_pipeline(StandardScaler(), forest)
    pipeline.fit(X[TRAINED], y[TRAINED])
    found = report(pipeline, X[UNSEEN], y[UNSEEN], n_resamples=0)
    assert found.title == "BudgetPrune at no budget"
    assert {row[0] for row in table(found, "What is bought").rows} <= set(X.columns)


@pytest.mark.slow
def test_a_calibrated_model_is_reported_and_drawn(model):
    calibrator = calibrated(model, X[400:], y[400:], min_samples=40)
    found = report(calibrator, X[UNSEEN], y[UNSEEN], n_resamples=0)
    assert found.to_frame().loc["cost", "value"] == model.cost(X[UNSEEN]).mean()
    assert found.to_frame().loc["log loss", "value"] == pytest.approx(
        log_loss(y[UNSEEN], calibrator.predict_proba(X[UNSEEN]))
    )
    twice = ThresholdClassifier(calibrator, threshold=0.3).fit(X[400:], y[400:])
    found = report(twice, X[UNSEEN], y[UNSEEN], n_resamples=0)
    assert found.facts[0] == f"The model takes {model.chosen_}."
    assert "Other budgets" in [each.title for each in found.tables]
    own = plot_reliability(calibrator)
    assert sum(int(label.split(": ")[1].split()[0]) for label in own.get_legend_handles_labels()[1][1:]) == 169
    other = plot_reliability(calibrator, X[UNSEEN], y[UNSEEN], min_samples=1)
    stops = np.unique((calibrator.feature_usage(X[UNSEEN]) > 0).sum(axis=1))
    assert len(other.get_legend_handles_labels()[1]) == stops.size + 1
    with pytest.raises(ValueError, match="X: expected examples for a model that is not a CalibratedClassifier"):
        plot_reliability(model)
    with pytest.raises(ValueError, match="X, y: expected both or none, got one"):
        plot_reliability(calibrator, X[UNSEEN])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"scoring": ["gain"]}, ValueError, "scoring: expected the name of a scikit-learn scorer"),
        ({"n_resamples": -1}, ValueError, "n_resamples: expected an integer >= 0, got -1"),
        ({"sample_weight": np.zeros(150)}, ValueError, "(?i)sample.weight"),
        ({"sample_weight": -np.ones(150)}, ValueError, "sample_weight"),
        ({"budgets": [-1]}, ValueError, "budgets: expected a number >= 0"),
        ({"budgets": 2}, ValueError, "^budgets: expected a sequence, got 2$"),
        ({"scoring": None}, TypeError, "^scoring: expected the name of a scikit-learn scorer or a callable"),
    ],
)
def test_bad_parameters_are_refused(model, parameters, error, message):
    with pytest.raises(error, match=message):
        report(model, X[UNSEEN], y[UNSEEN], **parameters)


def test_bad_models_and_labels_are_refused(model):
    with pytest.raises(TypeError, match=r"model: expected one that buys, .* got LogisticRegression"):
        report(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="y: expected labels among the classes of training, got 'healthy'"):
        report(model, X[UNSEEN], np.full(150, "healthy"))
    with pytest.raises(ValueError, match="y: expected 150 values, one per example, got 3"):
        report(model, X[UNSEEN], y[:3])


@pytest.mark.slow
def test_the_command_measures_a_saved_model_on_a_table(tmp_path, capsys):
    frame = X.assign(site=np.where(X["mean radius"] > 14, "left", "right"), state=y)
    frame[TRAINED].to_csv(tmp_path / "train.csv", index=False)
    frame[UNSEEN].to_csv(tmp_path / "test.csv", index=False)
    folder = str(tmp_path / "model")
    fit = ["fit", "--csv", str(tmp_path / "train.csv"), "--target", "state", "--budget", "2", "--out", folder]
    assert main([*fit, "--trees", "5", "--search", "path"]) == 0
    run = ["report", "--model", folder, "--data", str(tmp_path / "test.csv"), "--target", "state", "--resamples", "20"]
    assert main([*run, "--out", str(tmp_path / "page.txt")]) == 2
    assert "--out: expected a file that ends in .html, got" in capsys.readouterr().err
    capsys.readouterr()
    assert main([*run, "--out", str(tmp_path / "report.html"), "--scoring", "sensitivity_at=0.9"]) == 0
    printed = capsys.readouterr().out
    assert "sensitivity at specificity 0.9" in printed
    assert "BudgetPrune at budget 2" in printed
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main([*run, "--json"]) == 0
    measures = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["measures"]}
    assert measures["cost"] <= 2.5
    for change, message in (
        (["--target", "site"], "expected a class of training (benign, malignant), got"),
        (["--target", "stat"], "--target: expected a column of"),
        (["--scoring", "gain"], "scoring: expected the name of a scikit-learn scorer"),
    ):
        assert main([*run, *change]) == 2
        assert message in capsys.readouterr().err
    assert main([*fit, "--scoring", "roc_auc"]) == 2
    assert "--scoring: expected total-cost with --estimator BudgetPrune, got roc_auc" in capsys.readouterr().err
