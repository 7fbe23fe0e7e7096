"""What Treelite, the library that reads most kinds of trees, answers where this package's readers are exact."""

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import ensemble

treelite = pytest.importorskip("treelite", reason="Treelite is looked at, not depended on")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def beside_thresholds(trees):
    """Examples each of which has a feature at a threshold, or one step beyond it, as a double."""
    places = np.flatnonzero(trees.feature >= 0)
    examples = RNG.normal(size=(2 * places.size, 3))
    for row, place in enumerate(np.repeat(places, 2)):
        threshold = trees.threshold[place]
        examples[row, trees.feature[place]] = np.nextafter(threshold, np.inf) if row % 2 else threshold
    return examples


def test_lightgbm_is_read_alike():
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1, random_state=0).fit(X, Y)
    trees = ensemble.read(model)
    examples = beside_thresholds(trees)
    margins = model.booster_.predict(examples, raw_score=True)
    assert np.array_equal(trees.margins(examples).ravel(), margins)
    theirs = treelite.gtil.predict(treelite.frontend.from_lightgbm(model.booster_), examples, pred_margin=True)
    assert np.array_equal(theirs.ravel(), margins)


def test_treelite_compares_doubles_where_scikit_learn_rounds_them():
    model = RandomForestClassifier(10, random_state=0).fit(X, Y)
    trees = ensemble.read(model)
    examples = beside_thresholds(trees)
    shares = model.predict_proba(examples)
    assert np.array_equal(trees.predict_proba(examples), shares)
    theirs = treelite.gtil.predict(treelite.sklearn.import_model(model), examples).reshape(shares.shape)
    assert np.abs(theirs - shares).max() > 0.1


def test_treelite_reads_zero_as_missing_as_if_it_were_not():
    holes = np.where(RNG.random(X.shape) < 0.3, 0, X)
    parameters = {"zero_as_missing": True, "verbose": -1, "num_threads": 1, "seed": 0}
    model = lightgbm.train(parameters, lightgbm.Dataset(holes, X[:, 1] ** 2), 10)
    with pytest.raises(TypeError, match="expected missing values to be NaN, got zero_as_missing"):
        ensemble.read(model)
    theirs = treelite.gtil.predict(treelite.frontend.from_lightgbm(model), holes).ravel()
    assert np.abs(theirs - model.predict(holes)).max() > 0.1
