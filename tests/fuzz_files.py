"""A seeded fuzzer of the files that commands read, certificates left to `fuzz_certificates.py`.

    python tests/fuzz_files.py --seconds 45 --seed 1

Models, arrays, tables, price lists, sessions, linear programs, data sets as publishers distribute them, saved problems.
Each file is a genuine one, edited: cut, flipped, an array changed, a node put into the schema, JSON nested deep, bombs.
The command that reads such files runs on it in another process. Whatever the file holds, no code of it runs, the
process lives, the command ends within a minute with a result or one line of complaint, and its memory grows by at most
ten times the file and 200 MB.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import gzip
import io
import json
import os
import pickle
import resource
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from edited_models import node, packed, plain, running, sequence, unpacked, with_attribute, with_edited_array

from ipforest.adaptive import BoostedSearch, GateSearch
from ipforest.classifier_trees import TreeObjective

SECONDS_FOR_ONE = 60
SPARE_BYTES = 200_000_000
COMMAND_CODES = (0, 1, 2)
COMPLAINT = "ipforest: error: "

Random = np.random.Generator


# The process that runs commands.


def serve() -> None:
    """Run commands, one per line of standard input, each a JSON list, and tell what came of it."""
    import skops.io  # noqa: F401  # it imports all of scikit-learn, and torch where that is installed: no file's doing

    from ipforest.cli import main

    answers = os.fdopen(os.dup(1), "w")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(1000)
    for line in sys.stdin:
        errors = io.StringIO()
        _forget_peak()
        before, start = _memory("VmRSS"), time.monotonic()
        failure = ""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors), _no_input():
            try:
                code = main(json.loads(line))
            except SystemExit as end:
                code = end.code
            except BaseException:
                code, failure = -1, traceback.format_exc()
        answer = {
            "code": code,
            "failure": failure,
            "errors": errors.getvalue()[-20_000:],
            "seconds": time.monotonic() - start,
            "bytes": _memory("VmHWM") - before,
        }
        print(json.dumps(answer), file=answers, flush=True)


@contextlib.contextmanager
def _no_input() -> Any:
    kept, sys.stdin = sys.stdin, io.StringIO("1\n\nquit\n")
    try:
        yield
    finally:
        sys.stdin = kept


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return 1024 * int(line.split()[1])


class Server:
    """A process that runs commands and is started again when one ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: list[str]) -> dict[str, Any]:
        """Run one command; of a process that ended, give its signal, or a timeout, as the failure."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(arguments) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], 2 * SECONDS_FOR_ONE)[0]:
            self.stop()
            return {"failure": "no end within two minutes"}
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self._process = None
            return {"failure": f"the process ended with {code}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            with self._process:  # closes its pipes
                self._process.kill()
            self._process = None


# Genuine files.


def make_files(folder: Path) -> None:
    """Write a file of each kind, and the others that the commands need beside it."""
    import joblib
    from sklearn.ensemble import (
        BaggingClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )

    import ipforest as ip
    from ipforest.adaptive import AdaptGbrt, AdaptLin
    from ipforest.classifier_trees import CSTC
    from ipforest.cli import main
    from ipforest.learners import BudgetRF, GreedyMiser
    from ipforest.path_search import PathSearch
    from ipforest.stopping.certified_stopping import CertifiedStopping
    from ipforest.stopping.optimal_stopping import OptimalStopping
    from ipforest.tabular.model_files import save_model

    random = np.random.default_rng(0)
    X = random.random((120, 4)).astype(np.float32).astype(float)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0.8).astype(int)
    import pandas as pd

    table = pd.DataFrame(X, columns=["age", "b c", "d", "e"])
    table.to_csv(folder / "table.csv", index=False)
    np.savez(folder / "table.npz", X=X, feature_names=np.array(list(table)))
    np.save(folder / "table.npy", X)
    prices = ["feature,cost,group,cost_in_group", "age,2,blood,1", "b c,3,blood,2", "d,1,,", "e,1/2,,", ""]
    (folder / "prices.csv").write_text("\n".join(prices))
    (folder / "prices.json").write_text(json.dumps({"age": 2, "b c": "3/2", "d": 1, "e": {"cost": 1.5}}))
    costs = ip.FeatureCosts([1, 2, 1, "1/2"], [0, 0, -1, -1], [1])
    forest = RandomForestClassifier(4, max_depth=3, random_state=0)
    full = GradientBoostingClassifier(n_estimators=3, random_state=0)
    pruned = ip.BudgetPrune(forest, feature_costs=costs, budget=2, random_state=0)
    stopping = {"feature_costs": costs, "budget": 2, "random_state": 0}
    small = {"feature_costs": costs, "n_estimators": 3, "random_state": 0}
    models = {
        "pruned": pruned,
        "certified": ip.EarlyExit(forest, stopping=CertifiedStopping(2, 10), **stopping),
        "stopped": ip.EarlyExit(full, stopping=OptimalStopping(), **stopping),
        "histogram": ip.EarlyExit(HistGradientBoostingClassifier(max_iter=3, random_state=0), **stopping),
        "boosted": ip.BudgetBoost(3, feature_costs=costs, budget=2, random_state=0),
        "grown": BudgetRF(voting="pooled", **small),
        "miser": GreedyMiser(**small),
        "linear": AdaptLin(full, search=GateSearch(shares=[0.5], lambdas=2), feature_costs=costs, random_state=0),
        "gated": AdaptGbrt(forest, search=BoostedSearch(shares=[0.5], lambdas=2, n_folds=2), **small),
        "tree": CSTC(feature_costs=costs, objective=TreeObjective(lambdas=2), random_state=0),
        "bagged": ip.EarlyExit(BaggingClassifier(n_estimators=3, max_features=2, random_state=0), **stopping),
    }
    for name, model in models.items():
        save_model(model.fit(table, y), folder / f"{name}.skops")
    save_model(forest.fit(table, y), folder / "forest.skops")
    joblib.dump(forest, folder / "forest.joblib")
    session = models["pruned"].session({"e": 0.5})
    while session.next_unit is not None:
        session.tell([0.5] * len(session.next_unit.features))
    (folder / "session.json").write_text(session.to_json())
    with contextlib.redirect_stdout(io.StringIO()):
        if main(["prune", *_files(folder), "--budget", "2", "--out", str(folder / "out")]):
            raise RuntimeError("the genuine files could not be made")
    search = PathSearch(ip.PruningInstance.load(folder / "out" / "instance.npz"), small=0)
    reports = 0

    def stop(share: float, message: str) -> None:
        nonlocal reports
        reports += 1
        if reports == 3:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        search.run(stop)
    search.save(folder / "path.unfinished.npz")
    _make_distributed_files(folder, random)
    _make_programs(folder)


def _make_distributed_files(folder: Path, random: Random) -> None:
    """Write small data sets in the formats of their publishers."""
    lines = "".join(",".join(map(str, [*row, 1 + row[0] % 7])) + "\n" for row in random.integers(0, 300, (20, 54)))
    (folder / "covtype.data").write_text(lines)
    (folder / "covtype.data.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "german.dat").write_text("".join(f"{row}.5, {'ab'[row % 2]}, ?, {row % 3}\n" for row in range(20)))
    events = "\n".join(["2 3", *(" ".join(map(str, row)) for row in random.random((5, 50)).round(3)), ""])
    (folder / "MiniBooNE_PID.txt").write_text(events)
    (folder / "idx").mkdir()
    for part, count in (("train", 12), ("t10k", 3)):
        images = b"".join(size.to_bytes(4, "big") for size in (0x0803, count, 28, 28)) + random.bytes(count * 784)
        labels = b"".join(size.to_bytes(4, "big") for size in (0x0801, count)) + bytes(count)
        (folder / "idx" / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (folder / "idx" / f"{part}-labels-idx1-ubyte").write_bytes(labels)
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = 3073
            archive.addfile(member, io.BytesIO(bytes([1]) + random.bytes(3072)))
    (folder / "heart.cost").write_text("age: 1.00.\nchol: 7.27.\nfbs: 5.20.\n")
    (folder / "heart.expense").write_text("age: 1.00, 1.00.\nchol: 7.27, 5.17.\nfbs: 5.20, 3.10.\n")
    (folder / "heart.group").write_text("chol: A.\nfbs: A.\n")
    (folder / "heart.delay").write_text("age: immediate.\nchol: delayed.\nfbs: delayed.\n")


PROGRAMS = {
    "program.lp": """Minimize
 obj: 2 x + 3 y - z
