"""What happens to every request: an id, load shedding, problems for errors, rate limits, counts and the log."""
