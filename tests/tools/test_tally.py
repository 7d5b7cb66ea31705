import unittest
from xml.etree.ElementTree import ParseError

from scratch import InScratch
from tally import Counts, Program, judge, read_junit, read_summary, tally

GOOGLETEST = """[==========] Running 6 tests from 2 test suites.
[----------] 6 tests from a
[       OK ] a.passes (0 ms)
[  SKIPPED ] a.is_skipped (0 ms)
[  FAILED  ] a.fails (0 ms)
[==========] 6 tests from 2 test suites ran. (3 ms total)
[  PASSED  ] 3 tests.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] a.is_skipped
[  SKIPPED ] a.is_skipped_too
[  FAILED  ] 1 test, listed below:
[  FAILED  ] a.fails

 1 FAILED TEST
"""

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<!-- by hand, in CTest's form -->
<testsuite name="Linux-c++"
	tests="4" timestamp="2026-11-21T07:55:05">
	<testcase name="examination" classname="examination" time="0.1" status="run">
		<properties/>
		<system-out>a &lt; b &amp;&amp; c
2 passed, 0 failed, 0 skipped
</system-out>
	</testcase>
	<testcase name="con&quot;sumer" time="0.1" status="fail">
		<failure message="5 > 4"/>
		<system-out><![CDATA[[  PASSED  ] <1>]]></system-out>
	</testcase>
	<testcase name='gone' time="0" status="notrun"><skipped message=""/><system-out>Disabled</system-out></testcase>
	<testcase name="empty" status="run" />
