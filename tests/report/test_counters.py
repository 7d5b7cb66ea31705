"""report/run counters, on lines that Nsight Compute wrote (tests/report/counters: its columns cut, the cases made up), and what the
pages make of counters; bench/counters, over a profiler that profiles nothing."""

import json
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from conftest import page_of

from rungs_report import cli, counters, data, gains

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).resolve().parent / "counters"
MI = 1 << 20
WHOLE, DIGEST = "whole.json", "data/synthetic-gpu/counters.json.gz"
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDED, tmp_path / "counted"))


@pytest.fixture
def collect(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[int, str]]:
    def call() -> tuple[int, str]:
        code = cli.main(["counters", str(folder), "--data", str(tmp_path / "data"), "--whole", str(tmp_path / WHOLE)])
        told = capsys.readouterr()
        return code, told.out + told.err

    return call


def document(tmp_path: Path) -> dict[str, Any]:
    return json.loads((tmp_path / WHOLE).read_text())


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


# ---- from ncu's lines to counters.json


def test_what_is_written(collect, tmp_path):
    code, told = collect()
    assert code == 0 and "8 counters of 3 kernels in 2 cases" in told, told
    made = document(tmp_path)
    assert {name: made[name] for name in ("schema", "gpu", "commit", "driver", "ncu", "replay")} == {
        "schema": "rungs.counters/1", "gpu": "synthetic-gpu", "commit": "abc1234", "driver": "580.1", "ncu": "2025.3.1.0", "replay": "kernel",
    }  # fmt: skip
    assert [(entry["rung"], entry["items"], len(entry["kernels"])) for entry in made["entries"]] == [("split_bins", MI, 1), ("split_bins", 16 * MI, 2)]
    first = made["entries"][0]["kernels"][0]
    assert first["kernel"] == "split_bins_kernel"
    assert first["counters"] == {
        "dram__bytes.sum": 4223232, "dram__throughput.avg.pct_of_peak_sustained_elapsed": 12.9, "gpu__time_duration.sum": 6848,
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 82345, "lts__t_sectors_op_atom.sum": 0, "lts__t_sectors_op_red.sum": 101372,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 49.12, STALLED.format("long_scoreboard"): 3.44,
    }  # fmt: skip
    assert made["units"]["gpu__time_duration.sum"] == "ns" and made["units"]["lts__t_sectors_op_red.sum"] == "sector"
    assert made["skipped"][0]["rung"] == "thrust_histogram" and "captured" in made["skipped"][0]["reason"]


def test_the_line_of_units_may_be_absent(collect, folder, tmp_path):
    edit(folder / counters.COUNTED, lambda text: "".join(line for line in text.splitlines(keepends=True) if not line.startswith('"",')))
    assert collect()[0] == 0
    assert document(tmp_path)["entries"][0]["kernels"][0]["counters"]["lts__t_sectors_op_red.sum"] == 101372


def with_ranges(text: str, names: list[str]) -> str:
    """As ncu --nvtx writes it: one more column, whose value holds the range's name among others."""
    lines = text.splitlines()
    header = next(position for position, line in enumerate(lines) if line.startswith('"ID"'))
    lines[header] += ',"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"'
    lines[header + 1] += ',""'
    for position, name in enumerate(names, header + 2):
        lines[position] += f',"6031:<default domain>:{name}:none:none:none:none:none:none"'
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("ranges", "times"),
    [
        (["rungs_case_2", "rungs_case_0", "rungs_case_2"], [[5984], [6848, 6048]]),
        (["rungs_case_0", "cub::DeviceHistogram", "rungs_case_2"], [[6848], [5984, 6048]]),  # a library's own range hides no case
    ],
)
def test_ranges_say_whose_a_kernel_is(collect, folder, tmp_path, ranges, times):
    edit(folder / counters.COUNTED, lambda text: with_ranges(text, ranges))
    assert collect()[0] == 0
    assert [[kernel["counters"][counters.TIME] for kernel in entry["kernels"]] for entry in document(tmp_path)["entries"]] == times


def test_a_case_whose_kernels_were_not_all_seen_is_left_out_and_told(collect, folder, tmp_path):
    edit(folder / counters.COUNTED, lambda text: with_ranges(text, ["rungs_case_0", "rungs_case_0", "rungs_case_2"]))
    code, told = collect()
    assert code == 1 and "launches 1 kernels, of which ncu saw 2" in told and "launches 2 kernels, of which ncu saw 1" in told
    assert document(tmp_path)["entries"] == []


