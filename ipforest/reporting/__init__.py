"""One page about a model: measures with intervals, calibration, costs, what is bought for which class, and rounds."""

from ipforest.reporting.pages import Report, report

__all__ = ["Report", "report"]
