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


def by_rank(x, largest=True):
    """Columns in the order of their items: of equals the smaller first, and NaN is the greatest."""
    return x.double().sort(dim=-1, descending=largest, stable=True).indices


class TopK(Case):
    def check(self, x, k, largest=True, dim=-1):
        columns = by_rank(x.movedim(dim, -1), largest)[..., :k].movedim(-1, dim)
        values, indices = rungs_torch.topk(x, k, dim, largest)
        self.same(indices, columns)
        self.same(values, x.gather(dim, columns))
        unsorted = rungs_torch.topk(x, k, dim, largest, sorted=False)[1]
        self.same(unsorted.sort(dim).values, columns.sort(dim).values)

    def test_topk(self):
        for dtype, shape in cases((*FLOATS, torch.int32)):
            for k in sorted({1, 8, 33, 1000, 5000, shape[1]}):
                if k <= shape[1]:
                    with self.subTest(dtype=str(dtype), shape=shape, k=k):
                        self.check(normal(*shape, scale=1000).to(dtype), k)
                        self.check(integers(*shape, dtype=dtype), k, largest=False)  # many equals

    def test_as_torch(self):
        x = normal(20, 128 << 10)
        for largest in (True, False):
            self.same(rungs_torch.topk(x, 64, 1, largest)[0], torch.topk(x, 64, 1, largest)[0])

    def test_nan_and_infinities(self):
        for dtype in FLOATS:
            x = normal(6, 5000, dtype=dtype)
            x[1, 700:720] = math.nan
            x[2] = math.inf
            x[3] = -math.inf
            x[4, ::7], x[4, ::5] = math.inf, -math.inf
            for k in (5, 300, 5000):
                self.check(x, k)
                self.check(x, k, largest=False)

    def test_other_dimensions_and_strides(self):
        x = normal(6, 40, 24)
        for view in (x, x.transpose(0, 1), x.permute(2, 0, 1), x[:, 1:, 3:], x[..., ::2], x[:, :1].expand(6, 9, 24), x[3], x[3, 4]):
            for dim in range(view.dim()):
                self.check(view, 3, dim=dim)
        self.assertEqual([each.shape for each in rungs_torch.topk(x, 0, 1)], [(6, 0, 24)] * 2)


class Routing(Case):
    def test_experts_and_weights(self):
        for dtype in FLOATS:
            for tokens, experts, k in ((1, 8, 1), (100, 64, 6), (4097, 256, 8), (33, 896, 32), (7, 1024, 10), (5, 3, 3)):
                logits, bias = normal(tokens, experts, dtype=dtype), normal(experts, scale=0.2, seed=1)
                for score in ("softmax", "sigmoid"):
                    for before in (True, False):
                        for renormalize in (True, False):
                            for given in (None, bias):
                                with self.subTest(dtype=str(dtype), shape=(tokens, experts, k), score=score, before=before, bias=given is not None):
                                    found = rungs_torch.route(logits, k, score=score, scored_before=before, renormalize=renormalize, bias=given)
                                    self.check(found, logits.double(), k, score, before, renormalize, given)

    def check(self, found, logits, k, score, before, renormalize, bias):
        weights, experts = found[0], found[1].long()
        scores = logits.softmax(-1) if score == "softmax" else logits.sigmoid()
        if bias is None:
            self.same(experts, by_rank(logits)[:, :k])
        else:  # a sum in float32 may round to an equal
            preferences = (scores if before else logits) + bias.double()
            chosen = preferences.gather(1, experts)
            self.assertTrue(bool(((chosen - preferences.sort(1, descending=True).values[:, :k]).abs() <= 1e-5).all()))
            self.assertTrue(bool((experts.sort(1).values.diff(dim=1) > 0).all()))
        chosen = logits.gather(1, experts)
        exact = scores.gather(1, experts) if before or score == "sigmoid" else chosen.softmax(-1)
        exact = exact / exact.sum(-1, True) if renormalize else exact
        self.near(weights, exact, torch.float32, relative=2**-15)


