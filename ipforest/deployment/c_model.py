"""A fitted classifier with its stopping as C source: one function that asks for features and stops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template
from typing import Any

import numpy as np

from ipforest.deployment.document import document_of
from ipforest.deployment.reader import SETTLED_SLACK, TIE, Trees
from ipforest.estimator import BudgetedEstimator

LINKS = ["mean", "logit", "half logit", "multinomial logit"]
RULES = [None, "threshold", "staged", "certified"]

SOURCE = Template("""\
/* A classifier that buys features one at a time and stops when it is sure. C99; needs math.h and its library.

   model_predict(read, context, probability, bought) returns the number of the class, whose name is in model_classes.
   read(feature, context) gives the value of a feature, NAN where it is missing. It is called when the feature is
   bought, at most once per feature; what is not called for need not be computed. probability[N_CLASSES] and
   bought[N_FEATURES] may be NULL; bought gets whether each feature was asked for.

   model_predict_batch(X, n, label, probability, bought) predicts the rows of a table X[n][N_FEATURES]. */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define N_FEATURES $n_features
#define N_CLASSES $n_classes
#define WIDTH $width

typedef double (*model_read)(int feature, void *context);

const char *const model_classes[N_CLASSES] = {$classes};
const char *const model_features[N_FEATURES] = {$features};

enum { LINK_MEAN, LINK_LOGIT, LINK_HALF_LOGIT, LINK_MULTINOMIAL };
enum { RULE_NONE, RULE_THRESHOLD, RULE_STAGED, RULE_CERTIFIED };

static const int rule = $rule;
static const double level = $level;
static const bool is_free[N_FEATURES] = {$free};
static const int unit_of[N_FEATURES] = {$unit_of};

/* Ensembles: their trees, how they are summed up, and the precision in which they compare. */
static const int first_tree[] = {$first_tree};
static const int link_of[] = {$link};
static const int width_of[] = {$width_of};
static const int n_margins_of[] = {$n_margins};
static const bool narrow[] = {$narrow};
static const double base_score[][WIDTH] = {$base_score};
static const int root[] = {$root};
static const int first_output[] = {$first_output};

static const int left[] = {$left};
static const int right[] = {$right};
static const int feature_of[] = {$feature};
static const double threshold[] = {$threshold};
static const bool missing_left[] = {$missing_left};
static const double value[][WIDTH] = {$value};
static const double lowest[][WIDTH] = {$lowest};
static const double highest[][WIDTH] = {$highest};

/* The rule: where the bins of a stage, or of a history, begin; how keen each is to go on. */
static const int first_edge[] = {$first_edge};
static const double edge[] = {$edge};
static const int first_lambda[] = {$first_lambda};
static const double lambda[] = {$lambda};
static const int n_rule_stages = $n_rule_stages;
static const int next_stage[] = {$next_stage};
static const int first_child[] = {$first_child};

/* Stages: features, ensembles or constants, and where examples go on. Empty where there is one ensemble. */
static const int n_stages = $n_stages;
static const int first_of_stage[] = {$first_of_stage};
static const int stage_feature[] = {$stage_feature};
static const int first_ensemble[] = {$first_ensemble};
static const bool is_constant[] = {$is_constant};
static const double constant[][N_CLASSES] = {$constant};
static const int depth[] = {$depth};
static const int first_router[] = {$first_router};
static const int router_left[] = {$router_left};
static const int router_right[] = {$router_right};
static const int router_feature[] = {$router_feature};
static const double router_threshold[] = {$router_threshold};
static const bool router_missing_left[] = {$router_missing_left};
static const bool router_narrow[] = {$router_narrow};
static const int following[] = {$following};

struct example {
    model_read read;
    void *context;
    double x[N_FEATURES];
    bool known[N_FEATURES];
    bool bought[N_FEATURES];
};

static void buy(struct example *e, int feature)
{
    if (e->known[feature])
        return;
    e->bought[feature] = true;
    for (int f = 0; f < N_FEATURES; f++)
        if (unit_of[f] == unit_of[feature] && !e->known[f]) {
            e->x[f] = e->read(f, e->context);
            e->known[f] = true;
        }
}

static bool goes_left(double x, double limit, bool missing, bool as_float)
{
    return isnan(x) ? missing : (as_float ? (double)(float)x : x) <= limit;
}

static int reached(const struct example *e, int ensemble, int tree)
{
    int node = root[tree];
    while (left[node] >= 0 && e->known[feature_of[node]])
        node = goes_left(e->x[feature_of[node]], threshold[node], missing_left[node], narrow[ensemble]) ? left[node]
                                                                                                       : right[node];
    return node;
}

