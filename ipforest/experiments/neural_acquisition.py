"""Active feature acquisition with neural networks, which need PyTorch: GDFS and DIME, from their papers' descriptions.

Both have one network that predicts from any subset of the features, and one that says what to buy next. They are
trained together on the subsets that are bought, after the first was trained on random subsets.

Sources: I. Covert, W. Qiu, M. Lu, N. Kim, N. White, S.-I. Lee, "Learning to Maximize Mutual Information for Dynamic
Feature Selection", ICML 2023 (GDFS). S. Gadgil, I. Covert, S.-I. Lee, "Estimating Conditional Mutual Information for
Dynamic Feature Selection", ICLR 2024 (DIME).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.experiments.acquisition import Purchases, bought_one_by_one

BATCH = 128
FIRST_LEARNING_RATE = 1e-3
FIRST_TEMPERATURE, LAST_TEMPERATURE = 2.0, 0.1
FIRST_EXPLORED, LAST_EXPLORED = 0.3, 0.02
"""Softness of GDFS's choices, and the share of DIME's that are random, which fall geometrically over the epochs."""


@dataclass(frozen=True, slots=True)
class Training:
    """How large the networks are, and how long they are trained.

    Parameters
    ----------
    n_hidden : int
        Units of each of the two hidden layers.
    dropout : float
        Share of the hidden units that is left out in training.
    n_random_epochs, n_epochs : int
        Epochs with random subsets, and with those that are bought.
    last_learning_rate : float
        To which the rate falls geometrically over the latter.
    max_steps : int
        Purchases of an example in training.
    standardised : bool
        Whether each feature is brought to mean 0 and variance 1; pixels, most of which are 0, are better left as is.
    """

    n_hidden: int = 64
    dropout: float = 0.0
    n_random_epochs: int = 80
    n_epochs: int = 60
    last_learning_rate: float = FIRST_LEARNING_RATE
    max_steps: int = 10
    standardised: bool = True


def load_torch() -> Any:
    """Import PyTorch.

    Raises
    ------
    ImportError
        It is not installed.
    """
    try:
        return import_module("torch")
    except ImportError:
        raise ImportError(
            "torch: expected it to be installed for GDFS and DIME, got none; run pip install torch"
        ) from None


def _falling(first: float, last: float, share: float) -> float:
    """Interpolate geometrically."""
    return first * float((last / first) ** share)


class NeuralAcquisition(ABC):
    """Two networks, trained together: one predicts from what is known, one scores what may be bought next.

    Parameters
    ----------
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        Training examples; classes 0, 1, ...
    purchases : Purchases
    seed : int
    training : Training

    Raises
    ------
    ImportError
        PyTorch is not installed.
    """

    def __init__(self, X: Array, y: IntArray, purchases: Purchases, seed: int, training: Training = Training()) -> None:
        self.torch = load_torch()
        self.torch.manual_seed(seed)
        self.purchases = purchases
        self.training = training
        scaler = StandardScaler(with_mean=training.standardised, with_std=training.standardised)
        self.scaler = scaler.set_output(transform="default").fit(X)
        self.columns = self.torch.tensor(purchases.columns, dtype=self.torch.float32)
        self.one_by_one = np.array_equal(purchases.columns, np.eye(X.shape[1], dtype=bool))
        self.predictor = self._network(int(y.max()) + 1)
        self.selector = self._network(purchases.prices.size)
        parameters = [*self.predictor.parameters(), *self.selector.parameters()]
        self.optimizer = self.torch.optim.Adam(parameters, FIRST_LEARNING_RATE)
        self._train(self._scaled(X), self.torch.tensor(y, dtype=self.torch.int64), np.random.default_rng(seed))
        for network in (self.predictor, self.selector):
            network.eval()

    def _network(self, n_outputs: int) -> Any:
        nn, n_hidden = self.torch.nn, self.training.n_hidden
        sizes = (2 * self.columns.shape[1], n_hidden, n_hidden)
        layers = []
        for n_from, n_to in pairwise(sizes):
            layers += [nn.Linear(n_from, n_to), nn.ReLU()]
            if self.training.dropout:
                layers.append(nn.Dropout(self.training.dropout))
        return nn.Sequential(*layers, nn.Linear(n_hidden, n_outputs))

    def _scaled(self, X: Array) -> Any:
        """Scale what networks see; a missing value is 0, the mean of its feature where these are standardised."""
        return self.torch.tensor(np.nan_to_num(self.scaler.transform(X)), dtype=self.torch.float32)

    def _seen(self, X: Any, bought: Any) -> Any:
        """Return what networks see: features, 0 where hidden, and which of them are shown; both may be shares."""
        shown = bought if self.one_by_one else bought @ self.columns
        return self.torch.cat([X * shown, shown], dim=1)

    def _loss(self, X: Any, y: Any, bought: Any) -> Any:
        """Log loss of each example."""
        return self.torch.nn.functional.cross_entropy(self.predictor(self._seen(X, bought)), y, reduction="none")

    def _train(self, X: Any, y: Any, rng: np.random.Generator) -> None:
        n_purchases = self.purchases.prices.size
        for _ in range(self.training.n_random_epochs):
            for rows in self._batches(len(X), rng):
                known = rng.random((len(rows), n_purchases)) < rng.random((len(rows), 1))
                bought = self.torch.tensor(known, dtype=self.torch.float32)
                self._descend(self._loss(X[rows], y[rows], bought).mean())
        for share in np.linspace(0, 1, self.training.n_epochs):
            for group in self.optimizer.param_groups:
                group["lr"] = _falling(FIRST_LEARNING_RATE, self.training.last_learning_rate, share)
            for rows in self._batches(len(X), rng):
                bought, losses = self.torch.zeros(len(rows), n_purchases), []
                for _ in range(min(self.training.max_steps, n_purchases)):
                    loss, bought = self._step(X[rows], y[rows], bought, float(share))
                    losses.append(loss)
                self._descend(self.torch.stack(losses).mean())

    def _batches(self, n: int, rng: np.random.Generator) -> Iterator[Any]:
        order = rng.permutation(n)
        yield from (self.torch.tensor(order[begin : begin + BATCH]) for begin in range(0, n, BATCH))

    def _descend(self, loss: Any) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def _with(self, bought: Any, chosen: Any) -> Any:
        return self.torch.clamp(bought + self.torch.nn.functional.one_hot(chosen, bought.shape[1]), max=1.0)

    @abstractmethod
    def _step(self, X: Any, y: Any, bought: Any, share: float) -> tuple[Any, Any]:
        """Buy once more for each example of a batch; return the loss, and what is bought then, without gradient."""

    @abstractmethod
    def _scores(self, seen: Any, bought: Any) -> Any:
        """Return for each example and purchase what decides on the next one."""

    def predict_proba(self, X: Array, shown: BoolArray) -> FloatArray:
        """Predict from what is shown, shape (n_samples, n_classes)."""
        with self.torch.no_grad():
            mask = self.torch.tensor(shown, dtype=self.torch.float32)
            outputs = self.predictor(self.torch.cat([self._scaled(X) * mask, mask], dim=1))
            return np.asarray(self.torch.softmax(outputs, dim=1).numpy(), dtype=np.float64)

    def bought(self, X: Array, lam: float, most: float, *, forced: bool) -> list[IntArray]:
        """Buy for each example what scores most of what it can afford; see `bought_one_by_one`."""
        examples = self._scaled(X)

        def scores(rows: IntArray, known: BoolArray) -> FloatArray:
            with self.torch.no_grad():
                bought = self.torch.tensor(known, dtype=self.torch.float32)
                return np.asarray(self._scores(self._seen(examples[rows], bought), bought).numpy())

        return bought_one_by_one(scores, len(X), self.purchases, lam, most, forced=forced)


class GreedyDynamicSelection(NeuralAcquisition):
    """GDFS: a policy network, trained so that the prediction after its next purchase has the least loss.

    Choices are softened in training (concrete distribution). Prices play no part, as in the paper.
    """

    def _step(self, X: Any, y: Any, bought: Any, share: float) -> tuple[Any, Any]:
        temperature = _falling(FIRST_TEMPERATURE, LAST_TEMPERATURE, share)
        logits = self._scores(self._seen(X, bought), bought).masked_fill(bought > 0, -1e9)
        soft = self.torch.nn.functional.gumbel_softmax(logits, temperature)
        loss = self._loss(X, y, self.torch.maximum(bought, soft)).mean()
        return loss, self._with(bought, logits.argmax(dim=1))

    def _scores(self, seen: Any, bought: Any) -> Any:
        return self.selector(seen)


class MutualInformationSelection(NeuralAcquisition):
    """DIME: a value network, trained to tell by how much a purchase lowers the log loss; the most per price is bought.

    What a purchase tells is less than the entropy of the prediction, so the network gives a share of that. In training
    some purchases are random.
    """

    def _step(self, X: Any, y: Any, bought: Any, share: float) -> tuple[Any, Any]:
        torch = self.torch
        explored = _falling(FIRST_EXPLORED, LAST_EXPLORED, share)
        seen = self._seen(X, bought)
        with torch.no_grad():
            outputs = self.predictor(seen)
            now = torch.nn.functional.cross_entropy(outputs, y, reduction="none")
        values = self._values(seen, outputs)
        with torch.no_grad():
            random = torch.rand(values.shape)
            scores = torch.where(torch.rand(len(X), 1) < explored, random, self._per_price(values, bought))
            chosen = scores.masked_fill(bought > 0, -torch.inf).argmax(dim=1)
        after = self._with(bought, chosen)
        then = self._loss(X, y, after)
        error = (values.gather(1, chosen[:, None])[:, 0] - (now - then.detach())) ** 2
        return then.mean() + error.mean(), after

    def _values(self, seen: Any, outputs: Any) -> Any:
        """Tell what each purchase tells, where the predictor says ``outputs``."""
        shares = self.torch.softmax(outputs, dim=1)
        entropy = -(shares * self.torch.log(shares.clamp_min(1e-12))).sum(dim=1, keepdim=True)
        return entropy * self.torch.sigmoid(self.selector(seen))

    def _per_price(self, values: Any, bought: Any) -> Any:
        prices = np.maximum(self.purchases.prices_after(bought.numpy() > 0), 1e-9)
        return values / self.torch.tensor(prices, dtype=self.torch.float32)

    def _scores(self, seen: Any, bought: Any) -> Any:
        return self._per_price(self._values(seen, self.predictor(seen)), bought)
