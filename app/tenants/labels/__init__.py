"""The labels of a tenant: what its log says, how they are taken back, what other settings make of them."""
