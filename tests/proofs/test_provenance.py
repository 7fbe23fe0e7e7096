"""Certificates and what they are about: whatever is exchanged beside a genuine one is refused by its name."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ipforest import FeatureCosts, Forest, Pruning, PruningInstance, prune_path, solve, solve_budget
from proofs.certificates.path_file import write_path_certificate
from proofs.certificates.pruning_file import read_certificate, write_certificate
from proofs.provenance import (
    bound_within,
    fingerprint_of_examples,
    fingerprint_of_forest,
    fingerprint_of_prices,
    provenance,
    read_result,
    verify_files,
    verify_origin,
    verify_pruned,
    verify_result,
)

X, Y = load_iris(return_X_y=True)
EXAMPLES = X[1::2]
COSTS = FeatureCosts([2, 1, 3, 3], groups=[-1, 0, 0, -1], group_fees=[1])
NOT_THE_ONE = "its pruning is not the one that the certificate"
LAM, BUDGET = Fraction(1, 50), Fraction(5)


def fit(n_trees=4, seed=0):
    return Forest.from_sklearn(RandomForestClassifier(n_trees, max_depth=3, random_state=seed).fit(X[::2], Y[::2]))


FOREST = fit()
INSTANCE = PruningInstance.from_forest(FOREST, EXAMPLES, COSTS)
ORIGIN = (FOREST, EXAMPLES, COSTS, "misclassification")
AT_LAMBDA = solve(INSTANCE, LAM)
PATH = prune_path(INSTANCE)
WITHIN = solve_budget(INSTANCE, BUDGET, method="mip")


@pytest.fixture(scope="module")
def at_lambda(tmp_path_factory):
    """Return the certificate of one lambda, with what it is about."""
    file = tmp_path_factory.mktemp("lambda") / "optimality.cert"
    write_certificate(file, INSTANCE, AT_LAMBDA, provenance(*ORIGIN, result=AT_LAMBDA))
    return read_certificate(file)


@pytest.fixture(scope="module")
def within_budget(tmp_path_factory):
    """Return the certificate of the path, with the pruning taken for a budget."""
    file = tmp_path_factory.mktemp("budget") / "path.cert"
    write_path_certificate(file, PATH, provenance(*ORIGIN, result=WITHIN))
    return read_certificate(file)


def without(certificate, *names):
    """Drop entries of the provenance, as a forger would."""
    return replace(certificate, provenance={k: v for k, v in certificate.provenance.items() if k not in names})


def refused(verdict, start):
    assert not verdict
    assert verdict.reason.startswith(start), verdict
    assert "\n" not in verdict.reason


def test_the_origin_is_recognised(at_lambda, within_budget):
    for certificate in (at_lambda, within_budget, replace(at_lambda, provenance={})):
        assert certificate.check()
        assert verify_origin(certificate, *ORIGIN)
        assert verify_origin(certificate, FOREST, EXAMPLES.tolist(), COSTS, "misclassification", "0.0")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("model", (fit(seed=1), EXAMPLES, COSTS, "misclassification")),
        ("examples", (FOREST, EXAMPLES[:-1], COSTS, "misclassification")),
        ("prices", (FOREST, EXAMPLES, FeatureCosts([2, 1, 3, 4], [-1, 0, 0, -1], [1]), "misclassification")),
        ("prices", (FOREST, EXAMPLES, FeatureCosts([2, 1, 3, 3], [-1, 0, 0, -1], [2]), "misclassification")),
        ("prices", (FOREST, EXAMPLES, FeatureCosts([2, 1, 3, 3], [0, 0, -1, -1], [1]), "misclassification")),
        ("loss", (FOREST, EXAMPLES, COSTS, "gini")),
        ("split_cost", (FOREST, EXAMPLES, COSTS, "misclassification", "0.1")),
    ],
)
def test_what_the_instance_was_made_from_is_refused_by_name(at_lambda, name, change):
    refused(verify_origin(at_lambda, *change), f"{name}: the certificate was made with ")
    refused(verify_origin(without(at_lambda, name), *change), "instance: the model, examples and prices given")


def test_reasons_show_what_was_exchanged(at_lambda):
    reason = verify_origin(at_lambda, FOREST, EXAMPLES, COSTS, "gini").reason
    assert reason == "loss: the certificate was made with misclassification, the one given is gini"
    reason = verify_origin(at_lambda, fit(seed=1), *ORIGIN[1:]).reason
    known, given = (fingerprint_of_forest(forest)[:12] for forest in (FOREST, fit(seed=1)))
    assert reason == f"model: the certificate was made with {known}..., the one given is {given}..."


def test_models_of_one_instance_are_told_apart(at_lambda):
    value = FOREST.value.copy()
    value[-1] = np.roll(value[-1], 1)
    refused(verify_origin(at_lambda, replace(FOREST, value=value), *ORIGIN[1:]), "model: ")


@pytest.mark.parametrize("name", ["left", "feature", "threshold", "missing_left", "value", "weight"])
def test_fingerprints_of_forests_depend_on(name):
    values = getattr(FOREST, name).copy()
    if name == "left":
        left, right = FOREST.left.copy(), FOREST.right.copy()
        left[0], right[0] = right[0], left[0]
        other = replace(FOREST, left=left, right=right)
    else:
        values[0] = ~values[0] if name == "missing_left" else (values[0] + 1) % 4
        other = replace(FOREST, **{name: values})
    assert fingerprint_of_forest(other) != fingerprint_of_forest(FOREST)


def test_fingerprints_of_forests_depend_on_the_classes():
    other = replace(FOREST, classes=np.array(["a", "b", "c"]))
    assert fingerprint_of_forest(other) != fingerprint_of_forest(FOREST)


def test_fingerprints_depend_on_every_number():
    many = np.tile(EXAMPLES, (9, 1))
    other = many.copy()
    other[len(many) // 2, 1] += 1
    assert fingerprint_of_examples(FOREST, many) != fingerprint_of_examples(FOREST, other)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_fingerprints_survive_scikit_learn(kind):
    """Of a whole forest and of a pruned one: leaves keep the tests they had, scikit-learn's do not."""
    forest = Forest.from_sklearn(kind(3, max_depth=4, random_state=1).fit(X, Y))
    keeps = forest.parent[forest.internal_nodes] < 0
    for known in (forest, forest.prune(Pruning(keeps))):
        assert fingerprint_of_forest(Forest.from_sklearn(known.to_sklearn())) == fingerprint_of_forest(known)


