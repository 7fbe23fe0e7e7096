"""Models on disk: skops files, which hold data and no code; pickles only when asked for."""

from __future__ import annotations

from copy import copy
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from ipforest._internal.arrays import DAMAGED, FREE_BYTES, one_line
from ipforest._internal.files import write_file

__all__ = ["load_model", "save_model"]

PICKLES = (".joblib", ".pkl", ".pickle")
"""Suffixes of files that may run code when they are read."""


def _not_held(model: Any) -> str:
    """List the attributes of a model that a skops file cannot hold."""
    from skops import io

    def is_held(value: Any) -> bool:
        try:
            io.dumps(value)
        except TypeError:
            return False
        return True

    return ", ".join(
        f"{name} of type {type(value).__name__}" for name, value in model.__getstate__().items() if not is_held(value)
    )


def _with_prices_held(model: Any) -> Any:
    """Put the prices as they were read in place of a table, which a skops file cannot hold."""
    from skops import io

    from ipforest.tabular.skops_files import ForeignTypeError, checked_file

    if not hasattr(model, "costs_") or not hasattr(model, "feature_costs"):
        return model
    try:
        checked_file(io.dumps(model.feature_costs))
    except (TypeError, ForeignTypeError):
        return copy(model).set_params(feature_costs=model.costs_)
    return model


def _compressed(content: bytes) -> bytes:
    buffer = BytesIO()
    with ZipFile(BytesIO(content)) as plain, ZipFile(buffer, "w", ZIP_DEFLATED) as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    return buffer.getvalue()


def save_model(model: Any, path: str | Path) -> Path:
    """Write a fitted model, whole or not at all.

    Parameters
    ----------
    model : estimator
    path : str or Path
        ``.skops``: types and arrays, no code, compressed where it would be read again; prices that were given as a
        table or by a path are the `FeatureCosts` that they were read as. ``.joblib``: a pickle.

    Raises
    ------
    TypeError
        It has parts that `load_model` would not trust in a ``.skops`` file, such as another library's model.
    ValueError
        Another suffix.
    OSError
        The file cannot be written.
    """
    path = Path(path)
    if path.suffix == ".skops":
        from skops import io

        from ipforest.tabular.skops_files import ForeignTypeError, checked_file

        pipeline = ", or its as_pipeline()" if hasattr(model, "as_pipeline") else ""
        model = _with_prices_held(model)
        try:
            content: bytes = io.dumps(model)
            checked_file(content)
        except TypeError as problem:
            raise TypeError(
                f"model: expected parts that a .skops file can hold for {path}, got {type(model).__name__} with "
                f"{_not_held(model) or problem}; write a .joblib file{pipeline}"
            ) from None
        except ForeignTypeError as foreign:
            raise TypeError(
                f"model: expected parts of scikit-learn's and this package's types for {path}, got {foreign.name}; "
                f"write a .joblib file{pipeline}"
            ) from None
        if len(content) <= FREE_BYTES:
            content = _compressed(content)
        return write_file(path, lambda temporary: temporary.write_bytes(content))
    if path.suffix == ".joblib":
        import joblib

        return write_file(path, lambda temporary: joblib.dump(model, temporary))
    raise ValueError(f"{path}: expected a model file named .skops or .joblib, got {path.suffix or 'no suffix'}")


def load_model(path: str | Path, *, allow_pickle: bool = True) -> Any:
    """Read a model that `save_model`, skops, joblib or pickle wrote; loading any but ``.skops`` runs code in it.

    Parameters
    ----------
    path : str or Path
    allow_pickle : bool, default=True
        Whether to read files that run code. The commands do so with ``--allow-pickle`` only.

    Raises
    ------
    OSError
        The file cannot be opened.
    ModuleNotFoundError
        A package that the model is of is not installed.
    ValueError
        It has another suffix, or one that is not allowed, is truncated or damaged, or is a skops file that names a
        type which is not in `ipforest.tabular.loadable_types`, or holds an object that its type's constructor would
        refuse.
    """
    path = Path(path)
    if path.suffix == ".skops":
        return _load_skops(path)
    if path.suffix not in PICKLES:
        raise ValueError(
            f"{path}: expected a model file (.skops, {', '.join(PICKLES)}), got {path.suffix or 'no suffix'}"
        )
    if not allow_pickle:
        raise ValueError(
            f"{path}: expected a .skops file, got one that may run any code when it is read; if you trust where it "
            "comes from, add --allow-pickle"
        )
    return _load_pickle(path)


def _load_skops(path: Path) -> Any:
    from skops import io

    from ipforest.tabular.loaded_models import check_loaded
    from ipforest.tabular.skops_files import checked_file

    content = path.read_bytes()
    try:
        content, types = checked_file(content)
        model = io.loads(content, trusted=types)
        check_loaded(model)
        return model
    except (AttributeError, *DAMAGED) as problem:
        raise ValueError(f"{path}: expected a complete model written by skops, got: {one_line(problem)}") from None


def _load_pickle(path: Path) -> Any:
    import pickle

    import joblib

    with path.open("rb") as file:
        try:
            return joblib.load(file)
        except ModuleNotFoundError as problem:
            raise ModuleNotFoundError(
                f"{path}: expected a model of packages that are installed, got: {problem}; install it",
                name=problem.name,
            ) from problem
        except (pickle.UnpicklingError, AttributeError, *DAMAGED) as problem:
            raise ValueError(
                f"{path}: expected a complete file written by joblib.dump, got: {one_line(problem)}"
            ) from None
