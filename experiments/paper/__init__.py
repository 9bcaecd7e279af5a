"""The paper's study, run on the kernels that serve. `make reproduce` writes docs/reproduction.md."""
