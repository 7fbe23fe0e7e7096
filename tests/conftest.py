"""Settings of all tests: no display, reproducible examples, no deadline (the first call of a kernel compiles it)."""

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("ipforest", deadline=None, derandomize=True)
settings.load_profile("ipforest")
