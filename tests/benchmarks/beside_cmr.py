"""Total unimodularity by this package and by CMR, on the same matrices in one run, in CPU seconds.

Run with ``python tests/benchmarks/beside_cmr.py PYTHON FILE.csv``, where PYTHON is an interpreter that has
`passagemath-cmr`, numpy and scipy: CMR need not be installed where this package is.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from scipy import sparse

from formulations.arrays import linear_program
from formulations.specification import specify
from ipforest._internal.records import records_to_csv
from proofs.claims.pruning_claims import fitted_instance
from proofs.unimodularity.total_unimodularity import is_totally_unimodular

TIME_LIMIT = 300
"""Seconds of each question to CMR."""
SIZES = [
    ("ip1", (5, 4, 28), False),
    ("lp1", (5, 4, 28), False),
    ("ip3", (5, 4, 28), True),
    ("ip3", (20, 8, 240), True),
    ("lp1", (20, 8, 240), False),
    ("ip1", (81, 12, 269), False),
    ("ip3", (81, 12, 269), True),
]
"""Formulation; trees, depth and examples; whether the matrix is totally unimodular."""
BY_CMR = """
import json, sys
from time import process_time
from scipy import sparse
from sage.matrix.matrix_cmr_sparse import Matrix_cmr_chr_sparse
from sage.matrix.matrix_space import MatrixSpace
from sage.rings.integer_ring import ZZ
A = sparse.load_npz(sys.argv[1])
entries = dict(zip(zip(A.row.tolist(), A.col.tolist()), A.data.tolist()))
matrix = Matrix_cmr_chr_sparse(MatrixSpace(ZZ, *A.shape, sparse=True), entries)
for with_violator in (False, True):
    started = process_time()
    try:
        answer = matrix.is_totally_unimodular(time_limit=float(sys.argv[2]), certificate=with_violator)
    except RuntimeError:
        answer = None
    told = answer[0] if isinstance(answer, tuple) else answer
    print(json.dumps([told, process_time() - started]), flush=True)
    if told is not False:
        break
"""


def matrix_of(name, n_trees, depth, n_examples):
    number = {"budget": 1} if name == "lp1" else {"lam": 1}
    return linear_program(specify(name, fitted_instance(3, n_trees, depth, n_examples), relaxed=True, **number)).A


def seconds_of_ours(matrix, expected):
    started = process_time()
    answer = is_totally_unimodular(matrix)
    seconds = process_time() - started
    assert bool(answer) is expected
    assert answer.check()
    return f"{seconds:.3f}"


def seconds_of_cmr(python, matrix, expected):
    """Return what CMR takes for the answer, and for a violating submatrix."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "matrix.npz"
        sparse.save_npz(file, sparse.coo_array(matrix.astype(np.int64)))
        asked = [python, "-c", BY_CMR, str(file), str(TIME_LIMIT)]
        try:
            run = subprocess.run(asked, capture_output=True, text=True, timeout=4 * TIME_LIMIT, check=False)
            lines, ended = run.stdout.splitlines(), "" if run.returncode == 0 else f"ended with {run.returncode}"
        except subprocess.TimeoutExpired as stopped:
            lines, ended = (stopped.stdout or b"").decode().splitlines(), "stopped"
    told = []
    for answer, seconds in map(json.loads, lines):
        assert answer in (expected, None), f"CMR says {answer}"
        told.append(f"{seconds:.3f}" if answer is not None else f"none in {seconds:.0f}")
    missing = ended or ("" if expected else "not asked")
    return [*told, missing, missing][:2]


def main(python, file):
    is_totally_unimodular(np.eye(2, dtype=np.int64))
    is_totally_unimodular(matrix_of("ip1", 2, 2, 5))
    is_totally_unimodular(matrix_of("ip3", 2, 2, 5))
    records = []
    for name, size, expected in SIZES:
        matrix = matrix_of(name, *size)
        answer, violator = seconds_of_cmr(python, matrix, expected)
        records.append(
            {
                "program": name,
                "rows": matrix.shape[0],
                "columns": matrix.shape[1],
                "totally_unimodular": "yes" if expected else "no",
                "ours": seconds_of_ours(matrix, expected),
                "CMR": answer,
                "CMR_with_violator": violator,
            }
        )
        print(records[-1], flush=True)
        Path(file).write_text(records_to_csv(records), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
