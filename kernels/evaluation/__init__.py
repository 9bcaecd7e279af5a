"""Prequential evaluation: confusion matrix, drift detection, calibration, and figures of items that were chosen."""