Subject To
 a: x - y >= 1
 b: y + z <= 4
 c: x + z >= 1
Bounds
 0 <= x <= 5
 z <= 3
General
 x y
End
""",
    "program.mps": """NAME small
ROWS
 N obj
 G a
 L b
COLUMNS
 x obj 2 a 1
 y obj 3 a -1
 y b 1
 z obj -1 b 1
RHS
 rhs a 1 b 4
BOUNDS
 UP bnd x 5
 LI bnd y 0
ENDATA
""",
}


def _make_programs(folder: Path) -> None:
    """Write a linear program in both formats, and problems that `ipforest crosscheck` checks again."""
    from fractions import Fraction

    from ipforest.instance import PruningInstance
    from proofs.crosschecks.random_checks import save_draw, save_problem

    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
    save_draw(folder / "draw.json", 3, 4, ["none"])
    save_problem(folder / "problem.json", PruningInstance.load(folder / "out" / "instance.npz"), Fraction(1, 9))


def _files(folder: Path, **others: Path) -> list[str]:
    names = {"model": "forest.skops", "examples": "table.csv", "prices": "prices.csv"}
    files = {name: others.get(name, folder / file) for name, file in names.items()}
    return [part for name, file in files.items() for part in (f"--{name}", str(file))]


# Edits.


def cut(content: bytes, random: Random) -> bytes:
    """Leave out the end."""
    return content[: random.integers(len(content))]


def flipped(content: bytes, random: Random) -> bytes:
    """Change a few bytes."""
    changed = bytearray(content)
    for place in random.integers(len(changed), size=random.integers(1, 5)):
        changed[place] = random.integers(256)
    return bytes(changed)


def spliced(content: bytes, random: Random) -> bytes:
    """Repeat or move a part."""
    start, stop = np.sort(random.integers(len(content) + 1, size=2))
    place = random.integers(len(content) + 1)
    return content[:place] + content[start:stop] + content[place:]


def foreign(content: bytes, random: Random) -> bytes:
    """Put something of another kind in its place."""
    others = [b"", b"\0" * 100, b"PK\5\6" + b"\0" * 18, pickle.dumps({"X": [1]}), b"\x93NUMPY", b"null", b"\xff\xfe"]
    return others[random.integers(len(others))]


PLAIN = (cut, flipped, spliced, foreign)


def edited_text(content: bytes, random: Random) -> bytes:
    """Change words of a text: numbers, names, quotes, delimiters."""
    words = ["", "-1", "nan", "1e400", "1e999999999", "9" * 5000, "1/0", "0x1", "true", "null", '"', ",", "\0", "=1+1"]
    words += ["a" * 200_000, "\n", "[[red]]", "{}", "NaN", "_1", "1_0", "٣", "\u2028", "'"]
    text = content.decode()
    for _ in range(random.integers(1, 4)):
        start = random.integers(len(text) + 1)
        text = text[:start] + str(random.choice(words)) + text[start + random.integers(4) :]
    return text.encode("utf-8", "surrogatepass")


def edited_json(content: bytes, random: Random) -> bytes:
    """Put another value somewhere into a JSON text."""
    document = json.loads(content)
    values = [None, True, -1, 10**400, "x", [], {}, [[]], {"a": 1}, float("nan"), 1e308, "1/0", [1, 2], "age", 0.5]
    places = list(_places(document))
    holder, key = places[random.integers(len(places))]
    if random.integers(6) == 0 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = values[random.integers(len(values))]
    return json.dumps(document).encode()


def _places(value: Any) -> Any:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(entries):
        yield value, key
        yield from _places(inner)


def deep(content: bytes, random: Random) -> bytes:
    """Nest arrays or objects deep, alone or inside the text."""
    depth = int(random.choice([90, 200, 1_000, 100_000]))
    opening, closing = (("[", "]"), ('{"a":', "}"))[random.integers(2)]
    nested = f"{opening * depth}1{closing * depth}"
    text = content.decode()
    if random.integers(2):
        return nested.encode()
    place = text.find(":") + 1
    return (text[:place] + nested + text[place:]).encode()


def many(content: bytes, random: Random) -> bytes:
    """Write so many small values that each of them costs more memory than text."""
    part, size = str(random.choice(["[],", "{},", "-9,", "[[]],", '"ab",'])), int(random.choice([1, 4, 12])) << 20
    return f"[{part * (size // len(part))}1]".encode()


def bomb(content: bytes, random: Random) -> bytes:
    """Pack zeros into an archive: a member, or the schema, that unpacks to a thousand times its size."""
    size = int(random.choice([20, 400])) << 20
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inner in unpacked(content).items():
            archive.writestr(name, inner)
        name, start = [("schema2.json", b"["), ("more.npy", b"\x93NUMPY"), ("X2.npy", b"")][random.integers(3)]
        with archive.open(name, "w", force_zip64=True) as member:
            member.write(start)
            for _ in range(size >> 20):
                member.write(b"[" * (1 << 20) if name.endswith("json") else b"\0" * (1 << 20))
    return buffer.getvalue()


def huge_array(content: bytes, random: Random) -> bytes:
    """Let the header of an array speak of more entries than there are."""
    members = unpacked(content)
    name = str(random.choice([name for name in members if name.endswith(".npy")]))
    shape = [(10**12,), (10**6, 10**6), (0, 10**9), (10**9, 0), (-1,), (2**62, 4)][random.integers(6)]
    dtype, buffer = str(random.choice(["<f8", "<i4", "<U0", "|V0", "|O", "|b1"])), io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return packed({**members, name: buffer.getvalue() + b"\0" * 64})


def doubled(content: bytes, random: Random) -> bytes:
    """Let a member stand twice."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, inner in unpacked(content).items():
            archive.writestr(name, inner)
        name = str(random.choice(archive.namelist()))
        archive.writestr(zipfile.ZipInfo(name.removesuffix(".npy") if random.integers(2) else name), b"x")
    return buffer.getvalue()


