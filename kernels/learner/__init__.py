"""What the algorithms share: the factory of their entries, options, totals, and mathematics."""
