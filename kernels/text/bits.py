"""Single instructions on 64-bit words that Numba does not offer."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WORD, TWO_WORDS, BIT = ir.IntType(64), ir.IntType(128), ir.IntType(1)


@intrinsic
def upper_product(typing_context, a, b):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the upper 64 of the 128 bits of a product."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        wide = [builder.zext(argument, TWO_WORDS) for argument in arguments]
        return builder.trunc(builder.lshr(builder.mul(*wide), TWO_WORDS(64)), WORD)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def leading_zeros(typing_context, word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Count the zeros above the highest 1; the word must not be 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return builder.ctlz(arguments[0], BIT(1))

    return types.uint64(types.uint64), generate


@intrinsic
def trailing_zeros(typing_context, word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Count the zeros below the lowest 1; the word must not be 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return builder.cttz(arguments[0], BIT(1))

    return types.uint64(types.uint64), generate


@intrinsic
def float_of_bits(typing_context, word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Reinterpret the bits as a float."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate
