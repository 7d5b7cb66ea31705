"""resources.py FOLDER...: judges the compiler's report (ptxas -v) on every kernel beside the objects in these folders.

No kernel of ours may spill or use a stack frame. A front door leaves the kernels of its rungs to their units. A build without a GPU
compiles some sources for their syntax alone, and lists them in a file: these must have no kernels, and all rungs that it does not
list must have some.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Set, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "report"))

from rungs_report.ptxas import Kernel, parse  # noqa: E402


def is_ours(kernel: Kernel) -> bool:
    """In namespace rungs: the kernels of CUB, Thrust and cooperative groups are not ours to judge."""
    return kernel.mangled.startswith("_ZN5rungs")


def complaint(kernel: Kernel) -> str:
    if not kernel.is_complete():
        return "the report is incomplete"
    numbers = (kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes)
    return "{} bytes stack frame, {} bytes spill stores, {} bytes spill loads".format(*numbers) if any(numbers) else ""


class Judgement(NamedTuple):
    ours: int
    others: int
    complaints: List[str]

    def is_good(self) -> bool:
        return self.ours > 0 and not self.complaints


def judge(kernels: Iterable[Kernel]) -> Judgement:
    kernels = list(kernels)
    ours = list(filter(is_ours, kernels))
    complaints = [f"{kernel.mangled} ({kernel.architecture}): {complaint(kernel)}" for kernel in ours if complaint(kernel)]
    return Judgement(len(ours), len(kernels) - len(ours), complaints)


def read(folders: Iterable[Path]) -> Tuple[int, List[Kernel], List[str]]:
    """The number of objects (*.cu.o) below these folders, their kernels, and what is wrong with the reports beside them."""
    objects = [path for folder in folders for path in sorted(folder.rglob("*.cu.o"))]
    kernels, problems = [], []
    for path in objects:
        report = Path(f"{path}.ptxas")
        try:
            if not report.exists():
                raise ValueError("the compiler's report is missing: build through the CMake target")
            kernels += parse(report.read_text())
        except (OSError, ValueError) as problem:
            problems.append(f"{path}: {problem}")
    return len(objects), kernels, problems


def wrongly_silent(folders: Iterable[Path], syntax_only: List[str]) -> List[str]:
    """Objects that have kernels against the list, and those of rungs that have none. A front door may leave its kernels to rungs."""
    problems = []
    for report in (path for folder in folders for path in sorted(folder.rglob("*.cu.o.ptxas"))):
        name, has_kernels = report.name[: -len(".o.ptxas")], "Compiling entry function" in report.read_text()
        if name in syntax_only and has_kernels:
            problems.append(f"{report}: has kernels, but is listed as checked for syntax alone")
        elif name not in syntax_only and not has_kernels and name.startswith(("handwritten_", "cluster_")) and "front_door" not in name:
            problems.append(f"{report}: has no kernel, and is not listed as checked for syntax alone")
    return problems


# Kernels that both may have: it clears the counters of a workspace, whichever rung asks for it.
SHARED_WITH_FRONT_DOORS = "clear_kernel"


def compiled_twice(folders: Iterable[Path]) -> List[str]:
    """Units of front doors that compile kernels which units of rungs compile, too.

    A rung that defines its call inside of its struct makes it inline. Then the front door's unit compiles all of its kernels."""
    kernels_of: Dict[str, Set[str]] = {}
    for report in (path for folder in folders for path in folder.rglob("*.cu.o.ptxas")):
        names = re.findall(r"Compiling entry function '(_ZN5rungs[^']*)'", report.read_text())
        kernels_of[report.name] = {name for name in names if SHARED_WITH_FRONT_DOORS not in name}
    front_doors = sorted(name for name in kernels_of if "front_door" in name)
    of_rungs = set().union(*(kernels for name, kernels in kernels_of.items() if name not in front_doors))
    twice = {name: sorted(kernels_of[name] & of_rungs) for name in front_doors}
    return [
        f"{name}: compiles {len(kernels)} kernels of rungs again, as {kernels[0]}: define the call of the rung outside of its struct"
        for name, kernels in twice.items()
        if kernels
    ]


def names_of_ours(kernels: Iterable[Kernel]) -> List[str]:
    return [kernel.mangled for kernel in kernels if is_ours(kernel) and kernel.is_entry]


def main() -> int:
    parser = argparse.ArgumentParser(description="No kernel of ours may spill or use a stack frame.")
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    parser.add_argument("--syntax-only", metavar="FILE", type=Path, help="the names of sources that have no machine code")
    options = parser.parse_args()
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    objects, kernels, problems = read(options.folders)
    judgement = judge(kernels)
    listed = options.syntax_only.read_text().split() if options.syntax_only else []
    problems += wrongly_silent(options.folders, listed) + compiled_twice(options.folders)
    if listed:
        print(f"{len(listed)} sources were checked for syntax alone")
    for line in (*problems, *judgement.complaints):
        print(line)
    most = max([kernel.registers for kernel in kernels if is_ours(kernel)], default=0)
    print(
        f"{objects} objects, {judgement.ours} kernels of ours (at most {most} registers), {judgement.others} of libraries, "
        f"{len(judgement.complaints)} complaints"
    )
    if judgement.ours == 0:
        print("no kernel was found: nothing was checked")
    return 0 if judgement.is_good() and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
