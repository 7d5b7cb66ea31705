"""The lesson of a rung: what its source file changes against the one before."""

import difflib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Diff:
    added: int
    removed: int
    lines: tuple[str, ...]


def source(root: Path, relative: str) -> list[str] | None:
    """A source's lines; None for what is missing, unreadable or not in the repository."""
    path = (root / relative).resolve()
    if not relative or not path.is_relative_to(root.resolve()):
        return None
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None


def between(root: Path, before: str, after: str) -> Diff | None:
    old, new = source(root, before), source(root, after)
    if old is None or new is None:
        return None
    lines = tuple(difflib.unified_diff(old, new, before, after, n=2, lineterm=""))
    body = lines[2:]
    return Diff(sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body), lines)


def block(diff: Diff) -> list[str]:
    """The diff as a fenced block; the fence is longer than any in the source."""
    fence = "```"
    while any(fence in line for line in diff.lines):
        fence += "`"
    return [f"{fence}diff", *diff.lines, fence, ""]


def changed(diff: Diff) -> str:
    return f"+{diff.added} −{diff.removed} {'line' if diff.added + diff.removed == 1 else 'lines'}"
