"""The array types of the kernels."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]  # never float32: its sums stall and cancel on long streams
Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]
Ends = NDArray[np.uint32]  # end offsets in an array of up to 4 GiB
Bytes = NDArray[np.uint8]
