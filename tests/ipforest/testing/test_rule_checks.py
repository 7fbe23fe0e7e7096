"""All stopping rules pass their checks; rules that are wrong in one way fail the check of that name."""

from dataclasses import dataclass, field
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ipforest.stopping import CertifiedStopping, OptimalStopping, ThresholdStopping
from ipforest.testing import check_stopping_rule, rule_checks

OTHERS = (OptimalStopping(4, 5, monotone=False), OptimalStopping(1, 1), CertifiedStopping(2, 10))
RULES = [
    *(pytest.param(rule, id=repr(rule)) for rule in (ThresholdStopping(), OptimalStopping(), CertifiedStopping())),
    *(pytest.param(rule, id=repr(rule), marks=pytest.mark.slow) for rule in OTHERS),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("check", rule_checks.CHECKS, ids=lambda check: check.__name__.removeprefix("_check_"))
def test_the_rules_of_the_package_keep_their_promises(check, rule):
    check(rule)


@dataclass(frozen=True)
class FittedPatience:
    improvement: Any

    def keenness(self, stage, signal, memory):
        return self.improvement[np.minimum(stage, len(self.improvement) - 1)] * (1 - signal), memory


@dataclass(frozen=True)
class Patience:
    """The rule of the page on stopping rules, which passes all checks."""

    floor: float = 0.01

    def fit(self, paths):
        mean_loss = paths.loss.mean(axis=0)
        return FittedPatience(np.maximum(mean_loss - mean_loss[-1], self.floor))


@dataclass(frozen=True)
class Counting:
    """A rule that remembers how often an example was nearly sure, and passes all checks."""

    most: int = 2

    def fit(self, paths):
        return self

    def keenness(self, stage, signal, memory):
        memory = memory + (signal > 0.7)
        return np.where(memory > self.most, -np.inf, 1 - signal), memory


@pytest.mark.parametrize("rule", [Patience(), Counting()], ids=repr)
def test_right_rules_pass(rule):
    for _, check in check_stopping_rule(rule):
        check()


@dataclass(frozen=True)
class Own:
    """A rule that learns nothing, as the wrong ones below that have no ``fit``."""

    def fit(self, paths):
        return self


class ForgetsMemory(Own):
    def keenness(self, stage, signal, memory):
        return 1 - signal


class AnswersLists(Own):
    def keenness(self, stage, signal, memory):
        return [1 - each for each in signal], memory


class AnswersColumns(Own):
    def keenness(self, stage, signal, memory):
        return (1 - signal)[:, None], memory


class DividesByZero(Own):
    def keenness(self, stage, signal, memory):
        with np.errstate(all="ignore"):
            return (1 - signal) / (signal < 1), memory


class AveragesInMemory(Own):
    def keenness(self, stage, signal, memory):
        return 1 - signal, (memory + signal) / 2


class WritesHistories(Own):
    """Keeps the bins of all stages in one number, which outgrows 32 bits."""

    def keenness(self, stage, signal, memory):
        return 1 - signal, memory * 10_000 + (signal * 999).astype(np.int64)


class TakesTheLargest(Own):
    def keenness(self, stage, signal, memory):
        return np.full(signal.shape, 1 - signal.max()), memory


class Standardises(Own):
    def keenness(self, stage, signal, memory):
        return (signal.mean() if signal.size else 0.0) - signal, memory


class TakesTheFirstStage(Own):
    """Takes all examples to be at the stage of the first, as they are along the paths."""

    def keenness(self, stage, signal, memory):
        return (1 - signal) / (1 + stage[:1].sum()), memory


@dataclass(frozen=True)
class FittedByStage:
    rise: Any

    def keenness(self, stage, signal, memory):
        return self.rise[stage] * (1 - signal), memory


@dataclass(frozen=True)
class KnowsItsStages:
    def fit(self, paths):
        return FittedByStage(paths.cost.mean(axis=0))


@dataclass(frozen=True)
class FitsOneExampleToNothing:
    """Divides by the number of examples less one."""

    def fit(self, paths):
        with np.errstate(all="ignore"):
            variance = np.square(paths.signal - paths.signal.mean(axis=0)).sum(axis=0) / (paths.n_samples - 1)
        return FittedPatience(variance)


@dataclass(frozen=True)
class DividesByPrices:
    """Divides what going on gains by what it costs, which may be nothing."""

    def fit(self, paths):
        gain, price = paths.loss[:, 0] - paths.loss[:, -1], paths.cost[:, -1]
        with np.errstate(all="ignore"):
            return FittedPatience(np.atleast_1d(gain.sum() / price.sum()))


class CountsQuestions(Own):
    def __init__(self):
        self.__dict__["asked"] = 0

    def keenness(self, stage, signal, memory):
        self.__dict__["asked"] += 1
        return 1 - signal + 1e-6 * self.asked, memory


class RunningMean:
    """Learns from whom it is asked about."""

    def __init__(self):
        self.mean = 0.5

    def keenness(self, stage, signal, memory):
        if signal.size > 100:
            self.mean = 0.9 * self.mean + 0.1 * float(signal.mean())
        return self.mean - signal, memory


@dataclass(frozen=True)
class LearnsFromQuestions:
    def fit(self, paths):
        return RunningMean()


class Buffered:
    def __init__(self):
        self.keen = np.empty(1000)

    def keenness(self, stage, signal, memory):
        np.subtract(1, signal, out=self.keen[: signal.size])
        return self.keen[: signal.size], memory


@dataclass(frozen=True)
class KeepsABuffer:
    def fit(self, paths):
        return Buffered()


class WritesIntoMemory(Own):
    def keenness(self, stage, signal, memory):
        memory += signal > 0.5
        return 1 - signal + memory, memory


class FitsItself:
    """Keeps what it learns as estimators of scikit-learn do."""

    def fit(self, paths):
        self.mean_ = paths.loss.mean(axis=0)
        return self

    def keenness(self, stage, signal, memory):
        return self.mean_[np.minimum(stage, len(self.mean_) - 1)] - signal, memory


@dataclass(frozen=True)
class DrawsFromAll:
    def fit(self, paths):
        return FittedPatience(np.random.random(3))  # noqa: NPY002  # the fault that is to be found


@dataclass(frozen=True)
class SeedsAll:
    def fit(self, paths):
        np.random.seed(0)  # noqa: NPY002  # the fault that is to be found
        return FittedPatience(np.ones(3))


@dataclass(frozen=True)
class DrawsOnItsOwn:
    def fit(self, paths):
        return FittedPatience(np.random.default_rng().random(3))


@dataclass(frozen=True)
class GoesOnWithItsSeed:
    random_state: Any = field(default_factory=lambda: np.random.RandomState(0))  # as scikit-learn takes it

    def fit(self, paths):
        return FittedPatience(self.random_state.random(3))


@dataclass(frozen=True)
class SortsThePaths:
    def fit(self, paths):
        paths.loss.setflags(write=True)
        paths.loss.sort(axis=0)
        return FittedPatience(np.ones(3))


@dataclass(frozen=True)
class NotesItsFits:
    fits: list = field(default_factory=list)

    def fit(self, paths):
        self.fits.append(paths.n_samples)
        return FittedPatience(np.ones(3))


class Plain:
    def __init__(self, floor=0.1):
        self.floor = floor

    def fit(self, paths):
        return FittedPatience(np.full(3, self.floor))


@dataclass(frozen=True)
class HalvesItsParameter:
    floor: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "floor", self.floor / 2)

    def fit(self, paths):
        return FittedPatience(np.full(3, self.floor))


