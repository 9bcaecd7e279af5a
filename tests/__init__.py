"""Tests, one file per concept; the names of the tests are sentences about it."""
