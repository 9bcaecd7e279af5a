"""The service beside a bare FastAPI route: requests per second, latencies, starts, stalls and memory."""
