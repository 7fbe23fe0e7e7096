"""Nan and Saligrama: Adaptive classification for prediction under a budget (NIPS 2017)."""