def edited_schema(content: bytes, random: Random) -> bytes:
    """Change a node of the schema: its kind, its type, its number, or what it holds."""
    members = unpacked(content)
    schema = json.loads(members["schema.json"])
    nodes = list(_nodes(schema))
    chosen, other = (nodes[random.integers(len(nodes))] for _ in range(2))
    choice = random.integers(6)
    if choice == 0:
        chosen["__loader__"] = other["__loader__"]
    elif choice == 1:
        chosen["__class__"], chosen["__module__"] = other["__class__"], other["__module__"]
    elif choice == 2:
        chosen["__id__"] = other.get("__id__", 1)
    elif choice == 3:
        chosen.update({key: value for key, value in other.items() if key != "__id__"})
    elif choice == 4 and "file" in chosen:
        chosen["file"] = other.get("file", "schema.json")
    else:
        key = random.choice([*chosen])
        chosen[str(key)] = [None, [], {}, "x", 7, plain(10**400), sequence(plain("x"))][random.integers(7)]
    return packed({**members, "schema.json": json.dumps(schema).encode()})


def swapped_json(content: bytes, random: Random) -> bytes:
    """Change numbers and texts that the schema holds."""
    members = unpacked(content)
    schema = json.loads(members["schema.json"])
    leaves = [leaf for leaf in _nodes(schema) if leaf["__loader__"] == "JsonNode"]
    values = [None, -1, 0, 1, 7, 10**6, 10**30, float("nan"), float("inf"), "x", True, 0.5, "<", "float64"]
    for _ in range(random.integers(1, 4)):
        leaf = leaves[random.integers(len(leaves))]
        leaf["content"], leaf["__id__"] = json.dumps(values[random.integers(len(values))]), 0
    return packed({**members, "schema.json": json.dumps(schema).encode()})


