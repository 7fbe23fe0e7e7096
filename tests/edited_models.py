"""Saved models with parts put in or changed, for tests and fuzzing of what reads them."""

import io
import json
import sys
import warnings
from pathlib import Path
from zipfile import ZipFile

import numpy as np


def unpacked(content: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name."""
    with ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes]) -> bytes:
    """Make an archive of members."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def node(name: str, loader: str, **entries) -> dict:
    """Make a node of a schema, of a type given by its dotted name."""
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, **entries}


def plain(value: object) -> dict:
    """Make the node of a number, a text or None."""
    return node("builtins.str", "JsonNode", content=json.dumps(value), is_json=True)


def sequence(*parts: dict, kind: str = "tuple") -> dict:
    """Make the node of a tuple or a list."""
    return node(f"builtins.{kind}", f"{kind.capitalize()}Node", content=list(parts))


def with_attribute(content: bytes, value: dict, name: str = "note_") -> bytes:
    """Give the object in a file one more attribute."""
    members = unpacked(content)
    schema = json.loads(members["schema.json"])
    attributes = schema["content"]
    attributes["content"][name] = value
    attributes["key_types"]["content"].append(node("builtins.str", "TypeNode"))
    return packed({**members, "schema.json": json.dumps(schema).encode()})


def running(pickle: str, marker: str) -> dict[str, dict]:
    """List nodes that ran code once: they load the pickle, or write the marker, while skops builds them."""
    load, path = "ipforest.tabular.model_files.load_model", "ipforest.tabular.model_files.Path"
    made = node(path, "ConstructorFromReduceNode", content=sequence(plain(marker)))
    write = node(path, "MethodNode", content={"func": "write_text", "obj": made})
    called = sequence(plain("ran"))
    return {
        "key type": node(
            "builtins.dict",
            "DictNode",
            key_types=sequence(node(load, "TypeNode"), kind="list"),
            content={pickle: plain(1)},
        ),
        "constructor": node(load, "ConstructorFromReduceNode", content=sequence(plain(pickle))),
        "new": node("ipforest.tabular.model_files.Path", "ObjectNode", content=sequence(plain(marker))),
        "list type": node(load, "ListNode", content=[plain(pickle)]),
        "array type": node(load, "NdArrayNode", type="numpy", file="any.npy"),
        "method": write,
        "function": node("ipforest._internal.files.write_text", "FunctionNode"),
        "type": node(load, "TypeNode"),
        "partial": node(
            "functools.partial",
            "PartialNode",
            content={"func": write, "args": called, "kwds": plain(None), "namespace": plain(None)},
        ),
        "operator": node(
            "operator.methodcaller", "OperatorFuncNode", attrs=sequence(plain("write_text"), plain("ran"))
        ),
        "reduced": node(
            "ipforest.tabular.model_files.Path", "TreeNode", __reduce__={"args": called}, content=plain(None)
        ),
        "loss": node(load, "LossNode", __reduce__={"args": sequence(plain(pickle))}, content=plain(None)),
        "generator": node(load, "RandomStateNode", content=plain(None)),
        "default": node(
            "collections.defaultdict", "DefaultDictNode", content={"main": plain(1), "default_factory": write}
        ),
        "cached": node("builtins.str", "CachedNode", __id__=1),
        "old kind": node(
            load, "FunctionNode", content={"module_path": "ipforest.tabular.model_files", "function": "load_model"}
        ),
    }


def edited_array(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Change one entry of an array, or its length, dtype or order."""
    changed = np.array(values)
    choice = random.integers(8)
    if choice == 0:
        return changed[: random.integers(len(changed))] if changed.ndim and len(changed) else changed
    if choice == 1:
        return np.concatenate([changed, changed]) if changed.ndim else changed
    if choice == 2:
        return changed.astype(random.choice(["<i8", "<f8", "<i4", "<u1"])) if changed.dtype.kind in "biuf" else changed
    if choice == 3 and changed.ndim:
        return random.permutation(changed)
    if not changed.size:
        return changed
    place = np.unravel_index(random.integers(changed.size), changed.shape)
    if changed.dtype.names:
        field = random.choice(changed.dtype.names)
        changed[field][place] = _extreme(changed.dtype[field], random)
    else:
        changed[place] = _extreme(changed.dtype, random)
    return changed


def _extreme(dtype: np.dtype, random: np.random.Generator) -> object:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        far = [limits.min, limits.max, limits.max // 2, 1 << 20, -2, -1, 0, 1, 7, 100]
        return int(np.clip(random.choice(far), limits.min, limits.max))
    if dtype.kind == "f":
        return random.choice([np.nan, np.inf, -np.inf, 0.0, -1e300, 1e300])
    return random.integers(2) if dtype.kind == "b" else "x"


def with_edited_array(content: bytes, random: np.random.Generator) -> bytes:
    """Change one array of a file."""
    members = unpacked(content)
    name = random.choice([name for name in members if name.endswith(".npy")])
    buffer = io.BytesIO()
    np.save(buffer, edited_array(np.load(io.BytesIO(members[name])), random))
    return packed({**members, str(name): buffer.getvalue()})


def take_edits(file: str, table: str, count: int) -> dict[str, int]:
    """Load and use a model so many times, an array of it edited each time; count what came of it.

    Raises
    ------
    AssertionError
        What was loaded predicts something of another kind than the model.
    """
    import pandas as pd

    from ipforest.cli.saved_models import using
    from ipforest.tabular.model_files import load_model

    X = pd.read_csv(table)
    model, content = load_model(file), Path(file).read_bytes()
    expected, outcomes = model.predict(X), {"refused": 0, "predicted": 0}
    edited = Path(file).with_name("edited.skops")
    for number in range(count):
        edited.write_bytes(with_edited_array(content, np.random.default_rng([3, number])))
        try:
            loaded = load_model(edited)
            with using(str(edited)):
                predicted = loaded.predict(X)
                loaded.session()
        except (TypeError, ValueError):
            outcomes["refused"] += 1
        else:
            assert predicted.shape == expected.shape, number
            outcomes["predicted"] += 1
    return outcomes


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(take_edits(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
