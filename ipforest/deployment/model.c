/* A model that buys features one at a time and stops when it is sure. C99; needs math.h and its library.

   model_predict(read, context, output, bought) returns the number of the class, whose name is in model_classes, and 0
   where a number is predicted. read(feature, context) gives the value of a feature, NAN where it is missing; that of a
   category is its place in model_categories, from model_first_category[feature] on, and NAN of one that is not there. It
   is called when the feature is bought, at most once per feature; what is not called for need not be computed.
   output[N_OUTPUTS] gets the probability of each class, or the number; bought[N_FEATURES] whether each feature was
   bought and looked at: of those that come together, some may only be read. Both may be NULL.

   model_cost(bought) adds up the prices. model_predict_batch(X, n, label, output, bought) predicts the rows of a table
   X[n][N_FEATURES].

   Several models in one program: compile each with -DMODEL=liver or the like, and its names begin with liver_. */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "NAN is a missing value: compile without -ffast-math, -Ofast, -ffinite-math-only or /fp:fast, which take it for none"
#endif

#ifdef MODEL
#define JOINED(model, name) model##_##name
#define NAMED(model, name) JOINED(model, name)
#define model_read NAMED(MODEL, read)
#define model_classes NAMED(MODEL, classes)
#define model_features NAMED(MODEL, features)
#define model_categories NAMED(MODEL, categories)
#define model_first_category NAMED(MODEL, first_category)
#define model_cost NAMED(MODEL, cost)
#define model_predict NAMED(MODEL, predict)
#define model_predict_batch NAMED(MODEL, predict_batch)
#endif

#define N_FEATURES $n_features
#define N_OUTPUTS $n_outputs
#define N_UNITS $n_units
#define WIDTH $width
#define N_MAPS $n_maps

typedef double (*model_read)(int feature, void *context);

const char *const model_classes[] = {$classes};
const char *const model_features[N_FEATURES] = {$features};
const char *const model_categories[] = {$categories};
const int model_first_category[N_FEATURES + 1] = {$first_category};

enum { LINK_MEAN, LINK_IDENTITY, LINK_LOG, LINK_LOGIT, LINK_HALF_LOGIT, LINK_MULTINOMIAL };


/* Categories of which a number with a fraction is none, so that it is missing. */
static const bool is_whole[N_FEATURES] = {$is_whole};

/* Prices; what a feature needs is paid once. What would take an example above the limit cannot be had. */
static const double unit_cost[N_UNITS] = {$unit_cost};
static const int unit_of[N_FEATURES][2] = {$unit_of};
static const double limit = $limit;
static const bool missing_seen[N_FEATURES] = {$missing_seen};

/* What predicting a class costs where another is true. */
static const bool has_class_costs = $has_class_costs;
static const double class_cost[][N_OUTPUTS] = {$class_cost};
static const bool classifies = $classifies;

/* Parts, each a model that buys: one, or a gate and the two between which it chooses by a threshold. */
enum { PART_TREES, PART_STAGES, PART_LINEAR };
static const bool has_gate = $has_gate;
static const double gate_threshold = $gate_threshold;
static const int part_kind[] = {$part_kind};
static const bool has_rule[] = {$has_rule};
static const double level_of[] = {$level};
static const bool is_free[][N_FEATURES] = {$free};
static const int ensemble_of[] = {$ensemble_of};
static const int stage_of[] = {$stage_of};
static const int function_of[] = {$function_of};

/* Linear functions, of parts and of stages: what they weigh, marks of categories or, where there is none (-1), numbers,
   shifted and scaled; an output per column. */
static const int first_term[] = {$first_term};
static const int term_feature[] = {$term_feature};
static const int term_category[] = {$term_category};
static const double term_mean[] = {$term_mean};
static const double term_spread[] = {$term_spread};
static const double term_weight[][WIDTH] = {$term_weight};
static const double intercept[][WIDTH] = {$intercept};
static const bool linear_narrow[] = {$linear_narrow};
static const int linear_link[] = {$linear_link};
static const int n_scores[] = {$n_scores};

/* Calibration: by the number of features that were tested, and by class, a sigmoid or points of a function. */
static const int n_calibrations = $n_calibrations;
static const int first_place[] = {$first_place};
static const int place_begins[] = {$place_begins};
static const bool is_sigmoid[] = {$is_sigmoid};
static const int first_point[] = {$first_point};
static const double point_x[] = {$point_x};
static const double point_y[] = {$point_y};

