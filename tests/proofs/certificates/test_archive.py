"""Files that are no certificate, one for each condition of reading: each is refused in one line, by its reason."""

import io
import json
import struct
import zipfile
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from proofs.certificates import path_file, pruning_file
from proofs.certificates.archive import (
    FLOW_ARRAYS,
    MAX_DIRECTORY_BYTES,
    MAX_HEADER_BYTES,
    CertificateFileError,
    instance_parts,
    read_archive,
    write_archive,
)
from proofs.certificates.pruning_file import read_certificate, verify_certificate_file
from tests.proofs.certificates.handmade import (
    STANDARD,
    STANDARD_FLOW,
    STANDARD_PATH,
    STUMP,
    A,
    changed,
    claims_of,
    kept,
    make,
    path,
)

FIRST, NOTHING = kept(1, 0), kept(0, 0)
OF_A_PATH = ("breakpoints", "errors", "costs", "node_breakpoint", "flow")


def result(**changes):
    """Return the standard result, as a solver would."""
    stated = {"status": "optimal", "lam": Fraction(1), "method": "by hand", "flow": STANDARD_FLOW}
    stated |= {"pruning": SimpleNamespace(kept=FIRST), **claims_of(STANDARD, Fraction(1), FIRST)}
    return SimpleNamespace(**stated | changes)


def whole_path(**changes):
    """Return the standard path, as `prune_path` would."""
    return SimpleNamespace(instance=STANDARD, **{name: getattr(STANDARD_PATH, name) for name in OF_A_PATH} | changes)


@pytest.fixture
def pruning_certificate(tmp_path):
    file = tmp_path / "pruning.cert"
    pruning_file.write_certificate(file, STANDARD, result(), {"budget": "5"})
    return file


@pytest.fixture
def path_certificate(tmp_path):
    file = tmp_path / "path.cert"
    path_file.write_path_certificate(file, whole_path(), {"budget": "5"})
    return file


