import json
import os
import unittest
from pathlib import Path

import record
from record import compare, from_json, is_good, name, runs_in, to_json, with_pending, with_runs
from scratch import InScratch
from sources import hash_of

ROOT = Path(__file__).resolve().parents[2]
H200 = {"gpu": "NVIDIA H200", "driver": "580.95", "toolkit": "13.0"}


def what(*words):
    return dict(zip(record.IDENTITY, words))


WARP = what("handwritten", "reductions", "warp_shuffle", "reduce", "plus", "f32", "f32")
BYTES = what("handwritten", "reductions", "vector_loads", "reduce", "plus", "u8", "u32")
COPY = what("library_baselines", "roofs", "copy", "copy", "", "f32", "")
ACROSS = what("handwritten", "across", "one_shot", "all_reduce", "plus", "f32", "f32")
GONE = what("handwritten", "reductions", "gone", "reduce", "plus", "f32", "f32")


def now(subject, hash_now):
    return {**subject, "hash": hash_now}


def passed(subject, hash_then, cases=1):
    return {**subject, "hash": hash_then, "outcome": "passed", "cases": cases, **H200}


def pending(subject, hash_then):
    return record.pending(now(subject, hash_then))


class GpuRecord(unittest.TestCase):
    def test_survives_writing_and_reading(self):
        text = to_json([passed(WARP, "0123456789abcdef", 130), pending(BYTES, "fedcba9876543210")])
        self.assertEqual(text.count("\n"), 4)  # a line an entry
        self.assertEqual(to_json(from_json(text, "x")), text)
        self.assertEqual(from_json(to_json([]), "x"), [])

    def test_that_is_committed_is_written_as_it_was_read(self):
        committed = ROOT / "tests" / "gpu_record.json"
        self.assertEqual(to_json(record.read(committed)), committed.read_text())

    def test_names_are_those_of_the_tests(self):
        self.assertEqual(name(WARP), "handwritten/reductions/warp_shuffle/plus/f32")
        self.assertEqual(name(BYTES), "handwritten/reductions/vector_loads/plus/u8_u32")
        self.assertEqual(name(COPY), "library_baselines/roofs/copy/copy/f32")
        self.assertEqual(name(ACROSS), "handwritten/across/one_shot/all_reduce/plus/f32")
        scan = dict(WARP, operation="inclusive_scan")
        self.assertEqual(name(scan), "handwritten/reductions/warp_shuffle/inclusive_scan/plus/f32")

    def test_refuses_bad_files_with_their_name(self):
        good = to_json([passed(WARP, "00")])
        changes = (
            ('"passed"', '"perhaps"'),
            ("record/1", "record/9"),
            ('"cases":1', '"cases":0'),
            ('"cases":1', '"cases":"1"'),
            ("NVIDIA H200", ""),
            ('"hash"', '"hush"'),
        )
        spoiled = [good.replace(before, after) for before, after in changes]
        twice = to_json([passed(WARP, "00"), passed(WARP, "00")])
        for bad in ("", "[]", "{}", good[: len(good) // 2], twice, *spoiled):
            with self.subTest(bad), self.assertRaisesRegex(ValueError, "the_file.json"):
                from_json(bad, "the_file.json")

    def test_a_missing_stale_or_superfluous_line_is_bad_and_a_pending_one_is_counted(self):
        tree = [now(WARP, "aa"), now(BYTES, "bb")]
        both = [passed(WARP, "aa"), passed(BYTES, "bb")]
        for entries, good, kinds in (
            (both, True, {"passed": [WARP, BYTES]}),
            ([], False, {"missing": [WARP, BYTES]}),
            ([passed(WARP, "old"), passed(BYTES, "bb")], False, {"stale": [WARP], "passed": [BYTES]}),
            ([pending(WARP, "old"), passed(BYTES, "bb")], False, {"stale": [WARP], "passed": [BYTES]}),
            ([pending(WARP, "aa"), passed(BYTES, "bb")], True, {"pending": [WARP], "passed": [BYTES]}),
            ([*both, passed(COPY, "cc")], False, {"passed": [WARP, BYTES], "not built any more": [COPY]}),
        ):
            state = compare(entries, tree)
            self.assertEqual(state, {kind: list(map(name, kinds.get(kind, []))) for kind in record.KINDS})
            self.assertEqual(is_good(state), good)

    def test_pending_heals_what_check_refuses_and_touches_nothing_else(self):
        tree = [now(WARP, "aa"), now(BYTES, "bb"), now(COPY, "cc")]
        healed = with_pending([passed(GONE, "dd"), passed(BYTES, "bb", 7), passed(WARP, "old")], tree)
        self.assertEqual(healed, [pending(WARP, "aa"), passed(BYTES, "bb", 7), pending(COPY, "cc")])
        self.assertTrue(is_good(compare(healed, tree)))

    def test_a_run_enters_what_passed_and_never_what_was_skipped(self):
        tree = [now(WARP, "aa"), now(BYTES, "bb"), now(COPY, "cc")]
        runs = {name(WARP): 130, name(BYTES): 0}
        after = with_runs([passed(COPY, "cc", 5), passed(WARP, "old")], tree, runs, H200)
        self.assertEqual(after, [passed(WARP, "aa", 130), pending(BYTES, "bb"), passed(COPY, "cc", 5)])  # skipped: as it was
        self.assertEqual(with_runs([], tree, {}, H200), [])

    def test_takes_its_runs_from_the_catalogs_tests_in_a_summary(self):
        tests = [
            {"name": "catalog.a", "cases": 3},
            {"name": "catalog.b", "cases": 2, "failures": [{"failure": "n=1: 2, not 3"}]},
            {"name": "catalog.c", "cases": 0, "skipped": [{"message": "no usable GPU"}]},
            {"name": "wrong.a", "cases": 1},
        ]
        self.assertEqual(runs_in({"testsuites": [{"testsuite": tests}]}), {"a": 3, "b": 0})  # what was skipped is not among them


    def test_summaries_are_merged_with_their_counts(self):
        one = {"tests": 3, "failures": 1, "skipped": 1, "machine": H200, "testsuites": [{"testsuite": [{"name": "catalog.a", "cases": 3}]}]}
        other = {"tests": 2, "failures": 0, "skipped": 0, "machine": {}, "testsuites": [{"testsuite": [{"name": "catalog.b", "cases": 2}]}]}
        both = record.merged([one, other])
        self.assertEqual(runs_in(both), {"a": 3, "b": 2})
        self.assertEqual((both["tests"], both["passed"], both["failures"], both["skipped"]), (5, 3, 1, 1))
        self.assertEqual(both["machine"], H200)
        self.assertEqual(record.merged([one]), one)


# Pretends to be rungs_gpu_tests: lists $RECORDS, and passes all that are wanted of them.
PROGRAM = """#!/bin/sh
printf '%s\\n' "$*" >>"$SCRATCH/told"
for argument in "$@"; do
  case $argument in
    --list-records) cat "$SCRATCH/listing" && exit ;;
    --records=*) cp "${argument#*=}" "$SCRATCH/wanted" ;;
    --summary=*) cp "$SCRATCH/ran" "${argument#*=}" ;;
  esac
done
echo '1 passed, 0 failed, 0 skipped'
exit "$STATUS"
"""

# Pretends to be rungs_across_tests, likewise.
ACROSS_PROGRAM = PROGRAM.replace('"$SCRATCH/', '"$SCRATCH/across_').replace("1 passed", "2 passed").replace("$STATUS", "$ACROSS_STATUS")


class Command(InScratch):
    """tests/record, over programs that only pretend."""

    SOURCE = "handwritten/rungs/reductions/06_warp_shuffle.cuh"
    ACROSS_SOURCE = "handwritten/rungs/across/02_one_shot.cuh"

    def setUp(self):
        super().setUp()
        self.file = self.scratch / "gpu_record.json"
        self.put("tests/rungs_gpu_tests", PROGRAM, 0o755)
        records = [{**WARP, "source": self.SOURCE}, {**BYTES, "source": self.SOURCE}]
        self.put("listing", json.dumps({"compile_flags": "-O3", "records": records}))
        tests = [{"name": f"catalog.{name(WARP)}", "cases": 9}]
        counts = {"tests": 1, "failures": 0, "skipped": 0}
        self.put("ran", json.dumps({"machine": H200, **counts, "testsuites": [{"testsuite": tests}]}))
        self.hash = hash_of(ROOT, self.SOURCE, "-O3")

    def put_across(self):
        self.put("tests/rungs_across_tests", ACROSS_PROGRAM, 0o755)
        self.put("across_listing", json.dumps({"compile_flags": "-O3", "records": [{**ACROSS, "source": self.ACROSS_SOURCE}]}))
        tests = [{"name": f"catalog.{name(ACROSS)}", "cases": 40}, {"name": "AcrossGpus.CountersWrap", "cases": 0}]
        counts = {"tests": 2, "failures": 0, "skipped": 0}
        self.put("across_ran", json.dumps({"machine": H200, **counts, "testsuites": [{"testsuite": tests}]}))
        return hash_of(ROOT, self.ACROSS_SOURCE, "-O3")

    def expect(self, status, text, *arguments, ends_with=0, across_ends_with=0):
        environment = dict(os.environ, SCRATCH=str(self.scratch), STATUS=str(ends_with), ACROSS_STATUS=str(across_ends_with))
        self.assertIn(text, self.printed(status, ROOT / "tests" / "record", "--build", self.scratch, *arguments, **environment))

    def told(self):
        return (self.scratch / "told").read_text().splitlines()

    def test_checks_and_enters_as_pending(self):
        self.expect(1, f"  missing: {name(WARP)}\n", "check", str(self.file))
        self.expect(0, "GPU record: 0 passed, 2 pending, 0 stale, 0 missing, 0 not built any more\n", "pending", str(self.file))
        self.expect(0, f"  pending: {name(BYTES)}\n", "check", str(self.file))
        record.write(self.file, [passed(WARP, self.hash), passed(BYTES, "old"), passed(COPY, "cc")])
        self.expect(1, "GPU record: 1 passed, 0 pending, 1 stale, 0 missing, 1 not built any more\n", "check", str(self.file))

    def test_rungs_across_gpus_are_missing_stale_or_pending_like_others(self):
        hash_now = self.put_across()
        self.expect(1, f"  missing: {name(ACROSS)}\n", "check", str(self.file))
        self.expect(0, "GPU record: 0 passed, 3 pending, 0 stale, 0 missing, 0 not built any more\n", "pending", str(self.file))
        self.assertEqual(record.read(self.file)[-1], pending(ACROSS, hash_now))
        entries = [passed(WARP, self.hash), passed(BYTES, self.hash)]
        record.write(self.file, [*entries, passed(ACROSS, "old")])
        self.expect(1, f"  stale: {name(ACROSS)}\n", "check", str(self.file))
        record.write(self.file, [*entries, passed(ACROSS, hash_now)])
        self.expect(0, "GPU record: 3 passed, 0 pending, 0 stale, 0 missing, 0 not built any more\n", "check", str(self.file))
        (self.scratch / "tests" / "rungs_across_tests").unlink()
        self.expect(1, f"  not built any more: {name(ACROSS)}\n", "check", str(self.file))

    def test_one_run_enters_both_programs(self):
        hash_now = self.put_across()
        record.write(self.file, [passed(BYTES, self.hash, 7)])
        end = f"3 passed, 0 failed, 0 skipped\nentered into {self.file}\n"
        self.expect(0, end, "run", "--record", str(self.file), "--changed", "--full", "--gtest_filter=*")
        self.assertEqual((self.scratch / "wanted").read_text(), name(WARP) + "\n")
        self.assertEqual((self.scratch / "across_wanted").read_text(), name(ACROSS) + "\n")
        told = (self.scratch / "across_told").read_text().splitlines()[-1]
        self.assertRegex(told, "^--gtest_filter=\\* --records=.* --summary=.* --require-gpu$")  # and not what it does not know
        self.assertEqual(
            record.read(self.file), [passed(WARP, self.hash, 9), passed(BYTES, self.hash, 7), passed(ACROSS, hash_now, 40)]
        )

    def test_a_failure_of_either_program_is_one(self):
        self.put_across()
        self.expect(1, "2 passed", "run", across_ends_with=1)
        self.expect(5, "2 passed", "run", ends_with=5)
        summary = self.scratch / "both.json"
        self.expect(0, "3 passed, 0 failed, 0 skipped\n", "run", "--summary", str(summary))
        self.assertEqual(runs_in(json.loads(summary.read_text())), {name(WARP): 9, name(ACROSS): 40})

    def test_parts_of_runs_leave_the_rungs_across_gpus_out(self):
        self.put_across()
        for part in ("--case=n=1", "--sanitizer", "--help"):
            self.expect(0, "1 passed", "run", part)
        self.assertFalse((self.scratch / "across_told").exists())

    def test_an_empty_catalog_is_refused(self):
        self.put("listing", '{"compile_flags": "", "records": []}')
        self.expect(1, "tests/record: the catalog is empty\n", "check", str(self.file))

    def test_runs_what_is_not_as_recorded_and_enters_it(self):
        record.write(self.file, [passed(WARP, "old"), passed(BYTES, self.hash, 7)])
        self.expect(0, f"1 passed, 0 failed, 0 skipped\nentered into {self.file}\n", "run", "--record", str(self.file), "--changed", "--full")
        self.assertEqual((self.scratch / "wanted").read_text(), name(WARP) + "\n")
        self.assertRegex(self.told()[-1], "^--full --records=.* --summary=.* --require-gpu$")
        self.assertEqual(record.read(self.file), [passed(WARP, self.hash, 9), passed(BYTES, self.hash, 7)])

    def test_enters_nothing_unless_asked_to(self):
        self.expect(1, "1 passed", "run", "--gtest_filter=catalog.*", "--seed", "5", ends_with=1)
        self.assertEqual(self.told(), ["--gtest_filter=catalog.* --seed 5"])

    def test_enters_nothing_without_a_gpu(self):
        (self.scratch / "ran").unlink()
        self.expect(3, "tests/record: a record can only be written on a GPU\n", "run", "--record", str(self.file), ends_with=3)
        self.assertFalse(self.file.exists())

    def test_enters_whole_runs_only(self):
        for part in ("--case=n=1", "--sanitizer", "--in-process"):
            self.expect(2, "--record takes whole runs only", "run", "--record", str(self.file), part)


if __name__ == "__main__":
    unittest.main()
