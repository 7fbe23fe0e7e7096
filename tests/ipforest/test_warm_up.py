import subprocess
import sys

import pytest

PROGRAM = """
import sys
from numba.core.dispatcher import Dispatcher
from ipforest import solve, solve_budget
from ipforest.experiments.synthetic import synthetic_instance
from ipforest.maxflow import subproblems
from ipforest.path_search import PathSearch
from ipforest.solvers.warm_up import warm_up

rooms = ("ipforest.maxflow", "ipforest.ensemble", "ipforest.solvers.greedy")
instance = synthetic_instance(8, 300, 20, n_training=900, max_price=10, seed=2)
shares = []
warm_up(lambda share, message: shares.append(share))
assert shares[0] == 0 and shares == sorted(shares) and shares[-1] == 1, shares
kernels = {kernel for name, module in sys.modules.items() if name.startswith(rooms)
           for kernel in vars(module).values() if isinstance(kernel, Dispatcher)}
subproblems.MIN_ENTRIES_TO_MOVE, subproblems.MAX_SHARE_OF_HOST = 0, 1
before = {kernel: list(kernel.overloads) for kernel in kernels}
search = PathSearch(instance, small=0)
search.run()
path = search.path()
lam = path.breakpoints[len(path.breakpoints) // 2]
assert path.result(lam).objective == solve(instance, lam, start=path.result(lam).flow).objective
solve_budget(instance, path.costs[0] / 3, "mip", path=path)
late = {kernel.__name__ for kernel in kernels if list(kernel.overloads) != before[kernel]}
print(len(kernels) > 40, sorted(late))
"""


@pytest.mark.slow
def test_nothing_is_left_to_compile_for_a_path_or_a_solve():
    finished = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert finished.stderr == ""
    assert finished.stdout == "True []\n"
