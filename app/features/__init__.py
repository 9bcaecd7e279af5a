"""Turns URLs, e-mails and texts into named features."""
