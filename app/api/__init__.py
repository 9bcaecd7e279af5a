"""The HTTP shell: parse, call one method, shape the answer."""
