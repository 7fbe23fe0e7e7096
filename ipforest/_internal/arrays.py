"""Types of arrays, and small helpers for the read-only ones that the frozen dataclasses hold."""

import struct
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipInfo

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ipforest._internal.files import write_file
from ipforest._internal.undisturbed import undisturbed

Array: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Int32Array: TypeAlias = npt.NDArray[np.int32]

CACHE_LINE = 64

FREE_BYTES = 64 << 20
"""What any file may unpack to; beyond it, no more than the file itself has."""

Scalar = TypeVar("Scalar", bound=np.generic)
Fields = TypeVar("Fields", bound=Any)

MAX_EXAMPLES = 1 << 40
"""No memory holds more."""

DAMAGED = (
    ArithmeticError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    TokenError,
    struct.error,
    zlib.error,
)
"""What numpy and zipfile raise over the bytes of a damaged ``.npz`` file."""


def aligned_empty(size: int, dtype: np.dtype[Any]) -> Array:
    """Allocate a vector that begins with a line of the cache, so that no small record of 2^k bytes lies on two."""
    memory = np.empty(size * dtype.itemsize + CACHE_LINE, dtype=np.uint8)
    first = -memory.ctypes.data % CACHE_LINE
    return memory[first : first + size * dtype.itemsize].view(dtype)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """View an array so that nothing is written into it through the result."""
    view = array.view()
    view.flags.writeable = False
    return view


def held(fields: Fields) -> Fields:
    """View the arrays of a named tuple as read-only, so that kernels are compiled for one kind of them.

    Arrays that were pickled or copied can be written into, whatever they were before.
    """
    return cast("Fields", type(fields)(*map(_held, fields)))


def _held(each: Any) -> Any:
    if isinstance(each, np.ndarray):
        return read_only(each)
    return held(each) if isinstance(each, tuple) else each


def rounding() -> np.errstate:
    """Let numbers be rounded to float32 in the block without a signal, whatever numpy has been set to."""
    return np.errstate(over="ignore", under="ignore")


def one_blas_thread() -> AbstractContextManager[object]:
    """Multiply on the calling thread in the block: products of tall, narrow tables end no sooner on several.

    Threads that wait for each other took six times as long for `BudgetLinear` on 5,000 rows and two cores.
    """
    return cast("AbstractContextManager[object]", threadpool_limits(1, user_api="blas"))


def in_rows(table: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """View a table as read-only and row by row, and copy one that lies otherwise; see `held`."""
    return read_only(np.ascontiguousarray(table))


def checked_array(value: npt.ArrayLike, name: str, dtype: type[Scalar], shape: tuple[int, ...]) -> npt.NDArray[Scalar]:
    """Take an array of a given shape whose values fit the dtype, read-only and contiguous.

    Raises
    ------
    TypeError
        The values are of another kind than the dtype (floats for integers).
    ValueError
        The shape differs, or a value does not fit the dtype.
    """
    raw: npt.NDArray[Any] = np.asarray(value)
    if raw.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {raw.shape}")
    if raw.size == 0:
        raw = raw.astype(dtype)
    if np.issubdtype(dtype, np.integer) and not np.issubdtype(raw.dtype, np.integer):
        raise TypeError(f"{name}: expected integers, got dtype {raw.dtype}")
    converted = np.ascontiguousarray(raw, dtype=dtype)
    if np.issubdtype(dtype, np.integer) and raw.dtype != converted.dtype and np.any(converted != raw):
        raise ValueError(f"{name}: expected values that fit {np.dtype(dtype)}, got values that do not")
    return read_only(converted)


def refuse_masked(values: object, name: str) -> None:
    """Refuse an array with masked entries, of which libraries take the numbers below the mask.

    Raises
    ------
    TypeError
        An entry is masked.
    """
    if np.ma.is_masked(values):
        raise TypeError(
            f"{name}: expected a plain array, got one with masked entries; its filled(numpy.nan) makes them missing"
        )


def checked_offsets(value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Take the offsets of trees in their nodes, shape (n_trees + 1,).

    Raises
    ------
    TypeError, ValueError
        They are not 0 and then the ascending ends of one or more trees.
    """
    offsets = checked_array(value, "tree_offsets", np.int64, np.shape(value))
    if offsets.ndim != 1 or offsets.size < 2 or offsets[0] != 0 or not is_ascending(offsets):
        raise ValueError(
            "tree_offsets: expected 0 and then the ascending ends of one or more trees, got "
            f"{np.array2string(offsets, threshold=6, max_line_width=1 << 16)}"
        )
    return offsets


def evenly_spread(n: int, most: int) -> IntArray:
    """Choose at most so many of the places 0..n - 1, evenly spread, the first and the last among them."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.int64)


def nearest_places(values: FloatArray, levels: FloatArray) -> list[int]:
    """Find the places of the values that are nearest to some levels, each once, ascending."""
    return sorted({int(np.argmin(np.abs(values - level))) for level in levels})


def is_ascending(values: npt.NDArray[np.integer[Any]]) -> bool:
    """Return whether each entry exceeds the one before; compared, as differences can wrap around."""
    return bool(np.all(values[1:] > values[:-1]))


def places_in(classes: Array, labels: npt.ArrayLike) -> IntArray:
    """Find the place of each label among the classes, which may stand in any order.

    Parameters
    ----------
    classes : ndarray, shape (n_classes,)
        Each once. CatBoost orders texts of numbers by number: "2", "9", "10".
    labels : array, shape (n_labels,)

    Returns
    -------
    ndarray of int64, shape (n_labels,)

    Raises
    ------
    ValueError
        A label is no class.
    """
    known, wanted = np.asarray(classes), np.asarray(labels)
    order = np.argsort(known, kind="stable")
    places = order[np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)]
    unknown = wanted[known[places] != wanted]
    if unknown.size:
        raise ValueError(f"y: expected classes among {known.tolist()}, got {unknown.tolist()[0]!r}")
    return places.astype(np.int64)


def checked_integer(value: object, name: str) -> int:
    """Take an integer of any make as a Python integer, which does not wrap around."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer, got {value!r}")
    return int(value)


def checked_number(value: object, name: str, expected: str = "an integer >= 0") -> int:
    """Take how many there are of something.

    Raises
    ------
    ValueError
        It is no integer >= 0.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name}: expected {expected}, got {one_line(repr(value))}")
    return int(value)


