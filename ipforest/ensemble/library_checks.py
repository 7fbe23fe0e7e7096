"""What a reader must know of a model: that its methods are the library's own, and what all parts of its trees mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array

__all__ = [
    "fields_of",
    "overridden",
    "require_known_parts",
    "require_loss_of_training",
    "require_own_predictions",
    "unknown_parts",
]

PREDICTING = ("predict", "decision_function", "_predict", "_raw_predict", "_validate_X_predict", "_decision_function")
"""How the names of methods begin that predictions go through."""


LINKS = {
    "IdentityLink": "identity",
    "LogLink": "log",
    "LogitLink": "logit",
    "HalfLogitLink": "half logit",
    "MultinomialLogit": "multinomial logit",
}
"""What the links of scikit-learn's losses are called here."""


def overridden(model: object, package: str, beginnings: tuple[str, ...]) -> str | None:
    """Name a method that a model has in place of its library's, or None.

    Parameters
    ----------
    model : object
        An instance of a class of the library, or of a class derived from one.
    package : str
        The library, for example "sklearn".
    beginnings : tuple of str
        How the names of the methods in question begin.
    """
    kinds = type(model).__mro__
    place = next((place for place, kind in enumerate(kinds) if kind.__module__.partition(".")[0] == package), None)
    if place is None:
        return None
    replaced: dict[str, Any] = dict(getattr(model, "__dict__", {}))
    for kind in kinds[:place]:
        replaced |= vars(kind)
    return next((name for name in replaced if name.startswith(beginnings) and hasattr(kinds[place], name)), None)


def require_own_predictions(model: object, package: str, name: str = "model") -> None:
    """Require a model that predicts as its library does, as the trees that are read do.

    Raises
    ------
    TypeError
        Its class, or the model itself, has a method of its own that predictions go through.
    """
    method = overridden(model, package, PREDICTING)
    if method is not None:
        kind = type(model)
        raise TypeError(
            f"{name}: expected one that predicts as {package} does, got {kind.__name__} of {kind.__module__}, which "
            f"has a {method} of its own"
        )


def require_loss_of_training(estimator: Any, link: str) -> None:
    """Require of boosted trees of scikit-learn that their loss is that of training, whose link predictions go through.

    Raises
    ------
    ValueError
        The parameter was changed afterwards.
    """
    trained = LINKS[type(estimator._loss.link).__name__]
    if trained != link:
        raise ValueError(
            f"model: expected {type(estimator).__name__} as it was trained, with a loss whose link is {trained}, got "
            f"loss={estimator.loss!r}"
        )


def fields_of(nodes: Array) -> dict[str, Array]:
    """Return the fields of a structured array by name."""
    return {name: nodes[name] for name in nodes.dtype.names or ()}


def unknown_parts(parts: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Name the parts of trees that are not known and in use: not all of their bytes are zero."""
    return [
        name
        for name, value in parts.items()
        if name not in known and np.ascontiguousarray(value).tobytes().strip(b"\0")
    ]


def require_known_parts(parts: Mapping[str, Any], known: Collection[str]) -> None:
    """Require that what is not known of trees, in a later version of their library, is not in use."""
    unknown = unknown_parts(parts, known)
    if unknown:
        raise TypeError(
            f"model: expected trees as of scikit-learn 1.6 to 1.9, got {unknown[0]!r} in them, which is not known here"
        )
