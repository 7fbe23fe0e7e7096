"""Adapt-Lin, Algorithm 1: linear gate and classifier, Kullback-Leibler divergence."""

from ipforest.adaptive.distances import KullbackLeibler
from ipforest.adaptive.linear_approximation import LinearApproximation


class AdaptLin(LinearApproximation):
    """Answer easy examples by a linear classifier, and send hard ones by a linear gate to the full model.

    Shares have a closed form (`KullbackLeibler`), gate and classifier share a group-sparse set of features
    (`ipforest.adaptive.linear_pair`). Parameters and attributes are those of `LinearApproximation` and
    `AdaptiveApproximation`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> from ipforest.adaptive import AdaptLin, GateSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = GateSearch(shares=[0.3], lambdas=3)
    >>> model = AdaptLin(SVC(gamma="auto"), search=search, budget=8, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 9)
    True
    """

    _distance = KullbackLeibler()
