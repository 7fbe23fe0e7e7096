"""Models on disk: skops files, which hold data and no code; pickles only when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ipforest._arrays import DAMAGED, one_line
from ipforest._files import write_file

__all__ = ["load_model", "save_model"]

TRUSTED = (
    *("fractions.Fraction", "numpy.dtype", "scipy.sparse._csr.csr_array", "sklearn.tree._tree.Tree"),
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)
"""Types that are loaded from skops files beside those of this package and those that skops trusts itself."""

PICKLES = (".joblib", ".pkl", ".pickle")
"""Suffixes of files that may run code when they are read."""


def save_model(model: Any, path: str | Path) -> Path:
    """Write a fitted model, whole or not at all.

    Parameters
    ----------
    model : estimator
    path : str or Path
        ``.skops``: types and arrays, no code. ``.joblib``: a pickle.

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

        content: bytes = io.dumps(model)
        foreign = _foreign(io.get_untrusted_types(data=content))
        if foreign:
            raise TypeError(
                f"model: expected parts of scikit-learn's and this package's types for {path}, got {foreign[0]}; "
                "write a .joblib file"
            )
        return write_file(path, lambda temporary: temporary.write_bytes(content))
    if path.suffix == ".joblib":
        import joblib

        return write_file(path, lambda temporary: joblib.dump(model, temporary))
    raise ValueError(f"{path}: expected a model file named .skops or .joblib, got {path.suffix or 'no suffix'}")


def load_model(path: str | Path) -> Any:
    """Read a model that `save_model`, skops, joblib or pickle wrote; loading any but ``.skops`` runs code in it.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It has another suffix, is truncated or damaged, or is a skops file with types that neither skops trusts nor this
        package needs.
    """
    path = Path(path)
    if path.suffix == ".skops":
        return _load_skops(path)
    if path.suffix not in PICKLES:
        raise ValueError(
            f"{path}: expected a model file (.skops, {', '.join(PICKLES)}), got {path.suffix or 'no suffix'}"
        )
    return _load_pickle(path)


def _load_skops(path: Path) -> Any:
    from skops import io

    content = path.read_bytes()
    try:
        types = io.get_untrusted_types(data=content)
        foreign = _foreign(types)
        if foreign:
            raise ValueError(f"{foreign[0]}, a type that is neither scikit-learn's nor of this package")
        return io.loads(content, trusted=types)
    except (AttributeError, *DAMAGED) as problem:
        raise ValueError(f"{path}: expected a complete model written by skops, got: {one_line(problem)}") from None


def _foreign(types: list[str]) -> list[str]:
    """List, of the types that skops does not trust, those that this package does not need either."""
    return [name for name in types if name not in TRUSTED and not name.startswith("ipforest.")]


def _load_pickle(path: Path) -> Any:
    import pickle

    import joblib

    with path.open("rb") as file:
        try:
            return joblib.load(file)
        except (pickle.UnpicklingError, AttributeError, *DAMAGED) as problem:
            raise ValueError(
                f"{path}: expected a complete file written by joblib.dump, got: {one_line(problem)}"
            ) from None
