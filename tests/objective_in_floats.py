"""The objective of models in the letters x and w that tests write themselves, in floats as a user would."""

import pyomo.environ as pyo


def add_objective(model, data, instance, lam):
    """Minimise what the trees lose and what is paid, weighed by lambda."""
    gain = dict(zip(data.internal, instance.gain.tolist(), strict=True))
    error = sum(data.e[h] for h, path in data.path.items() if len(path) == 1)
    error -= pyo.quicksum(gain[h] * model.x[h] for h in data.internal)
    cost = pyo.quicksum(data.c[pair] * model.w[pair] for pair in data.pairs)
    cost += pyo.quicksum(data.s[h] * model.x[h] for h in data.internal)
    model.objective = pyo.Objective(expr=float(instance.error_unit) * error + float(lam * instance.cost_unit) * cost)
