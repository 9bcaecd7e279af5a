"""Tests of whole tenants on their way."""
