"""The page of all-reduce across GPUs and its claim, from small runs; and which runs are refused."""

import copy
import json
import re

import pytest
import synthetic
from rungs_report import claims, cli, data

CONTENDERS = (
    ("planned", "planned", ""), ("gather_broadcast", "rung", ""), ("one_shot_push", "rung", "gather_broadcast"),
    ("two_shot", "rung", "one_shot_push"), ("nccl", "library", ""), ("nccl_symmetric", "library", "nccl"),
    ("fused_sum", "planned", ""), ("cub_then_nccl", "library", ""),
)  # fmt: skip
SIZES = (1, 1 << 16, 1 << 24)


def verdict(ratio):
    return "SAME" if 0.99 < ratio < 1.01 else "FASTER" if ratio > 1 else "SLOWER"


def cell(items, times, type_name="f32", operator="plus", mode="graph", operation="all_reduce"):
    """times: microseconds by contender. Every contender of ours is set beside the library's."""
    results = []
    for name, time in times.items():
        others = [other for other in times if "nccl" in other and other != name]
        results.append(
            {
                "name": name, "verified": True, "same_bits": True, "median_us": time, "low_us": time * 0.999, "high_us": time * 1.001,
                "iqr_us": time * 0.002, "min_us": time * 0.998, "samples": 30,
                "over": {
                    other: {"value": times[other] / time, "low": times[other] / time * 0.998, "high": times[other] / time * 1.002, "verdict": verdict(times[other] / time)}
                    for other in others
                },
            }
        )  # fmt: skip
    size = items * synthetic.BYTES[type_name]
    return {"operation": operation, "type": type_name, "operator": operator, "items": items, "bytes": size, "mode": mode, "calls": 20, "noise_floor": 0.004, "results": results}


def check(items, *names):
    results = [{"name": name, "verified": True, "same_bits": True} for name in names]
    return {"operation": "all_reduce", "type": "f32", "operator": "plus", "items": items, "results": results}


def document(ranks=2, cells=None, gpu=synthetic.GPU, name="Synthetic GPU"):
    if cells is None:
        cells = [
            cell(1, {"planned": 4.0, "gather_broadcast": 9.0, "one_shot_push": 4.0, "two_shot": 7.0, "nccl": 8.0, "nccl_symmetric": 5.0}),
            cell(1 << 16, {"planned": 5.0, "gather_broadcast": 9.0, "one_shot_push": 5.5, "two_shot": 7.5, "nccl": 10.0, "nccl_symmetric": 5.0}),
            cell(1 << 24, {"planned": 160.0, "gather_broadcast": 400.0, "two_shot": 160.0, "nccl": 240.0, "nccl_symmetric": 150.0}),
            cell(1 << 16, {"planned": 4.5, "nccl": 9.0}, "bf16"),
            cell(1 << 16, {"planned": 6.0, "nccl": 12.0}, mode="stream"),
            cell(1 << 16, {"fused_sum": 5.0, "cub_then_nccl": 12.0}, operation="reduce"),
        ]
    return {
        "schema": "rungs.across/1", "gpu": gpu, "run": f"2030-01-02T03040{ranks}Z-abc1234", "commit": "abc1234", "complete": True, "seconds": 12.5,
        "arguments": [], "ranks": ranks, "devices": [{"name": name, "card": f"0000000{card}"} for card in range(ranks)],
        "versions": {"driver": "1.2.3", "cuda_runtime": "13.0", "nvcc": "13.0", "compiler": "GNU 12"}, "nccl": {"version": "2.28.9", "why_not": None},
        "environment": {}, "variables": {"NCCL_NVLS_ENABLE": "0"}, "banners": [],
        "link": {"bytes": 1 << 30, "one_way_gb_per_s": 480.0, "both_ways_gb_per_s": 420.0},
        "contenders": [
            {"name": each, "kind": kind, "against": against, "idea": f"the idea of {each}", "gains": "time", "costs": "memory"}
            for each, kind, against in CONTENDERS
        ],
        "cells": cells,
        "checks": [check(3, "planned", "two_shot"), check(1000003, "planned")],
        "skipped": [{"name": "one_shot_push", "type": "f32", "operator": "plus", "items": 1 << 24, "mode": "graph", "reason": "takes at most 4 Mi items"}],
    }  # fmt: skip


