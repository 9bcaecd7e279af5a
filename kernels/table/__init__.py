"""The feature table: its rows, layout and memory, and the names of features."""
