"""Verdicts on real inputs beside other learners."""
