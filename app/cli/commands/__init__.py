"""One module per command: `add_arguments` describes it, and sets the function that runs it."""