def members_of(file):
    """Return the members of a certificate file by name."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(file, members, compression=zipfile.ZIP_STORED):
    """Write members, pairs of a name and bytes, as a ZIP archive."""
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)


def reason(file):
    """Return why a file is refused, without its name."""
    verdict = verify_certificate_file(file)
    assert not verdict
    assert "\n" not in verdict.reason
    return verdict.reason.removeprefix(f"{file}: ").removeprefix("not a complete certificate file: ")


def test_certificates_are_read_back(pruning_certificate, path_certificate):
    for file in (pruning_certificate, path_certificate):
        assert verify_certificate_file(file)
        certificate = read_certificate(file)
        assert certificate.provenance == {"budget": "5"}
        assert certificate.instance.fingerprint() == STANDARD.fingerprint()
        assert sorted(path.name for path in file.parent.iterdir()) == ["path.cert", "pruning.cert"]
    assert read_certificate(pruning_certificate).lam == 1
    assert read_certificate(path_certificate).path.breakpoints == STANDARD_PATH.breakpoints


def test_a_certificate_is_about_one_instance(pruning_certificate, path_certificate):
    others = [changed(STANDARD, errors=[errors, 0, 0, 1, 0, 0]) for errors in range(6, 12)]
    assert {other.fingerprint() > STANDARD.fingerprint() for other in others} == {True, False}
    for file in (pruning_certificate, path_certificate):
        proved = verify_certificate_file(file).reason
        assert verify_certificate_file(file, STANDARD).reason == f"{proved}; the instance is the one given"
        for other in others:
            verdict = verify_certificate_file(file, other)
            assert not verdict
            assert verdict.reason.startswith("instance: the certificate is about")


def test_the_right_instance_saves_no_false_claim(pruning_certificate, tmp_path):
    header, arrays = read_archive(pruning_certificate)
    write_archive(tmp_path / "other.cert", {**header, "error": "2"}, arrays)
    assert verify_certificate_file(tmp_path / "other.cert", STANDARD).reason == "the error is 1, not 2"


def test_nothing_false_is_written(tmp_path):
    with pytest.raises(ValueError, match="result: expected a provably optimal pruning, but the error is 1"):
        pruning_file.write_certificate(tmp_path / "no.cert", STANDARD, result(error=Fraction(2)))
    with pytest.raises(ValueError, match="path: expected a provably optimal path, but the path carries no flow"):
        path_file.write_path_certificate(tmp_path / "no.cert", whole_path(flow=None))
    with pytest.raises(ValueError, match="header entry 'provenance' is neither"):
        pruning_file.write_certificate(tmp_path / "no.cert", STANDARD, result(), {"budget": "1\n2"})
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_finished_is_not_left(tmp_path):
    header, arrays = instance_parts(STANDARD, {})
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_archive(tmp_path / "no.cert", {**header, "format": "x"}, {**arrays, "odd": np.array([None])})
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        verify_certificate_file(tmp_path / "absent.cert")


# The container.


def test_an_archive_ends_without_comment(pruning_certificate, tmp_path):
    data = pruning_certificate.read_bytes()
    wrong_ends = (data[:-1], data + b"x", data[:-2] + b"\1\0", data[:-2] + b"\1\0x", b"", b"PK\5\6", data[:-22])
    for wrong in (*wrong_ends, b"\0" * 100):
        (tmp_path / "other.cert").write_bytes(wrong)
        assert reason(tmp_path / "other.cert") == "it does not end as a ZIP archive without comment does"


def test_equal_certificates_are_equal_files_at_any_time(pruning_certificate, tmp_path, monkeypatch):
    header, arrays = read_archive(pruning_certificate)
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_archive(tmp_path / "other.cert", header, arrays)
    assert (tmp_path / "other.cert").read_bytes() == pruning_certificate.read_bytes()


def test_members_are_few(pruning_certificate, tmp_path):
    pack(tmp_path / "many.cert", [(f"member {number}", b"") for number in range(400)])
    assert reason(tmp_path / "many.cert") == "it has too many members"


@pytest.mark.parametrize(("more", "expected"), [(0, "header.json"), (1, "it has too many members")])
def test_the_list_of_members_takes_16_kib(tmp_path, more, expected):
    """An entry takes 46 bytes and its name."""
    names = [f"{number:036}" for number in range(199)]
    names.append("x" * (MAX_DIRECTORY_BYTES - 46 * 200 - 36 * 199 + more))
    pack(tmp_path / "many.cert", [(name, b"") for name in names])
    assert expected in reason(tmp_path / "many.cert")


def test_members_are_few_by_both_counts(tmp_path):
    """State a short list of members in the old place, and a long one in the new."""
    pack(tmp_path / "many.cert", [(f"member {number}", b"") for number in range(400)])
    data = (tmp_path / "many.cert").read_bytes()
    start = data.index(b"PK\1\2")
    size = len(data) - 22 - start
    record = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 400, 400, size, start)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(data) - 22, 1)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 400, 400, 50, start, 0)
    (tmp_path / "many.cert").write_bytes(data[:-22] + record + locator + end)
    assert reason(tmp_path / "many.cert") == "it has too many members"


@pytest.mark.parametrize("name", ["instance/errors", "flow/up.npz", "more"])
def test_a_member_is_the_header_or_an_array(pruning_certificate, tmp_path, name):
    """``NAME`` and ``NAME.npy`` would be two readings of one array."""
    members = members_of(pruning_certificate)
    pack(tmp_path / "other.cert", [*dict(members).items(), (name, dict(members)["instance/errors.npy"])])
    assert reason(tmp_path / "other.cert").endswith("a member is neither header.json nor an array NAME.npy")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_members_are_not_compressed(pruning_certificate, tmp_path, method):
    pack(tmp_path / "other.cert", members_of(pruning_certificate).items(), method)
    assert reason(tmp_path / "other.cert") == "a member is compressed"


def test_members_are_no_larger_than_the_file(pruning_certificate, tmp_path):
    data = bytearray(pruning_certificate.read_bytes())
    entry = data.index(b"PK\1\2")
    data[entry + 20 : entry + 28] = struct.pack("<2I", 1 << 30, 1 << 30)
    (tmp_path / "other.cert").write_bytes(data)
    assert reason(tmp_path / "other.cert") == "its members are larger than the file"


@pytest.mark.parametrize("stored", [1 << 30, 1])
def test_members_have_one_size(pruning_certificate, tmp_path, stored):
    """Reading asks for as many bytes at once as are said to be stored."""
    data = bytearray(pruning_certificate.read_bytes())
    entry = data.index(b"PK\1\2")
    data[entry + 20 : entry + 24] = struct.pack("<I", stored)
    (tmp_path / "other.cert").write_bytes(data)
    assert reason(tmp_path / "other.cert") == "a member has two sizes"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_stand_once(pruning_certificate, tmp_path):
    members = list(members_of(pruning_certificate).items())
    pack(tmp_path / "other.cert", [*members, members[-1]])
    assert reason(tmp_path / "other.cert") == "a member stands twice"


def test_members_are_whole(pruning_certificate, tmp_path):
    data = bytearray(pruning_certificate.read_bytes())
    data[data.index(b"\x93NUMPY") + 130] ^= 1
    (tmp_path / "other.cert").write_bytes(data)
    assert reason(tmp_path / "other.cert").startswith("Bad CRC-32 for file")


def test_members_end_before_the_file_does(tmp_path):
    pack(tmp_path / "other.cert", [("header.json", b"{}")])
    data = bytearray(b"x" * 2000 + (tmp_path / "other.cert").read_bytes())
    entry = data.index(b"PK\1\2")
    data[entry + 20 : entry + 28] = struct.pack("<2I", 900, 900)
    (tmp_path / "other.cert").write_bytes(data)
    overlapping = "Overlapped entries: 'header.json' (possible zip bomb)"
    assert reason(tmp_path / "other.cert") in ("EOFError", overlapping)  # as Python's version has it


def test_a_header_is_there(pruning_certificate, tmp_path):
    members = members_of(pruning_certificate)
    del members["header.json"]
    pack(tmp_path / "other.cert", members.items())
    assert "header.json" in reason(tmp_path / "other.cert")


# The header.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" " * (MAX_HEADER_BYTES + 1), f"its header has more than {MAX_HEADER_BYTES} bytes"),
        ("[1]", "its header is no JSON object"),
        ("[1]".ljust(MAX_HEADER_BYTES), "its header is no JSON object"),
        ("[" * 60_000, ("maximum recursion depth exceeded", "Expecting value")),  # Python 3.14 reads to its end
        ("{", "Expecting property name"),
        ('{"é": 1}', "'ascii' codec can't decode"),
        ('{"format": "a", "format": "b"}', "a header entry stands twice"),
        ('{"provenance": {"a": "b", "a": "c"}}', "a header entry stands twice"),
        ('{"n_units": Infinity}', "'Infinity' in the header is no exact number"),
        ('{"n_units": NaN}', "'NaN' in the header is no exact number"),
        ('{"n_units": 1.5}', "'1.5' in the header is no exact number"),
        ('{"n_units": 1e1000000000}', "'1e1000000000' in the header is no exact number"),
        ('{"n_units": -1}', "header entry 'n_units' is neither an integer nor"),
        ('{"n_units": 9223372036854775808}', "header entry 'n_units' is neither an integer nor"),
        ('{"n_units": true}', "header entry 'n_units' is neither an integer nor"),
        ('{"n_units": null}', "header entry 'n_units' is neither an integer nor"),
        ('{"n_units": ["1"]}', "header entry 'n_units' is neither an integer nor"),
        ('{"provenance": {"a": {}}}', "header entry 'provenance' is neither an integer nor"),
        ('{"method": "a\\nb"}', "header entry 'method' is neither an integer nor"),
        ('{"method": "\\u001b[2J"}', "header entry 'method' is neither an integer nor"),
        ('{"method": "\\ud800"}', "header entry 'method' is neither an integer nor"),
        ('{"me\\nthod": "a"}', "header entry 'me\\nthod' is neither an integer nor"),
        (f'{{"lam": "{"1" * 2002}"}}', "header entry 'lam' is neither an integer nor"),
        ("9" * 5000, "Exceeds the limit"),
    ],
)
def test_headers_are_flat_and_exact(tmp_path, text, expected):
    pack(tmp_path / "other.cert", [("header.json", text.encode())])
    assert reason(tmp_path / "other.cert").startswith(expected)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": "something else"}, "not an ipforest certificate"),
        ({"format": "ipforest shopping list"}, "'ipforest shopping list' is no kind of certificate known here"),
        ({"format": "ipforest a"}, "'ipforest a' is no kind of certificate known here"),
        ({"version": 1}, "version 1, this checker knows 3"),
        ({"version": 4}, "version 4, this checker knows 3"),
        ({"version": "2"}, "version '2', this checker knows 3"),
        ({"extra": 1}, "header entries ['extra'] missing or unknown"),
        ({"lam": 1}, "lam: expected str, got int"),
        ({"n_units": "2"}, "n_units: expected int, got str"),
        ({"provenance": "none"}, "provenance: expected dict, got str"),
        ({"provenance": {"budget": 5}}, "provenance: expected texts, got other values"),
        ({"p": "1/2"}, "p: expected an integer, got 1/2"),
        *(
            ({"lam": text}, "lam: expected a number")
            for text in (
                "a third",
                "None",
                "1/0",
                "2/4",
                "01",
                "1e0",
                "1.0",
                "+1",
                " 1",
                "1/-2",
                "-0",
                "",
                "\N{ARABIC-INDIC DIGIT ONE}",
            )
        ),
        ({"lam": "1" * 1001}, "lam: expected a number"),
        ({"lam": "1e1000000000"}, "lam: expected a number"),
        ({"error_unit": "1/1"}, "error_unit: expected a number"),
        ({"lam": "2"}, "lambda 2 in integer units is 2, not 1/1"),
        ({"error": "2"}, "the error is 1, not 2"),
        ({"cost": "2"}, "the cost is 3, not 2"),
        ({"objective": "2"}, "the objective is 4, not 2"),
        ({"instance_sha256": "0" * 64}, "the instance's hash is"),
        ({"instance_sha256": "f" * 64}, "the instance's hash is"),
    ],
)
def test_headers_of_another_kind_are_refused(pruning_certificate, tmp_path, change, expected):
    header, arrays = read_archive(pruning_certificate)
    write_archive(tmp_path / "other.cert", {**header, **change}, arrays)
    assert reason(tmp_path / "other.cert").startswith(expected)


@pytest.mark.parametrize("name", ["lam", "method", "n_units", "provenance"])
def test_headers_are_whole(pruning_certificate, tmp_path, name):
    header, arrays = read_archive(pruning_certificate)
    del header[name]
    write_archive(tmp_path / "other.cert", header, arrays)
    assert reason(tmp_path / "other.cert") == f"header entries ['{name}'] missing or unknown"


def test_headers_hold_the_smallest_and_the_largest(tmp_path):
    header = {"format": "ipforest x", "version": 3, "least": 0, "most": 2**63 - 1, "text": "1" * 2001}
    write_archive(tmp_path / "other.cert", header, {})
    assert read_archive(tmp_path / "other.cert") == (header, {})


@pytest.mark.parametrize("digest", ["0" * 64, "f" * 64])
def test_another_seal_is_refused(pruning_certificate, tmp_path, digest):
    members = members_of(pruning_certificate)
    header = json.dumps(json.loads(members["header.json"]) | {"content_sha256": digest})
    pack(tmp_path / "other.cert", (members | {"header.json": header}).items())
    assert reason(tmp_path / "other.cert").startswith("content digest")


def test_what_is_sealed_stays_so(pruning_certificate, tmp_path):
    members = members_of(pruning_certificate)
    header = json.loads(members["header.json"])
    pack(tmp_path / "other.cert", (members | {"header.json": json.dumps(header | {"method": "another"})}).items())
    assert reason(tmp_path / "other.cert").startswith("content digest")


@pytest.mark.parametrize(
    "changes",
    [{"errors": [0, 1, 5]}, {"costs": [7, 3], "errors": [0, 0, 1, 6]}],
    ids=["another number", "a number moved to the next array"],
)
def test_arrays_are_sealed_by_name_and_size(path_certificate, tmp_path, changes):
    members = members_of(path_certificate)
    arrays = {f"{name}.npy": numpy_file(np.array(values)) for name, values in changes.items()}
    pack(tmp_path / "other.cert", (members | arrays).items())
    assert reason(tmp_path / "other.cert").startswith("content digest")


# The arrays.


def numpy_file(values, version=(1, 0), **options):
    """Return the bytes of an array as NumPy writes them."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, values, version=version, **options)
    return buffer.getvalue()


