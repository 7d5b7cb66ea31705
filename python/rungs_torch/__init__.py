"""Reductions, prefix sums, histograms and operations on rows for torch tensors on an NVIDIA GPU, computed by rungs.

    import torch, rungs_torch
    y = rungs_torch.softmax(torch.randn(65536, 2048, device="cuda"))

Functions have the names and arguments of torch's. They take tensors on a GPU, run on torch's current stream, allocate
by torch's allocator and may be captured in a graph. Gradients are not computed: an input that requires one is refused
unless torch.no_grad() is in force. What differs from torch is said at each function."""

from .histograms import bincount, histc
from .library import version
from .reductions import amax, amin, argmax, argmin, sum
from .rows import (
    cross_entropy,
    layer_norm,
    log_softmax,
    logsumexp,
    merge_attention,
    quantize_fp8,
    rms_norm,
    rms_norm_fp8,
    softmax,
)
from .scans import cumsum

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "bincount",
    "cross_entropy",
    "cumsum",
    "histc",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "merge_attention",
    "quantize_fp8",
    "rms_norm",
    "rms_norm_fp8",
    "softmax",
    "sum",
    "version",
]
