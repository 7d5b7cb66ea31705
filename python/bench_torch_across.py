#!/usr/bin/env python3
"""Times all-reduce of torch.distributed's symmetric memory, one process a GPU, at the sizes of rungs_across: sums of float32 in CUDA
graphs, by one_shot_all_reduce and two_shot_all_reduce_. NVLink's multicast is off (TORCH_SYMM_MEM_DISABLE_MULTICAST=1, NCCL_NVLS_ENABLE=0).

A sample is a replay of several calls between two events on each GPU, over the calls; the slowest GPU's time counts. Another replay goes
before, so that no GPU is ahead of the others. Results are verified on whole numbers, before and after.

    python3 bench_torch_across.py --output=across_torch.json
    report/run accept across_torch.json
"""

import argparse
import json
import os
import re
import socket
import statistics
import sys
import time
from pathlib import Path

SIZES = [4**power for power in range(1, 16)]  # bytes: 4 B to 1 GiB
ONE_SHOT, TWO_SHOT = "one_shot_all_reduce", "two_shot_all_reduce"


def main():
    options = parse()
    os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    try:
        import torch
    except ImportError as error:
        sys.exit(f"bench_torch_across.py: {error}")
    ranks = options.ranks or torch.cuda.device_count()
    if ranks < 2 or ranks > torch.cuda.device_count():
        sys.exit(f"bench_torch_across.py: {ranks} ranks need as many GPUs, two at least; torch sees {torch.cuda.device_count()}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(rank_of, (ranks, port, options), nprocs=ranks)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, metavar="N", help="how many GPUs (all)")
    parser.add_argument("--sizes-to", type=int, default=SIZES[-1], metavar="BYTES", help="the most bytes of a rank (1 GiB)")
    parser.add_argument("--samples", type=int, default=30, help="of each entry of a size (30)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results there as JSON (default: standard output)")
    parser.add_argument("--commit", default="", metavar="NAME", help="of the repository")
    return parser.parse_args()


def rank_of(rank, ranks, port, options):
    global torch, dist
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symm_mem

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    group = dist.group.WORLD.group_name
    cells, left_out = [], []
    for size in SIZES:
        if size > options.sizes_to:
            break
        items = size // 4
        buffer = symm_mem.empty(items, dtype=torch.float32, device=f"cuda:{rank}")
        symm_mem.rendezvous(buffer, group)
        results = []
        for name, call in entries(buffer, group):
            try:
                results.append(measure(name, call, buffer, rank, ranks, size, options.samples))
            except RuntimeError as error:  # the same on all ranks: a size or a GPU that it does not take
                left_out.append({"name": name, "bytes": size, "why": str(error).splitlines()[0][:200]})
        if results:
            cells.append({"items": items, "bytes": size, "results": results})
        del buffer
    names = [None] * ranks
    dist.all_gather_object(names, torch.cuda.get_device_name(rank))
    if rank == 0:
        document = {
            "schema": "rungs.across_torch/1", "gpu": slug(names[0]), "ranks": ranks, "devices": names,
            "environment": {"torch": torch.__version__, "cuda": torch.version.cuda, "commit": options.commit, "began": began},
            "cells": cells, "left_out": left_out,
        }  # fmt: skip
        text = json.dumps(document, indent=1) + "\n"
        options.output.write_text(text) if options.output else print(text, end="")
    dist.barrier()
    dist.destroy_process_group()
    wrong = any(not result["verified"] for cell in cells for result in cell["results"])
    if wrong:
        raise SystemExit(1)


def entries(buffer, group):
    """What is called, and answers the tensor that holds the result."""
    return (
        (ONE_SHOT, lambda: torch.ops.symm_mem.one_shot_all_reduce(buffer, "sum", group)),
        (TWO_SHOT, lambda: torch.ops.symm_mem.two_shot_all_reduce_(buffer, "sum", group)),
    )


def calls_in(size):
    """As rungs_across: as many as take about 0.4 ms, from 2 to 100."""
    return min(max(int(400 / (4 + size / 300e3)), 2), 100)


def is_right(call, buffer, rank, ranks):
    """On whole numbers that differ between places and ranks."""
    place = torch.arange(buffer.numel(), device=buffer.device)

    def item(of):
        return ((place * 2654435761 + of * 40503) % 8191 - 4095).float()

    buffer.copy_(item(rank))
    expected = item(0)
    for other in range(1, ranks):
        expected += item(other)
    torch.cuda.synchronize()
    dist.barrier()
    return bool(torch.equal(call(), expected))


def measure(name, call, buffer, rank, ranks, size, samples):
    verified = is_right(call, buffer, rank, ranks)
    buffer.zero_()  # what is added in place again and again stays finite
    calls = calls_in(size)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(samples + 2):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        graph.replay()
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / calls)
    verified = is_right(call, buffer, rank, ranks) and verified
    everybodys = [None] * ranks
    dist.all_gather_object(everybodys, (verified, times[2:]))
    verified = all(own for own, _ in everybodys)
    low, median, high = statistics.quantiles([max(each) for each in zip(*(own for _, own in everybodys), strict=True)], n=4)
    told = {"median_us": round(median, 4), "low_us": round(low, 4), "high_us": round(high, 4), "samples": samples}  # the quartiles
    return {"name": name, "verified": verified, **(told if verified else {})}


def slug(name):
    """As the folders of report/data are called: nvidia-h200."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


if __name__ == "__main__":
    main()
