"""Data sets with prices, by name, and files of the papers' data as they are distributed."""

from ipforest.datasets.named import BUNDLED, DATA_VARIABLE, GENERATED, Dataset, cube, cube_nm, cube_nuc, load, names

__all__ = ["BUNDLED", "DATA_VARIABLE", "GENERATED", "Dataset", "cube", "cube_nm", "cube_nuc", "load", "names"]
