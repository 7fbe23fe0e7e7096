"""What a skops file holds, looked at before skops builds anything: data of known types, and nothing that runs.

skops calls what a file names: constructors, bound methods, types of keys. Here the schema of a file is read first, node
by node. Each kind of node that stands for data is known with all its entries, and each type is on a list; functions,
methods, partial and operator objects are on none. What was looked at is written anew, so that skops gets exactly that:
no second member of one name, no entry that was passed over, no node under the identity of another one.
"""

from __future__ import annotations

import importlib
import io
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from math import prod
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from ipforest._internal.arrays import most_unpacked
from ipforest._internal.json_text import read_json
from ipforest.tabular.loadable_types import KEYS, LOSS_MODULE, LOSSES, NAMED_TUPLES, OBJECTS, SCALARS

SCHEMA = "schema.json"
OLDEST_PROTOCOL = 2
MAX_MEMBERS = 1 << 18

SHORT = 100
"""Texts below so many characters are repeated where others are referred to: skops looks into some of them."""

SHORT_LOSS_MODULE = "_loss"
"""The module of losses as they name it themselves in scikit-learn 1.8."""

_INTEGER = re.compile(r"-?[0-9]{1,4000}")

Node = dict[str, Any]


class ForeignTypeError(ValueError):
    """A part of a model whose type may not be read from a file.

    Parameters
    ----------
    name : str
        The type, or what stands in place of one.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}, a type that is neither scikit-learn's nor of this package")
        self.name = name


class CheckedFile(NamedTuple):
    """A skops file that was looked at.

    Parameters
    ----------
    content : bytes
        The file as skops may read it.
    types : tuple of str
        What it names.
    """

    content: bytes
    types: tuple[str, ...]


def checked_file(content: bytes) -> CheckedFile:
    """Look at a skops file.

    Raises
    ------
    ForeignTypeError
        It names a type that is not on the list, or a function or method.
    ValueError, BadZipFile, LookupError, ...
        It is no skops file, is damaged, unpacks to much more than it has bytes, or is nested too deep.
    """
    members = _members(content)
    schema = read_json(members[SCHEMA].decode("utf-8"))
    if not isinstance(schema, dict):
        raise ValueError("a schema that is no object")
    protocol = schema.pop("protocol", None)
    if type(protocol) is not int or protocol < OLDEST_PROTOCOL:
        raise ValueError(f"protocol {protocol!r}, where {OLDEST_PROTOCOL} or later was expected; save the model again")

    version = schema.pop("_skops_version", None)
    walk = _Walk(members)
    clean = walk.node(schema) | {"protocol": protocol, "_skops_version": str(version)}
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        archive.writestr(SCHEMA, json.dumps(clean))
        for name in walk.used:
            archive.writestr(name, members[name])
    return CheckedFile(buffer.getvalue(), tuple(sorted(walk.types)))


def _members(content: bytes) -> dict[str, bytes]:
    """Unpack an archive that is not much larger than its bytes."""
    with ZipFile(io.BytesIO(content)) as archive:
        listed = archive.infolist()
        if len(listed) > MAX_MEMBERS:
            raise ValueError(f"{len(listed)} members, where at most {MAX_MEMBERS} were expected")
        if len({member.filename for member in listed}) < len(listed):
            raise ValueError("a member that stands twice")
        if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in listed):
            raise ValueError("a member compressed by another method than deflate")
        unpacked, most = sum(member.file_size for member in listed), most_unpacked(len(content))
        if unpacked > most:
            raise ValueError(f"{unpacked} unpacked bytes where at most {most} are taken; save without compression")
        return {member.filename: _unpacked(archive, member) for member in listed}


def _unpacked(archive: ZipFile, member: ZipInfo) -> bytes:
    with archive.open(member) as file:
        data = file.read(member.file_size + 1)
    if len(data) != member.file_size:
        raise ValueError(f"{member.filename}: {member.file_size} bytes expected, got another number")
    return data


class _Walk:
    """Takes nodes one by one, in the order in which skops reads them, and gives them back with what is known only."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self._members = members
        self._seen: dict[int, Node] = {}
        self._open: set[int] = set()
        self.used: dict[str, None] = {}
        self.types: set[str] = set()
        self._kinds: dict[str, Callable[[Node, str], Node]] = {
            "JsonNode": self._json,
            "DictNode": self._dict,
            "ListNode": self._sequence,
            "SetNode": self._sequence,
            "TupleNode": self._sequence,
            "TypeNode": self._type,
            "SliceNode": self._slice,
            "NdArrayNode": self._array,
            "DTypeNode": self._dtype,
            "SparseMatrixNode": self._sparse_matrix,
            "ConstructorFromReduceNode": self._fraction,
            "ObjectNode": self._object,
            "TreeNode": self._tree,
            "LossNode": self._loss,
            "RandomStateNode": self._random_state,
            "RandomGeneratorNode": self._random_generator,
        }

    def node(self, value: Any, *kinds: str) -> Node:
        """Take a node of any kind, or of one of these; one that stands elsewhere already is given as its number.

        Raises
        ------
        ForeignTypeError, ValueError
        """
        if not isinstance(value, dict):
            raise ValueError(f"a node expected in the schema, got {type(value).__name__}")
        number = value.get("__id__")
        number = number if type(number) is int and number > 0 else None
        if number in self._open:
            raise ValueError("a node inside itself")
        if number in self._seen:
            seen = self._seen[number]
            _require_kind(seen, kinds)
            return seen if seen["__loader__"] == "JsonNode" and len(seen["content"]) < SHORT else {"__id__": number}
        kind, module = value.get("__loader__"), value.get("__module__")
        module = LOSS_MODULE if (kind, module) == ("LossNode", SHORT_LOSS_MODULE) else module
        name = f"{module}.{value.get('__class__')}"
        if kind not in self._kinds:
            raise ForeignTypeError(f"{name} ({kind})" if isinstance(kind, str) else name)
        _require_kind(value, kinds)
        head = {"__class__": value["__class__"], "__module__": module, "__loader__": kind}
        if number is not None:
            self._open.add(number)
        clean = head | self._kinds[kind](value, name)
        if number is not None:
            clean["__id__"] = number
            self._open.remove(number)
            self._seen[number] = clean
        return clean

    def whole(self, node: Node) -> Node:
        """Return a node itself in place of its number."""
        return node if "__loader__" in node else self._seen[node["__id__"]]

    def _known(self, name: str, known: Mapping[str, str] | frozenset[str]) -> None:
        if name not in known:
            raise ForeignTypeError(name)
        _require_class(name)
        self.types.add(name)

    def _json(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("builtins.str",)))
        content = value["content"]
        if isinstance(read_json(content), (dict, list)):
            raise ValueError("a single value expected, got an object or an array")
        return {"content": content, "is_json": True}

    def _dict(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("builtins.dict", "collections.OrderedDict")))
        types = self.node(value["key_types"], "ListNode")
        for node in self.whole(types)["content"]:
            if self.whole(node)["__loader__"] != "TypeNode" or _name_of(self.whole(node)) not in KEYS:
                raise ForeignTypeError(f"{_name_of(self.whole(node))} as a key")
        content = _entry(value, dict)
        if len(content) != len(self.whole(types)["content"]):
            raise ValueError("a type expected for each key, got another number")
        return {"key_types": types, "content": {key: self.node(entry) for key, entry in content.items()}}

    def _sequence(self, value: Node, name: str) -> Node:
        plain = {"ListNode": "builtins.list", "SetNode": "builtins.set", "TupleNode": "builtins.tuple"}
        own = NAMED_TUPLES if value["__loader__"] == "TupleNode" else frozenset[str]()
        self._known(name, own | {plain[value["__loader__"]]})
        return {"content": [self.node(entry) for entry in _entry(value, list)]}

    def _type(self, value: Node, name: str) -> Node:
        self._known(name, KEYS | SCALARS)
        return {}

    def _slice(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("builtins.slice",)))
        parts = {key: _entry(value, dict)[key] for key in ("start", "stop", "step")}
        if not all(part is None or type(part) is int for part in parts.values()):
            raise ValueError("integers expected in a slice, got something else")
        return {"content": parts}

    def _array(self, value: Node, name: str) -> Node:
        self._known(name, SCALARS | {"numpy.ndarray"})
        if value["type"] == "numpy":
            file = self._file(value)
            shape = array_of(self._members[file]).shape
            if name != "numpy.ndarray" and shape != ():
                raise ValueError(f"{name}: a single number expected, got shape {shape}")
            return {"type": "numpy", "file": file}
        if value["type"] != "json" or name != "numpy.ndarray":
            raise ValueError(f"an array of numbers or objects expected, got {value['type']!r}")
        content = [self.node(entry) for entry in _entry(value, list)]
        return {"type": "json", "content": content, "shape": self.node(value["shape"], "TupleNode")}

    def _dtype(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("numpy.dtype",)))
        return {"content": self.node(value["content"], "NdArrayNode")}

    def _sparse_matrix(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix")))
        file = self._file(value)
        if value["type"] != "scipy" or not self._members[file].startswith(b"PK"):
            raise ValueError("a sparse matrix expected, got something else")
        for part in _members(self._members[file]).values():
            array_of(part)
        return {"type": "scipy", "file": file}

    def _fraction(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("fractions.Fraction",)))
        content = self.node(value["content"], "TupleNode")
        parts = [self.whole(entry) for entry in self.whole(content)["content"]]
        if any(part["__loader__"] != "JsonNode" or not _INTEGER.fullmatch(part["content"]) for part in parts):
            raise ValueError("a fraction of two integers expected, got something else")
        return {"content": content}

    def _object(self, value: Node, name: str) -> Node:
        self._known(name, OBJECTS)
        if value.get("content") is None:
            return {}
        return {"content": self.node(value["content"], "DictNode", "ListNode", "TupleNode", "JsonNode")}

    def _tree(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("sklearn.tree._tree.Tree",)))
        content = self.node(value["content"], "DictNode")
        arguments = self.node(_entry(value, dict, "__reduce__")["args"], "TupleNode")
        first, classes, last, *categories = map(self.whole, self.whole(arguments)["content"])
        n_features, n_outputs = self._count(first), self._count(last)
        self._require_whole_numbers(classes, n_outputs, 1, "a number of classes for each output of a tree")
        for each in categories:  # one array, from scikit-learn 1.10 on
            self._require_whole_numbers(each, n_features, -1, "a number of categories for each feature of a tree")
        return {"content": content, "__reduce__": {"args": arguments}}

    def _require_whole_numbers(self, node: Node, length: int, least: int, what: str) -> None:
        numbers = array_of(self._members[node["file"]]) if "file" in node else np.empty(0)
        if numbers.dtype != np.intp or numbers.shape != (length,) or numbers.min() < least:
            raise ValueError(f"{what} expected, got something else")

    def _count(self, node: Node) -> int:
        """Read a positive integer: Python's or NumPy's."""
        if node["__loader__"] == "NdArrayNode" and node["__class__"] != "ndarray":
            value = array_of(self._members[node["file"]]).item()
        else:
            value = json.loads(node["content"]) if node["__loader__"] == "JsonNode" else None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError("a positive integer expected, got something else")
        return value

    def _loss(self, value: Node, name: str) -> Node:
        self._known(name, LOSSES)
        arguments = self.node(_entry(value, dict, "__reduce__")["args"], "TupleNode")
        parts = [self.whole(entry) for entry in self.whole(arguments)["content"]]
        if any(part["__loader__"] not in ("JsonNode", "NdArrayNode") for part in parts):
            raise ValueError("numbers expected as parameters of a loss, got something else")
        content = self.node(value["content"], "DictNode", "TupleNode")
        if self.whole(content)["content"]:
            raise ValueError("a loss without a state expected, got one")
        return {"content": content, "__reduce__": {"args": arguments}}

    def _random_state(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("numpy.random.mtrand.RandomState",)))
        return {"content": self.node(value["content"], "DictNode")}

    def _random_generator(self, value: Node, name: str) -> Node:
        self._known(name, frozenset(("numpy.random._generator.Generator",)))
        content = _entry(value, dict)
        return {"content": {key: self.node(content[key], "DictNode") for key in ("bit_generator", "seed_seq")}}

    def _file(self, value: Node) -> str:
        file: str = _entry(value, str, "file")
        if file == SCHEMA or file not in self._members:
            raise ValueError(f"a member {file[:80]!r} expected, got none")
        self.used[file] = None
        return file


