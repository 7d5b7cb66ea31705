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
AGAINST = re.compile(r"\bAgainst (?:(\w+)/)?\d+_(\w+)[^:.]*: ")
END = re.compile(r" (?:Against (?:\w+/)?\d+_|Source: |Did not help)")
LOAD = re.compile(r"loads of (\d+) bits")
SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])")
PRICE = re.compile(r"But |In exchange|The price |At the price|Random ones|Now |If ")  # what must not be lost of a reason
ENOUGH = 400  # characters of a reason; what tells the price comes on top

# What moved, in the order in which it is told, and by which factor at least.
KERNELS, BYTES, DRAM, ATOMICS = "kernels a call", "DRAM read and written", "DRAM busy", "atomics in L2"
WAITS, WIDTH, SEEN = "what warps wait for", "bits of the widest load", "warps seen"
IN_CODE = {"barriers": 1.5, "shared loads": 2, "shared atomics": 1.5, "shuffles": 2, "matches": 1.5}
FACTORS = {BYTES: 1.1, DRAM: 1.1, ATOMICS: 1.5, SEEN: 1.2}
MOST = 5  # more would not be read

STALLS = {
    "long_scoreboard": "global memory", "short_scoreboard": "shared memory or what shares its pipe", "barrier": "a barrier", "membar": "a fence",
    "lg_throttle": "room in the queue to global memory", "mio_throttle": "room in the queue to shared memory, shuffles and matches",
    "math_pipe_throttle": "an arithmetic unit", "wait": "the instruction before", "no_instruction": "instructions",
    "no_instructions": "instructions", "sleeping": "the end of a sleep", "branch_resolving": "a branch", "drain": "what was sent to arrive",
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
    """What the comment says against each rung that it names: of each as many sentences as are enough, and all that tell the price."""
    found = []
    for match in AGAINST.finditer(comment):
        rest = comment[match.end() :]
        end = END.search(rest)
        told: list[str] = []
        for sentence in SENTENCE.split(rest[: end.start()] if end else rest):
            if not told or len(" ".join(told)) + len(sentence) < ENOUGH or PRICE.match(sentence):
                told.append(sentence)
        found.append(Reason(match[1] or "", match[2], " ".join(told).strip()))
    return found


def of(root: Path, machine: Machine, cell: Cell, variant: Variant) -> tuple[Variant | None, Reason | None]:
    """The rung of this cell that the source compares a rung with, one of the same ladder first, and what it says; None where it
    names none that was run here."""
    told = given(opening(root, machine.variants[variant]["source"]))
    others = [each for each in compare.contenders(machine, cell) if each.family != compare.YARDSTICKS and each != variant]
    for reason in told:
        if reason.ladder in ("", variant.ladder):
            for each in others:
                if each.rung == reason.against and each[:2] == variant[:2]:
                    return each, reason
    for reason in told:
        for each in others:
            if each.rung == reason.against and each.ladder == (reason.ladder or variant.ladder):
                return each, reason
    return None, told[0] if told else None


def differ(old: float | None, new: float | None, factor: float) -> bool:
    """Whether two figures that are both known are so far apart."""
    if old is None or new is None:
        return False
    low, high = sorted((old, new))
    return high >= factor * low and high > low


def moved(machine: Machine, cell: Cell, old: Variant, new: Variant, code: tuple[Counter[str], Counter[str]]) -> str:
    """What was counted of two rungs and differs: launches, what Nsight Compute saw, and instructions in the code of a kernel."""
    told = []

    def say(name: str, factor: float, before: float | None, after: float | None, form: Any = words.number) -> None:
        if differ(before, after, factor):
            told.append(f"{name} {form(before)} → {form(after)}")

    kernels = [counters.of(machine, cell, each) for each in (old, new)]
    calls = [machine.rows(cell, each)[-1][1].kernels for each in (old, new)]
    say(KERNELS, 1, *calls)
    say(BYTES, FACTORS[BYTES], *(counters.total(each, *counters.DRAM_BYTES) for each in kernels), lambda count: words.byte_size(round(count)))
    say(DRAM, FACTORS[DRAM], *(counters.over_the_call(each, counters.DRAM) for each in kernels), words.percent)
    say(ATOMICS, FACTORS[ATOMICS], *(counters.total(each, *counters.L2_ATOMICS) for each in kernels), counters.whole)
    before, after = (counters.waits(each) for each in kernels)
    if before and after and before[0][0] != after[0][0]:
        (was, share), (now, of_now) = before[0], after[0]
        told.append(f"warps wait for {STALLS.get(was, was)} ({words.percent(100 * share)}) → for {STALLS.get(now, now)} ({words.percent(100 * of_now)})")
    if all(code):
        say(WIDTH, 1, *(max((int(match[1]) for name in each if (match := LOAD.fullmatch(name))), default=None) for each in code))
        for name, factor in IN_CODE.items():
            say(f"{name} in the code", factor, *(each[name] for each in code))
    say(SEEN, FACTORS[SEEN], *(counters.over_the_call(each, counters.RESIDENT) for each in kernels), words.percent)
    whole = all(kernels) and (all(code) or not machine.sass)
    return "; ".join(told[:MOST]) or ("nothing by much" if whole else words.UNKNOWN)


def order(machine: Machine) -> str:
    """What may be told to have moved, in its order."""
    seen, code = bool(machine.counters), bool(machine.sass)
    return words.listed(
        [
            KERNELS, *[f"{BYTES} (by a factor of {FACTORS[BYTES]} or more)", f"{DRAM} ({FACTORS[DRAM]})", f"{ATOMICS} ({FACTORS[ATOMICS]})", WAITS] * seen,
            *[WIDTH, *(f"{name} ({factor})" for name, factor in IN_CODE.items())] * code, *[f"{SEEN} ({FACTORS[SEEN]})"] * seen,
        ]
    )  # fmt: skip
