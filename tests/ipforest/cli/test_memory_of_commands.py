"""A command takes memory for the cells of the table that it reads, and little more: measured in its process."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzz_files import Server
from sklearn.ensemble import RandomForestClassifier

from ipforest.tabular.model_files import save_model

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("memory of commands")]

N_ROWS, N_COLUMNS = 200_000, 8
SPARE_BYTES = 50 << 20
SPARE_BYTES_OF_A_PROBLEM = 200_000_000
"""What a command takes beside ten times the table; `prune` makes a problem of it, which is larger than the table."""
NAMES = [f"f{number}" for number in range(N_COLUMNS)]


def write_table(file: Path, n_rows: int) -> None:
    """Write cells of one digit, for which cells in memory are largest."""
    X = np.random.default_rng(0).integers(0, 10, (n_rows, N_COLUMNS))
    table = np.column_stack([X, X[:, 0] + X[:, 1] > 9])
    with file.open("w") as opened:
        opened.write(",".join([*NAMES, "y"]) + "\n")
        np.savetxt(opened, table, fmt="%d", delimiter=",")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    write_table(folder / "few.csv", 300)
    write_table(folder / "many.csv", N_ROWS)
    prices = "".join(f"{name},{number + 1}\n" for number, name in enumerate(NAMES))
    (folder / "prices.csv").write_text("feature,cost\n" + prices)
    table = pd.read_csv(folder / "few.csv")
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(table[NAMES], table["y"])
    save_model(forest, folder / "forest.skops")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    server = Server()
    fit = ["fit", "--csv", "few.csv", "--target", "y", "--budget", "6", "--trees", "3", "--out", "model"]
    assert server.run([*in_folder(folder, fit), "--prices", str(folder / "prices.csv")])["code"] == 0
    yield server
    server.stop()


def in_folder(folder: Path, arguments: list[str]) -> list[str]:
    """Write the names of files as paths."""
    files = {"few.csv", "many.csv", "prices.csv", "forest.skops", "model", "out", "out.csv", "out/path.cert"}
    return [str(folder / part) if part in files else part for part in arguments]


PRUNE = ["prune", "--model", "forest.skops", "--prices", "prices.csv", "--budget", "4", "--certificate"]
COMMANDS = {
    "predict": ["predict", "--model", "model", "--csv", "many.csv", "--out", "out.csv"],
    "fit": ["fit", "--csv", "many.csv", "--prices", "prices.csv", "--target", "y", "--dry-run"],
    "prune": [*PRUNE, "--examples", "many.csv", "--out", "out"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_takes_ten_times_its_size_at_most(folder: Path, server: Server, command: str) -> None:
    answer = server.run(in_folder(folder, COMMANDS[command]))
    assert answer["code"] == 0, answer
    spare = SPARE_BYTES_OF_A_PROBLEM if command == "prune" else SPARE_BYTES
    assert answer["bytes"] <= 10 * (folder / "many.csv").stat().st_size + spare


def test_a_certificate_takes_ten_times_its_size_at_most(folder: Path, server: Server) -> None:
    prune = server.run(in_folder(folder, [*PRUNE, "--examples", "few.csv", "--out", "out"]))
    assert prune["code"] == 0, prune
    answer = server.run(
        ["verify", str(folder / "out" / "path.cert"), "--instance", str(folder / "out" / "instance.npz")]
    )
    assert answer["code"] == 0, answer
    assert answer["bytes"] <= 10 * (folder / "out" / "path.cert").stat().st_size + SPARE_BYTES
