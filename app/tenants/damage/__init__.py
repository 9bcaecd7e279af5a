"""Damage of a stored tenant: what is wrong, what can be saved, and its replacement. `sluice repair` uses it."""
