"""Models in files, under the name that was public before `ipforest.tabular` held them."""

from ipforest.tabular.model_files import load_model, save_model

__all__ = ["load_model", "save_model"]
