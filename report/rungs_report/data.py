"""Reads result files (SCHEMA.md) and refuses what cannot be believed, with the file's name and the reason.

Two sizes of refusal: a file whose identity is in doubt (not JSON, wrong folder, rows of another GPU) is refused whole; in a
sound file single rows are refused (not verified, implausible, duplicated, a rung still pending). Nothing is repaired, and
every row that came in is accounted for.
"""

import gzip
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from rungs_report import schema
from rungs_report.schema import COLUMNS as COLUMNS

# Beside the results, but none: see sass.py, counters.py and errors.py.
PACKED = ".json.gz"
SASS, SASS_SCHEMA = "sass" + PACKED, "rungs.sass/1"
COUNTERS, COUNTERS_SCHEMA = "counters" + PACKED, "rungs.counters/1"
ACCURACY, ACCURACY_SCHEMA = "accuracy" + PACKED, "rungs.accuracy/1"
FACTS = frozenset(form for name in (SASS, COUNTERS, ACCURACY) for form in (name, name.removesuffix(".gz")))
TORCH = "torch*.json*"  # what python/bench_torch.py writes, of one run or several
ACROSS = "across*.json*"  # what report/run across installs of rungs_across, one for each number of GPUs
BESIDE_ACROSS = "symm_mem*.json*"  # and of python/bench_torch_across.py
INFERENCE = "inference_*.json*"  # what report/run inference installs of rungs_top_k, rungs_sampling and rungs_low_precision, one for each CCCL
BY_KEY = "by_key*.json*"  # what report/run by-key installs of rungs_by_key, one for each CCCL
OTHERS = "others*.json*"  # what report/run others installs of rungs_others, one for each CCCL
SAMPLES = "samples" + PACKED  # and x.samples.json.gz beside x.json: every sample of a run, which the report does not read
EARLIER = "earlier"  # a folder of a GPU's, of runs that newer ones have replaced: no page reads them, the tables may name them
YARDSTICKS = "library_baselines"
ROOFS = "roofs"
HELD_OUT, HISTOGRAMS = "held_out", "histograms"  # runs of other cells than the suite's, each kept to itself

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# What is to be done about what is refused.
AGAIN = "measure again, or take the file away"
FORM = "report/schema.json says what bench writes"
NOTHING = "nothing is to be done"


class Unusable(Exception):
    """What a command cannot go on with: names the thing, and what to do."""


class Refused(Exception):
    """Why a whole file is not believed, and what is to be done about it."""

    rows_in = 0  # rows the file held, where it could be read that far

    def __init__(self, reason: str, todo: str = AGAIN, expected: bool = False) -> None:
        super().__init__(reason)
        self.todo, self.expected = todo, expected


class Cell(NamedTuple):
    """One problem: what contenders must share before they may be compared."""

    operation: str
    operator: str
    input_type: str
    accumulator_type: str
    output_type: str
    shape: str
    distribution: str
    mode: str
    items: int

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of the shape by name: bins=256 is {"bins": 256}."""
        found = (part.partition("=") for part in self.shape.split())
        return {name: int(value) for name, _, value in found if value.isdigit()}

    @property
    def problem(self) -> "Cell":
        """The same problem at no particular size: what a sweep over n holds fixed."""
        return self._replace(items=0)


CELL_OF = itemgetter(*Cell._fields)
TWIN_FIELDS = tuple(name for name in Cell._fields if name != "output_type")  # what a pair of twins says of its cell


class Variant(NamedTuple):
    """A rung's name alone names nothing: reductions and scans both have a warp_shuffle."""

    family: str
    ladder: str
    rung: str


def is_cub(variant: Variant) -> bool:
    return variant.rung.startswith("cub_device")


@dataclass(slots=True)
class Row:
    values: dict[str, Any]
    cell: Cell
    variant: Variant
    position: int = 0  # among the rows of its file

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass
class Fault:
    """A case of a library that has no time because the library was wrong, or refused it: told, and nobody's win."""

    cell: Cell
    variant: Variant
    kind: str  # wrong or refused
    defect: str


@dataclass
class Refusal:
    file: str
    reason: str
    rows: int  # 0 where the file could not be read far enough to count
    whole_file: bool
    expected: bool = False  # work in progress or nothing to measure: told, but no fault
    todo: str = AGAIN
    first: int | None = None  # of the rows

    @classmethod
    def of(cls, file: str, refused: Refused) -> "Refusal":
        return cls(file, str(refused), refused.rows_in, True, refused.expected, refused.todo)

    def __str__(self) -> str:
        """A line for whoever runs a command: the file, its rows, why, and what to do."""
        what = "left out of" if self.expected and not self.whole_file else "refused"
        first = "" if self.first is None else f", first rows[{self.first}]"
        rows = f" ({self.rows} row{'s' * (self.rows != 1)}{first})" if self.rows else ""
        return f"{what} {self.file}: {self.reason}{rows}; {self.todo}"


