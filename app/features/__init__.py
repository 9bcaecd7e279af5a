"""Turns URLs into named features."""
