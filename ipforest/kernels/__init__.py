"""Compiled kernels: presolve, exact closure cut, slicing of the whole path."""
