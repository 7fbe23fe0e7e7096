"""The adversary itself: it reports what it finds, with the command that repeats it, and draws a case anew alike."""

import re

import numpy as np
import pytest

from ipforest import PruningInstance
from tests import adversary


def attack(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["adversary.py", *arguments])
    return adversary.main()


def test_a_fault_is_reported_with_the_command_that_repeats_it(monkeypatch, capsys) -> None:
    drawn = []

    def fails_at_times(rng: np.random.Generator) -> None:
        drawn.append(int(rng.integers(10**9)))
        assert drawn[-1] % 2, f"drew {drawn[-1]}"

    monkeypatch.setattr(adversary, "PARTS", {"coins": adversary.Part(fails_at_times)})
    assert attack("--minutes", "0.002", "--seed", "3", monkeypatch=monkeypatch) == 1
    told = capsys.readouterr().out
    case, number = re.search(r"--only coins --seed 3 --case (\d+)\n    AssertionError at .*: drew (\d+)", told).groups()
    assert drawn[int(case)] == int(number)
    assert re.search(rf"coins: {len(drawn)} cases, [1-9]\d* faults", told)
    assert attack("--only", "coins", "--seed", "3", "--case", case, monkeypatch=monkeypatch) == 1
    assert drawn[-1] == int(number)


@pytest.mark.parametrize("name", ["solvers", "caps", "paths", "branch-and-bound", "unimodularity"])
def test_each_part_finds_its_first_cases_right(name: str) -> None:
    assert all(adversary.tried(name, 0, case) for case in range(3))


def test_an_error_of_a_bare_leaf_that_counts_twice_is_found(monkeypatch) -> None:
    """The remainder of a whole in which nothing is decided used to leave out its single leaves."""
    genuine = PruningInstance.integer_error

    def twice(instance: PruningInstance, pruning: object) -> int:
        single = instance.tree_offsets[:-1][np.diff(instance.tree_offsets) == 1]
        return genuine(instance, pruning) + int(instance.errors[single].sum())

    monkeypatch.setattr(PruningInstance, "integer_error", twice)
    assert not all(adversary.tried("solvers", 0, case) for case in range(20))