def array_of(data: bytes) -> np.ndarray[Any, Any]:
    """Read a NumPy file of numbers or texts that holds as many bytes as its header says.

    Raises
    ------
    ValueError
        It holds objects or entries without bytes, or is longer or shorter.
    """
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"a NumPy file of version 1.0 or 2.0 expected, got {version}")
    shape, fortran, dtype = readers[version](file)
    start, size = file.tell(), prod(shape) * dtype.itemsize
    if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0:
        raise ValueError(f"an array of numbers or texts expected, got dtype {dtype} and shape {shape}")
    if size != len(data) - start:
        raise ValueError(f"an array of {size} bytes expected, got {len(data) - start}")
    values = np.frombuffer(data, dtype, prod(shape), start)
    return values.reshape(shape, order="F" if fortran else "C")


def _require_kind(node: Node, kinds: tuple[str, ...]) -> None:
    if kinds and node["__loader__"] not in kinds:
        raise ValueError(f"{' or '.join(kinds)} expected in the schema, got {node['__loader__']}")


def _entry(value: Node, kind: type, key: str = "content") -> Any:
    entry = value[key]
    if not isinstance(entry, kind):
        raise ValueError(f"{key}: {kind.__name__} expected in the schema, got {type(entry).__name__}")
    return entry


def _name_of(node: Node) -> str:
    return f"{node['__module__']}.{node['__class__']}"


@cache
def _require_class(name: str) -> None:
    """Require of a name on the list that it is a class, and one of the module that it names."""
    module, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    own = {module, SHORT_LOSS_MODULE} if module == LOSS_MODULE else {module}
    if not isinstance(found, type) or found.__module__ not in own:
        raise ForeignTypeError(name)