def checked_count(value: object, name: str) -> int:
    """Take how many examples there are.

    Raises
    ------
    ValueError
        It is no integer >= 0, or so large that no memory holds them.
    """
    number = checked_number(value, name)
    if number > MAX_EXAMPLES:
        raise ValueError(f"{name}: expected at most {MAX_EXAMPLES} examples, got {number}")
    return number


def checked_place(place: object, n: int) -> int:
    """Take the place of one of n choices, from the end where it is negative.

    Raises
    ------
    TypeError
        It is no integer.
    IndexError
        There are not so many.
    """
    number = checked_integer(place, "place")
    if not -n <= number < n:
        raise IndexError(f"place: expected {-n}..{n - 1}, as there are {n} choices, got {number}")
    return number


def require_function(fetch: object) -> None:
    """Require that features are fetched by something that can be called.

    Raises
    ------
    TypeError
        It cannot.
    """
    if not callable(fetch):
        raise TypeError(f"fetch: expected a function of a unit and the rows that want it, got {one_line(repr(fetch))}")


def one_line(value: object) -> str:
    """Return the text of an exception or another object in one line; its type where it has none."""
    return " ".join(str(value).split()) or type(value).__name__


def save_arrays(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays as ``.npz``, without pickles or compression, whole or not at all."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)

    write_file(path, write)


def load_arrays(path: str | Path, content: str, *, compressed: bool = True) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays of an ``.npz`` file, without pickles.

    Parameters
    ----------
    path : str or Path
    content : str
        What the file should hold, for the error message.
    compressed : bool, default=True
        Whether arrays may be compressed; if not, reading takes no more memory than the file has bytes, else no more
        than 64 MiB beyond.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is no ``.npz`` file, is truncated or damaged, has arrays that are compressed or stand twice, or unpacks to
        more than it may.
    """
    with Path(path).open("rb") as file:
        size = Path(path).stat().st_size
        try:
            return read_arrays(file, most_unpacked(size) if compressed else size, compressed=compressed)
        except DAMAGED as problem:
            raise ValueError(f"{path}: expected a complete {content} file (.npz), got: {one_line(problem)}") from None


def read_arrays(file: BinaryIO, most: int, *, compressed: bool = True) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays from the bytes of an ``.npz`` file, without pickles.

    Parameters
    ----------
    file : binary file
    most : int
        How many bytes the arrays may have.
    compressed : bool, default=True
        Whether arrays may be compressed.

    Raises
    ------
    ValueError, BadZipFile, ...
        One of `DAMAGED`.
    """
    archive = np.load(file, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile) or archive.zip is None:
        raise ValueError("a single array")
    _check_members(archive.zip.infolist(), most, compressed=compressed)
    return {name: archive[name] for name in archive.files}


def load_array(path: str | Path, content: str) -> npt.NDArray[Any]:
    """Read one array from an ``.npy`` file, without pickles.

    It is read undisturbed, as an interrupt within NumPy's ``fromfile`` can come out as a TypeError.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is no ``.npy`` file, or is truncated or damaged.
    """
    with Path(path).open("rb") as file:
        try:
            array: npt.NDArray[Any] = undisturbed(lambda: np.lib.format.read_array(file, allow_pickle=False))
        except DAMAGED as problem:
            raise ValueError(f"{path}: expected a complete {content} (.npy), got: {one_line(problem)}") from None
    return array


def most_unpacked(size: int) -> int:
    """Return how many bytes a file of some size may unpack to."""
    return max(size, FREE_BYTES)


def _check_members(members: list[ZipInfo], most: int, *, compressed: bool) -> None:
    if len({member.filename.removesuffix(".npy") for member in members}) < len(members):
        raise ValueError("an array that stands twice")
    if not compressed and any(member.compress_type != ZIP_STORED for member in members):
        raise ValueError("compressed arrays")
    if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in members):
        raise ValueError("arrays compressed by another method than deflate")
    unpacked = sum(member.file_size for member in members)
    if unpacked > most and not compressed:
        raise ValueError("arrays that are larger than the file")
    if unpacked > most:
        raise ValueError(f"{unpacked} unpacked bytes where at most {most} are taken; save without compression")
