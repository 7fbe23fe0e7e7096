"""What features cost: prices, and groups whose first feature pays a shared fee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from math import lcm
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ipforest._internal.arrays import (
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    checked_array,
    checked_integer,
    one_line,
    read_only,
)
from ipforest._internal.feature_names import (
    checked_names,
    column_of,
    places_by_number,
    positions_by_name,
    values_and_names,
)
from ipforest._internal.measured_numbers import as_decimal, exact_list, resolution_for
from ipforest._internal.rational import nonnegative_fraction

PriceList: TypeAlias = Mapping[str, object] | Sequence[object] | npt.ArrayLike
GroupList: TypeAlias = Mapping[str, int] | Sequence[int] | npt.ArrayLike
DelayList: TypeAlias = Mapping[str, bool] | Sequence[int | str] | Set[int | str] | npt.ArrayLike

NO_GROUP = -1


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class FeatureCosts:
    """The price list of the features.

    An example that needs feature f pays ``prices[f]`` once, and, with the first feature of a group, the group's fee.
    So where a blood test is cheaper once blood is taken (Turney's discounts), taking blood is the fee. A sensor whose
    features come together is a fee, and its features cost 0.

    What is bought is called a *unit*: each feature that has a price of its own or no group, and each group. A feature
    needs one or two units.

    The value of a *delayed* feature comes in the next round only, as that of a blood test comes tomorrow: it decides
    nothing of what is ordered together with it. It is paid when it is ordered, and a group's fee when the first feature
    of the group is.

    Parameters
    ----------
    prices : sequence of int, float, str, Decimal or Fraction, shape (n_features,)
        What each feature itself costs, >= 0. A float means its shortest decimal. A decimal number of more than 9
        significant digits is a measurement and is rounded by at most a millionth of itself, see ``resolution``; all
        others, fractions of any size among them, are exact. A dict or a pandas Series gives the names of the features,
        too; integer keys are column numbers.
    groups : sequence of int, shape (n_features,), optional
        The group of each feature, -1 for none; a dict or a Series by name, in any order.
    group_fees : sequence of numbers, shape (n_groups,), optional
        The fee of each group, >= 0; a dict or a Series by the numbers of the groups, in any order.
    feature_names : sequence of str, shape (n_features,), optional
        By these the prices are matched with ensembles that have names, too.
    delayed : sequence of bool, shape (n_features,), or of int or str, optional
        Whether each feature is delayed, a dict or a Series by name; or the columns or names of those that are.
    sources : sequence of int, shape (n_features,), optional
        Which price each feature needs: its own, unless the features are columns computed from others (`for_columns`);
        then prices, groups and marks of delayed ones are of what is priced, and names of the columns.
    resolution : number, optional
        What measured prices and fees are rounded to multiples of: the seventh digit of the largest price, or, where
        that is more than two millionths of the smallest measured one, the largest number 1, 2 or 5 times a power of ten
        that is not. What is given tells it of prices that are rounded already; None where none is measured.
    in_column_order : bool, optional
        Whether prices stand in the order of the columns; not if their names came with a dict or a Series alone.

    Attributes
    ----------
    delayed : ndarray of bool, shape (n_prices,)
        See also `delayed_features`.
    unit_costs : tuple of Fraction, shape (n_units,)
        What each unit costs: c_k of the papers.
    unit_indptr, unit_indices : ndarray of int32
        The units of feature f are ``unit_indices[unit_indptr[f]:unit_indptr[f + 1]]``.

    Raises
    ------
    ValueError
        A price or fee is negative, NaN or infinite; lengths or names differ; a group has no fee. Or the largest price
        is 2^62 multiples of the resolution, so that no integer of 64 bits counts it and the smallest measured price.
        Or no feature has a name or number that is in ``delayed``, or some but not all features are delayed that come
        free with the fee of their group: they are one purchase.
    TypeError
        A price is no number, a name no string, groups are not integers, or marks of delayed features are no bools.

    Notes
    -----
    Group discounts: Turney, "Cost-Sensitive Classification", JAIR 2 (1995); sensors: BudgetPrune,
    section 5 (Scene15).
    """

    prices: tuple[Fraction, ...]
    groups: Int32Array
    group_fees: tuple[Fraction, ...]
    feature_names: tuple[str, ...] | None
    sources: IntArray
    resolution: Fraction | None
    in_column_order: bool
    unit_costs: tuple[Fraction, ...] = field(init=False)
    unit_indptr: Int32Array = field(init=False)
    unit_indices: Int32Array = field(init=False)
    delayed: BoolArray

    def __init__(
        self,
        prices: PriceList,
        groups: GroupList | None = None,
        group_fees: Sequence[object] | npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        delayed: DelayList | None = None,
        *,
        sources: npt.ArrayLike | None = None,
        resolution: object = None,
        in_column_order: bool | None = None,
    ) -> None:
        own_prices, names = _in_order(prices, feature_names, "prices")
        group_list, names = _in_order(groups, names, "groups")
        _, names = _in_order(delayed, names, "delayed")
        exact_prices, measured_prices = exact_list(own_prices, "prices")
        group_of = _group_array(group_list, len(exact_prices))
        fees, measured_fees = exact_list(() if group_fees is None else _by_group(group_fees), "group_fees")
        if groups is None and fees:
            raise ValueError(
                f"groups: expected the group of each feature with group_fees, got none for {len(fees)} fees"
            )
        measured = measured_prices | measured_fees
        if measured:
            step = resolution_for(measured, max((*exact_prices, *fees)))
            exact_prices, fees = (
                tuple(round(price / step) * step if price in measured else price for price in amounts)
                for amounts in (exact_prices, fees)
            )
            resolution = step
        needed = np.arange(len(exact_prices)) if sources is None else np.asarray(sources)
        known_names = checked_names(names, needed.size)
        if in_column_order is None:
            in_column_order = feature_names is not None or known_names is None
        values = {
            "prices": exact_prices,
            "groups": group_of,
            "group_fees": fees,
            "feature_names": known_names,
            "sources": needed,
            "resolution": resolution,
            "in_column_order": in_column_order,
            "delayed": delayed_marks(delayed, known_names if sources is None else None, len(exact_prices)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        for name in ("prices", "group_fees"):
            object.__setattr__(self, name, exact_list(getattr(self, name), name)[0])
        if not self.prices:
            raise ValueError("prices: expected at least one price, got none")
        object.__setattr__(self, "groups", _group_array(self.groups, len(self.prices)))
        if self.groups.max() >= len(self.group_fees):
            raise ValueError(
                f"group_fees: expected a fee for each of the groups 0..{self.groups.max()}, got "
                f"{len(self.group_fees)} fees"
            )
        sources = checked_array(self.sources, "sources", np.int64, np.shape(self.sources))
        if sources.ndim != 1 or sources.size == 0 or sources.min() < 0 or sources.max() >= len(self.prices):
            raise ValueError(f"sources: expected features 0..{len(self.prices) - 1}, got another")
        object.__setattr__(self, "sources", sources)
        object.__setattr__(self, "feature_names", checked_names(self.feature_names, sources.size))
        if self.resolution is not None:
            object.__setattr__(self, "resolution", nonnegative_fraction(self.resolution, "resolution"))
        if not isinstance(self.in_column_order, bool):
            raise TypeError(f"in_column_order: expected a bool, got {type(self.in_column_order).__name__}")
        object.__setattr__(self, "delayed", checked_array(self.delayed, "delayed", np.bool_, (len(self.prices),)))
        self._number_units()
        self._check_delayed_groups()

    def __getstate__(self) -> list[object]:
        """Give the fields; without delayed features those of files from before there were any."""
        state = [getattr(self, field.name) for field in fields(self)]
        return state if self.delayed.any() else state[:-1]

    def __setstate__(self, state: list[Any]) -> None:
        names = [field.name for field in fields(self)]
        if len(state) not in (len(names) - 1, len(names)):
            raise ValueError(f"state: expected {len(names)} fields of FeatureCosts, got {len(state)}")
        for name, value in zip(names, state, strict=False):
            object.__setattr__(self, name, value)
        if len(state) < len(names):
            object.__setattr__(self, "delayed", read_only(np.zeros(len(self.prices), dtype=bool)))

    def _check_delayed_groups(self) -> None:
        """Require of the features that a group's fee alone buys that all are delayed, or none."""
        for group in range(len(self.group_fees)):
            free = [feature for feature in np.flatnonzero(self.groups == group) if self.prices[feature] == 0]
            late = int(self.delayed[free].sum())
            if 0 < late < len(free):
                raise ValueError(
                    f"delayed: expected all or none of the {len(free)} features that come free with the fee of group "
                    f"{group}, as they are one purchase, got {late}; give the delayed ones a group or a price of "
                    "their own"
                )

    def _number_units(self) -> None:
        """Give numbers to the units: the prices that are paid themselves, then the groups."""
        own = [price > 0 or group == NO_GROUP for price, group in zip(self.prices, self.groups, strict=True)]
        own_costs = [price for price, bought in zip(self.prices, own, strict=True) if bought]
        number_of_own = np.cumsum(own) - 1
        indptr, indices = [0], []
        for source in self.sources:
            if own[source]:
                indices.append(int(number_of_own[source]))
            if self.groups[source] != NO_GROUP:
                indices.append(len(own_costs) + int(self.groups[source]))
            indptr.append(len(indices))
        object.__setattr__(self, "unit_costs", (*own_costs, *self.group_fees))
        object.__setattr__(self, "unit_indptr", read_only(np.array(indptr, dtype=np.int32)))
        object.__setattr__(self, "unit_indices", read_only(np.array(indices, dtype=np.int32)))

    @classmethod
    def uniform(cls, n_features: int) -> Self:
        """Price 1 for each feature: cost is the number of distinct features used."""
        if not 1 <= checked_integer(n_features, "n_features") <= np.iinfo(np.int32).max:
            raise ValueError(f"n_features: expected an integer >= 1 and < 2**31, got {n_features}")
        return cls([1] * int(n_features))

    @classmethod
    def from_discounts(
        cls,
        alone: PriceList,
        in_group: PriceList,
        groups: GroupList,
        feature_names: Sequence[str] | None = None,
        delayed: DelayList | None = None,
    ) -> Self:
        """Read a price list in Turney's form: full price, and price once the group's fee is paid.

        Parameters
        ----------
        alone, in_group : sequence of numbers, shape (n_features,)
            The price of a feature bought first in its group, and bought later.
        groups : sequence of int, shape (n_features,)
            The group of each feature, -1 for none.
        feature_names : sequence of str, shape (n_features,), optional
            Names may come with a dict or a Series instead, as in `FeatureCosts`.
        delayed : optional
            As in `FeatureCosts`.

        Raises
        ------
        ValueError
            The discount differs within a group, is negative, or a feature without a group has one.
        """
        first_prices, names = _in_order(alone, feature_names, "alone")
        later_prices, names = _in_order(in_group, names, "in_group")
        group_list, names = _in_order(groups, names, "groups")
        full, later = exact_list(first_prices, "alone")[0], exact_list(later_prices, "in_group")[0]
        if len(full) != len(later):
            raise ValueError(f"in_group: expected {len(full)} prices as in alone, got {len(later)}")
        group_of = _group_array(group_list, len(full))
        fees: dict[int, Fraction] = {}
        for feature, group in enumerate(group_of.tolist()):
            discount = full[feature] - later[feature]
            if discount < 0:
                raise ValueError(
                    f"in_group: expected at most the price alone for feature {feature}, got {-discount} more"
                )
            expected = Fraction(0) if group == NO_GROUP else fees.setdefault(group, discount)
            if discount != expected:
                where = "without a group" if group == NO_GROUP else f"of group {group}"
                raise ValueError(
                    f"in_group: expected a discount of {expected} for feature {feature} {where}, got {discount}"
                )
        n_groups = max(fees, default=NO_GROUP) + 1
        decimals = [as_decimal(fees.get(group, Fraction(0))) for group in range(n_groups)]
        by_name = names is not None and feature_names is None
        prices = dict(zip(names, later_prices, strict=True)) if by_name and names is not None else later_prices
        return cls(prices, group_of, decimals, feature_names, delayed)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.sources.size

    @property
    def is_plain(self) -> bool:
        """Whether the features are what is priced, in that order, and not columns computed from it."""
        return np.array_equal(self.sources, np.arange(len(self.prices)))

    @property
    def n_units(self) -> int:
        """Number of things that can be bought: K of the papers."""
        return len(self.unit_costs)

    @property
    def alone(self) -> list[Fraction]:
        """What each feature costs by itself, its group's fee included."""
        return [sum((self.unit_costs[unit] for unit in self.units_of(n)), Fraction(0)) for n in range(self.n_features)]

    @property
    def positive_costs(self) -> list[float]:
        """What the units cost that are not free, as floats."""
        return [float(cost) for cost in self.unit_costs if cost > 0]

    @property
    def delayed_features(self) -> BoolArray:
        """Whether the value of each feature comes in the next round only, shape (n_features,)."""
        return self.delayed[self.sources]

    def with_delayed(self, delayed: DelayList | None) -> FeatureCosts:
        """Return the same prices with other features delayed, or none.

        Parameters
        ----------
        delayed : optional
            As in `FeatureCosts`; a feature that is a column computed from another (`for_columns`) delays that one.

        Raises
        ------
        TypeError, ValueError
            As in `FeatureCosts`.
        """
        late = np.zeros(len(self.prices), dtype=bool)
        late[self.sources[delayed_marks(delayed, self.feature_names, self.n_features)]] = True
        return replace(self, delayed=late)

    @property
    def denominator(self) -> int:
        """The least common denominator of the unit costs."""
        return lcm(*(cost.denominator for cost in self.unit_costs))

    def matched_to(self, n_features: int, feature_names: Sequence[str] | None = None) -> FeatureCosts:
        """Return the prices in the order of an ensemble's features.

        By name where both have names, by column number where the prices have numbers in place of names, else by
        position.

        Parameters
        ----------
        n_features : int
        feature_names : sequence of str, shape (n_features,), optional

        Raises
        ------
        ValueError
            There are prices for another number of features, for unknown ones, or not for all; an unknown name is told
            with the closest known one. Or prices by name are for features that have no names.
        """
        if (feature_names is None or self.feature_names is None) and self.n_features != n_features:
            raise ValueError(f"costs: expected {n_features} prices, one per feature, got {self.n_features}")
        if self.feature_names is not None and not (feature_names is None and self.in_column_order):
            problem = "costs: expected a price for each feature"
            order = places_by_number(self.feature_names, feature_names, n_features, problem)
            names = None if feature_names is None else tuple(feature_names)
            if order is None:
                order = positions_by_name(self.feature_names, names or (), problem)
            if order != list(range(n_features)) or names != self.feature_names or not self.in_column_order:
                return self._reordered(order, names)
        return self

    def _reordered(self, order: list[int], feature_names: tuple[str, ...] | None) -> FeatureCosts:
        if not self.is_plain:
            return replace(self, in_column_order=True, feature_names=feature_names, sources=self.sources[order])
        prices = tuple(self.prices[position] for position in order)
        return replace(
            self,
            in_column_order=True,
            prices=prices,
            groups=self.groups[order],
            feature_names=feature_names,
            delayed=self.delayed[order],
        )

    def for_columns(self, sources: npt.ArrayLike, feature_names: Sequence[str] | None = None) -> FeatureCosts:
        """Price columns computed from these features: all columns of one feature are one purchase.

        Parameters
        ----------
        sources : array of int, shape (n_columns,)
            The feature that each column is computed from; see `ipforest.tabular.preprocessing.source_columns`.
        feature_names : sequence of str, shape (n_columns,), optional
            Names of the columns.

        Raises
        ------
        ValueError
            A source is no feature of this list.
        """
        columns = np.asarray(sources, dtype=np.int64)
        if columns.size == 0 or columns.min() < 0 or columns.max() >= self.n_features:
            raise ValueError(f"sources: expected features 0..{self.n_features - 1}, got {columns.tolist()[:5]}")
        names = checked_names(feature_names, columns.size)
        return replace(self, in_column_order=True, feature_names=names, sources=self.sources[columns])

    @property
    def float_prices(self) -> FloatArray:
        """The prices as floats, shape (n_prices,)."""
        return np.array([*map(float, self.prices)])

    @property
    def feature_prices(self) -> FloatArray:
        """What the features cost without fees of groups, as floats, shape (n_features,)."""
        prices: FloatArray = self.float_prices[self.sources]
        return prices

    @property
    def float_unit_costs(self) -> FloatArray:
        """What the units cost as floats, shape (n_units,)."""
        return np.array([*map(float, self.unit_costs)])

    @property
    def first_unit(self) -> Int32Array:
        """The unit that brings each feature, shape (n_features,): its own, or its group."""
        return self.unit_indices[self.unit_indptr[:-1]]

    def units_of(self, feature: int) -> Int32Array:
        """Return the one or two units that a feature needs: its own, its group, or both."""
        return self.unit_indices[self.unit_indptr[feature] : self.unit_indptr[feature + 1]]

    def cost_of(self, usage: npt.ArrayLike, split_cost: object = 0) -> FloatArray:
        """Compute what examples pay for the features they use, and for their tests if these cost.

        Parameters
        ----------
        usage : array of bool or counts, shape (n_samples, n_features)
            How often the example tests the feature, nonzero where it uses it.
        split_cost : number, default=0
            What one test costs.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
        """
        tests, test_price = np.asarray(usage), float(nonnegative_fraction(split_cost, "split_cost"))
        used = self.bought(tests)
        paid: FloatArray = np.multiply(used, self.float_prices, order="C").sum(axis=1)  # whatever other rows there are
        for group, fee in enumerate(self.group_fees):
            paid += float(fee) * used[:, self.groups == group].any(axis=1)
        if test_price:
            paid += test_price * tests.sum(axis=1)
        return paid

    def bought(self, usage: npt.ArrayLike) -> BoolArray:
        """Return which prices examples pay for the features they use.

        Parameters
        ----------
        usage : array of bool or counts, shape (n_samples, n_features)
            Nonzero where the example uses the feature.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_prices)
        """
        used: BoolArray = np.asarray(usage) != 0
        if used.ndim != 2 or used.shape[1] != self.n_features:
            raise ValueError(f"usage: expected shape (n_samples, {self.n_features}), got {used.shape}")
        if self.is_plain:
            return used
        paid = np.zeros((used.shape[0], len(self.prices)), dtype=bool)
        for column, source in enumerate(self.sources):
            paid[:, source] |= used[:, column]
        return paid

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureCosts):
            return NotImplemented
        return (
            self.prices == other.prices
            and self.group_fees == other.group_fees
            and np.array_equal(self.groups, other.groups)
            and self.feature_names == other.feature_names
            and np.array_equal(self.sources, other.sources)
            and np.array_equal(self.delayed, other.delayed)
        )

    def __hash__(self) -> int:
        arrays = (self.groups.tobytes(), self.sources.tobytes(), self.delayed.tobytes())
        return hash((self.prices, self.group_fees, self.feature_names, *arrays))

    def __repr__(self) -> str:
        rounded = "" if self.resolution is None else f", rounded to multiples of {self.resolution}"
        late = f", {self.delayed_features.sum()} delayed" if self.delayed.any() else ""
        groups = f"{len(self.group_fees)} group{'' if len(self.group_fees) == 1 else 's'}"
        counts = f"{self.n_features} features{late}, {groups}, {self.n_units} units"
        return f"FeatureCosts({counts}{rounded})"


