from fractions import Fraction

from hypothesis import given, settings
from reference import load_reference
from strategies import instances, lambdas

from ipforest import Status, solve
from proofs.certificates.optimality import verify_optimality
from proofs.crosschecks.brute_force import brute_force


@settings(max_examples=80, deadline=None)
@given(instances(), lambdas)
def test_minimum_cut_is_the_smallest_optimum_and_its_flow_proves_it(instance, lam):
    result, best = solve(instance, lam, "networkx"), brute_force(instance, lam)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == best.objective
    assert result.pruning == best.pruning
    verdict = verify_optimality(instance, result)
    assert verdict, str(verdict)


def test_capacities_beyond_64_bits_are_exact():
    instance = load_reference("figure_1_tree").instance
    lam = Fraction(10**30 + 1, 3 * 10**30)
    result = solve(instance, lam, "networkx")
    assert result.objective == result.bound == brute_force(instance, lam).objective
    assert result.flow is None
