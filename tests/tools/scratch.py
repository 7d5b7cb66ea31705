"""What the tests of the tools share."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path


class InScratch(unittest.TestCase):
    """Each test has a folder of its own, which goes when it ends."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def put(self, file, text="", mode=0o644):
        path = self.scratch / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def start(self, tool, *arguments, **environment):
        """A tool in Python, and what it prints."""
        command = [sys.executable, "-B", str(tool), *map(str, arguments)]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "universal_newlines": True}
        return subprocess.Popen(command, env=environment or None, **streams)

    def printed(self, status, tool, *arguments, **environment):
        """What a tool printed that ended with this status."""
        started = self.start(tool, *arguments, **environment)
        text, _ = started.communicate()
        self.assertEqual(started.returncode, status, text)
        return text
