"""Why a rung gained: what its source says it changed, against which rung, and what of it was counted."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from rungs_report import compare, counters, diffs, words
from rungs_report.data import Cell, Machine, Variant

# In the comment that opens a rung's file: "Against 03_sequential_addressing: half the blocks for the same items, ...".
AGAINST = re.compile(r"\bAgainst (?:(\w+)/)?(?:\d+_)?(\w+)[^:.]*: ")
END = re.compile(r" (?:Against \w|Source: |Did not help)")
LOAD = re.compile(r"loads of (\d+) bits")
SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])")
SHORT = 150  # characters: a second sentence has room beside a first one
MOST = 4  # of what moved: more would not be read

STALLS = {
    "long_scoreboard": "global memory", "short_scoreboard": "shared memory", "barrier": "a barrier", "membar": "a fence",
    "lg_throttle": "room for another access to global memory", "mio_throttle": "room for another access to shared memory",
    "math_pipe_throttle": "an arithmetic unit", "wait": "the instruction before", "no_instruction": "instructions",
    "no_instructions": "instructions", "sleeping": "the end of a sleep", "branch_resolving": "a branch", "drain": "stores to leave",
    "dispatch_stall": "the dispatcher", "imc_miss": "constants", "tex_throttle": "the texture unit", "gmma": "the tensor unit",
}  # fmt: skip


@dataclass(frozen=True)
class Reason:
    ladder: str  # of the rung that it is held against; nothing where it is the same
    against: str
    says: str


def opening(root: Path, source: str) -> str:
    """The comment that opens a source file, as one line."""
    lines = takewhile(lambda line: line.startswith("//"), diffs.source(root, source) or [])
    return " ".join(line.removeprefix("//").strip() for line in lines)


def given(comment: str) -> list[Reason]:
    """What the comment says against each rung that it names: of each the first sentence, and the next if there is room."""
    found = []
    for match in AGAINST.finditer(comment):
        rest = comment[match.end() :]
        end = END.search(rest)
        sentences = SENTENCE.split(rest[: end.start()] if end else rest)
        several = len(sentences) > 1 and len(sentences[0]) + len(sentences[1]) < SHORT
        found.append(Reason(match[1] or "", match[2], " ".join(sentences[: 1 + several]).strip()))
    return found


def of(root: Path, machine: Machine, cell: Cell, variant: Variant) -> tuple[Variant | None, str]:
    """The rung of this cell that the source compares a rung with, one of the same ladder first, and what it says; None where it
    names none that was run here."""
    told = given(opening(root, machine.variants[variant]["source"]))
    others = [each for each in compare.contenders(machine, cell) if each.family != compare.YARDSTICKS and each != variant]
    for same in (True, False):
        for reason in told:
            for each in others:
                if each.rung == reason.against and (each[:2] == variant[:2] if same else each.ladder == (reason.ladder or variant.ladder)):
                    return each, reason.says
    return None, told[0].says if told else ""


def waits(counted: dict[str, float]) -> tuple[str, float] | None:
    """What warps wait for most, and for how much of their time in percent."""
    found = counters.stalls(counted)
    return (found[0][0], 100 * found[0][1]) if found else None


def apart(old: float | None, new: float | None, factor: float) -> bool:
    """Whether two figures that are both known differ by so much."""
    if old is None or new is None:
        return False
    low, high = sorted((old, new))
    return high >= factor * low and high > low


def moved(machine: Machine, cell: Cell, old: Variant, new: Variant, code: tuple[Counter[str], Counter[str]]) -> str:
    """What was counted of two rungs and differs: launches, what Nsight Compute saw, and instructions in the code of a kernel."""
    told = []

    def say(name: str, factor: float, before: float | None, after: float | None, form: Any = words.number) -> None:
        if apart(before, after, factor):
            told.append(f"{name} {form(before)} → {form(after)}")

    kernels = [counters.of(machine, cell, each) for each in (old, new)]
    seen = [counters.longest(each)["counters"] for each in kernels]
    calls = [machine.rows(cell, each)[-1][1].kernels for each in (old, new)]
    say("kernels a call", 1, *calls)
    say("DRAM busy", 1.1, *(each.get(counters.DRAM) for each in seen), words.percent)
    say("atomics in L2", 1.5, *(counters.total(each, *counters.L2_ATOMICS) for each in kernels), counters.whole)
    before, after = (waits(each) for each in seen)
    if before and after and before[0] != after[0]:
        (was, share), (now, of_now) = before, after
        told.append(f"warps wait for {STALLS.get(was, was)} ({words.percent(share)}) → for {STALLS.get(now, now)} ({words.percent(of_now)})")
    if all(code):
        say("bits of the widest load", 1, *(max((int(match[1]) for name in each if (match := LOAD.fullmatch(name))), default=None) for each in code))
        for name, factor in (("barriers", 1.5), ("shared loads", 2), ("shared atomics", 1.5), ("shuffles", 2)):
            say(f"{name} in the code", factor, *(each[name] for each in code))
    say("warps seen", 1.2, *(each.get(counters.RESIDENT) for each in seen), words.percent)
    return "; ".join(told[:MOST]) or ("nothing of it" if all(kernels) else words.UNKNOWN)
