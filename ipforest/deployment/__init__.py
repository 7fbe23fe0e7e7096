"""Fitted models, with the rules that stop them, for where there is no ipforest: as JSON and as C."""

from ipforest.deployment.c_model import write_c_model
from ipforest.deployment.document import document_of, write_json

__all__ = ["document_of", "write_c_model", "write_json"]
