import os
import signal
import time
import unittest
from pathlib import Path

from processes import NOT_STARTED, TIMED_OUT, Command, Interrupted, run, run_together
from scratch import InScratch


class Processes(InScratch):
    def shell(self, script, output="out", **environment):
        return Command(["sh", "-c", script], self.scratch / output, environment)

    def run_together(self, limit_seconds, *commands):
        statuses = {}
        run_together(list(commands), limit_seconds, statuses.__setitem__)
        return statuses

    def test_leave_their_output_and_their_status(self):
        self.assertEqual(run(self.shell("echo to stdout; echo to stderr >&2; exit 86")), 86)
        self.assertEqual((self.scratch / "out").read_text(), "to stdout\nto stderr\n")
        self.assertEqual(run(self.shell("kill -SEGV $$")), -signal.SIGSEGV)
        self.assertEqual(run(Command(["/no/such/program"], self.scratch / "out")), NOT_STARTED)
        self.assertEqual(run(self.shell("cat")), 0)  # nothing comes in

    def test_see_their_own_environment_over_ours(self):
        os.environ.update(RUNGS_PROCESSES_A="a", RUNGS_PROCESSES_B="b")
        script = "env | grep -c '^RUNGS_PROCESSES_B='; echo $RUNGS_PROCESSES_A$RUNGS_PROCESSES_B$RUNGS_PROCESSES_C"
        self.assertEqual(run(self.shell(script, RUNGS_PROCESSES_B="2", RUNGS_PROCESSES_C="3")), 0)
        self.assertEqual((self.scratch / "out").read_text(), "1\na23\n")

    def test_run_side_by_side(self):
        waits_for_the_second = f"until [ -s '{self.scratch}/second' ]; do sleep 0.01; done; exit 1"
        statuses = self.run_together(60, self.shell(waits_for_the_second), self.shell("echo here", "second"))
        self.assertEqual(statuses, {0: 1, 1: 0})

    def test_are_killed_in_time_with_all_that_they_started(self):
        begun = time.monotonic()
        statuses = self.run_together(0.5, self.shell("sh -c 'echo $$; sleep 600' & wait"), self.shell("exit 3", "other"))
        self.assertEqual(statuses, {0: TIMED_OUT, 1: 3})
        self.assertLess(time.monotonic() - begun, 60)
        self.assert_gone(int((self.scratch / "out").read_text()))

    def test_leave_nothing_behind_that_they_started(self):
        self.assertEqual(run(self.shell("sleep 600 & echo $!")), 0)
        self.assert_gone(int((self.scratch / "out").read_text()))

    def assert_gone(self, process):
        stat = Path(f"/proc/{process}/stat")
        for _ in range(500):
            try:
                if ") Z " in stat.read_text():
                    return
            except OSError:
                return
            time.sleep(0.01)
        self.fail(f"process {process} still runs")

    def test_end_with_this_one(self):
        before = signal.getsignal(signal.SIGTERM)
        with self.assertRaises(Interrupted):
            run(self.shell("kill -TERM $PPID; sleep 600"))
        self.assertEqual(signal.getsignal(signal.SIGTERM), before)


if __name__ == "__main__":
    unittest.main()
