"""The torture test: random faults from a seed while clients work, and a checker of everything that was promised."""
