"""The checker extracted from Coq and the Python checkers agree on genuine and corrupted certificates."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ipforest.path_search import prune_path
from ipforest.solvers import solve
from proofs.certificates.optimality import verify_claim
from proofs.certificates.path_optimality import verify_path
from proofs.claims.machine_checked import CoqMissingError
from proofs.claims.pruning_claims import fitted_instance
from proofs.crosschecks.random_instances import random_instance
from proofs.extracted_checker import NoForestError, build, path_text, pruning_text, run

pytestmark = pytest.mark.slow

STEPS = (-3, -1, 1, 2, 1000)
INSTANCE_ARRAYS = ("errors", "acquisition_cost", "split_cost", "indices", "node_parent", "indptr")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    try:
        return build(tmp_path_factory.mktemp("checker"))
    except CoqMissingError as missing:
        pytest.skip(str(missing))


def drawn(rng):
    while True:
        instance = random_instance(rng, 9)
        if instance.n_triples >= 3 and instance.n_internal >= 2:
            return instance


def bumped(rng, values):
    changed = values.copy()
    if changed.size:
        changed[int(rng.integers(changed.size))] += int(rng.choice(STEPS))
    return changed


def bumped_record(rng, record, names):
    """Change one entry of one array, without the record's own checks."""
    name = str(rng.choice(names))
    changed = object.__new__(type(record))
    for field in type(record).__dataclass_fields__:
        object.__setattr__(changed, field, getattr(record, field))
    object.__setattr__(changed, name, bumped(rng, getattr(record, name)))
    return changed


def bumped_fraction(rng, number):
    return number + Fraction(int(rng.choice(STEPS)), int(rng.integers(1, 5)))


def changed_pruning(rng, instance, lam, kept, flow, claims):
    """Change one thing in a certificate of one pruning, or nothing."""
    kind = int(rng.integers(8))
    if kind == 1:
        instance = bumped_record(rng, instance, INSTANCE_ARRAYS)
    elif kind == 2:
        lam = bumped_fraction(rng, lam)
    elif kind == 3:
        kept = kept.copy()
        kept[int(rng.integers(kept.size))] ^= True
    elif kind == 4:
        flow = bumped_record(rng, flow, ("used", "triple", "up", "gain", "split"))
    elif kind == 5:
        name = str(rng.choice(["p", "q"]))
        flow = replace(flow, **{name: getattr(flow, name) + int(rng.choice(STEPS))})
    elif kind == 6:
        name = str(rng.choice(sorted(claims)))
        claims = {**claims, name: bumped_fraction(rng, claims[name])}
    elif kind == 7:
        instance = replace(instance, error_unit=instance.error_unit * Fraction(int(rng.integers(1, 3)), 2))
    return instance, lam, kept, flow, claims


def changed_path(rng, instance, path):
    """Change one thing in a certificate of a path, or nothing."""
    flow, kind = path.flow, int(rng.integers(8))
    if kind == 1:
        instance = bumped_record(rng, instance, INSTANCE_ARRAYS)
    elif kind == 2:
        flow = bumped_record(rng, flow, ("used", "triple", "up", "gain", "split"))
    elif kind == 3:
        pieces = path.node_breakpoint.copy()
        pieces[int(rng.integers(pieces.size))] = rng.integers(-1, len(flow.p) + 1)
        flow, path = replace(flow, node_breakpoint=pieces), replace(path, node_breakpoint=pieces)
    elif kind == 4 and flow.p:
        name = str(rng.choice(["p", "q"]))
        numbers = list(getattr(flow, name))
        numbers[int(rng.integers(len(numbers)))] += int(rng.choice(STEPS))
        flow = replace(flow, **{name: tuple(numbers)})
    elif kind == 5:
        name = str(rng.choice(["errors", "costs"]))
        numbers = list(getattr(path, name))
        numbers[int(rng.integers(len(numbers)))] += Fraction(1, 13)
        path = replace(path, **{name: tuple(numbers)})
    elif kind == 6 and path.breakpoints:
        numbers = list(path.breakpoints)
        numbers[int(rng.integers(len(numbers)))] *= Fraction(int(rng.integers(2, 5)), 3)
        path = replace(path, breakpoints=tuple(numbers))
    elif kind == 7:
        flow = replace(flow, p=flow.p[:-1], q=flow.q[:-1])
    return instance, replace(path, flow=flow)


def agreement(program, verdicts, texts):
    """Compare the two checkers; how many were accepted and refused."""
    answers = run(program, [text for text in texts if text is not None])
    found = iter(answers)
    for number, (verdict, text) in enumerate(zip(verdicts, texts, strict=True)):
        answer = False if text is None else next(found)
        assert bool(verdict) is answer, (number, str(verdict), text)
    return sum(map(bool, verdicts)), sum(not verdict for verdict in verdicts)


