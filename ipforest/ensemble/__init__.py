"""Trees as flat arrays: their structure, what they predict, how examples are routed, readers and writers."""

from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import Trees

__all__ = ["Forest", "Trees"]
