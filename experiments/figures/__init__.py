"""Pictures for the report."""