def install(repository, tmp_path, *documents):
    files = []
    for number, made in enumerate(documents):
        files.append(tmp_path / f"run{number}.json")
        files[-1].write_text(json.dumps(made))
    return cli.main(["across", "--data", str(repository / "report/data"), *map(str, files)])


def section(text, heading):
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


@pytest.fixture
def page(repository, run, small, tmp_path):
    def write(*documents):
        synthetic.write(repository / "report/data", small)
        assert install(repository, tmp_path, *documents) == 0
        assert run()[0] == 0
        return (repository / "report/synthetic-gpu/across.md").read_text()

    return write


def test_the_page(page, repository):
    text = page(document())
    floats = section(text, "2 GPUs: f32 sum, graph")
    assert re.search(r"\| +4 B \| +4\.00 µs \| +8\.00 µs \| +2\.00x \| +5\.00 µs \| +1\.25x \| +4\.00 µs `one_shot_push` \|", floats)
    assert re.search(r"\| 256 KiB \| +5\.00 µs \| +10\.0 µs \| +2\.00x \| +5\.00 µs \| +1\.00x tie \|", floats)
    # 64 MiB in 160 us: 419 GB/s, of 420.
    assert re.search(r"\| +64 MiB \| +160 µs \| +240 µs \| +1\.50x \| +150 µs \| 0\.94x \*\*NCCL wins\*\* \| +160 µs `two_shot` \| +419 \| +99\.9 % \|", floats)
    assert re.search(r"\| +4 B \|.*\| +– \|", floats), "no share of the link where latency is all"
    ladder = section(text, "The ladder on 2 GPUs: f32 sum, graph")
    assert re.search(r"\| +4 B \| +9\.00 µs \| +\*\*4\.00 µs\*\* \| +7\.00 µs \|", ladder) and re.search(r"\| +64 MiB \| +400 µs \| +– \|", ladder)
    assert "The ladder on 2 GPUs: bf16" not in text, "no rung was measured there"
    assert re.search(r"\| +2 \| f32 sum +\| graph +\| `planned` +\| NCCL +\| +1\.82x \| 1\.50x at 64 MiB +\| +3 / 0 / 0 / 0 \|", text)
    assert re.search(r"\| +2 \| f32 sum +\| graph +\| `planned` +\| NCCL symmetric +\| +1\.05x \| 0\.94x at 64 MiB +\| +1 / 1 / 1 / 0 \|", text)
    whole = section(text, "2 GPUs: f32 sum of all items, graph")
    assert re.search(r"\| +size \| `fused_sum` \| CUB, then NCCL \| over it \|\n.*\n\| 256 KiB \| +5\.00 µs \| +12\.0 µs \| +2\.40x \|\n", whole)
    assert "2 GPUs: all 26 results were right, and every GPU held the same bits." in text
    assert "at 2 counts more, from 3 to 1,000,003 items" in text
    assert "takes at most 4 Mi items" in section(text, "What was not run")
    how = section(text, "How this was measured")
    assert "NCCL_NVLS_ENABLE=0" in how and "0.400 % to 0.400 %" in how and "multicast is off" in how and "| 2.28.9 |" in how
    assert "[across GPUs](synthetic-gpu/across.md)" in (repository / "report/index.md").read_text()


def beside(ranks=2):
    times = {"one_shot_all_reduce": 6.5, "two_shot_all_reduce": 9.5}
    results = [{"name": name, "verified": True, "median_us": time, "low_us": time * 0.99, "high_us": time * 1.01, "samples": 30} for name, time in times.items()]
    return {
        "schema": "rungs.across_torch/1", "gpu": synthetic.GPU, "ranks": ranks, "devices": ["Synthetic GPU"] * ranks,
        "environment": {"torch": "0.1+synthetic", "cuda": "13.0", "commit": "", "began": "2030-01-02T03:04:05Z"},
        "cells": [{"items": 1 << 16, "bytes": 1 << 18, "results": results}], "left_out": [],
    }  # fmt: skip