@dataclass(frozen=True)
class HidesAParameter:
    floor: float = field(default=1.0, repr=False)

    def fit(self, paths):
        return FittedPatience(np.full(3, self.floor))


@dataclass(frozen=True)
class AnswersByLambda:
    def fit(self, paths):
        floor = float(paths.loss.mean())
        return FittedFunction(lambda signal: floor - signal)


@dataclass(frozen=True)
class FittedFunction:
    function: Any

    def keenness(self, stage, signal, memory):
        return self.function(signal), memory


class Scratch:
    """Keeps the question where the next one writes."""

    def keenness(self, stage, signal, memory):
        self.signal = signal
        sleep(1e-4)
        return 1 - self.signal, memory


@dataclass(frozen=True)
class SharesAScratch:
    def fit(self, paths):
        return Scratch()


@dataclass(frozen=True)
class OtherTables(ThresholdStopping):
    """Says in its tables that an example stops as soon as it is sure; asked, that it buys twice in any case."""

    def keenness(self, stage, signal, memory):
        return np.where(stage < 2, np.inf, -signal), memory

    def tables(self):
        return ThresholdStopping().tables()


class TellsTablesApart(Own):
    """Answers a single example, as a session asks, more keenly than the examples of a table."""

    def keenness(self, stage, signal, memory):
        return 1 - signal + (signal.size == 1), memory


@dataclass(frozen=True)
class LaterTables(ThresholdStopping):
    """Says, asked, that an example stops after two purchases, of which its tables know nothing."""

    def keenness(self, stage, signal, memory):
        return np.where(stage > 1, -np.inf, -signal), memory

    def tables(self):
        return ThresholdStopping().tables()


