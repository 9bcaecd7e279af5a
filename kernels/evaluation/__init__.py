"""Prequential evaluation: the confusion matrix, and drift detection."""
