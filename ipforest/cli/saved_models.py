"""Models that ``fit`` saved, as ``predict`` and ``session`` read them, and the text columns that they know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ipforest._internal.arrays import one_line
from ipforest.cli.fit import MODEL_FILE


def read_model(path: str, *, allow_pickle: bool) -> tuple[Any, Any]:
    """Read a model from a file or a folder of ``fit``; give it whole, and its last step, which buys.

    Parameters
    ----------
    path : str
    allow_pickle : bool
        See `ipforest.tabular.model_files.load_model`.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is no model, or one without prices.
    """
    from sklearn.pipeline import Pipeline

    from ipforest.estimator import BudgetedEstimator
    from ipforest.tabular.model_files import load_model
    from ipforest.wrappers.pipeline import BudgetedPipeline

    if not Path(path).exists():
        raise ValueError(f"--model: expected a folder of `ipforest fit` or a model file, found nothing at {path}")
    file = Path(path) / MODEL_FILE if Path(path).is_dir() else Path(path)
    model = load_model(file, allow_pickle=allow_pickle)
    model = model.as_pipeline() if isinstance(model, BudgetedPipeline) else model
    buyer = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(buyer, BudgetedEstimator):
        raise ValueError(
            f"{file}: expected a model with prices, such as `ipforest fit` saves, got {type(buyer).__name__}"
        )
    return model, buyer


@contextmanager
def using(path: str) -> Iterator[None]:
    """Blame the file of a model for what its parts cannot do: each was read, but they need not fit together.

    Raises
    ------
    ValueError
        Arrays of different lengths or types, say, met in the block.
    """
    from numba.core.errors import NumbaError

    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, NumbaError) as problem:
        raise ValueError(f"{path}: expected a model as saved, got one that fails: {one_line(problem)}") from problem


def known_words(model: Any) -> dict[str, dict[str, Any]]:
    """Return what the words stand for that training saw, for each column of text or categories that the model reads."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        return {
            name: {word: word for word in words.tolist()}
            for step, encoder, names in model[0].transformers_
            if step == "onehotencoder"
            for name, words in zip(names, encoder.categories_, strict=True)
        }
    categories = getattr(model, "categories_", None)
    names = getattr(model, "feature_names_in_", ())
    if categories is None:
        return {}
    return {names[column]: {str(word): word for word in words} for column, words in categories.names.items()}
