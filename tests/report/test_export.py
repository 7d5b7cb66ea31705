"""report/run export: which rung it takes, what the header holds, and that the header needs nothing of this project."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import synthetic

from rungs_report import cli, data, export, front_door

REPOSITORY = Path(__file__).resolve().parents[2]
COMMITTED = REPOSITORY / "report" / "data"
GPU = "nvidia-h200"  # whose runs made the tables
MI = 1 << 20


@pytest.fixture
def choose(repository: Path):
    """The winner of `terms` on synthetic data: four rungs at 4 Mi and 64 Mi."""
    made = synthetic.document()
    ours = {"two_passes": 21.0, "early_ticket": 18.0, "vector_loads": 19.0, "grid_stride": 17.0}
    for items, factor in ((4 * MI, 1.0), (64 * MI, 10.0)):
        times = {("handwritten", rung): time * factor for rung, time in ours.items()}
        if items == 64 * MI:
            times["handwritten", "vector_loads"] = 150.0
        synthetic.add_cell(made, items, {**times, ("library_baselines", "cub_device_reduce"): 20.0 * factor})
    synthetic.write(repository / "report/data", made)

    def call(*terms: str, **conditions) -> str:
        collection = data.read(repository / "report/data")
        return export.winner(export.machine_of(collection, None), export.question(list(terms), **conditions)).variant.rung

    return call


def test_the_fastest_at_the_nearest_size(choose):
    assert choose("reduce", "sum", "f32", "n=4Mi") == "grid_stride"
    assert choose("reduce", "plus", "f32", "n=5000000") == "grid_stride"
    assert choose("reduce", "sum", "f32", "n=1Gi") == "vector_loads"


def test_conditions_are_kept(choose):
    assert choose("reduce", "sum", "f32", "n=4Mi", repeatable=True) == "early_ticket"
    assert choose("reduce", "sum", "f32", "n=4Mi", repeatable=True, contract="uninitialised") == "vector_loads"
    with pytest.raises(data.Unusable, match="conditions"):
        choose("reduce", "sum", "f32", "n=4Mi", contract="none")


def test_the_front_door_decides_where_it_has_a_table(repository: Path, choose):
    choose("reduce", "sum", "f32", "n=4Mi")  # makes the data
    tables = repository / "best/rungs/tuning"
    tables.mkdir(parents=True)
    rows = ["operators::sum, 0, 0, 0, reduce_rung::grid_stride", "operators::sum, 90, 4, 0, reduce_rung::two_passes",
            "operators::sum, 90, 4, 5000000, reduce_rung::vector_loads", "operators::sum, 90, 4, 6000000, reduce_rung::grid_stride",
            "operators::sum, 90, 8, 0, reduce_rung::early_ticket",
            "operators::order, 90, 4, 0, reduce_rung::early_ticket"]  # fmt: skip
    (tables / "reduce.cuh").write_text("".join(f"    {{{row}}},  // evidence\n" for row in rows))
    machine = export.machine_of(data.read(repository / "report/data"), None)

    def taken(size: str, **conditions) -> tuple[str, bool]:
        found = export.winner(machine, export.question(["reduce", "sum", "f32", f"n={size}"], **conditions), repository)
        return found.variant.rung, found.by_table

    assert taken("4Mi") == ("two_passes", True) and taken("5Mi") == ("vector_loads", True)
    assert taken("4Mi", measured=True) == ("grid_stride", False)
    assert taken("6Mi") == ("grid_stride", True)
    assert taken("6Mi", repeatable=True) == ("early_ticket", False)  # grid_stride does not repeat


def test_export_and_front_door_agree_between_sizes():
    machine = export.machine_of(data.read(COMMITTED, also_pending=True), GPU)
    for terms in (["reduce", "sum", "f16", "n=300000"], ["scan", "sum", "f32", "n=300000"], ["histogram", "i32", "n=3Mi", "bins=4096"]):
        found = export.winner(machine, export.question(terms), REPOSITORY)
        asked = export.question(terms)
        rung = front_door.rung(REPOSITORY, asked.operation, asked.operator, asked.types[0], asked.items, asked.bins, 90)
        assert found.by_table and found.variant.rung == rung


def test_choose_answers_for_halves_in_a_graph(capsys):
    """What was not measured is said to be so, beside what is nearest to it."""
    assert cli.main(["choose", "reduce", "sum", "f16", "n=300000"]) == 0
    title, take, cold, warm, graph, header = capsys.readouterr().out.splitlines()
    assert title == "NVIDIA H200, reduce, plus of f16, n = 300,000", "the tables' GPU where none is named"
    assert take == "  take: rungs::DeviceReduce, which launches tagged_aggregates (handwritten/rungs/reductions/18_tagged_aggregates.cuh)"
    figures = r"the front door [\d.]+ µs, CUB [\d.]+ [\d.]+ µs, the fastest rung \w+ [\d.]+ µs \(run \S+\)"
    assert re.fullmatch(rf"  in a stream, cold: f16 to f32 sum of 256 Ki: {figures}", cold)
    assert re.fullmatch(rf"  in a stream, warm: (no f16 was measured; f32 sum|f16 to f32 sum) of [\d,]+ [KM]i: {figures}", warm)
    assert re.fullmatch(rf"  in a captured graph: (no f16 was measured; f32 sum|f16 to f32 sum) of [\d,]+ [KM]i: {figures}", graph)
    assert header == f"  as one header: report/run export reduce sum f16 n=300000 --gpu={GPU}"


def test_choose_keeps_the_conditions(repository: Path, choose, capsys):
    choose("reduce", "sum", "f32", "n=4Mi")  # makes the data
    where = ["--data", str(repository / "report/data"), "--root", str(repository)]
    assert cli.main(["choose", "reduce", "sum", "f32", "n=4Mi", "--repeatable", "--workspace=uninitialised", *where]) == 0
    _, take, cold, warm, graph, header = capsys.readouterr().out.splitlines()
    assert take.startswith("  take: vector_loads (") and take.endswith("the fastest at 4 Mi of what keeps the conditions")
    assert "f32 sum of 4 Mi: CUB" in cold and "the fastest rung vector_loads 19.0 µs" in cold
    assert warm.endswith(": not measured") and graph.endswith(": not measured")
    assert header.endswith("n=4Mi --workspace=uninitialised --repeatable --gpu=synthetic-gpu")


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        (["sort", "f32", "n=1Mi"], "histogram_even"),
        (["reduce", "f32", "n=1Mi"], "operator"),
        (["reduce", "sum", "f32"], "n=4Mi"),
        (["reduce", "sum", "f32", "n=many"], "n=many"),
        (["reduce", "sum", "f32", "n=0"], "n=0"),
        (["reduce", "sum", "f32", "i32", "n=1Mi"], "one type"),
        (["reduce", "sum", "f32", "n=1Mi", "bins=3"], "bins="),
        (["reduce", "sum", "u128", "n=1Mi"], "u128"),
        (["histogram", "u8", "n=1Mi", "bins=7"], "256 bins"),
    ],
)
def test_what_cannot_be_answered_is_named(terms, named, capsys):
    assert cli.main(["export", *terms, "--gpu", GPU]) == 2
    assert named in capsys.readouterr().err


def test_of_several_gpus_the_tables_say_which(capsys):
    collection = data.read(COMMITTED)
    assert export.machine_of(collection, None, REPOSITORY).gpu == GPU
    with pytest.raises(data.Unusable, match="say which GPU"):
        export.machine_of(collection, None)


def test_an_unknown_gpu_is_named(capsys):
    assert cli.main(["export", "reduce", "sum", "f32", "n=1Mi", "--gpu", "abacus"]) == 2
    assert "abacus" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    assert cli.main(["export", "reduce", "sum", "f32", "n=1Mi", "--gpu", GPU, "--output", str(tmp_path / "no" / "file.cuh")]) == 2
    assert "file.cuh" in capsys.readouterr().err


PROBLEMS = {
    "reduce": (["reduce", "sum", "f32", "n=4Mi"], "float", "d_in, d_out, 1, rungs::plus{}, 0.0f"),
    "cluster": (["reduce", "maximum", "f32", "n=64Ki"], "float", "d_in, d_out, 1, rungs::maximum{}, 0.0f"),
    "scan": (["scan", "sum", "f32", "n=16Mi"], "float", "d_in, d_out, rungs::plus{}, 1"),
    "histogram": (["histogram", "i32", "n=1Mi", "bins=4096"], "int", "d_in, reinterpret_cast<unsigned*>(d_out), 4097, 0, 4096, 1"),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """The headers of PROBLEMS, from the committed results."""
    if not any(data.result_files(folder) for folder in COMMITTED.glob("*/")):
        pytest.skip("no results are committed")
    folder = tmp_path_factory.mktemp("exported")
    for name, (terms, _, _) in PROBLEMS.items():
        assert cli.main(["export", *terms, "--gpu", GPU, "--output", str(folder / f"{name}.cuh")]) == 0
    return folder


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_header_is_whole_and_says_where_it_is_from(exported, name):
    text = (exported / f"{name}.cuh").read_text()
    assert '#include "' not in text
    assert "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" in text
    told = re.sub(r"\s+// ", " ", text)  # unwrapped
    assert re.search(r"commit [0-9a-f]{7}", told) and "cold caches" in told and "H200" in told
    guards = re.findall(r"^#ifndef (RUNGS_EXPORTED_\w+)$", text, re.MULTILINE)
    assert len(guards) == len(set(guards)) == len(re.findall(r"^// ---- rungs/", text, re.MULTILINE)) > 3


def usage(name: str, header: str) -> str:
    """One call of what the header's own comment calls."""
    called = re.search(r"Call: (\S+?)\(", header)[1]
    _, item, arguments = PROBLEMS[name]
    return (
        f"cudaError_t {name}_once(void* d_temp_storage, std::size_t& bytes, const {item}* d_in, {item}* d_out) {{\n"
        f"  return {called}(d_temp_storage, bytes, {arguments});\n}}\n"
    )