/* Decision thresholds; of two classes, which one is predicted from its threshold on, or -1. */
static const bool has_thresholds = $has_thresholds;
static const double decision_threshold[N_OUTPUTS] = {$decision_threshold};
static const int positive = $positive;

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
static const int category_set[] = {$category_set};
static const int first_listed[] = {$first_listed};
static const double listed[] = {$listed};
static const bool holds_others[] = {$holds_others};
static const double value[][WIDTH] = {$value};
static const double lowest[][WIDTH] = {$lowest};
static const double highest[][WIDTH] = {$highest};

/* Rules: for each history of signals the stage at which the next one is looked up, where its bins begin, the history
 * of the first of them, and how keen it is to go on, less what a signal larger by 1 takes. */
static const int first_row[] = {$first_row};
static const int first_edge[] = {$first_edge};
static const double edge[] = {$edge};
static const double lambda[] = {$lambda};
static const int next_stage[] = {$next_stage};
static const int first_child[] = {$first_child};
static const double tie[] = {$tie};

/* Stages: features, ensembles or a linear function, and where examples go on. Empty where there is one ensemble. */
static const int first_of_stage[] = {$first_of_stage};
static const int stage_feature[] = {$stage_feature};
static const int first_ensemble[] = {$first_ensemble};
static const int n_averaged[] = {$n_averaged};
static const int stage_function[] = {$stage_function};
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
    bool barred[N_FEATURES];
    bool tested[N_FEATURES];
};

static void note_units(const bool *bought, bool paid[N_UNITS])
{
    for (int u = 0; u < N_UNITS; u++)
        paid[u] = u == N_UNITS - 1;
    for (int f = 0; f < N_FEATURES; f++)
        for (int k = 0; k < 2 && bought[f]; k++)
            paid[unit_of[f][k]] = true;
}

static double sum_of(const bool paid[N_UNITS])
{
    double sum = 0;
    for (int u = 0; u < N_UNITS; u++)
        sum += paid[u] ? unit_cost[u] : 0;
    return sum;
}

double model_cost(const bool *bought)
{
    bool paid[N_UNITS];
    note_units(bought, paid);
    return sum_of(paid);
}

static void give_up(struct example *e)
{
    if (isinf(limit))
        return;
    bool paid[N_UNITS];
    note_units(e->bought, paid);
    const double spent = sum_of(paid);
    for (int f = 0; f < N_FEATURES; f++) {
        double price = 0;
        for (int k = 0; k < 2; k++)
            price += paid[unit_of[f][k]] ? 0 : unit_cost[unit_of[f][k]];
        if (!e->known[f] && !e->barred[f] && spent + price > limit) {
            e->x[f] = NAN;
            e->barred[f] = true;
            e->known[f] = missing_seen[f];
        }
    }
}

static void buy(struct example *e, int feature)
{
    if (e->known[feature])
        return;
    for (int f = 0; f < N_FEATURES; f++)
        if (unit_of[f][0] == unit_of[feature][0] && !e->known[f]) {
            double x = e->read(f, e->context);
            e->x[f] = is_whole[f] && floor(x) < x ? NAN : x;
            e->known[f] = e->bought[f] = true;
        }
    give_up(e);
}

static bool holds(int set, double x)
{
    bool found = false;
    for (int place = first_listed[set]; place < first_listed[set + 1] && x > -1; place++)
        found = found || (x >= listed[place] && x < listed[place] + 1.0);
    return found != holds_others[set];
}

static bool is_at_most(double x, double most, bool missing, bool as_float)
{
    return isnan(x) ? missing : (as_float ? (double)(float)x : x) <= most;
}

static bool goes_left(double x, int node, bool as_float)
{
    if (category_set[node] >= 0 && !isnan(x))
        return holds(category_set[node], threshold[node] < x && x < 0 ? 0 : as_float ? (double)(float)x : x);
    return is_at_most(x, threshold[node], missing_left[node], as_float);
}

static int reached(const struct example *e, int ensemble, int tree, bool *tested_or_null)
{
    int node = root[tree];
    while (left[node] >= 0 && e->known[feature_of[node]]) {
        if (tested_or_null != NULL)
            tested_or_null[feature_of[node]] = true;
        node = goes_left(e->x[feature_of[node]], node, narrow[ensemble]) ? left[node] : right[node];
    }
    return node;
}

