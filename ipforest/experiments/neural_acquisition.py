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
from importlib import import_module
from typing import Any

import numpy as np

from ipforest._internal.arrays import Array, BoolArray, FloatArray, IntArray
from ipforest.experiments.acquisition import Purchases, bought_one_by_one

N_HIDDEN = 64
BATCH = 128
LEARNING_RATE = 1e-3
N_RANDOM_EPOCHS, N_EPOCHS = 80, 60
"""Epochs with random subsets, and with those that are bought."""

MAX_STEPS = 10
"""Purchases of an example in training."""

FIRST_TEMPERATURE, LAST_TEMPERATURE = 2.0, 0.1
FIRST_EXPLORED, LAST_EXPLORED = 0.3, 0.02
"""Softness of GDFS's choices, and the share of DIME's that are random, which fall geometrically over the epochs."""


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


class NeuralAcquisition(ABC):
    """Two networks, trained together: one predicts from what is known, one scores what may be bought next.

    Parameters
    ----------
    X, y : arrays, shapes (n_samples, n_features) and (n_samples,)
        Training examples; classes 0, 1, ...
    purchases : Purchases
    seed : int

    Raises
    ------
    ImportError
        PyTorch is not installed.
    """

    def __init__(self, X: Array, y: IntArray, purchases: Purchases, seed: int) -> None:
        self.torch = load_torch()
        self.torch.manual_seed(seed)
        self.purchases = purchases
        self.mean, self.spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)
        self.columns = self.torch.tensor(purchases.columns, dtype=self.torch.float32)
        self.predictor = self._network(int(y.max()) + 1)
        self.selector = self._network(purchases.prices.size)
        parameters = [*self.predictor.parameters(), *self.selector.parameters()]
        self.optimizer = self.torch.optim.Adam(parameters, LEARNING_RATE)
        self._train(self._standardised(X), self.torch.tensor(y, dtype=self.torch.int64), np.random.default_rng(seed))

    def _network(self, n_outputs: int) -> Any:
        nn, n_features = self.torch.nn, self.columns.shape[1]
        hidden = (nn.Linear(2 * n_features, N_HIDDEN), nn.ReLU(), nn.Linear(N_HIDDEN, N_HIDDEN), nn.ReLU())
        return nn.Sequential(*hidden, nn.Linear(N_HIDDEN, n_outputs))

    def _standardised(self, X: Array) -> Any:
        return self.torch.tensor((X - self.mean) / self.spread, dtype=self.torch.float32)

    def _seen(self, X: Any, bought: Any) -> Any:
        """Return what networks see: features, 0 where hidden, and which of them are shown; both may be shares."""
        shown = bought @ self.columns
        return self.torch.cat([X * shown, shown], dim=1)

    def _loss(self, X: Any, y: Any, bought: Any) -> Any:
        """Log loss of each example."""
        return self.torch.nn.functional.cross_entropy(self.predictor(self._seen(X, bought)), y, reduction="none")

    def _train(self, X: Any, y: Any, rng: np.random.Generator) -> None:
        n_purchases = self.purchases.prices.size
        for _ in range(N_RANDOM_EPOCHS):
            for rows in self._batches(len(X), rng):
                known = rng.random((len(rows), n_purchases)) < rng.random((len(rows), 1))
                bought = self.torch.tensor(known, dtype=self.torch.float32)
                self._descend(self._loss(X[rows], y[rows], bought).mean())
        for share in np.linspace(0, 1, N_EPOCHS):
            for rows in self._batches(len(X), rng):
                bought, losses = self.torch.zeros(len(rows), n_purchases), []
                for _ in range(min(MAX_STEPS, n_purchases)):
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
    def _scores(self, seen: Any) -> Any:
        """Return for each example and purchase what decides on the next one."""

    def predict_proba(self, X: Array, shown: BoolArray) -> FloatArray:
        """Predict from what is shown, shape (n_samples, n_classes)."""
        with self.torch.no_grad():
            mask = self.torch.tensor(shown, dtype=self.torch.float32)
            outputs = self.predictor(self.torch.cat([self._standardised(X) * mask, mask], dim=1))
            return np.asarray(self.torch.softmax(outputs, dim=1).numpy(), dtype=np.float64)

    def bought(self, X: Array, lam: float, most: float, *, forced: bool) -> list[IntArray]:
        """Buy for each example what scores most of what it can afford; see `bought_one_by_one`."""
        examples = self._standardised(X)

        def scores(rows: IntArray, known: BoolArray) -> FloatArray:
            with self.torch.no_grad():
                seen = self._seen(examples[rows], self.torch.tensor(known, dtype=self.torch.float32))
                return np.asarray(self._scores(seen).numpy())

        return bought_one_by_one(scores, len(X), self.purchases.prices, lam, most, forced=forced)


class GreedyDynamicSelection(NeuralAcquisition):
    """GDFS: a policy network, trained so that the prediction after its next purchase has the least loss.

    Choices are softened in training (concrete distribution). Prices play no part, as in the paper.
    """

    def _step(self, X: Any, y: Any, bought: Any, share: float) -> tuple[Any, Any]:
        temperature = FIRST_TEMPERATURE * (LAST_TEMPERATURE / FIRST_TEMPERATURE) ** share
        logits = self._scores(self._seen(X, bought)).masked_fill(bought > 0, -1e9)
        soft = self.torch.nn.functional.gumbel_softmax(logits, temperature)
        loss = self._loss(X, y, self.torch.maximum(bought, soft)).mean()
        return loss, self._with(bought, logits.argmax(dim=1))

    def _scores(self, seen: Any) -> Any:
        return self.selector(seen)


class MutualInformationSelection(NeuralAcquisition):
    """DIME: a value network, trained to tell by how much a purchase lowers the log loss; the most per price is bought.

    What a purchase tells is less than the entropy of the prediction, so the network gives a share of that. In training
    some purchases are random.
    """

    def _step(self, X: Any, y: Any, bought: Any, share: float) -> tuple[Any, Any]:
        torch = self.torch
        explored = FIRST_EXPLORED * (LAST_EXPLORED / FIRST_EXPLORED) ** share
        values = self._values(self._seen(X, bought))
        with torch.no_grad():
            random = torch.rand(values.shape)
            scores = torch.where(torch.rand(len(X), 1) < explored, random, self._per_price(values))
            chosen = scores.masked_fill(bought > 0, -torch.inf).argmax(dim=1)
        after = self._with(bought, chosen)
        now, then = self._loss(X, y, bought), self._loss(X, y, after)
        error = (values.gather(1, chosen[:, None])[:, 0] - (now - then).detach()) ** 2
        return then.mean() + error.mean(), after

    def _values(self, seen: Any) -> Any:
        with self.torch.no_grad():
            shares = self.torch.softmax(self.predictor(seen), dim=1)
            entropy = -(shares * self.torch.log(shares.clamp_min(1e-12))).sum(dim=1, keepdim=True)
        return entropy * self.torch.sigmoid(self.selector(seen))

    def _per_price(self, values: Any) -> Any:
        return values / self.torch.tensor(np.maximum(self.purchases.prices, 1e-9), dtype=self.torch.float32)

    def _scores(self, seen: Any) -> Any:
        return self._per_price(self._values(seen))
