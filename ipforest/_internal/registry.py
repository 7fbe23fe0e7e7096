"""Objects by name: those of this package, those that installed packages bring, and the user's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, TypeVar

from ipforest._internal.callers import warn_caller

__all__ = ["Plugins", "Registry", "installed"]


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """The name by which it is looked up."""


T = TypeVar("T", bound=Named)


@cache
def installed(group: str) -> tuple[EntryPoint, ...]:
    """Find what installed packages name as entry points of a group."""
    return tuple(entry_points(group=group))


class Plugins:
    """Modules of installed packages that register something when they are imported; each is imported once.

    Parameters
    ----------
    group : str
        Of their entry points.
    """

    def __init__(self, group: str) -> None:
        self.group = group
        self.n_registered = 0
        self._are_loaded = False

    def load(self) -> None:
        """Import them; one that fails, or registers nothing, is left out with a warning."""
        if self._are_loaded:
            return
        self._are_loaded = True
        for plugin in installed(self.group):
            before, is_new = self.n_registered, plugin.module not in sys.modules
            try:
                import_module(plugin.module)
            except Exception as problem:  # a package of others may raise anything
                self._warn(plugin, f"{type(problem).__name__}: {problem}")
            else:
                if is_new and self.n_registered == before:
                    self._warn(plugin, "one that registers nothing")

    def _warn(self, plugin: EntryPoint, got: str) -> None:
        owner = f" of {plugin.dist.name}" if plugin.dist is not None else ""
        warn_caller(
            f"{plugin.value}{owner}: expected a module that registers {self.group.rpartition('.')[2]}, got {got}; "
            "what it brings is not available",
            RuntimeWarning,
        )


class Registry(Mapping[str, T]):
    """Objects by name, in the order in which they were registered.

    Parameters
    ----------
    kind : str
        What they are, for error messages.
    address : str
        Where the registry is imported from.
    plugins : Plugins
        Loaded when a name is not known, or all are asked for.
    *entries
        Of this package.
    """

    def __init__(self, kind: str, address: str, plugins: Plugins, *entries: T) -> None:
        self._kind, self._address, self._plugins = kind, address, plugins
        self._entries = {entry.name: entry for entry in entries}

    def __repr__(self) -> str:
        return f"<{self._address}: {', '.join(self._entries)}>"

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._plugins.load()
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        self._plugins.load()
        return iter(self._entries)

    def __len__(self) -> int:
        self._plugins.load()
        return len(self._entries)

    def add(self, entry: T) -> None:
        """Add an object.

        Raises
        ------
        ValueError
            Its name is taken.
        """
        if entry.name in self._entries:
            raise ValueError(
                f"name: expected one that no {self._kind} has, got {entry.name!r}; take the other one out with "
                f"{self._address}.remove({entry.name!r}), or choose another name"
            )
        self._entries[entry.name] = entry
        self._plugins.n_registered += 1

    def remove(self, name: str) -> None:
        """Take an object out again.

        Raises
        ------
        KeyError
            None has that name.
        """
        del self._entries[name]