ONE = np.array([1, 0])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (numpy_file(ONE, (2, 0)), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE.astype(float)), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE.astype(">i8")), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE.astype("M8[D]")), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(np.array([{}]), allow_pickle=True), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE[None]), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(np.array(1)), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE).replace(b"(2,)", b"(-2,)"), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE).replace(b"\x76\0", b"\x75\0", 1), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE).replace(b"\x76\0", b"\x77\0", 1), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE).replace(b"(2,), } ", b"(9999999,), } "), "'odd.npy': expected a NumPy file of one dimension"),
        (numpy_file(ONE).replace(b"(2,)", b"(3,)"), "'odd.npy': expected 3 numbers, got 16 bytes"),
        (numpy_file(ONE) + b"more", "'odd.npy': expected 2 numbers, got 20 bytes"),
        (b"", "'odd.npy': expected a NumPy file of one dimension"),
    ],
)
def test_arrays_are_plain(tmp_path, data, expected):
    pack(tmp_path / "other.cert", [("header.json", b"{}"), ("odd.npy", data)])
    assert reason(tmp_path / "other.cert").startswith(expected)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("kept", None, "arrays ['kept'] missing or unknown"),
        ("more", ONE, "arrays ['more'] missing or unknown"),
        ("kept", ONE, "kept: expected a one-dimensional bool array"),
        ("flow/up", ONE.astype(np.int32), "flow/up: expected a one-dimensional int64 array"),
        ("instance/indices", ONE, "instance/indices: expected a one-dimensional int32 array"),
        ("kept", np.array([2, 0], dtype=np.uint8).view(bool), "kept: expected bytes 0 and 1"),
        ("kept", NOTHING, "the pruning is worth 0 scaled units"),
    ],
)
def test_arrays_of_another_kind_are_refused(pruning_certificate, tmp_path, name, values, expected):
    header, arrays = read_archive(pruning_certificate)
    arrays[name] = values
    write_archive(tmp_path / "other.cert", header, {name: array for name, array in arrays.items() if array is not None})
    assert reason(tmp_path / "other.cert").startswith(expected)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("q", [4], "p, q: expected as many of one as of the other, and q > 0"),
        ("q", [4, 3, 1], "p, q: expected as many of one as of the other, and q > 0"),
        ("q", [0, 3], "p, q: expected as many of one as of the other, and q > 0"),
        ("p", [1, 6], "acquisition 0 is not saturated at its breakpoint"),
        ("errors", [0, 1], "expected 3 errors and costs, got 2 and 3"),
        ("errors", [0, 2, 6], "error 1 of the path is 1, not 2"),
        ("costs", [7, 2, 0], "cost 1 of the path is 3, not 2"),
        ("kept", [1], "arrays ['kept'] missing or unknown"),
    ],
)
def test_forged_paths_are_refused(path_certificate, tmp_path, name, values, expected):
    header, arrays = read_archive(path_certificate)
    write_archive(tmp_path / "other.cert", header, {**arrays, name: np.array(values)})
    assert reason(tmp_path / "other.cert").startswith(expected)


