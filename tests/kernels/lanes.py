"""The order in which kernels add up products, in plain Python."""


def in_lanes(products: list[float]) -> float:
    """Four sums side by side, the rest onto the first, then the sums in pairs."""
    lanes = [0.0, 0.0, 0.0, 0.0]
    whole = len(products) - len(products) % 4
    for k, product in enumerate(products):
        lanes[k % 4 if k < whole else 0] += product
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
