"""Latency of models that stop, as C that asks for features, and of LightGBM and tl2cgen, which take whole rows.

Run with ``python tests/benchmarks/deployed.py FILE.csv``; needs gcc, LightGBM, treelite, tl2cgen and the data folder.
Every model predicts the same rows one by one, in turn with the others, in the time of the processor; the least of
several runs counts. The features that a model reads come from a callback, which does nothing else.
"""

import ctypes
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import lightgbm
import numpy as np
import tl2cgen
import treelite
from lightgbm.basic import _LIB
from sklearn.frozen import FrozenEstimator

from ipforest import BudgetedClassifier, EarlyExit, NestedCascade, datasets, deployment
from ipforest._internal.records import records_to_csv
from ipforest.adaptive import AdaptGbrt

N_TRAIN, N_TREES, N_RUNS = 2500, 100, 15
BUDGETS = (5, 15)

CLOCK = """
#include <stdint.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
"""
OURS = """
struct asked { const double *x; long n; };
static double ask(int feature, void *context)
{
    struct asked *row = context;
    row->n++;
    return row->x[feature];
}
double run(const double *X, int n, int n_features, int *label, double *n_asked)
{
    double started = now();
    struct asked row = {NULL, 0};
    for (int i = 0; i < n; i++) {
        row.x = X + (size_t)i * n_features;
        label[i] = model_predict(ask, &row, NULL, NULL);
    }
    double seconds = now() - started;
    *n_asked = row.n;
    return seconds;
}
"""
TL2CGEN = """
double run(const double *X, int n, int n_features, int *label, double *n_asked)
{
    double started = now(), result[1];
    union Entry row[N_ENTRIES];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n_features; j++)
            row[j].fvalue = X[(long)i * n_features + j];
        result[0] = 0;
        predict(row, 0, result);
        label[i] = result[0] > 0.5;
    }
    double seconds = now() - started;
    *n_asked = (double)n * n_features;
    return seconds;
}
"""
BY_LIGHTGBM = """
typedef int (*single_row)(void *config, const void *data, int64_t *n_results, double *result);
single_row predict_row;
void *config;
double run(const double *X, int n, int n_features, int *label, double *n_asked)
{
    double started = now(), result[1];
    int64_t n_results;
    for (int i = 0; i < n; i++) {
        predict_row(config, X + (long)i * n_features, &n_results, result);
        label[i] = result[0] > 0.5;
    }
    double seconds = now() - started;
    *n_asked = (double)n * n_features;
    return seconds;
}
"""


@dataclass
class Deployed:
    """A compiled model, what runs it on rows, and what it should answer."""

    model: str
    budget: object
    library: ctypes.CDLL
    expected: np.ndarray
    seconds: float = np.inf
    n_asked: float = 0

    def run(self, X):
        """Predict all rows one by one; keep the least time."""
        label, n_asked = np.empty(len(X), dtype=np.int32), ctypes.c_double()
        self.library.run.restype = ctypes.c_double
        pointers = (each.ctypes.data_as(ctypes.c_void_p) for each in (X, label))
        rows, labels = pointers
        seconds = self.library.run(rows, len(X), X.shape[1], labels, ctypes.byref(n_asked))
        assert np.array_equal(label, self.expected), self.model
        self.seconds, self.n_asked = min(self.seconds, seconds), n_asked.value


