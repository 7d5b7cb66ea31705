"""What all functions do with tensors: check them, see them as rows, and run a call on the current stream.

Tensors are known by what they answer (data_ptr(), shape, stride(), dtype, device), so that this module needs no header
of torch, and torch itself only where a result is allocated."""

import contextlib
import math
import sys

from . import library

FLOATS = ("float32", "float16", "bfloat16")
CODES = ("float8_e4m3fn", "float8_e5m2")
NUMBERS = ("float32", "float64", "float16", "bfloat16", "int32", "int64")


def torch():
    """The module, wherever a tensor came from."""
    return sys.modules["torch"]


def name_of(dtype):
    """Such as float32."""
    return str(dtype).rpartition(".")[2]


def type_name(x):
    return name_of(x.dtype)


def type_code(x):
    return library.TYPES[type_name(x)]


def address(x):
    return None if x is None else x.data_ptr()


def check(function, name, x, types, like=None):
    """Raises where x is no tensor that `function` takes. `like` is a tensor whose GPU and type it has to have."""
    if not hasattr(x, "data_ptr"):
        raise TypeError(f"{function}: {name} must be a torch tensor, but is {type(x).__name__}")
    if not x.is_cuda:
        raise ValueError(f"{function}: {name} is on {x.device}: move it to a GPU first, such as by {name}.cuda()")
    if type_name(x) not in types:
        raise TypeError(
            f"{function}: {name} is {type_name(x)}, but must be {_either(types)}: convert it first by {name}.to(...)"
        )
    if str(getattr(x, "layout", "torch.strided")) != "torch.strided":
        raise TypeError(f"{function}: {name} is sparse: make it dense first by {name}.to_dense()")
    if like is not None and x.device != like.device:
        raise ValueError(f"{function}: {name} is on {x.device}, but the input is on {like.device}")
    if x.requires_grad and torch().is_grad_enabled():
        raise RuntimeError(
            f"{function}: {name} requires a gradient, which rungs_torch does not compute: call within "
            f"torch.no_grad(), or pass {name}.detach()"
        )


def check_same_type(function, name, x, like):
    if type_name(x) != type_name(like):
        raise TypeError(
            f"{function}: {name} is {type_name(x)}, but the input is {type_name(like)}: both must have one type"
        )


def check_shape(function, name, x, shape):
    if tuple(x.shape) != tuple(shape):
        raise ValueError(f"{function}: {name} has the shape {tuple(x.shape)}, but must have {tuple(shape)}")


def check_one(function, name, x):
    if x.numel() != 1:
        raise ValueError(f"{function}: {name} must have one item, but has the shape {tuple(x.shape)}")


def check_int(function, name, value, least, most):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{function}: {name} must be an int, but is {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{function}: {name} is {value}, but must be from {least} to {most}")


def check_number(function, name, value, most=math.inf):
    """The number as a float: from 0 to `most`, and finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{function}: {name} must be a number, but is {type(value).__name__}")
    if not (0 <= value <= most and math.isfinite(value)):
        raise ValueError(f"{function}: {name} is {value}, but must be {'0 or more' if most == math.inf else f'from 0 to {most}'}")
    return float(value)


def check_choice(function, name, value, choices):
    if value not in choices:
        raise ValueError(f"{function}: {name} is {value!r}, but must be {_either([repr(each) for each in choices])}")


def check_has_rows(function, name, x, dims=1):
    if x.dim() < dims:
        raise ValueError(f"{function}: {name} must have {dims} dimension{'s' * (dims > 1)} or more, but has {x.dim()}")


def _either(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def dimension(function, x, dim):
    """dim as an index from the front."""
    count = max(x.dim(), 1)
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise TypeError(f"{function}: dim must be an int, but is {type(dim).__name__}")
    if not -count <= dim < count:
        raise IndexError(f"{function}: dim is {dim}, but must be from {-count} to {count - 1}")
    return dim % count


def dimensions(function, x, dim):
    """dim, which may be several or None for all, as ascending indices."""
    if dim is None or (isinstance(dim, (tuple, list)) and len(dim) == 0):
        return tuple(range(x.dim()))
    if isinstance(dim, int):
        dim = (dim,)
    found = sorted(dimension(function, x, each) for each in dim)
    if len(set(found)) < len(found):
        raise ValueError(f"{function}: dim names a dimension twice: {tuple(dim)}")
    return tuple(found) if x.dim() > 0 else ()


def last(x, dims):
    """x with `dims` moved to the end and joined to one: a copy where several do not lie so."""
    if x.dim() == 0:
        return x.reshape(1)
    if len(dims) == 1:
        return x.movedim(dims[0], -1)
    kept = [each for each in range(x.dim()) if each not in dims]
    size = math.prod(x.shape[each] for each in dims)
    return x.permute(*kept, *dims).reshape(*(x.shape[each] for each in kept), size)


def without(x, dims, keepdim):
    """The shape of x without `dims`, or with 1 in their place."""
    if keepdim:
        return tuple(1 if i in dims else size for i, size in enumerate(x.shape))
    return tuple(size for i, size in enumerate(x.shape) if i not in dims)


def row_stride(x):
    """Items between the beginnings of rows, which lie along the last dimension. None where there is no such number."""
    if x.shape[-1] > 1 and x.stride()[-1] != 1:
        return None
    stride, num_rows = None, 1
    for size, step in zip(reversed(x.shape[:-1]), reversed(x.stride()[:-1])):
        if size == 1:
            continue
        if stride is None:
            stride = step
        elif step != stride * num_rows:
            return None
        num_rows *= size
    return x.shape[-1] if stride is None else stride


def num_rows(x):
    return math.prod(x.shape[:-1])


def in_rows(x):
    """(x, its row stride); a copy where rows do not lie at one distance."""
    stride = row_stride(x)
    if stride is None:
        x = x.contiguous()
        stride = x.shape[-1]
    return x, stride


def writable_rows(function, name, x):
    """The row stride of a tensor that is written."""
    stride = row_stride(x)
    if stride is None or (num_rows(x) > 1 and stride < x.shape[-1]):
        raise ValueError(
            f"{function}: the rows of {name} must not overlap and lie at one distance, each without gaps: "
            f"its shape is {tuple(x.shape)}, its stride {tuple(x.stride())}"
        )
    return stride


def empty(shape, like, dtype=None):
    return torch().empty(shape, dtype=like.dtype if dtype is None else dtype, device=like.device)


def _on(device):
    if torch().cuda.current_device() == device.index:
        return contextlib.nullcontext()
    return torch().cuda.device(device)


def _stream(device):
    return torch().cuda.current_stream(device).cuda_stream


def run(name, x, *arguments):
    """Calls the library on the current stream of x's GPU."""
    with _on(x.device):
        library.call(name, *arguments, _stream(x.device))


def run_with_storage(name, x, leading, trailing):
    """The same for a call in two phases: its storage comes from torch's allocator, which knows the stream."""
    with _on(x.device):
        storage = None

        def allocate(size):
            nonlocal storage  # it lives until the call has returned
            storage = torch().empty(size, dtype=torch().uint8, device=x.device)
            return storage.data_ptr()

        library.call_with_storage(name, leading, allocate, (*trailing, _stream(x.device)))
