"""report/run sass, on two kernels' recorded disassembly (tests/report/sass, a build folder without a compiler;
but for the first two, the second lines of instructions, which hold the rest of their encodings, are left out)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rungs_report import cli, data, sass

RECORDED = Path(__file__).resolve().parent / "sass"
CATALOG = Path("CMakeFiles/rungs_catalog.dir/catalog")
WHOLE, DIGEST = "whole.json", "data/synthetic-gpu/sass.json.gz"
SHUFFLE = "handwritten_reductions_warp_shuffle_0.cu"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDED, tmp_path / "build"))


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def call(build: Path, *more: str) -> tuple[int, str]:
        tool = build / "cuobjdump" if (build / "cuobjdump").exists() else RECORDED / "cuobjdump"
        to = ["--data", str(tmp_path / "data"), "--gpu", "synthetic-gpu", "--cuobjdump", str(tool)]
        code = cli.main(["sass", "--build", str(build), *to, "--whole", str(tmp_path / WHOLE), *more])
        told = capsys.readouterr()
        return code, told.out + told.err

    return call


@pytest.fixture
def kernels(build: Path, run: Callable[..., tuple[int, str]], tmp_path: Path) -> Callable[[], dict[str, dict[str, Any]]]:
    """The kernels that the command writes of the build, by rung."""

    def call() -> dict[str, dict[str, Any]]:
        code, told = run(build)
        assert code == 0, told
        document = json.loads((tmp_path / WHOLE).read_text())
        return {entry["rung"]: kernel for entry in document["entries"] for kernel in entry["kernels"]}

    return call


def test_what_is_written(build, run, tmp_path):
    code, told = run(build)
    assert code == 0 and "2 kernels of 2 variants" in told, told
    document = json.loads((tmp_path / WHOLE).read_text())
    assert {
        "schema": "rungs.sass/1",
        "commit": "0053ff0",
        "nvcc": "13.0.88",
        "cuobjdump": "13.5.37",
    }.items() <= document.items()
    variants = [(entry["family"], entry["ladder"], entry["rung"], entry["number"]) for entry in document["entries"]]
    assert variants == [("handwritten", "reductions", "warp_shuffle", 6), ("library_baselines", "roofs", "copy", -1)]


def test_a_kernel_is_what_ptxas_and_the_disassembly_say(kernels):
    found = kernels()
    kernel = found["warp_shuffle"]
    assert {
        "architecture": "sm_90",
        "registers": 16,
        "shared_bytes": 32,
        "stack_bytes": 0,
        "spill_bytes": 0,
        "kernel": "reductions::warp_shuffle_kernel",
        "arguments": "256, int const*, int*, plus, int",
        "operator": "plus",
        "types": ["i32"],
        "diverged": {"SHFL": 3},  # the same three once more, for a warp that came apart
    }.items() <= kernel.items()
    some = {name: kernel["opcodes"].get(name) for name in ("LDG", "STG", "LDS", "STS", "REDUX", "SHFL", "BAR", "NOP")}
    assert some == {"LDG": 2, "STG": 1, "LDS": 1, "STS": 1, "REDUX": 1, "SHFL": 3, "BAR": 1, "NOP": None}
    assert kernel["opcodes"]["BRA"] == 3  # of four: the last jumps to itself, behind the end
    assert kernel["instructions"] == sum(kernel["opcodes"].values())
    assert found["copy"]["widths"] == {"LDG": {"8": 2, "128": 1}, "STG": {"8": 2, "128": 1}}


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt: names stay mangled")
def test_variants_of_one_unit_come_to_the_same_kernels(build, kernels):
    unit = build / "catalog" / SHUFFLE
    text = unit.read_text()
    unit.write_text(text + text.replace('.rung = "warp_shuffle"', '.rung = "shuffled_too"'))
    of = kernels()
    assert of["shuffled_too"] == of["warp_shuffle"] and "copy" in of


@pytest.mark.parametrize(
    ("modifiers", "bits"),
    [("", "32"), (".E", "32"), (".E.64", "64"), (".E.128.CONSTANT", "128"), (".U8", "8"), (".E.S16", "16")],
)
def test_width(modifiers, bits):
    assert sass.width(modifiers) == bits


@pytest.mark.parametrize(
    ("demangled", "name", "operator", "types"),
    [
        ("void a::b<3, (a::kind)1, c<unsigned char const*>, rungs::v0::maximum>(d<int>)", "a::b", "maximum", ["u8"]),
        ("void f<unsigned long, unsigned long long, cuda::std::__4::plus<void>, float>(int)", "f", "plus", ["u64", "f32"]),
        ("void f<__half const*, float, cuda::__4::minimum<float> >(float)", "f", "minimum", ["f16", "f32"]),
        ("a::(anonymous namespace)::g(unsigned int)", "a::g", "", []),
    ],
)
def test_describe(demangled, name, operator, types):
    told = sass.describe(demangled)
    assert (told["kernel"], told["operator"], told["types"]) == (name, operator, types)


def test_the_same_build_gives_the_same_bytes(build, run, tmp_path):
    assert run(build)[0] == 0
    first = [(tmp_path / name).read_bytes() for name in (WHOLE, DIGEST)]
    assert run(build)[0] == 0
    assert [(tmp_path / name).read_bytes() for name in (WHOLE, DIGEST)] == first
    assert run(build, "--from", str(tmp_path / WHOLE))[0] == 0
    assert (tmp_path / DIGEST).read_bytes() == first[1]


def test_the_digest_holds_what_pages_show(kernels, tmp_path):
    full = kernels()["warp_shuffle"]
    whole, digest = json.loads((tmp_path / WHOLE).read_text()), data.parse(tmp_path / DIGEST)
    assert digest["commit"] == whole["commit"] and digest["nvcc"] == whole["nvcc"] and digest["digest"] is True
    assert [entry["rung"] for entry in digest["entries"]] == ["warp_shuffle"], "no library's"
    kernel = digest["entries"][0]["kernels"][0]
    assert kernel["opcodes"] == {name: count for name, count in full["opcodes"].items() if name in sass.COUNTED} != full["opcodes"]
    assert {name: kernel[name] for name in kernel.keys() - {"opcodes", "widths"}} == {name: full[name] for name in kernel.keys() - {"opcodes", "widths"}}
    found, about = data.read_facts(tmp_path / DIGEST, "synthetic-gpu")
    assert [variant.rung for variant in found] == ["warp_shuffle"] and about["commit"] == "0053ff0"


def test_only_whole_facts_make_a_digest(build, run, tmp_path):
    assert run(build)[0] == 0
    for text in ("", "{}", json.dumps({**data.parse(tmp_path / DIGEST)})):
        (tmp_path / "other.json").write_text(text)
        code, told = run(build, "--from", str(tmp_path / "other.json"))
        assert code == 2 and "other.json" in told and "--whole" in told


@pytest.mark.parametrize(
    ("damaged", "lines_left", "says"),  # None: the file is gone
    [
        (CATALOG / f"{SHUFFLE}.o", None, "is missing; build"),
        (CATALOG / f"{SHUFFLE}.o.ptxas", None, "is missing; build"),
        (CATALOG / f"{SHUFFLE}.o.ptxas", 2, "incomplete"),
        (CATALOG / f"{SHUFFLE}.o.ptxas", 0, "says nothing of"),
        (CATALOG / f"{SHUFFLE}.o.sass", 0, "holds no code of"),
        (CATALOG / f"{SHUFFLE}.o.sass", None, "cuobjdump"),
        (Path("bench/build_values.hpp"), None, "rungs_bench"),
    ],
)
def test_a_build_that_cannot_be_read_is_refused(build, run, tmp_path, damaged, lines_left, says):
    path = build / damaged
    lines = path.read_text().splitlines(keepends=True)
    path.unlink()
    if lines_left is not None:
        path.write_text("".join(lines[:lines_left]))
    code, told = run(build)
    assert code == 2 and says in told, told
    assert not (tmp_path / DIGEST).exists() and not (tmp_path / WHOLE).exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["--build", "nowhere"], "--build"), (["--gpu", "No Slug"], "--gpu"), (["--cuobjdump", "/nowhere/nothing"], "nvidia-cuda-cuobjdump")],
)
def test_usage(build, run, arguments, named):
    code, told = run(build, *arguments)
    assert code == 2 and named in told


def test_it_is_no_result(run, build, tmp_path):
    """sass.json.gz lies where results lie, and is read as none."""
    assert run(build)[0] == 0
    collection = data.read(tmp_path / "data")
    assert not collection.refusals and not collection.machines
