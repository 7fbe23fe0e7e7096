"""Turney's test costs: four files of one data set become a price list."""

import numpy as np
import pytest

from ipforest.cli import main
from ipforest.datasets.turney import read_test_costs
from ipforest.estimator import read_costs

FILES = {
    ".cost": "age:  1.00.\nchol: 7.27.\nfbs:  5.20.\nthal: 102.90.\n",
    ".expense": "age:  1.00, 1.00.\nchol: 7.27, 5.17.\nfbs:  5.20, 3.10.\nthal: 102.90, 102.90.\n",
    ".group": "chol: A.\nfbs: A.\nthal: B.\n",
    ".delay": "age: immediate.\nchol: delayed.\nfbs: delayed.\nthal: immediate.\n",
}


@pytest.fixture
def write(tmp_path):
    def files(**changed):
        for ending, text in {**FILES, **{f".{name}": text for name, text in changed.items()}}.items():
            (tmp_path / f"heart{ending}").write_text(text)
        return tmp_path / "heart"

    return files


@pytest.mark.parametrize("ending", ["", ".cost", ".delay"])
def test_four_files_are_one_list(write, ending):
    stem = write()
    rows = read_test_costs(f"{stem}{ending}")
    assert [tuple(row.values()) for row in rows] == [
        ("age", "1.00", "1.00", "", 0),
        ("chol", "7.27", "5.17", "A", 1),
        ("fbs", "5.20", "3.10", "A", 1),
        ("thal", "102.90", "102.90", "", 0),
    ]


def test_the_list_is_read_as_prices(write, tmp_path, capsys):
    out = tmp_path / "prices.csv"
    assert main(["data", "--prices", str(write()), "--out", str(out)]) == 0
    assert "4 tests" in capsys.readouterr().out
    costs = read_costs(out, 4, ["age", "chol", "fbs", "thal"])
    paid = costs.cost_of(np.array([[1, 1, 1, 0], [0, 0, 1, 1]], dtype=bool))
    assert [float(cost) for cost in paid] == pytest.approx([1 + 7.27 + 3.10, 5.20 + 102.90])


def test_costs_alone_are_enough(tmp_path):
    (tmp_path / "pima.cost").write_text("glucose: 17.61\n\nage: 1\n")
    assert [row["cost"] for row in read_test_costs(tmp_path / "pima")] == ["17.61", "1"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cost": "age 1.00\n"}, r"heart\.cost, line 1: expected a test, a colon, 1 values, got 'age 1\.00'"),
        ({"expense": "age: 1.00.\n"}, r"heart\.expense, line 1: expected a test, a colon, 2 values"),
        ({"expense": "age: 2.00, 1.00.\n"}, r"expected the cost 1\.00 of 'age' as in heart\.cost, got 2\.00"),
        ({"group": "ca: A.\n"}, r"heart\.group: expected tests of heart\.cost, got 'ca'"),
        ({"cost": "age: 1,00.\n"}, r"heart\.cost, line 1: expected a test, a colon, 1 values, got 'age: 1,00\.'"),
        ({"cost": "age: $1.\n"}, r"heart\.cost, line 1: expected finite numbers >= 0, got 'age: \$1\.'"),
        ({"cost": "\nage: nan.\n"}, r"heart\.cost, line 2: expected finite numbers >= 0, got 'age: nan\.'"),
        ({"expense": "age: 1.00, -1.\n"}, r"heart\.expense, line 1: expected finite numbers >= 0"),
        ({"delay": "age: tomorrow.\n"}, r"heart\.delay: expected immediate or delayed for 'age', got 'tomorrow'"),
    ],
)
def test_lines_of_another_form_are_named(write, changed, message):
    with pytest.raises(ValueError, match=message):
        read_test_costs(write(**changed))


def test_a_file_of_an_editor_of_windows_is_read_and_one_in_another_encoding_named(tmp_path):
    (tmp_path / "pima.cost").write_bytes("\ufeffglucosé: 17.61\r\nage: 1\r\n".encode())
    assert [row["feature"] for row in read_test_costs(tmp_path / "pima")] == ["glucosé", "age"]
    (tmp_path / "pima.cost").write_bytes("glucosé: 17.61\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"pima\.cost: expected text in UTF-8, got: "):
        read_test_costs(tmp_path / "pima")


def test_a_file_of_another_size_is_not_read(write):
    with pytest.raises(ValueError, match=r"heart\.cost: expected at most 1048576 bytes, got 3000000"):
        read_test_costs(write(cost="a:1\n" * 750_000))


def test_the_costs_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"heart\.cost: expected the file with the costs of the tests"):
        read_test_costs(tmp_path / "heart.delay")
