"""Parts of a state: confusion matrices, the digest, the names of features, numbers that callers give, stored tables."""
