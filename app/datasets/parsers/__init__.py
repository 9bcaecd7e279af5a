"""A parser for each format of labelled examples."""