static void linked(int link, const double *margin, int n, double *output)
{
    double largest = -INFINITY, total = 0;
    switch (link) {
    case LINK_MULTINOMIAL:
        for (int k = 0; k < n; k++)
            largest = fmax(largest, margin[k]);
        for (int k = 0; k < n; k++)
            total += output[k] = exp(margin[k] - largest);
        for (int k = 0; k < n; k++)
            output[k] /= total;
        return;
    case LINK_LOG:
        output[N_OUTPUTS - 1] = exp(margin[0]);
        break;
    case LINK_LOGIT:
    case LINK_HALF_LOGIT:
        output[N_OUTPUTS - 1] = 1 / (1 + exp((link == LINK_LOGIT ? -1 : -2) * margin[0]));
        break;
    default:
        for (int k = 0; k < n; k++)
            output[N_OUTPUTS - n + k] = margin[k];
    }
    if (n < N_OUTPUTS)
        output[0] = 1 - output[N_OUTPUTS - 1];
}

/* What speaks for a label: its probability, or minus its expected cost. */
static double worth(const double *output, int label)
{
    double expected = 0;
    if (!has_class_costs)
        return output[label];
    for (int k = 0; k < N_OUTPUTS; k++)
        expected += output[k] * class_cost[k][label];
    return -expected;
}

static bool cheapest_is_certain(const double *low, const double *high)
{
    double both[N_OUTPUTS], largest = 0, sum = 0, most = -INFINITY;
    int label = 0;
    for (int k = 0; k < N_OUTPUTS; k++) {
        both[k] = low[k] + high[k];
        sum += high[k];
        for (int j = 0; j < N_OUTPUTS; j++)
            largest = fmax(largest, class_cost[k][j]);
    }
    for (int k = 1; k < N_OUTPUTS; k++)
        if (worth(both, k) > worth(both, label))
            label = k;
    for (int other = 0; other < N_OUTPUTS; other++) {
        double total = 0;
        for (int k = 0; k < N_OUTPUTS; k++) {
            const double extra = class_cost[k][label] - class_cost[k][other];
            total += fmax(extra, 0) * high[k] + fmin(extra, 0) * low[k];
        }
        if (other != label)
            most = fmax(most, total);
    }
    return most < -$settled_slack * largest * sum;
}