def test_headers_compile_together_for_every_architecture(exported, tmp_path):
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        pytest.skip("no nvcc")
    listed = (REPOSITORY / "tests/headers/CMakeLists.txt").read_text()
    architectures = re.search(r"set\(architectures ([\d ]+)\)", listed)[1].split()
    assert len(architectures) >= 8
    source = tmp_path / "uses.cu"
    lines = []
    for name in PROBLEMS:
        lines += [f'#include "{name}.cuh"', usage(name, (exported / f"{name}.cuh").read_text())]
    source.write_text("\n".join(lines))
    generate = [f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in architectures]
    done = subprocess.run(
        [nvcc, "-std=c++17", "-c", "-Ofc=max", "-Xcompiler=-Wall,-Wextra", "-Werror=all-warnings", f"--threads={os.cpu_count()}"]
        + [*generate, f"-I{exported}", str(source), "-o", str(tmp_path / "uses.o")],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_what_was_refused_is_told(repository, small, capsys):
    """The rung that is not exported may be among it."""
    next(row for row in small["rows"] if row["rung"] == "last_block").update(verified="no", median_us=None, low_us=None, high_us=None)
    synthetic.write(repository / "report/data", small)
    synthetic.write_sources(repository)
    cli.main(["export", "reduce", "sum", "f32", "n=16Mi", "--data", str(repository / "report/data"), "--root", str(repository)])
    assert "handwritten/last_block was not verified (1 row, first rows[1])" in capsys.readouterr().err