@dataclass
class Run:
    name: str
    file: str
    document: dict[str, Any]
    rows: list[Row]
    rows_in: int
    twins_in: int = 0
    faults: list[Fault] = field(default_factory=list)

    @cached_property
    def skipped(self) -> list[tuple[Variant, dict[str, Any]]]:
        """What the benchmark left out, by variant; what names no variant of the file counts as a rung of no ladder."""
        by_name = variants_by_name(self.document)
        found = []
        for entry in self.document["skipped"]:
            family, rung = str(entry.get("family") or ""), entry["rung"]
            variant = meant(entry, by_name.get((family, rung), []))
            found.append((variant or Variant(family, str(entry.get("ladder") or ""), rung), entry))
        return found

    @cached_property
    def cells(self) -> dict[Cell, dict[Variant, Row]]:
        found: dict[Cell, dict[Variant, Row]] = {}
        for row in self.rows:
            found.setdefault(row.cell, {})[row.variant] = row
        return found

    @cached_property
    def _noise_floors(self) -> dict[tuple[Any, ...], float]:
        told = (twin for twin in self.document["twins"] if twin["noise_floor"] is not None)
        return {tuple(twin.get(name) for name in TWIN_FIELDS): twin["noise_floor"] for twin in told}

    def noise_floor(self, cell: Cell) -> float | None:
        """What counts as noise in the cell, by its twins: two entries of CUB's that run the same code."""
        return self._noise_floors.get(tuple(getattr(cell, name) for name in TWIN_FIELDS))

    @cached_property
    def widens(self) -> bool:
        """Whether it measured the roofs that make words of bytes and of halves."""
        return any(entry["kind"].startswith("widen_") for entry in self.document["ceilings"])

    @property
    def context(self) -> dict[str, Any]:
        return self.document["context"]

    @cached_property
    def cccl(self) -> str:
        return str(self.context["versions"].get("cccl") or "unknown")

    @property
    def grid(self) -> str:
        return self.context.get("grid") or ""


@dataclass(eq=False)
class Machine:
    """Everything measured on one GPU, or on one CPU where there was none. Not changed once it is read, so what is
    concluded from it may be remembered. A grid's runs are a machine of their own, so that no page takes them for
    the suite's."""

    gpu: str
    runs: list[Run]
    refusals: list[Refusal] = field(default_factory=list)
    sass: dict[Variant, list[dict[str, Any]]] = field(default_factory=dict)  # what the kernels are made of, where sass.json tells
    made_by: dict[str, Any] = field(default_factory=dict)  # from which commit, and by which compiler
    counters: dict[tuple[Cell, Variant], list[dict[str, Any]]] = field(default_factory=dict)  # of a call's kernels, where counters.json tells
    counted_by: dict[str, Any] = field(default_factory=dict)  # with what, and how
    accuracy: dict[str, Any] = field(default_factory=dict)  # errors of sums, where accuracy.json tells
    torch: list[dict[str, Any]] = field(default_factory=list)  # runs beside torch, the earliest first
    across: list[dict[str, Any]] = field(default_factory=list)  # runs across GPUs, the fewest GPUs first
    beside_across: list[dict[str, Any]] = field(default_factory=list)  # torch's, by GPUs likewise
    by_key: list[dict[str, Any]] = field(default_factory=list)  # runs of rungs_by_key, the earliest first
    others: list[dict[str, Any]] = field(default_factory=list)  # and of rungs_others
    inference: list[dict[str, Any]] = field(default_factory=list)  # runs of the programs of inference, likewise
    grids: dict[str, "Machine"] = field(default_factory=dict)

    @cached_property
    def variants(self) -> dict[Variant, dict[str, Any]]:
        """Every variant any run knows, in ladder order, whichever of its rungs a run was built with; the newest run's word
        counts."""
        merged: dict[Variant, dict[str, Any]] = {}
        for run in reversed(self.runs):
            for variant in run.document["variants"]:
                merged.setdefault(Variant(variant["family"], variant["ladder"], variant["rung"]), variant)
        ladders: dict[tuple[str, str], int] = {}
        for variant in merged:
            ladders.setdefault(variant[:2], len(ladders))
        ordered = sorted(merged, key=lambda each: (ladders[each[:2]], merged[each].get("number", -1)))
        return {each: merged[each] for each in ordered}

    @cached_property
    def cells(self) -> list[Cell]:
        return sorted({cell for run in self.runs for cell in run.cells})

    @cached_property
    def order(self) -> dict[Variant, int]:
        return {variant: position for position, variant in enumerate(self.variants)}

    @cached_property
    def labels(self) -> dict[Variant, str]:
        """What a variant is called on its page: its rung, with its family where two families have one rung of this name."""
        named = Counter((variant.ladder, variant.rung) for variant in self.variants)
        return {v: v.rung if named[v.ladder, v.rung] == 1 else f"{v.family}: {v.rung}" for v in self.variants}

    @cached_property
    def problems(self) -> frozenset[Cell]:
        """The cells that are no roofs: something of ours, CUB or a host baseline computes them."""
        return frozenset(
            cell for run in self.runs for cell, rows in run.cells.items() if any(v.ladder != ROOFS for v in rows)
        )

    def is_problem(self, cell: Cell) -> bool:
        return cell in self.problems

    @cached_property
    def widens(self) -> bool:
        return any(run.widens for run in self.runs)

    @cached_property
    def unsteady(self) -> frozenset[Variant]:
        """What did not give the same bits every time, in any case of any run."""
        return frozenset(row.variant for run in self.runs for row in run.rows if row.repeatable == "no")

    @property
    def device(self) -> dict[str, Any] | None:
        return self.runs[-1].context["device"] if self.runs else None

    @property
    def name(self) -> str:
        if not self.runs:
            if studies := self.by_key or self.others or self.inference:
                return str(studies[-1]["device"]["name"])
            return str(self.torch[-1]["environment"]["gpu"] if self.torch else self.across[-1]["devices"][0]["name"])
        context = self.runs[-1].context
        named = context["device"] or context.get("host") or {}
        return str(named.get("name") or named.get("cpu") or self.gpu)

    @cached_property
    def cards(self) -> list[str | None]:
        """On which cards of this model the runs were made, a grid's too; None among them where a run does not tell."""
        devices = [run.context["device"] for own in (self, *self.grids.values()) for run in own.runs]
        return sorted({device.get("card") for device in devices if device}, key=lambda card: card or "")

    @property
    def card(self) -> str | None:
        """The card of all runs; None where there were several, or where a run does not tell."""
        return self.cards[0] if len(self.cards) == 1 else None

    @cached_property
    def sweeps(self) -> dict[Cell, list[Cell]]:
        """The cells of each problem, ascending in n."""
        found: dict[Cell, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.problem, []).append(cell)
        return found

    def rows(self, cell: Cell, variant: Variant) -> list[tuple[Run, Row]]:
        """This variant's row in every run that has it."""
        return [(run, row) for run in self.runs if (row := run.cells.get(cell, {}).get(variant))]

    def sorted_rows(self) -> Iterator[Row]:
        for run in self.runs:
            yield from sorted(run.rows, key=lambda row: (row.cell, self.order[row.variant]))


