"""Regret against the best fixed weights in hindsight, beside the bounds of the theorems."""
