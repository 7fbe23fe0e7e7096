"""What every budgeted estimator shares: prices read against features, rows held out for costs, what examples pay."""

from ipforest.estimator.base import BudgetedEstimator, PricedEstimator
from ipforest.estimator.held_out import split_rows
from ipforest.estimator.model import BudgetedModel
from ipforest.estimator.prices import optional_number, read_costs

__all__ = ["BudgetedEstimator", "BudgetedModel", "PricedEstimator", "optional_number", "read_costs", "split_rows"]
