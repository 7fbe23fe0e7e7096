"""Instances with known optima and their sources, one JSON file each."""

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from ipforest.instance import PruningInstance
from ipforest.results import Pruning

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.json"))


@dataclass(frozen=True)
class Reference:
    name: str
    source: str
    instance: PruningInstance
    prunings: list[tuple[Pruning, Fraction, Fraction]]  # with error and cost
    optima: list[tuple[Fraction, Fraction]]  # lambda, objective
    budgets: list[tuple[Fraction, Fraction, Fraction]]  # budget, least error, least error of a mixture


def load_reference(name: str) -> Reference:
    data = json.loads((HERE / f"{name}.json").read_text())
    fields = {
        key: Fraction(value) if isinstance(value, str) else np.array(value) if isinstance(value, list) else value
        for key, value in data["instance"].items()
    }
    instance = PruningInstance(**fields)
    return Reference(
        name=data["name"],
        source=data["source"],
        instance=instance,
        prunings=[
            (Pruning(np.isin(instance.internal_nodes, item["kept"])), Fraction(item["error"]), Fraction(item["cost"]))
            for item in data["prunings"]
        ],
        optima=[(Fraction(item["lam"]), Fraction(item["objective"])) for item in data["optima"]],
        budgets=[
            (Fraction(item["budget"]), Fraction(item["error"]), Fraction(item["mixture_error"]))
            for item in data["budgets"]
        ],
    )
