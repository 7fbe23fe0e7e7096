"""Fit every estimator to small random tables: no exception but a refusal of one line, and costs that add up.

    python tests/fuzz_estimators.py [--seconds S] [--seed N] [--cases N]

Columns are integers, clipped, constant, tied, categories by number, huge, tiny or missing; labels are of any kind;
prices have up to a dozen decades, are 0, or shared by groups. Each case follows from its seed, which is printed where
it fails: ``--seed N --cases 1`` repeats it. Exits with 1 at the first failure.
"""

import argparse
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np
from budgeted_estimators import CLASSIFIERS, REGRESSORS
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from ipforest import FeatureCosts

MAKERS = [*CLASSIFIERS.items(), *((f"{name} of a target", make) for name, make in REGRESSORS.items())]
DECADES = (0, 1, 3, 6)
LABELS: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda codes: codes,
    lambda codes: 7 - 1000 * codes,
    lambda codes: codes - 2.0,
    lambda codes: np.array(["no", "yes, perhaps", " ", "Zürich", "10"])[codes],
    lambda codes: np.array(["10", "9", "2", "1", "0"], dtype=object)[codes],
    lambda codes: codes > 0,
]


def columns(random: np.random.Generator, n: int) -> list[np.ndarray]:
    """Draw a column of each kind."""
    normal = random.normal(size=n)
    return [
        normal,
        random.integers(0, 4, n),
        random.integers(20, 90, n),
        np.clip(normal, -0.5, 0.5),
        np.clip(normal, None, 0),
        np.round(normal),
        np.full(n, random.choice([0.0, 1.0, -7.5])),
        random.choice([-3.4e38, 0.0, 3.4e38], n),
        3.4e38 * random.uniform(-1, 1, n),
        1e-45 * random.integers(0, 9, n),
        random.choice([-0.0, 0.0, 1e-40], n),
        random.choice(4, n, p=[0.85, 0.05, 0.05, 0.05]),
        np.repeat(normal, 2)[:n],
        2.0**24 + random.integers(0, 9, n),
    ]


def table(random: np.random.Generator, n: int, with_missing: bool) -> np.ndarray:
    """Draw the examples."""
    kinds = columns(random, n)
    chosen = [kinds[kind].astype(np.float64) for kind in random.integers(0, len(kinds), random.integers(1, 8))]
    X = np.column_stack([*chosen, chosen[0]] if random.random() < 0.3 else chosen)
    if with_missing and random.random() < 0.5:
        X[random.random(X.shape) < random.choice([0.02, 0.3])] = np.nan
        if random.random() < 0.2:
            X[:, random.integers(X.shape[1])] = np.nan
    return X


def drawn_costs(random: np.random.Generator, n_features: int) -> FeatureCosts:
    """Draw prices, and perhaps groups."""
    decades = random.choice(DECADES)
    prices = 10 ** random.uniform(-decades, decades, n_features)
    prices[random.random(n_features) < random.choice([0, 0.3, 1], p=[0.6, 0.3, 0.1])] = 0
    if random.random() < 0.7:
        return FeatureCosts(prices.tolist())
    groups = random.integers(-1, 2, n_features)
    return FeatureCosts(prices.tolist(), groups, 10 ** random.uniform(-1, 1, 2))


def targets(random: np.random.Generator, X: np.ndarray, classify: bool) -> np.ndarray:
    """Draw labels, two classes at least, or numbers, that have to do with the first column or not."""
    shown = np.nan_to_num(X[:, 0])
    noise = random.normal(size=len(X))
    ranks = np.argsort(np.argsort(shown + random.choice([0.1, 10]) * noise * (np.std(shown) + 1e-300)))
    if not classify:
        return (ranks / len(X) - 0.5) * random.choice([1e-3, 1.0, 1e6]) + random.choice([0, 1e6])
    n_classes = random.choice([2, 2, 3, 5])
    codes = ranks * n_classes // len(X)
    return LABELS[random.integers(len(LABELS))](codes)


def is_refusal(error: Exception) -> bool:
    """Return whether an exception says in one line what was expected."""
    return isinstance(error, TypeError | ValueError) and "\n" not in str(error) and "expected" in str(error)


def checked_case(seed: int) -> str:
    """Fit, predict, buy; return how it ended.

    Raises
    ------
    Exception
        Something else than a refusal of one line, or answers that do not agree.
    """
    random = np.random.default_rng(seed)
    _, make = MAKERS[random.integers(len(MAKERS))]
    tried = make(FeatureCosts([1]))
    X = table(random, int(random.integers(20, 300)), bool(get_tags(tried).input_tags.allow_nan))
    n_training = len(X) * 2 // 3
    costs = drawn_costs(random, X.shape[1])
    y = targets(random, X, is_classifier(tried))
    try:
        model = make(costs)
        if random.random() < 0.6 and getattr(model, "lam", None) is None:
            model.set_params(budget=float(random.uniform(0, 1) * float(sum(costs.unit_costs))))
        model.fit(X[:n_training], y[:n_training])
    except Exception as error:
        if is_refusal(error):
            return f"refused: {str(error)[:70]}"
        raise
    check_purchases(model, X, costs)
    return "fitted"


def check_purchases(model: Any, X: np.ndarray, costs: FeatureCosts) -> None:
    """Compare predictions, costs and purchases in a table, and one unit at a time."""
    predicted, paid, bought = model.predict(X), model.cost(X), model.acquired(X)
    assert predicted.shape == paid.shape == (len(X),)
    by_hand = costs.cost_of(bought)
    if float(getattr(model, "split_cost_", 0)) == 0:
        np.testing.assert_allclose(paid, by_hand, rtol=1e-9)
    assert np.all(paid >= by_hand * (1 - 1e-9))
    if is_classifier(model):
        assert set(predicted.tolist()) <= set(model.classes_.tolist())
        probability = model.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-6)
    else:
        assert np.isfinite(predicted).all()
    told = model.predict_on_demand(lambda unit, rows: X[np.ix_(rows, unit.features)], len(X))
    np.testing.assert_array_equal(told.predictions, predicted)
    np.testing.assert_allclose(told.paid, paid, rtol=1e-9)
    session = model.session()
    while (unit := session.next_unit) is not None:
        values = X[0, list(unit.features)]
        session.tell(float(values[0]) if len(values) == 1 else values)
    assert session.answer == predicted[0]


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long (default: a minute)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first case")
    parser.add_argument("--cases", type=int, metavar="N", help="most cases (default: no limit)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", category=RuntimeWarning, module=r"ipforest\b")
    ends: Counter[str] = Counter()
    start, seed = monotonic(), options.seed
    while monotonic() - start < options.seconds and ends.total() != options.cases:
        try:
            ends[checked_case(seed)] += 1
        except Exception:
            traceback.print_exc()
            print(f"failed; again by --seed {seed} --cases 1")
            return 1
        seed += 1
    print(f"{ends.total()} tables:")
    for end, number in ends.most_common():
        print(f"{number:6} {end}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
