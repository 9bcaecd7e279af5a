"""The commands about one tenant of a running service."""
