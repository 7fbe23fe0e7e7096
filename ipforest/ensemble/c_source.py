"""Trees as C source, for where there is no Python: a microcontroller that reads its sensors one at a time."""

from __future__ import annotations

from string import Template

import numpy as np

from ipforest._internal.arrays import Array
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.forest import Forest
from ipforest.ensemble.trees import LEAF

SOURCE = Template("""\
/* $n_trees trees, $n_nodes nodes. C99; needs math.h$link_needs.

   trees_predict(read, context, output) fills output[$n_outputs] with $meaning.
   A feature is read when a path first tests it, and then kept: read(feature, context) is called at most
   once per feature, and only for what the example pays for. NAN is a missing value. */

#include <math.h>
#include <stdbool.h>

#define N_FEATURES $n_features
#define N_TREES $n_trees
#define N_VALUES $n_values
#define N_MARGINS $n_margins
#define N_OUTPUTS $n_outputs
#define FRACTIONS_ARE_MISSING $fractions_are_missing /* among categories; else they stand for their whole part */

typedef $real (*trees_read)(int feature, void *context);

static const int root[N_TREES] = {$root};
static const int first_output[N_TREES] = {$first_output};
static const int left[$n_nodes] = {$left};
static const int right[$n_nodes] = {$right};
static const int feature_of[$n_nodes] = {$feature};
static const $real threshold[$n_nodes] = {$threshold};
static const bool missing_left[$n_nodes] = {$missing_left};
static const int category_set[$n_nodes] = {$category_set};
static const int first_listed[] = {$first_listed};
static const double listed[] = {$listed};
static const bool holds_others[] = {$holds_others};
static const double value[$n_nodes][N_VALUES] = {$value};
static const double base_score[N_MARGINS] = {$base_score};

static bool goes_left(int node, $real x)
{
    const int set = category_set[node];
    bool found = false;
    if (isnan(x) || (FRACTIONS_ARE_MISSING && set >= 0 && x != floor(x)))
        return missing_left[node];
    if (set < 0)
        return x <= threshold[node];
    if (x < 0 && x > threshold[node])
        x = 0;
    for (int place = first_listed[set]; place < first_listed[set + 1] && x > -1; place++)
        found = found || (x >= listed[place] && x < listed[place] + 1.0);
    return found != holds_others[set];
}

void trees_predict(trees_read read, void *context, double output[N_OUTPUTS])
{
    $real x[N_FEATURES] = {0};
    bool known[N_FEATURES] = {false};
    double margin[N_MARGINS];
    for (int k = 0; k < N_MARGINS; k++)
        margin[k] = base_score[k];
    for (int tree = 0; tree < N_TREES; tree++) {
        int node = root[tree];
        while (left[node] >= 0) {
            const int f = feature_of[node];
            if (!known[f]) {
                x[f] = read(f, context);
                known[f] = true;
            }
            node = goes_left(node, x[f]) ? left[node] : right[node];
        }
        for (int k = 0; k < N_VALUES; k++)
            margin[first_output[tree] + k] += value[node][k];
    }
$link}
""")

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
    return SOURCE.substitute(
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
    """List numbers so that C reads them back exactly; an infinite threshold is C's HUGE_VAL."""
    texts = [f"{value!r}{suffix}" for value in values.astype(np.float64 if suffix else values.dtype).tolist()]
    return ", ".join(text.replace("inf" + suffix, "HUGE_VAL") for text in texts)
