"""Every function against torch in float64 or in integers, on a GPU. Exits with 77 where there is none, or no torch."""

import math
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import torch
except ImportError:
    torch = None


def why_not():
    if torch is None:
        return "torch is not installed"
    return None if torch.cuda.is_available() else "torch finds no usable GPU"


if why_not() is None:
    import rungs_torch
    from torch.nn import functional

    FLOATS = (torch.float32, torch.float16, torch.bfloat16)
    NUMBERS = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64)
    ROUNDING = {torch.float32: 2**-24, torch.float64: 2**-53, torch.float16: 2**-11, torch.bfloat16: 2**-8}
    TINY = {torch.float32: 2**-126, torch.float64: 2**-1022, torch.float16: 2**-24, torch.bfloat16: 2**-126}

# Rows and columns: every mapping of rows to threads, both sides of powers of two, odd vocabularies.
SHAPES = [
    (1, 1), (5, 1), (1, 7), (129, 3), (33, 4), (1000, 8), (77, 31), (64, 33), (300, 100), (19, 256), (50, 511), (40, 1000),
    (9, 2048), (5, 4097), (3, 8192), (2, 16384), (3, 32768), (2, 50257), (2, 131072), (1, 262144),
]  # fmt: skip


def setUpModule():
    if why_not():
        raise unittest.SkipTest(why_not())


def normal(*shape, dtype=None, scale=3.0, seed=0):
    generator = torch.Generator(device="cuda").manual_seed(seed + sum(shape))
    return (torch.randn(*shape, generator=generator, device="cuda") * scale).to(dtype or torch.float32)


def integers(*shape, dtype=None, most=3, seed=0):
    """Small integers of both signs: sums of floats are exact."""
    generator = torch.Generator(device="cuda").manual_seed(seed + sum(shape))
    return torch.randint(-most, most + 1, shape, generator=generator, device="cuda").to(dtype or torch.float32)


def cases(dtypes):
    return [(dtype, shape) for dtype in dtypes for shape in SHAPES]


def first(x, dim, least):
    """Where the extremum is: of equals the first."""
    is_one = x == (x.amin(dim, True) if least else x.amax(dim, True))
    index = torch.arange(x.shape[dim], device=x.device).reshape([-1 if i == dim % x.dim() else 1 for i in range(x.dim())])
    return torch.where(is_one, index, x.shape[dim]).amin(dim)


class Case(unittest.TestCase):
    def same(self, found, wanted):
        """The same shape, type and bits, but that NaN equals NaN and 0 equals -0."""
        self.assertEqual((found.shape, found.dtype), (wanted.shape, wanted.dtype))
        equal = (found == wanted) | ((found != found) & (wanted != wanted))
        self.assertTrue(bool(equal.all()), f"{int((~equal).sum())} of {equal.numel()} differ")

    def near(self, found, exact, dtype, relative=1e-5, absolute=0.0):
        """Within rounding to dtype and the error of float32 sums; NaN and infinities in the same places."""
        self.assertEqual((found.shape, found.dtype), (exact.shape, dtype))
        found = found.double()
        error = (found - exact).abs()
        allowed = exact.abs() * (ROUNDING[dtype] + relative) + absolute + TINY[dtype]
        good = (error <= allowed) | (found == exact) | (found.isnan() & exact.isnan())
        bad = ~good
        if bool(bad.any()):
            worst = (error / allowed).masked_fill(good, 0).flatten().nan_to_num(math.inf).argmax()
            self.fail(f"{int(bad.sum())} of {bad.numel()} are wrong, such as {found.flatten()[worst].item()} for "
                      f"{exact.flatten()[worst].item()}")  # fmt: skip