</testsuite>
"""


class Summary(unittest.TestCase):
    def expect(self, expected, *outputs):
        for output in outputs:
            with self.subTest(output):
                self.assertEqual(read_summary(output), expected)

    def test_of_ours_is_a_whole_line_and_the_last_one_counts(self):
        self.expect((4, 1, 0), "memcheck: clean\n4 passed, 1 failed, 0 skipped\n")
        self.expect((2, 0, 3), "1 passed, 0 failed, 0 skipped\n2 passed, 0 failed, 3 skipped", "50%\r2 passed, 0 failed, 3 skipped\r\n")
        self.expect(None, "so 4 passed, 1 failed, 0 skipped\n", "4 passed, 1 failed, 0 skipped.\n", "-4 passed, 1 failed, 0 skipped\n")

    def test_of_googletest(self):
        self.expect((3, 1, 2), GOOGLETEST)
        self.expect((1, 0, 0), "[==========] 1 test from 1 test case ran. (0 ms total)\n[  PASSED  ] 1 test.\n")
        self.expect((0, 0, 0), "[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.\n")
        self.expect(None, "[==========] Running 6 tests from 2 test suites.\n")  # it died
        self.expect((7, 0, 0), GOOGLETEST + "7 passed, 0 failed, 0 skipped\n")

    def test_of_pytest(self):
        self.expect((41, 0, 0), "............ [100%]\n41 passed in 8.15s\n")
        self.expect(
            (41, 2, 2), "==== 1 failed, 41 passed, 2 skipped, 1 deselected, 3 warnings, 1 error in 68.15s (0:01:08) ===="
        )
        self.expect((1, 3, 1), "1 passed, 1 xfailed, 1 xpassed, 2 errors in 0.1s")
        self.expect(None, "no tests ran in 0.01s\n", "41 passed\n", "3 houses in 5s\n")

    def test_of_unittest(self):
        self.expect((41, 0, 0), ".....\nRan 41 tests in 0.104s\n\nOK\n")
        self.expect((0, 1, 0), "Ran 1 test in 0.104s\n\nFAILED (errors=1)\n")
        self.expect(
            (3, 4, 3), "Ran 10 tests in 1.000s\n\nFAILED (failures=1, errors=2, skipped=2, expected failures=1, unexpected successes=1)\n"
        )
        self.expect((0, 0, 0), "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n")
        self.expect(None, "OK\n", "Ran 3 tests in 0.104s\n", "Ran 3 tests in 0.104s\nso\nOK\n")


class Judgement(unittest.TestCase):
    def test_a_program_without_a_summary_is_one_test(self):
        self.assertEqual(judge("fine\n", "passed"), (1, 0, 0))
        self.assertEqual(judge("", "failed"), (0, 1, 0))
        self.assertEqual(judge("", "skipped"), (0, 0, 1))

    def test_the_exit_status_is_not_forgotten(self):
        self.assertEqual(judge("3 passed, 0 failed, 0 skipped", "failed"), (3, 1, 0))
        self.assertEqual(judge("3 passed, 2 failed, 0 skipped", "failed"), (3, 2, 0))
        self.assertEqual(judge("0 passed, 0 failed, 0 skipped", "skipped"), (0, 0, 1))


class JUnitFile(unittest.TestCase):
    def test_is_read(self):
        self.assertEqual(
            read_junit(JUNIT.encode()),
            [
                Program("examination", "a < b && c\n2 passed, 0 failed, 0 skipped\n", "passed", False),
                Program('con"sumer', "[  PASSED  ] <1>", "failed", False),
                Program("gone", "Disabled", "skipped", False),
                Program("empty", "", "passed", False),
            ],
        )
        [program] = read_junit(b"<a b='&#65;&#x42;'><testcase name='&#65;&#x42;&#8364;'/></a>")
        self.assertEqual(program.name, "AB€")

    def test_that_was_cut_off_anywhere_is_refused(self):
        for size in range(JUNIT.index("</testsuite>") + len("</testsuite>")):
            with self.subTest(size), self.assertRaises(ParseError):
                read_junit(JUNIT[:size].encode())

    def test_that_is_none_is_refused(self):
        for bad in ("", "plain text", "<a></b>", "<a b></a>", "<a b=c></a>", "<a>&nbsp;</a>", "<a>&#xyz;</a>", "<a></a></a>", "< a/>"):
            with self.subTest(bad), self.assertRaises(ParseError):
                read_junit(bad.encode())


class Folder(InScratch):
    def write(self, **files):
        for name, content in files.items():
            self.put(name.replace("__", "."), content)

    def test_is_the_sum_of_its_programs(self):
        self.write(
            host__xml=JUNIT,
            host__report__log="12 passed in 3.00s\n",
            host__report__status="0\n",
            gpu__catalog__log=GOOGLETEST,
            gpu__catalog__status="1\n",
            gpu__unheard__log="",
            gpu__unheard__status="77\n",
        )
        total, remarks = tally(self.scratch, False)
        self.assertEqual(total, (2 + 1 + 12 + 3, 1 + 1, 1 + 2 + 1))
        self.assertEqual(remarks, ['con"sumer: 1 failed', "gpu.catalog: 1 failed"])

    def test_where_a_gpu_is_required_what_was_skipped_on_it_failed(self):
        self.write(
            gpu__xml='<testsuite><testcase name="instrument" status="notrun"/></testsuite>',
            host__xml='<testsuite><testcase name="consumer" status="notrun"/></testsuite>',
            gpu__catalog__log="no usable GPU: none found\n" + GOOGLETEST,
            gpu__catalog__status="1\n",
        )
        self.assertEqual(tally(self.scratch, False)[0], (3, 1, 4))
        total, remarks = tally(self.scratch, True)
        self.assertEqual(total, (3, 4, 1))
        self.assertEqual(
            remarks, ["instrument: 1 skipped, but a GPU is required", "gpu.catalog: 2 skipped, but a GPU is required"]
        )

    def test_where_a_gpu_is_required_other_reasons_to_skip_remain(self):
        self.write(gpu__catalog__log="needs compute capability 9.0\n" + GOOGLETEST, gpu__catalog__status="1\n")
        self.assertEqual(tally(self.scratch, True)[0], tally(self.scratch, False)[0])

    def test_with_nothing_in_it_is_a_failure(self):
        self.assertEqual(tally(self.scratch, False)[0], Counts(failed=1))
        self.assertEqual(tally(self.scratch / "missing", False)[0], Counts(failed=1))
        self.write(gpu__xml='<testsuite name="(empty)" tests="0"/>')
        self.assertEqual(tally(self.scratch, False)[1], ["no test was run"])

    def test_with_an_unreadable_file_is_a_failure(self):
        self.write(host__xml='<testsuite><testcase name="a" status="run"/>', gpu__catalog__log="5 passed, 0 failed, 0 skipped\n")
        total, remarks = tally(self.scratch, False)
        self.assertEqual(total, (0, 2, 0))
        self.assertRegex(remarks[0], "^host.xml: no element found")
        self.assertEqual(remarks[1:], ["gpu.catalog.log: its exit status is not beside it"])


if __name__ == "__main__":
    unittest.main()
