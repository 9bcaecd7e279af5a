"""The client, in a process of its own: one for each turn of each contender."""
