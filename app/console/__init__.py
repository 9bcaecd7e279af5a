"""The console: pages for moderators and leads. They use the HTTP API as any client does."""
