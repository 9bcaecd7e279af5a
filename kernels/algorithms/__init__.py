"""One file per algorithm of the paper, with its cost-sensitive twin where it has one; `kernels.registry` lists them."""
