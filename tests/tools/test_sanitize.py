"""tests/sanitize over a build folder and a compute-sanitizer that only pretend: without a GPU nothing else goes through more than
its first lines."""

import json
import os
import signal
import time
import unittest
from pathlib import Path

from scratch import InScratch

SANITIZE = Path(__file__).resolve().parent.parent / "sanitize"

# Each shard launches the kernels that $LAUNCHED names for it.
GPU_TESTS = """#!/bin/sh
for argument in "$@"; do
  case $argument in
    --require-gpu) exit "$WITHOUT_GPU" ;;
    --list-records) cat "$0.records" && exit ;;
    --filled=*) [ "$argument" = "--filled=$FILLED" ] || exit 5 ;;
    --kernels=*) printf '%s\\n' _ZN5rungs1kILi${GTEST_SHARD_INDEX}EEv $LAUNCHED >"${argument#*=}" ;;
    --gtest_filter=*) [ "$argument" = '--gtest_filter=catalog.*' ] || exit 5 ;;
  esac
done
"""
# Shard 1 of racecheck finds what $FOUND says.
SANITIZER = """#!/bin/sh
echo '========= COMPUTE-SANITIZER'
tool=$2
while [ "${1%rungs_gpu_tests}" = "$1" ]; do shift; done
"$@" || exit
if [ "$tool.$GTEST_SHARD_INDEX" = racecheck.1 ] && [ -n "$FOUND" ]; then
  [ "$FOUND" != nothing ] || sleep 600  # beyond its time
  printf '========= Race\\n=========     at void %s(int)+0x10\\n' "$FOUND"
  exit 86
fi
"""
TAGS, MAILBOXES, VERSION = (f"handwritten/rungs/{name}.cuh" for name in ("parts/tags", "parts/mailboxes", "version"))
KERNELS = [f"_ZN5rungs1kILi{number}EEv" for number in range(3)]


