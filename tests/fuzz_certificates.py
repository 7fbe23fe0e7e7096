"""Feed damaged and forged files to the readers: no exception, no hang, no waste of memory, nothing false accepted.

    python tests/fuzz_certificates.py [--seconds S] [--seed N]

Genuine files are changed by bytes, as archives, in the header and in the arrays, and sealed anew, so that each layer is
reached. What is accepted must be true, by comparison with every pruning. Exits with 1 at the first failure; should the
process die instead, the last file is left where the first line of output says.
"""

import argparse
import contextlib
import faulthandler
import io
import json
import os
import signal
import struct
import sys
import tracemalloc
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import Any

import numpy as np
from edited_models import unpacked
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from ipforest.instance import PruningInstance
from ipforest.path_search import prune_path
from ipforest.solvers import solve
from proofs.certificates.archive import _content_digest, _read_array
from proofs.certificates.path_file import PathCertificate, write_path_certificate
from proofs.certificates.pruning_file import read_certificate, verify_certificate_file, write_certificate
from proofs.certificates.records import INSTANCE_DTYPES, InstanceRecord
from proofs.crosschecks.random_instances import random_instance
from tests.proofs.certificates.handmade import PathClaim, PruningClaim

EXAMPLES_A_ROUND = 100
TIME_LIMIT_S = 10
ALLOWANCE = 1 << 20
"""Bytes that reading may take beyond twice the file: the archive's and the header's objects."""
GENUINE = 12

Members = dict[str, bytes]

NUMBERS = [-(2**63), -(2**62), -(2**31), -2, -1, 0, 1, 2, 2**31 - 1, 2**31, 2**62, 2**63 - 1]
LONG = "9" * 1000
TEXTS = ["", "0", "-1", "1/0", "2/4", "1e1000000000", "Infinity", "nan", LONG, f"1/{LONG}", "\n", "\0", "ipforest "]
VALUES: list[Any] = [*TEXTS, *NUMBERS, 2**64, 10**400, 1.5, float("inf"), float("nan"), None, True, [], {}, {"a": {}}]
DTYPES = ["<i8", "<i4", "|b1", ">i8", "<u8", "<f8", "<c16", "<M8[ns]", "<m8[D]", "<U3", "|S2", "|V8", "|O"]
SHAPES = ["()", "(0,)", "(1,)", "(-1,)", f"({2**60},)", f"({2**63 - 1}, 2)", "(2, 2)", "(None,)", "1e9"]
NAMES = ["x.npy", "../x", "header.json", "flow/up.npy", "\n", "a" * 300]
METHODS = [zipfile.ZIP_STORED] * 5 + [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]


def genuine_files(folder: Path) -> tuple[list[bytes], list[bytes]]:
    """Write certificates of both kinds, and instances, of small random forests."""
    certificates, instances = [], []
    rng = np.random.default_rng(0)
    file = folder / "genuine"
    while len(certificates) < 2 * GENUINE:
        instance = random_instance(rng, 5)
        path = prune_path(instance)
        write_path_certificate(file, path, {"budget": "1"})
        certificates.append(file.read_bytes())
        write_certificate(file, instance, solve(instance, path.breakpoints[0] if path.breakpoints else 1))
        certificates.append(file.read_bytes())
        instance.save(file)
        instances.append(file.read_bytes())
    return certificates, instances


@st.composite
def by_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Overwrite, insert, remove or repeat stretches of bytes, often near the archive's end."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        near_end = draw(st.booleans())
        start = draw(st.integers(max(0, len(changed) - 200) if near_end else 0, len(changed)))
        stop = min(len(changed), start + draw(st.sampled_from([0, 1, 2, 4, 8, 100])))
        new = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(NUMBERS).map(lambda number: struct.pack("<q", number)),
                st.just(bytes(changed[stop : stop + 50])),
            )
        )
        changed[start:stop] = new
    return bytes(changed)


