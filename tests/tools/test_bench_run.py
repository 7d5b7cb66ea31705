"""bench/run refuses before it builds what the program would refuse."""

import os
import subprocess
import unittest
from pathlib import Path

from scratch import InScratch

RUN = Path(__file__).resolve().parents[2] / "bench" / "run"


class BenchRun(InScratch):
    def run_with(self, *arguments):
        environment = {**os.environ, "RUNGS_BUILD_DIR": str(self.scratch / "build")}
        return subprocess.run([RUN, "--no-build", *arguments], capture_output=True, text=True, env=environment, timeout=60)

    def test_names_an_option_that_is_unknown(self):
        for word in ("--size=1Ki", "--nonsense"):
            done = self.run_with(word)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"bench/run: unknown option {word.split('=')[0]}; --help lists them\n")

    def test_passes_on_every_option_that_its_help_names(self):
        usage = self.run_with("--help").stdout
        words = {line.split()[0].split("=")[0] for line in usage.splitlines() if line.startswith("  --")}
        self.assertGreater(len(words), 25)
        for word in words - {"--help", "--benchmark_..."} | {"--version", "--profile", "--benchmark_time_unit"}:
            if word in ("--no-install", "--no-build", "--no-render"):
                done = self.run_with(word)
            elif word == "--variant":
                (self.scratch / "mine.cuh").touch()
                done = self.run_with(f"{word}={self.scratch}/mine.cuh")
            else:
                done = self.run_with(f"{word}=1")
            self.assertNotIn("unknown option", done.stderr, word)
            self.assertIn("leave out --no-build", done.stderr, word)


if __name__ == "__main__":
    unittest.main()
