"""Break the package in one place after another: `ipforest crosscheck` must notice each break.

    python tests/crosscheck_mutations.py [--only WORD] [--jobs N] [--instances N]

Each mutation is made in a copy of the package, on which the command then runs, kernels uncompiled, in a process forked
from one that has loaded what the package builds on. Lists each with what was noticed; exits with 1 if one goes
unnoticed.
"""

import argparse
import importlib
import json
import os
import shutil
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
PACKAGES = ("ipforest", "formulations", "proofs")
LIBRARIES = ("numba", "scipy.optimize", "sklearn.ensemble", "pyomo.environ", "highspy", "networkx", "pandas", "rich")
"""Loaded once for all: they take longer to load than most mutations to be noticed."""
CONTROLS = 20
"""Problems that the package as it is must get right, as otherwise anything would be noticed."""


@dataclass(frozen=True)
class Mutation:
    """A change of one place in the source."""

    what: str
    file: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Make the change in a copy of the source."""
        source = (root / self.file).read_text()
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file}: expected {self.old!r} once, got it {source.count(self.old)} times")
        (root / self.file).write_text(source.replace(self.old, self.new))


MUTATIONS = (
    Mutation(
        "values at a threshold go right",
        "ipforest/ensemble/routing.py",
        "x <= splits.threshold[node]",
        "x < splits.threshold[node]",
    ),
    Mutation(
        "missing values go the other way",
        "ipforest/ensemble/routing.py",
        "goes_left = splits.missing_left[node]",
        "goes_left = not splits.missing_left[node]",
    ),
    Mutation(
        "a feature with a price pays no fee of its group",
        "ipforest/costs.py",
        "            if self.groups[source] != NO_GROUP:\n",
        "            if self.groups[source] != NO_GROUP and not own[source]:\n",
    ),
    Mutation(
        "tests cost nothing",
        "ipforest/instance.py",
        "_split_costs(uses.n_passing, ceil(price_of_split / step), leaves.size)",
        "_split_costs(uses.n_passing, 0, leaves.size)",
    ),
    Mutation(
        "costs are sums over the examples",
        "ipforest/instance.py",
        "cost_unit=step / examples.shape[0]",
        "cost_unit=step",
    ),
    Mutation(
        "in-bag errors are those of the rarest class",
        "ipforest/losses.py",
        "totals - counts.max(axis=1)",
        "totals - counts.min(axis=1)",
    ),
    Mutation(
        "held-out errors are those of the best class, not of the predicted one",
        "ipforest/losses.py",
        "counts[nodes, np.argmax(forest.value, axis=1)]",
        "counts.max(axis=1)",
    ),
    Mutation(
        "entropy in nats", "ipforest/losses.py", "np.log2(totals[:, None] / counts)", "np.log(totals[:, None] / counts)"
    ),
    Mutation(
        "evaluation forgets the root's error",
        "ipforest/instance.py",
        "        reachable[self.tree_offsets[:-1]] = True\n",
        "",
    ),
    Mutation(
        "pruned forests forget which way is left",
        "ipforest/ensemble/trees.py",
        "new_index[fields[name]]",
        'new_index[fields["right"]]',
    ),
    Mutation(
        "presolve merges nodes that have a split cost",
        "ipforest/maxflow/presolve.py",
        "if gain[h] > 0 and split_cost[h] == 0 and indptr[h] == indptr[h + 1]:",
        "if gain[h] > 0 and indptr[h] == indptr[h + 1]:",
    ),
    Mutation(
        "presolve merges nodes that gain nothing",
        "ipforest/maxflow/presolve.py",
        "if gain[h] > 0 and split_cost[h] == 0 and indptr[h] == indptr[h + 1]:",
        "if gain[h] >= 0 and split_cost[h] == 0 and indptr[h] == indptr[h + 1]:",
    ),
    Mutation(
        "trees by themselves pay no test",
        "ipforest/solvers/tree_dp.py",
        "np.diff(cumulated[instance.indptr]) + p * instance.split_cost",
        "np.diff(cumulated[instance.indptr])",
    ),
    Mutation(
        "branch and bound leaves out what costs the whole budget",
        "ipforest/solvers/branch_and_bound.py",
        "below(budget_units(whole, relaxed.budget) + 1)",
        "below(budget_units(whole, relaxed.budget))",
    ),
    Mutation(
        "the path leaves out what costs the whole budget",
        "ipforest/path.py",
        "for i, cost in enumerate(self.costs) if cost <= limit",
        "for i, cost in enumerate(self.costs) if cost < limit",
    ),
    Mutation(
        "the path claims that breakpoints are best within every budget",
        "ipforest/path.py",
        "bound = supported",
        "bound = error",
    ),
    Mutation("IP1 leaves usage free", "formulations/ip1.py", "model.w[k, i] >= model.z[h]", "model.w[k, i] >= 0"),
    Mutation(
        "IP2 buys at leaves",
        "formulations/ip2.py",
        "for h in model.data.path[model.data.first_use[t, k, i]]) == 1",
        "for h in model.data.path[model.data.first_use[t, k, i]]) <= 1",
    ),
    Mutation(
        "the compact form counts one leaf too few",
        "formulations/compact.py",
        "for h in model.data.path[first_use]) >= 1",
        "for h in model.data.path[first_use][1:]) >= 1",
    ),
    Mutation(
        "the closure form lets children stay alone",
        "formulations/closure.py",
        "return model.x[h] <= model.x[model.data.parent[h]]",
        "return model.x[h] <= 1",
    ),
    Mutation(
        "LP1 spends at least the budget",
        "formulations/lp1.py",
        "model.spent <= model.specification.budget_units",
        "model.spent >= model.specification.budget_units",
    ),
)


def noticed(mutation: Mutation | None, instances: int) -> str | None:
    """Run the command, in a process that has not loaded the package, on a copy of it, mutated or as it is.

    Returns what the command says is wrong, None if nothing is.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        for package in PACKAGES:
            shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
        if mutation is not None:
            mutation.apply(copy)
        loaded = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
        if loaded:
            raise RuntimeError(f"expected a process without the package, got one with {', '.join(loaded)}")
        sys.path.insert(0, str(copy))
        sys.dont_write_bytecode = True
        os.chdir(folder)
        command = ["crosscheck", "--json", "--debug", "--instances", str(instances), "--out", folder]
        errors, code = StringIO(), 1
        with redirect_stdout(StringIO()), redirect_stderr(errors):
            try:
                package = importlib.import_module("ipforest.cli")
                code = package.main(command)
            except Exception:  # whatever a mutation breaks is told; a command that did not run is an error below
                traceback.print_exc(file=errors)
        os.chdir(ROOT)
        if not Path(package.__file__).is_relative_to(copy):
            raise RuntimeError(f"expected the copy of the package, got {package.__file__}")
        if code == 0:
            return None
        saved = Path(folder) / "disagreement.json"
        if not saved.exists():
            raise RuntimeError(f"{mutation}: the command did not run: {errors.getvalue()[-2000:]}")
        record = json.loads(saved.read_text())
        return f"after {record['number'] + 1} instances: {record['problems'][0]}"


def main() -> int:
    """Try the mutations, list them, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only mutations whose description contains it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time")
    parser.add_argument("--instances", type=int, default=300, metavar="N", help="problems that each is given")
    options = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if options.only in mutation.what]
    missed = 0
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    with get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        false_alarm = pool.apply(noticed, (None, CONTROLS))
        if false_alarm is not None:
            print(f"the package as it is, without any mutation: {false_alarm}")
            return 1
        found_in_each = pool.imap(partial(noticed, instances=options.instances), chosen)
        for mutation, found in zip(chosen, found_in_each, strict=True):
            missed += found is None
            print(f"{'MISSED  ' if found is None else 'noticed '}  {mutation.what}: {found or ''}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} mutations noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
