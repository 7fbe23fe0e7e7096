"""What importing the checkers brings in."""

import subprocess
import sys

import pytest

import proofs

FORBIDDEN = ("numba", "highspy", "pyomo", "ortools", "networkx", "ipforest", "formulations")


@pytest.mark.parametrize(
    "module",
    [
        "proofs",
        "proofs.certificates.optimality",
        "proofs.certificates.pruning_file",
        "proofs.certificates.path_optimality",
        "proofs.certificates.path_file",
        "proofs.unimodularity.decomposition",
        "proofs.unimodularity.small_matrices",
        "proofs.exact",
        "proofs.verdict",
    ],
)
def test_checkers_import_no_solver(module):
    program = f"import sys, {module}; print([m for m in {FORBIDDEN!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_network_checker_imports_no_solver():
    module = "proofs.unimodularity.network_certificate"
    program = f"import sys, {module}; print([m for m in {FORBIDDEN[:4]!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_there():
    for name in proofs.__all__:
        assert getattr(proofs, name) is not None
    assert set(proofs.__all__) <= set(dir(proofs))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        proofs.nothing  # noqa: B018
