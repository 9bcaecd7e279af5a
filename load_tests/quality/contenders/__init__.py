"""Learners that take part; each is tested on an example before it learns its label."""