static bool is_settled(const double *low, const double *high, int n)
{
    double most = 0, others = -INFINITY;
    int leader = 0;
    for (int k = 0; k < n; k++) {
        most = fmax(most, fmax(fabs(low[k]), fabs(high[k])));
        if (low[k] > low[leader])
            leader = k;
    }
    const double slack = $settled_slack * most;
    if (n == 1)
        return low[0] > slack || high[0] < -slack;
    for (int k = 0; k < n; k++)
        if (k != leader)
            others = fmax(others, high[k]);
    return low[leader] > others + slack;
}

/* Predict from what is known; return whether nothing that is unknown can change the class. */
static bool foresee(const struct example *e, int ensemble, double output[N_CLASSES])
{
    const bool averages = link_of[ensemble] == LINK_MEAN;
    const int n = n_margins_of[ensemble], n_trees = first_tree[ensemble + 1] - first_tree[ensemble];
    double counted[WIDTH] = {0}, everything[WIDTH] = {0}, low[WIDTH] = {0}, high[WIDTH] = {0};
    int n_counted = 0;
    for (int tree = first_tree[ensemble]; tree < first_tree[ensemble + 1]; tree++) {
        const int node = reached(e, ensemble, tree);
        const bool counts = left[node] < 0 || (averages && node != root[tree]);
        n_counted += counts;
        for (int k = 0; k < width_of[ensemble]; k++) {
            const int column = first_output[tree] + k;
            if (counts)
                counted[column] += value[node][k];
            everything[column] += value[node][k];
            low[column] += lowest[node][k];
            high[column] += highest[node][k];
        }
    }
    for (int k = 0; k < n; k++) {
        low[k] += base_score[ensemble][k];
        high[k] += base_score[ensemble][k];
    }
    const bool settled = is_settled(low, high, n);
    const bool all = averages ? settled || n_counted == 0 : settled;
    double margin[WIDTH], largest = -INFINITY, total = 0;
    for (int k = 0; k < n; k++) {
        margin[k] = (all ? everything[k] : counted[k]) + base_score[ensemble][k];
        largest = fmax(largest, margin[k]);
    }
    switch (link_of[ensemble]) {
    case LINK_MEAN:
        for (int k = 0; k < N_CLASSES; k++)
            output[k] = margin[k] / (all ? n_trees : n_counted);
        break;
    case LINK_MULTINOMIAL:
        for (int k = 0; k < N_CLASSES; k++)
            total += output[k] = exp(margin[k] - largest);
        for (int k = 0; k < N_CLASSES; k++)
            output[k] /= total;
        break;
    default:
        output[1] = 1 / (1 + exp((link_of[ensemble] == LINK_LOGIT ? -1 : -2) * margin[0]));
        output[0] = 1 - output[1];
    }
    return settled;
}

static int bin_of(int row, double signal)
{
    int bin = 0;
    while (first_edge[row] + bin < first_edge[row + 1] && edge[first_edge[row] + bin] <= signal)
        bin++;
    return bin;
}

static double keenness(int stage, const double *output, int *memory)
{
    double first = -INFINITY, second = -INFINITY;
    for (int k = 0; k < N_CLASSES; k++) {
        if (output[k] > first) {
            second = first;
            first = output[k];
        } else if (output[k] > second)
            second = output[k];
    }
    const double signal = first - second;
    if (rule == RULE_THRESHOLD)
        return -signal;
    if (rule == RULE_STAGED)
        return stage >= n_rule_stages ? INFINITY
                                      : lambda[first_lambda[stage] + bin_of(stage, signal)] - $tie * signal;
    if (next_stage[*memory] == stage)
        *memory = first_child[*memory] + bin_of(*memory, signal);
    return lambda[*memory];
}

static void walk(struct example *e, double output[N_CLASSES])
{
    int stage = 0, memory = 0;
    for (int tree = first_tree[0]; tree < first_tree[1]; tree++) {
        int node;
        while (left[node = reached(e, 0, tree)] >= 0) {
            const int feature = feature_of[node];
            if (rule != RULE_NONE && !is_free[feature]) {
                const bool settled = foresee(e, 0, output);
                const double keen = keenness(stage++, output, &memory);
                if (settled || keen <= level)
                    return;
            }
            buy(e, feature);
        }
    }
    foresee(e, 0, output);
}

static bool sees(int stage, int feature)
{
    for (int place = first_of_stage[stage]; place < first_of_stage[stage + 1]; place++)
        if (stage_feature[place] == feature)
            return true;
    return false;
}