class Sampling(Case):
    TOLERANCE = 1e-4  # of sums of probabilities, and of a probability against min_p

    def check(self, x, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, from_probabilities=False):
        """The set that is kept, the token that a uniform number draws from it, and its probability."""
        uniforms = torch.rand(x.shape[0], generator=torch.Generator(device="cuda").manual_seed(7), device="cuda")
        found = rungs_torch.sample(x, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, uniforms=uniforms,
                                   from_probabilities=from_probabilities, details=True)  # fmt: skip
        exact = x.double() / x.double().sum(-1, True) if from_probabilities else (x.double() / temperature).softmax(-1)
        order = by_rank(x)
        exact = exact.gather(1, order)
        sums = exact.cumsum(1)
        place = torch.empty_like(order).scatter_(1, order, torch.arange(x.shape[1], device="cuda").expand_as(order))
        last = place.gather(1, found.last_kept.long()[:, None])
        bounds = []
        for sign in (1, -1):  # the fewest that may be left, and the most
            share = max(min_p, 2**-32) * (1 + sign * self.TOLERANCE)
            left = (exact >= exact[:, :1] * min(share, 1)).sum(1, True).clamp(max=top_k or x.shape[1])
            bounds.append((left, sums.gather(1, left - 1)))
        (fewest, _), (most, most_mass) = bounds
        if top_p < 1:
            fewest = (sums < bounds[0][1] * top_p - self.TOLERANCE).sum(1, True) + 1
            most = torch.minimum(most, (sums < most_mass * top_p + self.TOLERANCE).sum(1, True) + 1)
        self.assertTrue(bool(((fewest <= last + 1) & (last < most)).all()), "the set that is kept")
        mass, drawn = sums.gather(1, last), place.gather(1, found.tokens.long()[:, None])
        own, at = exact.gather(1, drawn), sums.gather(1, drawn)
        wanted = uniforms.double()[:, None] * mass
        inside = (drawn <= last) & (wanted < at + self.TOLERANCE) & (wanted >= at - own - self.TOLERANCE)
        self.assertTrue(bool(inside.all()), "the token drawn")
        self.assertTrue(torch.allclose(found.probabilities.double()[:, None], own / mass, rtol=1e-3, atol=1e-9))

    def test_cuts_and_draws(self):
        for dtype in FLOATS:
            for rows, columns in ((1, 1), (300, 7), (64, 1000), (3, 50257), (1, 128512), (70, 128512)):
                x = normal(rows, columns, dtype=dtype)
                for how in ({}, {"temperature": 0.5}, {"top_k": 5}, {"top_p": 0.9}, {"min_p": 0.02},
                            {"temperature": 1.7, "top_k": 40, "top_p": 0.8, "min_p": 0.001}):  # fmt: skip
                    with self.subTest(dtype=str(dtype), shape=(rows, columns), how=how):
                        self.check(x, **how)
                self.check((x.double().softmax(-1) * 3).to(dtype), from_probabilities=True, top_p=0.7)

    def test_equals_and_strides(self):
        x = integers(50, 4000)
        for how in ({"top_p": 0.3}, {"top_k": 11}, {"min_p": 0.9}):
            self.check(x, **how)
        self.check(normal(50, 5000)[:, 3:4003], top_p=0.9)

    def test_greedy(self):
        for dtype in FLOATS:
            x = integers(9, 3000, dtype=dtype)
            for how in ({"temperature": 0}, {"top_k": 1}, {"top_p": 0.0}):
                self.same(rungs_torch.sample(x, **how).long(), first(x, -1, False))
        self.assertEqual(rungs_torch.sample(x[0], temperature=0).shape, ())

    def test_rows_without_a_token(self):
        x = normal(3, 100)
        x[0] = math.nan
        x[1] = -math.inf
        x[2, :99] = -math.inf
        for draw in ("inverse", "gumbel"):
            self.assertEqual(rungs_torch.sample(x, draw=draw, seed=1).tolist(), [-1, -1, 99])

    def test_frequencies(self):
        logits = torch.tensor([0.0, 1, -1, 2, 0.5, 0.5, -3, 1.5, -math.inf, 0.1], device="cuda")
        draws = 1 << 18
        for how, allowed in (({}, [0, 1, 2, 3, 4, 5, 6, 7, 9]), ({"top_k": 4}, [1, 3, 4, 7])):
            exact = logits.double()[allowed].softmax(-1) * draws
            for draw in ("inverse", "gumbel"):
                tokens = rungs_torch.sample(logits.expand(draws, 10), draw=draw, seed=5, **how)
                counts = torch.bincount(tokens, minlength=10)
                self.assertEqual(int(counts[allowed].sum()), draws)
                chi_square = float(((counts[allowed] - exact) ** 2 / exact).sum())
                self.assertLess(chi_square, 40, f"{draw} {how}")  # 8 degrees of freedom: exceeded in 3 of 10^6 samples

    def test_seeds_repeat(self):
        x = normal(2000, 500)
        for draw in ("inverse", "gumbel"):
            one = rungs_torch.sample(x, draw=draw, seed=3, offset=4)
            self.same(rungs_torch.sample(x, draw=draw, seed=3, offset=4), one)
            self.same(rungs_torch.sample(x[:100], draw=draw, seed=3, offset=4), one[:100])
            for other in ({"seed": 2, "offset": 4}, {"seed": 3, "offset": 5}):
                self.assertGreater(int((rungs_torch.sample(x, draw=draw, **other) != one).sum()), 1000)
        torch.manual_seed(11)
        one = rungs_torch.sample(x)
        self.assertGreater(int((rungs_torch.sample(x) != one).sum()), 1000)
        torch.manual_seed(11)
        self.same(rungs_torch.sample(x), one)

    def test_a_graph_draws_anew(self):
        x, step = normal(2000, 500), torch.zeros((), dtype=torch.int64, device="cuda")
        rungs_torch.sample(x, seed=3, offset=step)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = rungs_torch.sample(x, seed=3, offset=step)
            step += 1
        for offset in range(3):
            graph.replay()
            self.same(found, rungs_torch.sample(x, seed=3, offset=offset))