def written(write, *arguments):
    try:
        return write(*arguments)
    except NoForestError:
        return None


def test_both_checkers_agree_on_a_thousand_certificates_of_prunings(program):
    rng = np.random.default_rng(61)
    verdicts, texts = [], []
    for _ in range(1000):
        instance = drawn(rng)
        lam = Fraction(int(rng.integers(0, 20)), int(rng.integers(1, 12)))
        result = solve(instance, lam, method="networkx")
        claims = {name: getattr(result, name) for name in ("error", "cost", "objective", "bound")}
        certificate = changed_pruning(rng, instance, lam, result.pruning.kept, result.flow, claims)
        verdicts.append(verify_claim(*certificate))
        texts.append(written(pruning_text, *certificate))
    accepted, refused = agreement(program, verdicts, texts)
    assert accepted > 100
    assert refused > 500
    assert sum(text is None for text in texts) < 150


def test_both_checkers_agree_on_a_thousand_certificates_of_paths(program):
    rng = np.random.default_rng(62)
    verdicts, texts = [], []
    for _ in range(1000):
        instance = drawn(rng)
        certificate = changed_path(rng, instance, prune_path(instance))
        verdicts.append(verify_path(*certificate))
        texts.append(written(path_text, *certificate))
    accepted, refused = agreement(program, verdicts, texts)
    assert accepted > 100
    assert refused > 500
    assert sum(text is None for text in texts) < 300


def test_certificates_of_a_fitted_forest_are_accepted(program):
    instance = fitted_instance(3, n_trees=10, depth=6, n_examples=100)
    path = prune_path(instance)
    texts = [path_text(instance, path)]
    for lam in (Fraction(0), Fraction(1, 1000), path.breakpoints[0], path.breakpoints[-1] + 1):
        result = solve(instance, lam)
        claims = {name: getattr(result, name) for name in ("error", "cost", "objective", "bound")}
        texts.append(pruning_text(instance, lam, result.pruning.kept, result.flow, claims))
    assert run(program, texts) == [True] * 5


def test_numbers_beyond_64_bits_are_exact(program):
    """Flow, p and q grow by one factor: the same proof in smaller units, with numbers that need 80 bits."""
    rng = np.random.default_rng(63)
    instance = drawn(rng)
    result = solve(instance, Fraction(3, 7), method="networkx")
    claims = {name: getattr(result, name) for name in ("error", "cost", "objective", "bound")}
    flow = result.flow
    largest = max(int(getattr(flow, name).max(initial=1)) for name in ("triple", "up", "gain", "split"))
    factor = (2**63 - 1) // largest
    grown = {name: getattr(flow, name) * factor for name in ("triple", "up", "gain", "split")}
    bigger = replace(flow, p=flow.p * factor, q=flow.q * factor, **grown)
    wrong = replace(bigger, q=bigger.q + 1)
    texts = [pruning_text(instance, result.lam, result.pruning.kept, each, claims) for each in (bigger, wrong)]
    assert run(program, texts) == [True, False]


LEAF = "0 0 0 -1 0 0 0 0 0"
STUMP = f"0 0 0 -1 0 0 0 1 1 0 2 {LEAF} {LEAF}"
"""A split that needs acquisition 1, and gains nothing."""


def chain(length, last_leaf=LEAF):
    """Write a tree whose splits lie below each other, each with a leaf."""
    return " ".join([*[f"0 0 0 -1 0 0 0 0 2 {LEAF}"] * length, last_leaf])


@pytest.mark.parametrize(
    ("trees", "tree", "accepted"),
    [
        (200_000, lambda: STUMP, True),
        (1, lambda: chain(200_000), True),
        (1, lambda: chain(200_000, "0 0 0 -1 0 0 1 0 0"), False),
        (40, lambda: chain(2500), True),
    ],
    ids=["stumps", "a chain", "a false chain", "forty trees of 5,001 nodes"],
)
def test_neither_a_large_forest_nor_a_deep_tree_needs_a_stack(program, trees, tree, accepted):
    """Nothing is kept and no flow is sent; in the false chain one unit comes up from the last leaf."""
    nothing_is_kept = "1 1 1 1 0 1 0 1 0 1 0 1"
    forest = " ".join([tree()] * trees)
    assert run(program, [f"pruning 1 1 1 1 1 5 {trees:x} {forest} {nothing_is_kept}"]) == [accepted]


def test_text_that_is_no_certificate_stops_the_program(program):
    with pytest.raises(RuntimeError, match="stopped after 0 certificates"):
        run(program, ["pruning 1 x"])


def test_without_ocaml_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CoqMissingError, match="apt-get install"):
        build(tmp_path)
