"""Proofs that anyone can check: certificates, counterexamples and the checkers that verify them.

Everything here works with integers and `fractions.Fraction`. A question is answered by an object that carries its
evidence; its `check` recomputes everything and returns a `Verdict`, accepted or refused with a reason. Modules load on
first use, so that a checker brings in no solver:

===============================================  ==================================================================
`unimodularity`, `gallery`, `recognition`        is a small matrix totally unimodular, a network matrix? known answers
`network`                                        network certificates of the programmes, any size, linear time
`network_form`, `figure_trees`, `drawing`        the papers' row operations and figures (Lemma 3.1 / 4.1)
`integrality`, `polytopes`, `simplex`            exact vertices of small polytopes; rounding; mid-size vertices
`optimality`, `certificate_file`                 an integer flow proves a pruning optimal: checker, file format
`path_optimality`, `path_certificate_file`       one flow proves a whole path: checker, file format
`certificate_archive`, `stored`                  the container of both kinds of file, and what it holds
`claims`, `question`                             the papers' claims as a table, each verdict computed
`pruning_claims`, `tree_claims`                  what examines them
`machine_checked`                                the theorems in Coq
`cross_check`                                    every method against every other
===============================================  ==================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofs.certificate_file import read_certificate, verify_certificate_file, write_certificate
    from proofs.claims import prove
    from proofs.cross_check import crosscheck, crosscheck_random, replay
    from proofs.integrality import round_by_threshold, vertices
    from proofs.machine_checked import compile_proof
    from proofs.network import NetworkCertificate, network_certificate
    from proofs.optimality import verify_optimality
    from proofs.path_certificate_file import write_path_certificate
    from proofs.path_optimality import verify_path
    from proofs.recognition import find_network
    from proofs.unimodularity import Certificate, Counterexample, is_totally_unimodular
    from proofs.verdict import Verdict

__all__ = [
    "Certificate",
    "Counterexample",
    "NetworkCertificate",
    "Verdict",
    "compile_proof",
    "crosscheck",
    "crosscheck_random",
    "find_network",
    "is_totally_unimodular",
    "network_certificate",
    "prove",
    "read_certificate",
    "replay",
    "round_by_threshold",
    "verify_certificate_file",
    "verify_optimality",
    "verify_path",
    "vertices",
    "write_certificate",
    "write_path_certificate",
]

_HOME = {
    "Certificate": "unimodularity",
    "Counterexample": "unimodularity",
    "NetworkCertificate": "network",
    "Verdict": "verdict",
    "compile_proof": "machine_checked",
    "find_network": "recognition",
    "crosscheck": "cross_check",
    "crosscheck_random": "cross_check",
    "is_totally_unimodular": "unimodularity",
    "network_certificate": "network",
    "prove": "claims",
    "read_certificate": "certificate_file",
    "replay": "cross_check",
    "round_by_threshold": "integrality",
    "verify_certificate_file": "certificate_file",
    "verify_optimality": "optimality",
    "verify_path": "path_optimality",
    "vertices": "integrality",
    "write_certificate": "certificate_file",
    "write_path_certificate": "path_certificate_file",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