@dataclass
class Collection:
    machines: list[Machine]
    refusals: list[Refusal]  # of files that belong to no machine's folder, and all others
    rows_in: int
    twins: int
    faults: int = 0  # cases without a time by a library's fault
    without_suite: list[Machine] = field(default_factory=list)  # GPUs with runs beside torch, across GPUs or by key, and none of the suite

    @property
    def rows_out(self) -> int:
        return sum(len(run.rows) for machine in self.machines for own in (machine, *machine.grids.values()) for run in own.runs)

    @property
    def rows_refused(self) -> int:
        return sum(refusal.rows for refusal in self.refusals)

    def accounting(self) -> str:
        faults = f" + {self.faults} where a library was wrong or refused" if self.faults else ""
        return f"{self.rows_in} rows in = {self.rows_out} rows out + {self.twins} twins of CUB{faults} + {self.rows_refused} rows refused"


# ---- reading one file


def _no_constant(token: str) -> float:
    raise Refused(f"holds {token}, which is no JSON number; bench writes null for what it could not read")


def _finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise Refused(f"holds {token}, which is too large for a number")
    return value


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise Refused(f"holds an object with two fields named {repeated!r}")
    return found


def result_files(folder: Path) -> list[Path]:
    """The result files of a folder, packed by gzip or not."""
    found = [*folder.glob("*.json"), *folder.glob(f"*{PACKED}")]
    return sorted(path for path in found if path.name not in FACTS and not path.match(TORCH) and not any(map(path.match, (ACROSS, BESIDE_ACROSS, BY_KEY, OTHERS, INFERENCE))) and not f".{path.name}".endswith(f".{SAMPLES}"))


def facts(folder: Path, name: str) -> Path | None:
    """sass.json.gz, counters.json.gz or accuracy.json.gz of a GPU's folder, packed or not; None where it has none."""
    return next((path for path in (folder / name, folder / name.removesuffix(".gz")) if path.is_file()), None)


def all_result_files(data: Path, earlier: bool) -> list[Path]:
    """Those of every GPU's folder, with those that newer ones have replaced or without, and what lies beside the folders."""
    folders = [*data.glob("*"), *(data.glob(f"*/{EARLIER}") if earlier else [])]
    return [file for folder in (*sorted(filter(Path.is_dir, folders)), data) for file in result_files(folder)]


def gpu_folder(path: Path) -> str:
    """The name of the folder of a GPU's that a result file lies in, be it under `earlier`."""
    return (path.parent.parent if path.parent.name == EARLIER else path.parent).name


def stem(path: Path) -> str:
    """The name of a file without .json or .json.gz."""
    return path.name.removesuffix(".gz").removesuffix(".json")