def _nodes(value: Any) -> Any:
    if isinstance(value, dict):
        if "__loader__" in value:
            yield value
        for inner in value.values():
            yield from _nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


def evil(content: bytes, random: Random, folder: Path) -> bytes:
    """Hide what once ran code in a genuine model."""
    hidden = list(running(str(folder / "evil.pkl"), str(folder / "marker")).values())
    value = hidden[random.integers(len(hidden))]
    if random.integers(2):
        value = node("builtins.dict", "DictNode", key_types=sequence(kind="list"), content={"a": value})
    return with_attribute(content, value)


def repeated(content: bytes, random: Random) -> bytes:
    """Write short lines by the million: each of them costs more memory than text."""
    line, size = (
        [b"a\n", b"ab: 1\n", b" x1\n", b"1,", b" y\n"][random.integers(5)],
        int(random.choice([1, 4, 12])) << 20,
    )
    place = content.find(b"\n") + 1
    return content[:place] + line * (size // len(line)) + content[place:]


def unpacked_to_more(content: bytes, random: Random) -> bytes:
    """Compress what unpacks to a thousand times its size: zeros, or the genuine content and zeros."""
    size = int(random.choice([20, 400])) << 20
    start = gzip.decompress(content) if content.startswith(b"\x1f\x8b") and random.integers(2) else b""
    buffer = io.BytesIO()
    with gzip.open(buffer, "w", compresslevel=1) as packed_file:
        packed_file.write(start)
        for _ in range(size >> 20):
            packed_file.write(bytes(1 << 20))
    return buffer.getvalue()


def edited_inside(content: bytes, random: Random) -> bytes:
    """Edit what is compressed."""
    edits = (cut, flipped, flipped, flipped, spliced, foreign)
    return gzip.compress(edits[random.integers(len(edits))](gzip.decompress(content), random))


def with_member(content: bytes, random: Random) -> bytes:
    """Put members into an archive that are no files: links, sparse ones, long names, devices, huge sizes."""
    kinds = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME, tarfile.CHRTYPE]
    kinds += [tarfile.FIFOTYPE, tarfile.DIRTYPE, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.REGTYPE]
    member = tarfile.TarInfo("data_batch_1.bin")
    member.type, member.linkname = kinds[random.integers(len(kinds))], "/etc/passwd"
    member.size = int(random.choice([0, 100, 2**33 - 1]))
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"00000000000\x0000000000777\0"  # sparse: a piece, and the whole size
    header[483:495] = b"77777777777\0"
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    block = bytes(header) + random.bytes(512)
    plain_content = gzip.decompress(content)
    return gzip.compress(block * int(random.choice([1, 3, 3000])) + plain_content)


