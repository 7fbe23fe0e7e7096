r"""Impurity functions: what a set of examples still has to be told apart.

A set is given by its statistics: the weight of each class, or the sums of gradients and Hessians. The admissible ones
(monotone, supermodular, zero on pure sets) are those of Nan, Wang, Saligrama, "Feature-Budgeted Random Forest" (ICML
2015), section 2.3, with its supplement: threshold-Pairs, Powers and polynomials. Entropy and Gini are not admissible.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import log2
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ipforest._internal.arrays import FloatArray, read_only
from ipforest._internal.kernels import njit, uncounted_njit

_COUNTS = np.arange(2.0**13)
_N_LOG_N = read_only(_COUNTS * np.log2(np.maximum(_COUNTS, 1.0)))

ENTROPY, GINI, THRESHOLD_PAIRS, POWERS, POLYNOMIAL, GRADIENT = range(6)


class Impurity:
    """What the kernels know a criterion by: a code and its parameters.

    Attributes
    ----------
    name : str
    code : int
    is_normalised : bool
        Whether the impurity is an average over the examples, so that sums need the weight of the set.
    """

    __slots__ = ()
    name: ClassVar[str]
    code: ClassVar[int]
    is_normalised: ClassVar[bool] = False

    @property
    def parameters(self) -> FloatArray:
        """Parameters as the kernels read them: the fields in order."""
        values = [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]  # a dataclass
        return read_only(np.array(values, dtype=np.float64))

    def check_classes(self, n_classes: int) -> None:
        """Raise ValueError if the impurity is for another number of classes."""

    def of(self, statistics: npt.ArrayLike) -> float:
        """Compute the impurity of a set.

        Parameters
        ----------
        statistics : array, shape (n_classes,)
            Weight of each class; for `Gradient` the sums of gradients and Hessians.
        """
        padded = np.append(np.asarray(statistics, dtype=np.float64), 0.0)
        return impurity(self.code, self.parameters, padded)


@dataclass(frozen=True, slots=True)
class Entropy(Impurity):
    """Shannon entropy in bits."""

    name: ClassVar[str] = "entropy"
    code: ClassVar[int] = ENTROPY
    is_normalised: ClassVar[bool] = True

    @property
    def parameters(self) -> FloatArray:
        """N log2 n of the first integers, which most weights are."""
        return _N_LOG_N


@dataclass(frozen=True, slots=True)
class Gini(Impurity):
    """Gini index, 1 minus the sum of squared class shares."""

    name: ClassVar[str] = "gini"
    code: ClassVar[int] = GINI
    is_normalised: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ThresholdPairs(Impurity):
    r"""Threshold-Pairs, equation (11).

    .. math:: F_\alpha = \sum_{i \ne j} \big[ [n_i - \alpha]_+ [n_j - \alpha]_+ - \alpha^2 \big]_+

    Parameters
    ----------
    alpha : number >= 0
        The larger, the earlier a set counts as pure, and the shallower and cheaper are the trees.
    """

    alpha: float = 0.0
    name: ClassVar[str] = "threshold-pairs"
    code: ClassVar[int] = THRESHOLD_PAIRS

    def __post_init__(self) -> None:
        if not isinstance(self.alpha, Real) or not 0 <= self.alpha < np.inf:
            raise ValueError(f"alpha: expected a finite number >= 0, got {self.alpha!r}")


@dataclass(frozen=True, slots=True)
class Powers(Impurity):
    r"""Powers: :math:`(\sum_i n_i)^l - \sum_i n_i^l`.

    Parameters
    ----------
    exponent : int >= 2
        The l; with 2 it is threshold-Pairs with alpha = 0.
    """

    exponent: int = 2
    name: ClassVar[str] = "powers"
    code: ClassVar[int] = POWERS

    def __post_init__(self) -> None:
        if not isinstance(self.exponent, Integral) or self.exponent < 2:
            raise ValueError(f"exponent: expected an integer >= 2, got {self.exponent!r}")


@dataclass(frozen=True, slots=True)
class Polynomial(Impurity):
    r"""A polynomial of the class counts: :math:`\sum_s \gamma_s \prod_i n_i^{p_{s,i}}`.

    Parameters
    ----------
    exponents : tuple of tuples of int >= 0, shape (n_terms, n_classes)
        Each term has at least two classes with a positive exponent, so that pure sets have none.
    coefficients : tuple of numbers > 0, shape (n_terms,), optional
        By default 1 each.
    """

    exponents: tuple[tuple[int, ...], ...]
    coefficients: tuple[float, ...] | None = None
    name: ClassVar[str] = "polynomial"
    code: ClassVar[int] = POLYNOMIAL

    def __post_init__(self) -> None:
        powers = np.asarray(self.exponents)
        if powers.ndim != 2 or not np.issubdtype(powers.dtype, np.integer) or powers.min() < 0:
            raise ValueError("exponents: expected integers >= 0 of shape (n_terms, n_classes), got others")
        if np.any((powers > 0).sum(axis=1) < 2):
            raise ValueError("exponents: expected at least two classes in each term, got a term with fewer")
        factors = np.ones(len(powers)) if self.coefficients is None else np.asarray(self.coefficients, dtype=float)
        if factors.shape != (len(powers),) or not np.all((factors > 0) & np.isfinite(factors)):
            raise ValueError(f"coefficients: expected {len(powers)} finite numbers > 0, got {self.coefficients!r}")

    @property
    def parameters(self) -> FloatArray:
        """Coefficient and exponents of each term in turn."""
        powers = np.asarray(self.exponents, dtype=np.float64)
        factors = np.ones(len(powers)) if self.coefficients is None else np.asarray(self.coefficients)
        return read_only(np.column_stack([factors, powers]).ravel())

    def check_classes(self, n_classes: int) -> None:
        """Raise ValueError if the terms are for another number of classes."""
        if len(self.exponents[0]) != n_classes:
            raise ValueError(f"exponents: expected {n_classes} per term, one per class, got {len(self.exponents[0])}")


@dataclass(frozen=True, slots=True)
class Gradient(Impurity):
    r"""Second-order loss that one leaf value leaves: :math:`-\frac{1}{2} G^2 / (H + l_2)`, up to a constant.

    Parameters
    ----------
    l2 : number >= 0
        Penalty on the squared leaf value.
    """

    l2: float = 0.0
    name: ClassVar[str] = "gradient"
    code: ClassVar[int] = GRADIENT

    def __post_init__(self) -> None:
        if not isinstance(self.l2, Real) or not 0 <= self.l2 < np.inf:
            raise ValueError(f"l2: expected a finite number >= 0, got {self.l2!r}")


@dataclass(frozen=True, slots=True)
class Variance(Gradient):
    """Half the squared error of targets from their mean: what `Grower.grow_many_means` grows by."""

    name: ClassVar[str] = "variance"

    def __post_init__(self) -> None:
        if self.l2 != 0:
            raise ValueError(f"l2: expected 0, as a leaf predicts the mean, got {self.l2!r}")


@uncounted_njit
def set_weight(code: int, statistics: FloatArray) -> float:
    """Weight of a set: that of its classes, or its Hessians."""
    if code == GRADIENT:
        return float(statistics[1])
    total = 0.0
    for k in range(statistics.size - 1):
        total += statistics[k]
    return total


@uncounted_njit
def _n_log_n(n: float, known: FloatArray) -> float:
    if n < known.size:
        whole = int(n)
        if whole == n:
            return float(known[whole])
    return n * log2(n)


@njit
def impurity(code: int, parameters: FloatArray, statistics: FloatArray) -> float:
    """Compute what `impurity_of_set` does, from Python."""
    return impurity_of_set(code, parameters, statistics)


@uncounted_njit
def impurity_of_set(code: int, parameters: FloatArray, statistics: FloatArray) -> float:
    """Impurity of a set from its statistics, whose last entry (the number of examples) it does not use."""
    n_classes = statistics.size - 1
    if code == GRADIENT:
        hessian = statistics[1] + parameters[0]
        return -0.5 * statistics[0] * statistics[0] / hessian if hessian > 0.0 else 0.0
    if code == ENTROPY:
        total = 0.0
        bits = 0.0
        for k in range(n_classes):
            n = statistics[k]
            if n > 0.0:
                total += n
                bits += _n_log_n(n, parameters)
        return max(0.0, (_n_log_n(total, parameters) - bits) / total) if total > 0.0 else 0.0
    if code == GINI:
        total = 0.0
        squares = 0.0
        for k in range(n_classes):
            total += statistics[k]
            squares += statistics[k] * statistics[k]
        return max(0.0, 1.0 - squares / (total * total)) if total > 0.0 else 0.0
    if code == THRESHOLD_PAIRS:
        return _threshold_pairs(parameters[0], statistics)
    if code == POWERS:
        total = 0.0
        powers = 0.0
        n_present = 0
        for k in range(n_classes):
            if statistics[k] > 0.0:
                n_present += 1
                total += statistics[k]
                powers += statistics[k] ** parameters[0]
        return total ** parameters[0] - powers if n_present > 1 else 0.0
    return _polynomial(parameters, statistics)


@uncounted_njit
def _threshold_pairs(alpha: float, statistics: FloatArray) -> float:
    n_classes = statistics.size - 1
    square = alpha * alpha
    pairs = 0.0
    for i in range(n_classes):
        excess = statistics[i] - alpha
        if excess > 0.0:
            for j in range(i):
                product = excess * (statistics[j] - alpha) - square
                if product > 0.0:
                    pairs += product
    return 2.0 * pairs


@uncounted_njit
def _polynomial(parameters: FloatArray, statistics: FloatArray) -> float:
    n_classes = statistics.size - 1
    total = 0.0
    for start in range(0, parameters.size, n_classes + 1):
        term = parameters[start]
        for k in range(n_classes):
            exponent = parameters[start + 1 + k]
            if exponent > 0.0:
                term *= statistics[k] ** exponent
        total += term
    return total