def test_torch_stands_beside(page):
    text = section(page(document(), beside()), "Beside torch 0.1+synthetic on 2 GPUs")
    assert re.search(r"\| 256 KiB \| 5\.00 µs \| +6\.50 µs \| +9\.50 µs \|", text)


def test_a_wrong_result_of_torch_has_no_time(page):
    made = beside()
    made["cells"][0]["results"][0] = {"name": "one_shot_all_reduce", "verified": False}
    assert re.search(r"\| 256 KiB \| 5\.00 µs \| +\*\*wrong\*\* \| +9\.50 µs \|", page(document(), made))


@pytest.mark.parametrize(("change", "says"), [({"devices": ["Synthetic GPU"]}, "of several ranks on one"), ({"ranks": -2}, "ranks -2, which is no count")])
def test_a_run_of_torch_in_doubt_is_refused(repository, tmp_path, capsys, change, says):
    assert install(repository, tmp_path, beside() | change) == 2
    assert says in capsys.readouterr().err


def test_more_gpus_stand_below(page):
    text = page(document(4), document(2))
    assert text.index("## 2 GPUs: f32 sum, graph") < text.index("## 4 GPUs: f32 sum, graph")
    # 2 (p - 1) / p: 1.5 times the array.
    assert re.search(r"\| +64 MiB \|.*\| +629 \| +150 % \|", section(text, "4 GPUs: f32 sum, graph"))


def test_a_newer_run_replaces_one_of_as_many_gpus(repository, tmp_path):
    assert install(repository, tmp_path, document()) == 0
    assert install(repository, tmp_path, document() | {"commit": "def5678"}) == 0
    assert [path.name for path in (repository / "report/data/synthetic-gpu").iterdir()] == ["across_2.json.gz"]


def test_only_ours_must_have_the_same_bits_everywhere(page):
    made = document()
    made["checks"].append(check(7, "planned", "nccl"))
    made["checks"][-1]["results"][1]["same_bits"] = False
    assert "and but for some of NCCL every GPU held the same bits" in page(made)


def test_multicast_is_told(page):
    assert "NCCL was free to use" in page(document() | {"variables": {}})


def test_without_nccl(page, repository):
    only = [cell(1, {"planned": 4.0, "one_shot_push": 4.0})]
    made = document(cells=only) | {"nccl": {"version": None, "why_not": "libnccl.so.2: cannot open"}}
    made["contenders"] = [each for each in made["contenders"] if each["kind"] != "library"]
    made["skipped"].append({"name": "nccl", "reason": "libnccl.so.2: cannot open"})
    text = page(made)
    assert "libnccl.so.2: cannot open" in section(text, "What was not run") and "over it" not in text
    machine = data.read(repository / "report/data").machines[0]
    assert claims.answer(claims.ACROSS[0], machine).verdict == claims.UNMEASURED


def test_c15(page, repository):
    text = page(document())
    machine = data.read(repository / "report/data").machines[0]
    found = claims.answer(claims.ACROSS[0], machine)
    assert found.verdict == claims.FAILS
    assert found.measured == (
        "of 6 cells NCCL's faster entry wins 1, ours wins 4, 1 are ties, 0 are undecided; 1.25x over it at 4 B on 2 GPUs; 0.94x over it at 64 MiB on 2 GPUs"
    )
    assert found.measured in text and "| C15 |" in (repository / "report/synthetic-gpu/claims.md").read_text()
    page(document(cells=[cell(1, {"planned": 9.0, "nccl": 8.0}), cell(9, {"planned": 9.0, "nccl": 8.0}), cell(16, {"planned": 4.0, "nccl": 8.0})]))
    assert claims.answer(claims.ACROSS[0], data.read(repository / "report/data").machines[0]).verdict == claims.HOLDS


