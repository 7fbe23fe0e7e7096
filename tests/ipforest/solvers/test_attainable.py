"""The values that errors and objectives can have, against those of all prunings."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances

from ipforest.solvers.attainable import Attainable
from proofs.crosschecks.brute_force import prunings


@settings(max_examples=100, deadline=None)
@given(instance=instances(), p=st.integers(0, 6), q=st.integers(1, 6), bound=st.fractions(0, 60, max_denominator=7))
def test_no_pruning_lies_between_a_bound_and_what_it_is_raised_to(instance, p, q, bound):
    objectives = Attainable.objectives(instance, p, q)
    errors = Attainable.errors(instance)
    for pruning in prunings(instance):
        error, cost = instance.integer_error(pruning), instance.integer_cost(pruning)
        for attainable, value in ((errors, error), (objectives, q * error + p * cost)):
            if value >= bound:
                assert value >= attainable.at_least(bound)
            assert attainable.at_least(value) == value
            if value < objectives.start:
                assert value <= attainable.below(objectives.start)


def test_steps():
    assert [Attainable(7, 3).at_least(bound) for bound in (Fraction(7, 2), 4, Fraction(9, 2), 8)] == [4, 4, 7, 10]
    assert [Attainable(7, 3).below(value) for value in (4, 5, 7, 8)] == [1, 4, 4, 7]
    assert (Attainable(7, 0).at_least(3), Attainable(7, 0).below(7)) == (7, 6)
