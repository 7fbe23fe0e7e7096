"""Run the command line as ``python -m ipforest.cli``."""

import sys

from ipforest.cli import main

sys.exit(main())
