"""The server process: workers, sockets and the limits of a connection."""
