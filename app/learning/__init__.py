"""The pure core: a function of state and event. No clock, no randomness, no I/O."""
