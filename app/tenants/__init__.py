"""The tenants of a worker: cache, log writer and follower, recovery and repair, snapshots, kept predictions."""
