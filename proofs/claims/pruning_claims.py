"""Claims of the two pruning papers, each examined by computation.

"Optimal pruning" is Nan, Wang, Saligrama, "Optimally Pruning Decision Tree Ensembles With Feature Cost"; "BudgetPrune"
is their "Pruning Random Forests for Prediction on a Budget" (NIPS 2016).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ipforest.datasets import load
from ipforest.ensemble.forest import Forest
from ipforest.instance import PruningInstance
from ipforest.path_search import prune_path
from ipforest.results import Pruning
from ipforest.solvers import MissingSolverError, solve
from ipforest.solvers.highs import run
from proofs.certificates.optimality import verify_optimality
from proofs.certificates.path_optimality import verify_path
from proofs.claims.claim import CERTIFICATE, COUNTEREXAMPLE, PROVED, Claim, Ruling, sample_of
from proofs.claims.machine_checked import BrokenProofError, CoqMissingError, compile_proof
from proofs.claims.paper_figures import NODES, figure_instance
from proofs.crosschecks.brute_force import prunings
from proofs.crosschecks.definition import lower_frontier
from proofs.crosschecks.random_instances import random_instance, random_lambda
from proofs.integrality.polytopes import budget_polytope, cost_row, error_row, polytope, value
from proofs.integrality.simplex import random_objectives, survey_vertices
from proofs.integrality.vertices import (
    Polytope,
    is_integral,
    kept_from_leaf_weights,
    leaf_weights_from_kept,
    round_by_threshold,
    vertices,
)
from proofs.unimodularity.counterexample import Counterexample
from proofs.unimodularity.formulation_networks import (
    formulation_matrix,
    network_certificate,
    programs_with_network,
    relaxation,
)
from proofs.unimodularity.network_form import compare_with_print, network_form
from proofs.unimodularity.small_matrices import by_colouring, by_eulerian_submatrices
from proofs.unimodularity.total_unimodularity import is_minimal, is_totally_unimodular

HALF = Fraction(1, 2)
PAPER_POINT = tuple(Fraction(number) for number in ("0", "1", "1/2", "1/2", "1/2", "1/2", "1/2"))
"""IP1's fractional point z = (0, 1, .5, .5, .5), w = (.5, .5) on tree 1 of Figure 1."""


