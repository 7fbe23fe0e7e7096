"""Searches for paths that are interrupted while they run."""

import pytest

from ipforest.path_search import PathSearch

ONE_CUT_A_CALL = -1
"""What ``small`` is of a search that reports after each cut."""


def interrupted_search(instance, n_reports):
    """Interrupt a search of one cut a call at one of its reports, as Ctrl+C does."""
    search, seen = PathSearch(instance, small=ONE_CUT_A_CALL), []

    def interrupt(share, message):
        seen.append(share)
        if len(seen) == n_reports:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.run(interrupt)
    return search
