import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns
from time import perf_counter

import numba

import ipforest
from ipforest._numba import clock

PROGRAM = """
import numpy as np
from ipforest.maxflow.network import _list_children, build_network
parent = np.array([-1, 0, 0], dtype=np.int32)
network = build_network(parent, np.ones(3), np.zeros(3), np.zeros(4), np.zeros(0), np.zeros(0))
print(network.problem.first_child, _list_children.stats.cache_path)
"""


def test_kernels_work_uncached_where_nothing_can_be_written(tmp_path):
    """Regular files stand where folders would be needed, which stops the superuser, too."""
    package = copytree(Path(ipforest.__file__).parent, tmp_path / "ipforest", ignore=ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "folder")
    environment = os.environ | dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), nowhere)
    environment |= {"PYTHONPATH": str(tmp_path)}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert finished.stderr == ""
    assert finished.stdout == "[ 1 -1 -1] None\n"


def test_the_clock_stands_still_while_a_kernel_is_compiled():
    compiled = numba.njit(lambda x: x + 1)
    started, working = perf_counter(), clock()
    compiled(1)
    assert clock() - working < 0.5 * (perf_counter() - started)
