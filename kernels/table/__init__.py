"""The feature table: a row for each feature, its growth, its memory, its names."""
