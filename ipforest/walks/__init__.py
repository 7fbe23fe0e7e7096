"""Whole tables predicted in one compiled pass: what examples ask for, where they stop, what they are answered.

A `Policy` says how one example moves on when another value is known; a walk does the same from the first purchase to
the answer, for a table whose values are all at hand. Outputs and tests are those of `ipforest.session.Sessions`, to the
last bit: both add up in the same order and share the compiled links.
"""

from ipforest.walks.ensembles import Ensembles
from ipforest.walks.purse import Changed, Purse, Walk
from ipforest.walks.recording import Recorded, record
from ipforest.walks.rules import CERTIFIED, NEVER, STAGED, THRESHOLD, RuleTables
from ipforest.walks.stages import END, ONWARD, Routers, RouterTree, SeenStages, StageWalk
from ipforest.walks.trees import SETTLED_SLACK, SeenTrees, TreeWalk, link_of, n_outputs_of, packed

__all__ = [
    "CERTIFIED",
    "END",
    "NEVER",
    "ONWARD",
    "SETTLED_SLACK",
    "STAGED",
    "THRESHOLD",
    "Changed",
    "Ensembles",
    "Purse",
    "Recorded",
    "RouterTree",
    "Routers",
    "RuleTables",
    "SeenStages",
    "SeenTrees",
    "StageWalk",
    "TreeWalk",
    "Walk",
    "link_of",
    "n_outputs_of",
    "packed",
    "record",
]
