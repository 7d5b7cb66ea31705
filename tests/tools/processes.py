"""Programs run side by side, under a time limit."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

TIMED_OUT, NOT_STARTED = 124, 127


class Command(NamedTuple):
    words: List[str]  # the program, sought in PATH, and its arguments
    output: Path  # a file for what it prints
    environment: Dict[str, str] = {}  # over this process's own


class Interrupted(Exception):
    pass


async def status_of(command: Command, limit_seconds: Optional[float]) -> int:
    """In a session of its own: the terminal's Ctrl-C does not reach it, and one signal ends it with all that it started."""
    with open(command.output, "wb") as output:
        try:
            child = await asyncio.create_subprocess_exec(
                *command.words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **command.environment},
                start_new_session=True,
            )
        except OSError:
            return NOT_STARTED
    try:
        return await asyncio.wait_for(child.wait(), limit_seconds)
    except asyncio.TimeoutError:
        return TIMED_OUT
    finally:  # also where this is cancelled
        try:
            os.killpg(child.pid, signal.SIGKILL)  # what it started and left, too
        except OSError:
            pass  # nothing of it is left
        await child.wait()


def run_together(commands: List[Command], limit_seconds: Optional[float], ended: Callable[[int, int], None]) -> None:
    """Starts all of them at once, and tells of each as it ends: its index, and its exit status, minus the number of the signal
    that ended it, TIMED_OUT or NOT_STARTED. After `limit_seconds` those that still run are killed with all that they started.
    SIGINT and SIGTERM kill them too, and raise Interrupted then."""

    async def one(index: int) -> None:
        ended(index, await status_of(commands[index], limit_seconds))

    async def together() -> None:
        everything = asyncio.gather(*map(one, range(len(commands))))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, everything.cancel)
        await everything

    try:
        asyncio.run(together())
    except asyncio.CancelledError:
        raise Interrupted from None


def run(command: Command) -> int:
    """One alone, however long it takes."""
    statuses = []
    run_together([command], None, lambda _, status: statuses.append(status))
    return statuses[0]
