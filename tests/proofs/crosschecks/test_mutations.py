"""What the cross-check notices: every mutation of the package in `tests/crosscheck_mutations.py`."""

import subprocess
import sys

import pytest

from tests.crosscheck_mutations import MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_mutations_fit_the_source(mutation, tmp_path):
    file = tmp_path / mutation.file
    file.parent.mkdir(parents=True)
    file.write_text((ROOT / mutation.file).read_text())
    mutation.apply(tmp_path)
    assert file.read_text() != (ROOT / mutation.file).read_text()


def test_a_mutation_of_what_is_not_there_is_an_error(tmp_path):
    (tmp_path / "file.py").write_text("a b a")
    with pytest.raises(ValueError, match="expected 'a' once, got it 2 times"):
        Mutation("twice", "file.py", "a", "c").apply(tmp_path)


@pytest.mark.slow
@pytest.mark.long
def test_the_crosscheck_notices_every_mutation():
    done = subprocess.run([sys.executable, ROOT / "tests/crosscheck_mutations.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(MUTATIONS)} of {len(MUTATIONS)} mutations noticed" in done.stdout