def parse(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if path.name.endswith(PACKED) else raw
        if not raw.strip():
            raise Refused("is empty")
        document = json.loads(raw.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_no_repeats)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Refused(f"is not gzip, perhaps truncated: {error}") from None
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise Refused(f"is not JSON, perhaps truncated: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        raise Refused(f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise Refused("holds no JSON object")
    return document


def check_document(document: dict[str, Any], folder: str | None, stem: str | None) -> None:
    """The file has the form of report/schema.json, is what it says and, where folder and stem are given, where it says."""
    if fault := schema.fault(document, "results"):
        raise Refused(fault, FORM)
    run, gpu, context, rows = (document[name] for name in ("run", "gpu", "context", "rows"))
    if folder is not None and gpu != folder:
        raise Refused(f"was measured on {gpu} but lies in the folder of {folder}", f"move it into a folder {gpu}")
    if stem not in (None, run):
        raise Refused(f"calls its run {run!r}, but the file's name says {stem!r}", "name the file after its run")
    if not context["device"] and not isinstance(context["host"].get("cpu"), str):
        raise Refused("has neither a device nor a CPU's name", FORM)
    if not rows:
        skipped = bool(document["skipped"])
        raise Refused("has no rows: every case was skipped" if skipped else "has no rows", NOTHING if skipped else AGAIN, skipped)
    for position, row in enumerate(rows):
        if not isinstance(row, dict):
            raise Refused(f"has rows[{position}], which is no object", FORM)
        for key, own in (("gpu", gpu), ("run", run), ("commit", document["commit"])):
            if row.get(key) != own:
                raise Refused(f"is mixed: rows[{position}] says {key} {row.get(key)!r}, the file says {own!r}")


def _row_fault(row: dict[str, Any]) -> tuple[str, str] | None:
    """Why this row has no believable number, and what to do; or None."""
    if row.get("verified") == "no":
        return "was not verified", "its rung gave a wrong result there, and tests/run may tell more"
    if row.get("implausible"):
        return "is implausible: it beat its ceiling", "measure again"
    if fault := schema.row_fault(row):
        return fault, FORM
    fault = _contradiction(row)
    return (fault, FORM) if fault else None


def _contradiction(row: dict[str, Any]) -> str | None:
    """What no schema can ask: whether a row's fields fit each other."""
    if row["samples"] < 1:
        return "has a time without samples"
    if not 0 < row["low_us"] <= row["median_us"] <= row["high_us"]:
        return "has a median outside its own interval"
    rate = row["gb_per_s"]
    if rate and row["bytes"] and abs(rate * row["median_us"] * 1e3 / row["bytes"] - 1) > 0.02:
        return "has a gb_per_s that is not bytes over median_us"
    given = [row[column] is not None for column in ("speedup_over_cub", "speedup_low", "speedup_high")]
    # Of too few samples there is a ratio, but no interval and so no verdict.
    sampled_too_little = given == [True, False, False] and row["verdict"] == "AMBIGUOUS"
    if (any(given) != all(given) and not sampled_too_little) or any(given) != bool(row["verdict"]):
        return "has a speed-up without its interval or verdict"
    if all(given) and not row["speedup_low"] <= row["speedup_over_cub"] <= row["speedup_high"]:
        return "has a speed-up outside its own interval"
    return None


def _library_fault(values: dict[str, Any]) -> bool:
    """Whether the row says that a library, not we, failed the case."""
    return values.get("verified") == "no" and values.get("family") == YARDSTICKS and "fault" in values and schema.row_fault(values) is None


def meant(entry: dict[str, Any], candidates: list[Variant]) -> Variant | None:
    """The variant a row or a skipped case is about. Where two ladders of a family share a rung's name, it is the one the
    entry names, else the one whose name begins like the operation; None where that leaves not exactly one."""
    if entry.get("ladder") is not None:
        candidates = [each for each in candidates if each.ladder == entry["ladder"]]
    if len(candidates) > 1:
        operation = str(entry.get("operation") or "")
        candidates = [each for each in candidates if each.ladder.rstrip("s")[:4] in operation]
    return candidates[0] if len(candidates) == 1 else None


def variants_by_name(document: dict[str, Any]) -> dict[tuple[str, str], list[Variant]]:
    found: dict[tuple[str, str], list[Variant]] = {}
    for each in document["variants"]:
        variant = Variant(each["family"], each["ladder"], each["rung"])
        known = found.setdefault((variant.family, variant.rung), [])
        if variant not in known:
            known.append(variant)
    return found


class Records:
    """tests/gpu_record.json, read leniently: which rungs have not passed on a GPU as their sources stand."""

    KEYS = ("family", "ladder", "operation", "operator", "input_type", "accumulator_type", "output_type")

    def __init__(self, path: Path | None) -> None:
        self.not_passed: dict[str, list[dict[str, Any]]] = {}  # by rung
        try:
            records = json.loads(path.read_text(encoding="utf-8")).get("records", []) if path else []
        except (OSError, ValueError, AttributeError) as error:
            raise Refused(f"cannot be read: {error}") from None
        for record in records if isinstance(records, list) else []:
            if isinstance(record, dict) and isinstance(record.get("rung"), str) and record.get("outcome", "passed") != "passed":
                self.not_passed.setdefault(record["rung"], []).append(record)

    def fault(self, row: dict[str, Any], variant: Variant) -> str | None:
        for record in self.not_passed.get(variant.rung, []):
            own = {**row, "ladder": variant.ladder}
            if all(record.get(key) in (None, own.get(key)) for key in self.KEYS):
                return f"belongs to a rung whose GPU record is {record['outcome']}"
        return None


# Where a rung hands its call to another one, the time is the other's: one cluster has no room for more bins.
HANDED_OVER = {Variant("cluster", "histograms", "one_cluster"): (28_000, Variant("handwritten", "histograms", "global_atomics"))}


def _does_the_work(variant: Variant, cell: Cell) -> Variant:
    most_bins, other = HANDED_OVER.get(variant, (math.inf, variant))
    return other if cell.sizes.get("bins", 0) > most_bins else variant


def _key(cell: Cell, variant: Variant, twin: bool) -> tuple[Any, ...]:
    return (*cell, *variant, twin)


def read_run(path: Path, label: str, records: Records, placed: bool = True) -> tuple[Run, list[Refusal]]:
    """The believable rows of one file, and what was refused of it. Raises Refused where the whole file is. placed: the file
    has to lie in its GPU's folder under its run's name."""
    document = parse(path)
    try:
        check_document(document, *((gpu_folder(path), stem(path)) if placed else (None, None)))
    except Refused as refusal:
        refusal.rows_in = len(document["rows"]) if isinstance(document.get("rows"), list) else 0
        raise
    by_name = variants_by_name(document)

    good: dict[tuple[Any, ...], list[Row]] = {}
    faults: dict[tuple[str, bool, str], list[int]] = {}

    def refuse(position: int, named: tuple[Any, Any], reason: str, todo: str, expected: bool = False) -> None:
        faults.setdefault((f"{named[0]}/{named[1]} {reason}", expected, todo), []).append(position)

    told: list[Fault] = []
    handed_over: list[tuple[Row, Variant]] = []
    for position, values in enumerate(document["rows"]):
        named = values.get("family"), values.get("rung")
        candidates = by_name.get(named, []) if all(isinstance(part, str) for part in named) else []
        variant = meant(values, candidates)
        if variant is not None and _library_fault(values):
            told.append(Fault(Cell._make(CELL_OF(values)), variant, values["fault"], str(values.get("defect") or "")))
        elif fault := _row_fault(values):
            refuse(position, named, *fault)
        elif variant is None:
            refuse(position, named, "could be of more than one ladder" if candidates else "is not among the file's variants", FORM)
        elif fault := records.fault(values, variant):
            refuse(position, named, fault, "measure it again once tests/run has passed on a GPU", True)
        else:
            cell = Cell._make(CELL_OF(values))
            doer = _does_the_work(variant, cell)
            if doer != variant:
                values = {**values, "family": doer.family, "rung": doer.rung}
                handed_over.append((Row(values, cell, doer, position), variant))
            else:
                good.setdefault(_key(cell, variant, bool(values.get("twin"))), []).append(Row(values, cell, variant, position))

    for row, caller in handed_over:
        if good.setdefault(_key(row.cell, row.variant, False), [row]) != [row]:
            told_of = f"handed its call to {row.variant.family}/{row.variant.rung}, which has a time of its own"
            refuse(row.position, (caller.family, caller.rung), told_of, NOTHING, True)
    rows, twins = [], 0
    for key, found in good.items():
        if len(found) > 1:
            # Which of the copies is right cannot be known, and must not depend on their order.
            for row in found:
                refuse(row.position, row.variant[::2], f"is duplicated at {row.items} items", "keep one of them")
        elif key[-1]:
            twins += 1
        else:
            rows.append(found[0])
    refusals = [
        Refusal(label, reason, len(where), False, expected, todo, min(where)) for (reason, expected, todo), where in sorted(faults.items())
    ]
    return Run(document["run"], label, document, rows, len(document["rows"]), twins, told), refusals


def read_facts(path: Path, gpu: str) -> tuple[dict[Any, list[dict[str, Any]]], dict[str, Any]]:
    """What the compiled kernels are made of, by variant, or what a profiler counted of them, by cell and variant (SCHEMA.md); and from
    what, or by what."""
    document = parse(path)
    of = stem(path)
    todo = f"report/run {of} writes it anew"
    if fault := schema.fault(document, of):
        raise Refused(fault, todo)
    if document.get("gpu", gpu) != gpu:
        raise Refused(f"was counted on {document['gpu']} but lies in the folder of {gpu}", f"move it into a folder {document['gpu']}")
    found: dict[Any, list[dict[str, Any]]] = {}
    for entry in document["entries"]:
        variant = Variant(*(entry[name] for name in Variant._fields))
        if of == stem(Path(SASS)):
            found.setdefault(variant, []).extend(entry["kernels"])
        elif found.setdefault((Cell._make(CELL_OF(entry)), variant), entry["kernels"]) is not entry["kernels"]:
            raise Refused(f"has {entry['rung']} at {entry['items']} items twice", todo)
    return found, {name: value for name, value in document.items() if name not in ("entries", "units", "skipped")}


def read_accuracy(path: Path, gpu: str) -> dict[str, Any]:
    """accuracy.json as it is."""
    document = parse(path)
    if fault := schema.fault(document, "accuracy"):
        raise Refused(fault, "report/run accuracy writes it anew")
    if document["gpu"] != gpu:
        raise Refused(f"is of {document['gpu']} but lies in the folder of {gpu}", f"move it into a folder {document['gpu']}")
    return document


def read_torch(path: Path, gpu: str) -> dict[str, Any]:
    """A run of python/bench_torch.py."""
    document = parse(path)
    if fault := schema.fault(document, "torch"):
        raise Refused(fault, "python/bench_torch.py writes it anew")
    if document["gpu"] != gpu:
        raise Refused(f"was measured on {document['gpu']} but lies in the folder of {gpu}", f"move it into a folder {document['gpu']}")
    return document


def across_fault(document: dict[str, Any]) -> tuple[str, str] | None:
    """Why a run of rungs_across is not believed, and what to do; or None. No schema can ask this."""
    again = "measure again with rungs_across"
    if len({device["name"] for device in document["devices"]}) > 1:
        return f"is of different GPUs: {', '.join(sorted({device['name'] for device in document['devices']}))}", "measure on GPUs of one model"
    if document["ranks"] != len(document["devices"]):
        return f"has {document['ranks']} ranks on {len(document['devices'])} GPU(s), so its times compare nothing", "measure with one GPU for each rank"
    if document["ranks"] < 2:
        return "has one rank, which has nothing to reduce across", "measure with two or more GPUs"
    if not document["cells"]:
        return "has no cells", again
    libraries = {each["name"] for each in document["contenders"] if each["kind"] == "library"}
    seen = set()
    for cell in document["cells"] + document["checks"]:
        where = f"{cell['operation']} {cell['type']} {cell['operator']}, {cell['items']} items"
        about = (cell["operation"], cell["type"], cell["operator"], cell["items"], cell.get("mode"))
        names = [result["name"] for result in cell["results"]]
        if about in seen or len(set(names)) != len(names):
            return f"has {where} twice", again
        seen.add(about)
        for result in cell["results"]:
            if not result["verified"] or not (result["same_bits"] or result["name"] in libraries):
                how = "wrong" if not result["verified"] else "not the same bits on every GPU"
                return f"holds a result that is {how}: {result['name']} at {where}", "its kernel is at fault, and the tests may tell more"
            if "mode" not in cell:
                continue
            if "median_us" not in result or "samples" not in result:
                return f"lacks the time of {result['name']} at {where}", again
            if not 0 < result.get("low_us", 0) <= result["median_us"] <= result.get("high_us", 0) or result["samples"] < 1:
                return f"has a median outside its own interval: {result['name']} at {where}", again
    return None


def read_across(path: Path, gpu: str | None) -> dict[str, Any]:
    """A run of rungs_across. gpu: the folder that it lies in."""
    document = parse(path)
    if fault := schema.fault(document, "across"):
        raise Refused(fault, "rungs_across writes it anew")
    if gpu not in (None, document["gpu"]):
        raise Refused(f"was measured on {document['gpu']} but lies in the folder of {gpu}", f"move it into a folder {document['gpu']}")
    if fault := across_fault(document):
        raise Refused(*fault)
    return document


def read_beside_across(path: Path, gpu: str | None) -> dict[str, Any]:
    """A run of python/bench_torch_across.py. gpu: the folder that it lies in."""
    document = parse(path)
    if fault := schema.fault(document, "across_torch"):
        raise Refused(fault, "python/bench_torch_across.py writes it anew")
    if gpu not in (None, document["gpu"]):
        raise Refused(f"was measured on {document['gpu']} but lies in the folder of {gpu}", f"move it into a folder {document['gpu']}")
    if len(set(document["devices"])) > 1 or len(document["devices"]) != document["ranks"]:
        raise Refused("is of different GPUs, or of several ranks on one", "measure with one GPU of a model for each rank")
    for cell in document["cells"]:
        for result in cell["results"]:
            if result["verified"] and not 0 < result.get("low_us", 0) <= result.get("median_us", 0) <= result.get("high_us", 0):
                raise Refused(f"has a median outside its own interval: {result['name']} at {cell['items']} items")
    return document


def by_key_fault(document: dict[str, Any]) -> tuple[str, str] | None:
    """Why a run of rungs_by_key is not believed, and what to do; or None. No schema can ask this."""
    again = "measure again with rungs_by_key"
    if not document["cells"]:
        return "has no cells", again
    seen = set()
    for cell in document["cells"]:
        where = f"{cell['operation']} {cell['keys']} {cell['values'] or ''}".strip() + f", {cell['items']} items"
        if ("chosen_percent" in cell) == ("mean_run" in cell):
            return f"does not tell of {where} what is chosen or how long runs are", again
        about = (cell["operation"], cell["keys"], cell["values"], cell["items"], cell.get("chosen_percent"), cell.get("mean_run"))
        names = [each["name"] for each in cell["results"]]
        if about in seen or len(set(names)) != len(names):
            return f"has {where} twice", again
        seen.add(about)
        for result in cell["results"]:
            if not result["verified"]:
                if result["name"] == "rungs":
                    return f"holds a result that is wrong: {result['name']} at {where}", "its kernel is at fault, and the tests may tell more"
                continue
            if result.get("samples") == 0 and "median_us" not in result:
                continue  # none was taken at the full clock
            if "median_us" not in result or "samples" not in result:
                return f"lacks the time of {result['name']} at {where}", again
            if not 0 < result.get("low_us", 0) <= result["median_us"] <= result.get("high_us", 0) or result["samples"] < 1:
                return f"has a median outside its own interval: {result['name']} at {where}", again
        if "speedup" in cell:
            times = {each["name"]: each["median_us"] for each in cell["results"] if each["verified"] and "median_us" in each}
            if len(times) != 2 or not math.isclose(cell["speedup"]["value"], times["cub"] / times["rungs"], rel_tol=1e-6):
                return f"has a speed-up that is not of its times at {where}", again
    return None


def others_fault(document: dict[str, Any]) -> tuple[str, str] | None:
    """The same of rungs_others."""
    again = "measure again with rungs_others"
    cells = [(cell["operation"], cell["input_type"], cell["items"], cell["contention"]) for cell in document["cells"]]
    if not cells or len(set(cells)) != len(cells):
        return "has no cells, or one twice", again
    for cell in document["cells"]:
        where = f"{cell['operation']} {cell['input_type']}, {cell['items']} items"
        for result in cell["results"]:
            if not result["verified"] and result["family"] != "library_baselines":
                return f"holds a result that is wrong: {result['rung']} at {where}", "its kernel is at fault, and the tests may tell more"
            if result["verified"] and not 0 < result.get("low_us", 0) <= result.get("median_us", 0) <= result.get("high_us", 0):
                return f"lacks the time of {result['rung']} at {where}", again
    return None


def read_others(path: Path, gpu: str | None) -> dict[str, Any]:
    """A run of rungs_others. gpu: the folder that it lies in."""
    return read_beside(path, gpu, "others", others_fault)


def read_by_key(path: Path, gpu: str | None) -> dict[str, Any]:
    """A run of rungs_by_key. gpu: the folder that it lies in."""
    return read_beside(path, gpu, "by_key", by_key_fault)


def inference_fault(document: dict[str, Any]) -> tuple[str, str] | None:
    """The same of a program of inference."""
    again = f"measure again with {document['program']}"
    if not document["cells"]:
        return "has no cells", again
    seen = set()
    for cell in document["cells"]:
        about = tuple(cell[name] for name in ("work", "input", "rows", "columns", "parameter", "data"))
        where = "/".join(str(part) for part in about if part != "")
        names = [each["name"] for each in cell["results"]]
        if about in seen or len(set(names)) != len(names):
            return f"has {where} twice", again
        seen.add(about)
        ours = next((each for each in cell["results"] if each["role"] == "rungs"), None)
        for result in cell["results"]:
            if not result["verified"]:
                if result["role"] != "rival":
                    return f"holds a result that is wrong: {result['name']} at {where}", "its kernel is at fault, and the tests may tell more"
                continue
            if result.get("samples") == 0 and "median_us" not in result:
                continue  # none was taken at the full clock
            if "median_us" not in result or "samples" not in result:
                return f"lacks the time of {result['name']} at {where}", again
            if not 0 < result.get("low_us", 0) <= result["median_us"] <= result.get("high_us", 0) or result["samples"] < 1:
                return f"has a median outside its own interval: {result['name']} at {where}", again
            if "speedup" in result and not (
                result["role"] == "rival" and ours and "median_us" in ours and math.isclose(result["speedup"]["value"], result["median_us"] / ours["median_us"], rel_tol=1e-6)
            ):
                return f"has a speed-up that is not of its times: {result['name']} at {where}", again
    return None


def read_inference(path: Path, gpu: str | None) -> dict[str, Any]:
    """A run of rungs_top_k, rungs_sampling or rungs_low_precision."""
    return read_beside(path, gpu, "inference", inference_fault)


def read_beside(path: Path, gpu: str | None, form: str, fault_of: Callable[[dict[str, Any]], tuple[str, str] | None]) -> dict[str, Any]:
    """A run that has a file of its own. gpu: the folder that it lies in."""
    document = parse(path)
    if fault := schema.fault(document, form):
        raise Refused(fault, "its program writes it anew")
    if gpu not in (None, document["gpu"]):
        raise Refused(f"was measured on {document['gpu']} but lies in the folder of {gpu}", f"move it into a folder {document['gpu']}")
    if why := fault_of(document):
        raise Refused(*why)
    return document


# ---- reading a directory


def tuned_on(machine: Machine, run: Run) -> list[tuple[str, int]]:
    """What a run says it holds out and runs that tables are made from have all the same: operations and sizes."""
    grid = machine.grids.get(HISTOGRAMS)
    known = {(cell.operation, cell.items) for own in (machine, grid) if own for cell in own.cells}
    return sorted(known & {(cell.operation, cell.items) for cell in run.cells})


def place_grid(machines: dict[str, Machine], run: Run) -> Refusal | None:
    """Beside the suite's runs on the same GPU; else why not."""
    machine = machines.get(run.document["gpu"])
    if machine is None:
        return Refusal(run.file, f"is a grid ({run.grid}), and no run of the suite on that GPU lies beside it", run.rows_in, True, True, "measure the suite there, too")
    if run.grid == HELD_OUT and (mixed := tuned_on(machine, run)):
        (operation, items), *others = mixed
        more = f" and {len(others)} more" if others else ""
        return Refusal(run.file, f"holds out what other runs have: {operation} of {items} items{more}", run.rows_in, True, todo="measure what is held out again: bench/run --grid=held_out")
    machine.grids.setdefault(run.grid, Machine(machine.gpu, [])).runs.append(run)
    return None


def find_records(data: Path) -> Path | None:
    """tests/gpu_record.json of the repository the data lies in: data is <root>/report/data."""
    path = data.resolve().parent.parent / "tests" / "gpu_record.json"
    return path if path.is_file() else None


def read(data: Path, earlier: bool = False, also_pending: bool = False) -> Collection:
    """Everything under data/<gpu>/*.json and *.json.gz, grouped by GPU. Runs are ordered by name, which begins with their start time.
    earlier: those that newer ones have replaced, too. also_pending: what was measured of rungs that have been edited since, too."""
    refusals: list[Refusal] = []
    try:
        records = Records(None if also_pending else find_records(data))
    except Refused as refusal:
        refusals.append(Refusal("tests/gpu_record.json", str(refusal), 0, True, todo="take it from the repository again"))
        records = Records(None)

    runs: list[tuple[Run, list[Refusal]]] = []
    rows_in = 0
    for path in all_result_files(data, earlier):
        label = path.relative_to(data).as_posix()
        try:
            run, refused = read_run(path, label, records)
        except Refused as refusal:
            rows_in += refusal.rows_in
            refusals.append(Refusal.of(label, refusal))
            continue
        rows_in += run.rows_in
        runs.append((run, refused))

    names = Counter(run.name for run, _ in runs)
    machines: dict[str, Machine] = {}
    twins = faults = 0
    # The suite's first, for a grid lies beside them; what is held out last.
    for run, refused in sorted(runs, key=lambda pair: (pair[0].grid == HELD_OUT, bool(pair[0].grid), pair[0].name, pair[0].file)):
        if names[run.name] > 1:
            refusals.append(Refusal(run.file, f"shares its run id {run.name!r} with another file", run.rows_in, True, todo="keep one of the two"))
            continue
        if run.rows and run.grid and (refusal := place_grid(machines, run)):
            refusals.append(refusal)
            continue
        refusals.extend(refused)
        twins += run.twins_in
        faults += len(run.faults)
        if not run.rows:
            refusals.append(Refusal(run.file, "has no row that can be believed", 0, True, all(each.expected for each in refused)))
        elif not run.grid:
            gpu = run.document["gpu"]
            machines.setdefault(gpu, Machine(gpu, [])).runs.append(run)

    for gpu, machine in machines.items():
        for name in (SASS, COUNTERS, ACCURACY):
            path = facts(data / gpu, name)
            try:
                if path and name == SASS:
                    machine.sass, machine.made_by = read_facts(path, gpu)
                elif path and name == ACCURACY:
                    machine.accuracy = read_accuracy(path, gpu)
                elif path:
                    machine.counters, machine.counted_by = read_facts(path, gpu)
            except Refused as refusal:
                refusals.append(Refusal.of(f"{gpu}/{path.name}", refusal))

    alone: dict[str, Machine] = {}
    for pattern, kept, read_one in (
        (TORCH, "torch", read_torch), (ACROSS, "across", read_across), (BESIDE_ACROSS, "beside_across", read_beside_across),
        (BY_KEY, "by_key", read_by_key), (OTHERS, "others", read_others), (INFERENCE, "inference", read_inference),
    ):  # fmt: skip
        for path in sorted(data.glob(f"*/{pattern}")):
            gpu = path.parent.name
            machine = machines.get(gpu) or alone.setdefault(gpu, Machine(gpu, []))
            try:
                getattr(machine, kept).append(read_one(path, gpu))
            except Refused as refusal:
                refusals.append(Refusal.of(f"{gpu}/{path.name}", refusal))
    for machine in (machines | alone).values():
        machine.torch.sort(key=lambda run: run["environment"]["began"])
        machine.across.sort(key=lambda run: (run["ranks"], run["run"]))
        machine.beside_across.sort(key=lambda run: (run["ranks"], run["environment"]["began"]))
        machine.by_key.sort(key=lambda run: run["run"])
        machine.others.sort(key=lambda run: run["run"])
        machine.inference.sort(key=lambda run: run["run"])

    refusals.sort(key=lambda refusal: (refusal.file, not refusal.whole_file, refusal.reason))
    for gpu, machine in (machines | alone).items():
        machine.refusals = [refusal for refusal in refusals if refusal.file.startswith(f"{gpu}/")]
    without_suite = [alone[gpu] for gpu in sorted(alone) if alone[gpu].torch or alone[gpu].across or alone[gpu].by_key or alone[gpu].others or alone[gpu].inference]
    return Collection([machines[gpu] for gpu in sorted(machines)], refusals, rows_in, twins, faults, without_suite)
