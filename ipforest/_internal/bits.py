"""Bits of an int64, in kernels; numba itself has no instruction that counts zeros."""

from collections.abc import Callable
from typing import Any, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ipforest._internal.atomics import Lowering


def _lower_lowest_bit(typing_context: Any, bits: Any) -> Lowering:
    def lower(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), lower


def _lowest_bit(bits: int) -> int:
    return (int(bits) & -int(bits)).bit_length() - 1


lowest_bit = _lowest_bit if numba.config.DISABLE_JIT else cast("Callable[[int], int]", intrinsic(_lower_lowest_bit))
"""Return the number of the lowest bit that is set; some bit must be."""
