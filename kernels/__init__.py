"""The numeric heart of Sluice: numba functions on flat arrays, and nothing else."""
