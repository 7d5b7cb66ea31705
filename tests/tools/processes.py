"""Programs run side by side, under a time limit."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

TIMED_OUT, NOT_STARTED = 124, 127


class Command(NamedTuple):
    words: List[str]  # the program, sought in PATH, and its arguments
    output: Path  # a file for what it prints
    environment: Dict[str, str] = {}  # over this process's own


class Interrupted(Exception):
    pass


def start(command: Command) -> Optional["subprocess.Popen[bytes]"]:
    """In a session of its own: the terminal's Ctrl-C does not reach it, and one signal ends it with all that it started."""
    with open(command.output, "wb") as output:
        try:
            return subprocess.Popen(
                command.words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **command.environment},
                start_new_session=True,
            )
        except OSError:
            return None


def kill(child: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass  # nothing of it is left


def run_together(commands: List[Command], limit_seconds: float, ended: Callable[[int, int], None]) -> None:
    """Starts all of them at once, and tells of each as it ends: its index, and its exit status, minus the number of the signal
    that ended it, TIMED_OUT or NOT_STARTED. After `limit_seconds` those that still run are killed with all that they started.
    SIGINT and SIGTERM kill them too, and raise Interrupted then."""
    caught: List[int] = []
    before = {number: signal.signal(number, lambda caught_now, _: caught.append(caught_now)) for number in (signal.SIGINT, signal.SIGTERM)}
    running = {}
    try:
        deadline = time.monotonic() + limit_seconds
        for index, command in enumerate(commands):
            child = start(command)
            if child is None:
                ended(index, NOT_STARTED)
            else:
                running[index] = child
        late = False
        while running and not caught:
            late = late or time.monotonic() > deadline
            for index, child in list(running.items()):
                if late:
                    kill(child)
                status = child.poll()
                if status is not None:
                    kill(child)  # what it started and left
                    del running[index]
                    ended(index, TIMED_OUT if late else status)
            time.sleep(0.01)
    finally:
        for child in running.values():
            kill(child)
            child.wait()
        for number, handler in before.items():
            signal.signal(number, handler)
    if caught:
        raise Interrupted


def run(command: Command) -> int:
    """One alone, however long it takes."""
    statuses = []
    run_together([command], float("inf"), lambda _, status: statuses.append(status))
    return statuses[0]
