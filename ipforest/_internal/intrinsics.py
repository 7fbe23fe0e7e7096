"""Instructions that numba has for GPUs only: atomic access to an array of int64 that kernels share, the lowest bit."""

from collections.abc import Callable
from platform import machine
from typing import Any, TypeAlias, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ipforest._internal.arrays import Array

X86 = ("x86_64", "AMD64")

Lowering: TypeAlias = tuple[Any, Callable[[Any, ir.IRBuilder, Any, Any], Any]]


def _pointer(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    """Return the address of the entry that the first two arguments, an array and an index, name."""
    fields = make_array(signature.args[0])(context, builder, arguments[0])
    return cgutils.get_item_pointer(context, builder, signature.args[0], fields, [arguments[1]], wraparound=False)


def _lower_fetch_add(typing_context: Any, array: Any, index: Any, amount: Any) -> Lowering:
    def lower(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", _pointer(context, builder, signature, arguments), arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), lower


def _lower_load(typing_context: Any, array: Any, index: Any) -> Lowering:
    def lower(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature, arguments), "acquire", 8)

    return types.int64(array, types.intp), lower


def _lower_compare_and_swap(typing_context: Any, array: Any, index: Any, expected: Any, new: Any) -> Lowering:
    def lower(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.extract_value(builder.cmpxchg(pointer, arguments[2], arguments[3], "seq_cst", "seq_cst"), 1)

    return types.boolean(array, types.intp, types.int64, types.int64), lower


def _lower_pause(typing_context: Any) -> Lowering:
    def lower(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        if machine() in X86:
            instruction = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), instruction), [])
        return context.get_dummy_value()

    return types.void(), lower


def _lower_lowest_bit(typing_context: Any, bits: Any) -> Lowering:
    def lower(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), lower


def _lowest_bit(bits: int) -> int:
    return (int(bits) & -int(bits)).bit_length() - 1


fetch_add = cast("Callable[[Array, int, int], int]", intrinsic(_lower_fetch_add))
"""Add to an entry and return what it was; a thread that reads the sum sees what was written before."""

load = cast("Callable[[Array, int], int]", intrinsic(_lower_load))
"""Read an entry, anew each time, and with it what was written before it."""

compare_and_swap = cast("Callable[[Array, int, int, int], bool]", intrinsic(_lower_compare_and_swap))
"""Replace an entry if it is what is expected, and return whether it was."""

pause = cast("Callable[[], None]", intrinsic(_lower_pause))
"""Leave the core to its other thread for a moment, in a loop that waits; processors other than x86 do without."""

lowest_bit = _lowest_bit if numba.config.DISABLE_JIT else cast("Callable[[int], int]", intrinsic(_lower_lowest_bit))
"""Return the number of the lowest bit that is set; some bit must be."""
