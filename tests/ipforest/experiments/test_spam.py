"""GDFS on spam: what is measured, and the table."""

from __future__ import annotations

import numpy as np
import pytest

from ipforest.experiments.gdfs2023 import spam


def test_the_table_averages_splits_and_ends_with_the_mean_over_numbers_of_features():
    records = [
        {"method": "GDFS", "seed": seed, "features": features, "area": 0.8 + 0.01 * features + 0.02 * seed}
        for seed in (0, 1)
        for features in spam.BUDGETS
    ]
    rows = spam.summarise(records)
    ours = [row for row in rows if row["method"] == "GDFS"]
    assert [row["features"] for row in ours] == [*spam.BUDGETS, "mean"]
    assert ours[0]["area"] == pytest.approx(82)
    assert (ours[-1]["area"], ours[-1]["area_se"], ours[-1]["splits"]) == (pytest.approx(86.5), pytest.approx(1), 2)
    printed = [row for row in rows if row["method"] == spam.PRINTED]
    assert len(rows) == len(ours) + len(printed)
    assert printed[-1]["area"] == pytest.approx(93.354)
    assert spam.draw(records, rows).axes[0].get_legend() is not None


@pytest.mark.slow
def test_the_front_end_is_measured_at_each_number_of_features(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((400, 12))
    y = (X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=400) > 1).astype(np.int64)
    named = {"feature_names": np.array([f"word {i}" for i in range(12)]), "class_names": np.array(["ham", "spam"])}
    np.savez(tmp_path / "spambase.npz", X=X, y=y, **named)
    monkeypatch.setenv("IPFOREST_DATA", str(tmp_path))
    (cell,) = (cell for cell in spam.cells(True, 0) if cell["method"] == spam.FRONT_END)
    measured = spam.run(cell)
    assert [record["features"] for record in measured] == [*spam.BUDGETS]
    assert measured[-1]["area"] > 0.9 > measured[0]["area"]
    assert all(record["bought"] <= record["features"] * 1.3 for record in measured)
