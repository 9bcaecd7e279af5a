"""The kernels beside other libraries and beside what the memory allows."""
