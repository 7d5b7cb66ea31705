"""Operations on rows: softmax, norms, losses, and the merge of attention over parts of a sequence.

A row lies along one dimension. The last one is the fastest; for another the input is copied first. All functions take
float32, float16 and bfloat16, sum in float32 and round a result once. The bits of a row do not depend on the number of
rows, its place or its alignment. Gradients are not computed."""

import math

from .tensors import (
    FLOATS,
    address,
    check,
    check_same_type,
    check_shape,
    dimension,
    dimensions,
    empty,
    in_rows,
    last,
    num_rows,
    run,
    run_with_storage,
    torch,
    type_code,
    without,
    writable_rows,
)


def softmax(x, dim=-1, *, out=None):
    """exp(x) / the sum of exp(x) along `dim`, as torch.softmax.

    out   where the result is written; it may be x.

    A row with NaN or +inf, or of -inf alone, becomes NaN, as in torch."""
    return _softmax("softmax", x, dim, out)


def log_softmax(x, dim=-1, *, out=None):
    """log(softmax(x)) along `dim`, as torch.log_softmax. See softmax."""
    return _softmax("log_softmax", x, dim, out)


def _softmax(name, x, dim, out):
    check(name, "x", x, FLOATS)
    dim = dimension(name, x, dim)
    _check_out(name, x, out)
    if x.dim() == 0:
        x = x.reshape(1)
        return _softmax(name, x, 0, None if out is None else out.reshape(1)).reshape(())
    source = x.movedim(dim, -1)
    target = empty(source.shape, x) if out is None else out.movedim(dim, -1)
    if x.numel() > 0:
        source, stride = in_rows(source)
        run(
            f"rungs_{name}", x, type_code(x), source.data_ptr(), stride, target.data_ptr(),
            writable_rows(name, "out", target), num_rows(source), source.shape[-1],
        )  # fmt: skip
    return target.movedim(-1, dim) if out is None else out


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, *, residual=None, out=None):
    """(x - mean) / sqrt(variance + eps) * weight + bias, as torch.nn.functional.layer_norm.

    weight, bias   of normalized_shape and of the type of x.
    residual       of the shape and type of x: becomes residual + x, whose norm is taken instead of that of x.
    out            where the result is written; it may be x.

    The variance is the mean of squared differences from the mean. A row with NaN or an infinity becomes NaN, as in
    torch."""
    return _norm("layer_norm", x, normalized_shape, weight, bias, eps, residual, out)


def rms_norm(x, normalized_shape, weight=None, eps=None, *, residual=None, out=None):
    """x / sqrt(the mean of x * x + eps) * weight, as torch.nn.functional.rms_norm.

    eps   None: torch.finfo(x.dtype).eps.

    Weight, residual and out are as in layer_norm. The result is rounded once, after the weight."""
    check("rms_norm", "x", x, FLOATS)
    if eps is None:
        eps = torch().finfo(x.dtype).eps
    return _norm("rms_norm", x, normalized_shape, weight, None, eps, residual, out)


def rms_norm_fp8(x, normalized_shape, weight=None, eps=None, *, residual=None):
    """quantize_fp8(rms_norm(x, ...)) in one read and one write: (codes, scales), with a scale for each row that is
    normed. The norm is not rounded to the type of x before. See rms_norm for the arguments. A row with NaN or an
    infinity has the scale NaN."""
    check("rms_norm_fp8", "x", x, FLOATS)
    if eps is None:
        eps = torch().finfo(x.dtype).eps
    shape = _check_norm("rms_norm_fp8", x, normalized_shape, weight, None, None, residual)
    leading = x.shape[: x.dim() - len(shape)]
    codes = empty(x.shape, x, torch().float8_e4m3fn)
    scales = empty((*leading, 1), x, torch().float32)
    if x.numel() == 0:
        return codes, scales
    rows = (*leading, math.prod(shape))
    source, stride = in_rows(_joined(x, rows))
    kept = None if residual is None else _joined_in_place("rms_norm_fp8", "residual", residual, rows)
    weight = None if weight is None else weight.contiguous()
    run(
        "rungs_rms_norm_fp8", x, type_code(x), source.data_ptr(), stride, codes.data_ptr(), scales.data_ptr(),
        num_rows(source), source.shape[-1], address(weight), float(eps), address(kept),
        0 if kept is None else writable_rows("rms_norm_fp8", "residual", kept),
    )  # fmt: skip
    return codes, scales