class Verification(Case):
    def test_against_float64(self):
        for dtype in FLOATS:
            for requests, drafts, tokens in ((1, 1, 5), (300, 3, 1000), (17, 8, 333), (4, 5, 128512)):
                with self.subTest(dtype=str(dtype), shape=(requests, drafts, tokens)):
                    logits = normal(requests, drafts + 1, tokens, scale=1.5)
                    target = logits.softmax(-1).to(dtype)
                    draft = (logits[:, :-1] + normal(requests, drafts, tokens, scale=0.5)).softmax(-1).to(dtype)
                    drafted = rungs_torch.sample(draft, from_probabilities=True, seed=1)
                    uniforms = torch.rand(requests, drafts + 1, generator=torch.Generator(device="cuda").manual_seed(2), device="cuda")
                    self.check(target, draft, drafted, uniforms)
                    exact = target[:, :-1].double() / draft.double()
                    exact = torch.where(exact.isnan(), 0, exact).amax(-1)
                    self.near(rungs_torch.greatest_ratios(target, draft), exact, torch.float32)

    def check(self, target, draft, drafted, uniforms):
        tokens, accepted = rungs_torch.verify(target, draft, drafted, uniforms=uniforms)
        requests, drafts = drafted.shape
        p, q, u = target.double(), draft.double(), uniforms.double()
        x = drafted.long()[..., None]
        stays = u[:, :-1] * q.gather(2, x).squeeze(2) < p[:, :-1].gather(2, x).squeeze(2)
        wanted = stays.int().cumprod(1).sum(1)
        self.same(accepted.long(), wanted)
        places = torch.arange(drafts + 1, device="cuda").expand(requests, -1)
        self.same(tokens[:, :-1][places[:, :-1] < wanted[:, None]], drafted[places[:, :-1] < wanted[:, None]])
        self.assertTrue(bool((tokens[places > wanted[:, None]] == -1).all()))
        # The token that follows.
        rows = torch.arange(requests, device="cuda")
        left = p[rows, wanted]
        refused = wanted < drafts
        left[refused] = (left[refused] - q[rows[refused], wanted[refused]]).clamp(min=0)
        sums = left.cumsum(1)
        token = tokens.gather(1, wanted[:, None]).long()
        at, own, total = sums.gather(1, token), left.gather(1, token), sums[:, -1:]
        point = u[:, -1:] * total
        self.assertTrue(bool(((point < at + 1e-6) & (point >= at - own - 1e-6)).all()))

    def test_seeds(self):
        target = normal(50, 4, 100).softmax(-1)
        draft = normal(50, 3, 100, seed=1).softmax(-1)
        drafted = rungs_torch.sample(draft, from_probabilities=True, seed=1)
        one, other = (rungs_torch.verify(target, draft, drafted, seed=2, offset=offset) for offset in (1, 2))
        for found, again in zip(rungs_torch.verify(target, draft, drafted, seed=2, offset=1), one):
            self.same(found, again)
        self.assertFalse(torch.equal(one[0], other[0]))


