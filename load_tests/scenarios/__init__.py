"""Scenarios of traffic as tenants make it, played by Locust against a service of their own: `make load`."""
