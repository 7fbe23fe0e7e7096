"""The matrices of Python's instances are the matrix of the theorem, entry by entry and label by label; Coq compares."""

import subprocess
from pathlib import Path
from shutil import copy, which

import numpy as np
import pytest

import formulations
from proofs.claims.paper_figures import figure_instance
from proofs.coq_terms import HEADER, same_matrix
from proofs.crosschecks.random_instances import random_instance
from tests.proofs.coq.test_coq import SOURCES

NEEDED = ("forest.v", "program.v", "unimodularity.v")


def claim(instance, number, change=None):
    """State what Pyomo builds; `change` makes it another matrix."""
    problem = formulations.matrix(formulations.build("ip3", instance, lam=1))
    expected = {"one_leaf_per_path": ("==", 1), "usage_in_tree": ("==", 1), "usage_anywhere": ("<=", 0)}
    for label, sense, right in zip(problem.row_labels, problem.senses, problem.rhs, strict=True):
        assert ("==" if sense == "=" else sense, right) == expected[label.split("[")[0]]
    matrix = problem.A.toarray().astype(int)
    rows = list(problem.row_labels)
    if change is not None:
        change(matrix, rows)
    return same_matrix(instance, matrix.tolist(), rows, problem.column_labels, number)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile the theorem's files once."""
    if which("coqc") is None:
        pytest.skip("coqc is not installed")
    folder = tmp_path_factory.mktemp("coq")
    for name in NEEDED:
        copy(SOURCES / name, folder)
        done = subprocess.run(["coqc", "-q", "-R", ".", "IpForest", name], cwd=folder, capture_output=True, text=True)
        if "mathcomp" in done.stderr and "physical path" in done.stderr:
            pytest.skip("Mathematical Components is not installed")
        assert done.returncode == 0, done.stderr
    return folder


def coq_accepts(folder: Path, claims: list[str]) -> bool:
    (folder / "exported.v").write_text(HEADER + "".join(claims))
    done = subprocess.run(["coqc", "-q", "-R", ".", "IpForest", "exported.v"], cwd=folder, capture_output=True)
    return done.returncode == 0


@pytest.mark.slow
def test_exported_instances_have_the_matrix_of_the_theorem(compiled):
    rng = np.random.default_rng(83)
    instances = [figure_instance(), *(random_instance(rng, 6) for _ in range(5))]
    assert {instance.n_trees for instance in instances} >= {1, 2, 3}
    assert coq_accepts(compiled, [claim(instance, number) for number, instance in enumerate(instances)])


def other_entry(matrix, rows):
    matrix[-1, np.flatnonzero(matrix[-1] == 0)[0]] = 1


def other_sign(matrix, rows):
    matrix[-1, np.flatnonzero(matrix[-1])[-1]] *= -1


def rows_exchanged(matrix, rows):
    matrix[[0, 1]] = matrix[[1, 0]]


def row_left_out(matrix, rows):
    rows[1] = rows[0]


@pytest.mark.slow
@pytest.mark.parametrize("change", [other_entry, other_sign, rows_exchanged, row_left_out])
def test_another_matrix_is_not_that_of_the_theorem(change, compiled):
    assert not coq_accepts(compiled, [claim(figure_instance(), 0, change)])


def test_a_label_that_ip3_does_not_have_is_named():
    with pytest.raises(ValueError, match=r"label: expected one of z, w_tree, w with indices, got 'x\[0\]'"):
        same_matrix(figure_instance(), [], [], ["x[0]"])
