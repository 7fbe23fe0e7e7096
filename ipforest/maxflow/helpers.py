"""Threads that help with a large cut."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from ipforest._internal.kernels import n_threads
from ipforest.maxflow.network import Network, Part
from ipforest.maxflow.pseudoflow import help_searching
from ipforest.maxflow.team import DISMISSED, Team, new_team

LEAST_ENTRIES = 200_000
"""Smaller cuts have no helpers."""
MOST_HELPERS = 3
"""Merging takes about a quarter of the time, and one thread does it."""


def team_for(network: Network, part: Part, n_entries: int) -> Team:
    """Make a team for a cut of a subproblem of so many entries; helpers may come and go while it is under way."""
    n_helpers = min(n_threads() - 1, MOST_HELPERS) if n_entries >= LEAST_ENTRIES else 0
    team = new_team(part.nodes.size + part.acquisitions.size, network.problem.cost.size, n_helpers)
    if n_helpers > 0:
        dismiss(team)
        help_searching(network, team, 0)  # it is compiled before anyone is asked to help
        admit(team)
    return team


def size_of(team: Team) -> int:
    """Return how many helpers a team has room for."""
    return len(team.changes)


def admit(team: Team) -> None:
    """Let helpers of a team begin."""
    team.board[DISMISSED] = 0


def dismiss(team: Team) -> None:
    """Let all helpers of a team leave after the tree that they search."""
    team.board[DISMISSED] = 1


@contextmanager
def helped(network: Network, part: Part, n_entries: int) -> Iterator[Team]:
    """Make a team for the only cut that is under way, and have all its helpers work until it has come to its end."""
    team = team_for(network, part, n_entries)
    with ThreadPoolExecutor(max(size_of(team), 1)) as pool:
        try:
            helping = [pool.submit(help_searching, network, team, number) for number in range(size_of(team))]
            yield team
        finally:
            dismiss(team)
    for helper in helping:
        helper.result()
