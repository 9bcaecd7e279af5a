"""Examples: their canonical form, how they are read from dicts, and how logs store them."""
