"""From margins to class probabilities or targets: one compiled function for tables and for walks example by example."""

import numpy as np

from ipforest._internal.arrays import Array, FloatArray
from ipforest._internal.kernels import inner_njit, njit

LINKS = ("identity", "log", "logit", "half logit", "multinomial logit")
"""Links of summed trees; kernels know each by its place."""

IDENTITY, LOG, LOGIT, HALF_LOGIT, MULTINOMIAL = range(len(LINKS))


def linked(link: str, margins: FloatArray, n_outputs: int) -> FloatArray:
    """Turn margins into class probabilities or targets.

    Parameters
    ----------
    link : str
        One of `LINKS`.
    margins : ndarray of float64, shape (n_samples, n_margins)
    n_outputs : int
        2 where one margin is that of the second of two classes, else the number of margins.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_outputs)
    """
    outputs = np.empty((margins.shape[0], n_outputs))
    _link_all(LINKS.index(link), margins, outputs)
    return outputs


@njit
def _link_all(link: int, margins: Array, outputs: Array) -> None:
    for i in range(margins.shape[0]):
        link_one(link, margins[i], margins.shape[1], outputs[i])


@inner_njit
def link_one(link: int, margin: Array, n_margins: int, output: Array) -> None:
    """Turn the margins of one example (at least n_margins,) into its ``output`` (n_outputs,)."""
    if link == MULTINOMIAL:
        largest, total = margin[0], 0.0
        for k in range(1, n_margins):
            largest = max(largest, margin[k])
        for k in range(n_margins):
            output[k] = np.exp(margin[k] - largest)
            total += output[k]
        for k in range(n_margins):
            output[k] /= total
        return
    if link == IDENTITY and n_margins == output.size:
        for k in range(n_margins):
            output[k] = margin[k]
        return
    last = output.size - 1
    if link == IDENTITY:
        output[last] = margin[0]
    elif link == LOG:
        output[last] = np.exp(margin[0])
    else:
        output[last] = 1 / (1 + np.exp(-margin[0] if link == LOGIT else -2 * margin[0]))
    if last == 1:
        output[0] = 1 - output[1]
