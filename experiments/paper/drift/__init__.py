"""Streams that change, and how learners that forget fare on them."""
