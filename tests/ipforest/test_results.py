"""Prunings and results: what they refuse, and that they survive JSON."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipforest import BudgetResult, DualFlow, Pruning, PruningResult, Status
from ipforest.path import PathFlow


def result(**changes) -> PruningResult:
    fields = {
        "status": Status.OPTIMAL,
        "pruning": Pruning(np.array([True, False, True])),
        "lam": Fraction(3, 1000),
        "objective": Fraction(1, 3),
        "bound": Fraction(1, 3),
        "error": Fraction(1, 4),
        "cost": Fraction(250, 9),
        "runtime_s": 0.25,
        "method": "min-cut",
    }
    return PruningResult(**{**fields, **changes})


def budget_result(**changes) -> BudgetResult:
    pruning, other = Pruning(np.array([True, False])), Pruning(np.array([True, True]))
    fields = {
        "status": Status.FEASIBLE,
        "budget": Fraction(5),
        "pruning": pruning,
        "error": Fraction(1, 4),
        "cost": Fraction(9, 2),
        "bound": Fraction(1, 5),
        "lam": Fraction(1, 10),
        "mixture": ((Fraction(1, 2), pruning), (Fraction(1, 2), other)),
        "mixture_error": Fraction(1, 5),
        "mixture_cost": Fraction(5),
        "runtime_s": 0.5,
        "method": "path",
    }
    return BudgetResult(**{**fields, **changes})


@given(st.lists(st.booleans(), max_size=40))
def test_a_pruning_survives_json(kept: list[bool]) -> None:
    pruning = Pruning(np.array(kept, dtype=bool))
    assert Pruning.from_dict(json.loads(json.dumps(pruning.to_dict()))) == pruning
    assert pickle.loads(pickle.dumps(pruning)) == pruning
    assert pruning.n_kept == sum(kept)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"n_internal": 10**13, "kept": []}, "n_internal: expected at most 2147483647 nodes"),
        ({"n_internal": 3.0, "kept": []}, r"n_internal: expected an integer >= 0, got 3\.0"),
        ({"n_internal": 3, "kept": [0, 2, 0]}, "kept: expected each node once, got 1 again"),
        ({"n_internal": 3, "kept": [3]}, r"kept: expected nodes 0\.\.2, got 3\.\.3"),
    ],
)
def test_what_no_pruning_wrote_is_refused(record: dict, message: str) -> None:
    """Of ten trillion nodes, `ipforest verify --result` ended for want of memory."""
    with pytest.raises(ValueError, match=message):
        Pruning.from_dict(record)


def test_prunings_compare_by_value() -> None:
    one, same, other = (Pruning(np.array(kept)) for kept in ([True, False], [True, False], [True, True]))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != [True, False]
    assert repr(one) == "Pruning(1 of 2 internal nodes kept)"


def test_a_pruning_cannot_be_changed() -> None:
    pruning = Pruning(np.array([True, False]))
    with pytest.raises(ValueError, match="read-only"):
        pruning.kept[0] = False


@pytest.mark.parametrize("kept", [np.ones((2, 2), dtype=bool), np.array([1, 0]), np.array([1.0]), True])
def test_a_pruning_is_a_row_of_bools(kept) -> None:
    with pytest.raises(ValueError, match="kept: expected a 1-dimensional array of bool, got"):
        Pruning(kept)


@pytest.mark.parametrize("data", [{"n_internal": 2, "kept": [2]}, {"n_internal": 2, "kept": [-1]}])
def test_a_pruning_of_nodes_that_do_not_exist_is_refused(data) -> None:
    with pytest.raises(ValueError, match=r"kept: expected nodes 0\.\.1, got"):
        Pruning.from_dict(data)


def test_a_result_survives_json() -> None:
    first = result(status=Status.TIME_LIMIT, bound=Fraction(1, 4), iterations=7)
    again = PruningResult.from_json(first.to_json())
    for name in PruningResult.__dataclass_fields__:
        assert getattr(again, name) == getattr(first, name)
    assert again.status is Status.TIME_LIMIT
    assert again.gap == Fraction(1, 12)


def test_a_result_describes_itself() -> None:
    assert str(result(bound=Fraction(1, 4))) == (
        "min-cut: optimal in 0.25 s at lambda 3/1000\n"
        "  objective 0.333333, bound 0.25, gap 0.083\n"
        "  error 0.25, cost 27.7778, 2 of 3 internal nodes kept"
    )


def test_a_bound_above_the_objective_is_refused() -> None:
    with pytest.raises(ValueError, match=r"bound: expected at most the objective 0\.333.*, got 0\.5"):
        result(bound=Fraction(1, 2))


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"status": "unknown"}, ValueError, r"^status: expected one of optimal, feasible, .*, got 'unknown'$"),
        ({"bound": float("nan")}, ValueError, r"^bound: expected a finite number .*, got nan$"),
        ({"bound": -float("inf")}, ValueError, r"^bound: expected a finite number .*, got -inf$"),
        ({"bound": None}, TypeError, r"^bound: expected a finite number .*, got None$"),
        ({"pruning": np.ones(3, dtype=bool)}, TypeError, r"^pruning: expected a Pruning, got ndarray; write Pruning"),
    ],
)
def test_results_of_other_kinds_are_refused(changes, error, text: str) -> None:
    with pytest.raises(error, match=text):
        result(**changes)


def test_numbers_of_a_result_are_exact_whatever_they_come_as() -> None:
    read = result(bound=np.int64(0), lam=0.1)
    assert (read.bound, read.lam) == (0, Fraction(1, 10))
    assert {type(read.bound), type(read.lam)} == {Fraction}


@pytest.mark.parametrize("text", ["1e1000000000", "1/0", "1_0", "nan"])
def test_numbers_of_a_record_that_take_forever_or_are_none_are_refused(text: str) -> None:
    """Fraction("1e1000000000") writes out a billion digits."""
    record = result().to_dict() | {"lam": text}
    with pytest.raises(ValueError, match=f"lam: expected Fraction, got '{text}'"):
        PruningResult.from_json(json.dumps(record))
    long = result().to_dict() | {"bound": f"-{'3' * 2000}/7"}
    assert str(PruningResult.from_json(json.dumps(long)).bound) == long["bound"]


def test_a_budget_result_survives_json() -> None:
    first = budget_result()
    again = BudgetResult.from_json(first.to_json())
    for name in BudgetResult.__dataclass_fields__:
        assert getattr(again, name) == getattr(first, name)
    assert again.status is Status.FEASIBLE


def test_a_budget_result_describes_itself() -> None:
    found = budget_result()
    assert found.gap == Fraction(1, 20)
    assert str(found) == (
        "path: feasible in 0.5 s within budget 5\n"
        "  error 0.25, bound 0.2, gap 0.05, cost 4.5, 1 of 2 internal nodes kept\n"
        "  relaxation: error 0.2 at cost 5 (0.5 of 1 nodes, 0.5 of 2 nodes)"
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"cost": Fraction(11, 2)}, "cost: expected at most the budget 5, got 11/2"),
        ({"bound": Fraction(1, 3)}, r"bound: expected at most the error 0.25, got 0.333"),
        ({"mixture_error": Fraction(1, 3)}, r"mixture: expected one within the budget 5 .* 0\.25, .* error 0\.333"),
        ({"mixture_cost": Fraction(6)}, r"mixture: expected one within the budget 5 .* at cost 6"),
        ({"status": Status.OPTIMAL}, r'status: expected "optimal" if and only if .* bound 0\.2 and the error 0\.25'),
        ({"bound": Fraction(1, 4)}, r"status: expected .*, got 'feasible' with the bound 0\.25 and the error 0\.25"),
    ],
)
def test_budget_results_that_contradict_themselves_are_refused(changes, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        budget_result(**changes)


def test_a_solver_that_goes_on_from_a_relaxation_keeps_what_it_proves() -> None:
    relaxed, pruning = budget_result(), Pruning(np.array([True, False]))
    better = relaxed.improved(pruning, (Fraction(9, 40), Fraction(5)), Fraction(9, 40), method="mip", runtime_s=1.0)
    assert (better.status, better.gap, better.mixture) == (Status.OPTIMAL, 0, relaxed.mixture)
    stopped = relaxed.improved(
        pruning, (Fraction(9, 40), Fraction(5)), relaxed.bound, method="mip", runtime_s=1.0, ended=Status.TIME_LIMIT
    )
    assert (stopped.status, stopped.gap) == (Status.TIME_LIMIT, Fraction(1, 40))
    for error, bound, text in (
        (Fraction(1, 4), Fraction(1, 10), r"bound: expected at least 0\.2, which the relaxation proves, got 0\.1"),
        (Fraction(1, 4), Fraction(1, 3), r"bound: expected at most the error 0\.25"),
        (Fraction(1, 10), Fraction(1, 10), r"bound: expected at least 0\.2"),
    ):
        with pytest.raises(ValueError, match=text):
            relaxed.improved(pruning, (error, Fraction(5)), bound, method="mip", runtime_s=1.0)


def flow(**changes) -> DualFlow:
    fields = {"p": 1, "q": 2, "used": [1, 4], "triple": [3, 0], "up": [0, 1, 0], "gain": [2, 1, 0], "split": [0, 0, 0]}
    return DualFlow(**{**fields, **changes})


def test_flows_are_read_only_integers() -> None:
    assert flow().triple.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        flow().up[0] = 1
    with pytest.raises(ValueError, match=r"gain: expected shape \(3,\), got \(2,\)"):
        flow(gain=[1, 2])
    with pytest.raises(ValueError, match=r"triple: expected shape \(2,\), got \(1,\)"):
        flow(triple=[1])
    with pytest.raises(TypeError, match="split: expected integers, got dtype float64"):
        flow(split=[0.5, 0.0, 0.0])


@pytest.mark.parametrize("status", Status)
def test_statuses_are_words(status: Status) -> None:
    assert Status(str(status)) is status
    assert str(status).replace(" ", "").isalpha()


def test_a_flow_holds_lambda_in_python_integers() -> None:
    """NumPy's integers wrap around in products, and a checker multiplies."""
    wide = flow(p=np.int64(2**62), q=np.int8(3))
    assert (wide.p * 4, type(wide.q)) == (2**64, int)
    with pytest.raises(TypeError, match=r"p: expected an integer, got 0\.5"):
        flow(p=0.5)


def test_a_path_flow_holds_lambdas_in_python_integers() -> None:
    empty = np.zeros(0, dtype=np.int64)
    wide = PathFlow((np.int64(2**62),), np.array([3]), *[empty] * 6)
    assert (wide.p[0] * 4, type(wide.q[0])) == (2**64, int)
    with pytest.raises(TypeError, match="q: expected an integer, got '3'"):
        PathFlow((1,), ("3",), *[empty] * 6)