def _check_norm(name, x, normalized_shape, weight, bias, out, residual):
    """The normalized shape as a tuple."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if len(shape) == 0 or tuple(x.shape[x.dim() - len(shape) :]) != shape:
        raise ValueError(
            f"{name}: normalized_shape is {shape}, but x has the shape {tuple(x.shape)}, which must end with it"
        )
    for what, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None:
            check(name, what, parameter, FLOATS, like=x)
            check_same_type(name, what, parameter, x)
            check_shape(name, what, parameter, shape)
    _check_out(name, x, out)
    if residual is not None:
        _check_out(name, x, residual, "residual")
    return shape


def _norm(name, x, normalized_shape, weight, bias, eps, residual, out):
    check(name, "x", x, FLOATS)
    shape = _check_norm(name, x, normalized_shape, weight, bias, out, residual)
    result = empty(x.shape, x) if out is None else out
    if x.numel() == 0:
        return result
    rows = (*x.shape[: x.dim() - len(shape)], math.prod(shape))
    source, stride = in_rows(_joined(x, rows))
    target = _joined_in_place(name, "out", result, rows)
    kept = None if residual is None else _joined_in_place(name, "residual", residual, rows)
    weight, bias = (None if each is None else each.contiguous() for each in (weight, bias))
    run(
        f"rungs_{name}", x, type_code(x), source.data_ptr(), stride, target.data_ptr(),
        writable_rows(name, "out", target), num_rows(source), source.shape[-1], address(weight), address(bias),
        float(eps), address(kept), 0 if kept is None else writable_rows(name, "residual", kept),
    )  # fmt: skip
    return result


def logsumexp(x, dim, keepdim=False, *, dtype=None):
    """log(the sum of exp(x)) along `dim`, one or several dimensions, as torch.logsumexp.

    dtype   torch.float32: the result as it was computed, not rounded to the type of x."""
    check("logsumexp", "x", x, FLOATS)
    dims = dimensions("logsumexp", x, dim)
    if dtype not in (None, x.dtype, torch().float32):
        raise TypeError(f"logsumexp: dtype is {dtype}, but must be torch.float32 or the type of x")
    source = last(x, dims)
    if source.numel() == 0:
        result = torch().full(source.shape[:-1], -math.inf, dtype=torch().float32, device=x.device)
    else:
        source, stride = in_rows(source)
        result = empty(source.shape[:-1], x, torch().float32)
        run(
            "rungs_log_sum_exp", x, type_code(x), source.data_ptr(), stride, result.data_ptr(), num_rows(source),
            source.shape[-1],
        )  # fmt: skip
    return result.to(x.dtype if dtype is None else dtype).reshape(without(x, dims, keepdim))


def cross_entropy(input, target, *, ignore_index=-100, reduction="mean"):
    """The loss of logits, as torch.nn.functional.cross_entropy.

    input        (columns), (rows, columns), or (rows, columns, more...), which is copied first
    target       int64 columns: the shape of input without the dimension of columns
    reduction    "mean" of the targets that are not ignored, "sum" or "none"

    A target that is no column has the loss NaN; torch stops the program. Weights of columns, label smoothing and targets
    that are probabilities are not supported."""
    name = "cross_entropy"
    check(name, "input", input, FLOATS)
    check(name, "target", target, ("int64",), like=input)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{name}: reduction is {reduction!r}, but must be 'mean', 'sum' or 'none'")
    if input.dim() == 0:
        raise ValueError(f"{name}: input must have a dimension of columns")
    logits = input if input.dim() <= 2 else input.movedim(1, -1)
    check_shape(name, "target", target, logits.shape[:-1])
    rows = num_rows(logits)
    losses = empty(logits.shape[:-1], input, torch().float32)
    target = target.contiguous()
    if logits.numel() > 0:
        logits, stride = in_rows(logits)
        run(
            "rungs_cross_entropy", input, type_code(input), logits.data_ptr(), stride, target.data_ptr(), ignore_index,
            losses.data_ptr(), rows, logits.shape[-1],
        )  # fmt: skip
    elif rows > 0:
        raise ValueError(f"{name}: input has no columns")
    if reduction == "none":
        return losses.to(input.dtype)
    result = empty((), input)
    run_with_storage(
        "rungs_join_losses",
        input,
        (type_code(input),),
        (losses.data_ptr(), target.data_ptr(), ignore_index, int(reduction == "mean"), result.data_ptr(), rows),
    )
    return result


def merge_attention(outputs, log_sum_exp):
    """What attention over a whole sequence would have found, of what it found in parts of it.

    outputs       (parts, rows..., columns): the weighted means of each part
    log_sum_exp   (parts, rows...), float32: the log-sum-exp of each part's scores; -inf where a part is masked

    Returns the pair (output, log_sum_exp) of shapes (rows..., columns) and (rows...). Rows that are masked in all parts
    become 0. torch has no such function."""
    name = "merge_attention"
    check(name, "outputs", outputs, FLOATS)
    check(name, "log_sum_exp", log_sum_exp, ("float32",), like=outputs)
    if outputs.dim() < 2 or outputs.shape[0] == 0:
        raise ValueError(f"{name}: outputs must have the shape (parts, rows..., columns), but has {tuple(outputs.shape)}")
    check_shape(name, "log_sum_exp", log_sum_exp, outputs.shape[:-1])
    outputs, log_sum_exp = outputs.contiguous(), log_sum_exp.contiguous()
    merged = empty(outputs.shape[1:], outputs)
    merged_log_sum_exp = empty(log_sum_exp.shape[1:], log_sum_exp)
    if merged.numel() > 0:
        run(
            "rungs_merge_attention", outputs, type_code(outputs), outputs.data_ptr(), log_sum_exp.data_ptr(),
            outputs.shape[0], num_rows(merged), merged.shape[-1], merged.data_ptr(), merged_log_sum_exp.data_ptr(),
        )  # fmt: skip
    return merged, merged_log_sum_exp


def _check_out(name, x, out, what="out"):
    if out is not None:
        check(name, what, out, FLOATS, like=x)
        check_same_type(name, what, out, x)
        check_shape(name, what, out, x.shape)


def _joined(x, rows):
    """x with the dimensions of its norm joined to one."""
    return x if tuple(x.shape) == rows else x.reshape(rows)


def _joined_in_place(name, what, x, rows):
    if tuple(x.shape) == rows:
        return x
    if not x.is_contiguous():
        raise ValueError(f"{name}: {what} must be contiguous where the norm is over several dimensions")
    return x.view(rows)
