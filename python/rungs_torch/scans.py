"""Prefix sums."""

from .tensors import NUMBERS, check, dimension, empty, num_rows, run_with_storage, torch, type_code


def cumsum(x, dim=-1, *, exclusive=False):
    """The sum of each item and all before it along `dim`, as torch.cumsum.

    x           float32, float64, float16, bfloat16, int32 or int64. Sums of integers are int64.
    exclusive   leave the item itself out; only where there is one row.

    Where there is one row, it is scanned at the speed of memory. Several rows are scanned item by item, which is slower.
    Along another dimension than the last, the input is copied first. Halves are summed in float32; each result is rounded
    once. How large sums of floats are rounded depends on timing and need not repeat. Gradients are not computed."""
    check("cumsum", "x", x, NUMBERS)
    dim = dimension("cumsum", x, dim)
    dtype = x.dtype if x.is_floating_point() else torch().int64
    if x.dim() == 0:
        return cumsum(x.reshape(1), 0, exclusive=exclusive).reshape(())
    source = x.movedim(dim, -1).contiguous()
    result = empty(source.shape, x, dtype)
    rows = num_rows(source)
    if exclusive and rows > 1:
        raise ValueError(f"cumsum: exclusive=True takes one row, but there are {rows}")
    if source.numel() > 0:
        if rows == 1:
            arguments = (source.data_ptr(), result.data_ptr(), source.numel())
            run_with_storage("rungs_scan", x, (type_code(x), int(exclusive)), arguments)
        else:
            arguments = (source.data_ptr(), result.data_ptr(), rows, source.shape[-1])
            run_with_storage("rungs_scan_rows", x, (type_code(x),), arguments)
    return result.movedim(-1, dim)
