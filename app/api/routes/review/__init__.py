"""The routes of reviewers."""
