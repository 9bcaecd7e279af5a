"""Tests of labels that are taken back."""