WRONG = [
    (ForgetsMemory(), "answers_are_numbers", "to return keenness and memory, got ndarray"),
    (AnswersLists(), "answers_are_numbers", "to return arrays, got list"),
    (AnswersColumns(), "answers_are_numbers", r"to return shapes \(\d+,\), got"),
    (DividesByZero(), "answers_are_numbers", "got nan at stage 0 for the signal 1"),
    (AveragesInMemory(), "answers_are_numbers", "to return a memory of integers, got float64"),
    (WritesHistories(), "answers_are_numbers", "to return a memory of 32 bits"),
    (FitsOneExampleToNothing(), "answers_are_numbers", "got nan"),
    (DividesByPrices(), "later_stages_are_answered", "got ValueError: .* got nan"),
    (SimpleNamespace(fit=lambda paths: paths), "answers_are_numbers", "fit to return an object with keenness"),
    (TakesTheLargest(), "none_is_answered", "zero-size array"),
    (KnowsItsStages(), "later_stages_are_answered", "at stages up to 8, as new examples .* got IndexError"),
    (Standardises(), "each_example_is_answered_alone", "got .* among half as many examples"),
    (TellsTablesApart(), "each_example_is_answered_alone", "got .* alone"),
    (TakesTheFirstStage(), "stages_may_be_mixed", "together with examples at other stages; stage is an array"),
    (CountsQuestions(), "same_question_has_same_answer", "got .* when asked again"),
    (LearnsFromQuestions(), "same_question_has_same_answer", "got .* when asked again"),
    (KeepsABuffer(), "arguments_and_answers_stay", "expected the keenness that was answered to stay"),
    (WritesIntoMemory(), "arguments_and_answers_stay", "expected keenness to leave its argument memory as it is"),
    (FitsItself(), "another_fit_does_not_disturb", "let fit return a new object"),
    (DrawsFromAll(), "fit_learns_from_paths_alone", "a generator of its own, got ones of all"),
    (SeedsAll(), "fit_learns_from_paths_alone", "a generator of its own, got ones of all"),
    (DrawsOnItsOwn(), "fit_learns_from_paths_alone", "got .* when fitted on equal paths"),
    (GoesOnWithItsSeed(), "fit_learns_from_paths_alone", "got .* when fitted on equal paths"),
    (SortsThePaths(), "fit_changes_neither_paths_nor_rule", "leave the paths of many examples as they are"),
    (NotesItsFits(), "fit_changes_neither_paths_nor_rule", "leave NotesItsFits as it is, got .* after"),
    (FitsItself(), "fit_changes_neither_paths_nor_rule", "leave FitsItself as it is"),
    (Plain(), "parameters_are_fields_of_a_frozen_dataclass", r"@dataclass\(frozen=True\)"),
    (HalvesItsParameter(), "parameters_are_fields_of_a_frozen_dataclass", "the same parameters to make the same rule"),
    (HidesAParameter(), "parameters_are_fields_of_a_frozen_dataclass", "the parameter 'floor' in"),
    (AnswersByLambda(), "pickled_rule_answers_alike", "expected FittedFunction to be pickled"),
    (SharesAScratch(), "threads_do_not_disturb_each_other", "when several threads ask at once"),
    (OtherTables(), "sessions_answer_and_pay_as_tables", r"expected a session to pay .* or from tables\(\)"),
    (TellsTablesApart(), "sessions_answer_and_pay_as_tables", "expected a session to pay"),
    (LaterTables(), "budget_is_kept", "no more than the budget 5, got"),
]


@pytest.mark.parametrize(
    ("rule", "name", "message"), WRONG, ids=[f"{type(rule).__name__}-{name}" for rule, name, _ in WRONG]
)
def test_a_wrong_rule_fails_the_check_that_names_it(rule, name, message):
    with pytest.raises((AssertionError, TypeError, ValueError), match=message):
        dict(check_stopping_rule(rule))[name]()


def test_every_check_finds_a_wrong_rule():
    names = {check.__name__.removeprefix("_check_") for check in rule_checks.CHECKS}
    assert names == {name for _, name, _ in WRONG}


def test_a_failure_names_the_paths():
    with pytest.raises(ValueError, match="got nan") as failure:
        dict(check_stopping_rule(FitsOneExampleToNothing()))["answers_are_numbers"]()
    assert failure.value.__notes__ == ["fails on ipforest.testing.rule_checks.corner_paths()['one example']"]


@pytest.mark.parametrize("rule", [ThresholdStopping, None, "optimal", SimpleNamespace(fit=3)])
def test_what_cannot_be_fitted_is_refused(rule):
    with pytest.raises(TypeError, match=r"^rule: expected an object with fit\(paths\), such as ThresholdStopping\(\)"):
        next(check_stopping_rule(rule))
