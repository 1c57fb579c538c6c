"""The examples and the notebook run as they are."""

import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "python/examples"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(example):
    if "triton" in example.read_text():
        pytest.importorskip("triton")
    ended = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0 and ended.stdout, ended.stderr


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    cells = nbformat.read(notebook, as_version=4)
    assert not any(cell.get("outputs") for cell in cells.cells), "outputs are not kept in the repository"
    nbclient.NotebookClient(cells, timeout=600, resources={"metadata": {"path": EXAMPLES}}).execute()
    outputs = [cell.outputs for cell in cells.cells if cell.cell_type == "code"][1:]
    assert all(any("text/html" in output.get("data", {}) for output in each) for each in outputs)