class Rows(Case):
    def test_softmax(self):
        for dtype, shape in cases(FLOATS):
            with self.subTest(dtype=str(dtype), shape=shape):
                x = normal(*shape, dtype=dtype)
                self.near(rungs_torch.softmax(x), x.double().softmax(-1), dtype)
                self.near(rungs_torch.log_softmax(x), x.double().log_softmax(-1), dtype, absolute=1e-5)

    def test_other_dimensions_and_strides(self):
        x = normal(6, 10, 24)
        views = [x, x.transpose(0, 1), x.permute(2, 0, 1), x[:, 1:, 3:], x[..., ::2], x[:, :1].expand(6, 9, 24),
                 normal(6 * 240 + 1).narrow(0, 1, 6 * 240).view(6, 10, 24), x[3], x[3, 4], x[3, 4, 5]]  # fmt: skip
        for i, view in enumerate(views):
            for dim in range(-view.dim(), max(view.dim(), 1)):
                with self.subTest(view=i, dim=dim):
                    self.near(rungs_torch.softmax(view, dim), view.double().softmax(dim), torch.float32)
                    self.near(
                        rungs_torch.logsumexp(view, dim), view.double().logsumexp(dim), torch.float32, absolute=1e-5
                    )
                    self.near(
                        rungs_torch.cumsum(view, dim), view.double().cumsum(dim), torch.float32, absolute=1e-4
                    )
                    self.same(rungs_torch.amax(view, dim), view.amax(dim))
                    if view.dim() > 0:
                        self.same(rungs_torch.argmin(view, dim), first(view, dim, True))

    def test_masks(self):
        x = normal(7, 300)
        x[0] = -math.inf
        x[1, 5] = math.nan
        x[2, 6] = math.inf
        x[3, 1:] = -math.inf
        x[4, ::2] = -math.inf
        for dtype in FLOATS:
            rows = x.to(dtype)
            self.near(rungs_torch.softmax(rows), rows.double().softmax(-1), dtype)
            self.near(rungs_torch.log_softmax(rows), rows.double().log_softmax(-1), dtype, absolute=1e-5)
            self.near(rungs_torch.logsumexp(rows, -1), rows.double().logsumexp(-1), dtype, absolute=1e-5)
            exact = functional.layer_norm(rows.double(), (300,))
            self.near(rungs_torch.layer_norm(rows, 300), exact, dtype, absolute=1e-5)

    def test_out_and_in_place(self):
        x = normal(33, 515)
        for dim, target in ((-1, torch.empty_like(x)), (-1, normal(33, 600)[:, :515]), (0, torch.empty(515, 33, device="cuda").t())):
            wanted = rungs_torch.softmax(x, dim)
            self.assertIs(rungs_torch.softmax(x, dim, out=target), target)
            self.same(target, wanted)
        wanted = rungs_torch.rms_norm(x, 515)
        rungs_torch.rms_norm(x, 515, out=x)
        self.same(x, wanted)
        with self.assertRaisesRegex(ValueError, "rows of out"):
            rungs_torch.softmax(x, 0, out=torch.empty_like(x))

    def test_norms(self):
        for dtype, shape in cases(FLOATS):
            with self.subTest(dtype=str(dtype), shape=shape):
                rows, columns = shape
                x = normal(rows, columns, dtype=dtype) + 1
                weight, bias = normal(columns, dtype=dtype, scale=1), normal(columns, dtype=dtype, scale=1, seed=1)
                if columns > 1:
                    exact = functional.layer_norm(x.double(), (columns,), weight.double(), bias.double(), 1e-5)
                    found = rungs_torch.layer_norm(x, columns, weight, bias)
                    self.near(found, exact, dtype, absolute=1e-4)
                exact = functional.rms_norm(x.double(), (columns,), weight.double(), 1e-6)
                self.near(rungs_torch.rms_norm(x, (columns,), weight, 1e-6), exact, dtype)

    def test_norms_of_several_dimensions_and_residuals(self):
        x, residual = normal(5, 6, 7, 8), normal(5, 6, 7, 8, seed=1)
        weight = normal(7, 8)
        exact = functional.layer_norm(x.double(), (7, 8), weight.double())
        self.near(rungs_torch.layer_norm(x, (7, 8), weight), exact, torch.float32, absolute=1e-5)
        self.near(rungs_torch.layer_norm(x.transpose(0, 1), (7, 8), weight), exact.transpose(0, 1).contiguous(),
                  torch.float32, absolute=1e-5)  # fmt: skip
        total = x + residual
        found = rungs_torch.rms_norm(x, 8, residual=residual)
        self.same(residual, total)
        self.near(found, functional.rms_norm(total.double(), (8,), None, torch.finfo(torch.float32).eps), torch.float32)

    def test_fp8(self):
        for dtype, shape in cases(FLOATS):
            with self.subTest(dtype=str(dtype), shape=shape):
                rows, columns = shape
                x, weight = normal(rows, columns, dtype=dtype), normal(columns, dtype=dtype, scale=1)
                codes, scales = rungs_torch.quantize_fp8(x)
                greatest = x.float().abs().amax(1, True)
                expected = (greatest / torch.full_like(greatest, 448)).clamp(min=2**-126)  # a divisor of Python is inverted
                self.same(scales, expected)
                self.same(codes.float(), (x.float() * (1 / expected)).to(torch.float8_e4m3fn).float())
                residual = normal(rows, columns, dtype=dtype, seed=1)
                total = x + residual
                exact = functional.rms_norm(total.double(), (columns,), weight.double(), 1e-6)
                codes, scales = rungs_torch.rms_norm_fp8(x, columns, weight, 1e-6, residual=residual)
                self.same(residual, total)
                self.assertTrue(torch.allclose(scales.double(), exact.abs().amax(1, True) / 448, rtol=1e-5, atol=0))
                off = (codes.double() * scales.double() - exact).abs()
                self.assertTrue((off <= 1.001 * torch.maximum(exact.abs() * 2**-4, scales.double() * 2**-10)).all())

    def test_variance_is_not_a_difference_of_squares(self):
        x = normal(64, 4096, scale=1) + 1000
        exact = functional.layer_norm(x.double(), (4096,))
        self.near(rungs_torch.layer_norm(x, 4096), exact, torch.float32, absolute=2e-3)

    def test_log_sum_exp(self):
        for dtype, shape in cases(FLOATS):
            with self.subTest(dtype=str(dtype), shape=shape):
                x = normal(*shape, dtype=dtype)
                exact = x.double().logsumexp(-1)
                self.near(rungs_torch.logsumexp(x, -1), exact, dtype, absolute=1e-5)
                self.near(rungs_torch.logsumexp(x, -1, True, dtype=torch.float32), exact[:, None], torch.float32, absolute=1e-5)
        x = normal(4, 5, 6)
        self.near(rungs_torch.logsumexp(x, (0, 2)), x.double().logsumexp((0, 2)), torch.float32, absolute=1e-5)
        self.same(rungs_torch.logsumexp(x[:, :0], 1), torch.full((4, 6), -math.inf, device="cuda"))

    def test_cross_entropy(self):
        for dtype, shape in cases(FLOATS):
            with self.subTest(dtype=str(dtype), shape=shape):
                rows, columns = shape
                x = normal(rows, columns, dtype=dtype)
                target = torch.arange(rows, device="cuda") * 7 % columns
                target[rows // 2] = -100
                for reduction in ("none", "sum", "mean"):
                    exact = functional.cross_entropy(x.double(), target, reduction=reduction)
                    found = rungs_torch.cross_entropy(x, target, reduction=reduction)
                    self.near(found, exact, dtype, absolute=2e-5 * (rows if reduction == "sum" else 1))
        x, target = normal(3, 10, 4, 5), torch.randint(0, 10, (3, 4, 5), device="cuda")
        self.near(rungs_torch.cross_entropy(x, target), functional.cross_entropy(x.double(), target), torch.float32, 1e-5, 1e-5)
        found = rungs_torch.cross_entropy(x[0, :, 0, 0], target[0, 0, 0], reduction="none")
        self.near(found, functional.cross_entropy(x[0, :, 0, 0].double(), target[0, 0, 0], reduction="none"), torch.float32, 1e-5, 1e-5)
        self.assertTrue(rungs_torch.cross_entropy(x[:0, :, 0, 0], target[:0, 0, 0]).isnan())
        found = rungs_torch.cross_entropy(x[:, :, 0, 0], torch.tensor([0, 10, -1], device="cuda"), reduction="none")
        self.assertEqual(found.isnan().tolist(), [False, True, True])

    def test_merge_attention(self):
        for dtype in FLOATS:
            for parts in (1, 2, 5):
                for columns in (1, 63, 64, 128):
                    outputs = normal(parts, 6, 9, columns, dtype=dtype)
                    scores = normal(parts, 6, 9)
                    scores[0, 0] = -math.inf
                    outputs[0, 0] = math.nan
                    scores[:, 1, 1] = -math.inf
                    weight = scores.double().softmax(0).nan_to_num(0)[..., None]
                    exact = torch.where(weight > 0, weight * outputs.double(), 0.0).sum(0)
                    found, merged = rungs_torch.merge_attention(outputs, scores)
                    self.near(found, exact, dtype, absolute=1e-5)
                    self.near(merged, scores.double().logsumexp(0), torch.float32, absolute=1e-5)

    def test_a_row_has_the_same_bits_in_any_batch(self):
        for columns in (100, 1000, 4096, 20000):
            x = normal(37, columns)
            for call in (
                rungs_torch.softmax,
                lambda rows: rungs_torch.layer_norm(rows, rows.shape[-1]),
                lambda rows: rungs_torch.logsumexp(rows, -1),
                lambda rows: rungs_torch.sum(rows, -1),
            ):
                all_rows = call(x)
                moved = torch.empty(columns + 1, device="cuda")[1:]
                moved.copy_(x[20])
                self.same(call(x[20:21])[0], all_rows[20])
                self.same(call(moved[None])[0], all_rows[20])


class Reductions(Case):
    def test_sums_of_integers_are_exact(self):
        for dtype, shape in cases(NUMBERS):
            with self.subTest(dtype=str(dtype), shape=shape):
                x = integers(*shape, dtype=dtype)
                wanted = x.double()
                to = dtype if x.is_floating_point() else torch.int64
                self.same(rungs_torch.sum(x), wanted.sum().to(to))
                self.same(rungs_torch.sum(x, -1), wanted.sum(-1).to(to))
                self.same(rungs_torch.sum(x, 0, True), wanted.sum(0, True).to(to))

    def test_sums_of_floats(self):
        for dtype, shape in cases((torch.float32, torch.float64, torch.float16, torch.bfloat16)):
            with self.subTest(dtype=str(dtype), shape=shape):
                x = normal(*shape, dtype=dtype)
                size = x.double().abs()
                relative = 1e-5 if dtype != torch.float64 else 1e-13
                error = (rungs_torch.sum(x).double() - x.double().sum()).abs()
                self.assertLessEqual(float(error), float(size.sum() * (relative + ROUNDING[dtype])))
                error = (rungs_torch.sum(x, -1).double() - x.double().sum(-1)).abs()
                self.assertTrue(bool((error <= size.sum(-1) * (relative + ROUNDING[dtype])).all()))

    def test_sums_of_many(self):
        for n in (2**20, 2**24 + 1):
            x = integers(n)
            self.same(rungs_torch.sum(x), x.double().sum().float())
            self.same(rungs_torch.sum(x.int()), x.long().sum())
        x = torch.full((2**20,), 2**30, dtype=torch.int32, device="cuda")
        self.assertEqual(rungs_torch.sum(x).item(), 2**50)

    def test_extrema(self):
        for dtype, shape in cases(NUMBERS):
            with self.subTest(dtype=str(dtype), shape=shape):
                x = normal(*shape, scale=1000).to(dtype)
                for ours, theirs in (("amin", "amin"), ("amax", "amax"), ("argmin", "argmin"), ("argmax", "argmax")):
                    ours, theirs = getattr(rungs_torch, ours), getattr(torch, theirs)
                    exact = theirs is torch.amin or theirs is torch.amax
                    places = {} if exact else {"is_place": True}
                    self._extremum(ours, theirs, x, **places)

    def _extremum(self, ours, theirs, x, is_place=False):
        for dim in (None, -1, 0):
            found = ours(x, dim)
            if not is_place:
                self.same(found, theirs(x) if dim is None else theirs(x, dim))
                continue
            items, dim = (x.flatten(), 0) if dim is None else (x, dim)
            self.same(found, first(items, dim, theirs is torch.argmin))

    def test_extrema_with_nan_and_infinities(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            x = normal(6, 1000, dtype=dtype)
            x[1, 700] = math.nan
            x[1, 800] = math.nan
            x[2] = math.inf
            x[3] = -math.inf
            x[4, 10], x[4, 20] = math.inf, -math.inf
            x[5] = 0
            x[5, ::2] = -0.0
            self.same(rungs_torch.amax(x, 1), x.amax(1))
            self.same(rungs_torch.amin(x, 1), x.amin(1))
            self.assertTrue(rungs_torch.amax(x).isnan())
            self.assertEqual(rungs_torch.argmax(x).item(), 1700)
            self.assertEqual(rungs_torch.argmin(x).item(), 1700)
            self.assertEqual(rungs_torch.argmax(x, 1)[1:].tolist(), [700, 0, 0, 10, 0])
            self.assertEqual(rungs_torch.argmin(x, 1)[1:].tolist(), [700, 0, 0, 20, 0])

    def test_extrema_of_64_bit_integers(self):
        for dtype, most in ((torch.int32, 2**31 - 1), (torch.int64, 2**63 - 1)):
            x = torch.tensor([[5, -most - 1, most], [0, most - 1, -most]], dtype=dtype, device="cuda")
            self.assertEqual(rungs_torch.argmin(x, 1).tolist(), [1, 2])
            self.assertEqual(rungs_torch.argmax(x, 1).tolist(), [2, 1])
            self.assertEqual(rungs_torch.amin(x).item(), -most - 1)
            self.assertEqual(rungs_torch.amax(x, 0).tolist(), [5, most - 1, most])

    def test_several_dimensions(self):
        x = integers(4, 5, 6, 7)
        for dims in ((0, 1), (-1, 0), (1, 3), (0, 1, 2, 3), (), (2,)):
            for keepdim in (False, True):
                self.same(rungs_torch.sum(x, dims, keepdim), x.sum(dims, keepdim))
                self.same(rungs_torch.amax(x, dims, keepdim), x.amax(dims, keepdim))

    def test_nothing(self):
        none = torch.empty(3, 0, device="cuda")
        self.same(rungs_torch.sum(none), none.sum())
        self.same(rungs_torch.sum(none, 1), none.sum(1))
        self.same(rungs_torch.sum(none, 0), none.sum(0))
        self.same(rungs_torch.amax(none, 0), none.amax(0))
        self.same(rungs_torch.softmax(none), none)
        self.same(rungs_torch.layer_norm(torch.empty(0, 4, device="cuda"), 4), torch.empty(0, 4, device="cuda"))
        self.same(rungs_torch.cumsum(none, 1), none)
        self.same(rungs_torch.bincount(none.flatten().int(), 4), torch.zeros(4, dtype=torch.int64, device="cuda"))
        self.same(rungs_torch.histc(none, 4, 0, 1), torch.zeros(4, device="cuda"))
        for call in (rungs_torch.amax, rungs_torch.argmin):
            with self.assertRaisesRegex(ValueError, "no item"):
                call(none, 1)


class Scans(Case):
    def test_sums_of_integers_are_exact(self):
        for dtype, shape in cases(NUMBERS):
            with self.subTest(dtype=str(dtype), shape=shape):
                x = integers(*shape, dtype=dtype, most=1)
                to = dtype if x.is_floating_point() else torch.int64
                for dim in (-1, 0):
                    self.same(rungs_torch.cumsum(x, dim).contiguous(), x.double().cumsum(dim).to(to))

    def test_one_row(self):
        for dtype in NUMBERS:
            for n in (1, 2, 100, 4097, 2**17 + 3, 2**21 + 1, 2**24):
                x = integers(n, dtype=dtype, most=1)
                wanted = x.double().cumsum(0)
                to = dtype if x.is_floating_point() else torch.int64
                self.same(rungs_torch.cumsum(x), wanted.to(to))
                self.same(rungs_torch.cumsum(x, exclusive=True), (wanted - x.double()).to(to))

    def test_rows(self):
        for rows, columns in ((2**18, 3), (2000, 1023), (7, 2**18 + 5)):
            x = integers(rows, columns, most=2)
            self.same(rungs_torch.cumsum(x), x.double().cumsum(-1).float())
        x = torch.full((2, 2**20), 2**30, dtype=torch.int32, device="cuda")
        self.assertEqual(rungs_torch.cumsum(x)[:, -1].tolist(), [2**50, 2**50])

    def test_exclusive_takes_one_row(self):
        with self.assertRaisesRegex(ValueError, "one row"):
            rungs_torch.cumsum(integers(2, 5), exclusive=True)


class Histograms(Case):
    def test_histc(self):
        for dtype in (torch.float32, torch.float64):
            for n in (1, 1000, 2**17 + 1, 2**22):
                x = normal(n, dtype=dtype)
                x[:: 97] = 2.0
                x[0] = -2.0
                for bins in (1, 10, 100, 256, 1000, 5000, 70000):
                    with self.subTest(dtype=str(dtype), n=n, bins=bins):
                        self.same(rungs_torch.histc(x, bins, -2, 2), torch.histc(x, bins, -2, 2))
                        self.same(rungs_torch.histc(x, bins), torch.histc(x, bins))

    def test_edges_of_histc(self):
        x = torch.arange(0, 11, device="cuda").float().repeat(50)
        self.same(rungs_torch.histc(x, 10, 0, 10), torch.histc(x, 10, 0, 10))
        self.same(rungs_torch.histc(torch.full((9,), 3.0, device="cuda"), 4), torch.histc(torch.full((9,), 3.0, device="cuda"), 4))
        x[5] = math.nan
        self.assertEqual(rungs_torch.histc(x, 10, 0, 10).sum().item(), 549)
        with self.assertRaisesRegex(ValueError, "not finite"):
            rungs_torch.histc(x, 10)
        with self.assertRaisesRegex(ValueError, "below max"):
            rungs_torch.histc(x, 10, 1, 0)

    def test_bincount(self):
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
            for n in (1, 1000, 2**20 + 1):
                for most in (1, 2, 100, 127, 255, 5000, 300000):
                    if most > torch.iinfo(dtype).max:
                        continue
                    with self.subTest(dtype=str(dtype), n=n, most=most):
                        x = torch.randint(0, most + 1, (n,), device="cuda").to(dtype)
                        self.same(rungs_torch.bincount(x), torch.bincount(x))
                        self.same(rungs_torch.bincount(x, 400), torch.bincount(x, minlength=400))
                        self.same(rungs_torch.bincount(x, num_bins=3), torch.bincount(x, minlength=3)[:3])

    def test_values_that_are_not_counted(self):
        x = torch.tensor([0, 5, -1, 2, 2], device="cuda")
        self.assertEqual(rungs_torch.bincount(x, num_bins=3).tolist(), [1, 0, 2])
        with self.assertRaisesRegex(ValueError, "negative"):
            rungs_torch.bincount(x)


class Context(Case):
    """Streams, graphs, threads, gradients, several GPUs."""

    def calls(self, x):
        target = torch.arange(x.shape[0], device="cuda") % x.shape[1]
        return [
            lambda: rungs_torch.softmax(x),
            lambda: rungs_torch.layer_norm(x, x.shape[1]),
            lambda: rungs_torch.logsumexp(x, 1),
            lambda: rungs_torch.cross_entropy(x, target),
            lambda: rungs_torch.sum(x),
            lambda: rungs_torch.sum(x, 1),
            lambda: rungs_torch.argmax(x),
            lambda: rungs_torch.argmax(x, 1),
            lambda: rungs_torch.cumsum(x.flatten()),
            lambda: rungs_torch.cumsum(x, 1),
            lambda: rungs_torch.histc(x, 64, -9, 9),
            lambda: rungs_torch.bincount(target, num_bins=2048),
        ]

    def test_the_current_stream(self):
        data = integers(64, 2048)
        x = torch.zeros_like(data)
        wanted = [call() for call in self.calls(data)]
        stream = torch.cuda.Stream()
        calls = self.calls(x)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            x.copy_(data)
            found = [call() for call in calls]
        stream.synchronize()
        for one, other in zip(found, wanted):
            self.same(one, other)

    def test_graphs(self):
        x = integers(64, 2048)
        calls = self.calls(x)
        for call in calls:
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = [call() for call in calls]
        for seed in (1, 2, 3):
            x.copy_(integers(64, 2048, seed=seed))
            graph.replay()
            for one, call in zip(found, calls):
                self.same(one, call())

    def test_threads(self):
        x = [integers(64, 2048, seed=i) for i in range(4)]
        wanted = [[call() for call in self.calls(each)] for each in x]
        torch.cuda.synchronize()
        failures = []

        def work(i):
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    for _ in range(20):
                        for call, result in zip(self.calls(x[i]), wanted[i]):
                            self.same(call(), result)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_gradients_are_refused(self):
        x = normal(3, 4).requires_grad_()
        with self.assertRaisesRegex(RuntimeError, "no_grad"):
            rungs_torch.softmax(x)
        with torch.no_grad():
            rungs_torch.softmax(x)
        rungs_torch.softmax(x.detach())
        with self.assertRaisesRegex(ValueError, "on cpu"):
            rungs_torch.sum(torch.ones(3))

    def test_another_gpu(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("there is one GPU")
        x = integers(64, 2048)
        there = x.to("cuda:1")
        self.same(rungs_torch.softmax(there).to("cuda:0"), rungs_torch.softmax(x))
        self.same(rungs_torch.sum(there).to("cuda:0"), rungs_torch.sum(x))


if __name__ == "__main__":
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(77)
    unittest.main(verbosity=2)
