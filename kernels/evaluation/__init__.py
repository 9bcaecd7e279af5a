"""How well a model does: counts of verdicts, and changes of their error rates."""
