"""Who may do what, in Redis: API keys, sessions of the console, the audit."""