static void climb(struct example *e, double output[N_CLASSES])
{
    int stage = 0, memory = 0;
    for (;;) {
        const int n_averaged = first_ensemble[stage + 1] - first_ensemble[stage];
        for (int k = 0; k < N_CLASSES; k++)
            output[k] = is_constant[stage] ? constant[stage][k] : 0;
        for (int ensemble = first_ensemble[stage]; ensemble < first_ensemble[stage + 1]; ensemble++) {
            double part[N_CLASSES];
            foresee(e, ensemble, part);
            for (int k = 0; k < N_CLASSES; k++)
                output[k] += part[k];
        }
        for (int k = 0; k < N_CLASSES && n_averaged; k++)
            output[k] /= n_averaged;
        const double keen = keenness(depth[stage], output, &memory);
        int node = first_router[stage];
        while (router_left[node] >= 0)
            node = goes_left(e->x[router_feature[node]], router_threshold[node], router_missing_left[node],
                             router_narrow[node])
                       ? router_left[node]
                       : router_right[node];
        const int goal = following[node];
        if (goal < 0 || !(keen > level))
            return;
        for (int place = first_of_stage[goal]; place < first_of_stage[goal + 1]; place++)
            if (!sees(stage, stage_feature[place]))
                buy(e, stage_feature[place]);
        stage = goal;
    }
}

int model_predict(model_read read, void *context, double *probability, bool *bought)
{
    struct example e = {read, context, {0}, {false}, {false}};
    double output[N_CLASSES];
    int label = 0;
    if (n_stages > 0)
        climb(&e, output);
    else
        walk(&e, output);
    for (int k = 0; k < N_CLASSES; k++) {
        if (output[k] > output[label])
            label = k;
        if (probability != NULL)
            probability[k] = output[k];
    }
    for (int f = 0; f < N_FEATURES && bought != NULL; f++)
        bought[f] = e.bought[f];
    return label;
}

static double of_row(int feature, void *row)
{
    return ((const double *)row)[feature];
}

