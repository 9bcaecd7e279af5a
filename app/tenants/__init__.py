"""The tenants of this worker: loading, learning in the log's order, snapshots, pending predictions."""
