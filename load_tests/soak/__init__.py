"""The soak test: mixed load for long, while services are restarted one after the other and the store fails over."""
