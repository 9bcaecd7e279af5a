"""Parts of a state: the names of features, numbers that callers give, and the check of stored tables."""
