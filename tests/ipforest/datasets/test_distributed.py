"""Files as publishers distribute them: small ones of the same format, and what is wrong with damaged ones."""

import gzip
import io
import json
import tarfile

import numpy as np
import pytest

from ipforest import datasets
from ipforest.cli import main
from ipforest.datasets import raw_files
from ipforest.datasets.distributed import MINIBOONE_PARTS, import_data

RNG = np.random.default_rng(0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    there = tmp_path / "data"
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(there))
    return there


def miniboone(path, values, counts):
    lines = [" ".join(f"{value:.6g}" for value in row) for row in values]
    path.write_text("\n".join([f"  {counts[0]}  {counts[1]}", *lines, ""]))


def test_miniboone(folder, tmp_path):
    values = RNG.normal(size=(5, 50)).round(3)
    values[3] = -999
    miniboone(tmp_path / "MiniBooNE_PID.txt", values, (2, 3))
    assert import_data("miniboone", tmp_path / "MiniBooNE_PID.txt", folder) == folder / "miniboone.npz"
    data = datasets.load("miniboone")
    np.testing.assert_array_equal(data.X, values.astype(np.float32))
    assert [data.class_names[label] for label in data.y] == ["signal"] * 2 + ["background"] * 3
    assert data.split is None


def test_the_parts_of_miniboone_have_the_sizes_of_the_papers(folder, tmp_path):
    n_events = sum(MINIBOONE_PARTS) + 7
    row = " ".join(["0"] * 50) + "\n"
    (tmp_path / "whole.txt").write_text(f"7 {n_events - 7}\n" + row * n_events)
    import_data("miniboone", tmp_path / "whole.txt", folder)
    assert np.bincount(datasets.load("miniboone").split).tolist() == [*MINIBOONE_PARTS, 7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3\n1\n", "expected two counts in the first line, got b'1 2 3'"),
        ("1 1\n" + " ".join(["0"] * 50) + "\n", r"expected 2 lines of 50 values, got \(1, 50\)"),
        ("1 1\n" + " ".join(["0"] * 50) + "\n0 1\n", "expected numbers, as many in each line, got: "),
        ("1 1\nword\n", "expected numbers, as many in each line, got: "),
    ],
)
def test_damaged_events_are_refused(folder, tmp_path, text, message):
    (tmp_path / "events.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        import_data("miniboone", tmp_path / "events.txt", folder)
    assert not (folder / "miniboone.npz").exists()


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_covertype(folder, tmp_path, ending):
    X = RNG.integers(0, 3000, (6, 54))
    kinds = np.array([1, 7, 2, 2, 5, 3])
    lines = "".join(",".join(map(str, row)) + "\n" for row in np.column_stack([X, kinds]).tolist()).encode()
    path = tmp_path / f"covtype.data{ending}"
    path.write_bytes(gzip.compress(lines) if ending else lines)
    import_data("forest", path, folder)
    data = datasets.load("forest")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, kinds - 1)
    assert (data.feature_names[0], data.feature_names[-1]) == ("Elevation", "Soil_Type40")


def test_covertype_has_seven_kinds(folder, tmp_path):
    for n_attributes, got in ((54, "8 to 8"), (2, "3 values")):
        (tmp_path / "covtype.data").write_text(",".join(["0"] * n_attributes + ["8"]) + "\n")
        with pytest.raises(ValueError, match=f"expected 54 attributes and a class from 1 to 7 in each line, got {got}"):
            import_data("forest", tmp_path / "covtype.data", folder)
    (tmp_path / "covtype.data.gz").write_bytes(gzip.compress(b"1,2\n" * 1000)[:40])
    with pytest.raises(ValueError, match=r"covtype\.data\.gz: expected a whole compressed file"):
        import_data("forest", tmp_path / "covtype.data.gz", folder)


