"""Which features are delayed: read, checked, kept, matched, written and saved with their prices."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ipforest import FeatureCosts
from ipforest.tabular.model_files import load_model, save_model
from ipforest.tabular.price_lists import read_prices, write_prices

NAMES = ["age", "hdl", "scan"]
COSTS = FeatureCosts([1, 2, 3], [-1, 0, 0], [5], NAMES, delayed=["hdl"])


@pytest.mark.parametrize(
    "delayed",
    [
        [False, True, False],
        np.array([False, True, False]),
        ["hdl"],
        {"hdl"},
        [1],
        np.array([1]),
        {"scan": False, "hdl": True, "age": False},
        pd.Series([True, False, False], index=["hdl", "scan", "age"]),
    ],
)
def test_delayed_features_by_mark_name_or_number(delayed: Any) -> None:
    costs = FeatureCosts([1, 2, 3], [-1, 0, 0], [5], NAMES, delayed)
    assert costs == COSTS
    assert hash(costs) == hash(COSTS)
    assert costs.delayed.tolist() == costs.delayed_features.tolist() == [False, True, False]
    assert costs != FeatureCosts([1, 2, 3], [-1, 0, 0], [5], NAMES)
    assert costs == costs.with_delayed(None).with_delayed(delayed)
    assert repr(costs) == "FeatureCosts(3 features, 1 delayed, 1 group, 4 units)"
    with pytest.raises(ValueError, match=r"read-only"):
        costs.delayed[0] = True


@pytest.mark.parametrize(
    ("delayed", "error", "message"),
    [
        ([True], ValueError, "^delayed: expected 3 bools, one per feature, got 1$"),
        ([True, np.nan, False], TypeError, "^delayed: expected True or False for each feature, got nan$"),
        ([0.0, 1.0, 0.0], TypeError, r"^delayed: expected a bool for each feature, or names or columns .* got 0\.0$"),
        ([0, 1, 0], ValueError, "^delayed: expected each delayed feature once, got 0 again; marks are bools$"),
        (["ldl"], ValueError, r"^delayed: expected features 0\.\.2 or among age, hdl, scan, got 'ldl'$"),
        ([-1], ValueError, r"^delayed: expected features 0\.\.2 or among age, hdl, scan, got -1$"),
        ({"age": 0, "hdl": 1, "scan": 0}, TypeError, "^delayed: expected True or False for each feature, got 0$"),
        ({"hdl": True}, ValueError, "^delayed: expected the features, got no 'age', 'scan'$"),
        ("hdl", TypeError, "^delayed: expected a bool for each feature, or names of the delayed ones, got 'hdl'$"),
        (1, TypeError, "^delayed: expected a bool for each feature, or names of the delayed ones, got 1$"),
    ],
)
def test_bad_marks_are_refused(delayed: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        FeatureCosts([1, 2, 3], feature_names=NAMES, delayed=delayed)
    with pytest.raises(error, match=message):
        FeatureCosts([1, 2, 3], feature_names=NAMES).with_delayed(delayed)


def test_what_one_fee_buys_is_delayed_as_a_whole() -> None:
    assert FeatureCosts([0, 0, 1], [0, 0, 0], [5], delayed=[0, 1]).delayed.sum() == 2
    assert FeatureCosts([0, 0, 1], [0, 0, 0], [5], delayed=[2]).delayed.sum() == 1
    with pytest.raises(
        ValueError, match=r"^delayed: expected all or none of the 2 features that come free .* got 1; give"
    ):
        FeatureCosts([0, 0, 1], [0, 0, 0], [5], delayed=[1])


def test_delays_follow_features_and_computed_columns() -> None:
    assert COSTS.matched_to(3, ["scan", "hdl", "age"]).delayed.tolist() == [False, True, False]
    assert COSTS.matched_to(3, ["hdl", "scan", "age"]).delayed.tolist() == [True, False, False]
    columns = COSTS.for_columns([1, 1, 0, 2], ["hdl=low", "hdl=high", "age", "scan"])
    assert columns.delayed_features.tolist() == [True, True, False, False]
    turned = columns.matched_to(4, ["age", "hdl=high", "scan", "hdl=low"])
    assert turned.delayed_features.tolist() == [False, True, False, True]
    assert turned.with_delayed(["scan"]).delayed.tolist() == [False, False, True]
    discounts = FeatureCosts.from_discounts([1, 7, 8], [1, 2, 3], [-1, 0, 0], NAMES, delayed=["hdl"])
    assert discounts == COSTS


def test_saved_prices_keep_their_delays_and_old_files_are_read(tmp_path: Path) -> None:
    for costs in (COSTS, COSTS.with_delayed(None)):
        assert pickle.loads(pickle.dumps(costs)) == costs
        assert load_model(save_model(costs, tmp_path / "costs.skops")) == costs
    names = [name for name in FeatureCosts.__slots__ if name != "delayed"]
    before = [getattr(COSTS, name) for name in names]
    assert len(COSTS.with_delayed(None).__getstate__()) == len(before)
    old = object.__new__(FeatureCosts)
    old.__setstate__(before)
    assert old == COSTS.with_delayed(None)
    with pytest.raises(ValueError, match=r"^state: expected 11 fields of FeatureCosts, got 3$"):
        old.__setstate__(before[:3])


YES, NO = ("yes", "True", "1", "delayed"), ("no", "FALSE", "0", "immediate")


@pytest.mark.parametrize(("yes", "no"), [*zip(YES, NO, strict=True)])
def test_price_lists_say_what_is_delayed(yes: str, no: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(f"feature,cost,group,cost_in_group,delayed\nage,1,,,{no}\nhdl,7,A,2,{yes}\nscan,8,A,3,{no}\n")
    costs = read_prices(file).costs_for(NAMES)
    assert costs == COSTS
    assert read_prices(write_prices(costs, tmp_path / "again.csv")).costs_for(NAMES) == costs
    assert "delayed" not in write_prices(costs.with_delayed(None), tmp_path / "none.csv").read_text()


@pytest.mark.parametrize("mark", [True, np.True_, 1, 1.0, np.int64(1), "yes"])
def test_records_and_frames_say_what_is_delayed(mark: Any) -> None:
    records = {"hdl": {"cost": 2, "delayed": mark}, "age": {"cost": 1}}
    expected = FeatureCosts([1, 2], feature_names=["age", "hdl"], delayed=[1])
    assert read_prices(records).costs_for(["age", "hdl"]) == expected
    frame = {"feature": ["age", "hdl"], "cost": [1, 2], "delayed": [type(mark)(0) if mark != "yes" else "no", mark]}
    assert read_prices(pd.DataFrame(frame)).costs_for(["age", "hdl"]) == expected
    assert read_prices(pl.DataFrame(frame)).costs_for(["age", "hdl"]) == expected
    assert read_prices(pd.DataFrame(frame).set_index("feature")).costs_for(["age", "hdl"]) == expected


@pytest.mark.parametrize("mark", ["perhaps", "", None, float("nan"), 2, 0.5, -1])
def test_other_marks_are_refused(mark: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^dict of prices, 'age', delayed: expected one of delayed, yes, true, 1, .* got"
    ):
        read_prices({"age": {"cost": 1, "delayed": mark}})


def test_turneys_file_says_that_nine_tests_of_heart_are_delayed(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text(
        "feature,cost,cost_in_group,group,delayed\nage,1.00,1.00,,0\nchol,7.27,5.17,A,1\nthal,102.90,1.00,B,1\n"
    )
    costs = read_prices(file).costs_for(["age", "chol", "thal"])
    assert costs.delayed.tolist() == [False, True, True]
    assert [str(fee) for fee in costs.group_fees] == ["21/10", "1019/10"]
