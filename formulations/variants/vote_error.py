"""The vote's error: the examples that the majority of the trees gets wrong, in place of the mean error of the trees."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from formulations._pyomo import pyo
from formulations.indexing import required_leaves
from formulations.model_data import ModelData
from formulations.modelled import ModelledFormulation
from formulations.variants.closures import closure, kept_nodes
from ipforest.instance import PruningInstance
from ipforest.results import Pruning

Wrong = Callable[[int, int], bool]
"""Says whether a node, as a leaf, is wrong about an example: ``wrong(node, example)``."""


def by_turns(node: int, example: int) -> bool:
    """Let nodes be wrong about one example of three; for instances without labels."""
    return (2 * node + example) % 3 == 0


def vote_error(wrong: Wrong = by_turns) -> ModelledFormulation:
    r"""Count the lost votes: m_i = 1 where half of the T trees or more are wrong about example i.

    .. math:: \min\ \frac1N \sum_i m_i + \lambda\, \mathrm{cost}, \qquad
        \sum_t v_{t,i} \le a + (T - a) m_i, \quad a = \lceil T/2 \rceil - 1,

    where v_{t,i}, linear in x, says whether tree t stops example i at a node that is wrong about it.

    Parameters
    ----------
    wrong : callable
        See `Wrong`.
    """

    def model(instance: PruningInstance, lam: Fraction) -> Any:
        program, data = closure(instance)
        n_trees, examples = instance.n_trees, range(instance.n_examples)
        afford = (n_trees + 1) // 2 - 1
        program.lost = pyo.Var(examples, domain=pyo.Binary)
        program.vote = pyo.Constraint(
            examples,
            rule=lambda m, i: (
                pyo.quicksum(_wrong_vote(m, path, i, wrong) for path in _paths(instance, data, i))
                <= afford + (n_trees - afford) * m.lost[i]
            ),
        )
        share = pyo.quicksum(program.lost[i] for i in examples)
        program.objective = pyo.Objective(expr=share / instance.n_examples + float(lam) * program.cost)
        return program

    def worth(instance: PruningInstance, lam: Fraction, pruning: Pruning) -> Fraction:
        data, kept = ModelData.of(instance), kept_nodes(instance, pruning)
        lost = 0
        for i in range(instance.n_examples):
            stops = [next(h for h in path if h not in kept) for path in _paths(instance, data, i)]
            lost += 2 * sum(wrong(h, i) for h in stops) >= instance.n_trees
        return Fraction(lost, instance.n_examples) + lam * instance.evaluate(pruning)[1]

    return ModelledFormulation("vote-error", model, worth=worth, routing=True, reason="a majority needs a big M")


def _paths(instance: PruningInstance, data: ModelData, example: int) -> list[list[int]]:
    """Return the path of an example in each tree."""
    return [data.path[leaf] for leaf in required_leaves(instance)[:, example].tolist()]


def _wrong_vote(model: Any, path: list[int], example: int, wrong: Wrong) -> Any:
    """Return 1 if the example stops on its path at a node that is wrong: x of the node above less that of the node."""
    above: list[Any] = [1, *(model.x[h] for h in path[:-1])]
    here: list[Any] = [*(model.x[h] for h in path[:-1]), 0]
    return sum(a - x for h, a, x in zip(path, above, here, strict=True) if wrong(h, example))
