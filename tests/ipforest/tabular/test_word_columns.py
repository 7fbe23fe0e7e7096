"""Words as one-hot columns: one a word, but where there are too many."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from ipforest import BudgetedPipeline, BudgetPrune, FeatureCosts
from ipforest.tabular.word_columns import MAX_WORDS, one_hot


def cities(n_words: int) -> pd.DataFrame:
    """The first word is in five rows, the second in four, the third in three, and all others in two."""
    words = [f"c{word}" for word in range(n_words) for _ in range(max(2, 5 - word))]
    return pd.DataFrame({"age": np.arange(float(len(words))), "city": pd.Series(words, dtype=object)})


@pytest.mark.parametrize(("n_words", "n_columns"), [(3, 3), (MAX_WORDS, MAX_WORDS), (MAX_WORDS + 9, MAX_WORDS + 1)])
def test_no_column_of_words_becomes_many_more_columns(n_words: int, n_columns: int) -> None:
    X = cities(n_words)
    encoder, columns, costs = one_hot(X, FeatureCosts([1, 2]))
    assert columns.shape == (len(X), n_columns + 1)
    assert columns.filter(like="city=").sum(axis=1).eq(1).all()
    assert costs.n_units == 2
    rare = columns.get("city=a rarer word")
    if n_words <= MAX_WORDS:
        assert rare is None
        assert encoder.transform(X[:1].assign(city="other")).filter(like="city=").to_numpy().sum() == 0
    else:
        assert X.city[rare == 1].nunique() == 9
        assert not {"c0", "c1", "c2"}.intersection(X.city[rare == 1])
        assert encoder.transform(X[:1].assign(city="other"))["city=a rarer word"].item() == 1


def test_a_model_of_many_words_asks_for_the_word_and_says_that_it_is_rare() -> None:
    X = cities(MAX_WORDS + 45)
    y = X.city.isin(["c0", "c1", "c2"])
    encoder = one_hot(X, FeatureCosts([9, 2]))[0]
    forest = RandomForestClassifier(3, max_features=None, random_state=0)
    model = BudgetedPipeline(FrozenEstimator(encoder), BudgetPrune(forest, budget=2, random_state=0))
    model.set_params(feature_costs=FeatureCosts([9, 2])).fit(X, y)
    assert (model.predict(X) == y).all()
    assert model.cost(X).max() == 2
    session = model.session()
    assert "asks whether city is c" in session.reason
    session.tell("nowhere")
    assert session.answer == model.predict(X[-1:].assign(city="nowhere"))[0]
