"""The connection to Redis: address, transport, cluster, scripts, errors."""