def test_fingerprints_of_prices_are_about_numbers():
    assert fingerprint_of_prices(FeatureCosts(["0.5", "1/2"])) == fingerprint_of_prices(FeatureCosts([0.5, 0.5]))
    assert fingerprint_of_prices(FeatureCosts([1, 12])) != fingerprint_of_prices(FeatureCosts([11, 2]))


def test_the_pruned_forest_is_recognised(at_lambda, within_budget):
    verdict = verify_pruned(at_lambda, FOREST, FOREST.prune(AT_LAMBDA.pruning))
    assert verdict.reason == "pruned: the pruning proved optimal at lambda 1/50"
    verdict = verify_pruned(within_budget, FOREST, FOREST.prune(WITHIN.pruning))
    found = f"error {float(WITHIN.error):.6g} at cost {float(WITHIN.cost):.6g}"
    assert verdict.reason.startswith(f"pruned: {found}; within 5 no pruning errs less than ")
    assert verify_pruned(replace(within_budget, provenance={}), FOREST, FOREST.prune(PATH.pruning(LAM)))


def test_another_pruned_forest_is_refused_by_name(at_lambda, within_budget):
    another = FOREST.prune(INSTANCE.roots_only)
    for certificate in (at_lambda, within_budget):
        refused(verify_pruned(certificate, FOREST, another), f"pruned: {NOT_THE_ONE} was written for")
    refused(verify_pruned(without(at_lambda, "pruning"), FOREST, another), f"pruned: {NOT_THE_ONE} proves optimal")
    cheap = replace(within_budget, provenance={"budget": "1/2"})
    refused(verify_pruned(cheap, FOREST, FOREST), "pruned: its pruning costs ")
    own = FOREST.prune(AT_LAMBDA.pruning)
    other = replace(own, value=own.value[:, ::-1])
    refused(verify_pruned(at_lambda, FOREST, other), "pruned: the forest given is no pruning of the model")
    for known, other in ((FOREST, fit(n_trees=3)), (own, FOREST)):
        refused(verify_pruned(at_lambda, known, other), "pruned: the trees of the forest given are no parts of the")
    assert not verify_pruned(at_lambda, FOREST, fit(seed=1))
    refused(verify_pruned(at_lambda, own, own), "pruned: kept: expected")