void model_predict_batch(const double *X, int n, int *label, double *probability, bool *bought)
{
    for (int i = 0; i < n; i++)
        label[i] = model_predict(of_row, (void *)(X + (size_t)i * N_FEATURES),
                                 probability == NULL ? NULL : probability + (size_t)i * N_CLASSES,
                                 bought == NULL ? NULL : bought + (size_t)i * N_FEATURES);
}
""")


def write_c_model(model: BudgetedEstimator) -> str:
    """Write a fitted classifier as C99: the features that it asks for, the rule that stops it, the names of classes.

    Parameters
    ----------
    model : fitted estimator
        See `ipforest.deployment.document.document_of`.

    Returns
    -------
    str

    Raises
    ------
    TypeError, ValueError
        The model is one that `document_of` refuses, or its trees test categories.
    """
    document = document_of(model)
    stages = document.get("stages", [])
    ensembles = [each for stage in stages for each in stage["trees"]] if stages else [document["trees"]]
    if any(each["sets"] for each in ensembles):
        raise ValueError("model: expected tests of numbers, got tests of categories")
    width = max([len(document["classes"]), *(len(each["base_score"]) for each in ensembles)])
    unit_of = [members[0] for members in document["comes_with"]]
    return SOURCE.substitute(
        n_features=len(document["features"]),
        n_classes=len(document["classes"]),
        width=width,
        classes=", ".join(_text(name) for name in document["classes"]),
        features=", ".join(_text(name) for name in document["features"]),
        level=_number(float(document["level"])),
        free=_listed(document["free"]),
        unit_of=_listed(unit_of),
        settled_slack=repr(SETTLED_SLACK),
        tie=repr(TIE),
        **_rule(document["rule"]),
        **_ensembles(ensembles, width),
        **_stages(stages, len(document["classes"])),
    )


def _ensembles(ensembles: Sequence[dict[str, Any]], width: int) -> dict[str, str]:
    """List all trees one after another, their nodes numbered over all."""
    starts = np.cumsum([0, *(len(each["left"]) for each in ensembles)])
    trees = [Trees(each) for each in ensembles]

    def joined(name: str) -> list[Any]:
        return [entry for each in ensembles for entry in each[name]]

    def moved(name: str) -> list[int]:
        pairs = zip(starts.tolist(), ensembles, strict=False)
        return [node + start if node >= 0 else -1 for start, each in pairs for node in each[name]]

    def rows(name: str) -> str:
        return ", ".join(_row(row, width) for each in trees for row in getattr(each, name).tolist())

    return {
        "first_tree": _listed(np.cumsum([0, *(len(each["root"]) for each in ensembles)]).tolist()),
        "link": _listed([LINKS.index(each["link"]) for each in ensembles]),
        "width_of": _listed([len(each["value"][0]) for each in ensembles]),
        "n_margins": _listed([len(each["base_score"]) for each in ensembles]),
        "narrow": _listed([each["dtype"] == "float32" for each in ensembles]),
        "base_score": ", ".join(_row(each["base_score"], width) for each in ensembles),
        "root": _listed(moved("root")),
        "first_output": _listed(joined("first_output")),
        "left": _listed(moved("left")),
        "right": _listed(moved("right")),
        "feature": _listed(joined("feature")),
        "threshold": _listed(joined("threshold")),
        "missing_left": _listed(joined("missing_left")),
        "value": rows("value"),
        "lowest": rows("lowest"),
        "highest": rows("highest"),
    }


def _rule(rule: dict[str, Any] | None) -> dict[str, str]:
    """List the edges and lambdas of a rule, row by row."""
    edges = [] if rule is None else rule.get("edges", [])
    lambdas: list[Any] = [] if rule is None else rule.get("lambdas", [])
    if rule is not None and rule["kind"] == "certified":
        lambdas = [lambdas]
    return {
        "rule": str(RULES.index(None if rule is None else rule["kind"])),
        "first_edge": _listed(np.cumsum([0, *map(len, edges)]).tolist()),
        "edge": _listed([each for row in edges for each in row]),
        "first_lambda": _listed(np.cumsum([0, *map(len, lambdas)]).tolist()),
        "lambda": _listed([float(each) for row in lambdas for each in row]),
        "n_rule_stages": str(len(edges)),
        "next_stage": _listed([] if rule is None else rule.get("next_stage", [])),
        "first_child": _listed([] if rule is None else rule.get("first_child", [])),
    }


def _stages(stages: Sequence[dict[str, Any]], n_classes: int) -> dict[str, str]:
    leaf: dict[str, Any] = {
        "left": [-1],
        "right": [-1],
        "feature": [0],
        "threshold": [0.0],
        "missing_left": [False],
        "dtype": "",
    }
    routers = [stage["router"] or leaf for stage in stages]
    starts = np.cumsum([0, *(len(router["left"]) for router in routers)]).tolist()

    def moved(name: str) -> list[int]:
        pairs = zip(starts, routers, strict=False)
        return [node + start if node >= 0 else -1 for start, router in pairs for node in router[name]]

    def joined(name: str) -> list[Any]:
        return [entry for router in routers for entry in router[name]]

    return {
        "n_stages": str(len(stages)),
        "first_of_stage": _listed(np.cumsum([0, *(len(stage["features"]) for stage in stages)]).tolist()),
        "stage_feature": _listed([feature for stage in stages for feature in stage["features"]]),
        "first_ensemble": _listed(np.cumsum([0, *(len(stage["trees"]) for stage in stages)]).tolist()),
        "is_constant": _listed([stage["constant"] is not None for stage in stages]),
        "constant": ", ".join(_row(stage["constant"] or [], n_classes) for stage in stages) or "{0}",
        "depth": _listed([stage["depth"] for stage in stages]),
        "first_router": _listed(starts),
        "router_left": _listed(moved("left")),
        "router_right": _listed(moved("right")),
        "router_feature": _listed([max(feature, 0) for feature in joined("feature")]),
        "router_threshold": _listed(joined("threshold")),
        "router_missing_left": _listed(joined("missing_left")),
        "router_narrow": _listed([router["dtype"] == "float32" for router in routers for _ in router["left"]]),
        "following": _listed([goal for stage in stages for goal in stage["following"]]),
    }


def _row(values: Sequence[float], width: int) -> str:
    return f"{{{_listed([*values, *[0.0] * (width - len(values))])}}}"


def _listed(values: Iterable[Any]) -> str:
    """List numbers so that C reads them back exactly; C has no empty arrays, so nothing is listed as 0."""
    return ", ".join(map(_number, values)) or "0"


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value).replace("inf", "INFINITY")


def _text(name: object) -> str:
    """Write a name as a C string, letters other than ASCII as the bytes of UTF-8 in octal."""
    plain = {ord(sign) for sign in " !#$%&'()*+,-./:;<=>@[]^_`{|}~"}
    quoted = (chr(b) if (chr(b).isalnum() and b < 128) or b in plain else f"\\{b:03o}" for b in str(name).encode())
    return f'"{"".join(quoted)}"'