def test_what_a_reader_must_know_stands_first(page):
    text = page(document() | {"commit": "abc1234-dirty", "complete": False, "banners": ["another process used the GPU"]})
    for said in ("another process used the GPU", "uncommitted changes", "is incomplete"):
        assert said in text


def test_a_gpu_without_the_suite_has_this_page_alone(repository, run, tmp_path):
    assert install(repository, tmp_path, document(gpu="nvidia-h100", name="NVIDIA H100")) == 0
    for command in ("render", "check", "site"):
        assert run(command)[0] == 0
    assert [made.name for made in (repository / "report/nvidia-h100").iterdir()] == ["across.md"]
    assert "All-reduce across GPUs alone, without the suite: [NVIDIA H100](nvidia-h100/across.md)." in (repository / "report/index.md").read_text()
    assert "C15" in (repository / "report/nvidia-h100/across.md").read_text()
    next((repository / "report/data/nvidia-h100").iterdir()).unlink()
    assert run("check")[0] != 0, "the page is stale"


def wrong(made):
    made["cells"][1]["results"][0]["verified"] = False


def different_bits(made):
    made["checks"][0]["results"][1]["same_bits"] = False


def one_gpu(made):
    made["devices"] = made["devices"][:1]


def mixed(made):
    made["devices"][1]["name"] = "Another GPU"


def one_rank(made):
    made.update(ranks=1, devices=made["devices"][:1])


def twice(made):
    made["cells"].append(made["cells"][0])


def twice_in_a_cell(made):
    made["cells"][0]["results"].append(made["cells"][0]["results"][0])


def outside(made):
    made["cells"][0]["results"][0]["low_us"] = 4.1


def zero(made):
    made["cells"][0]["results"][0].update(median_us=0.0, low_us=0.0)


def untimed(made):
    del made["cells"][0]["results"][0]["median_us"]


def no_samples(made):
    made["cells"][0]["results"][0]["samples"] = 0


def not_a_number(made):
    made["cells"][0]["results"][0]["median_us"] = float("nan")


def empty(made):
    made["cells"] = []


def other_schema(made):
    made["schema"] = "rungs.across/2"


BROKEN = {
    wrong: "holds a result that is wrong: planned at all_reduce f32 plus, 65536 items",
    different_bits: "holds a result that is not the same bits on every GPU: two_shot at all_reduce f32 plus, 3 items",
    one_gpu: "has 2 ranks on 1 GPU(s), so its times compare nothing",
    mixed: "is of different GPUs: Another GPU, Synthetic GPU",
    one_rank: "has one rank",
    twice: "has all_reduce f32 plus, 1 items twice",
    twice_in_a_cell: "has all_reduce f32 plus, 1 items twice",
    outside: "has a median outside its own interval: planned",
    zero: "has a median outside its own interval: planned",
    untimed: "lacks the time of planned",
    no_samples: "has a median outside its own interval: planned",
    not_a_number: "holds NaN, which is no JSON number",
    empty: "has no cells",
    other_schema: "this generator reads 'rungs.across/1'",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_run_in_doubt_is_neither_installed_nor_read(repository, run, small, tmp_path, capsys, broken):
    made = copy.deepcopy(document())
    broken(made)
    assert install(repository, tmp_path, document(4), made) == 2
    assert BROKEN[broken] in capsys.readouterr().err
    assert not (repository / "report/data/synthetic-gpu").exists(), "nor is the sound one beside it"
    synthetic.write(repository / "report/data", small)
    synthetic.write(repository / "report/data", made, name="across")
    code, _, told = run()
    assert code == 1 and BROKEN[broken] in told
    assert not (repository / "report/synthetic-gpu/across.md").exists()


def test_in_the_wrong_folder_it_is_refused(repository, run):
    synthetic.write(repository / "report/data", document(), folder="another-gpu", name="across")
    assert "was measured on synthetic-gpu but lies in the folder of another-gpu" in run()[2]