def equality_constraints_are_networks(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Turn the figures' trees and random trees into network form, and check each."""
    checked = 0
    instances = [figure_instance(), *(random_instance(rng, 9) for _ in range(150))]
    for instance in instances:
        for tree in range(instance.n_trees):
            verdict = network_form(instance, tree).check()
            if not verdict:
                return Ruling.FALSE, verdict.reason
            checked += 1
    return Ruling.TRUE, (
        f"{checked} trees (two of the figures, the rest random): unimodular row operations leave one +1 and one -1 in "
        "every column"
    )


def paths_are_prunings(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Map every pruning of small trees to a source-sink path of the network, and count the paths."""
    trees = compared = 0
    for instance in [figure_instance(1), figure_instance(2), *(random_instance(rng, 5) for _ in range(60))]:
        if instance.n_trees > 1:
            continue
        form = network_form(instance, 0)
        trees += 1
        found = set()
        for pruning in prunings(instance):
            triples = np.repeat(pruning.kept, np.diff(instance.indptr))
            active = np.concatenate([instance.leaves(pruning), triples])
            found.add((tuple(form.path(active)), active.tobytes()))
        n_paths = _count_paths(form.arcs, form.network.shape[0])
        if len(found) != n_paths:
            return Ruling.FALSE, f"{len(found)} prunings, {n_paths} paths"
        compared += n_paths
    return Ruling.TRUE, f"{trees} trees: {compared} prunings are {compared} different paths, and there are no others"


def printed_matrix_of_tree_two(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compare the computed network matrix of tree 2 with the papers' text."""
    remarks = compare_with_print(network_form(figure_instance(), 1, NODES))
    if "differs" in remarks.values():
        return Ruling.INCONSISTENT, str(remarks)
    ruling = Ruling.TRUE if set(remarks.values()) == {"equal"} else Ruling.FALSE
    wrong = "; ".join(f"{name} {remark}" for name, remark in remarks.items() if remark != "equal")
    return ruling, (
        f"{list(remarks.values()).count('equal')} of 6 rows equal; {wrong}; r5-r6 itself is missing in the text, which "
        "may have lost what the page shows"
    )


def naive_formulation_has_a_fractional_vertex(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Check the papers' point, and enumerate every vertex of IP1 on tree 1."""
    relaxation = polytope(figure_instance(1), "ip1")
    points = vertices(relaxation)
    fractional = [point for point in points if not is_integral(point)]
    found = relaxation.is_vertex(PAPER_POINT) and PAPER_POINT in fractional
    return (Ruling.TRUE if found else Ruling.FALSE), (
        f"z = (0, 1, 1/2, 1/2, 1/2), w = (1/2, 1/2) is feasible and its active rows have rank 7; {len(fractional)} of "
        f"{len(points)} vertices are fractional"
    )


def naive_formulation_is_not_unimodular(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Exhibit the 3 x 3 minor of IP1 on tree 1, and let both tests find one."""
    relaxation = polytope(figure_instance(1), "ip1")
    minor = naive_minor(relaxation)
    searched = is_totally_unimodular(relaxation.matrix)
    found = bool(minor.check()) and isinstance(searched, Counterexample) and bool(searched.check())
    return (Ruling.TRUE if found else Ruling.FALSE), (
        f"rows z1+z3+z4 = 1, z4-w1 <= 0, z3-w1 <= 0 with columns z3, z4, w1 have determinant {minor.determinant}; "
        f"minimal: {is_minimal(minor)}"
    )


def naive_minor(relaxation: Polytope) -> Counterexample:
    """Pick the 3 x 3 submatrix (z1+z3+z4, z4-w1, z3-w1; z3, z4, w1) out of IP1's matrix on tree 1."""
    from proofs.exact import determinant

    matrix = np.array(relaxation.matrix, dtype=np.int64)
    wanted = ([1, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, -1, 0], [0, 0, 1, 0, 0, -1, 0])
    rows = tuple(int(np.flatnonzero((matrix == row).all(axis=1))[0]) for row in wanted)
    columns = (2, 3, 5)
    return Counterexample(matrix, rows, columns, determinant(matrix[np.ix_(rows, columns)].tolist()))


def naive_bound_is_weak(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compare IP1's and IP3's relaxed optima with the integer optimum, exactly, over random figure-like data."""
    instance = figure_instance()
    naive, strong = vertices(polytope(instance, "ip1")), vertices(polytope(instance, "compact"))
    solved = fractional = 0
    weakest = Fraction(1)
    for _ in range(200):
        errors, lam = _random_errors(rng, instance), Fraction(int(rng.integers(1, 30)), 10)
        weights = [Fraction(int(error)) for error in errors] + [lam] * instance.n_acquisitions
        best_naive = min(_inner(weights, point) for point in naive)
        best_strong = min(_inner(weights, point) for point in strong)
        best_whole = min(_inner(weights, point) for point in strong if is_integral(point))
        if best_strong != best_whole or best_naive > best_whole:
            return Ruling.FALSE, f"IP3's relaxation gives {best_strong}, the integer optimum is {best_whole}"
        solved += 1
        fractional += best_naive < best_whole
        if best_whole:
            weakest = min(weakest, best_naive / best_whole)
    return (Ruling.TRUE if fractional else Ruling.FALSE), (
        f"both figure trees, {solved} random errors and lambdas: IP1's bound is below the optimum in {fractional}, "
        f"down to {float(weakest):.3f} of it; IP3's is never below"
    )


def naive_bound_on_a_forest(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Solve IP1's relaxation on a fitted forest over a grid of lambdas; compare with the proven optimum."""
    instance = fitted_instance(int(rng.integers(1 << 31)))
    lams = ("1/10000", "1/1000", "3/1000", "1/100", "3/100", "1/10", "3/10")
    ratios, fractional = [], 0
    for lam in lams:
        problem = relaxation(instance, "ip1", lam)
        try:
            solution = run(problem)
        except MissingSolverError as missing:
            return Ruling.NOT_RUN, str(missing)
        if solution.values is None:
            return Ruling.INCONSISTENT, f"no optimum at lambda {lam}"
        fractional += bool(np.abs(solution.values - np.rint(solution.values)).max() > 1e-6)
        unit = instance.error_unit / instance.scaled_lambda(lam)[1]
        ratios.append(float(solution.objective * float(unit) / solve(instance, lam).objective))
    weak = min(ratios) < 1 - 1e-6
    return (Ruling.TRUE if weak and fractional else Ruling.FALSE), (
        f"5 trees of depth 5 on breast_cancer, {problem.n_columns} variables: fractional at {fractional} of "
        f"{len(lams)} lambdas; bound / optimum between {min(ratios):.3f} and {max(ratios):.3f}"
    )


def simplex_vertices_are_integral(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Minimise random objectives over relaxations of a fitted forest by simplex."""
    instance = fitted_instance(int(rng.integers(1 << 31)))
    surveys = []
    for name in ("ip0", "ip3", "compact", "closure"):
        problem = relaxation(instance, name)
        try:
            surveys.append(survey_vertices(problem, name, random_objectives(rng, problem.n_columns, 25)))
        except MissingSolverError as missing:
            return Ruling.NOT_RUN, str(missing)
    ruling = Ruling.TRUE if not any(survey.fractional for survey in surveys) else Ruling.FALSE
    sizes = ", ".join(f"{survey.formulation} {survey.rows} x {survey.columns}" for survey in surveys)
    visited = sum(survey.visited for survey in surveys)
    fractional = sum(survey.fractional for survey in surveys)
    return ruling, f"{sizes}: {visited} random objectives, {fractional} fractional vertices"


def fitted_instance(seed: int, n_trees: int = 5, depth: int = 5, n_examples: int = 40) -> PruningInstance:
    """Fit a small random forest on breast_cancer and price further examples of it."""
    from sklearn.ensemble import RandomForestClassifier

    data = load("breast_cancer")
    order = np.random.default_rng(seed).permutation(data.y.size)
    fitting, pricing = order[:300], order[300 : 300 + n_examples]
    model = RandomForestClassifier(n_trees, max_depth=depth, random_state=seed).fit(data.X[fitting], data.y[fitting])
    return PruningInstance.from_forest(Forest.from_sklearn(model), data.X[pricing], data.costs)


def flows_prove_optimality(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Verify min cuts with the checker, on random instances against all prunings and on a fitted forest."""
    verified = 0
    for _ in range(100):
        instance = random_instance(rng, 6)
        lam = random_lambda(rng)
        result = solve(instance, lam)
        verdict = verify_optimality(instance, result)
        if not verdict or result.objective != min(instance.objective(pruning, lam) for pruning in prunings(instance)):
            return Ruling.FALSE, verdict.reason
        verified += 1
    forest = fitted_instance(int(rng.integers(1 << 31)), 20, 8, 200)
    for lam in (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10)):
        verdict = verify_optimality(forest, solve(forest, lam))
        if not verdict:
            return Ruling.FALSE, verdict.reason
        verified += 1
    return Ruling.TRUE, (
        f"{verified} prunings verified by integer flows without a solver, 100 of them also against all prunings; "
        f"largest instance {forest.n_triples} triples"
    )


def paths_prove_every_lambda(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Verify whole paths by one flow each, and compare the small ones with all prunings at every breakpoint."""
    breakpoints = compared = 0
    for number in range(60):
        instance = fitted_instance(int(rng.integers(1 << 31)), 20, 8, 200) if number == 0 else random_instance(rng, 7)
        path = prune_path(instance)
        verdict = verify_path(instance, path)
        if not verdict:
            return Ruling.FALSE, verdict.reason
        breakpoints += len(path.breakpoints)
        if number == 0:
            continue
        every = [instance.evaluate(pruning) for pruning in prunings(instance)]
        for lam, error, cost in zip(path.breakpoints, path.errors, path.costs, strict=False):
            compared += 1
            if error + lam * cost != min(other + lam * price for other, price in every):
                return Ruling.FALSE, f"at breakpoint {lam} another pruning is better"
    return Ruling.TRUE, (
        f"60 paths with {breakpoints} breakpoints, each proved by one flow in linear time; {compared} breakpoints also "
        "compared with all prunings"
    )


def the_theorem_is_machine_checked(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compile the Coq proofs and ask what their theorems assume."""
    try:
        proof = compile_proof()
    except CoqMissingError as missing:
        return Ruling.NOT_RUN, str(missing)
    except BrokenProofError as broken:
        return Ruling.INCONSISTENT, str(broken)
    return (Ruling.TRUE if proof.closed else Ruling.INCONSISTENT), f"{proof}: {', '.join(proof.theorems)}"


def programs_are_totally_unimodular(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Check network certificates against the matrices, and both exact tests on the small ones."""
    certified = tested = 0
    programs: dict[str, None] = {}
    for _ in range(60):
        instance = random_instance(rng, 5)
        for name in programs_with_network(instance):
            programs.setdefault(name)
            matrix = formulation_matrix(instance, name)
            verdict = network_certificate(instance, name).check(matrix)
            if not verdict:
                return Ruling.FALSE, f"{name}: {verdict.reason}"
            certified += 1
            if min(matrix.shape) <= 9:
                dense = matrix.toarray()
                if not (by_colouring(dense) and by_eulerian_submatrices(dense)):
                    return Ruling.FALSE, f"{name}: not totally unimodular: {dense.tolist()}"
                tested += 1
    wide = _wide_instance(rng, n_nodes=4000, n_examples=150_000)
    matrix = formulation_matrix(wide, "ip3")
    verdict = network_certificate(wide, "ip3").check(matrix)
    if not verdict:
        return Ruling.FALSE, verdict.reason
    return Ruling.TRUE, (
        f"{certified} network certificates of {', '.join(programs)} accepted, {tested} small matrices confirmed by "
        f"two independent exact tests; IP3 with {matrix.shape[0]} rows certified"
    )


def printed_partition_fails(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Apply the printed rule (J1 and odd rows of J2 against even rows of J2) to every set of rows of IP3 on tree 1.

    J1 is taken as the papers take it: in the network form of Lemma 3.1 / 4.1.
    """
    instance = figure_instance(1)
    network = network_form(instance, 0).network
    coupling = formulation_matrix(instance, "ip3").toarray()[instance.n_leaves + instance.n_triples :]
    padding = np.zeros((network.shape[0], instance.n_acquisitions), dtype=np.int64)
    matrix = np.vstack([np.hstack([network, padding]), coupling])
    m, first_coupling = matrix.shape[0], network.shape[0]
    colour = np.ones(m, dtype=np.int64)
    colour[first_coupling + 1 :: 2] = -1
    sets = (np.arange(1, 1 << m)[:, None] >> np.arange(m)) & 1
    failing = int((np.abs((sets * colour) @ matrix).max(axis=1) > 1).sum())
    own_column = instance.n_nodes
    chosen = [int(np.argmax(network[:, own_column])), first_coupling]
    printed = int(colour[chosen] @ matrix[chosen, own_column])
    opposite = int(np.abs(np.array([1, -1]) @ matrix[chosen]).max())
    found = printed == 2 and opposite == 1 and bool(by_colouring(matrix))
    return (Ruling.REPAIRED if found else Ruling.INCONSISTENT), (
        f"the rule fails for {failing} of the {len(sets)} sets of rows on tree 1: for J1's row with +1 in the column "
        f"of w^(t), and that variable's first row of J2, the column sums to {printed}; opposite colours do, and every "
        "set has some colouring. A network certificate, rows as paths in one tree, proves the theorem for all forests"
    )


def all_vertices_are_integral(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Enumerate every vertex of small relaxations exactly."""
    polytopes = found = 0
    instances = [figure_instance(1), figure_instance(2), figure_instance()]
    instances += [random_instance(rng, 4) for _ in range(25)]
    for instance in instances:
        if instance.n_nodes + instance.n_triples + instance.n_acquisitions > 22:
            continue
        for name in ("ip3", "compact", "closure"):
            points = vertices(polytope(instance, name))
            polytopes += 1
            found += len(points)
            fractional = next((point for point in points if not is_integral(point)), None)
            if fractional is not None:
                return Ruling.FALSE, f"{name} has the vertex {[str(number) for number in fractional]}"
    return Ruling.TRUE, f"{polytopes} polytopes of IP3, compact and closure: all {found} vertices are integral"


def exact_forms_agree(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Compare the optima of the relaxations of IP3, compact and closure with the best pruning of all."""
    compared = 0
    for _ in range(25):
        instance = random_instance(rng, 4)
        if instance.n_nodes + instance.n_triples + instance.n_acquisitions > 22:
            continue
        points = {name: vertices(polytope(instance, name)) for name in ("ip3", "compact", "closure")}
        for _ in range(4):
            lam = random_lambda(rng)
            best = min(instance.objective(pruning, lam) for pruning in prunings(instance))
            for name, corners in points.items():
                optimum = min(_objective(instance, name, lam, point) for point in corners)
                if optimum != best:
                    return Ruling.FALSE, f"{name} gives {optimum}, the best pruning {best}"
                compared += 1
    return Ruling.TRUE, f"{compared} relaxed optima equal the best of all prunings as fractions"


def ties_have_fractional_optima(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Average two optimal prunings of tree 1 at a breakpoint: optimal, feasible, fractional."""
    instance = figure_instance(1)
    for first in prunings(instance):
        for second in prunings(instance):
            gap = instance.integer_error(second) - instance.integer_error(first)
            price = instance.integer_cost(first) - instance.integer_cost(second)
            if gap <= 0 or price <= 0:
                continue
            lam = Fraction(gap, price) * instance.error_unit / instance.cost_unit
            best = min(instance.objective(pruning, lam) for pruning in prunings(instance))
            if instance.objective(first, lam) != best:
                continue
            relaxation = polytope(instance, "ip3")
            ends = [_point(instance, pruning) for pruning in (first, second)]
            middle = [(a + b) / 2 for a, b in zip(*ends, strict=True)]
            worth = _objective(instance, "ip3", lam, middle)
            optimal = relaxation.contains(middle) and worth == best
            if optimal and not is_integral(middle) and not relaxation.is_vertex(middle):
                return Ruling.FALSE, (
                    f"tree 1 at lambda = {lam}: prunings with {first.n_kept} and {second.n_kept} kept nodes tie, and "
                    f"their average (1/2 in {sum(number == HALF for number in middle)} coordinates) is optimal too, "
                    "though no vertex; BudgetPrune's Theorem 3.2 says 'has integral optimal solutions', which is true"
                )
    return Ruling.TRUE, "no tie found"


def thresholds_round_fractional_points(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Round random feasible fractional points of the closure form by their best threshold."""
    rounded = better = 0
    for _ in range(200):
        instance = random_instance(rng, 8)
        lam = random_lambda(rng)
        x, w = random_fractional_point(rng, instance)
        result = round_by_threshold(instance, lam, x, w)
        rounded += 1
        better += result.objective < result.fractional_objective
        if leaf_weights_from_kept(instance, x) and kept_from_leaf_weights(
            instance, leaf_weights_from_kept(instance, x)
        ) != list(x):
            return Ruling.FALSE, "z and x do not translate into each other"
    return (
        Ruling.TRUE,
        f"{rounded} random feasible points: a threshold is always at least as good, {better} times better",
    )


def random_fractional_point(
    rng: np.random.Generator, instance: PruningInstance
) -> tuple[list[Fraction], list[Fraction]]:
    """Draw a feasible fractional point (x, w) of the closure form."""
    x: list[Fraction] = []
    for above in instance.parent:
        limit = x[int(above)] if above >= 0 else Fraction(1)
        x.append(limit * Fraction(int(rng.integers(0, 5)), 4))
    w = [Fraction(0)] * instance.n_acquisitions
    for node, acquisition in zip(instance.triple_node, instance.indices, strict=True):
        w[int(acquisition)] = max(w[int(acquisition)], x[int(node)])
    return x, [number + (1 - number) * Fraction(int(rng.integers(0, 3)), 6) for number in w]


def budget_relaxation_between_breakpoints(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Solve LP1 exactly at and between the breakpoints, and compare with the best pruning within the budget."""
    at = between = weaker = mixed = 0
    example = ""
    tree_one = figure_instance(1)
    for instance in [tree_one, *(random_instance(rng, 5) for _ in range(40))]:
        if instance.n_internal + instance.n_acquisitions > 11:
            continue
        every = [instance.evaluate(pruning) for pruning in prunings(instance)]
        frontier = lower_frontier(every)
        for cost, error in frontier:
            at += 1
            if solve_budget_exactly(instance, cost)[0] != error:
                return Ruling.INCONSISTENT, f"at the breakpoint cost {cost} the relaxation is below the best pruning"
        for (low, expensive), (high, cheap) in pairwise(frontier):
            budget = (low + high) / 2
            relaxed, points = solve_budget_exactly(instance, budget)
            whole = min(error for error, cost in every if cost <= budget)
            if relaxed != (expensive + cheap) / 2:
                return Ruling.INCONSISTENT, f"the relaxation at budget {budget} is {relaxed}, not the mixture"
            between += 1
            mixed += all(len({number for number in point if 0 < number < 1}) <= 1 for point in points)
            if relaxed < whole:
                weaker += 1
                if instance is tree_one:
                    corner = ", ".join(str(number) for number in points[0])
                    found = f"LP1 has error {relaxed} at (x, w) = ({corner}), the best pruning {whole}"
                    example = example or f"on tree 1 with budget {budget} {found}"
    return (Ruling.FALSE if weaker else Ruling.TRUE), (
        f"exact at all {at} breakpoint budgets; at {between} budgets between them LP1 mixes two prunings ({mixed} "
        f"times nested ones at every optimal vertex) and is below the best pruning in {weaker}: {example}"
    )


def solve_budget_exactly(instance: PruningInstance, budget: Fraction) -> tuple[Fraction, list[tuple[Fraction, ...]]]:
    """Return LP1's optimal error and all its optimal vertices, by enumeration in the closure form."""
    row = error_row(instance, "closure")
    points = vertices(budget_polytope(instance, "closure", budget))
    worth = [instance.error_unit * value(row, point) for point in points]
    best = min(worth)
    return best, [point for point, error in zip(points, worth, strict=True) if error == best]


def budget_row_destroys_unimodularity(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Exhibit a violating submatrix and a fractional vertex of LP1 on tree 1 with unit costs."""
    instance = figure_instance(1)
    without = is_totally_unimodular(polytope(instance, "compact").matrix)
    relaxation = budget_polytope(instance, "compact", Fraction(1, 2))
    answer = is_totally_unimodular(relaxation.matrix)
    fractional = [point for point in vertices(relaxation) if not is_integral(point)]
    found = bool(without) and isinstance(answer, Counterexample) and bool(answer.check()) and bool(fractional)
    if not isinstance(answer, Counterexample):
        return Ruling.TRUE, "the matrix stays totally unimodular"
    names = ", ".join(relaxation.names[column] for column in answer.columns)
    return (Ruling.TRUE if found else Ruling.FALSE), (
        f"tree 1, unit costs: rows {list(answer.rows)} (the last is the budget), columns {names}: determinant "
        f"{answer.determinant}; {len(fractional)} fractional vertices at budget 1/2"
    )


def counts_are_bounded(rng: np.random.Generator) -> tuple[Ruling, str]:
    """Count IP3's variables and constraints, and compare with the stated bounds."""
    compared = 0
    for instance in [figure_instance(), *(random_instance(rng, 9) for _ in range(200))]:
        trees, units, examples = instance.n_trees, instance.n_units, instance.n_examples
        most_nodes = int(np.diff(instance.tree_offsets).max())
        is_leaf = np.ones(instance.n_nodes, dtype=np.int64)
        is_leaf[instance.internal_nodes] = 0
        most_leaves = int(np.add.reduceat(is_leaf, instance.tree_offsets[:-1]).max())
        most_used = _most_units_on_a_path(instance)
        rows, columns = formulation_matrix(instance, "ip3").shape
        variables = trees * most_nodes + examples * trees * most_used + examples * min(trees * most_used, units)
        constraints = trees * most_leaves + 2 * examples * trees * most_used
        if columns > variables or rows > constraints:
            return Ruling.FALSE, f"{columns} > {variables} variables or {rows} > {constraints} constraints"
        compared += 1
    rows, columns = formulation_matrix(figure_instance(1), "ip3").shape
    return Ruling.TRUE, (
        f"{compared} instances within T|T_max| + N T K_max + N min(T K_max, K) variables and T|leaves_max| + "
        f"2 N T K_max constraints; tree 1 reaches both: {columns} and {rows}"
    )


def _most_units_on_a_path(instance: PruningInstance) -> int:
    pairs = np.stack([instance.triple_tree, instance.acquisition_example[instance.indices]])
    return int(np.unique(pairs, axis=1, return_counts=True)[1].max(initial=0))


def _random_errors(rng: np.random.Generator, instance: PruningInstance) -> NDArray[np.int64]:
    """Draw errors that fall from a node to its children in sum."""
    errors = rng.integers(0, 4, size=instance.n_nodes)
    for node in range(instance.n_nodes - 1, -1, -1):
        children = np.flatnonzero(instance.node_parent == node)
        if children.size:
            errors[node] = errors[children].sum() + rng.integers(0, 4)
    return errors


def _wide_instance(rng: np.random.Generator, n_nodes: int, n_examples: int) -> PruningInstance:
    """Build one tree of random shape whose examples follow random ways and need a new unit at every second node."""
    parent = np.full(n_nodes, -1, dtype=np.int64)
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    leaves = [0]
    for node in range(1, n_nodes - 1, 2):
        above = leaves.pop(int(rng.integers(len(leaves))))
        parent[node : node + 2] = above
        children[above] = [node, node + 1]
        leaves += [node, node + 1]
    size = n_nodes - 1 if n_nodes % 2 == 0 else n_nodes
    internal = [node for node in range(size) if children[node]]
    left = np.array([children[node][0] if children[node] else node for node in range(size)])
    right = np.array([children[node][1] if children[node] else node for node in range(size)])
    depth = np.zeros(size, dtype=np.int64)
    for node in range(1, size):
        depth[node] = depth[parent[node]] + 1
    number = np.full(size, -1, dtype=np.int64)
    number[internal] = np.arange(len(internal))
    place = np.zeros(n_examples, dtype=np.int64)
    used_node: list[NDArray[np.int64]] = []
    used_example: list[NDArray[np.int64]] = []
    while (number[place] >= 0).any():
        going = np.flatnonzero((number[place] >= 0) & (depth[place] % 2 == 0)).astype(np.int64)
        used_node.append(number[place[going]])
        used_example.append(going)
        place = np.where(rng.integers(2, size=n_examples) == 1, right[place], left[place])
    nodes, examples = np.concatenate(used_node), np.concatenate(used_example)
    units = depth[np.array(internal)][nodes] // 2
    order = np.lexsort((examples, nodes))
    return PruningInstance(
        tree_offsets=np.array([0, size]),
        node_parent=parent[:size].astype(np.int32),
        errors=np.zeros(size, dtype=np.int64),
        indptr=np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=len(internal)))]),
        indices=np.arange(nodes.size, dtype=np.int32),
        acquisition_unit=units[order].astype(np.int32),
        acquisition_example=examples[order].astype(np.int32),
        acquisition_cost=np.ones(nodes.size, dtype=np.int64),
        split_cost=np.zeros(len(internal), dtype=np.int64),
        error_unit=Fraction(1),
        cost_unit=Fraction(1, n_examples),
        n_units=int(units.max()) + 1,
        n_examples=n_examples,
    )


def _count_paths(arcs: list[tuple[int, int]], last: int) -> int:
    """Count the paths from vertex 1 to the last: every arc leads to a later vertex."""
    ways = [0, 1] + [0] * (last - 1)
    for tail, head in sorted(arcs):
        ways[head] += ways[tail]
    return ways[last]


def _point(instance: PruningInstance, pruning: Pruning) -> list[Fraction]:
    """Write a pruning as a point of IP3: z, w^(t), w."""
    parts = (instance.leaves(pruning), pruning.kept[instance.triple_node], instance.acquired(pruning))
    return [Fraction(int(number)) for part in parts for number in part]


def _objective(
    instance: PruningInstance, name: str, lam: Fraction, point: list[Fraction] | tuple[Fraction, ...]
) -> Fraction:
    error = instance.error_unit * value(error_row(instance, name), point)
    return error + lam * instance.cost_unit * value(cost_row(instance, name), point)


def _inner(weights: list[Fraction], point: tuple[Fraction, ...]) -> Fraction:
    return sum((a * b for a, b in zip(weights, point, strict=True)), Fraction(0))


LEMMA = "Lemma 3.1 (BudgetPrune), Lemma 4.1 (optimal pruning)"
THEOREM = "Theorem 3.2 (BudgetPrune), Theorem 4.2 (optimal pruning)"

CLAIMS = [
    Claim(
        "each tree's equality constraints have a network form",
        LEMMA,
        Ruling.TRUE,
        equality_constraints_are_networks,
        sample_of(302),
    ),
    Claim(
        "each source-sink path of that network is a feasible pruning",
        "BudgetPrune, appendix 6.2, Figure 3",
        Ruling.TRUE,
        paths_are_prunings,
        sample_of(62),
    ),
    Claim(
        "the network matrix of tree 2, as the text extracted from the PDFs has it",
        "optimal pruning, after Lemma 4.1; BudgetPrune, appendix 6.2",
        Ruling.FALSE,
        printed_matrix_of_tree_two,
        COUNTEREXAMPLE,
    ),
    Claim(
        "IP1's relaxation has a fractional vertex",
        "optimal pruning, section 4; BudgetPrune, appendix 6.1",
        Ruling.TRUE,
        naive_formulation_has_a_fractional_vertex,
        COUNTEREXAMPLE,
    ),
    Claim(
        "IP1 is not totally unimodular",
        "implied there",
        Ruling.TRUE,
        naive_formulation_is_not_unimodular,
        COUNTEREXAMPLE,
    ),
    Claim(
        "IP1's relaxation is too weak to prune by", "implied there", Ruling.TRUE, naive_bound_is_weak, sample_of(200)
    ),
    Claim(
        "IP1's relaxation is weak on a trained forest too",
        "implied there",
        Ruling.TRUE,
        naive_bound_on_a_forest,
        sample_of(1),
    ),
    Claim(
        "IP3's constraint matrix is totally unimodular",
        THEOREM,
        Ruling.TRUE,
        programs_are_totally_unimodular,
        CERTIFICATE,
    ),
    Claim(
        "proof: J1 and the odd rows of J2 against the even rows of J2",
        THEOREM,
        Ruling.REPAIRED,
        printed_partition_fails,
        COUNTEREXAMPLE,
    ),
    Claim("the relaxation's vertices are integral", THEOREM, Ruling.TRUE, all_vertices_are_integral, sample_of(28)),
    Claim("simplex ends in integral vertices", THEOREM, Ruling.TRUE, simplex_vertices_are_integral, sample_of(100)),
    Claim(
        "the relaxation solves the integer program (and so do its compact and closure forms)",
        THEOREM,
        Ruling.TRUE,
        exact_forms_agree,
        sample_of(25),
    ),
    Claim(
        "the relaxation has only integral optimal solutions",
        "optimal pruning, Theorem 4.2",
        Ruling.FALSE,
        ties_have_fractional_optima,
        COUNTEREXAMPLE,
    ),
    Claim(
        "any fractional point has a threshold that rounds it to one at least as good",
        "an elementary proof of Theorem 3.2 / 4.2",
        Ruling.TRUE,
        thresholds_round_fractional_points,
        sample_of(200),
    ),
    Claim(
        "one s-t minimum cut prunes the whole forest optimally, and its flow proves it",
        "this project (closure form of IP3)",
        Ruling.TRUE,
        flows_prove_optimality,
        CERTIFICATE,
    ),
    Claim(
        "optimal prunings are nested in lambda, and one flow proves the whole path",
        "this project",
        Ruling.TRUE,
        paths_prove_every_lambda,
        CERTIFICATE,
    ),
    Claim(
        "integrality, total unimodularity, strong duality, and where Corollary 4.3 holds, for every forest, in Coq",
        THEOREM,
        Ruling.TRUE,
        the_theorem_is_machine_checked,
        PROVED,
    ),
    Claim(
        "the relaxation gives an optimally pruned forest for any budget",
        "optimal pruning, Corollary 4.3",
        Ruling.FALSE,
        budget_relaxation_between_breakpoints,
        COUNTEREXAMPLE,
    ),
    Claim(
        "LP1's budget row destroys total unimodularity",
        "why Corollary 4.3 needs its breakpoint",
        Ruling.TRUE,
        budget_row_destroys_unimodularity,
        COUNTEREXAMPLE,
    ),
    Claim(
        "numbers of variables and constraints of IP3",
        "optimal pruning, section 4, Complexity",
        Ruling.TRUE,
        counts_are_bounded,
        sample_of(201),
    ),
]
