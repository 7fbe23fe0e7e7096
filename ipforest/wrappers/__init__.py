"""Estimators around estimators: calibrated, with thresholds of their own, behind the preparation of a table."""