def test_a_scale_of_one_is_read(tmp_path):
    instance = make([STUMP], {0: 3}, {0: [A]}, {A: 3})
    proved = path(instance, [0], (1,), (1,), [3], [0], [3], [0])
    file = tmp_path / "one.cert"
    stated = {name: getattr(proved, name) for name in OF_A_PATH}
    path_file.write_path_certificate(file, SimpleNamespace(instance=instance, **stated))
    assert verify_certificate_file(file)


@pytest.mark.parametrize("name", ["error_unit", "cost_unit"])
@pytest.mark.parametrize("value", ["0", "-1"])
def test_units_are_positive(path_certificate, tmp_path, name, value):
    header, arrays = read_archive(path_certificate)
    write_archive(tmp_path / "other.cert", header | {name: value}, arrays)
    assert reason(tmp_path / "other.cert") == f"error_unit, cost_unit: expected numbers > 0, got {value}"


def test_a_path_is_about_its_instance(path_certificate, tmp_path):
    header, arrays = read_archive(path_certificate)
    write_archive(tmp_path / "other.cert", header | {"instance_sha256": "0" * 64}, arrays)
    assert reason(tmp_path / "other.cert").startswith("the instance's hash is")
    write_archive(tmp_path / "other.cert", header | {"lam": "1"}, arrays)
    assert reason(tmp_path / "other.cert").startswith("header entries ['lam'] missing or unknown")


def test_what_cannot_be_read_is_an_error_of_its_own(tmp_path):
    (tmp_path / "other.cert").write_text("no certificate")
    with pytest.raises(CertificateFileError, match="not a complete certificate file"):
        read_certificate(tmp_path / "other.cert")


def test_the_format_is_what_is_documented(pruning_certificate, path_certificate):
    with zipfile.ZipFile(pruning_certificate) as archive:
        assert all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())
        assert {f"flow/{name}.npy" for name in FLOW_ARRAYS} < set(archive.namelist())
        assert json.loads(archive.read("header.json"))["version"] == 3
    with np.load(path_certificate) as arrays:
        assert arrays["p"].tolist() == [1, 5]
        assert arrays["node_breakpoint"].dtype == np.int32
