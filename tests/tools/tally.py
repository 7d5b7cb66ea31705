"""tally.py [--require-gpu] FOLDER: counts the single tests in what tests/run left in a folder.

The folder holds CTest's JUnit files, and <program>.log with <program>.status. CTest counts programs, and a program whose tests
were all skipped has passed for it. So the numbers come from the summaries that the programs print: ours ("N passed, N failed,
N skipped"), GoogleTest's, pytest's or unittest's. A program that prints none is one test.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple
from xml.etree import ElementTree


class Counts(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, more: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(self, more)))


# A progress meter ends its lines with \r, so lines are told apart before these are sought.
OURS = re.compile(r"^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$", re.MULTILINE)
GOOGLETEST_END = re.compile(r"^\[={10}\] [0-9]+ tests? from [0-9]+ test (?:suite|case)s? ran", re.MULTILINE)
GOOGLETEST = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) *\] ([0-9]+) tests?[.,]", re.MULTILINE)  # but not "[  FAILED  ] suite.name"
PYTEST = re.compile(r"^(?:=+ )?((?:[0-9]+ [a-z]+(?:, )?)+) in [0-9.]+s", re.MULTILINE)
# How many ran, then what became of those that did not pass.
UNITTEST = re.compile(r"^Ran ([0-9]+) tests? in [0-9.]+s\n(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", re.MULTILINE)
KINDS = {
    "passed": "passed",
    **dict.fromkeys(("failed", "error", "errors", "xpassed", "failures", "unexpected successes"), "failed"),
    **dict.fromkeys(("skipped", "xfailed", "expected failures"), "skipped"),
    **dict.fromkeys(("deselected", "warning", "warnings"), ""),
}


def counted(pairs: List[Tuple[str, str]]) -> Optional[Counts]:
    """The counts of (number, kind) pairs; none where a kind is unknown."""
    sums = {"passed": 0, "failed": 0, "skipped": 0, "": 0}
    for number, kind in pairs:
        if kind not in KINDS:
            return None
        sums[KINDS[kind]] += int(number)
    return Counts(sums["passed"], sums["failed"], sums["skipped"])


def read_summary(output: str) -> Optional[Counts]:
    """What the last summary in a program's output says. Ours goes before the others, whose programs ours may have run."""
    lines = "\n".join(filter(None, re.split(r"[\r\n]", output)))
    ours = OURS.findall(lines)
    if ours:
        return Counts(*map(int, ours[-1]))
    if GOOGLETEST_END.search(lines):
        return Counts(**{kind.lower(): int(number) for kind, number in GOOGLETEST.findall(lines)})
    for told in reversed(PYTEST.findall(lines)):
        found = counted(re.findall(r"([0-9]+) ([a-z]+)", told))
        if found:
            return found
    unittest = UNITTEST.findall(lines)
    if unittest:
        ran, told = unittest[-1]
        others = counted([(number, kind.strip()) for kind, number in re.findall(r"([a-z ]+)=([0-9]+)", told)]) or Counts()
        return others._replace(passed=max(0, int(ran) - others.failed - others.skipped))
    return None


class Program(NamedTuple):
    name: str
    output: str
    ending: str  # "passed", "failed" or "skipped", as its exit status says
    on_gpu: bool


def read_junit(xml: bytes, on_gpu: bool = False) -> List[Program]:
    """The programs that CTest ran. A program's status is run, fail, notrun or disabled."""
    programs = []
    for case in ElementTree.fromstring(xml).iter("testcase"):
        status = case.get("status", "")
        skipped = case.find("skipped") is not None or status in ("notrun", "disabled")
        ending = "skipped" if skipped else "failed" if status == "fail" else "passed"
        programs.append(Program(case.get("name", ""), case.findtext("system-out", ""), ending, on_gpu))
    return programs


def read_log(file: Path) -> Program:
    status = file.with_suffix(".status")
    written = status.read_text().strip() if status.exists() else ""
    if not re.fullmatch("[0-9]+", written):
        raise ValueError("its exit status is not beside it")
    ending = {"0": "passed", "77": "skipped"}.get(written, "failed")
    return Program(file.stem, file.read_text(errors="replace"), ending, file.name.startswith("gpu"))


def judge(output: str, ending: str) -> Counts:
    """The counts of one program."""
    found = read_summary(output)
    if found is None:
        return Counts(**{ending: 1})
    if ending == "failed" and found.failed == 0:
        return found._replace(failed=1)  # it died after or outside of its tests
    if ending == "skipped" and sum(found) == 0:
        return found._replace(skipped=1)
    return found


def for_want_of_a_gpu(program: Program) -> bool:
    """Tests are skipped for other reasons too, such as a compute capability or a library's known fault, and say so. A program
    that was skipped as a whole may say nothing."""
    return "no usable GPU" in program.output or read_summary(program.output) is None


def programs_of(file: Path) -> List[Program]:
    return read_junit(file.read_bytes(), file.stem == "gpu") if file.suffix == ".xml" else [read_log(file)]


def tally(folder: Path, require_gpu: bool) -> Tuple[Counts, List[str]]:
    """The sum over all programs of a folder, and a remark on each in which something failed.

    gpu.xml and gpu*.log were on the GPU: where one is required, their skipped tests have failed, unless they say another
    reason. A file that cannot be read is a failure, and so is a folder without any test.
    """
    total, remarks = Counts(), []
    for file in sorted(folder.glob("*.xml")) + sorted(folder.glob("*.log")):
        try:
            for program in programs_of(file):
                counts = judge(program.output, program.ending)
                if program.on_gpu and require_gpu and counts.skipped > 0 and for_want_of_a_gpu(program):
                    remarks.append(f"{program.name}: {counts.skipped} skipped, but a GPU is required")
                    counts = Counts(counts.passed, counts.failed + counts.skipped, 0)
                elif counts.failed > 0:
                    remarks.append(f"{program.name}: {counts.failed} failed")
                total = total.plus(counts)
        except (OSError, ValueError, ElementTree.ParseError) as problem:
            remarks.append(f"{file.name}: {problem}")
            total = total.plus(Counts(failed=1))
    if sum(total) == 0:
        remarks.append("no test was run")
        total = Counts(failed=1)
    return total, remarks


def main() -> int:
    parser = argparse.ArgumentParser(description="Counts single tests in what tests/run left in a folder.")
    parser.add_argument("--require-gpu", action="store_true", help="a skipped GPU test is a failure")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    total, remarks = tally(options.folder, options.require_gpu)
    for remark in remarks:
        print(remark)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 0 if total.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
