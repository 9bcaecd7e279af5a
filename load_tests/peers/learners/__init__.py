"""What runs inside the peers' processes."""
