"""Reductions, prefix sums, histograms, operations on rows and what inference needs for torch tensors on an NVIDIA GPU,
computed by rungs.

    import torch, rungs_torch
    y = rungs_torch.softmax(torch.randn(65536, 2048, device="cuda"))

Functions have the names and arguments of torch's. They take tensors on a GPU, run on torch's current stream, allocate
by torch's allocator and may be captured in a graph. Gradients are not computed: an input that requires one is refused
unless torch.no_grad() is in force. What differs from torch is said at each function."""

from .histograms import bincount, histc
from .inference import greatest_ratios, route, sample, topk, verify
from .library import version
from .low_precision import (
    abs_max,
    dequantizing_sum,
    layer_norm_of_fp8,
    log_softmax_of_fp8,
    quantize_fp8,
    quantize_mxfp4,
    quantize_mxfp8,
    quantize_nvfp4,
    rms_norm_of_fp8,
    softmax_of_fp8,
)
from .reductions import amax, amin, argmax, argmin, sum
from .rows import (
    cross_entropy,
    layer_norm,
    log_softmax,
    logsumexp,
    merge_attention,
    rms_norm,
    rms_norm_fp8,
    softmax,
)
from .scans import cumsum

__all__ = [
    "abs_max",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "bincount",
    "cross_entropy",
    "cumsum",
    "dequantizing_sum",
    "greatest_ratios",
    "histc",
    "layer_norm",
    "layer_norm_of_fp8",
    "log_softmax",
    "log_softmax_of_fp8",
    "logsumexp",
    "merge_attention",
    "quantize_fp8",
    "quantize_mxfp4",
    "quantize_mxfp8",
    "quantize_nvfp4",
    "rms_norm",
    "rms_norm_fp8",
    "rms_norm_of_fp8",
    "route",
    "sample",
    "softmax",
    "softmax_of_fp8",
    "sum",
    "topk",
    "verify",
    "version",
]
