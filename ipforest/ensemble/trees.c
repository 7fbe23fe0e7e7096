/* $n_trees trees, $n_nodes nodes. C99; needs math.h$link_needs.

   trees_predict(read, context, output) fills output[$n_outputs] with $meaning.
   A feature is read when a path first tests it, and then kept: read(feature, context) is called at most
   once per feature, and only for what the example pays for. NAN is a missing value.

   Several models in one program: compile each with -DTREES=liver or the like, and its names begin with liver_. */

#include <math.h>
#include <stdbool.h>

#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "NAN is a missing value: compile without -ffast-math, -Ofast, -ffinite-math-only or /fp:fast, which take it for none"
#endif

#ifdef TREES
#define JOINED(trees, name) trees##_##name
#define NAMED(trees, name) JOINED(trees, name)
#define trees_read NAMED(TREES, read)
#define trees_predict NAMED(TREES, predict)
#endif

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