class Evil:
    """Runs code when it is unpickled."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (Path(self.marker), "ran")


# Cases.

Edit = Callable[[bytes, Random], bytes]
ARRAYS: tuple[Edit, ...] = (*PLAIN, with_edited_array, with_edited_array, huge_array, doubled, bomb)
TEXTS: tuple[Edit, ...] = (*PLAIN, edited_text, edited_text, edited_text)
JSON: tuple[Edit, ...] = (*TEXTS, edited_json, edited_json, deep, many)


class Case:
    """An edited file and the command that reads it."""

    def __init__(self, kind: str, file: Path, arguments: list[str]) -> None:
        self.kind, self.size, self.arguments = kind, file.stat().st_size, arguments


def draw(random: Random, folder: Path, kinds: list[str]) -> Case:
    """Draw a kind of file, an edit and a command."""
    kind = str(random.choice(kinds))
    return DRAWS[kind](random, folder)


def _write(folder: Path, name: str, content: bytes) -> Path:
    file = folder / "edited" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    return file


def _edited(folder: Path, name: str, edits: tuple[Edit, ...], random: Random) -> Path:
    content = (folder / name).read_bytes()
    return _write(folder, Path(name).name, edits[random.integers(len(edits))](content, random))


def _skops(random: Random, folder: Path) -> Case:
    def hide(content: bytes, random: Random) -> bytes:
        return evil(content, random, folder)

    edits = (*ARRAYS, *[with_edited_array] * 8, *[edited_schema, swapped_json] * 3, hide, hide)
    models = sorted(file.name for file in folder.glob("*.skops"))
    file = _edited(folder, str(random.choice(models)), edits, random)
    choice = random.integers(6)
    if file.name == "forest.skops" or choice == 0:
        commands = [
            ["prune", *_files(folder, model=file), "--lam", "1/100", "--json"],
            ["path", *_files(folder, model=file), "--json"],
            ["verify", str(folder / "out" / "optimality.cert"), *_files(folder, model=file)],
            ["verify", str(folder / "out" / "optimality.cert"), *_files(folder), "--pruned", str(file)],
        ]
        return Case("skops", file, commands[random.integers(4)])
    if choice == 1:
        return Case("skops", file, ["session", "--model", str(file), "--json"])
    return Case("skops", file, ["predict", "--model", str(file), "--csv", str(folder / "table.csv"), "--json"])


def _npz(random: Random, folder: Path) -> Case:
    choice = random.integers(3)
    if choice == 0:
        file = _edited(folder, "out/instance.npz", ARRAYS, random)
        return Case("npz", file, ["verify", str(folder / "out" / "optimality.cert"), "--instance", str(file)])
    name, edits = ("table.npy", PLAIN) if choice == 1 else ("table.npz", ARRAYS)
    file = _edited(folder, name, edits, random)
    return Case("npz", file, ["prune", *_files(folder, examples=file), "--lam", "1/100", "--json"])


def _json(random: Random, folder: Path) -> Case:
    choice = random.integers(3)
    if choice == 0:
        file = _edited(folder, "prices.json", JSON, random)
        return Case("json", file, ["prune", *_files(folder, prices=file), "--lam", "1/100", "--json"])
    if choice == 1:
        file = _edited(folder, "session.json", JSON, random)
        return Case("json", file, ["session", "--model", str(folder / "pruned.skops"), "--resume", str(file), "--json"])
    file = _edited(folder, "out/result.json", JSON, random)
    return Case("json", file, ["verify", str(folder / "out" / "optimality.cert"), "--result", str(file)])


def _csv(random: Random, folder: Path) -> Case:
    choice = random.integers(3)
    if choice == 0:
        file = _edited(folder, "prices.csv", TEXTS, random)
        return Case("csv", file, ["prune", *_files(folder, prices=file), "--lam", "1/100", "--json"])
    file = _edited(folder, "table.csv", TEXTS, random)
    if choice == 1:
        return Case("csv", file, ["prune", *_files(folder, examples=file), "--lam", "1/100", "--json"])
    return Case("csv", file, ["predict", "--model", str(folder / "pruned.skops"), "--csv", str(file), "--json"])


def _pickle(random: Random, folder: Path) -> Case:
    """Name a pickle as each kind of file; without consent it is not read."""
    names = ["m.joblib", "m.pkl", "m.pickle", "m.skops", "m.npz", "m.npy", "m.csv", "m.json"]
    name = names[random.integers(len(names))]
    file = _write(folder, name, pickle.dumps(Evil(str(folder / "marker"))))
    if name.startswith("m.n") or name == "m.csv":
        return Case("pickle", file, ["prune", *_files(folder, examples=file), "--lam", "1/100"])
    if name == "m.json":
        return Case("pickle", file, ["prune", *_files(folder, prices=file), "--lam", "1/100"])
    commands = [["prune", *_files(folder, model=file), "--lam", "1/100"], ["session", "--model", str(file)]]
    return Case("pickle", file, commands[random.integers(2)])


def _unfinished(random: Random, folder: Path) -> Case:
    """Edit a path that was interrupted."""
    out = folder / "edited" / "path"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    edits = (*PLAIN, with_edited_array, with_edited_array, with_edited_array, with_edited_array, huge_array, bomb)
    content = edits[random.integers(len(edits))]((folder / "path.unfinished.npz").read_bytes(), random)
    file = _write(folder, "path/path.unfinished.npz", content)
    return Case("unfinished", file, ["path", *_files(folder), "--json", "--out", str(out)])


TABLES_OF_NUMBERS: tuple[Edit, ...] = (*TEXTS, repeated)
COMPRESSED: tuple[Edit, ...] = (*PLAIN, edited_inside, edited_inside, unpacked_to_more)
DISTRIBUTED: dict[int, tuple[str, str, tuple[Edit, ...]]] = {
    0: ("forest", "covtype.data", TABLES_OF_NUMBERS),
    1: ("forest", "covtype.data.gz", COMPRESSED),
    2: ("miniboone", "MiniBooNE_PID.txt", TABLES_OF_NUMBERS),
    4: ("cifar10", "cifar-10-binary.tar.gz", (*COMPRESSED, *[with_member] * 4)),
    6: ("german", "german.dat", TEXTS),
}
"""By the number that is drawn: data set, file and edits; 3 are the files of MNIST, 5 those of Turney's costs."""


