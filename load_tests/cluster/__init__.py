"""Several services on one real cluster: `python -m load_tests.cluster`, or `make bench-cluster`."""
