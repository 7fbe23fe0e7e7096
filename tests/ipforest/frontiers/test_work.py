"""Parts of some work: how far they are together, and what ends them when they are done in threads."""

import signal
import threading
import time
import warnings

import joblib
import pytest
from sklearn import config_context, get_config

from ipforest.frontiers.work import TimeIsOver, Work, each_done


def test_parts_are_told_as_one() -> None:
    told: list[float] = []
    first, second = Work(lambda share, message: told.append(share)).parts(2)
    for part, share in ((first, 0.5), (second, 0.5), (first, 1.0), (second, 1.0)):
        part.report(share, "")
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_something_is_made_in_the_first_part_however_little_time_there_is() -> None:
    first, second = Work(until=0.0).parts(2)
    first.check()
    with pytest.raises(TimeIsOver):
        second.check()


@pytest.mark.parametrize("n_jobs", [None, 2, -1])
def test_results_come_in_order(n_jobs: int | None) -> None:
    assert each_done(Work().parts(5), lambda number: number**2, n_jobs) == [0, 1, 4, 9, 16]


def test_threads_have_the_settings_of_scikit_learn_and_leave_filters_of_warnings_alone() -> None:
    both = threading.Barrier(2)

    def do(number: int) -> tuple[bool, str]:
        both.wait(10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both.wait(10)
        return get_config()["enable_metadata_routing"], threading.current_thread().name

    before = list(warnings.filters)
    with config_context(enable_metadata_routing=True):
        routed, names = zip(*each_done(Work().parts(2), do, 2), strict=True)
    assert all(routed)
    assert len({*names, threading.current_thread().name}) == 3
    assert list(warnings.filters) == before


def test_where_memory_is_not_shared_one_part_follows_another() -> None:
    with joblib.parallel_config(backend="loky"):
        names = each_done(Work().parts(2), lambda _: threading.current_thread().name, 2)
    assert set(names) == {threading.current_thread().name}


def until_it_is_over(part: Work) -> None:
    for _ in range(10_000):
        part.check()
        time.sleep(0.001)


def test_an_error_in_one_part_ends_the_others() -> None:
    parts, ended, both = Work().parts(2), [], threading.Barrier(2)

    def do(number: int) -> None:
        both.wait(10)
        if number == 0:
            raise ValueError("wrong")
        try:
            until_it_is_over(parts[number])
        except TimeIsOver:
            ended.append(number)

    with pytest.raises(ValueError, match="wrong"):
        each_done(parts, do, 2)
    assert ended == [1]


def test_an_interrupt_ends_all_parts() -> None:
    parts, ended = Work().parts(2), []

    def do(number: int) -> None:
        if number == 0:
            signal.raise_signal(signal.SIGINT)
        try:
            until_it_is_over(parts[number])
        except TimeIsOver:
            ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        each_done(parts, do, 2)
    for _ in range(1000):
        if len(ended) == 2:
            break
        time.sleep(0.01)
    assert sorted(ended) == [0, 1]
