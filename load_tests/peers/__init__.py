"""Sluice beside its peers in one run: the same examples in the same order, in turns."""
