"""Repair of tenants whose store has lost what this worker still knows."""
