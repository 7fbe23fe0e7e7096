"""A saved search that was edited: it is refused in one line, or what it finds is the path."""

import json
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from ipforest import FeatureCosts, Forest, PruningInstance
from ipforest._internal.arrays import load_arrays, save_arrays
from ipforest.path_search import PathSearch, prune_path

REFUSED = r"expected an unfinished path of this problem, got: .*; remove the file to start anew"


@pytest.fixture(scope="module")
def instance():
    X, y = load_iris(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, y))
    return PruningInstance.from_forest(forest, X, FeatureCosts.uniform(4))


@pytest.fixture(scope="module")
def whole(instance):
    return prune_path(instance)


def stopped_search(instance) -> PathSearch | None:
    """Interrupt a search when some breakpoints are known and more are open; None if its threads were too quick."""
    search = PathSearch(instance, small=0)

    def stop(share: float, message: str) -> None:
        if search.n_found >= 2 and len(search._cut.open) >= 2:
            raise KeyboardInterrupt

    try:
        search.run(stop)
    except KeyboardInterrupt:
        return search
    return None


@pytest.fixture(scope="module")
def begun(instance, tmp_path_factory):
    """Give the arrays of a search that was interrupted when some breakpoints were known."""
    search = next(search for search in (stopped_search(instance) for _ in range(50)) if search is not None)
    file = tmp_path_factory.mktemp("search") / "path.unfinished.npz"
    search.save(file)
    arrays = load_arrays(file, "search")
    assert len(json.loads(str(arrays["done"]))) >= 2
    assert len(json.loads(str(arrays["open"]))) >= 2
    return arrays


@pytest.fixture
def load(instance, begun, tmp_path):
    """Load the search with some arrays in place of its own."""

    def load_with(**changed) -> PathSearch:
        save_arrays(tmp_path / "a.npz", {**begun, **changed})
        return PathSearch.load(tmp_path / "a.npz", instance)

    return load_with


def with_problem(begun, kind: str, number: int, place: int, value: object) -> dict[str, np.ndarray]:
    problems = json.loads(str(begun[kind]))
    problems[number][place] = value
    return {kind: np.array(json.dumps(problems))}


def test_untouched_it_goes_on_to_the_path(load, whole) -> None:
    search = load()
    search.run()
    path = search.path()
    assert (path.breakpoints, path.costs, path.errors) == (whole.breakpoints, whole.costs, whole.errors)


def test_the_file_holds_nothing_that_the_instance_tells(begun) -> None:
    trees = {"above", "flow", "imbalance"}
    assert set(begun) == {"about", "node_order", "acquisition_order", "done", "open", "outside", *trees}


@pytest.mark.parametrize("name", ["node_order", "acquisition_order", "above", "flow", "imbalance"])
def test_arrays_have_their_shape_and_type(load, begun, name: str) -> None:
    for changed in (begun[name].astype(np.float64), begun[name][1:], begun[name][None]):
        with pytest.raises(ValueError, match=rf"got: {name}: expected shape .* and dtype .*; remove the file"):
            load(**{name: changed})


@pytest.mark.parametrize("name", ["node_order", "acquisition_order"])
def test_orders_are_permutations_that_ascend_in_each_part(load, begun, name: str) -> None:
    order = begun[name].copy()
    order[0] = order[-1]
    with pytest.raises(ValueError, match=f"got: {name}: expected a permutation"):
        load(**{name: order})
    with pytest.raises(ValueError, match=REFUSED):
        load(**{name: begun[name][::-1].copy()})


def outcome(load, changed: dict[str, np.ndarray]) -> object:
    """Load a search and run it: what it found, or in which words it was refused."""
    try:
        search = load(**changed)
        search.run()
        return search.path().breakpoints
    except ValueError as refusal:
        return str(refusal)


def test_vertices_exchanged_between_parts_give_no_other_path(load, begun, whole) -> None:
    outcomes = []
    for name, columns in (("node_order", (0, 1)), ("acquisition_order", (2, 3))):
        segments = [[part[i] for i in columns] for kind in ("done", "open") for part in json.loads(str(begun[kind]))]
        for (a, b), (c, d) in pairwise(segments):
            order = begun[name].copy()
            order[[b - 1, d - 1]] = order[[d - 1, b - 1]]
            order[a:b], order[c:d] = np.sort(order[a:b]), np.sort(order[c:d])
            outcomes.append(outcome(load, {name: order}))
    refused = [found for found in outcomes if found != whole.breakpoints]
    assert len(refused) >= 4
    assert all(isinstance(found, str) and "\n" not in found for found in refused)


def in_circle(above: np.ndarray) -> None:
    child = int(np.flatnonzero(above >= 0)[0])
    above[above[child]] = child


def below_itself(above: np.ndarray) -> None:
    above[0] = 0


def beyond(above: np.ndarray) -> None:
    above[0] = above.size


def below_none(above: np.ndarray) -> None:
    above[0] = -2


