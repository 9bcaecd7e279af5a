"""URLs into features: `reading.read_url`."""