def _data(random: Random, folder: Path) -> Case:
    """Edit data as publishers distribute them, and Turney's test costs."""
    into = ["--folder", str(folder / "edited" / "data")]
    choice = int(random.integers(7))
    if choice in DISTRIBUTED:
        name, source, edits = DISTRIBUTED[choice]
        file = _edited(folder, source, edits, random)
        return Case("data", file, ["data", name, str(file), *into])
    if choice == 3:
        shutil.copytree(folder / "idx", folder / "edited" / "idx", dirs_exist_ok=True)
        name = str(random.choice(sorted(file.name for file in (folder / "idx").iterdir())))
        edits = COMPRESSED if name.endswith(".gz") else PLAIN
        content = edits[random.integers(len(edits))]((folder / "idx" / name).read_bytes(), random)
        return Case(
            "data", _write(folder, f"idx/{name}", content), ["data", "mnist", str(folder / "edited/idx"), *into]
        )
    for ending in ("cost", "expense", "group", "delay"):
        _write(folder, f"heart.{ending}", (folder / f"heart.{ending}").read_bytes())
    file = _edited(folder, f"heart.{random.choice(['cost', 'expense', 'group', 'delay'])}", TABLES_OF_NUMBERS, random)
    return Case("data", file, ["data", "--prices", str(file), "--out", str(folder / "edited" / "prices.csv")])


