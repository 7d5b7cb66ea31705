"""Histograms."""

import builtins
import math

from .library import OPERATIONS
from .tensors import check, check_int, empty, run_with_storage, torch, type_code, type_name

MOST_BINS = 2**31 - 2


def histc(x, bins=100, min=0, max=0):
    """How many items fall into each of `bins` equal intervals from `min` to `max`, as torch.histc.

    x   float32 or float64; the counts are of its type.

    The last bin holds items of `max`, too. Items outside and NaN are not counted. Where min equals max, the least and the
    greatest item stand for them, which waits for the device. A bin with more than 2^24 (float32) items is rounded."""
    check("histc", "x", x, ("float32", "float64"))
    check_int("histc", "bins", bins, 1, MOST_BINS)
    lower, upper = float(min), float(max)
    if lower == upper and x.numel() > 0:
        lower, upper = _extent(x)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise ValueError(f"histc: the range from {lower} to {upper} is not finite: name min and max")
    if lower == upper:
        lower, upper = lower - 1, upper + 1
    if lower > upper:
        raise ValueError(f"histc: min is {lower}, but must be below max, {upper}")
    x = x.contiguous()
    result = empty((bins,), x)
    arguments = (x.data_ptr(), result.data_ptr(), bins, lower, upper, x.numel())
    run_with_storage("rungs_count_even", x, (type_code(x),), arguments)
    return result


def bincount(x, minlength=0, *, num_bins=None):
    """How often each value from 0 to the greatest one occurs, as torch.bincount: int64, at least `minlength` counts.

    x          integers of one dimension, none of them negative. int8 and int16 are copied first.
    num_bins   count the values 0 to num_bins - 1 and no others. Without it, the call waits for the device to learn the
               greatest value.

    Weights are not supported."""
    check("bincount", "x", x, ("uint8", "int8", "int16", "int32", "int64"))
    if x.dim() != 1:
        raise ValueError(f"bincount: x must have one dimension, but has {x.dim()}: pass x.flatten()")
    check_int("bincount", "minlength", minlength, 0, MOST_BINS)
    if num_bins is not None:
        check_int("bincount", "num_bins", num_bins, 1, MOST_BINS)
        return _counts(x, num_bins)
    if x.numel() == 0:
        return torch().zeros(minlength, dtype=torch().int64, device=x.device)
    if type_name(x) == "uint8":
        counts = _counts(x, builtins.max(256, minlength))
        return counts[: builtins.max(minlength, int(counts.nonzero()[-1]) + 1)]
    x = x if type_name(x) in ("int32", "int64") else x.to(torch().int32)
    least, greatest = _extent(x)
    if least < 0:
        raise ValueError(f"bincount: x has negative values, such as {least}")
    if greatest >= MOST_BINS:
        raise ValueError(f"bincount: x has the value {greatest}, which would take more than {MOST_BINS} counts")
    return _counts(x, builtins.max(minlength, greatest + 1))


def _counts(x, num_bins):
    x = (x if type_name(x) in ("uint8", "int32", "int64") else x.to(torch().int32)).contiguous()
    result = empty((num_bins,), x, torch().int64)
    run_with_storage("rungs_count_values", x, (type_code(x),), (x.data_ptr(), result.data_ptr(), num_bins, x.numel()))
    return result


def _extent(x):
    """The least and the greatest item, as numbers of the host."""
    x = x.contiguous()
    both = empty((2,), x)
    for i, operation in enumerate(("min", "max")):
        arguments = (x.data_ptr(), both[i:].data_ptr(), x.numel())
        run_with_storage("rungs_reduce", x, (OPERATIONS[operation], type_code(x)), arguments)
    return both.tolist()
