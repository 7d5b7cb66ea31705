"""The declarations of library.py are those of the header, calls for inference pass what is declared, and what does not fit
is told in words. Needs neither torch nor a GPU: tensors are stand-ins that know their shape."""

import ctypes
import math
import os
import re
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

PYTHON = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PYTHON))

import rungs_torch  # noqa: E402
from rungs_torch import library  # noqa: E402

HEADER = (PYTHON / "src" / "rungs_torch.h").read_text()
LETTERS = {"int": "i", "unsigned": "u", "long long": "q", "unsigned long long": "Q", "size_t": "n", "float": "f", "double": "d"}


def declared():
    """Name, result and letters of the arguments of every function of the header."""
    found = {}
    for result, name, arguments in re.findall(r"^RUNGS_CALL (.+?)(rungs_\w+)\(([^)]*)\);", HEADER, re.MULTILINE):
        types = [] if arguments == "void" else [re.sub(r"\w+$", "", each).strip() for each in arguments.split(",")]
        found[name] = (result.strip(), "".join("p" if "*" in each else LETTERS[each] for each in types))
    return found


class Interface(unittest.TestCase):
    def test_functions(self):
        self.assertEqual(library.DECLARATIONS, {name: letters for name, (_, letters) in declared().items()})

    def test_results(self):
        texts = {name for name, (result, _) in declared().items() if result == "const char*"}
        self.assertEqual(library.TEXTS, texts)
        self.assertEqual({result for result, _ in declared().values()}, {"int", "const char*"})

    def test_version_of_the_interface(self):
        self.assertIn(f"#define RUNGS_INTERFACE {library.INTERFACE}\n", HEADER)

    def test_enums(self):
        names = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
        names.update({"uint8": "u8", "int32": "i32", "int64": "i64"})
        names.update({"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float8_e8m0fnu": "e8m0"})
        types = {names[name]: value for name, value in library.TYPES.items()}
        for enum, told in (("type", types), ("operation", library.OPERATIONS), ("format", library.FORMATS)):
            listed = re.split(r",\s*", re.search(rf"enum rungs_{enum} {{\s*(.*?)\s*}};", HEADER, re.DOTALL)[1])
            self.assertEqual({f"rungs_{name}": value for name, value in told.items()}, {name: i for i, name in enumerate(listed)})


class Tensor:
    """Packed, and on a GPU unless told otherwise."""

    made = 0

    def __init__(self, shape, dtype="float32", is_cuda=True):
        self.shape, self.dtype, self.is_cuda = tuple(shape), f"torch.{dtype.rpartition('.')[2]}", is_cuda
        self.device, self.requires_grad = types.SimpleNamespace(index=0, type="cuda"), False
        Tensor.made += 1
        self.address = 4096 * Tensor.made

    def data_ptr(self):
        return self.address

    def dim(self):
        return len(self.shape)

    def numel(self):
        return math.prod(self.shape)

    def stride(self):
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(self.dim()))

    def contiguous(self):
        return self

    def movedim(self, source, to):
        shape = list(self.shape)
        size = shape.pop(source)
        shape.insert(to % self.dim(), size)
        return self if tuple(shape) == self.shape else Tensor(shape, self.dtype)


def stand_in_for_torch():
    names = [*library.TYPES, "float4_e2m1fn_x2"]
    torch = types.SimpleNamespace(**{name: f"torch.{name}" for name in names})
    torch.empty = torch.zeros = lambda shape, dtype, device: Tensor((shape,) if isinstance(shape, int) else shape, dtype)
    torch.randint = lambda most, shape: 12345
    torch.is_grad_enabled = lambda: True
    stream = types.SimpleNamespace(cuda_stream=77)
    torch.cuda = types.SimpleNamespace(current_device=lambda: 0, current_stream=lambda device: stream)
    return torch