def _program(random: Random, folder: Path) -> Case:
    """Edit a linear program."""
    file = _edited(folder, str(random.choice([*PROGRAMS])), TABLES_OF_NUMBERS, random)
    return Case("program", file, [str(random.choice(["tu", "integral"])), str(file), "--json"])


def _problem(random: Random, folder: Path) -> Case:
    """Edit a problem that is to be checked again: its JSON, or the instance in it."""
    name = str(random.choice(["draw.json", "problem.json"]))
    content = (folder / name).read_bytes()
    if name == "problem.json" and random.integers(2):
        stated = json.loads(content)
        instance = ARRAYS[random.integers(len(ARRAYS))](base64.b64decode(stated["instance"]), random)
        content = json.dumps({**stated, "instance": base64.b64encode(instance).decode()}).encode()
    else:
        content = JSON[random.integers(len(JSON))](content, random)
    file = _write(folder, name, content)
    return Case("problem", file, ["crosscheck", "--replay", str(file), "--methods", "min-cut", "tree-dp", "--json"])


DRAWS: dict[str, Callable[[Random, Path], Case]] = {
    "data": _data,
    "program": _program,
    "problem": _problem,
    "skops": _skops,
    "npz": _npz,
    "json": _json,
    "csv": _csv,
    "pickle": _pickle,
    "unfinished": _unfinished,
}


def fault_of(answer: dict[str, Any], case: Case, folder: Path) -> str | None:
    """Say what is wrong with how a command took a file."""
    if (folder / "marker").exists():
        (folder / "marker").unlink()
        return "code of the file ran"
    if answer["failure"]:
        return str(answer["failure"])
    if answer["code"] not in COMMAND_CODES:
        return f"exit code {answer['code']}"
    lines = answer["errors"].splitlines()
    if answer["code"] == 2 and (COMPLAINT not in lines[-1] or answer["errors"].count(COMPLAINT) > 1):
        return f"no single line of complaint: {answer['errors']}"
    if answer["seconds"] > SECONDS_FOR_ONE:
        return f"{answer['seconds']:.0f} seconds"
    if answer["bytes"] > 10 * case.size + SPARE_BYTES:
        return f"{answer['bytes'] >> 20} MiB for a file of {case.size} bytes"
    return None


def fuzz(seconds: float, seed: int, kinds: list[str], count: int | None = None) -> tuple[Counter[str], list[str]]:
    """Edit files for some seconds, or so many; count what came of them, and list faults."""
    counts: Counter[str] = Counter()
    faults = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(action="ignore"):
        folder = Path(name)
        make_files(folder)
        (folder / "evil.pkl").write_bytes(pickle.dumps(Evil(str(folder / "marker"))))
        server, number, end = Server(), 0, time.monotonic() + seconds
        for command in ("tu", "integral"):  # what is imported and compiled for the first program is no file's doing
            server.run([command, str(folder / next(iter(PROGRAMS)))])
        while number < count if count is not None else time.monotonic() < end:
            case = draw(np.random.default_rng([seed, number]), folder, kinds)
            answer = server.run(case.arguments)
            fault = fault_of(answer, case, folder)
            if fault is not None:
                faults.append(f"seed {seed}, number {number}, {' '.join(case.arguments)}: {fault}")
            counts[f"{case.kind}: {'fault' if fault else ('done', 'refused', 'bad input')[answer['code']]}"] += 1
            number += 1
        server.stop()
    return counts, faults


def run(arguments: list[str] | None = None) -> int:
    """Fuzz, print what came of it, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="so many files, in place of seconds")
    parser.add_argument("--kinds", nargs="+", choices=list(DRAWS), default=list(DRAWS))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve()
        return 0
    counts, faults = fuzz(options.seconds, options.seed, options.kinds, options.count)
    print(f"seed {options.seed}: {sum(counts.values())} files")
    for name, number in sorted(counts.items()):
        print(f"  {name:24} {number}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(run())
