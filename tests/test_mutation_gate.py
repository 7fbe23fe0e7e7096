"""The mutation gate finds every condition, and takes it out of functions that are in use."""

import sys
from types import ModuleType

import pytest

from tests.mutation_gate import removals, slips

SOURCE = """
class Claim:
    def __init__(self, values):
        self.values = values

    def check(self, high):
        if not self.values or min(self.values) < 0:
            return "bad"
        require(self.values)
        return "small" if 0 <= max(self.values) < high else "large"

    @property
    def is_plain(self) -> bool:
        return len(self.values) == 1

def require(values):
    if len(values) > 3:
        raise ValueError("too many")
"""


@pytest.fixture
def module(monkeypatch):
    module = ModuleType("toy_checker")
    exec(SOURCE, module.__dict__)
    monkeypatch.setitem(sys.modules, "toy_checker", module)
    return module


def test_every_condition_is_found(module):
    found = [f"{removal.function}: {removal.what}" for removal in removals("toy_checker", SOURCE)]
    assert found == [
        "Claim.check: if not self.values or min(self.values) < 0",
        "Claim.check: not self.values in not self.values or min(self.values) < 0",
        "Claim.check: min(self.values) < 0 in not self.values or min(self.values) < 0",
        "Claim.check: the call require(self.values)",
        "Claim.check: 'small' if 0 <= max(self.values) < high else 'large': always the first",
        "Claim.check: 'small' if 0 <= max(self.values) < high else 'large': always the second",
        "Claim.check: 0 <= max(self.values) in 0 <= max(self.values) < high",
        "Claim.check: max(self.values) < high in 0 <= max(self.values) < high",
        "Claim.is_plain: return len(self.values) == 1: always True",
        "Claim.is_plain: return len(self.values) == 1: always False",
        "require: if len(values) > 3",
    ]


@pytest.mark.parametrize(
    ("what", "values", "before", "after"),
    [
        ("min(self.values) < 0 in", [-1, 2], "bad", "small"),
        ("max(self.values) < high in", [7], "large", "small"),
        ("always the second", [2], "small", "large"),
    ],
)
def test_what_is_removed_is_gone_where_it_is_used(module, what, values, before, after):
    claim = module.Claim(values)
    assert claim.check(5) == before
    next(removal for removal in removals("toy_checker", SOURCE) if what in removal.what).apply()
    assert claim.check(5) == after


def test_every_slip_is_found(module):
    found = [f"{slip.function}: {slip.what}" for slip in slips("toy_checker", SOURCE)]
    assert found == [
        "Claim.check: not self.values or min(self.values) < 0: not self.values and min(self.values) < 0",
        "Claim.check: min(self.values) < 0: min(self.values) <= 0",
        "Claim.check: min(self.values) < 0: min(self.values) < 1",
        "Claim.check: min(self.values) < 0: min(self.values) < -1",
        "Claim.check: 0 <= max(self.values) < high: 0 < max(self.values) < high",
        "Claim.check: 0 <= max(self.values) < high: 0 <= max(self.values) + 1 < high",
        "Claim.check: 0 <= max(self.values) < high: 0 <= max(self.values) - 1 < high",
        "Claim.check: 0 <= max(self.values) < high: 0 <= max(self.values) <= high",
        "Claim.check: 0 <= max(self.values) < high: 0 <= max(self.values) < high + 1",
        "Claim.check: 0 <= max(self.values) < high: 0 <= max(self.values) < high - 1",
        "Claim.is_plain: len(self.values) == 1: len(self.values) >= 1",
        "Claim.is_plain: len(self.values) == 1: len(self.values) <= 1",
        "require: len(values) > 3: len(values) >= 3",
        "require: len(values) > 3: len(values) > 4",
        "require: len(values) > 3: len(values) > 2",
    ]


def test_calls_and_properties_change_too(module):
    claim = module.Claim([1, 1, 1, 1])
    with pytest.raises(ValueError, match="too many"):
        claim.check(5)
    for what in ("the call require", "always True"):
        next(removal for removal in removals("toy_checker", SOURCE) if what in removal.what).apply()
    assert claim.check(5) == "small"
    assert claim.is_plain
