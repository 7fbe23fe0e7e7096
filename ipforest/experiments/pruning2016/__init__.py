"""Nan, Wang and Saligrama: Optimally pruning decision tree ensembles with feature cost (2016)."""
