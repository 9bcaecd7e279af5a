"""The other learners: how they are called, which forms of the input they get, and their grids."""
