"""What every algorithm shares: options, totals, steps, mathematics."""