static bool cost_is_settled(int link, const double *low, const double *high, int n)
{
    double first[N_OUTPUTS] = {0}, last[N_OUTPUTS] = {0}, largest = -INFINITY;
    if (link == LINK_MEAN)
        return cheapest_is_certain(low, high);
    if (n == 1) {
        linked(link, low, n, first);
        linked(link, high, n, last);
        for (int k = 0; k < N_OUTPUTS; k++) {
            const double other = fmax(first[k], last[k]);
            first[k] = fmin(first[k], last[k]);
            last[k] = other;
        }
        return cheapest_is_certain(first, last);
    }
    for (int k = 0; k < n; k++)
        largest = fmax(largest, high[k]);
    for (int k = 0; k < n; k++) {
        first[k] = exp(low[k] - largest);
        last[k] = exp(high[k] - largest);
    }
    return cheapest_is_certain(first, last);
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

/* Predict from what is known, and say how wide the bounds of a number are; return whether nothing that is unknown can
   change the class, or, if so asked, the label of the least expected cost. */
static bool foresee(const struct example *e, int ensemble, bool by_cost, double output[N_OUTPUTS], double *width)
{
    const bool averages = link_of[ensemble] == LINK_MEAN;
    const int n = n_margins_of[ensemble], n_trees = first_tree[ensemble + 1] - first_tree[ensemble];
    double counted[WIDTH] = {0}, everything[WIDTH] = {0}, low[WIDTH] = {0}, high[WIDTH] = {0};
    int n_counted = 0;
    for (int tree = first_tree[ensemble]; tree < first_tree[ensemble + 1]; tree++) {
        const int node = reached(e, ensemble, tree, NULL);
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
    const int link = link_of[ensemble];
    const bool settled = classifies && (by_cost ? cost_is_settled(link, low, high, n) : is_settled(low, high, n));
    const bool all = averages ? settled || n_counted == 0 : settled;
    double margin[WIDTH] = {0}, first[N_OUTPUTS], last[N_OUTPUTS];
    for (int k = 0; k < n; k++)
        margin[k] = (all ? everything[k] : counted[k]) + base_score[ensemble][k];
    if (averages) {
        for (int k = 0; k < N_OUTPUTS; k++)
            output[k] = margin[k] / (all ? n_trees : n_counted);
        *width = high[0] / n_trees - low[0] / n_trees;
        return settled;
    }
    linked(link, margin, n, output);
    linked(link, low, n, first);
    linked(link, high, n, last);
    *width = last[0] - first[0];
    return settled;
}

static int bin_of(int row, double signal)
{
    int bin = 0;
    while (first_edge[row] + bin < first_edge[row + 1] && edge[first_edge[row] + bin] <= signal)
        bin++;
    return bin;
}

static double keenness(int part, int stage, const double *output, double width, int *memory)
{
    double first = -INFINITY, second = -INFINITY;
    for (int k = 0; k < N_OUTPUTS; k++) {
        const double here = worth(output, k);
        if (here > first) {
            second = first;
            first = here;
        } else if (here > second)
            second = here;
    }
    const double signal = classifies ? first - second : -width;
    const int row = first_row[part];
    if (next_stage[row + *memory] == stage)
        *memory = first_child[row + *memory] + bin_of(row + *memory, signal);
    return lambda[row + *memory] - tie[part] * signal;
}

static void walk(struct example *e, int part, double output[N_OUTPUTS])
{
    const int ensemble = ensemble_of[part];
    int stage = 0, memory = 0;
    double width;
    bool stops = false;
    for (int tree = first_tree[ensemble]; tree < first_tree[ensemble + 1] && !stops; tree++) {
        int node;
        while (!stops && left[node = reached(e, ensemble, tree, e->tested)] >= 0 && !e->barred[feature_of[node]]) {
            const int feature = feature_of[node];
            if (has_rule[part] && !is_free[part][feature]) {
                const bool settled = foresee(e, ensemble, has_class_costs, output, &width);
                const double keen = keenness(part, stage++, output, width, &memory);
                stops = settled || keen <= level_of[part];
            }
            if (!stops)
                buy(e, feature);
        }
    }
    foresee(e, ensemble, false, output, &width);
}

static void see(struct example *e, int feature)
{
    buy(e, feature);
    e->tested[feature] = true;
}

/* Add up the terms of a linear function, one after another; a missing number counts as its mean. */
static void weigh(const struct example *e, int function, double output[N_OUTPUTS])
{
    double margin[WIDTH] = {0};
    for (int term = first_term[function]; term < first_term[function + 1]; term++) {
        const double given = e->x[term_feature[term]];
        const double x = linear_narrow[function] ? (double)(float)given : given;
        const double scaled = (x - term_mean[term]) / term_spread[term];
        double added = isnan(scaled) ? 0 : fmax(-DBL_MAX, fmin(scaled, DBL_MAX));
        if (term_category[term] >= 0)
            added = x >= term_category[term] && x < term_category[term] + 1.0;
        for (int k = 0; k < n_scores[function]; k++)
            margin[k] += added * term_weight[term][k];
    }
    for (int k = 0; k < n_scores[function]; k++)
        margin[k] += intercept[function][k];
    linked(linear_link[function], margin, n_scores[function], output);
}

static bool sees(int stage, int feature)
{
    for (int place = first_of_stage[stage]; place < first_of_stage[stage + 1]; place++)
        if (stage_feature[place] == feature)
            return true;
    return false;
}

static void climb(struct example *e, int part, double output[N_OUTPUTS])
{
    const int start = stage_of[part];
    int stage = start, memory = 0;
    double before = 0, width;
    for (;;) {
        for (int k = 0; k < N_OUTPUTS; k++)
            output[k] = 0;
        if (stage_function[stage] >= 0)
            weigh(e, stage_function[stage], output);
        for (int place = 0; place < n_averaged[stage]; place++) {
            double added[N_OUTPUTS];
            foresee(e, first_ensemble[stage] + place, false, added, &width);
            for (int k = 0; k < N_OUTPUTS; k++)
                output[k] += added[k];
        }
        for (int k = 0; k < N_OUTPUTS && n_averaged[stage]; k++)
            output[k] /= n_averaged[stage];
        const double change = stage == start ? 0 : fabs(output[0] - before);
        const double keen = keenness(part, depth[stage], output, change, &memory);
        before = output[0];
        int node = first_router[stage];
        while (router_left[node] >= 0)
            node = is_at_most(e->x[router_feature[node]], router_threshold[node], router_missing_left[node],
                              router_narrow[node])
                       ? router_left[node]
                       : router_right[node];
        const int goal = following[node];
        if (goal < 0 || !(keen > level_of[part]))
            return;
        for (int place = first_of_stage[goal]; place < first_of_stage[goal + 1]; place++)
            if (!sees(stage, stage_feature[place]))
                see(e, stage_feature[place]);
        stage = goal;
    }
}

static void answer(struct example *e, int part, double output[N_OUTPUTS])
{
    if (part_kind[part] == PART_TREES)
        walk(e, part, output);
    else if (part_kind[part] == PART_STAGES)
        climb(e, part, output);
    else {
        const int function = function_of[part];
        for (int term = first_term[function]; term < first_term[function + 1]; term++)
            see(e, term_feature[term]);
        weigh(e, function, output);
    }
}

static double mapped(int map, double x)
{
    int point = first_point[map];
    const int last = first_point[map + 1] - 1;
    if (is_sigmoid[map])
        return 1 / (1 + exp(point_x[point] * x + point_y[point]));
    if (x <= point_x[point])
        return point_y[point];
    if (x >= point_x[last])
        return point_y[last];
    while (x >= point_x[point + 1])
        point++;
    return (point_y[point + 1] - point_y[point]) / (point_x[point + 1] - point_x[point]) * (x - point_x[point]) +
           point_y[point];
}

static void calibrate(int calibration, int n_tested, double output[N_OUTPUTS])
{
    int place = first_place[calibration];
    double sure[N_OUTPUTS], sum = 0, total = 0;
    while (place + 1 < first_place[calibration + 1] && place_begins[place + 1] <= n_tested)
        place++;
    for (int k = 0; k < N_OUTPUTS; k++) {
        sure[k] = fmin(fmax(output[k], $surest), 1 - $surest);
        sum += sure[k];
    }
    if (N_OUTPUTS == 2) {
        output[N_OUTPUTS - 1] = mapped(place * N_MAPS, log(sure[N_OUTPUTS - 1]) - log(sure[0]));
        output[0] = 1 - output[N_OUTPUTS - 1];
        return;
    }
    for (int k = 0; k < N_OUTPUTS; k++)
        total += output[k] = mapped(place * N_MAPS + k, log(sure[k]) - log(sum - sure[k]));
    for (int k = 0; k < N_OUTPUTS; k++)
        output[k] = total > 0 ? output[k] / total : 1.0 / N_OUTPUTS;
}

static int decided(const double output[N_OUTPUTS])
{
    int label = 0;
    if (positive >= 0)
        return output[positive] >= decision_threshold[positive] ? positive : 1 - positive;
    for (int k = 1; k < N_OUTPUTS; k++)
        if (has_thresholds ? output[k] / decision_threshold[k] > output[label] / decision_threshold[label]
                           : worth(output, k) > worth(output, label))
            label = k;
    return label;
}

int model_predict(model_read read, void *context, double *output_or_null, bool *bought)
{
    struct example e = {read, context, {0}, {false}, {false}, {false}, {false}};
    double output[N_OUTPUTS] = {0};
    int n_tested = 0;
    give_up(&e);
    if (has_gate)
        answer(&e, 0, output);
    answer(&e, has_gate ? 1 + (output[N_OUTPUTS - 1] > gate_threshold) : 0, output);
    for (int f = 0; f < N_FEATURES; f++)
        n_tested += e.tested[f];
    for (int calibration = 0; calibration < n_calibrations; calibration++)
        calibrate(calibration, n_tested, output);
    for (int k = 0; k < N_OUTPUTS && output_or_null != NULL; k++)
        output_or_null[k] = output[k];
    for (int f = 0; f < N_FEATURES && bought != NULL; f++)
        bought[f] = e.bought[f] && e.tested[f];
    return classifies ? decided(output) : 0;
}

static double of_row(int feature, void *row)
{
    return ((const double *)row)[feature];
}

void model_predict_batch(const double *X, int n, int *label, double *output, bool *bought)
{
    for (int i = 0; i < n; i++)
        label[i] = model_predict(of_row, (void *)(X + (size_t)i * N_FEATURES),
                                 output == NULL ? NULL : output + (size_t)i * N_OUTPUTS,
                                 bought == NULL ? NULL : bought + (size_t)i * N_FEATURES);
}