def _in_order(values: Any, names: Sequence[str] | None, what: str) -> tuple[Any, Sequence[str] | None]:
    """Bring values that have names of their own into the order of the names; without names, take theirs."""
    plain, own = values_and_names(values, what)
    if own is None or names is None:
        return plain, own if names is None else names
    items = list(plain)
    return [items[position] for position in positions_by_name(own, names, f"{what}: expected the features")], names


def _by_group(fees: Any) -> Any:
    """Give the fees of groups 0, 1, ... in order; a Series whose labels are not these numbers goes by position."""
    if isinstance(fees, Mapping):
        labels, amounts = list(fees), list(fees.values())
    elif isinstance(fees, pd.Series):
        labels, amounts = fees.index.tolist(), fees.tolist()
    else:
        return fees
    if sorted(labels, key=str) == sorted(range(len(labels)), key=str):
        return [amounts[place] for place in np.argsort(labels).tolist()]
    if isinstance(fees, Mapping):
        raise ValueError(
            f"group_fees: expected the numbers of the groups 0..{len(labels) - 1} as keys, got {one_line(labels)}"
        )
    return fees


def _group_array(groups: Sequence[int] | npt.ArrayLike | None, n_features: int) -> Int32Array:
    if groups is None:
        return read_only(np.full(n_features, NO_GROUP, dtype=np.int32))
    try:
        raw = np.asarray(groups)
    except ValueError:
        raise TypeError(f"groups: expected one group per feature, integers, got lists of them in {groups!r}") from None
    if raw.shape != (n_features,):
        raise ValueError(f"groups: expected one group per feature, shape ({n_features},), got shape {raw.shape}")
    if raw.size and not np.issubdtype(raw.dtype, np.integer):
        raise TypeError(f"groups: expected integers, -1 for no group, got dtype {raw.dtype}")
    if raw.size and raw.min() < NO_GROUP:
        raise ValueError(f"groups: expected -1 or a group index >= 0, got {raw.min()}")
    return checked_array(raw, "groups", np.int32, (n_features,))