@pytest.mark.parametrize("cell", ["n/a", "", "nan", "-nan", "inf", "(!) nan"])
def test_what_is_no_number_is_left_out(collect, folder, tmp_path, cell):
    edit(folder / counters.COUNTED, lambda text: text.replace('"12.90"', f'"{cell}"'))
    assert collect()[0] == 0
    first, second = document(tmp_path)["entries"]
    assert counters.DRAM not in first["kernels"][0]["counters"] and counters.DRAM in second["kernels"][0]["counters"]


@pytest.mark.parametrize(
    ("cell", "unit", "value"),
    [("1.5", "Mbyte", (1_500_000, "byte")), ("2", "us", (2000, "ns")), ("2", "usecond", (2000, "ns")), ("1,234.5", "%", (1234.5, "%")), ("7", "", (7, ""))],
)
def test_units_without_a_prefix(cell, unit, value):
    assert counters.quantity(cell, unit) == value


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (counters.COUNTED, lambda text: "", "no line of column names"),
        (counters.COUNTED, lambda text: text[: text.rindex('"132"')], "cut short"),
        (counters.COUNTED, lambda text: text[: text.rindex('"2",')], "2 kernels of the 3"),
        (counters.COUNTED, lambda text: with_ranges(text, ["rungs_case_0", "rungs_case_2"]), "cut short"),
        (counters.COUNTED, lambda text: with_ranges(text, ["rungs_case_2", "rungs_case_0", "another"]), "not all name their case"),
        (counters.CASES, lambda text: text[:-20], "rungs_bench --profile"),
        (counters.CASES, lambda text: text.replace("profile/1", "profile/9"), "rungs_bench --profile"),
        (counters.CASES, lambda text: text.replace('"synthetic-gpu"', '"../x"'), "rungs_bench --profile"),
        *((name, None, "bench/counters") for name in (counters.CASES, counters.COUNTED, counters.TOLD)),  # missing
    ],
)
def test_what_cannot_be_read_is_refused(collect, folder, tmp_path, name, change, says):
    edit(folder / name, change) if change else (folder / name).unlink()
    code, told = collect()
    assert code == 2 and says in told and name in told, told
    assert not (tmp_path / "data").exists()


def test_the_same_folder_gives_the_same_bytes(collect, tmp_path):
    assert collect()[0] == 0
    first = [(tmp_path / name).read_bytes() for name in (WHOLE, DIGEST)]
    assert collect()[0] == 0
    assert [(tmp_path / name).read_bytes() for name in (WHOLE, DIGEST)] == first
    assert cli.main(["counters", str(tmp_path / WHOLE), "--data", str(tmp_path / "data")]) == 0
    assert (tmp_path / DIGEST).read_bytes() == first[1]


def test_the_digest_holds_what_pages_show(collect, tmp_path):
    assert collect()[0] == 0
    whole, digest = document(tmp_path), data.parse(tmp_path / DIGEST)
    assert {name: digest[name] for name in ("commit", "ncu", "replay")} == {name: whole[name] for name in ("commit", "ncu", "replay")}
    lost = whole["units"].keys() - digest["units"].keys()
    assert lost == {"dram__bytes.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}
    for entry, brief in zip(whole["entries"], digest["entries"], strict=True):
        for full, kernel in zip(entry["kernels"], brief["kernels"], strict=True):
            assert kernel["counters"] == {name: value for name, value in full["counters"].items() if name not in lost}


# ---- what the pages make of them


def counted(times: dict[str, tuple[float, float]], waits: str = "long_scoreboard", **more: float) -> list[dict[str, Any]]:
    """Kernels by name: nanoseconds, and how busy DRAM was."""
    common = {STALLED.format(waits): 6.0, STALLED.format("barrier"): 1.0, STALLED.format("selected"): 1.0, STALLED.format("not_selected"): 7.0}
    return [
        {"kernel": name, "counters": {counters.TIME: ns, counters.DRAM: busy, counters.L2_ATOMICS[0]: 1000, **common, **more}}
        for name, (ns, busy) in times.items()
    ]


def entry(rung: str, kernels: list[dict[str, Any]], family: str = "handwritten", ladder: str = "reductions", **cell: Any) -> dict[str, Any]:
    about = {
        "operation": "reduce", "operator": "plus", "input_type": "f32", "accumulator_type": "f32", "output_type": "f32", "shape": "",
        "distribution": "uniform", "mode": "cold", "items": 16 * MI,
    }  # fmt: skip
    return {"family": family, "ladder": ladder, "rung": rung, **about, **cell, "kernels": kernels}


def write(repository: Path, entries: list[dict[str, Any]], **changes: Any) -> None:
    path = repository / "report/data" / synthetic.GPU / "counters.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"schema": "rungs.counters/1", "gpu": synthetic.GPU, "commit": "abc1234", "ncu": "2025.3.1", "replay": "application"}
    path.write_text(json.dumps({**head, "entries": entries, **changes}))


def row_of(lines: list[str], column: str, start: str) -> dict[str, str]:
    """Of the table that has such a column the row that begins so, by its columns."""
    begin = next(number for number, line in enumerate(lines) if column in line and line.startswith("|"))
    found = next(line for line in lines[begin:] if line.startswith(f"| `{start}`"))
    header, told = ([part.strip() for part in line.strip("|").split("|")] for line in (lines[begin], found))
    return dict(zip(header, told, strict=True))


def test_counters_stand_beside_the_gain(repository, small):
    write(repository, [entry("last_block", counted({"first": (9000, 50.0), "second": (12000, 80.5)}))])
    page = page_of(repository, small)
    lines = gains.contents(page)
    told = row_of(lines, "its idea", "last_block")
    assert [told[name.lstrip(">")] for name in counters.HEADERS] == ["67.4 %", "–", "long_scoreboard 40.0 %", "2,000"], "both kernels, by their time"
    assert row_of(lines, "its idea", "grid_stride")["DRAM busy, of its peak"] == "–"
    assert "Nsight Compute 2025.3.1 at commit `abc1234`: the program ran once for each pass" in "\n".join(lines)


def test_without_counters_there_are_no_columns(repository, small):
    lines = "\n".join(gains.contents(page_of(repository, small)))
    assert "DRAM busy" not in lines and "Nsight" not in lines and "warps that fit" not in lines


def test_what_the_launch_takes_stands_beside_the_gain(repository, small):
    for row in small["rows"]:
        if row["rung"] == "last_block":
            row |= {"registers": 40, "shared_bytes": 0, "occupancy": 0.75}
    page = page_of(repository, small)
    lines = gains.contents(page)
    told = row_of(lines, "its idea", "last_block")
    assert [told[name] for name in ("warps that fit", "registers a thread", "shared memory a block", "instructions in the code")] == ["75.0 %", "40", "0 B", "–"]
    assert row_of(lines, "its idea", "grid_stride")["warps that fit"] == "–"


def spread_over_a_cluster(repository: Path, made: dict[str, Any]) -> str:
    bins = {"operation": "histogram_even", "operator": "", "input_type": "i32", "accumulator_type": "u32", "output_type": "u32", "shape": "bins=4096"}
    for number, rung in enumerate(("cluster_merged", "distributed_bins")):
        made["variants"].append(synthetic.variant("cluster", "histograms", rung, number, min_cc=90))
    waiting = counted({"k": (130_000, 9.0)}, **{counters.REMOTE: 5e5, counters.REMOTE_BUSY: 97.3})
    write(
        repository,
        [
            entry("distributed_bins", waiting, "cluster", "histograms", **bins),
            entry("cluster_merged", counted({"k": (26_000, 45.0)}, "short_scoreboard"), "cluster", "histograms", **bins),
            entry("overlapped_clear", counted({"k": (20_000, 60.0)}, "short_scoreboard"), "handwritten", "histograms", **bins),
            entry("bin_ranges", counted({"k": (22_000, 60.0)}), "handwritten", "histograms", **bins),
            entry("cub_device_histogram", counted({"k": (10_000, 60.0)}), "library_baselines", "baselines", **bins),
        ],
    )
    return "\n".join(counters.spread_bins(page_of(repository, made)))


def test_why_spread_bins_lose(repository, small):
    said = spread_over_a_cluster(repository, small)
    assert (
        "4,096 bins: `distributed_bins` takes 6.50x the time of `overlapped_clear`, with DRAM busy for 9.00 % against 60.0 %; its warps spend 40.0 % of"
        " their time on `long_scoreboard`." in said
    )
    rungs = re.findall(r"^\| `(\w+)`", said, re.MULTILINE)
    assert rungs == ["distributed_bins", "overlapped_clear", "bin_ranges", "cluster_merged"], "the fastest of ours, and the one with a copy a block"
    assert "500,000" in said and "97.3 %" in said and "machine code" not in said, "nothing is known of the machine code"


def test_machine_code_says_how_they_count(repository, small):
    def kernel(rung: str, opcodes: dict[str, int], **more: Any) -> dict[str, Any]:
        known = {"kernel": "k", "operator": "", "types": ["i32", "u32"], "arguments": "even_bins<int, int>", "registers": 30, "shared_bytes": 0}
        return {"family": "cluster", "ladder": "histograms", "rung": rung, "kernels": [{**known, "opcodes": opcodes, **more}]}

    spread = kernel("distributed_bins", {"ATOM": 22, "UCGABAR_ARV": 2})
    of_bytes = kernel("distributed_bins", {"ATOMS": 9}, types=["u8", "u32", "i32"])
    entries = [spread, of_bytes, kernel("cluster_merged", {"ATOMS": 22})]
    path = repository / "report/data" / synthetic.GPU / "sass.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": "rungs.sass/1", "entries": entries}))
    said = spread_over_a_cluster(repository, small)
    assert "`distributed_bins` counts by `ATOM`, an atomic on an address that may be anywhere (22 places), where `cluster_merged` has `ATOMS`" in said


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "rungs.counters/9"}, {"gpu": "another-gpu"}, {"entries": 1}, {"entries": [{}]}, {"entries": [entry("a", [{}])]},
        {"entries": [entry("a", [{"kernel": "k", "counters": {"x": "much"}}])]}, {"entries": [entry("a", []), entry("a", [])]},
        {"entries": [entry("a", [], items="many")]},
    ],
)  # fmt: skip
def test_counters_that_cannot_be_read_are_refused(repository, run, small, change):
    synthetic.write(repository / "report/data", small)
    write(repository, **{"entries": [], **change})
    code, _, err = run()
    assert code == 1 and "refused synthetic-gpu/counters.json" in err


