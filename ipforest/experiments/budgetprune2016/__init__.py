"""Nan, Wang and Saligrama: Pruning random forests for prediction on a budget (NIPS 2016)."""
