"""Snapshots and model files: a tenant's state as bytes."""
