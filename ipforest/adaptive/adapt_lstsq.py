"""Adapt-Lstsq: linear gate and classifier; the gate is fitted to the log-odds of the shares by least squares."""

from ipforest.adaptive.distances import SquaredLogOdds
from ipforest.adaptive.linear_approximation import LinearApproximation


class AdaptLstsq(LinearApproximation):
    r"""Adapt-Lin with the symmetrised distance of the paper's supplement.

    Parameters and attributes are those of `LinearApproximation` and `AdaptiveApproximation`; shares are above 0.

    Notes
    -----
    The distance of two Bernoulli distributions with :math:`P(z = 0)` equal to q and :math:`\sigma(g)` is taken as the
    squared difference of their log-odds, which is the same in both directions and under exchange of the outcomes:

    .. math:: D(q, g) = \Big( \log\frac{q}{1-q} - \log\frac{\sigma(g)}{1-\sigma(g)} \Big)^2 = (h - g)^2,
              \qquad h = \log\frac{q}{1-q} .

    *Gate.* With shares fixed, (OPT) is least squares in g: the gate is a regression on the log-odds. The
    Kullback-Leibler divergence, a sum of logistic losses in opposite directions, is flat where shares are near 1/2.

    *Classifier.* As in Adapt-Lin.

    *Shares.* With :math:`q = \sigma(h)` and a multiplier :math:`\beta \ge 0` for the mean share, each example is a
    problem of one variable,

    .. math:: \min_h\ \ell_1 + (\ell_0 - \ell_1 + \beta)\, \sigma(h) + (h - g)^2 ,

    which has no closed form and, for :math:`\ell_0 - \ell_1 + \beta` above :math:`\sqrt{432}`, up to two local minima.
    Both are found, and so the global one (`ipforest.adaptive.distances.nearest_log_odds`). As the multiplier rises,
    shares fall: the least multiplier that meets the constraint gives a solution that is optimal for its own mean share.
    A share can jump from one local minimum to the other; where that leaves the objective higher than before, the former
    shares are kept, so that it never rises.
    """

    _distance = SquaredLogOdds()

    def check_parameters(self) -> None:
        """Check the parameters before any training."""
        super().check_parameters()
        if min(self._search.shares) == 0:
            raise ValueError("search.shares: expected numbers above 0, got 0, whose log-odds are infinite")
