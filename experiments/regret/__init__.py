"""Regret: what a learner lost beyond the best fixed weights that there were, as the paper's theorems have it."""
