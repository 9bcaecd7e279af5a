"""What people review, in Redis: the raw inputs of predictions."""
