"""Run the command line as ``python -m ipforest``."""

import sys

from ipforest.cli import main

sys.exit(main())
