"""Prequential evaluation: the confusion matrix, drift detection, and the calibration of scores."""
