"""What is kept in Redis: the log of every tenant, its snapshots and its pending predictions."""
