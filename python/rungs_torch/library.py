"""Finds the shared library and calls it. Its functions are declared in src/rungs_torch.h."""

import ctypes
import os
from pathlib import Path

INTERFACE = 3  # RUNGS_INTERFACE of the header

# The enums of the header.
TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 3, "uint8": 4, "int32": 5, "int64": 6}
TYPES.update({"float8_e4m3fn": 7, "float8_e5m2": 8, "float8_e8m0fnu": 9})
OPERATIONS = {"sum": 0, "min": 1, "max": 2, "abs_max": 3}
FORMATS = {"fp8_rows": 0, "fp8_groups": 1, "mxfp8": 2, "mxfp4": 3, "nvfp4": 4}

# The arguments of each function: i an int, u an unsigned int, q a long long, Q an unsigned one, n a size_t, f a float, d a
# double, p a pointer.
# All return an int, but for those of TEXTS.
DECLARATIONS = {
    "rungs_interface": "",
    "rungs_version": "",
    "rungs_error_string": "i",
    "rungs_softmax": "ipnpnnnp",
    "rungs_log_softmax": "ipnpnnnp",
    "rungs_layer_norm": "ipnpnnnppfpnp",
    "rungs_rms_norm": "ipnpnnnppfpnp",
    "rungs_rms_norm_fp8": "ipnppnnpfpnp",
    "rungs_log_sum_exp": "ipnpnnp",
    "rungs_cross_entropy": "ipnpqpnnp",
    "rungs_join_losses": "ippppqipnp",
    "rungs_merge_attention": "ippunnppp",
    "rungs_reduce": "iippppnp",
    "rungs_arg_reduce": "iipppppnp",
    "rungs_reduce_rows": "iippppnnp",
    "rungs_arg_reduce_rows": "iippppnnp",
    "rungs_scan": "iippppnp",
    "rungs_scan_rows": "ippppnnp",
    "rungs_count_even": "ippppnddnp",
    "rungs_count_values": "ippppnnp",
    "rungs_top_k": "iiipppnppnnnp",
    "rungs_route": "iiiipnpppnnnp",
    "rungs_sample": "iiipnfiffpQQppppnnp",
    "rungs_verify": "ipnpnppQQpppnnnp",
    "rungs_greatest_ratios": "ipnpnpnnnp",
    "rungs_quantize": "iiipnpppnnp",
    "rungs_reduce_codes": "iippppnp",
    "rungs_reduce_rows_of_codes": "iipnpnnp",
    "rungs_dequantizing_sum": "iippppppnp",
    "rungs_dequantizing_sum_rows": "iipnpppnnp",
    "rungs_softmax_of_codes": "iiipnpipnnnp",
    "rungs_norm_of_codes": "iiipnpipnnnppfp",
}
TEXTS = {"rungs_version", "rungs_error_string"}
C_TYPES = {
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "q": ctypes.c_longlong,
    "Q": ctypes.c_ulonglong,
    "n": ctypes.c_size_t,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "p": ctypes.c_void_p,
}

# What the numbers of some errors most likely mean here.
HINTS = {
    2: "the GPU's memory is full",
    35: "the driver is older than the CUDA toolkit that the library was built with",
    98: "the library was not built for this GPU: install it again on this machine, or with another CMAKE_CUDA_ARCHITECTURES",
    209: "the library was not built for this GPU: install it again on this machine, or with another CMAKE_CUDA_ARCHITECTURES",
    801: "the library does not take this type",
}


def path():
    """Where the library is: RUNGS_LIBRARY if that is set, else beside this file."""
    return Path(os.environ.get("RUNGS_LIBRARY") or Path(__file__).with_name("librungs_torch.so"))


def declare(loaded):
    """Tells ctypes the arguments and the result of every function."""
    for name, arguments in DECLARATIONS.items():
        function = getattr(loaded, name)
        function.argtypes = [C_TYPES[letter] for letter in arguments]
        function.restype = ctypes.c_char_p if name in TEXTS else ctypes.c_int
    return loaded


def _open():
    if not path().is_file():
        raise ImportError(
            f"rungs_torch: there is no {path()}. Install the package with `pip install ./python` in the repository "
            "of rungs, or set RUNGS_LIBRARY to the library of a build"
        )
    loaded = ctypes.CDLL(str(path()))
    try:
        interface = loaded.rungs_interface()
    except AttributeError:
        raise ImportError(f"rungs_torch: {path()} is another library") from None
    if interface != INTERFACE:
        raise ImportError(
            f"rungs_torch: {path()} has interface {interface}, this package needs {INTERFACE}: build the library again"
        )
    return declare(loaded)


_loaded = None


def functions():
    """The library, loaded by the first call."""
    global _loaded
    if _loaded is None:
        _loaded = _open()
    return _loaded


def version():
    """The version of rungs that the library was built from."""
    return functions().rungs_version().decode()


def call(name, *arguments):
    """Calls a function of the library; raises RuntimeError where it returns an error."""
    error = getattr(functions(), name)(*arguments)
    if error != 0:
        text = functions().rungs_error_string(error).decode()
        hint = f": {HINTS[error]}" if error in HINTS else ""
        raise RuntimeError(f"{name}: CUDA error {error}, {text}{hint}")


def call_with_storage(name, leading, allocate, trailing):
    """Calls a function that takes storage between its arguments. allocate(bytes) returns an address."""
    size = ctypes.c_size_t(0)
    call(name, *leading, None, ctypes.addressof(size), *trailing)
    call(name, *leading, allocate(size.value), ctypes.addressof(size), *trailing)
