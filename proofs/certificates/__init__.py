"""Certificates of optimal prunings and paths: checkers and file formats."""
