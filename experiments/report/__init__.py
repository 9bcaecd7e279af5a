"""The page that a run writes."""