def delayed_marks(delayed: Any, names: Sequence[str] | None, n_features: int) -> BoolArray:
    """Read which features are delayed: marks, one per feature, or names and columns of those that are.

    Parameters
    ----------
    delayed : optional
        As in `FeatureCosts`.
    names : sequence of str, shape (n_features,), or None
    n_features : int

    Returns
    -------
    ndarray of bool, shape (n_features,)

    Raises
    ------
    TypeError, ValueError
        As in `FeatureCosts`.
    """
    late = np.zeros(n_features, dtype=bool)
    if delayed is None:
        return read_only(late)
    if isinstance(delayed, str) or not hasattr(delayed, "__iter__"):
        raise TypeError(f"delayed: expected a bool for each feature, or names of the delayed ones, got {delayed!r}")
    in_order, own_names = _in_order(delayed, names, "delayed")
    if names is None and own_names is not None:
        raise ValueError(f"delayed: expected columns, as the features have no names, got {', '.join(own_names)}")
    items = list(in_order)
    is_mark = [isinstance(item, bool | np.bool_) for item in items]
    if any(is_mark) or (items and in_order is not delayed):
        if not all(is_mark):
            raise TypeError(f"delayed: expected True or False for each feature, got {items[is_mark.index(False)]!r}")
        if len(items) != n_features:
            raise ValueError(f"delayed: expected {n_features} bools, one per feature, got {len(items)}")
        return read_only(np.array(items, dtype=bool))
    for item in items:
        if not isinstance(item, str | Integral):
            raise TypeError(
                f"delayed: expected a bool for each feature, or names or columns of the delayed ones, got {item!r}"
            )
        column = column_of(item, names or (), n_features)
        if column is None:
            known = f"0..{n_features - 1}" + (f" or among {', '.join(names)}" if names else "")
            raise ValueError(f"delayed: expected features {known}, got {item!r}")
        if late[column]:
            raise ValueError(f"delayed: expected each delayed feature once, got {item!r} again; marks are bools")
        late[column] = True
    return read_only(late)


def require_no_split_cost(costs: FeatureCosts, split_cost: object) -> None:
    """Require that tests have no price where features are delayed."""
    if costs.delayed.any() and nonnegative_fraction(split_cost, "split_cost"):
        raise ValueError(f"split_cost: expected none with delayed features, got {split_cost!r}")


def two_units(costs: FeatureCosts) -> Int32Array:
    """List the one or two units that each feature needs, shape (n_features, 2); a missing second one is n_units."""
    units = np.full((costs.n_features, 2), costs.n_units, dtype=np.int32)
    units[:, 0] = costs.first_unit
    both = np.diff(costs.unit_indptr) == 2
    units[both, 1] = costs.unit_indices[costs.unit_indptr[1:][both] - 1]
    return units
