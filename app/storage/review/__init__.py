"""What people review, in Redis: the queue, and the raw inputs of predictions."""
