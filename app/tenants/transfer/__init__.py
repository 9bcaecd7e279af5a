"""Whole tenants on their way: deleted and restored, exported and imported."""
