"""Every notebook runs from top to bottom, nearly all in less than a minute, and was committed with its outputs."""

import ast
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
LONG = (
    "02_formulations",
    "03_solvers",
    "04_proofs",
    "05_path",
    "08_cascades",
    "09_sessions",
    "10_adaptive",
    "12_frontier",
    "13_own_formulation",
    "14_atlas",
    "15_clinic",
)
"""A quarter of a minute or more of a processor each; CI runs the others."""
OURS = ("ipforest", "formulations", "proofs")
TIME_LIMIT_S = 300
"""Five times what a notebook may take on a quiet machine."""


def test_there_are_notebooks():
    assert NOTEBOOKS
    assert len({int(path.name[:2]) for path in NOTEBOOKS}) == len(NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_committed(path):
    nbformat = pytest.importorskip("nbformat")
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert any(cell.outputs for cell in cells)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_pictures_are_committed(path):
    nbformat = pytest.importorskip("nbformat")
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and any(call in cell.source for call in ("plt.show()", "plt.subplots(", " Image(")):
            assert any("image/png" in output.get("data", {}) for output in cell.outputs), cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_imported_is_there(path):
    nbformat = pytest.importorskip("nbformat")
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    ours = [
        node
        for node in ast.walk(ast.parse("\n".join(cells)))
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in OURS
    ]
    exec(compile(ast.Module(ours, []), path.stem, "exec"), {})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=pytest.mark.long if path.stem in LONG else ()) for path in NOTEBOOKS],
)
def test_runs(path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    in_its_folder = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=TIME_LIMIT_S, kernel_name="python3", resources=in_its_folder).execute()