def compiled(folder, name, source, *others):
    file, library = folder / f"{name}.c", folder / f"{name}.so"
    file.write_text(source)
    flags = ["-std=gnu99", "-O2", "-w", "-shared", "-fPIC", f"-I{folder}"]
    subprocess.run(["gcc", *flags, "-o", library, file, *others, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def ours(folder, name, model, X):
    library = compiled(folder, f"ours_{len([*folder.iterdir()])}", deployment.write_c_model(model) + CLOCK + OURS)
    places = np.searchsorted(model.classes_, model.predict(X)).astype(np.int32)
    return Deployed(name, model.budget, library, places)


def by_tl2cgen(folder, booster, X, expected):
    code = folder / "tl2cgen"
    tl2cgen.generate_c_code(treelite.frontend.from_lightgbm(booster), code, params={})
    harness = f'#include "tl2cgen/header.h"\n{CLOCK}\n#define N_ENTRIES {X.shape[1]}\n{TL2CGEN}'
    library = compiled(folder, "by_tl2cgen", harness, *code.glob("*.c"))
    return Deployed("the same trees, compiled by treelite and tl2cgen", "", library, expected)


def by_lightgbm(folder, booster, X, expected):
    library, config = compiled(folder, "by_lightgbm", CLOCK + BY_LIGHTGBM), ctypes.c_void_p()
    told = (0, 0, -1, 1, X.shape[1], b"num_threads=1")  # normal prediction, all rounds, float64
    assert _LIB.LGBM_BoosterPredictForMatSingleRowFastInit(booster._handle, *told, ctypes.byref(config)) == 0
    ctypes.c_void_p.in_dll(library, "config").value = config.value
    function = ctypes.cast(_LIB.LGBM_BoosterPredictForMatSingleRowFast, ctypes.c_void_p)
    ctypes.c_void_p.in_dll(library, "predict_row").value = function.value
    name = f"LightGBM, {booster.num_trees()} trees, PredictForMatSingleRowFast"
    return Deployed(name, "", library, expected)


def models(X, y):
    """Train what is deployed; give names and models."""
    base = lightgbm.LGBMClassifier(n_estimators=N_TREES, n_jobs=1, verbose=-1, random_state=0)
    half = len(y) // 2
    trees = FrozenEstimator(base.fit(X[:half], y[:half]))
    yield "LightGBM", trees.estimator
    stopping = EarlyExit(trees, budget=BUDGETS[0], random_state=0).fit(X[half:], y[half:])
    front = BudgetedClassifier(random_state=0).fit(X, y)
    boosted = front.estimators_[0]
    stages = NestedCascade(base, budget=BUDGETS[0], random_state=0).fit(X, y)
    for budget in BUDGETS:
        yield "the same trees in EarlyExit", stopping.at_budget(budget)
        chosen = front.at_budget(budget)
        yield f"BudgetedClassifier: {chosen.chosen_}", chosen
        chosen = boosted.at_budget(budget)
        yield f"its BudgetBoost: {chosen.chosen_}", chosen
        yield "NestedCascade of LightGBM", stages.at_budget(budget)
    gate = AdaptGbrt(stages.at_budget(2 * BUDGETS[0]), n_estimators=20, budget=BUDGETS[0], random_state=0)
    yield "AdaptGbrt: a gate before a NestedCascade of LightGBM", gate.fit(X[half:], y[half:])


def main(file):
    data = datasets.load("miniboone_5k")
    rows = np.random.default_rng(0).permutation(data.y.size)
    X, y = np.ascontiguousarray(data.X[rows], dtype=np.float64), data.y[rows]
    test, truth = X[N_TRAIN:], y[N_TRAIN:]
    with TemporaryDirectory() as name:
        folder, deployed = Path(name), []
        for told, model in models(X[:N_TRAIN], y[:N_TRAIN]):
            if told == "LightGBM":
                booster = model.booster_
                expected = (booster.predict(test) > 0.5).astype(np.int32)
                deployed = [by_lightgbm(folder, booster, test, expected), by_tl2cgen(folder, booster, test, expected)]
                classes = model.classes_
            else:
                deployed.append(ours(folder, told, model, test))
            print(told, flush=True)
        for _ in range(N_RUNS):
            for each in deployed:
                each.run(test)
    records = [
        {
            "model": each.model,
            "budget": each.budget,
            "one_row_in_us": f"{1e6 * each.seconds / len(test):.2f}",
            "features_read": f"{each.n_asked / len(test):.1f}",
            "accuracy": f"{(classes[each.expected] == truth).mean():.3f}",
        }
        for each in deployed
    ]
    Path(file).write_text(records_to_csv(records), encoding="utf-8")
    print(records_to_csv(records))


if __name__ == "__main__":
    main(*sys.argv[1:])
