"""Hypothesis strategies that every test of mathematics shares."""

from fractions import Fraction

from hypothesis import strategies as st

from proofs.crosschecks.random_instances import draw_instance


@st.composite
def instances(draw: st.DrawFn, max_internal: int = 8):
    return draw_instance(lambda low, high: draw(st.integers(low, high)), max_internal)


lambdas = st.one_of(
    st.just(Fraction(0)),
    st.fractions(min_value=0, max_value=4, max_denominator=24),
    st.fractions(min_value=0, max_value=50, max_denominator=1000),
)
