"""Proofs that anyone can check: certificates, counterexamples and the checkers that verify them.

Everything here works with integers and `fractions.Fraction`. A question is answered by an object that carries its
evidence; its `check` recomputes everything and returns a `Verdict`, accepted or refused with a reason. What is asked:

==================================================  ==================================================================
`verify_optimality`, `verify_path`                  does this flow prove this pruning, this whole path, optimal?
`write_certificate`, `write_path_certificate`,      certificates as files; the last two read and verify those of
`read_certificate`, `verify_certificate_file`       prunings and of paths
`is_totally_unimodular`                             is a matrix, a model's, a file's? a `Certificate` or a
                                                    `Counterexample`
`is_integral`                                       are all vertices of a model's relaxation integral?
`find_network`, `network_certificate`               is it a network matrix? that of a formulation, by construction
`vertices`, `round_by_threshold`                    all vertices of a small polytope; a fractional point made 0-1
`crosscheck`, `crosscheck_random`, `replay`         do all methods agree on an instance, on many, on a saved one?
`prove`, `compile_proof`                            the papers' claims, each examined; the Coq proofs, compiled
==================================================  ==================================================================

Modules load on first use, so that a checker brings in no solver:

=================== ==================================================================================================
`unimodularity`     is a matrix totally unimodular, a network matrix?
                    `total_unimodularity` decides at any size; `decomposition`, `network_certificate`,
                    `counterexample`: the evidence and its checkers; `graph_realisation`, `network_recognition`,
                    `separations`, `signings`: how it is found; `small_matrices`: three exponential tests;
                    `known_matrices`: answers of the literature; `network_form`: the papers' row operations
                    (Lemma 3.1 / 4.1)
`integrality`       `vertices`, `polytopes`: exact vertices of small relaxations, rounding by a threshold; `simplex`:
                    vertices of mid-size relaxations; `any_program`: of any linear program, with the evidence
`certificates`      `optimality`: one integer flow proves a pruning optimal; `path_optimality`: one flow proves a whole
                    path; `instance`, `exact_arrays`: what both require and compute with; `pruning_file`, `path_file`:
                    both on disk; `archive`, `records`: the container, and what it holds
`claims`            `table`: the papers' claims, each verdict computed; `pruning_claims`, `method_claims`,
                    `tree_claims`: what examines them; `claim`, `impurity`, `paper_figures`: what they need;
                    `machine_checked`: compiles `coq`
`coq`               the theorems, machine-checked, and a checker that is proved
`extracted_checker` builds that checker, and runs it on the certificates
`coq_terms`         writes instances and matrices for Coq to compare
`crosschecks`       `methods`, `budgets`: every method against every other; `fitted_problems`, `reference`: instances
                    against the data they are made from; `random_checks`: many of these; `definition`, `brute_force`:
                    errors and costs of prunings, one by one; `random_instances`; `answer`
`study`             everything about a formulation (`formulations.study`): `study`: its rows and their evidence;
                    `checks`, `matrices`: what is looked at in one problem; `programs`: programs in exact numbers;
                    `refutation`, `sketch`: counterexamples, made small; `cuts`: missing inequalities; `size_laws`;
                    `problem`; `drawing`
`provenance`        that a certificate is about this model, these examples and prices, and this pruned forest
`verdict`, `exact`  what a check answers; exact linear algebra
`drawing`           pictures of all this
=================== ==================================================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofs.certificates.optimality import verify_optimality as verify_optimality
    from proofs.certificates.path_file import write_path_certificate as write_path_certificate
    from proofs.certificates.path_optimality import verify_path as verify_path
    from proofs.certificates.pruning_file import read_certificate as read_certificate
    from proofs.certificates.pruning_file import verify_certificate_file as verify_certificate_file
    from proofs.certificates.pruning_file import write_certificate as write_certificate
    from proofs.claims.machine_checked import compile_proof as compile_proof
    from proofs.claims.table import prove as prove
    from proofs.crosschecks.methods import crosscheck as crosscheck
    from proofs.crosschecks.random_checks import crosscheck_random as crosscheck_random
    from proofs.crosschecks.random_checks import replay as replay
    from proofs.integrality.any_program import is_integral as is_integral
    from proofs.integrality.vertices import round_by_threshold as round_by_threshold
    from proofs.integrality.vertices import vertices as vertices
    from proofs.unimodularity.counterexample import Counterexample as Counterexample
    from proofs.unimodularity.decomposition import Certificate as Certificate
    from proofs.unimodularity.formulation_networks import network_certificate as network_certificate
    from proofs.unimodularity.network_certificate import NetworkCertificate as NetworkCertificate
    from proofs.unimodularity.network_recognition import find_network as find_network
    from proofs.unimodularity.total_unimodularity import is_totally_unimodular as is_totally_unimodular
    from proofs.verdict import Verdict as Verdict

_HOME = {
    "Certificate": "proofs.unimodularity.decomposition",
    "Counterexample": "proofs.unimodularity.counterexample",
    "NetworkCertificate": "proofs.unimodularity.network_certificate",
    "Verdict": "proofs.verdict",
    "compile_proof": "proofs.claims.machine_checked",
    "find_network": "proofs.unimodularity.network_recognition",
    "is_integral": "proofs.integrality.any_program",
    "crosscheck": "proofs.crosschecks.methods",
    "crosscheck_random": "proofs.crosschecks.random_checks",
    "is_totally_unimodular": "proofs.unimodularity.total_unimodularity",
    "network_certificate": "proofs.unimodularity.formulation_networks",
    "prove": "proofs.claims.table",
    "read_certificate": "proofs.certificates.pruning_file",
    "replay": "proofs.crosschecks.random_checks",
    "round_by_threshold": "proofs.integrality.vertices",
    "verify_certificate_file": "proofs.certificates.pruning_file",
    "verify_optimality": "proofs.certificates.optimality",
    "verify_path": "proofs.certificates.path_optimality",
    "vertices": "proofs.integrality.vertices",
    "write_certificate": "proofs.certificates.pruning_file",
    "write_path_certificate": "proofs.certificates.path_file",
}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    # The checkers stand alone: `ipforest._internal.handed_on`, which does the same, would bring all of ipforest in.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
