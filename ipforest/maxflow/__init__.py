"""Compiled kernels: presolve, exact closure cut, the parametric cut of the whole path.

A kernel is compiled together with those it calls, and the cache on disk looks only at its own file: after an edit of
one of these files delete the cached kernels of the others (``__pycache__/*.nb?``).
"""
