"""Trees as C source, for where there is no Python: a microcontroller that reads its sensors one at a time."""

from __future__ import annotations

from importlib.resources import files
from string import Template

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import LEAF

FIRST_OF_TWO = "    if (N_OUTPUTS == 2)\n        output[0] = 1 - output[1];\n"

LINKS = {
    "mean": "    for (int k = 0; k < N_OUTPUTS; k++)\n        output[k] = margin[k] / N_TREES;\n",
    "identity": "    output[0] = margin[0];\n",
    "log": "    output[0] = exp(margin[0]);\n",
    "logit": "    output[N_OUTPUTS - 1] = 1 / (1 + exp(-margin[0]));\n" + FIRST_OF_TWO,
    "half logit": "    output[N_OUTPUTS - 1] = 1 / (1 + exp(-2 * margin[0]));\n" + FIRST_OF_TWO,
    "multinomial logit": """\
    double largest = margin[0], total = 0;
    for (int k = 1; k < N_MARGINS; k++)
        largest = fmax(largest, margin[k]);
    for (int k = 0; k < N_MARGINS; k++)
        total += output[k] = exp(margin[k] - largest);
    for (int k = 0; k < N_MARGINS; k++)
        output[k] /= total;
""",
}
"""From margins to outputs."""


def write_c(trees: Forest | BoostedTrees) -> str:
    """Write trees as one C99 function; see `ipforest.ensemble.write`. A category is given by its number."""
    sets = trees.left_categories
    narrow = trees.dtype == np.float32
    threshold = trees.float32_thresholds() if narrow else trees.float64_thresholds()
    source = Template(files("ipforest.ensemble").joinpath("trees.c").read_text(encoding="utf-8"))
    return source.substitute(
        n_trees=trees.n_trees,
        n_nodes=trees.n_nodes,
        n_features=trees.n_features,
        n_values=trees.value.shape[1],
        n_margins=trees.base_score.size,
        fractions_are_missing=int(bool(trees.categories.whole)),
        n_outputs=1 if trees.classes is None else len(trees.classes),
        meaning="the prediction" if trees.classes is None else "the probability of each class",
        link_needs="" if trees.link in ("mean", "identity") else " and its library",
        real="float" if narrow else "double",
        root=_listed(trees.tree_offsets[:-1]),
        first_output=_listed(trees.first_output),
        left=_listed(np.where(trees.is_leaf, LEAF, trees.left)),
        right=_listed(np.where(trees.is_leaf, LEAF, trees.right)),
        feature=_listed(trees.feature),
        threshold=_listed(np.where(trees.is_leaf, 0, threshold), "f" if narrow else ""),
        missing_left=_listed(trees.missing_left.astype(int)),
        category_set=_listed(trees.category_set),
        first_listed=_listed(sets.offsets),
        listed=_listed(sets.listed) or "0",
        holds_others=_listed(sets.others.astype(int)) or "0",
        value=", ".join(f"{{{_listed(row)}}}" for row in trees.value),
        base_score=_listed(trees.base_score),
        link=LINKS[trees.link],
    )


def _listed(values: Array, suffix: str = "") -> str:
    """List numbers so that C reads them back exactly; an infinite threshold is C's HUGE_VAL or HUGE_VALF."""
    texts = [f"{value!r}{suffix}" for value in values.astype(np.float64 if suffix else values.dtype).tolist()]
    return ", ".join(text.replace("inf" + suffix, "HUGE_VAL" + suffix.upper()) for text in texts)
