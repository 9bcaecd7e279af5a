"""Shared by all benchmarks: the client, the processes under test, the traffic, the sizes and the report."""