def idx(path, magic, values):
    head = b"".join(int(number).to_bytes(4, "big") for number in (magic, *values.shape))
    content = head + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def test_mnist(folder, tmp_path):
    images, labels = RNG.integers(0, 256, (9, 3, 2)), RNG.integers(0, 10, 9)
    idx(tmp_path / "train-images-idx3-ubyte.gz", 0x0803, images[:6])
    idx(tmp_path / "train-labels-idx1-ubyte", 0x0801, labels[:6])
    idx(tmp_path / "t10k-images.idx3-ubyte", 0x0803, images[6:])
    with pytest.raises(FileNotFoundError, match="expected t10k-labels-idx1-ubyte or"):
        import_data("mnist", tmp_path, folder)
    idx(tmp_path / "t10k-labels-idx1-ubyte.gz", 0x0801, labels[6:])
    import_data("mnist", tmp_path, folder)
    data = datasets.load("mnist")
    np.testing.assert_array_equal(data.X, images.reshape(9, 6))
    np.testing.assert_array_equal(data.y, labels)
    assert data.split.tolist() == [0] * 5 + [1] + [2] * 3
    idx(tmp_path / "train-labels-idx1-ubyte", 0x0801, labels[:6] + 17)
    with pytest.raises(ValueError, match="expected classes from 0 to 9, got "):
        import_data("mnist", tmp_path, folder)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x03")
    with pytest.raises(ValueError, match="expected an idx file that begins with 0x0801"):
        import_data("mnist", tmp_path, folder)


@pytest.mark.parametrize("shape", [(0, 65_535, 65_535), (1, 29, 28), (2, 3, 2)])
def test_images_of_no_bytes_or_of_too_many_pixels_are_refused(folder, tmp_path, shape):
    """There is a name for each pixel, however few bytes the images have."""
    for part, sizes in (("train", shape), ("t10k", (2, 28, 28))):
        idx(tmp_path / f"{part}-images-idx3-ubyte", 0x0803, np.zeros(sizes))
        idx(tmp_path / f"{part}-labels-idx1-ubyte", 0x0801, np.zeros(sizes[0]))
    with pytest.raises(ValueError, match=r"bytes of values, at least one|images of one size"):
        import_data("mnist", tmp_path, folder)
    assert not (folder / "mnist.npz").exists()


def bomb(path, n_bytes):
    path.write_bytes(gzip.compress(bytes(n_bytes)))


def test_what_unpacks_to_a_thousand_times_its_size_is_not_unpacked(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(raw_files, "SPARE_BYTES", 1 << 10)
    for name, file in (("forest", "covtype.data.gz"), ("miniboone", "events"), ("cifar10", "cifar.tar.gz")):
        bomb(tmp_path / file, 1 << 20)
        with pytest.raises(
            ValueError, match=r"expected a compressed file of at most \d+ bytes, got one that unpacks to"
        ):
            import_data(name, tmp_path / file, folder)
    bomb(tmp_path / "train-images-idx3-ubyte.gz", 1 << 20)
    with pytest.raises(ValueError, match="got one that unpacks to more"):
        import_data("mnist", tmp_path, folder)


def test_damaged_compression_is_refused(folder, tmp_path):
    content = bytearray(gzip.compress(",".join("0" * 54 + "1").encode() + b"\n"))
    content[10] = 0xFF  # a block of a type that there is not
    (tmp_path / "covtype.data.gz").write_bytes(content)
    with pytest.raises(ValueError, match="expected a whole compressed file"):
        import_data("forest", tmp_path / "covtype.data.gz", folder)


def archive_of(path, *members):
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))


def test_archives_whose_members_are_no_plain_files_are_refused(folder, tmp_path):
    """A sparse member of few bytes says that it has many; links lead elsewhere."""
    path = tmp_path / "cifar-10-binary.tar.gz"
    sparse = tarfile.TarInfo("data_batch_1.bin")
    sparse.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(sparse.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"77777777777\0"  # the size that it claims
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header[:512]):06o}\0 ".encode()
    path.write_bytes(gzip.compress(bytes(header) + bytes(1024)))
    with pytest.raises(FileNotFoundError, match=r"expected data_batch_1\.bin \(or"):
        import_data("cifar10", path, folder)
    link = tarfile.TarInfo("data_batch_1.bin")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    archive_of(path, (link, b""))
    with pytest.raises(FileNotFoundError, match=r"expected data_batch_1\.bin \(or"):
        import_data("cifar10", path, folder)