@st.composite
def by_members(draw: st.DrawFn, data: bytes) -> bytes:
    """Drop, repeat, rename or exchange members, compress them, add a comment."""
    members = list(unpacked(data).items())
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(members) - 1))
        name, content = members[place]
        what = draw(st.sampled_from(["drop", "repeat", "rename", "exchange", "grow"]))
        if what == "drop" and len(members) > 1:
            del members[place]
        elif what == "repeat":
            members.append((name, content))
        elif what == "rename":
            members[place] = draw(st.sampled_from(NAMES)), content
        elif what == "exchange":
            members[place] = name, draw(st.sampled_from(members))[1]
        else:
            members[place] = name, content + bytes(draw(st.sampled_from([1, 8, 100_000])))
    comment = draw(st.sampled_from([b"", b"", b"", b"comment"]))
    return packed(members, draw(st.sampled_from(METHODS)), comment)


@st.composite
def by_header(draw: st.DrawFn, data: bytes) -> bytes:
    """Change entries of the header and seal it anew; or write no JSON, or keys twice."""
    members = unpacked(data)
    header = json.loads(members["header.json"])
    raw = draw(st.sampled_from([None] * 8 + ["[" * 3000, "{", "1" * 5000, '{"a": 1, "a": 1}', "é", "null", '"x"']))
    if raw is not None:
        return packed((members | {"header.json": raw.encode()}).items())
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from([*sorted(header), "more"]))
        value = draw(st.sampled_from(VALUES))
        if key == "provenance" and draw(st.booleans()):
            value = {"budget": value}
        header[key] = value
        if draw(st.integers(0, 9)) == 0:
            del header[key]
    return packed(sealed(members | {"header.json": json.dumps(header).encode()}).items())


@st.composite
def by_arrays(draw: st.DrawFn, data: bytes) -> bytes:
    """Change numbers of the arrays, their sizes, dtypes or stated shapes, and seal the file anew."""
    members = unpacked(data)
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from([name for name in members if name.endswith(".npy")]))
        values = as_array(members[name])
        what = draw(st.sampled_from(["number", "number", "number", "step", "size", "dtype", "shape", "bytes"]))
        if values is None:
            continue
        if what in ("number", "step") and values.size:
            place = draw(st.integers(0, values.size - 1))
            number = draw(st.sampled_from(NUMBERS))
            wide = values.astype(np.int64)
            wide[place] = number if what == "number" else wide[place] ^ draw(st.sampled_from([1, 2, 3]))
            members[name] = as_bytes(wide.astype(values.dtype))
        elif what == "size":
            members[name] = as_bytes(np.resize(values, draw(st.sampled_from([0, 1, values.size + 1, 2 * values.size]))))
        elif what == "dtype":
            members[name] = restated(members[name], draw(st.sampled_from(DTYPES)), None)
        elif what == "shape":
            members[name] = restated(members[name], None, draw(st.sampled_from(SHAPES)))
        elif what == "bytes" and values.size:
            members[name] = members[name][:-1] + draw(st.binary(min_size=1, max_size=1))
    return packed(sealed(members).items())


def packed(members: Any, method: int = zipfile.ZIP_STORED, comment: bytes = b"") -> bytes:
    """Write pairs of a name and bytes as an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.comment = comment
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def as_array(content: bytes) -> Any:
    """Read a member as an array, if it is one that a certificate may hold."""
    try:
        return _read_array("", content)
    except ValueError:
        return None


def as_bytes(values: Any) -> bytes:
    """Write an array as a member."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, values, version=(1, 0))
    return buffer.getvalue()


def restated(content: bytes, descr: str | None, shape: str | None) -> bytes:
    """State another dtype or shape in a member's header, of the same length."""
    length = int.from_bytes(content[8:10], "little")
    fields = content[10 : 10 + length].decode("latin1")
    old_shape = fields[fields.index("'shape': ") + 9 : fields.rindex(")") + 1]
    old_descr = fields.split("'")[3]
    fields = fields.replace(old_descr, descr or old_descr).replace(old_shape, shape or old_shape)
    fields = fields.strip().ljust(length - 1) + "\n"
    return content[:8] + len(fields).to_bytes(2, "little") + fields.encode("latin1") + content[10 + length :]


