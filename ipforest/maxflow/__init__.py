"""Compiled kernels: presolve, exact closure cut, the parametric cut of the whole path."""
