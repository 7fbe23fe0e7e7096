"""What a certificate is about: the model, examples and prices it was made from, and what was made of it.

A certificate proves a claim about an instance. That the instance comes from *this* model, *these* examples and *these*
prices, and the pruned forest and the stated result from its pruning, is checked here, by making them again. With the
proof a certificate carries (entries of ``provenance`` in its header):

=================== =================================================================
entry               meaning
=================== =================================================================
model               fingerprint of the forest: structure, tests, values, counts
examples            fingerprint of the examples that pay, as the forest compares them
prices              fingerprint of the price list: prices, groups, fees
loss, split_cost    how the instance counts errors and tests
resolution          "path", if errors and prices are rounded where 64 bits need it
pruning             fingerprint of the pruning that was taken
budget              the budget it was taken for, if there was one
max_cost            what no example may pay more than, if there was such a cap
file NAME           SHA-256 of a file written with the certificate
=================== =================================================================

A fingerprint is a SHA-256. A forged certificate can have forged entries too: they say what was exchanged when
something was, and the instance made again says whether anything was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ipforest._internal.rational import nonnegative_fraction
from ipforest._internal.records import json_object
from ipforest.instance import FITS_PATH, PruningInstance
from ipforest.results import BudgetResult, Pruning, PruningResult, Status
from proofs.certificates.optimality import evaluate
from proofs.certificates.path_file import PathCertificate
from proofs.certificates.pruning_file import OptimalityCertificate
from proofs.verdict import Verdict, accept, refuse

if TYPE_CHECKING:
    from ipforest.costs import FeatureCosts
    from ipforest.ensemble.forest import Forest

    Certificate: TypeAlias = OptimalityCertificate | PathCertificate
    Result: TypeAlias = PruningResult | BudgetResult

FILE = "file "


def provenance(
    forest: Forest,
    examples: Any,
    costs: FeatureCosts,
    loss: str,
    split_cost: object = 0,
    result: Result | None = None,
    files: Iterable[Path] = (),
    max_cost: object | None = None,
    resolution: str | None = None,
) -> dict[str, str]:
    """Describe what an instance and its pruning are made of, for `write_certificate` and `write_path_certificate`.

    Parameters
    ----------
    forest : Forest
    examples : array, shape (n_examples, n_features)
        Those that pay.
    costs : FeatureCosts
    loss : str
    split_cost : number, optional
    result : PruningResult or BudgetResult, optional
        The pruning that was taken.
    files : iterable of Path, optional
        Files written with the certificate.
    max_cost : number, optional
        The cap that was held.
    resolution : {"path"}, optional
        As `PruningInstance.from_forest` took it.

    Returns
    -------
    dict of str
    """
    entries = {
        "model": fingerprint_of_forest(forest),
        "examples": fingerprint_of_examples(forest, examples),
        "prices": fingerprint_of_prices(costs),
        "loss": loss,
        "split_cost": str(nonnegative_fraction(split_cost, "split_cost")),
    }
    if resolution is not None:
        entries["resolution"] = resolution
    if result is not None:
        entries["pruning"] = fingerprint_of_pruning(result.pruning)
    if isinstance(result, BudgetResult):
        entries["budget"] = str(result.budget)
    if max_cost is not None:
        entries["max_cost"] = str(nonnegative_fraction(max_cost, "max_cost"))
    return entries | {f"{FILE}{file.name}": fingerprint_of_file(file) for file in files}


def fingerprint_of_forest(forest: Forest) -> str:
    """Hash a forest: its structure, the tests of its internal nodes, and what its nodes learnt."""
    inner = forest.internal_nodes
    per_node = {name: getattr(forest, name) for name in ("left", "right", "value", "weight", "n_samples")}
    per_test = {name: getattr(forest, name)[inner] for name in ("feature", "threshold", "missing_left")}
    labels = "" if forest.classes is None else repr(forest.classes.tolist())
    facts = {"n_features": forest.n_features, "comparison": forest.comparison, "dtype": forest.dtype, "classes": labels}
    return _digest("forest", {"tree_offsets": forest.tree_offsets, **per_node, **per_test, **facts, **_sets_of(forest)})


def _sets_of(forest: Forest) -> dict[str, Any]:
    """Write down which nodes test categories, which of these go left, and what they stand for; nothing if none does."""
    nodes, sets = np.flatnonzero(forest.tests_categories), forest.left_categories
    if not nodes.size:
        return {}
    chosen = forest.category_set[nodes].tolist()
    listed = [sets.members(number).tolist() for number in chosen]
    told = zip(nodes.tolist(), listed, sets.others[chosen].tolist(), strict=True)
    return {"categories": f"{[*told]} {sorted(forest.categories.names.items())!r}"}


def fingerprint_of_examples(forest: Forest, examples: Any) -> str:
    """Hash examples as a forest compares them: rounded to its floating-point type."""
    return _digest("examples", {"X": forest.checked_examples(examples, "examples")})


def fingerprint_of_prices(costs: FeatureCosts) -> str:
    """Hash a price list: prices, groups, fees."""
    lists = {"prices": costs.prices, "groups": costs.groups.tolist(), "group_fees": costs.group_fees}
    return _digest("prices", {name: " ".join(map(str, values)) for name, values in lists.items()})


def fingerprint_of_pruning(pruning: Pruning) -> str:
    """Hash the marks of the internal nodes that are kept."""
    return _digest("pruning", {"kept": pruning.kept})


def fingerprint_of_file(file: Path) -> str:
    """Hash the bytes of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _digest(kind: str, parts: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(f"ipforest {kind} 1\n".encode())
    for name, value in parts.items():
        if isinstance(value, np.ndarray):
            content = np.asarray(value, dtype=value.dtype.newbyteorder("<")).tobytes()
            digest.update(f"{name} {value.dtype.name} {value.shape}\n".encode() + content)
        else:
            digest.update(f"{name} {value}\n".encode())
    return digest.hexdigest()


def verify_origin(
    certificate: Certificate, forest: Forest, examples: Any, costs: FeatureCosts, loss: str, split_cost: object = 0
) -> Verdict:
    """Verify that an instance is what a model, examples and prices give.

    Parameters
    ----------
    certificate : OptimalityCertificate or PathCertificate
    forest, examples, costs, loss, split_cost
        As `PruningInstance.from_forest` takes them.

    Returns
    -------
    Verdict
        Refused by the name of what was exchanged, where the certificate's entries tell.
    """
    given = provenance(forest, examples, costs, loss, split_cost)
    for name, found in given.items():
        stated = certificate.provenance.get(name, found)
        if stated != found:
            return refuse(f"{name}: the certificate was made with {_short(stated)}, the one given is {_short(found)}")
    resolution = certificate.provenance.get("resolution")
    if resolution not in (None, FITS_PATH):
        return refuse(f"resolution: expected none or {FITS_PATH}, got {_short(resolution)}")
    again = PruningInstance.from_forest(forest, examples, costs, loss, split_cost=split_cost, resolution=resolution)
    if again.fingerprint() != certificate.instance_sha256:
        return refuse("instance: the model, examples and prices given make another one than the certificate is about")
    split = f" and a split cost of {given['split_cost']}" if Fraction(given["split_cost"]) else ""
    rounded = rounding_of(again, forest.matched_costs(costs))
    return accept(f"the model, examples and prices given make the instance, counted by {loss}{split}{rounded}")


def rounding_of(instance: PruningInstance, costs: FeatureCosts) -> str:
    """Say to which multiples an instance rounds prices up, if it does: what is proved is so at these.

    Parameters
    ----------
    instance : PruningInstance
    costs : FeatureCosts
        Those that it was made from, in the order of its features.
    """
    step = instance.price_step
    paid = [costs.unit_costs[unit] for unit in np.unique(instance.acquisition_unit)]
    return f", with prices rounded up to multiples of {step}" if any(price % step for price in paid) else ""


def verify_result(certificate: Certificate, result: Result) -> Verdict:
    """Verify that a result states the numbers of its pruning, and claims no more of them than is true.

    The prunings that a certificate knows refute a bound above them. A lower bound may be true and yet more than the
    certificate proves, as of a search that branches; the verdict says so.

    Parameters
    ----------
    certificate : OptimalityCertificate or PathCertificate
        That is accepted by its own ``check``.
    result : PruningResult or BudgetResult

    Returns
    -------
    Verdict
        What the certificate proves of the result, when accepted.
    """
    found = evaluate(certificate.instance, result.pruning.kept)
    if isinstance(found, str):
        return refuse(f"result: {found}")
    budget = _stated_budget(certificate)
    expected = dict(zip(("error", "cost"), found, strict=True))
    if isinstance(result, BudgetResult):
        expected["budget"] = budget = result.budget if budget is None else budget
    else:
        expected["objective"] = found[0] + result.lam * found[1]
    if isinstance(certificate, OptimalityCertificate):
        expected["lam"] = certificate.lam
    for name, number in expected.items():
        if getattr(result, name) != number:
            return refuse(f"result: its {name} should be {number}, not {getattr(result, name)}")
    verdict = _verify_pruning("result", certificate, result.pruning.kept, budget)
    if not verdict:
        return verdict
    if not isinstance(result, BudgetResult):
        fault = _objective_fault(certificate, result)
        return refuse(f"result: {fault}") if fault else verdict
    fault = _bound_fault(certificate, result) or _mixture_fault(certificate, result)
    if fault:
        return refuse(f"result: {fault}")
    if result.bound > bound_within(certificate, result.budget):
        return accept(f"{verdict.reason}; its bound {float(result.bound):.6g} is more than is proved here")
    return verdict


def _objective_fault(certificate: Certificate, result: PruningResult) -> str | None:
    """Say what is claimed of an objective and is not so: the least one is that of a known pruning."""
    if result.lam < 0:
        return f"its lam should be at least 0, not {result.lam}"
    least = min(error + result.lam * cost for cost, error in _known(certificate))
    return _claim_fault(result, "objective", least, "the least objective")


def _bound_fault(certificate: Certificate, result: BudgetResult) -> str | None:
    """Say what is claimed of the least error within a budget and is not so; known prunings may break a cap."""
    known = [] if "max_cost" in certificate.provenance else _known(certificate)
    least = min([result.error, *(error for cost, error in known if cost <= result.budget)])
    return _claim_fault(result, "error", least, "the error of a pruning within the budget")


def _claim_fault(result: Result, minimised: str, least: Fraction, reason: str) -> str | None:
    """Say what a bound or a status claims of what is minimised and is not so, given the least that is known."""
    value = getattr(result, minimised)
    if result.bound > least:
        return f"its bound should be at most {least}, {reason}, not {result.bound}"
    if result.status == Status.OPTIMAL and result.bound != value:
        return f"its status should not be optimal, as its bound {result.bound} is not its {minimised} {value}"
    return None


def _mixture_fault(certificate: Certificate, result: BudgetResult) -> str | None:
    """Say what is wrong with a mixture: its weights, a pruning, or its error and cost on average."""
    weights = [weight for weight, _ in result.mixture]
    if sum(weights) != 1 or any(weight <= 0 for weight in weights):
        return f"the weights of its mixture should be positive and sum to 1, not {', '.join(map(str, weights))}"
    error = cost = Fraction(0)
    for weight, pruning in result.mixture:
        found = evaluate(certificate.instance, pruning.kept)
        if isinstance(found, str):
            return f"its mixture: {found}"
        error, cost = error + weight * found[0], cost + weight * found[1]
    for name, number in (("mixture_error", error), ("mixture_cost", cost)):
        if getattr(result, name) != number:
            return f"its {name} should be {number}, not {getattr(result, name)}"
    if cost > result.budget:
        return f"its mixture_cost should be at most the budget {result.budget}, not {cost}"
    return None


def _known(certificate: Certificate) -> list[tuple[Fraction, Fraction]]:
    """Return cost and error of the prunings that a certificate is about."""
    if isinstance(certificate, OptimalityCertificate):
        return [(certificate.cost, certificate.error)]
    return list(zip(certificate.path.costs, certificate.path.errors, strict=True))


def verify_pruned(certificate: Certificate, forest: Forest, pruned: Forest) -> Verdict:
    """Verify that a pruned forest is what the pruning of a certificate leaves of a forest.

    Parameters
    ----------
    certificate : OptimalityCertificate or PathCertificate
    forest : Forest
        That the certificate is about, see `verify_origin`.
    pruned : Forest

    Returns
    -------
    Verdict
        What the certificate proves of the pruned forest, when accepted.
    """
    kept = _kept_of(forest, pruned)
    if kept is None:
        return refuse("pruned: the trees of the forest given are no parts of the model's")
    if fingerprint_of_forest(forest.prune(Pruning(kept))) != fingerprint_of_forest(pruned):
        return refuse("pruned: the forest given is no pruning of the model")
    if None not in (forest.feature_names, pruned.feature_names) and forest.feature_names != pruned.feature_names:
        return refuse("pruned: the features of the forest given have other names than the model's")
    return _verify_pruning("pruned", certificate, kept, _stated_budget(certificate))


def read_result(text: str) -> Result:
    """Read what `ipforest prune` writes to ``result.json``, of a lambda or of a budget.

    Raises
    ------
    ValueError
        The text is neither.
    """
    is_budget = "budget" in json_object(text)
    return BudgetResult.from_json(text) if is_budget else PruningResult.from_json(text)


def _kept_of(forest: Forest, pruned: Forest) -> NDArray[np.bool_] | None:
    """Follow the trees of a pruned forest through those it came from; None if they are of other shapes."""
    if pruned.n_trees != forest.n_trees:
        return None
    splits, left, right = np.zeros(forest.n_nodes, dtype=bool), forest.left.tolist(), forest.right.tolist()
    pruned_left, pruned_right = pruned.left.tolist(), pruned.right.tolist()
    todo = list(zip(forest.tree_offsets[:-1].tolist(), pruned.tree_offsets[:-1].tolist(), strict=True))
    while todo:
        node, place = todo.pop()
        if pruned_left[place] < 0:
            continue
        if left[node] < 0:
            return None
        splits[node] = True
        todo += [(left[node], pruned_left[place]), (right[node], pruned_right[place])]
    return splits[forest.internal_nodes]


def _verify_pruning(name: str, certificate: Certificate, kept: NDArray[np.bool_], budget: Fraction | None) -> Verdict:
    """Compare a pruning with the one that a certificate was written for; say what is proved of it."""
    found = evaluate(certificate.instance, kept)
    if isinstance(found, str):
        return refuse(f"{name}: {found}")
    own = fingerprint_of_pruning(Pruning(kept))
    if certificate.provenance.get("pruning", own) != own:
        return refuse(f"{name}: its pruning is not the one that the certificate was written for")
    if isinstance(certificate, OptimalityCertificate):
        if not np.array_equal(kept, certificate.kept):
            return refuse(f"{name}: its pruning is not the one that the certificate proves optimal")
        return accept(f"{name}: the pruning proved optimal at lambda {certificate.lam}")
    error, cost = found
    limit = cost if budget is None else budget
    if cost > limit:
        return refuse(f"{name}: its pruning costs {cost}, more than the budget {limit}")
    return accept(
        f"{name}: error {float(error):.6g} at cost {float(cost):.6g}; within {float(limit):.6g} no pruning has a lower "
        f"error than {float(bound_within(certificate, limit)):.6g}"
    )


def _stated_budget(certificate: Certificate) -> Fraction | None:
    stated = certificate.provenance.get("budget")
    return None if stated is None else nonnegative_fraction(stated, "budget of the certificate")


def bound_within(certificate: Certificate, budget: Fraction) -> Fraction:
    """Bound the error of any pruning within a budget from below: by one lambda, or by the lower hull of the path.

    Raises
    ------
    ValueError
        No pruning costs so little.
    """
    if isinstance(certificate, OptimalityCertificate):
        return certificate.objective - certificate.lam * budget
    points = _known(certificate)
    if budget >= points[0][0]:
        return points[0][1]
    for (expensive, low), (cheap, high) in pairwise(points):
        if cheap <= budget:
            return high + (low - high) * (budget - cheap) / (expensive - cheap)
    raise ValueError(f"budget: expected at least {points[-1][0]}, what the cheapest pruning costs, got {budget}")


def verify_files(certificate: Certificate, folder: Path) -> Verdict:
    """Verify that the files with a certificate, as far as they are there, are those that were written with it."""
    there = []
    for entry, stated in certificate.provenance.items():
        name = entry.removeprefix(FILE)
        if name == entry:
            continue
        if Path(name).name != name:
            return refuse(f"{entry!r} is no name of a file in the certificate's folder")
        if not (folder / name).is_file():
            continue
        if fingerprint_of_file(folder / name) != stated:
            return refuse(f"{name} in the certificate's folder is not the file that was written with it")
        there.append(name)
    if not there:
        return accept("no other file to compare lies in the certificate's folder")
    are = "is the file that was" if len(there) == 1 else "are the files that were"
    return accept(f"in the certificate's folder, {', '.join(there)} {are} written with it")


def _short(value: str) -> str:
    return value if len(value) < 40 else f"{value[:12]}..."
