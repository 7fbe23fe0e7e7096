"""DIME on MNIST: what is measured, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ipforest import FeatureCosts
from ipforest.experiments.acquisition import Purchases
from ipforest.experiments.dime2024 import mnist
from ipforest.experiments.neural_acquisition import MutualInformationSelection, Training


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of nine pixels, of which two say which of four digits it is, with parts to choose and to test on."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 600)
    X = rng.integers(0, 40, (600, 9))
    X[:, 3] += 200 * (y % 2)
    X[:, 7] += 200 * (y // 2)
    named = {"feature_names": np.array([f"pixel_{i}" for i in range(9)]), "class_names": np.array([*"0123"])}
    np.savez(tmp_path / "mnist.npz", X=X, y=y, split=np.repeat([0, 1, 2], 200).astype(np.uint8), **named)
    monkeypatch.setenv("IPFOREST_DATA", str(tmp_path))


def test_the_table_gives_percent_and_ends_with_what_is_printed() -> None:
    records = [
        {"method": method, "pixels": pixels, "accuracy": 0.05 * pixels, "bought": pixels - 0.5}
        for method in (mnist.DIME, mnist.FRONT_END)
        for pixels in mnist.BUDGETS
    ]
    rows = mnist.summarise(records)
    assert len(rows) == 2 * len(mnist.BUDGETS) + 1
    assert rows[3] == {"method": mnist.DIME, "pixels": 4, "bought": 3.5, "accuracy": pytest.approx(20)}
    assert rows[-1]["accuracy"] == 74.74
    assert mnist.draw(records, rows).axes[0].get_legend() is not None


@pytest.mark.slow
@pytest.mark.parametrize("method", [mnist.DIME, mnist.FRONT_END])
def test_two_pixels_that_tell_all_are_bought_first(method: str, images: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if method == mnist.DIME:
        pytest.importorskip("torch", reason="an extra").set_num_threads(1)
    monkeypatch.setattr(mnist, "QUICK_NETWORKS", Training(n_random_epochs=80, n_epochs=40, standardised=False))
    (cell,) = (cell for cell in mnist.cells(True, 0) if cell["method"] == method)
    measured = {record["pixels"]: record for record in mnist.run(cell)}
    assert [*measured] == [*mnist.BUDGETS]
    assert measured[2]["accuracy"] > 0.95 > 0.7 > measured[1]["accuracy"] > 0.4
    assert all(record["bought"] <= pixels * 1.1 for pixels, record in measured.items())


@pytest.mark.slow
def test_training_says_how_large_networks_are_and_how_long_they_learn() -> None:
    pytest.importorskip("torch", reason="an extra").set_num_threads(1)
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    training = Training(n_hidden=5, dropout=0.5, n_random_epochs=1, n_epochs=2, last_learning_rate=1e-6)
    model = MutualInformationSelection(X, y, Purchases.of(FeatureCosts([1] * 3)), 0, training)
    assert [tuple(each.shape) for each in model.predictor.parameters()][:2] == [(5, 6), (5,)]
    assert model.optimizer.param_groups[0]["lr"] == pytest.approx(1e-6)
    shown = np.ones(X.shape, dtype=bool)
    assert np.array_equal(model.predict_proba(X, shown), model.predict_proba(X, shown)), "no unit is left out any more"
