"""The matrices that Pyomo builds are the ones the certificates are about."""

import numpy as np
import pytest

import formulations
from formulations import FORMULATIONS
from formulations.arrays import linear_program
from formulations.specification import specify
from proofs.claims.pruning_claims import fitted_instance
from proofs.crosschecks.random_instances import random_instance
from proofs.integrality.polytopes import budget_polytope, polytope, row_names, variable_names
from proofs.integrality.simplex import random_objectives, survey_vertices
from proofs.unimodularity.formulation_networks import formulation_matrix, network_certificate, relaxation

WITH_NETWORK = [name for name, program in FORMULATIONS.items() if program.integral]
SENSES = {"<=": "<=", ">=": ">=", "=": "=="}


def random_instances(name, count):
    rng = np.random.default_rng(81)
    found = []
    while len(found) < count:
        instance = random_instance(rng, 6)
        if name != "ip2" or instance.n_trees == 1:
            found.append(instance)
    return found


def in_order(problem, rows, columns):
    """Bring a program's matrix, senses and right-hand side into the order of some labels, which must be its own."""
    assert sorted(rows) == sorted(problem.row_labels)
    assert sorted(columns) == sorted(problem.column_labels)
    at_row = [problem.row_labels.index(label) for label in rows]
    at_column = [problem.column_labels.index(label) for label in columns]
    matrix = problem.A.toarray()[np.ix_(at_row, at_column)]
    return matrix, [problem.senses.tolist()[row] for row in at_row], problem.rhs[at_row].tolist()


@pytest.mark.parametrize("name", WITH_NETWORK)
def test_certificates_fit_the_pyomo_matrices_label_by_label(name):
    for instance in random_instances(name, 12):
        problem = formulations.matrix(formulations.build(name, instance, lam=None if name == "ip0" else 1))
        matrix, senses, right = in_order(problem, row_names(instance, name), variable_names(instance, name))
        verdict = network_certificate(instance, name).check(matrix)
        assert verdict, verdict
        written = polytope(instance, name)
        assert written.matrix == matrix.tolist()
        assert [SENSES[sense] for sense in written.senses] == senses
        assert list(written.right) == right


def test_ip1_is_the_same_program_row_by_row():
    for instance in random_instances("ip1", 12):
        problem = formulations.matrix(formulations.build("ip1", instance, lam=1))
        written = polytope(instance, "ip1")
        matrix, senses, right = in_order(problem, problem.row_labels, written.names)
        assert {signed(*row) for row in zip(written.matrix, written.senses, written.right, strict=True)} == {
            signed(*row) for row in zip(matrix.tolist(), senses, right, strict=True)
        }


def signed(row, sense, right):
    """Write a row with "<=" or "=", so that two ways of writing it agree."""
    flip = -1 if sense == ">=" else 1
    return tuple(int(flip * entry) for entry in row), "=" if sense in ("=", "==") else "<=", int(flip * right)


def test_lp1_is_ip3_with_a_budget_row():
    for instance in random_instances("lp1", 12):
        problem = formulations.matrix(formulations.build("lp1", instance, budget=2, relaxed=True))
        written = budget_polytope(instance, "ip3", 2)
        rows = (*row_names(instance, "ip3"), *set(problem.row_labels) - set(row_names(instance, "ip3")))
        matrix, _, right = in_order(problem, rows, written.names)
        assert np.array_equal(np.array(written.matrix), matrix)
        assert [float(bound) for bound in written.right] == right


@pytest.mark.parametrize("name", ["ip0", "ip3", "compact", "closure"])
def test_a_fitted_forest_has_its_certificates(name):
    instance = fitted_instance(3, n_trees=20, depth=8, n_examples=200)
    arrays = linear_program(specify(name, instance, lam=None if name == "ip0" else 1)).A
    assert network_certificate(instance, name).check(arrays)
    assert (formulation_matrix(instance, name) != arrays).nnz == 0


def test_simplex_visits_integral_vertices():
    rng = np.random.default_rng(82)
    instance = fitted_instance(4, n_trees=3, depth=4, n_examples=15)
    for name in ("ip3", "compact", "closure"):
        problem = relaxation(instance, name)
        survey = survey_vertices(problem, name, random_objectives(rng, problem.n_columns, 5))
        assert (survey.visited, survey.fractional) == (5, 0)
