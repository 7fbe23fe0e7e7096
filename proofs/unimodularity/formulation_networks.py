r"""The networks of the pruning programs: total unimodularity of their matrices at any size.

**The trees of the pruning programs.** One vertex :math:`\rho`; for every forest node h a vertex :math:`v_h` and the
arc :math:`z_h: v_{parent(h)} \to v_h` (from :math:`\rho` for a root), away from :math:`\rho`; for every other variable
one vertex and one arc into :math:`\rho`.

============  =====================================================  ============================================
program     row                                                    path
============  =====================================================  ============================================
IP0           sum of z over p(h) = 1, leaf h                         :math:`\rho \to v_h`
IP3/IP        :math:`w^{(t)}_{k,i}` + sum of z over p(u) = 1         from the tail of :math:`w^{(t)}_{k,i}` through
                                                                     :math:`\rho` down to :math:`v_u`
IP3/IP        :math:`w^{(t)}_{k,i} - w_{k,i} \le 0`                  along :math:`w^{(t)}_{k,i}` into :math:`\rho`,
                                                                     back against :math:`w_{k,i}`
IP2, compact  :math:`w_{k,i}` + sum of z over p(u) = 1, >= 1         from the tail of :math:`w_{k,i}` down to
                                                                     :math:`v_u`
closure       :math:`x_h - x_{parent(h)} \le 0`                      along one arc of a star, back against another
closure       :math:`x_u - w_{k,i} \le 0`                            the same
============  =====================================================  ============================================

The z_h have laminar row sets (subtrees), the w_{k,i} of the compact form disjoint ones: pivoting the
:math:`w^{(t)}_{k,i}` out of IP3's coupling rows (which keeps total unimodularity) gives the compact rows; the tree
above carries both without pivoting. This proves Theorem 4.2 of the optimal-pruning paper and Theorem 3.2 of
BudgetPrune: with an integral right-hand side and integral bounds, every vertex of the relaxation is integral (Hoffman
and Kruskal 1956).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from formulations.base import Formulation
from formulations.registry import FORMULATIONS
from formulations.registry import formulation as formulation_named
from formulations.specification import specify
from ipforest.instance import PruningInstance
from ipforest.solvers.linear_program import LinearProgram
from proofs.unimodularity.network_certificate import NetworkCertificate

__all__ = ["formulation_matrix", "network_certificate", "programs_with_network", "relaxation"]


def network_certificate(instance: PruningInstance, formulation: str | Formulation) -> NetworkCertificate:
    """Build the certificate of a program's matrix, rows and columns in the order of `formulation_matrix`.

    Parameters
    ----------
    instance : PruningInstance
    formulation : str or Formulation
        One that has a network by construction, see `formulations.base.Formulation.network`.

    Returns
    -------
    NetworkCertificate
        Built without looking at any matrix; `.check(matrix)` compares.

    Raises
    ------
    ValueError
        The program has no network by construction, or cannot be stated for the instance.
    """
    program = formulation_named(formulation)
    program.check_instance(instance)
    network = program.network(instance)
    if network is None:
        raise ValueError(f"formulation: expected one with a network by construction, got {program}")
    return NetworkCertificate(network.parent, network.column_vertex, network.away, network.tail, network.head)


def programs_with_network(instance: PruningInstance) -> list[str]:
    """Return the registered formulations that can be stated for an instance and have a network by construction."""
    return [
        name
        for name, program in FORMULATIONS.items()
        if program.fits(instance) and program.network(instance) is not None
    ]


def relaxation(instance: PruningInstance, formulation: str | Formulation, lam: object = 1) -> LinearProgram:
    """Return a formulation's relaxation as arrays; lambda is left out, or a budget of 0 given, where it takes that."""
    program = formulation_named(formulation)
    numbers = program.numbers(0 if program.takes == "budget" else lam)
    return program.linear_program(specify(program, instance, **numbers, relaxed=True))


def formulation_matrix(instance: PruningInstance, formulation: str | Formulation) -> sparse.csr_array:
    """Return a program's constraint matrix in integers, without bounds: unit rows keep total unimodularity."""
    return sparse.csr_array(relaxation(instance, formulation).A.astype(np.int64))
