"""Parsers: numbers, JSON features, LIBSVM and Vowpal Wabbit lines."""
