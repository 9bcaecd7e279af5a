"""The pure core: events in, state out. No clock, no randomness, no I/O."""
