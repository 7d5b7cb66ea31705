"""report/run export: the rung for one problem as one header that includes nothing of this project."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rungs_report import compare, front_door, words
from rungs_report.data import Cell, Collection, Machine, Row, Unusable, Variant

INCLUDE_ROOTS = ("handwritten", "cluster")
CALLS = {
    "reduce": "d_in, d_out, num_items, rungs::{}{{}}, init",
    "inclusive_scan": "d_in, d_out, rungs::{}{{}}, num_items",
    "exclusive_scan": "d_in, d_out, rungs::{}{{}}, init, num_items",
    "histogram_even": "d_samples, d_histogram, num_levels, lower_level, upper_level, num_samples",
    "histogram_range": "d_samples, d_histogram, num_levels, d_levels, num_samples",
    "multi_histogram_even": "d_samples, d_histogram, num_levels, lower_level, upper_level, num_pixels",
}
OPERATIONS = {"scan": "inclusive_scan", "histogram": "histogram_even"} | {operation: operation for operation in CALLS}
OPERATORS = {"sum": "plus", "plus": "plus", "min": "minimum", "minimum": "minimum", "max": "maximum", "maximum": "maximum"}
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# An include of this project's, or a system's.
OWN, SYSTEM = re.compile(r'#include "(rungs/[^"]+)"\s*'), re.compile(r"#include <[^>]+>\s*")


@dataclass(frozen=True)
class Question:
    operation: str
    operator: str
    types: tuple[str, ...]  # input, or input and accumulator
    items: int
    bins: int | None
    contract: str | None  # None: whatever it asks of its workspace
    repeatable: bool
    measured: bool = False  # the fastest at the nearest size that was measured, and not what the front door takes

    @property
    def counts(self) -> bool:
        return "histogram" in self.operation


@dataclass(frozen=True)
class Winner:
    machine: Machine
    cell: Cell
    variant: Variant
    row: Row
    ratio: compare.Ratio | None
    by_table: bool = False

    @property
    def facts(self) -> dict:
        return self.machine.variants[self.variant]


def number_of(text: str, what: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([kmg]?)i?", text.strip().lower())
    if not found or int(found[1]) == 0:
        raise Unusable(f"{what}={text} is no number of 1 or more, such as 4Mi or 1000000")
    return int(found[1]) * UNITS[found[2]]


def question(terms: list[str], contract: str | None = None, repeatable: bool = False, measured: bool = False) -> Question:
    """Of `reduce sum f32 n=4Mi`, `scan sum u8:u32 n=16Mi` or `histogram u8 n=1Mi bins=256`."""
    if not terms or terms[0] not in OPERATIONS:
        raise Unusable(f"the first word is the operation, one of {', '.join(OPERATIONS)}")
    operation = OPERATIONS[terms[0]]
    plain = [term for term in terms[1:] if "=" not in term]
    values = dict(term.split("=", 1) for term in terms[1:] if "=" in term)
    counts = "histogram" in operation
    unknown = set(values) - ({"n", "bins"} if counts else {"n"})
    if unknown:
        raise Unusable(f"{sorted(unknown)[0]}= is not known here; a size is given as n=4Mi{', bins as bins=256' if counts else ''}")
    if "n" not in values:
        raise Unusable("how many items? Say n=4Mi, for instance")
    operator = ""
    if not counts:
        if not plain or plain[0] not in OPERATORS:
            raise Unusable(f"the second word is the operator, one of {', '.join(OPERATORS)}")
        operator = OPERATORS[plain.pop(0)]
    if len(plain) != 1:
        raise Unusable("one type, please: f32, or u8:u32 where the accumulator differs")
    bins = number_of(values["bins"], "bins") if "bins" in values else 256 if counts else None
    return Question(operation, operator, tuple(plain[0].split(":")), number_of(values["n"], "n"), bins, contract, repeatable, measured)


def asked_for(cell: Cell, asked: Question, mode: str = "cold", any_type: bool = False) -> bool:
    if cell.mode != mode or cell.operation != asked.operation:
        return False
    if asked.counts:
        return (any_type or cell.input_type == asked.types[0]) and cell.sizes.get("bins") == asked.bins
    return cell.operator == asked.operator and (any_type or (cell.input_type, cell.accumulator_type)[: len(asked.types)] == asked.types)


def allowed(machine: Machine, asked: Question, variant: Variant) -> bool:
    """Whether it is a rung, and keeps the conditions."""
    entry = machine.variants[variant]
    return (
        variant.family in INCLUDE_ROOTS
        and not entry.get("source", "").startswith("best/")  # the front door chooses among the others
        and compare.is_ours(machine, variant)
        and (asked.contract is None or entry["workspace_contract"] in ("none", asked.contract))
        and not (asked.repeatable and (variant in machine.unsteady or not entry["deterministic"]))
    )


def problems(machine: Machine, asked: Question) -> list[Cell]:
    found = [cell for cell in machine.cells if machine.is_problem(cell) and asked_for(cell, asked)]
    if not found:
        raise Unusable(f"{machine.gpu} has no cold measurement of {describe(asked)}; there are {', '.join(there_are(machine, asked))}")
    return found


def nearest(found: list[Cell], asked: Question) -> list[Cell]:
    """The cells of the size nearest to what was asked for, by their ratio: one, or a histogram's distributions."""
    size = min((cell.items for cell in found), key=lambda n: (max(n, asked.items) / min(n, asked.items), n))
    return [cell for cell in found if cell.items == size]


