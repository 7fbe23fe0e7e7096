"""Nan, Wang and Saligrama: Feature-budgeted random forest (ICML 2015)."""
