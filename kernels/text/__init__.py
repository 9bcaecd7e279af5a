"""Parsers of text: numbers, JSON features, LIBSVM and Vowpal Wabbit lines."""
