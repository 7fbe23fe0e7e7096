"""Xu, Kusner, Weinberger, Chen and Chapelle: Classifier cascades and trees for minimizing feature cost (JMLR 2014)."""
