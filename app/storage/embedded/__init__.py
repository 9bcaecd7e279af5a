"""The embedded Valkey: a real server as a child process."""
