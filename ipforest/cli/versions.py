"""The command ``versions``: what is installed."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ipforest.cli.exit_codes import DONE
from ipforest.cli.options import Arguments, Parser

DESCRIPTION = "Print the versions of ipforest and of what it runs on."


def add(command: Parser) -> None:
    """Describe its options: none but those of all commands."""


def run(options: Arguments) -> int:
    """Print versions, for bug reports and benchmark tables."""
    from ipforest.solvers import available_solvers

    facts: dict[str, Any] = {"python": sys.version.split()[0], "cores": os.cpu_count()}
    packages = ("ipforest", "numpy", "scipy", "scikit-learn", "numba", "networkx", "pyomo", "highspy", "dask")
    for package in packages:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    facts["solvers"] = available_solvers()
    if options.json:
        print(json.dumps(facts))
    else:
        for name, fact in facts.items():
            print(f"{name:14} {', '.join(fact) if isinstance(fact, list) else fact}")
    return DONE