def one_acquisition_below_another(above: np.ndarray) -> None:
    above[-1], above[-2] = -1, above.size - 1


@pytest.mark.parametrize("change", [in_circle, below_itself, beyond, below_none, one_acquisition_below_another])
def test_trees_are_trees_of_the_problem(load, begun, change) -> None:
    above = begun["above"].copy()
    change(above)
    with pytest.raises(ValueError, match=REFUSED):
        load(above=above)


@pytest.mark.parametrize("value", [-1, 2**62, 2**63 - 1, -(2**63)])
def test_flows_fit_64_bits(load, begun, value: int) -> None:
    hangs = np.flatnonzero(begun["above"] >= 0)
    for places in (hangs, hangs[:1], hangs[-1:]):
        flow = begun["flow"].copy()
        flow[places] = value
        with pytest.raises(ValueError, match="got: a flow that the subproblem cannot carry; remove the file"):
            load(flow=flow)


def test_a_vertex_without_another_above_it_carries_no_flow(load, begun) -> None:
    flow = begun["flow"].copy()
    flow[np.flatnonzero(begun["above"] < 0)[0]] = 1
    with pytest.raises(ValueError, match="got: a flow that the subproblem cannot carry; remove the file"):
        load(flow=flow)


@pytest.mark.parametrize("name", ["flow", "imbalance"])
def test_what_is_not_the_flow_of_a_breakpoint_is_found_before_the_path_is_given_out(load, begun, name: str) -> None:
    """A flow that is off by one is within all bounds."""
    a, b = json.loads(str(begun["done"]))[0][:2]
    nodes = begun["node_order"][a:b]
    carries = nodes[begun["above"][nodes] >= 0] if name == "flow" else nodes
    assert carries.size
    for change in (1, -1):
        changed = begun[name].copy()
        changed[carries[0]] += change
        refusal = outcome(load, {name: changed})
        assert "expected subproblems and a flow that prove the path" in refusal or "remove the file" in refusal


def test_a_search_that_has_ended_is_verified_without_another_run(instance, tmp_path) -> None:
    search = PathSearch(instance, small=0)
    search.run()
    search.save(tmp_path / "ended.npz")
    arrays = load_arrays(tmp_path / "ended.npz", "search")
    flow = arrays["flow"].copy()
    flow[np.flatnonzero(flow)[0]] -= 1
    save_arrays(tmp_path / "a.npz", {**arrays, "flow": flow})
    loaded = PathSearch.load(tmp_path / "a.npz", instance)
    with pytest.raises(ValueError, match="expected subproblems and a flow that prove the path"):
        loaded.path()


@pytest.mark.parametrize("part", range(9))
def test_subproblems_are_of_the_kinds_that_are_written(load, begun, part: int) -> None:
    value = "1e999999999" if part in (5, 6) else 10**9 if part < 4 else "x"
    with pytest.raises(ValueError, match=r"expected an unfinished path of this problem, got: .* expected"):
        load(**with_problem(begun, "open", 0, part, value))


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("open", 0, 1),
        ("open", 3, 0),
        ("open", 4, 2**70),
        ("open", 4, -1),
        ("open", 4, 0),
        ("open", 5, "1000000000"),
        ("open", 5, "-1"),
        ("open", 6, "0"),
        ("open", 6, str(10**400)),
        ("open", 8, 1),
        ("done", 4, 7),
        ("done", 7, 10**9),
        ("done", 8, 0),
    ],
)
def test_subproblems_are_a_division_of_the_problem(load, begun, kind: str, place: int, value: object) -> None:
    with pytest.raises(ValueError, match=REFUSED) as refused:
        load(**with_problem(begun, kind, -1, place, value))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["done", "open", "outside"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "[[1, 2]]",
        "null",
        '{"a": 1}',
        pytest.param("[" * 3000, id="deep"),
        pytest.param("[[" + "9" * 5000 + "]]", id="long"),
    ],
)
def test_subproblems_that_are_none_are_refused(load, kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        load(**{kind: np.array(text)})


@pytest.mark.parametrize(
    ("name", "value"),
    [("small", "x"), ("small", None), ("seconds", 10**400), ("seconds", "x"), ("seconds", -1), ("max_points", 0)],
)
def test_settings_of_a_saved_search_are_checked(load, begun, name: str, value: object) -> None:
    about = {**json.loads(str(begun["about"])), name: value}
    with pytest.raises(ValueError, match=REFUSED):
        load(about=np.array(json.dumps(about)))


def test_a_range_and_its_outside_are_taken_up(instance, whole, tmp_path) -> None:
    low, high = whole.breakpoints[1], whole.breakpoints[-2]
    search = PathSearch(instance, lam_range=(low, high), small=0)
    search.save(tmp_path / "a.npz")
    assert len(json.loads(str(load_arrays(tmp_path / "a.npz", "search")["outside"]))) == 2
    loaded = PathSearch.load(tmp_path / "a.npz", instance)
    loaded.run()
    search.run()
    assert loaded.path().breakpoints == search.path().breakpoints
