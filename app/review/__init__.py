"""What moderators are asked: the queue of chosen predictions, and its leases."""
