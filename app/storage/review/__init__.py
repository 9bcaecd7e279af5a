"""Review queues in Redis."""
