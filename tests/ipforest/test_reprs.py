"""What a user sees who types a name."""

from fitted_forests import N_FEATURES, examples
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetPrune, report
from ipforest.rules import read_rules
from ipforest.solvers import SOLVERS

X, LABELS, _ = examples(120, seed=3)


def test_objects_are_written_in_a_line():
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    model = BudgetPrune(forest, feature_costs=[20000] * N_FEATURES, random_state=0).fit(X, LABELS)
    frontier = model.frontier_
    costs = f"{frontier.cost.min():.0f} to {frontier.cost.max():.0f}"
    assert repr(frontier).startswith(f"Frontier({len(frontier.cost)} models, cost {costs}, loss 0.")
    assert repr(report(model, X, LABELS, n_resamples=2)).startswith("Report('BudgetPrune at no budget', ")
    rules = read_rules(model, X, LABELS)
    assert repr(rules) == f"Rules({len(rules.ends)} ends, 120 examples)"
    assert repr(SOLVERS).startswith("<ipforest.solvers.SOLVERS: min-cut, ")


def test_a_session_tells_where_it_stands():
    model = BudgetPrune(RandomForestClassifier(3, random_state=0), random_state=0).fit(X, LABELS)
    session = model.session()
    assert repr(session) == f"Session(paid 0, wants {session.next_unit})"
    while session.next_unit is not None:
        session.tell(X[0, session.next_unit.features[0]])
    assert repr(session) == f"Session(paid {session.paid:.0f}, answers {session.answer})"
