"""Names that the tables and targets look for."""

OURS = "Sluice"
SPARSE = "Sluice, 90% sparsity"
