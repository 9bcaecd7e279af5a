"""The page docs/reproduction.md: verdicts on the claims, tables and figures."""