def e8m0_bits(values):
    """Of powers of two; 2**-127 for what is less."""
    return (torch.frexp(values).exponent - 1 + 127).clamp(0, 254).to(torch.uint8)


def e2m1_codes(values):
    """Nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6, ties to the even code, with the sign; two a byte."""
    size = values.abs()
    code = torch.zeros_like(size, dtype=torch.uint8)
    for middle, is_even in ((0.25, False), (0.75, True), (1.25, False), (1.75, True), (2.5, False), (3.5, True), (5.0, False)):
        code += (size >= middle) if is_even else (size > middle)
    code += values.signbit() * 8
    return code[..., ::2] | code[..., 1::2] << 4


def e2m1_values(codes):
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64, device="cuda")
    code = torch.stack((codes & 15, codes >> 4), -1).flatten(-2).long()
    return table[code & 7] * (1 - 2 * (code >> 3))


class LowPrecision(Case):
    def groups(self, dtype, rows, columns, group):
        """Items in groups, some of zeros, and their greatest magnitudes."""
        x = (normal(rows, columns, scale=1) * torch.exp2(integers(rows, 1, most=10))).to(dtype)
        x[:: 3, :group] = 0
        x[1:: 3, -1] = -0.0
        return x, x.float().reshape(rows, -1, group)

    def test_fp8(self):
        for dtype in FLOATS:
            for rows, columns in ((1, 128), (77, 256), (500, 4096)):
                x, items = self.groups(dtype, rows, columns, 128)
                for whole, group in ((items, 128), (x.float()[:, None], None)):
                    greatest = whole.abs().amax(-1)
                    scale = (greatest / torch.full_like(greatest, 448)).clamp(min=2**-126)
                    codes, scales = rungs_torch.quantize_fp8(x, group)
                    self.same(scales, scale)
                    wanted = (whole * (1 / scale)[..., None]).to(torch.float8_e4m3fn).reshape(rows, columns)
                    self.same(codes.view(torch.uint8), wanted.view(torch.uint8))
                    mantissa, exponent = torch.frexp(scale)
                    power = torch.exp2((exponent - (mantissa == 0.5).int()).double()).float()
                    codes, scales = rungs_torch.quantize_fp8(x, group, scale_type=torch.float8_e8m0fnu)
                    self.same(scales.view(torch.uint8), e8m0_bits(power))
                    wanted = (whole * (1 / power)[..., None]).to(torch.float8_e4m3fn).reshape(rows, columns)
                    self.same(codes.view(torch.uint8), wanted.view(torch.uint8))

    def test_microscaling(self):
        for dtype in FLOATS:
            for rows, columns in ((1, 32), (77, 320), (500, 4096)):
                x, items = self.groups(dtype, rows, columns, 32)
                greatest = items.abs().amax(-1)
                for quantize, exponent in ((rungs_torch.quantize_mxfp8, 8), (rungs_torch.quantize_mxfp4, 2)):
                    code = torch.where(greatest > 0, torch.frexp(greatest).exponent - 1 - exponent + 127, 0).clamp(min=0)
                    codes, scales = quantize(x)
                    self.same(scales.view(torch.uint8), code.to(torch.uint8))
                    scaled = (items * torch.exp2((127 - code).double()).float()[..., None]).reshape(rows, columns)
                    if exponent == 8:
                        self.same(codes.view(torch.uint8), scaled.clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8))
                    else:
                        self.same(codes, e2m1_codes(scaled))

    def test_nvfp4(self):
        for dtype in FLOATS:
            for rows, columns in ((1, 16), (77, 304), (500, 4096)):
                x, items = self.groups(dtype, rows, columns, 16)
                greatest = items.abs().amax(-1)
                for global_scale in (None, (greatest.max() / (6 * 448)).clamp(min=2**-90)):
                    of_all = torch.ones((), device="cuda") if global_scale is None else global_scale
                    scale = greatest / torch.full_like(greatest, 6) * (1 / of_all)
                    scale = scale.clamp(max=448).to(torch.float8_e4m3fn)
                    codes, scales = rungs_torch.quantize_nvfp4(x, global_scale)
                    self.same(scales.view(torch.uint8), scale.view(torch.uint8))
                    factor = torch.where(scale.float() > 0, 1 / (scale.float() * of_all), 0)
                    self.same(codes, e2m1_codes((items * factor[..., None]).reshape(rows, columns)))

    def test_sums_of_fp8(self):
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            for shape in SHAPES:
                with self.subTest(dtype=str(dtype), shape=shape):
                    x = integers(*shape).to(dtype)
                    wanted = x.double()
                    for dim in (None, -1, 0):
                        self.same(rungs_torch.sum(x, dim), wanted.sum(dim).float())
                    x = normal(*shape, scale=20).to(dtype)
                    for dim in (None, -1, 0):
                        wanted = x.float().abs()
                        self.same(rungs_torch.abs_max(x, dim, True), wanted.amax(tuple(range(2)) if dim is None else dim, True))
                        error = (rungs_torch.sum(x, dim).double() - x.double().sum(dim)).abs()
                        self.assertTrue(bool((error <= wanted.double().sum(dim) * 1e-5).all()))
        x = torch.tensor([[1, math.nan], [2, 3]], device="cuda").to(dtype)
        self.assertTrue(rungs_torch.sum(x).isnan() and rungs_torch.abs_max(x).isnan())

    def test_dequantizing_sums(self):
        for rows, columns in ((1, 32), (77, 320), (500, 4096), (3, 131072)):
            x = normal(rows, columns, dtype=torch.bfloat16)
            one = torch.full((1,), 0.75, device="cuda")
            codes, scales = rungs_torch.quantize_nvfp4(x, one)
            floats = normal(rows, columns // 32, scale=1)
            for codes, scales, group, of_all in ((codes, scales, 16, one), (*rungs_torch.quantize_mxfp4(x), 32, None),
                                                 (codes, floats, 32, None), (codes, floats.repeat(1, 2), 16, one)):  # fmt: skip
                values = e2m1_values(codes) * scales.float().double().repeat_interleave(group, 1) * (1 if of_all is None else of_all.double())
                for dim in (None, -1):
                    found = rungs_torch.dequantizing_sum(codes, scales, dim, global_scale=of_all)
                    exact = values.sum() if dim is None else values.sum(dim)
                    size = values.abs().sum() if dim is None else values.abs().sum(dim)
                    self.assertEqual((found.shape, found.dtype), (exact.shape, torch.float32))
                    self.assertTrue(bool(((found.double() - exact).abs() <= size * 1e-5).all()))

    def test_rows_of_fp8(self):
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            for shape in SHAPES:
                rows, columns = shape
                x = normal(*shape).to(dtype)
                of_rows = normal(rows, 1, scale=0.3)
                for scale in (None, of_rows[:1], of_rows):
                    values = (x.float() if scale is None else x.float() * scale).double()
                    for to in FLOATS:
                        with self.subTest(dtype=str(dtype), shape=shape, to=str(to)):
                            how = {"scale": scale, "dtype": to}
                            weight, bias = normal(columns, dtype=to, scale=1), normal(columns, dtype=to, scale=1, seed=1)
                            self.near(rungs_torch.softmax_of_fp8(x, **how), values.softmax(-1), to)
                            self.near(rungs_torch.log_softmax_of_fp8(x, **how), values.log_softmax(-1), to, absolute=1e-5)
                            exact = functional.rms_norm(values, (columns,), weight.double(), 1e-6)
                            self.near(rungs_torch.rms_norm_of_fp8(x, weight, **how), exact, to)
                            if columns > 1:
                                exact = functional.layer_norm(values, (columns,), weight.double(), bias.double(), 1e-5)
                                self.near(rungs_torch.layer_norm_of_fp8(x, weight, bias, **how), exact, to, absolute=1e-4)
        self.assertEqual(rungs_torch.softmax_of_fp8(x).dtype, torch.bfloat16)


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
            lambda: rungs_torch.topk(x, 8)[1],
            lambda: rungs_torch.topk(x.flatten(), 5000)[0],
            lambda: rungs_torch.route(x[:, :256], 8)[0],
            lambda: rungs_torch.sample(x, top_p=0.9, seed=1),
            lambda: rungs_torch.verify(x.abs().view(16, 4, 2048), x.abs()[:48].view(16, 3, 2048), target[:48].int().view(16, 3), seed=1)[0],
            lambda: rungs_torch.quantize_fp8(x, 128)[1],
            lambda: rungs_torch.quantize_nvfp4(x)[0],
            lambda: rungs_torch.sum(x.to(torch.float8_e4m3fn)),
            lambda: rungs_torch.dequantizing_sum(*rungs_torch.quantize_mxfp4(x)),
            lambda: rungs_torch.softmax_of_fp8(x.to(torch.float8_e5m2)),
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
