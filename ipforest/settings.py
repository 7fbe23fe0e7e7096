"""Parameters that travel together: frozen dataclasses that check themselves, and that scikit-learn sees into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, replace
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from ipforest._internal.arrays import one_line

__all__ = ["Grouped", "Settings", "check_fields", "checked", "groups_of"]

S = TypeVar("S", bound="Settings")
T = TypeVar("T")


def checked(default: T, check: Callable[..., object], *known: Any, **options: Any) -> T:
    """Declare a field of a dataclass by its default and by what checks its value: ``check(value, name, *known)``.

    A subclass that gives the field another default keeps the check.
    """
    declared: T = field(default=default, metadata={"check": lambda value, name: check(value, name, *known, **options)})
    return declared


def check_fields(holder: object, named: Callable[[str], str] = str) -> None:
    """Check each field of a dataclass that is declared as `checked`; messages name it so."""
    declared = [vars(base).get("__dataclass_fields__", {}).values() for base in reversed(type(holder).__mro__)]
    checks = {each.name: each.metadata["check"] for of_base in declared for each in of_base if "check" in each.metadata}
    for name, check in checks.items():
        check(getattr(holder, name), named(name))


class Settings:
    """Base of frozen dataclasses that hold what belongs together of an estimator's parameters.

    Estimators take them as a parameter of which None means the defaults, see `Grouped`; fields are set in clones and
    searched by ``set_params`` and `sklearn.model_selection.GridSearchCV` as ``growth__max_depth``. A subclass is a
    dataclass with ``frozen=True, slots=True, repr=False`` and a default for each field, `checked` where not every value
    is allowed: others raise a TypeError or ValueError that names the field. A ``__post_init__`` calls that of its base.

    Attributes
    ----------
    parameter : str
        The estimator's parameter, by which messages name a field: "growth.max_depth".
    """

    __slots__ = ()
    parameter: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self, self.named)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the value of each field; there is nothing deeper."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass

    def with_params(self, **changes: Any) -> Self:
        """Return the same settings with other values of some fields.

        Raises
        ------
        ValueError
            A field is unknown, or a value is none of those allowed.
        """
        known = self.get_params()
        for name in changes:
            if name not in known:
                raise ValueError(f"{self.parameter}: expected parameters among {', '.join(known)}, got {name!r}")
        return replace(self, **changes)  # type: ignore[type-var]  # a dataclass

    def named(self, field: str) -> str:
        """Name a field as a user of the estimator does."""
        return f"{self.parameter}.{field}"

    def __sklearn_clone__(self) -> Self:
        return self

    def __repr__(self) -> str:
        """Show the fields that differ from their defaults, as scikit-learn does."""
        shown, default = (
            {name: repr(value) for name, value in each.get_params().items()} for each in (self, type(self)())
        )
        changed = (f"{name}={value}" for name, value in shown.items() if value != default[name])
        return f"{type(self).__name__}({', '.join(changed)})"


class Grouped(Generic[S]):
    """A parameter of an estimator that is a `Settings`: reads it, the defaults where it is None.

    Parameters
    ----------
    kind : type of Settings
        With the defaults of this estimator.
    """

    def __init__(self, kind: type[S]) -> None:
        self.kind = kind

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...

    @overload
    def __get__(self, estimator: object, owner: type) -> S: ...

    def __get__(self, estimator: object | None, owner: type) -> Self | S:
        if estimator is None:
            return self
        given = getattr(estimator, self.kind.parameter)
        if given is None:
            return self.kind()
        if type(given) is not self.kind:
            raise TypeError(
                f"{self.kind.parameter}: expected {self.kind.__name__} or None for {owner.__name__}, "
                f"got {one_line(repr(given))}"
            )
        return given


def groups_of(estimator_class: type) -> dict[str, Grouped[Any]]:
    """Return the groups of settings that an estimator takes, by their parameters."""
    found = (value for base in reversed(estimator_class.__mro__) for value in vars(base).values())
    return {value.kind.parameter: value for value in found if isinstance(value, Grouped)}
