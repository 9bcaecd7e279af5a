"""The labels of a tenant: what its log says about them, and how they are taken back."""
