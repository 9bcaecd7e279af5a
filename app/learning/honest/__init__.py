"""Honest accuracy, curves and targets: what follows from labels of items that the review policy chose."""
