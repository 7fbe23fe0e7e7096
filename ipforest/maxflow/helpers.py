"""Threads that help with a large cut."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from ipforest._numba import n_threads
from ipforest.maxflow.network import Network, Part
from ipforest.maxflow.pseudoflow import help_searching
from ipforest.maxflow.team import ENDED, Team, new_team

LEAST_TRIPLES = 1_000_000
"""Smaller cuts have no helpers."""
MOST_HELPERS = 3
"""Merging takes about a quarter of the time, and one thread does it."""


@contextmanager
def team_for(network: Network, part: Part, n_triples: int) -> Iterator[Team]:
    """Gather the threads for a cut of a subproblem of so many triples, of which no other one is under way."""
    n_helpers = min(n_threads() - 1, MOST_HELPERS) if n_triples >= LEAST_TRIPLES else 0
    team = new_team(part.nodes.size + part.acquisitions.size, n_helpers)
    if n_helpers == 0:
        yield team
        return
    team.board[ENDED] = 1
    help_searching(network, team, 0)  # it is compiled before anyone waits for it
    team.board[ENDED] = 0
    with ThreadPoolExecutor(n_helpers) as pool:
        helping = [pool.submit(help_searching, network, team, number) for number in range(n_helpers)]
        try:
            yield team
        finally:
            team.board[ENDED] = 1
    for helper in helping:
        helper.result()