# ---- bench/counters


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """An ncu that runs the program and writes a report, and a bench that writes its cases."""
    made = tmp_path / "tools"
    made.mkdir()
    for name, body in {
        "ncu": """
            if [[ $1 == --version ]]; then echo 'Version 2025.3.1.0'; exit; fi
            if [[ $1 == --import ]]; then echo "imported $*"; cat "$2"; exit; fi
            while [[ $1 != */bench ]]; do [[ $1 == --export ]] && echo counted >"$2.ncu-rep"; shift; done
            "$@"
        """,
        "bench": """
            [[ $* == *--profile* ]] || exit 2
            if [[ ${NO_GPU-} ]]; then echo 'no usable GPU: none'; exit 3; fi
            for argument; do [[ $argument == --out=* ]] && echo '{}' >"${argument#--out=}"; done
            exit "${WRONG-0}"
        """,
    }.items():
        path = made / name
        path.write_text("#!/usr/bin/env bash\n" + body)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return made


def run_script(tools: Path, *more: str, **variables: str) -> subprocess.CompletedProcess[str]:
    arguments = [f"--ncu={tools}/ncu", f"--bench={tools}/bench", f"--out={tools}/left", *more]
    return subprocess.run([ROOT / "bench/counters", *arguments], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **variables}, check=False)


def test_the_script_leaves_what_the_report_reads(tools):
    done = run_script(tools)
    assert done.returncode == 0, done.stderr
    left = tools / "left"
    assert "--page raw" in (left / counters.COUNTED).read_text() and (left / counters.CASES).read_text() == "{}\n"
    called = (left / counters.TOLD).read_text()
    assert "Version 2025.3.1.0" in called and "replay: application" in called
    assert "--replay-mode application --cache-control none" in called and "--clock-control none" in called and counters.DRAM in called
    for name in (counters.TIME, counters.RESIDENT, counters.ISSUED, counters.REMOTE, counters.REMOTE_BUSY, *counters.L2_ATOMICS):
        assert name in called, "what the pages show is asked for"
    assert "--replay-mode kernel --cache-control all" in (run_script(tools, "--replay=kernel") and (left / counters.TOLD).read_text())


@pytest.mark.parametrize(
    ("arguments", "variables", "code"),
    [
        ([], {"WRONG": "1"}, 1),
        (["--nonsense"], {}, 2),
        (["--ncu=/nowhere/ncu"], {}, 2),
        (["--bench=/nowhere/bench"], {}, 2),
        ([], {"NO_GPU": "1"}, 3),
    ],
)
def test_the_scripts_exit_codes(tools, arguments, variables, code):
    assert run_script(tools, *arguments, **variables).returncode == code


def test_a_profiler_that_left_no_report_is_told(tools):
    edit(tools / "ncu", lambda text: text.replace("echo counted", "true"))
    assert run_script(tools).returncode == 4
