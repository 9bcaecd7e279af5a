"""Labelled examples from files: LIBSVM, Vowpal Wabbit, JSON lines and URL lists, plain or compressed."""