def describe(asked: Question) -> str:
    of = f"{asked.bins} bins of {asked.types[0]}" if asked.counts else f"{asked.operator} of {':'.join(asked.types)}"
    return f"{asked.operation}, {of}"


def there_are(machine: Machine, asked: Question) -> list[str]:
    cells = [cell for cell in machine.cells if cell.mode == "cold" and cell.operation == asked.operation and machine.is_problem(cell)]
    if asked.counts:
        return sorted({f"{cell.input_type} with {cell.sizes.get('bins')} bins" for cell in cells})
    return sorted({f"{cell.operator} of {cell.input_type}" for cell in cells})


def winner(machine: Machine, asked: Question, root: Path | None = None) -> Winner:
    """The rung that the front door takes by its tables under `root`. Where it has none, where that rung does not keep the conditions
    or was not measured, and where measurements are to decide: the rung that ranks first, as on every page, at the nearest size that
    was measured; of a histogram, whose samples are not known, the one whose lowest speed-up over the distributions is highest."""

    def best(cells: list[Cell], candidates: set[Variant], by_table: bool) -> Winner:
        chosen = max(candidates, key=lambda variant: compare.rank_over(machine, cells, variant))
        own = [cell for cell in cells if chosen in compare.contenders(machine, cell)]
        worst = min(own, key=lambda cell: getattr(compare.measured(machine, cell, chosen), "value", 0.0))
        row = next(row for run, row in reversed(machine.rows(worst, chosen)))
        return Winner(machine, worst, chosen, row, compare.measured(machine, worst, chosen), by_table)

    all_cells = problems(machine, asked)
    if root is not None and not asked.measured and machine.device:
        capability = int(machine.device["compute_capability"])
        taken = front_door.rung(root, asked.operation, asked.operator, asked.types[0], asked.items, asked.bins, capability)
        own = {cell: {v for v in compare.contenders(machine, cell) if v.rung == taken and allowed(machine, asked, v)} for cell in all_cells}
        if cells := nearest(found, asked) if (found := [cell for cell in all_cells if own[cell]]) else []:
            return best(cells, set().union(*(own[cell] for cell in cells)), True)
    cells = nearest(all_cells, asked)
    candidates = {variant for cell in cells for variant in compare.contenders(machine, cell) if allowed(machine, asked, variant)}
    if not candidates:
        raise Unusable(f"no rung measured there keeps these conditions: {describe(asked)}")
    return best(cells, candidates, False)


def machine_of(collection: Collection, gpu: str | None, root: Path | None = None) -> Machine:
    """The GPU that is named; else the only one, or the only one that the front door's tables under `root` were made from."""
    known = {machine.gpu: machine for machine in collection.machines}
    if gpu is None:
        named = front_door.measured_on(root) if root else set()
        meant = list(known.values()) if len(known) == 1 else [machine for machine in known.values() if machine.name in named]
        if len(meant) == 1:
            return meant[0]
    if gpu not in known:
        raise Unusable(f"{'say which GPU with --gpu' if gpu is None else f'no data of {gpu}'}; there are {', '.join(known) or 'none'}")
    return known[gpu]


