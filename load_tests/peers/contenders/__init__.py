"""Who takes part: how each is started, and how it is asked."""