class Rehearsal(InScratch):
    def setUp(self):
        super().setUp()
        self.build = self.scratch / "a build"
        self.put(self.build / "tests/rungs_gpu_tests", GPU_TESTS, 0o755)
        records = [{"source": source} for source in (TAGS, VERSION, TAGS, MAILBOXES)]
        self.put(self.build / "tests/rungs_gpu_tests.records", json.dumps({"records": records}))
        self.put("bin/compute-sanitizer", SANITIZER, 0o755)
        self.objects = self.build / "CMakeFiles/rungs_catalog.dir"
        self.put(self.objects / "a.cu.o")
        line = "Compiling entry function '{}' for 'sm_90'\n"
        self.put(self.objects / "a.cu.o.ptxas", "".join(map(line.format, KERNELS)))

    def sanitize(self, *options, found="", launched=KERNELS[2], without_gpu="0", filled=f"{MAILBOXES},{TAGS}"):
        environment = dict(os.environ, FOUND=found, LAUNCHED=launched, WITHOUT_GPU=without_gpu, FILLED=filled)
        environment["PATH"] = f"{self.scratch}/bin:{environment['PATH']}"
        return self.start(SANITIZE, "--build", self.build, "--shards=2", "--logs", self.scratch / "logs", *options, **environment)

    def expect(self, status, *wanted, options=(), **circumstances):
        """All these lines, and the last of them last."""
        started = self.sanitize(*options, **circumstances)
        printed, _ = started.communicate()
        lines = printed.splitlines()
        for line in wanted:
            self.assertIn(line, lines)
        self.assertEqual((started.returncode, lines[-1]), (status, wanted[-1]), printed)

    def test_where_all_is_clean(self):
        self.expect(
            0,
            "racecheck: clean; 3 kernels launched, 0 kinds of finding in ours, 0 in the libraries'",
            "3 kernels of ours are built, 0 of them were not launched under every tool",
            "5 passed, 0 failed, 0 skipped",
        )
        self.expect(0, "3 passed, 0 failed, 0 skipped", options=["--tools", "memcheck,synccheck"])

    def test_findings_in_ours_fail_and_those_in_libraries_do_not(self):
        self.expect(
            1,
            "racecheck: NOT clean; 3 kernels launched, 1 kinds of finding in ours, 0 in the libraries'",
            "  ours, 1x: Race in rungs::k(int)",
            "4 passed, 1 failed, 0 skipped",
            found="rungs::k",
        )
        self.expect(0, "  library, 1x: Race in cub::k(int)", "5 passed, 0 failed, 0 skipped", found="cub::k")

    def test_only_storage_that_is_read_before_it_is_written_is_filled(self):
        told = "memcheck: NOT clean; 3 kernels launched, 0 kinds of finding in ours, 0 in the libraries'; shards ended with [5, 5]"
        self.expect(1, told, "1 passed, 4 failed, 0 skipped", filled=f"{MAILBOXES},{TAGS},{VERSION}")

    def test_a_shard_beyond_its_time_fails(self):
        self.expect(
            1,
            f"  never launched: {KERNELS[2]}",
            "racecheck: NOT clean; 2 kernels launched, 0 kinds of finding in ours, 0 in the libraries'; shards ended with [124]",
            "0 passed, 2 failed, 0 skipped",
            options=["--tools=racecheck", "--limit=2"],
            found="nothing",
            launched="",
        )

    def test_a_kernel_that_was_not_launched_fails(self):
        self.expect(1, f"  never launched: {KERNELS[2]}", "4 passed, 1 failed, 0 skipped", launched="")

    def test_a_kernel_in_whose_stead_another_was_launched_does_not(self):
        less, more = (f"_ZN5rungs9v0_sm_90010histograms19lane_private_kernelILi4ELi{counters}ENS0_1aE" for counters in (8, 32))
        with open(self.objects / "a.cu.o.ptxas", "a") as report:
            report.write(f"Compiling entry function '{less}' for 'sm_90'\nCompiling entry function '{more}' for 'sm_90'\n")
        self.expect(
            0,
            "5 kernels of ours are built, 0 of them were not launched under every tool",
            "  another was launched instead of 1, initcheck: fewer counters for GPUs with less shared memory",
            "5 passed, 0 failed, 0 skipped",
            launched=f"{KERNELS[2]} {more}",
        )

    def test_without_a_list_of_kernels_the_comparison_fails(self):
        (self.objects / "a.cu.o.ptxas").unlink()
        self.expect(1, "the kernels that are built could not be listed:", "4 passed, 1 failed, 0 skipped")
        (self.objects / "a.cu.o").unlink()
        self.expect(1, "  no kernel was found", "4 passed, 1 failed, 0 skipped")

    def test_without_a_gpu_all_is_skipped(self):
        self.expect(0, "skipped: no usable GPU", "0 passed, 0 failed, 5 skipped", without_gpu="3")

    def test_is_interrupted_with_all_that_it_started(self):
        started = self.sanitize("--tools=racecheck", found="nothing")
        while started.poll() is None and not (self.scratch / "logs/racecheck.1.log").exists():
            time.sleep(0.01)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=60)
        self.assertEqual(started.returncode, 130)

    def test_refuses_what_it_does_not_know(self):
        there_are = "there are memcheck, racecheck, initcheck, synccheck"
        self.expect(2, f"tests/sanitize: error: unknown tool leakcheck; {there_are}", options=["--tools", "memcheck,leakcheck"])
        self.expect(2, "tests/sanitize: error: --limit takes a number above 0, not '0.0'", options=["--limit=0"])
        self.expect(2, "tests/sanitize: error: unrecognized arguments: --unheard", options=["--unheard"])
        (self.build / "tests/rungs_gpu_tests").unlink()
        self.expect(2, f"tests/sanitize: error: {self.build}/tests/rungs_gpu_tests is not there: build it first")


if __name__ == "__main__":
    unittest.main()
