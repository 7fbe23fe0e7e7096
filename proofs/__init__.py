"""Proofs that anyone can check: certificates, counterexamples and the checkers that verify them.

Everything here works with integers and `fractions.Fraction`. A question is answered by an object that carries its
evidence; its `check` recomputes everything and returns a `Verdict`, accepted or refused with a reason. Modules load on
first use, so that a checker brings in no solver:

============================  =====================================================================================
`unimodularity`               is a small matrix totally unimodular? three exact tests
`network`                     network certificates of the programmes' matrices, any size, linear time
`network_form`                the papers' row operations (Lemma 3.1 / 4.1) and their shortest-path graphs
`gallery`                     matrices with known answers from the literature
`integrality`                 exact vertices of small polytopes; rounding by a threshold
`optimality`                  an integer flow proves a pruning optimal: the checker
`certificate_file`            optimality certificates on disk
`machine_checked`             the Coq proofs in `proofs/coq`, compiled; what each theorem assumes
`claims`                      the papers' claims, each verdict computed
`crosscheck`                  every method against every other
============================  =====================================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofs.certificate_file import read_certificate, verify_certificate_file, write_certificate
    from proofs.network import NetworkCertificate, network_certificate
    from proofs.optimality import verify_optimality
    from proofs.unimodularity import Certificate, Counterexample, is_totally_unimodular
    from proofs.verdict import Verdict

__all__ = [
    "Certificate",
    "Counterexample",
    "NetworkCertificate",
    "Verdict",
    "is_totally_unimodular",
    "network_certificate",
    "read_certificate",
    "verify_certificate_file",
    "verify_optimality",
    "write_certificate",
]

_HOME = {
    "Certificate": "unimodularity",
    "Counterexample": "unimodularity",
    "NetworkCertificate": "network",
    "Verdict": "verdict",
    "is_totally_unimodular": "unimodularity",
    "network_certificate": "network",
    "read_certificate": "certificate_file",
    "verify_certificate_file": "certificate_file",
    "verify_optimality": "optimality",
    "write_certificate": "certificate_file",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
