"""What is done to the deployment, one after the other: a module for each step."""
