"""Examples as kernels take them: canonical order, and the forms they are read from and stored in."""
