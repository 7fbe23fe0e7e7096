"""JSON of strangers: bounded in depth and in what its values take."""

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetPrune
from ipforest._internal.json_text import DEEPEST, _depth, read_json
from ipforest._internal.records import json_object
from ipforest.tabular.price_lists import read_prices


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}"), ('["]", ', "]"), (r'["\"]\\", ', "]")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    for depth in (1, DEEPEST):
        text = opening * depth + "1" + closing * depth
        assert read_json(text) == json.loads(text)
    for depth in (DEEPEST + 1, 500, 100_000):
        with pytest.raises(ValueError, match="at most 100 nested objects and arrays, got a deeper one"):
            read_json(opening * depth + "1" + closing * depth)


def test_brackets_in_texts_open_nothing() -> None:
    for value in ("[" * 200, '"[' * 200, "\\[" * 200, '\\"[' * 200, ["[{", "]", {"{": '"'}]):
        assert read_json(json.dumps(value)) == value


def test_depth_is_counted_across_chunks(monkeypatch) -> None:
    random = np.random.default_rng(0)

    def value(level: int):
        kind = random.integers(4) if level else 0
        if kind == 0:
            return "".join(random.choice([*'[]{}"\\a'], 5))
        return [value(level - 1) for _ in range(2)] if kind < 3 else {"[": value(level - 1)}

    def depth(value) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner))

    for chunk in (1, 3, 1 << 20):
        monkeypatch.setattr("ipforest._internal.json_text.CHUNK", chunk)
        for _ in range(30):
            drawn = value(5)
            assert _depth(json.dumps(drawn)) == depth(drawn)


@pytest.mark.parametrize("part", ["[],", "{},", "-9,", '{"a":1},'])
def test_what_values_take_is_bounded(part: str) -> None:
    few = f"[{part * 1000}1]"
    assert read_json(few) == json.loads(few)
    with pytest.raises(ValueError, match=r"fewer values, got about .* which would take more than .* MiB of memory"):
        read_json(f"[{part * 4_000_000}1]")


def test_every_reader_of_json_is_bounded(tmp_path) -> None:
    deep = "[" * 50_000 + "]" * 50_000
    (tmp_path / "prices.json").write_text(f'{{"a": {deep}}}')
    with pytest.raises(ValueError, match=r"prices\.json: expected a price list in JSON, got: .* at most 100 nested"):
        read_prices(tmp_path / "prices.json")
    with pytest.raises(ValueError, match="at most 100 nested"):
        json_object(deep)
    X = np.arange(20.0)[:, None]
    model = BudgetPrune(RandomForestClassifier(2, random_state=0)).fit(X, X[:, 0] > 9)
    for saved in (deep, f'{{"known": {deep}}}'):
        with pytest.raises(
            ValueError, match=r"saved: expected what Session\.to_json wrote, got: .* at most 100 nested"
        ):
            model.resume(saved)