def flattened(root: Path, source: str) -> tuple[list[str], list[str]]:
    """The source and all of ours that it includes, each once and before whoever needs it; and the system's headers.

    Each file has a guard of its own, so that two exported headers can stand in one program.
    """
    system: set[str] = set()
    body: list[str] = []
    seen: set[str] = set()

    def add(path: Path, name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        own: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := OWN.fullmatch(line):
                add(located(root, found[1]), found[1])
            elif SYSTEM.fullmatch(line):
                system.add(line.strip())
            elif line.strip() != "#pragma once":
                own.append(line)
        guard = "RUNGS_EXPORTED_" + re.sub(r"\W", "_", name.removeprefix("rungs/").removesuffix(".cuh")).upper()
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(own)).strip("\n")
        body.extend([f"// ---- {name}", f"#ifndef {guard}", f"#define {guard}", text, f"#endif  // {guard}", ""])

    family, _, name = source.partition("/")
    add(root / source, name if family in INCLUDE_ROOTS else source)
    return body, sorted(system)


def located(root: Path, name: str) -> Path:
    for family in INCLUDE_ROOTS:
        if (path := root / family / name).is_file():
            return path
    raise Unusable(f"{name} is included, but is in none of {', '.join(INCLUDE_ROOTS)}")


def provenance(found: Winner, asked: Question) -> list[str]:
    row, facts, ratio = found.row, found.facts, found.ratio
    run = next(run for run in found.machine.runs if run.name == row.run)
    versions = run.context["versions"]
    size = f"n = {words.size(found.cell.items)}"
    if asked.counts:
        size += f", {asked.bins} bins, samples {found.cell.distribution.replace('_', ' ')} (its least gain)"
    over = "no CUB beside it"
    if ratio:
        over = f"{words.ratio(ratio.value)} the speed of CUB {ratio.cccl} ({words.interval(ratio.low, ratio.high)})"
    error = "" if row.error is None else f", error {words.number(row.error)}"
    repeats = row.repeatable == "yes" and facts["deterministic"]
    lines = [
        f"{found.variant.rung}: {facts['idea']}.",
        "",
        "Generated by `report/run export`, from rungs; change it as you like.",
        "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
        "",
        f"Chosen for {describe(asked)}, n = {words.size(asked.items)}, "
        f"{'as the front door does' if found.by_table else 'as the fastest at the nearest size'}. Measured on {found.machine.name}, {run.name[:10]}, commit "
        f"{row.commit}, driver {versions['driver']}, nvcc {versions['nvcc']}: {size}, cold caches: {words.time(row.median_us)}, "
        f"{over}{error}; {'the same bits every time' if repeats else 'bits may differ from run to run'}.",
        "",
        f"Source: {facts['source']}. From compute capability {facts['min_cc'] / 10:.1f} on, C++17.",
        f"Workspace: {CONTRACTS[facts['workspace_contract']]}",
        f"Call: {call(found, asked)}",
    ]
    wrapped = [part for line in lines for part in textwrap.wrap(line, 116) or [""]]
    return [f"// {line}".rstrip() for line in wrapped]


CONTRACTS = {
    "none": "no byte of d_temp_storage is read or written.",
    "uninitialised": "d_temp_storage may hold anything; a first call with nullptr answers its size.",
    "zeroed_once": "d_temp_storage must be zeros before the first call; each call leaves it ready for the next of the same stream.",
}


def call(found: Winner, asked: Question) -> str:
    namespace = {"cluster": "rungs::cluster::"}.get(found.variant.family, "rungs::") + found.variant.ladder
    function = f"{namespace}::{found.variant.rung}::{asked.operation}"
    if asked.operation == "multi_histogram_even":
        function += "<num_channels, num_active_channels>"
    return f"{function}(d_temp_storage, temp_storage_bytes, {CALLS[asked.operation].format(asked.operator)}, stream)"


def header(collection: Collection, root: Path, asked: Question, gpu: str | None, say: Callable[[str], None]) -> str:
    found = winner(machine_of(collection, gpu, root), asked, root)
    source = root / found.facts["source"]
    if not source.is_file():
        raise Unusable(f"{found.facts['source']} was measured, but is not in {root}")
    body, system = flattened(root, found.facts["source"])
    told = f": {words.ratio(found.ratio.value)} over CUB {found.ratio.cccl}" if found.ratio else ""
    why = "the front door's rung" if found.by_table else "the fastest"
    say(f"{found.variant.family}/{found.variant.rung}, {why}, measured at n = {words.size(found.cell.items)} on {found.machine.name}{told}")
    return "\n".join([*provenance(found, asked), "#pragma once", "", *system, "", *body]).rstrip("\n") + "\n"