class Calls(unittest.TestCase):
    """What the functions for inference pass on, and what they refuse."""

    def setUp(self):
        self.calls = []
        loaded = types.SimpleNamespace(rungs_error_string=lambda error: b"refused")
        for name, letters in library.DECLARATIONS.items():
            if name not in ("rungs_error_string", "rungs_version", "rungs_interface"):
                setattr(loaded, name, self.called(name, letters))
        for patch in (mock.patch.object(library, "_loaded", loaded), mock.patch.dict(sys.modules, torch=stand_in_for_torch())):
            patch.start()
            self.addCleanup(patch.stop)

    def called(self, name, letters):
        def call(*arguments):
            self.assertEqual(len(arguments), len(letters), name)
            for place, (letter, argument) in enumerate(zip(letters, arguments)):
                allowed = (int, type(None)) if letter == "p" else float if letter in "fd" else int
                self.assertIsInstance(argument, allowed, f"{name}, argument {place}")
                self.assertNotIsInstance(argument, bool, f"{name}, argument {place}")
                library.C_TYPES[letter](argument)
            sizes = [i for i, letter in enumerate(letters[:-1]) if letter == "p" and arguments[i] is None]
            is_query = name in TWO_PHASES and TWO_PHASES[name] in sizes
            if is_query:
                ctypes.c_size_t.from_address(arguments[TWO_PHASES[name] + 1]).value = 512
            else:
                self.calls.append((name, arguments))
            return 0

        return call

    def passed(self, name, call, *told):
        """Calls it, and finds `told` among the integers and floats that reached the function `name`, in their order."""
        self.calls.clear()
        result = call()
        self.assertEqual([each[0] for each in self.calls], [name])
        rest = iter(self.calls[0][1])
        for each in told:
            self.assertTrue(any(each == argument for argument in rest), f"{name} got {self.calls[0][1]}, not {each} in its place")
        return result

    def shapes(self, results, *wanted):
        found = [(each.shape, each.dtype.rpartition(".")[2]) for each in results]
        self.assertEqual(found, list(wanted))

    def test_topk(self):
        x = Tensor((3, 5, 100), "bfloat16")
        found = self.passed("rungs_top_k", lambda: rungs_torch.topk(x, 7, sorted=False), 3, 1, 0, x.data_ptr(), 100, 15, 100, 7, 77)
        self.shapes(found, ((3, 5, 7), "bfloat16"), ((3, 5, 7), "int64"))
        found = self.passed("rungs_top_k", lambda: rungs_torch.topk(x, 2, 1, largest=False), 3, 0, 1, 5, 300, 5, 2)
        self.shapes(found, ((3, 2, 100), "bfloat16"), ((3, 2, 100), "int64"))
        self.shapes(rungs_torch.topk(x, 0), ((3, 5, 0), "bfloat16"), ((3, 5, 0), "int64"))

    def test_route(self):
        logits, bias = Tensor((9, 256)), Tensor((256,))
        found = self.passed("rungs_route", lambda: rungs_torch.route(logits, 8, score="sigmoid", renormalize=True, bias=bias),
                            0, 1, 1, 1, logits.data_ptr(), 256, bias.data_ptr(), 9, 256, 8, 77)  # fmt: skip
        self.shapes(found, ((9, 8), "float32"), ((9, 8), "int32"))

    def test_sample(self):
        logits, uniforms = Tensor((4, 1000), "float16"), Tensor((4,))
        found = self.passed("rungs_sample", lambda: rungs_torch.sample(logits, temperature=0, top_k=5, top_p=1, min_p=0.5),
                            2, 0, 0, logits.data_ptr(), 1000, 0.0, 5, 1.0, 0.5, None, 12345, 0, None)  # fmt: skip
        self.shapes([found], ((4,), "int32"))
        found = self.passed("rungs_sample", lambda: rungs_torch.sample(logits, uniforms=uniforms, details=True), uniforms.data_ptr(), 0, 0)
        self.shapes(found, ((4,), "int32"), ((4,), "float32"), ((4,), "int32"))
        step = Tensor((), "int64")
        call = lambda: rungs_torch.sample(logits, draw="gumbel", seed=2**64 - 1, offset=step)  # noqa: E731
        self.passed("rungs_sample", call, 2, 0, 1, 2**64 - 1, 0, step.data_ptr())

    def test_verify(self):
        target, draft, drafted = Tensor((6, 4, 50)), Tensor((6, 3, 50)), Tensor((6, 3), "int32")
        found = self.passed("rungs_verify", lambda: rungs_torch.verify(target, draft, drafted, seed=3, offset=4),
                            0, target.data_ptr(), 50, draft.data_ptr(), 50, drafted.data_ptr(), None, 3, 4, None, 6, 3, 50, 77)  # fmt: skip
        self.shapes(found, ((6, 4), "int32"), ((6,), "int32"))
        found = self.passed("rungs_greatest_ratios", lambda: rungs_torch.greatest_ratios(target, draft), 6, 3, 50)
        self.shapes([found], ((6, 3), "float32"))

    def test_quantize(self):
        x, one = Tensor((7, 256), "bfloat16"), Tensor((1,))
        fp8 = rungs_torch.quantize_fp8
        for call, form, scales, codes in (
            (lambda: fp8(x), (0, 3, 0), ((7, 1), "float32"), ((7, 256), "float8_e4m3fn")),
            (lambda: fp8(x, 128), (1, 3, 0), ((7, 2), "float32"), ((7, 256), "float8_e4m3fn")),
            (lambda: fp8(x, 128, scale_type="torch.float8_e8m0fnu"), (1, 3, 9), ((7, 2), "float8_e8m0fnu"), ((7, 256), "float8_e4m3fn")),
            (lambda: rungs_torch.quantize_mxfp8(x), (2, 3, 9), ((7, 8), "float8_e8m0fnu"), ((7, 256), "float8_e4m3fn")),
            (lambda: rungs_torch.quantize_mxfp4(x), (3, 3, 9), ((7, 8), "float8_e8m0fnu"), ((7, 128), "uint8")),
            (lambda: rungs_torch.quantize_nvfp4(x, one), (4, 3, 7), ((7, 16), "float8_e4m3fn"), ((7, 128), "uint8")),
        ):
            self.shapes(self.passed("rungs_quantize", call, *form, x.data_ptr(), 256, 7, 256, 77), codes, scales)
        self.assertIn(one.data_ptr(), self.calls[0][1])

    def test_codes(self):
        x, scale = Tensor((7, 64), "float8_e5m2"), Tensor((7, 1))
        self.shapes([self.passed("rungs_reduce_codes", lambda: rungs_torch.sum(x), 0, 8, x.data_ptr(), 448)], ((), "float32"))
        self.shapes([self.passed("rungs_reduce_rows_of_codes", lambda: rungs_torch.abs_max(x, 1, True), 3, 8, 64, 7, 64)], ((7, 1), "float32"))
        found = self.passed("rungs_softmax_of_codes", lambda: rungs_torch.log_softmax_of_fp8(x, scale=scale),
                            1, 8, 3, 64, scale.data_ptr(), 1, 64, 7, 64)  # fmt: skip
        self.shapes([found], ((7, 64), "bfloat16"))
        found = self.passed("rungs_norm_of_codes", lambda: rungs_torch.rms_norm_of_fp8(x, Tensor((64,)), dtype="torch.float32"),
                            0, 8, 0, None, 0, 7, 64, None, 1e-6)  # fmt: skip
        self.shapes([found], ((7, 64), "float32"))

    def test_dequantizing_sum(self):
        codes, one = Tensor((7, 64), "uint8"), Tensor(())
        for scales, about in ((Tensor((7, 8), "float8_e4m3fn"), (7, 16)), (Tensor((7, 4), "float8_e8m0fnu"), (9, 32)),
                              (Tensor((7, 8)), (0, 16)), (Tensor((7, 4)), (0, 32))):  # fmt: skip
            self.passed("rungs_dequantizing_sum", lambda: rungs_torch.dequantizing_sum(codes, scales), *about, scales.data_ptr(), None, 896)
            call = lambda: rungs_torch.dequantizing_sum(codes, scales, -1, global_scale=one)  # noqa: E731
            self.passed("rungs_dequantizing_sum_rows", call, *about, 64, scales.data_ptr(), one.data_ptr(), 7, 64)

    def test_what_is_refused(self):
        x, codes, probabilities = Tensor((4, 100)), Tensor((4, 100), "float8_e4m3fn"), Tensor((2, 3, 50))
        refused = [
            (TypeError, "topk: x is float64", lambda: rungs_torch.topk(Tensor((4, 9), "float64"), 1)),
            (ValueError, "topk: k is 101, but must be from 0 to 100", lambda: rungs_torch.topk(x, 101)),
            (TypeError, "topk: k must be an int, but is float", lambda: rungs_torch.topk(x, 1.0)),
            (ValueError, "topk: x must have 1 dimension or more", lambda: rungs_torch.topk(Tensor(()), 1)),
            (IndexError, "topk: dim is 2", lambda: rungs_torch.topk(x, 1, 2)),
            (ValueError, "topk: x is on", lambda: rungs_torch.topk(Tensor((4, 9), is_cuda=False), 1)),
            (ValueError, "route: score is 'relu', but must be 'softmax' or 'sigmoid'", lambda: rungs_torch.route(x, 2, score="relu")),
            (ValueError, "route: k is 33, but must be from 1 to 32", lambda: rungs_torch.route(x, 33)),
            (ValueError, "route: logits have 1025 experts", lambda: rungs_torch.route(Tensor((4, 1025)), 2)),
            (ValueError, r"route: bias has the shape \(99,\)", lambda: rungs_torch.route(x, 2, bias=Tensor((99,)))),
            (ValueError, "sample: top_p is 1.5, but must be from 0 to 1", lambda: rungs_torch.sample(x, top_p=1.5)),
            (ValueError, "sample: min_p is nan", lambda: rungs_torch.sample(x, min_p=math.nan)),
            (ValueError, "sample: temperature is -1, but must be 0 or more", lambda: rungs_torch.sample(x, temperature=-1)),
            (TypeError, "sample: temperature must be a number, but is str", lambda: rungs_torch.sample(x, temperature="1")),
            (ValueError, "sample: temperature is 2.0, but must be 1", lambda: rungs_torch.sample(x, temperature=2, from_probabilities=True)),
            (ValueError, "sample: draw is 'alias'", lambda: rungs_torch.sample(x, draw="alias")),
            (ValueError, "sample: uniforms are for", lambda: rungs_torch.sample(x, draw="gumbel", uniforms=Tensor((4,)))),
            (ValueError, "sample: uniforms has the shape", lambda: rungs_torch.sample(x, uniforms=Tensor((5,)))),
            (ValueError, "sample: seed is -1", lambda: rungs_torch.sample(x, seed=-1)),
            (TypeError, "sample: offset is int32", lambda: rungs_torch.sample(x, offset=Tensor((), "int32"))),
            (ValueError, "sample: offset must have one item", lambda: rungs_torch.sample(x, offset=Tensor((2,), "int64"))),
            (ValueError, "verify: target has the shape", lambda: rungs_torch.verify(probabilities, probabilities, Tensor((2, 3), "int32"))),
            (TypeError, "verify: drafted is int64", lambda: rungs_torch.verify(Tensor((2, 4, 50)), probabilities, Tensor((2, 3), "int64"))),
            (ValueError, "greatest_ratios: draft has 9 drafts", lambda: rungs_torch.greatest_ratios(x, Tensor((2, 9, 50)))),
            (ValueError, "quantize_fp8: group is 64", lambda: rungs_torch.quantize_fp8(x, 64)),
            (ValueError, "quantize_fp8: x has 100 columns, but must have a multiple of 128", lambda: rungs_torch.quantize_fp8(x, 128)),
            (TypeError, "quantize_fp8: scale_type is torch.float16", lambda: rungs_torch.quantize_fp8(x, scale_type="torch.float16")),
            (ValueError, "quantize_nvfp4: global_scale must have one item", lambda: rungs_torch.quantize_nvfp4(Tensor((4, 64)), Tensor((2,)))),
            (TypeError, "abs_max: x is float32", lambda: rungs_torch.abs_max(x)),
            (ValueError, "softmax_of_fp8: scale has the shape", lambda: rungs_torch.softmax_of_fp8(codes, scale=Tensor((4,)))),
            (TypeError, "rms_norm_of_fp8: dtype is torch.int32", lambda: rungs_torch.rms_norm_of_fp8(codes, dtype="torch.int32")),
            (TypeError, "layer_norm_of_fp8: bias is float32, but must be bfloat16",
             lambda: rungs_torch.layer_norm_of_fp8(codes, bias=Tensor((100,)))),
            (ValueError, "dequantizing_sum: float8_e4m3fn scales have the shape",
             lambda: rungs_torch.dequantizing_sum(Tensor((4, 64), "uint8"), Tensor((4, 4), "float8_e4m3fn"))),
            (ValueError, "dequantizing_sum: dim is 0", lambda: rungs_torch.dequantizing_sum(Tensor((4, 64), "uint8"), Tensor((4, 4)), 0)),
        ]  # fmt: skip
        for error, message, call in refused:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                call()
        self.assertEqual(self.calls, [])


# Where the storage is among the arguments of a call in two phases.
TWO_PHASES = {"rungs_top_k": 3, "rungs_reduce_codes": 2, "rungs_dequantizing_sum": 2}


class Programs(unittest.TestCase):
    """They run where a GPU is; elsewhere they are compiled."""

    def test_syntax(self):
        root = Path(__file__).resolve().parents[2]
        for name in ("examples/torch_rows.py", "python/bench_torch.py", "python/bench_torch_across.py", "python/tests/test_results.py"):
            with self.subTest(name):
                compile((root / name).read_text(), name, "exec")


class Missing(unittest.TestCase):
    def test_no_library(self):
        with mock.patch.dict(os.environ, RUNGS_LIBRARY="/nowhere/librungs_torch.so"):
            with self.assertRaisesRegex(ImportError, "there is no /nowhere/librungs_torch.so.*pip install ./python"):
                library._open()

    def test_no_shared_library(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file, mock.patch.dict(os.environ, RUNGS_LIBRARY=file.name):
            with self.assertRaises(OSError):
                library._open()


if __name__ == "__main__":
    unittest.main()
