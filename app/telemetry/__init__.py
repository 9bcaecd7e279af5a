"""Metrics, logs and traces of a worker."""
