"""Tests of the storage, against real servers."""