def sealed(members: Members) -> Members:
    """Compute the hashes of a changed certificate anew, where it still has what they are made of."""
    arrays = {name.removesuffix(".npy"): as_array(data) for name, data in members.items() if name.endswith(".npy")}
    if any(values is None for values in arrays.values()):
        return members
    header = json.loads(members.get("header.json", b"{}"))
    header.pop("content_sha256", None)
    with contextlib.suppress(KeyError, TypeError):
        fields = {name: arrays[f"instance/{name}"] for name in INSTANCE_DTYPES}
        numbers = {name: header[name] for name in ("error_unit", "cost_unit", "n_units", "n_examples")}
        header["instance_sha256"] = InstanceRecord(**fields, **numbers).fingerprint()
    header["content_sha256"] = _content_digest(header, arrays)
    return members | {"header.json": json.dumps(header).encode()}


def check_certificate(file: Path) -> bool:
    """Verify a file; require a verdict in one line, little memory, and the truth of what is accepted.

    Return whether it is.
    """
    tracemalloc.start()
    try:
        verdict = verify_certificate_file(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert verdict.reason
    assert "\n" not in verdict.reason, verdict.reason
    assert peak <= 2 * file.stat().st_size + ALLOWANCE, f"{peak} bytes for a file of {file.stat().st_size}"
    if verdict:
        certificate = read_certificate(file)
        if isinstance(certificate, PathCertificate):
            claim: Any = PathClaim(certificate.instance, certificate.path)
        else:
            claim = PruningClaim(certificate.instance, certificate.kept, certificate.flow, certificate.lam)
        assert claim.is_true(), verdict.reason
    return bool(verdict)


def check_instance(file: Path) -> bool:
    """Load a file as an instance; require one, or an error in one line. Return whether it is one."""
    reason = ""
    try:
        PruningInstance.load(file)
    except ValueError as problem:
        reason = str(problem)
    assert "\n" not in reason, reason
    return not reason


def fuzz(first_seed: int, seconds: float, folder: Path) -> Counter[str]:
    """Try changed files for some seconds; count what became of them."""
    certificates, instances = genuine_files(folder)
    file, fates = folder / "last", Counter[str]()
    for genuine in certificates:  # what is compiled or imported at the first check is charged to no file
        file.write_bytes(genuine)
        assert verify_certificate_file(file)
    started = monotonic()

    def one_round(number: int) -> None:
        @seed(number)
        @settings(
            max_examples=EXAMPLES_A_ROUND,
            deadline=None,
            database=None,
            derandomize=False,
            phases=[Phase.generate, Phase.shrink],
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.data())
        def trial(data: st.DataObject) -> None:
            is_certificate = data.draw(st.integers(0, 4)) > 0
            genuine = data.draw(st.sampled_from(certificates if is_certificate else instances))
            kinds = (
                [by_bytes, by_members, by_header, by_arrays] if is_certificate else [by_bytes, by_members, by_arrays]
            )
            file.write_bytes(data.draw(data.draw(st.sampled_from(kinds))(genuine)))
            signal.alarm(TIME_LIMIT_S)
            accepted = (check_certificate if is_certificate else check_instance)(file)
            signal.alarm(0)
            fates["accepted, truly" if accepted else "refused"] += 1

        trial()

    number = first_seed
    while monotonic() - started < seconds:
        one_round(number)
        number += 1
    return fates


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long (default: a minute)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first round of files")
    options = parser.parse_args()
    folder = Path(mkdtemp(prefix="fuzz-"))
    print(f"the last file tried is {folder / 'last'}", flush=True)
    # A signal, not faulthandler's thread, which frees memory while tracemalloc exchanges the allocator.
    faulthandler.register(signal.SIGALRM, chain=True)
    warnings.filterwarnings("ignore", "Duplicate name")
    fates = fuzz(options.seed, options.seconds, folder)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    print(f"{fates.total()} files:", ", ".join(f"{count} {fate}" for fate, count in fates.items()))
    return 0


if __name__ == "__main__":
    root = Path(__file__).parent.parent
    os.chdir(root)
    sys.path[:0] = [str(root)]
    sys.exit(main())
