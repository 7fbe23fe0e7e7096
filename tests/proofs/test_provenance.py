"""Certificates and what they are about: whatever is exchanged beside a genuine one is refused by its name."""

from copy import copy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from refusals import assert_refused as refused
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from ipforest import FeatureCosts, Forest, Pruning, PruningInstance, Status, prune_path, solve, solve_budget
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.category_sets import CategorySets
from ipforest.instance import FITS_PATH
from ipforest.solvers import BUDGET_SOLVERS, SOLVERS
from proofs.certificates.path_file import write_path_certificate
from proofs.certificates.pruning_file import read_certificate, write_certificate
from proofs.provenance import (
    bound_within,
    fingerprint_of_examples,
    fingerprint_of_file,
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
BETWEEN = PATH.at_budget((PATH.costs[-2] + 3 * PATH.costs[-3]) / 4)
"""Between two breakpoints: a mixture of two, and a bound below the error."""


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


def test_the_origin_is_recognised(at_lambda, within_budget):
    for certificate in (at_lambda, within_budget, replace(at_lambda, provenance={})):
        assert certificate.check()
        assert verify_origin(certificate, *ORIGIN)
        verdict = verify_origin(certificate, FOREST, EXAMPLES.tolist(), COSTS, "misclassification", "0.0")
        assert verdict.reason == "the model, examples and prices given make the instance, counted by misclassification"


def test_the_verdict_on_the_origin_names_the_split_cost(tmp_path):
    instance = PruningInstance.from_forest(*ORIGIN, split_cost="0.1")
    write_certificate(tmp_path / "split.cert", instance, solve(instance, LAM), provenance(*ORIGIN, "0.1"))
    verdict = verify_origin(read_certificate(tmp_path / "split.cert"), *ORIGIN, "0.1")
    assert verdict
    assert verdict.reason.endswith("counted by misclassification and a split cost of 1/10")


def test_prices_are_rounded_for_a_path_as_the_certificate_says(at_lambda):
    costs = FeatureCosts([10**15, 1, 3, "1/3"], groups=[-1, 0, 0, -1], group_fees=[1])
    instance = PruningInstance.from_forest(FOREST, EXAMPLES, costs, resolution=FITS_PATH)
    path, given = prune_path(instance), (FOREST, EXAMPLES, costs, "misclassification")
    certificate = replace(
        at_lambda, instance_sha256=instance.fingerprint(), provenance=provenance(*given, resolution=FITS_PATH)
    )
    assert path.is_complete
    assert verify_origin(certificate, *given).reason.endswith(", with prices rounded up to multiples of 10")
    refused(verify_origin(without(certificate, "resolution"), *given), "instance: the model, examples and prices given")
    coarser = replace(certificate, provenance=certificate.provenance | {"resolution": "1000"})
    refused(verify_origin(coarser, *given), "resolution: expected none or path, got 1000")


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


def test_reasons_shorten_what_has_forty_characters(at_lambda):
    for length, shown in ((39, 39 * "x"), (40, f"{12 * 'x'}...")):
        stated = replace(at_lambda, provenance={"loss": length * "x"})
        assert f"made with {shown}, the one given" in verify_origin(stated, *ORIGIN).reason


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


def test_a_forest_that_sends_other_categories_left_is_refused(at_lambda):
    """Of a reader of one's own; scikit-learn's forests have no tests of categories."""
    inner = FOREST.internal_nodes
    numbers = np.full(FOREST.n_nodes, -1, dtype=np.int32)
    numbers[inner] = np.arange(inner.size)

    def sending(*left, others=False, names=()):
        sets, names = CategorySets.of([(left, others)] * inner.size), dict(enumerate(names))
        return replace(FOREST, category_set=numbers, left_categories=sets, categories=Categories((0,), names))

    forest = sending(1, 3)
    result = solve(PruningInstance.from_forest(forest, EXAMPLES, COSTS), LAM)
    for other in (sending(1, 3, 9), sending(1, 3, others=True), sending(1, 3, names=[("a", "b")])):
        assert fingerprint_of_forest(other) != fingerprint_of_forest(forest)
        pruned = other.prune(result.pruning)
        refused(verify_pruned(at_lambda, forest, pruned), "pruned: the forest given is no pruning of the model")
    apart = FOREST.prune(AT_LAMBDA.pruning)
    assert fingerprint_of_forest(replace(apart, left_categories=CategorySets.of([([1], False)]))) == (
        fingerprint_of_forest(apart)
    )


def test_forests_without_categories_have_the_fingerprints_of_earlier_certificates():
    stump = Forest(
        tree_offsets=np.array([0, 3]),
        left=np.array([1, -1, -1], dtype=np.int32),
        right=np.array([2, -1, -1], dtype=np.int32),
        feature=np.array([1, -1, -1], dtype=np.int32),
        threshold=np.array([0.5, 0, 0]),
        missing_left=np.zeros(3, dtype=bool),
        n_features=2,
        value=np.array([[0.5, 0.5], [1, 0], [0, 1]]),
        weight=np.array([4.0, 2, 2]),
        n_samples=np.array([4, 2, 2]),
        impurity=np.array([0.5, 0, 0]),
        classes=np.array([0, 1]),
        criterion="gini",
    )
    assert fingerprint_of_forest(stump) == "3931fc1467c5bd45393dc6624de4787e49abb36b270082564480283a3d9878d2"


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
    assert verdict.reason.startswith(f"pruned: {found}; within 5 no pruning has a lower error than ")
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
    for known, other in ((FOREST, fit(n_trees=3)), (fit(n_trees=3), FOREST), (own, FOREST)):
        refused(verify_pruned(at_lambda, known, other), "pruned: the trees of the forest given are no parts of the")
    assert not verify_pruned(at_lambda, FOREST, fit(seed=1))
    refused(verify_pruned(at_lambda, own, own), "pruned: kept: expected")


def test_a_pruned_forest_of_other_values_is_refused_whichever_hash_is_larger(at_lambda):
    other = replace(FOREST, value=np.roll(FOREST.value, 1, axis=1))
    for forest, pruned in ((FOREST, other), (other, FOREST)):
        verdict = verify_pruned(at_lambda, forest, pruned.prune(AT_LAMBDA.pruning))
        refused(verdict, "pruned: the forest given is no pruning of the model")


def test_a_pruned_forest_that_costs_just_more_than_the_budget_is_refused(within_budget):
    for less in (Fraction(0), Fraction(1, 10**9)):
        stated = replace(within_budget, provenance={"budget": str(WITHIN.cost - less)})
        verdict = verify_pruned(stated, FOREST, FOREST.prune(WITHIN.pruning))
        assert verdict if less == 0 else verdict.reason.startswith("pruned: its pruning costs ")


def test_a_pruned_forest_of_other_names_is_refused(at_lambda):
    named = replace(FOREST, feature_names=("a", "b", "c", "d"))
    own = named.prune(AT_LAMBDA.pruning)
    swapped = replace(own, feature_names=("b", "a", "d", "c"))
    refused(verify_pruned(at_lambda, named, swapped), "pruned: the features of the forest given have other names")
    renamed = replace(FOREST, feature_names=swapped.feature_names)
    refused(verify_pruned(at_lambda, renamed, own), "pruned: the features of the forest given have other names")
    for forest, pruned in ((named, own), (FOREST, swapped), (named, replace(own, feature_names=None))):
        assert verify_pruned(at_lambda, forest, pruned)


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
        for change in (-INSTANCE.error_unit, INSTANCE.error_unit):
            wrong = forged(AT_LAMBDA, **{name: getattr(AT_LAMBDA, name) + change})
            refused(verify_result(at_lambda, wrong), f"result: its {name} should be ")
    for budget in (Fraction(9, 2), Fraction(6)):
        refused(verify_result(within_budget, forged(WITHIN, budget=budget)), "result: its budget should be 5")
    short = replace(AT_LAMBDA, pruning=Pruning(AT_LAMBDA.pruning.kept[:-1]))
    refused(verify_result(at_lambda, short), "result: kept: expected")
    broken = replace(at_lambda, instance=replace(at_lambda.instance, n_units=-1))
    refused(verify_result(broken, AT_LAMBDA), "result: instance: ")


def budgets():
    """Return budgets at the breakpoints, between them and beyond."""
    return [Fraction(0), *PATH.costs, *(cost + Fraction(1, 3) for cost in PATH.costs), Fraction(99)]


@pytest.mark.parametrize("method", SOLVERS)
def test_true_results_at_a_lambda_are_accepted(within_budget, method):
    path = without(within_budget, "pruning", "budget")
    for lam in (Fraction(0), LAM, PATH.breakpoints[0], Fraction(9)):
        result = solve(INSTANCE, lam, method)
        assert verify_result(path, result), (lam, verify_result(path, result))


@pytest.mark.parametrize("method", BUDGET_SOLVERS)
def test_true_results_within_a_budget_are_accepted(within_budget, method):
    path = without(within_budget, "pruning", "budget")
    for budget in budgets():
        result = solve_budget(INSTANCE, budget, method)
        verdict = verify_result(path, result)
        assert verdict, (budget, verdict)
        proved = result.bound <= bound_within(within_budget, budget)
        assert verdict.reason.endswith(" is more than is proved here") == (not proved)
        assert proved or method != "path"


def test_results_of_a_search_cut_short_are_accepted(within_budget):
    path = without(within_budget, "pruning", "budget")
    for result in (solve_budget(INSTANCE, b, method, time_limit=0) for b in budgets()[:6] for method in ("mip", "lp1")):
        assert verify_result(path, result), result


def test_results_that_hold_a_cap_may_err_more_than_the_path(within_budget):
    result = solve_budget(INSTANCE, BUDGET, "mip", max_cost=4)
    assert result.status == Status.OPTIMAL
    assert result.bound > WITHIN.error
    capped = replace(within_budget, provenance=provenance(*ORIGIN, result=result, max_cost=4))
    assert capped.provenance["max_cost"] == "4"
    assert verify_result(capped, result).reason.endswith(
        f"; its bound {float(result.bound):.6g} is more than is proved here"
    )
    refused(verify_result(without(capped, "max_cost"), result), "result: its bound should be at most ")


def test_a_budget_can_be_proved_by_one_lambda(at_lambda):
    """Within B nothing errs less than objective - lam B."""
    spent = replace(PATH.at_budget(AT_LAMBDA.cost), lam=LAM)
    assert spent.pruning == AT_LAMBDA.pruning
    assert verify_result(at_lambda, spent).reason == "result: the pruning proved optimal at lambda 1/50"
    loose = {"budget": spent.budget + 1, "status": Status.FEASIBLE}
    assert not verify_result(at_lambda, replace(spent, **loose, bound=spent.error - LAM)).reason.endswith("here")
    assert verify_result(at_lambda, replace(spent, **loose, bound=spent.error - LAM / 2)).reason.endswith("here")


def stated(pruning, lam, **more):
    """State the numbers of a pruning at a lambda, and claim that it is optimal."""
    error, cost = INSTANCE.evaluate(pruning)
    objective = error + lam * cost
    claim = {"pruning": pruning, "lam": lam, "objective": objective, "bound": objective, "error": error, "cost": cost}
    return replace(AT_LAMBDA, **claim | more)


def test_false_claims_at_a_lambda_are_refused(within_budget):
    path = without(within_budget, "pruning", "budget")
    for pruning in map(PATH.pruning_at, range(len(PATH.errors))):
        if stated(pruning, LAM).objective > AT_LAMBDA.objective:
            for status in Status:
                refused(
                    verify_result(path, stated(pruning, LAM, status=status)), "result: its bound should be at most "
                )
    low = AT_LAMBDA.objective / 2
    refused(
        verify_result(path, replace(AT_LAMBDA, bound=low)), "result: its status should not be optimal, as its bound "
    )
    assert verify_result(path, replace(AT_LAMBDA, bound=low, status=Status.FEASIBLE))
    refused(
        verify_result(path, stated(PATH.pruning_at(0), Fraction(-1))), "result: its lam should be at least 0, not -1"
    )


def forged(result, **changes):
    """Change a result past its own checks."""
    made = copy(result)
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


def test_false_claims_within_a_budget_are_refused(within_budget):
    path = without(within_budget, "pruning", "budget")
    roots = dict(zip(("error", "cost"), INSTANCE.evaluate(INSTANCE.roots_only), strict=True))
    lie = forged(WITHIN, pruning=INSTANCE.roots_only, **roots, bound=roots["error"])
    for status in Status:
        refused(verify_result(path, forged(lie, status=status)), "result: its bound should be at most ")
    assert verify_result(path, BETWEEN)
    assert BETWEEN.bound < BETWEEN.error
    optimal = forged(BETWEEN, status=Status.OPTIMAL)
    refused(verify_result(path, optimal), "result: its status should not be optimal, as its bound ")


def test_false_mixtures_are_refused(within_budget):
    path = without(within_budget, "pruning", "budget")
    (small, cheap), (large, dear) = BETWEEN.mixture

    def mixed(*mixture, **numbers):
        return verify_result(path, forged(BETWEEN, mixture=mixture, **numbers))

    weights = "result: the weights of its mixture should be positive and sum to 1, not "
    refused(mixed(), weights)
    refused(mixed((small, cheap)), weights)
    refused(mixed((Fraction(7), cheap)), f"{weights}7")
    refused(mixed((Fraction(2), cheap), (Fraction(-1), dear)), f"{weights}2, -1")
    refused(mixed((Fraction(1), cheap), (Fraction(0), dear)), f"{weights}1, 0")
    refused(mixed((small, dear), (large, cheap)), "result: its mixture_error should be ")
    for name in ("mixture_error", "mixture_cost"):
        for change in (-INSTANCE.error_unit, INSTANCE.error_unit):
            wrong = {name: getattr(BETWEEN, name) + change}
            refused(mixed(*BETWEEN.mixture, **wrong), f"result: its {name} should be ")
    short = Pruning(cheap.kept[:-1])
    refused(mixed((small, short), (large, dear)), "result: its mixture: kept: expected")
    error, cost = INSTANCE.evaluate(dear)
    whole = mixed((Fraction(1), dear), mixture_error=error, mixture_cost=cost)
    refused(whole, f"result: its mixture_cost should be at most the budget {BETWEEN.budget}, not {cost}")


def test_the_path_bounds_every_budget(within_budget):
    for budget in budgets():
        best = solve_budget(INSTANCE, budget, method="mip")
        assert bound_within(within_budget, budget) == best.mixture_error <= best.error
    path = replace(within_budget.path, costs=tuple(cost + 1 for cost in PATH.costs))
    with pytest.raises(ValueError, match="budget: expected at least 1, what the cheapest pruning costs, got 0"):
        bound_within(replace(within_budget, path=path), Fraction(0))


def test_a_path_of_one_pruning_bounds_its_own_cost(within_budget):
    path = replace(within_budget.path, costs=(Fraction(2),), errors=(Fraction(1, 3),))
    assert bound_within(replace(within_budget, path=path), Fraction(2)) == Fraction(1, 3)


@pytest.mark.parametrize("name", ["a.txt", "z.txt"])
def test_a_changed_file_is_refused_whichever_hash_is_larger(at_lambda, tmp_path, name):
    file = tmp_path / name
    file.write_text("written")
    certificate = replace(at_lambda, provenance=provenance(*ORIGIN, files=[file]))
    assert verify_files(certificate, tmp_path)
    written, larger = fingerprint_of_file(file), set()
    for content in "abcdefgh":
        file.write_text(content)
        larger.add(fingerprint_of_file(file) > written)
        refused(verify_files(certificate, tmp_path), f"{name} in the certificate's folder is not the file")
    assert len(larger) == 2


@pytest.mark.parametrize("name", ["../b.txt", "b.txt/", "z/b.txt", "/b.txt"])
def test_a_file_of_another_folder_is_refused(at_lambda, tmp_path, name):
    outside = replace(at_lambda, provenance={f"file {name}": "0"})
    refused(verify_files(outside, tmp_path), f"{f'file {name}'!r} is no name of a file in the certificate's folder")


def test_files_beside_the_certificate(at_lambda, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "model").write_text("not an entry of a file")
    entries = provenance(*ORIGIN, files=[tmp_path / "a.txt", tmp_path / "b.txt"])
    certificate = replace(at_lambda, provenance=entries)
    written = "in the certificate's folder, a.txt, b.txt are the files that were written with it"
    assert verify_files(certificate, tmp_path).reason == written
    (tmp_path / "a.txt").unlink()
    assert verify_files(certificate, tmp_path).reason == (
        "in the certificate's folder, b.txt is the file that was written with it"
    )
    (tmp_path / "b.txt").write_text("c")
    refused(
        verify_files(certificate, tmp_path),
        "b.txt in the certificate's folder is not the file that was written with it",
    )
    assert verify_files(at_lambda, tmp_path).reason == "no other file to compare lies in the certificate's folder"