def test_an_archive_of_long_names_of_long_names_is_refused(folder, tmp_path):
    names = tarfile.TarInfo("././@LongLink")
    names.type, names.size = tarfile.GNUTYPE_LONGNAME, 2
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(gzip.compress((names.tobuf(tarfile.GNU_FORMAT) + b"a\0".ljust(512, b"\0")) * 3000))
    with pytest.raises(ValueError, match="expected an archive of CIFAR-10, got"):
        import_data("cifar10", path, folder)


def text_of_python2(content):
    return b"T" + len(content).to_bytes(4, "little") + content


def batch_of_python2(labels, pixels, array=b"cnumpy.core.multiarray\n_reconstruct\n", kind=b"u1", shape=None):
    """Pickle labels and pixels as Python 2 and NumPy did for CIFAR-10: protocol 2, texts of bytes."""
    n_rows, n_columns = shape or pixels.shape
    rows, columns = (b"J" + size.to_bytes(4, "little") for size in (n_rows, n_columns))
    dtype = b"cnumpy\ndtype\n" + text_of_python2(kind) + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + text_of_python2(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    new = array + b"cnumpy\nndarray\nK\x00\x85" + text_of_python2(b"b") + b"\x87R"
    state = b"(K\x01" + rows + columns + b"\x86" + dtype + b"\x89" + text_of_python2(pixels.tobytes()) + b"tb"
    counted = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    data, named = text_of_python2(b"data"), text_of_python2(b"labels")
    about = text_of_python2(b"batch_label") + text_of_python2(b"training batch 1 of 5")
    return b"\x80\x02}(" + about + named + counted + data + new + state + b"u."


STEMS = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")


VERSIONS = {
    "binary": (".bin", lambda rows: rows.tobytes()),
    "python": ("", lambda rows: batch_of_python2(rows[:, 0], rows[:, 1:])),
}
"""What names of files end with, and what they hold of records."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("packed", [False, True])
def test_cifar10(folder, tmp_path, packed, version):
    records = RNG.integers(0, 256, (7, 3073)).astype(np.uint8)
    records[:, 0] %= 10
    ending, written = VERSIONS[version]
    path = unpacked = tmp_path / "cifar-10-batches"
    unpacked.mkdir()
    for stem, rows in zip(STEMS, np.split(records, [1, 2, 3, 4, 5]), strict=True):
        (unpacked / f"{stem}{ending}").write_bytes(written(rows))
    if packed:
        path = tmp_path / f"cifar-10-{version}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(unpacked, unpacked.name)
    import_data("cifar10", path, folder)
    data = datasets.load("cifar10")
    np.testing.assert_array_equal(data.X, records[:, 1:])
    np.testing.assert_array_equal(data.y, records[:, 0])
    assert data.split.tolist() == [0] * 4 + [1] + [2] * 2


PIXELS = np.zeros((2, 3072), dtype=np.uint8)
FOREIGN_BATCHES = {
    "a function to call": (b"cposix\nsystem\n(S'echo'\ntR.", "a pickle that names posix.system"),
    "another array": (batch_of_python2([0, 1], PIXELS, array=b"cnumpy\nzeros\n"), "a pickle that names numpy.zeros"),
    "no dict": (b"\x80\x02].", "a pickle of a list"),
    "no labels": (b"\x80\x02}.", "labels"),
    "another type": (batch_of_python2([0, 1], PIXELS, kind=b"f8"), "an array that is not of bytes"),
    "more rows than bytes": (batch_of_python2([0, 1], PIXELS, shape=(2**31 - 1, 3072)), "cannot reshape"),
    "fewer labels": (batch_of_python2([0], PIXELS), "1 labels and pixels of shape"),
    "half of a file": (batch_of_python2([0, 1], PIXELS)[:4000], "pickle data was truncated"),
    "nothing": (b"", "Ran out of input"),
    "a persistent object": (b"Pmine\n.", "persistent"),
}


@pytest.mark.parametrize("what", FOREIGN_BATCHES)
def test_pickles_of_anything_but_labels_and_pixels_are_refused(folder, tmp_path, what):
    content, message = FOREIGN_BATCHES[what]
    for stem in STEMS:
        (tmp_path / stem).write_bytes(content)
    with pytest.raises(
        ValueError, match=f"expected data_batch_1 to hold labels and 3072 pixels per image, got: .*{message}"
    ):
        import_data("cifar10", tmp_path, folder)


def test_what_is_missing_of_cifar10_is_named(folder, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"expected data_batch_1\.bin \(or data_batch_1 to test_batch as pickles\)"
    ):
        import_data("cifar10", tmp_path, folder)
    (tmp_path / "data_batch_1").write_bytes(batch_of_python2([0, 1], PIXELS))
    with pytest.raises(FileNotFoundError, match="expected data_batch_2 "):
        import_data("cifar10", tmp_path, folder)
    archive = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as files:
        files.add(tmp_path / "data_batch_1", "data_batch_1")
    archive.write_bytes(archive.read_bytes()[:30])
    with pytest.raises(ValueError, match="expected an archive"):
        import_data("cifar10", archive, folder)


def test_the_command_lists_and_takes_in(folder, tmp_path, capsys):
    assert main(["data", "--json"]) == 0
    origins = {row["name"]: row["origin"] for row in json.loads(capsys.readouterr().out)}
    assert origins["digits"] == "here"
    assert "UCI" in origins["miniboone"]
    miniboone(tmp_path / "MiniBooNE_PID.txt", RNG.normal(size=(2, 50)), (1, 1))
    assert main(["data", "miniboone", str(tmp_path / "MiniBooNE_PID.txt")]) == 0
    assert main(["data"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("miniboone")).split()[1:] == ["2", "50", "here"]


def test_the_command_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(datasets.DATA_VARIABLE, raising=False)
    for arguments, message in (
        (["letters", "file"], "--folder: expected the data folder, here or in IPFOREST_DATA, got neither"),
        (["miniboone"], "FILE: expected the file, archive or folder of miniboone, got none"),
        (["letters", "x", "--folder", str(tmp_path)], "vehicle, got 'letters'"),
        (["--prices", "heart.cost"], "--out: expected the CSV file to write, got none"),
    ):
        assert main(["data", *arguments]) == 2
        assert message in capsys.readouterr().err


def documents(path, n_documents, widths, seed, queries=True):
    """Write documents with the features of some numbers; return what was written, dense."""
    rng = np.random.default_rng(seed)
    lines, dense = [], []
    for document in range(n_documents):
        values = rng.random(len(widths)).round(4)
        query = f" qid:{seed * 100 + document // 3}" * queries
        features = " ".join(f"{number}:{value}" for number, value in zip(widths, values, strict=True))
        lines.append(f"{document % 5}{query} {features}")
        dense.append(values)
    path.write_text("\n".join(lines) + "\n")
    return np.array(dense)


def test_yahoo_has_the_features_that_occur_and_a_price_for_each(folder, tmp_path):
    used = sorted(np.random.default_rng(1).permutation(np.arange(1, 700))[:519].tolist())
    for number, part in enumerate(("train", "valid", "test")):
        numbers = used if part == "train" else used[::2]
        values = documents(tmp_path / f"set1.{part}.txt", 7, numbers, number)
    prices = np.random.default_rng(2).choice([1, 5, 20, 50, 100, 150, 200], 519)
    (tmp_path / "yahoo_cs_cost").write_text("".join(f"{price:.6f}\n" for price in prices))
    import_data("yahoo", tmp_path, folder)
    data = datasets.load("yahoo")
    assert data.X.shape == (21, 519)
    assert data.feature_names == tuple(f"feature{number}" for number in used)
    assert [float(price) for price in data.costs.prices] == prices.tolist()
    assert (data.currency, data.class_names) == ("price units", tuple("01234"))
    np.testing.assert_allclose(data.X[14:, ::2], values, rtol=1e-6)
    assert not data.X[14:, 1::2].any()
    assert data.queries.tolist() == [*[0] * 3, *[1] * 3, 2, *[100] * 3, *[101] * 3, 102, *[200] * 3, *[201] * 3, 202]
    (tmp_path / "yahoo_cs_cost").write_text("1\n5\n")
    with pytest.raises(ValueError, match=r"expected 519 prices, one per feature that occurs, or \d+, .* got 2"):
        import_data("yahoo", tmp_path, folder)


def test_letor_costs_one_per_feature(folder, tmp_path):
    for number, part in enumerate(("train", "vali", "test")):
        documents(tmp_path / f"{part}.txt", 4, range(1, 47), number)
    train = (tmp_path / "train.txt").read_text().replace("\n", " #docid = GX000-00-0000000 inc = 1 prob = 0.1\n")
    (tmp_path / "train.txt").write_text(train)
    import_data("letor", tmp_path, folder)
    data = datasets.load("letor")
    assert (data.X.shape, data.currency, np.bincount(data.split).tolist()) == ((12, 46), "features", [4, 4, 4])
    documents(tmp_path / "vali.txt", 4, range(1, 47), 1, queries=False)
    with pytest.raises(ValueError, match=r"vali\.txt: expected qid:NUMBER in each line, got 0 of 4"):
        import_data("letor", tmp_path, folder)
    (tmp_path / "test.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"expected test\.txt or test\.txt\.gz in the folder, got neither"):
        import_data("letor", tmp_path, folder)


def test_the_text_format_of_budgetrf_has_prices_and_descriptors(folder, tmp_path):
    values = [documents(tmp_path / f"tiny{end}", 5, range(1, 6), 3, queries=False) for end in ("_tr", "_tv", "_te")]
    (tmp_path / "tiny_cost").write_text("0.1\n\n0.1\n\n0.2\n\n0.2\n\n0.2\n")
    (tmp_path / "tiny_costgroup").write_text("1\n\n1\n\n2\n\n2\n\n2\n")
    import_data("scene15", tmp_path, folder)
    data = datasets.load("scene15")
    np.testing.assert_allclose(data.X, np.concatenate(values), rtol=1e-6)
    assert np.bincount(data.split).tolist() == [5, 5, 5]
    assert data.queries is None
    used = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 1, 0]], dtype=bool)
    assert [float(cost) for cost in data.costs.cost_of(used)] == pytest.approx([0.1, 0.2, 0.3])
    import_data("miniboone", tmp_path, folder)
    assert datasets.load("miniboone").X.shape == (15, 5)


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        (
            "tiny_te",
            None,
            FileNotFoundError,
            "expected one file each that ends with _tr, _tv, _te in the folder, got 2",
        ),
        ("more_tr", "0 1:1\n", ValueError, "expected one file that ends with _tr, got 2"),
        ("tiny_tv", "0 1:one\n", ValueError, "tiny_tv: expected lines of a label and feature:value, got: "),
        ("tiny_tv", "0.5 1:1\n", ValueError, "expected whole numbers as labels, got other values"),
        ("tiny_tv", "0 0:1\n", ValueError, "tiny_tv: expected lines of a label and feature:value, got: "),
        ("tiny_tv", "0 2000000000:1\n", ValueError, "expected at most 100000 features, got number 2000000000"),
        ("tiny_cost", "1\n2\n", ValueError, "expected 5 prices, one per feature, got 2"),
        ("tiny_cost", "1 2\n", ValueError, "expected one number in each line, got 2"),
        (
            "tiny_costgroup",
            "1\n2\n",
            FileNotFoundError,
            "expected the prices of the features in a file that ends with _cost",
        ),
    ],
)
def test_a_folder_in_the_text_format_that_is_not_whole_is_refused(folder, tmp_path, name, content, error, message):
    for end in ("_tr", "_tv", "_te"):
        documents(tmp_path / f"tiny{end}", 3, range(1, 6), 3, queries=False)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(error, match=message):
        import_data("scene15", tmp_path, folder)


def test_descriptors_are_one_per_price(folder, tmp_path):
    for end in ("_tr", "_tv", "_te"):
        documents(tmp_path / f"tiny{end}", 3, range(1, 6), 3, queries=False)
    (tmp_path / "tiny_cost").write_text("1\n" * 5)
    (tmp_path / "tiny_costgroup").write_text("1\n" * 4)
    with pytest.raises(ValueError, match="expected 5 numbers of descriptors, one per price, got 4"):
        import_data("scene15", tmp_path, folder)
