"""Predictions kept for feedback: which of them people review, and how much may be kept."""
