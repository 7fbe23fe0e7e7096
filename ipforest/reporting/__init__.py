"""One page about a model: measures with intervals, calibration, costs, what is bought for which class, and rounds."""

from ipforest.reporting.contents import report
from ipforest.reporting.pages import Report

__all__ = ["Report", "report"]
