"""Fitted models, with the rules that stop them, for where there is no ipforest: as JSON, C and ONNX."""

from ipforest.deployment.c_model import write_c_model
from ipforest.deployment.document import document_of, write_json
from ipforest.deployment.onnx_model import write_onnx_model

__all__ = ["document_of", "write_c_model", "write_json", "write_onnx_model"]
