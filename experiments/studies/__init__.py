"""What is studied: each module makes tasks, and each task finds something that the report tells."""
