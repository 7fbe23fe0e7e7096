"""The fuzzing command: seconds of it in every run, minutes with the slow tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).parents[2] / "fuzz_certificates.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "first_seed"),
    [(3, 1000), pytest.param(120, 2000, marks=[pytest.mark.slow, pytest.mark.long])],
    ids=["seconds", "minutes"],
)
def test_changed_files_are_refused_or_true(seconds, first_seed):
    command = [sys.executable, COMMAND, "--seconds", str(seconds), "--seed", str(first_seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    counted = re.search(r"(\d+) files: .*?(\d+) refused", done.stdout)
    assert counted, done.stdout
    assert int(counted[2]) > 20
