"""Counts single tests in what tests/run left in a folder: CTest's JUnit files, and <program>.log with <program>.status.

Names begin with host or gpu; status 77 means skipped.

CTest counts programs, and calls one passed in which every test was skipped. So the numbers come from what the programs
print: "N passed, N failed, N skipped", or GoogleTest's or pytest's summary; a program that prints none is one test.
"""

import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

OURS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
GOOGLETEST = re.compile(r"^\[==========\] (\d+) tests? from \d+ test (?:suites?|cases?) ran", re.MULTILINE)
GOOGLETEST_LINE = re.compile(r"^\[  (PASSED|FAILED |SKIPPED) *\] (\d+) tests?[.,]", re.MULTILINE)
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?)(?:, )?)+) in [\d.]+s", re.MULTILINE)


def counts(output):
    """(passed, failed, skipped) as the program's own summary says, or None."""
    ours = OURS.findall(output)
    if ours:
        return tuple(map(int, ours[-1]))
    if GOOGLETEST.search(output):
        found = {word.strip(): int(number) for word, number in GOOGLETEST_LINE.findall(output)}
        return found.get("PASSED", 0), found.get("FAILED", 0), found.get("SKIPPED", 0)
    summaries = PYTEST.findall(output)
    if summaries:
        found = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", summaries[-1])}
        failed = sum(found.get(word, 0) for word in ("failed", "error", "errors", "xpassed"))
        return found.get("passed", 0), failed, found.get("skipped", 0) + found.get("xfailed", 0)
    return None


def judge(output, state):
    """The counts of one program; `state` is passed, failed or skipped, as its exit status says."""
    found = counts(output)
    if found is None:
        return tuple(int(state == word) for word in ("passed", "failed", "skipped"))
    passed, failed, skipped = found
    if state == "failed" and failed == 0:
        failed = 1  # it died after or outside of its tests
    if state == "skipped" and passed + failed + skipped == 0:
        skipped = 1
    return passed, failed, skipped


def programs(folder):
    """Yields (name, output, state, on_gpu) of every program that was run."""
    for path in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            status = case.get("status")
            if status in ("notrun", "disabled") or case.find("skipped") is not None:
                state = "skipped"
            else:
                state = "failed" if status == "fail" else "passed"
            yield case.get("name"), case.findtext("system-out") or "", state, path.stem == "gpu"
    for path in sorted(folder.glob("*.log")):
        status = int(path.with_suffix(".status").read_text())
        state = {0: "passed", 77: "skipped"}.get(status, "failed")
        yield path.stem, path.read_text(errors="replace"), state, path.stem.startswith("gpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--require-gpu", action="store_true", help="a skipped GPU test is a failure")
    arguments = parser.parse_args()

    total = [0, 0, 0]
    remarks = []
    for name, output, state, on_gpu in programs(arguments.folder):
        passed, failed, skipped = judge(output, state)
        if on_gpu and arguments.require_gpu and skipped:
            remarks.append(f"{name}: {skipped} skipped, but a GPU is required")
            failed, skipped = failed + skipped, 0
        elif failed:
            remarks.append(f"{name}: {failed} failed")
        total = [a + b for a, b in zip(total, (passed, failed, skipped))]
    if sum(total) == 0:
        remarks.append("no test was run")
        total[1] = 1
    print(*remarks, sep="\n", end="\n" if remarks else "")
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
