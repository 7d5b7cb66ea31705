"""resources.py [--kernels] FOLDER...: judges the compiler's report (ptxas -v) on every kernel beside the objects in these folders.

No kernel of ours may spill or use a stack frame. --kernels only lists the mangled names of ours.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Iterable, List, NamedTuple, Tuple

COMPILING = re.compile(r"Compiling entry function '(?:([^']*)' for '([^']*)')?")
PROPERTIES = re.compile(r"Function properties for (.*)")


class Kernel:
    """-1: the report does not say."""

    def __init__(self, mangled: str, architecture: str, is_entry: bool) -> None:
        self.mangled, self.architecture, self.is_entry = mangled, architecture, is_entry
        self.registers = -1 if is_entry else 0
        self.stack_bytes = self.spill_store_bytes = self.spill_load_bytes = -1
        self.shared_bytes = 0

    def is_ours(self) -> bool:
        """In namespace rungs: the kernels of CUB, Thrust and cooperative groups are not ours to judge."""
        return self.mangled.startswith("_ZN5rungs")

    def complaint(self) -> str:
        numbers = (self.stack_bytes, self.spill_store_bytes, self.spill_load_bytes)
        if min(self.registers, *numbers) < 0:
            return "the report is incomplete"
        if max(numbers) > 0:
            return "{} bytes stack frame, {} bytes spill stores, {} bytes spill loads".format(*numbers)
        return ""


def number_before(line: str, unit: str) -> int:
    found = re.search(r"([0-9]*) *" + unit, line)
    if found and not found[1]:
        raise ValueError(f"no number before '{unit}' in: {line}")
    return int(found[1]) if found else -1


def parse(report: str) -> List[Kernel]:
    """Reads one report; device functions that were not inlined count as kernels. Raises ValueError on a line of it that cannot
    be understood."""
    kernels: List[Kernel] = []
    entry = None
    described = ""  # whose properties the next line holds
    for line in report.splitlines():
        compiling, properties = COMPILING.search(line), PROPERTIES.search(line)
        if compiling:
            if compiling[1] is None:
                raise ValueError(f"no name in: {line}")
            entry = Kernel(compiling[1], compiling[2], True)
            kernels.append(entry)
        elif properties:
            described = properties[1]
        elif "bytes stack frame" in line:
            if not described:
                raise ValueError(f"whose stack frame is this? {line}")
            if entry and entry.mangled == described:
                kernel = entry
            else:  # a device function that was not inlined
                kernel = Kernel(described, entry.architecture if entry else "", False)
                kernels.append(kernel)
            kernel.stack_bytes = number_before(line, "bytes stack frame")
            kernel.spill_store_bytes = number_before(line, "bytes spill stores")
            kernel.spill_load_bytes = number_before(line, "bytes spill loads")
            described = ""
        elif "Used " in line and " registers" in line:
            if entry is None:
                raise ValueError(f"whose registers are these? {line}")
            entry.registers = number_before(line, "registers")
            entry.shared_bytes = max(0, number_before(line, "bytes smem"))
    return kernels


class Judgement(NamedTuple):
    ours: int
    others: int
    complaints: List[str]

    def is_good(self) -> bool:
        return self.ours > 0 and not self.complaints


def judge(kernels: Iterable[Kernel]) -> Judgement:
    kernels = list(kernels)
    ours = [kernel for kernel in kernels if kernel.is_ours()]
    complaints = [f"{kernel.mangled} ({kernel.architecture}): {kernel.complaint()}" for kernel in ours if kernel.complaint()]
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


def names_of_ours(kernels: Iterable[Kernel]) -> List[str]:
    return [kernel.mangled for kernel in kernels if kernel.is_ours() and kernel.is_entry]


def main() -> int:
    parser = argparse.ArgumentParser(description="No kernel of ours may spill or use a stack frame.")
    parser.add_argument("--kernels", action="store_true", help="only list the mangled names of ours")
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    options = parser.parse_args()
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    objects, kernels, problems = read(options.folders)
    for problem in problems:
        print(problem)
    if options.kernels:
        names = names_of_ours(kernels)
        print(*names, sep="\n", end="\n" if names else "")
        if not names:
            print("resources.py: no kernel was found", file=sys.stderr)
        return 0 if names and not problems else 1
    judgement = judge(kernels)
    for complaint in judgement.complaints:
        print(complaint)
    most = max([kernel.registers for kernel in kernels if kernel.is_ours()], default=0)
    print(
        f"{objects} objects, {judgement.ours} kernels of ours (at most {most} registers), {judgement.others} of libraries, "
        f"{len(judgement.complaints)} complaints"
    )
    if judgement.ours == 0:
        print("no kernel was found: nothing was checked")
    return 0 if judgement.is_good() and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
