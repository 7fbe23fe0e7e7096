"""Names that a package hands on: each is imported from where it is defined when it is asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def handed_on(package: str, homes: Mapping[str, str], name: str) -> Any:
    """Import a name of a package.

    Parameters
    ----------
    package : str
        For the error message.
    homes : mapping from str to str
        The module of each name; MODULE:ATTRIBUTE where it has another name there.
    name : str

    Raises
    ------
    AttributeError
        The package has no such name.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, attribute = homes[name].partition(":")
    return getattr(import_module(module), attribute or name)
