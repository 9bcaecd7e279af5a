"""What clients send and receive, as Pydantic models: one module per resource."""