def test_results_are_recognised(at_lambda, within_budget):
    assert verify_result(at_lambda, AT_LAMBDA).reason == "result: the pruning proved optimal at lambda 1/50"
    assert verify_result(within_budget, WITHIN).reason.startswith("result: error ")
    assert verify_result(replace(within_budget, provenance={}), PATH.result(LAM))
    for result in (AT_LAMBDA, WITHIN):
        assert read_result(result.to_json()).pruning == result.pruning
    with pytest.raises(ValueError, match="expected"):
        read_result("[]")


def test_other_results_are_refused_by_name(at_lambda, within_budget):
    another = solve(INSTANCE, LAM * 3)
    refused(verify_result(at_lambda, another), "result: its lam should be 1/50, not 3/50")
    refused(verify_result(at_lambda, replace(another, lam=LAM)), "result: its objective should be ")
    elsewhere = replace(another, lam=LAM, objective=another.error + LAM * another.cost, bound=Fraction(0))
    refused(verify_result(at_lambda, elsewhere), f"result: {NOT_THE_ONE} was written for")
    refused(verify_result(without(at_lambda, "pruning"), elsewhere), f"result: {NOT_THE_ONE} proves optimal")
    for name in ("error", "cost", "objective"):
        wrong = replace(AT_LAMBDA, **{name: getattr(AT_LAMBDA, name) + 1}, bound=Fraction(0))
        refused(verify_result(at_lambda, wrong), f"result: its {name} should be ")
    refused(verify_result(within_budget, replace(WITHIN, budget=Fraction(6))), "result: its budget should be 5")
    short = replace(AT_LAMBDA, pruning=Pruning(AT_LAMBDA.pruning.kept[:-1]))
    refused(verify_result(at_lambda, short), "result: kept: expected")
    broken = replace(at_lambda, instance=replace(at_lambda.instance, n_units=-1))
    refused(verify_result(broken, AT_LAMBDA), "result: instance: ")


def test_the_path_bounds_every_budget(within_budget):
    for budget in (Fraction(0), *PATH.costs, *(cost + Fraction(1, 3) for cost in PATH.costs), Fraction(99)):
        best = solve_budget(INSTANCE, budget, method="mip")
        assert bound_within(within_budget, budget) == best.mixture_error <= best.error
    path = replace(within_budget.path, costs=tuple(cost + 1 for cost in PATH.costs))
    with pytest.raises(ValueError, match="budget: expected at least 1, what the cheapest pruning costs, got 0"):
        bound_within(replace(within_budget, path=path), Fraction(0))


def test_files_beside_the_certificate(at_lambda, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "model").write_text("not an entry of a file")
    entries = provenance(*ORIGIN, files=[tmp_path / "a.txt", tmp_path / "b.txt"])
    certificate = replace(at_lambda, provenance=entries)
    assert verify_files(certificate, tmp_path).reason == "a.txt, b.txt beside the certificate as written with it"
    (tmp_path / "a.txt").unlink()
    assert verify_files(certificate, tmp_path).reason == "b.txt beside the certificate as written with it"
    (tmp_path / "b.txt").write_text("c")
    refused(
        verify_files(certificate, tmp_path), "b.txt beside the certificate is not the file that was written with it"
    )
    assert verify_files(at_lambda, tmp_path).reason == "no file beside the certificate as written with it"
    outside = replace(at_lambda, provenance={"file ../b.txt": "0"})
    refused(verify_files(outside, tmp_path), "'file ../b.txt' is no name of a file beside the certificate")
