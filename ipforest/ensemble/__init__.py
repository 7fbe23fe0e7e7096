"""Trees as flat arrays: their structure, what they predict, how examples are routed, readers and writers.

`Trees` is the structure, and routes examples; `Forest` averages what leaves hold, `BoostedTrees` adds it up. `read`
takes them from a fitted model, `write` gives one back.
"""

from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.libraries import read, write
from ipforest.ensemble.trees import Trees

__all__ = ["BoostedTrees", "Forest", "Trees", "read", "write"]
