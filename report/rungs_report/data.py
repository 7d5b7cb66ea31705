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

from rungs_report import schema, words
from rungs_report.schema import COLUMNS as COLUMNS

# Beside the results, but none: see sass.py, counters.py and errors.py.
PACKED = ".json.gz"
SASS, SASS_SCHEMA = "sass" + PACKED, "rungs.sass/1"
COUNTERS, COUNTERS_SCHEMA = "counters" + PACKED, "rungs.counters/1"
ACCURACY, ACCURACY_SCHEMA = "accuracy" + PACKED, "rungs.accuracy/1"
FACTS = frozenset(form for name in (SASS, COUNTERS, ACCURACY) for form in (name, name.removesuffix(".gz")))
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
    across_torch: list[dict[str, Any]] = field(default_factory=list)  # torch's, by GPUs likewise
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
        return sorted(self.by_cell)

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
        return frozenset(cell for cell, rows in self.by_cell.items() if any(v.ladder != ROOFS for v in rows))

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
        return words.grouped(self.cells, lambda cell: cell.problem)

    @cached_property
    def by_cell(self) -> dict[Cell, dict[Variant, list[tuple[Run, Row]]]]:
        """The rows of all runs."""
        found: dict[Cell, dict[Variant, list[tuple[Run, Row]]]] = {}
        for run in self.runs:
            for cell, rows in run.cells.items():
                for variant, row in rows.items():
                    found.setdefault(cell, {}).setdefault(variant, []).append((run, row))
        return found

    def rows(self, cell: Cell, variant: Variant) -> list[tuple[Run, Row]]:
        """This variant's row in every run that has it."""
        return self.by_cell.get(cell, {}).get(variant, [])

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
    apart = tuple(study.file for study in STUDIES)
    return sorted(path for path in found if path.name not in FACTS and not path.name.startswith(apart) and not f".{path.name}".endswith(f".{SAMPLES}"))


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
    if variant not in HANDED_OVER:
        return variant
    most_bins, other = HANDED_OVER[variant]
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


def read_form(path: Path, gpu: str | None, form: str, maker: str) -> dict[str, Any]:
    """A file of a form, which lies in the folder of its GPU. maker: what writes it."""
    document = parse(path)
    if fault := schema.fault(document, form):
        raise Refused(fault, f"{maker} writes it anew")
    if gpu not in (None, document.get("gpu", gpu)):
        raise Refused(f"was measured on {document['gpu']} but lies in the folder of {gpu}", f"move it into a folder {document['gpu']}")
    return document


def read_facts(path: Path, gpu: str) -> tuple[dict[Any, list[dict[str, Any]]], dict[str, Any]]:
    """What the compiled kernels are made of, by variant, or what a profiler counted of them, by cell and variant (SCHEMA.md); and from
    what, or by what."""
    of = stem(path)
    document = read_form(path, gpu, of, f"report/run {of}")
    found: dict[Any, list[dict[str, Any]]] = {}
    for entry in document["entries"]:
        variant = Variant(*(entry[name] for name in Variant._fields))
        if of == stem(Path(SASS)):
            found.setdefault(variant, []).extend(entry["kernels"])
        elif found.setdefault((Cell._make(CELL_OF(entry)), variant), entry["kernels"]) is not entry["kernels"]:
            raise Refused(f"has {entry['rung']} at {entry['items']} items twice", f"report/run {of} writes it anew")
    return found, {name: value for name, value in document.items() if name not in ("entries", "units", "skipped")}


def read_accuracy(path: Path, gpu: str) -> dict[str, Any]:
    """accuracy.json as it is."""
    return read_form(path, gpu, "accuracy", "report/run accuracy")


# ---- studies: files of their own, each made by one program


@dataclass(frozen=True)
class Study:
    """What one kind of study writes. No schema can ask what is asked here."""

    kept: str  # the machine's field, and the form of the file
    maker: str  # the program
    file: str  # how the names of its files begin
    about: tuple[str, ...] = ()  # the fields that name a cell; of none nothing is asked
    named: tuple[str, ...] = ("name",)  # and those that name a result in it
    wrong: Callable[[dict[str, Any], dict[str, Any]], str] = lambda result, document: ""  # how one is wrong that must not be; a library's own may be
    more: Callable[[dict[str, Any]], tuple[str, str] | None] = lambda document: None

    def where(self, cell: dict[str, Any]) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {cell[name]}" for name in self.about if cell.get(name) not in (None, ""))

    def file_of(self, document: dict[str, Any]) -> str:
        """The latest file of a program beside each CCCL, or on each number of GPUs, takes the place of the one before."""
        begins = document["program"].replace("rungs_", self.file) if "program" in document else self.file
        return f"{begins}_{document.get('ranks') or document['versions']['cccl']}{PACKED}"


def devices_fault(document: dict[str, Any]) -> tuple[str, str] | None:
    """Of runs across GPUs: each rank has one of its own, and all are of one model."""
    names = [device["name"] if isinstance(device, dict) else device for device in document["devices"]]
    if len(set(names)) > 1:
        return f"is of different GPUs: {', '.join(sorted(set(names)))}", "measure on GPUs of one model"
    if document["ranks"] != len(names):
        return f"has {document['ranks']} ranks on {len(names)} GPU(s), so its times compare nothing", "measure with one GPU for each rank"
    return ("has one rank, which has nothing to reduce across", "measure with two or more GPUs") if document["ranks"] < 2 else None


def structure_fault(document: dict[str, Any]) -> tuple[str, str] | None:
    """Of runs by key: each cell tells its structure in one way."""
    untold = next((cell for cell in document["cells"] if ("chosen_percent" in cell) == ("mean_run" in cell)), None)
    return (f"does not tell of {BY_KEY.where(untold)} what is chosen or how long runs are", "measure again with rungs_by_key") if untold else None


def wrong_unless(forgiven: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], str]:
    return lambda result, _: "wrong" if not result["verified"] and not forgiven(result) else ""


def wrong_across(result: dict[str, Any], document: dict[str, Any]) -> str:
    if not result["verified"]:
        return "wrong"
    libraries = {each["name"] for each in document["contenders"] if each["kind"] == "library"}
    return "" if result["same_bits"] or result["name"] in libraries else "not the same bits on every GPU"


TORCH = Study("torch", "python/bench_torch.py", "torch")
ACROSS = Study("across", "rungs_across", "across", ("operation", "type", "operator", "items", "mode"), wrong=wrong_across, more=devices_fault)
BESIDE_ACROSS = Study("across_torch", "python/bench_torch_across.py", "symm_mem", ("items",), more=devices_fault)
BY_KEY = Study(
    "by_key", "rungs_by_key", "by_key", ("operation", "keys", "values", "items", "chosen_percent", "mean_run", "longest_run"),
    wrong=wrong_unless(lambda result: result["name"] == "cub"), more=structure_fault,
)  # fmt: skip
OTHERS = Study(
    "others", "rungs_others", "others", ("operation", "input_type", "items", "contention"), ("family", "ladder", "rung", "temp_storage"),
    wrong=wrong_unless(lambda result: result["family"] == YARDSTICKS),
)  # fmt: skip
INFERENCE = Study(
    "inference", "its program", "inference_", ("work", "input", "rows", "columns", "parameter", "data"), wrong=wrong_unless(lambda result: result["role"] == "rival")
)
STUDIES = (TORCH, ACROSS, BESIDE_ACROSS, BY_KEY, OTHERS, INFERENCE)


def time_fault(result: dict[str, Any]) -> str:
    """What is wrong with the time of a right result."""
    if result.get("samples") == 0 and "median_us" not in result:
        return ""  # none was taken at the full clock
    if "median_us" not in result or "samples" not in result:
        return "lacks the time"
    sound = 0 < result.get("low_us", 0) <= result["median_us"] <= result.get("high_us", 0) and result["samples"] >= 1
    return "" if sound else "has a median outside its own interval"


def speedups(cell: dict[str, Any]) -> Iterator[tuple[float, float | None, float | None]]:
    """Of the cell or of its results: a speed-up, and the two times that it has to be of."""
    times = {each["name"]: each.get("median_us") for each in cell["results"]} if "speedup" in cell else {}
    if times:
        yield cell["speedup"]["value"], times.get("cub"), times.get("rungs")
    ours = next((each.get("median_us") for each in cell["results"] if each.get("role") == "rungs"), None)
    for each in cell["results"]:
        if "speedup" in each:
            yield each["speedup"]["value"], each.get("median_us") if each["role"] == "rival" else None, ours


def study_fault(document: dict[str, Any], study: Study) -> tuple[str, str] | None:
    """Why a study is not believed, and what to do; or None."""
    again = f"measure again with {document.get('program', study.maker)}"
    if fault := study.more(document):
        return fault
    if study.about and not document["cells"]:
        return "has no cells", again
    seen = set()
    cells = [(cell, True) for cell in document["cells"]] + [(cell, False) for cell in document.get("checks", [])]
    for cell, is_timed in cells if study.about else []:
        where = study.where(cell)
        names = [tuple(each[name] for name in study.named) for each in cell["results"]]
        if where in seen or len(set(names)) != len(names):
            return f"has {where} twice", again
        seen.add(where)
        for result, name in zip(cell["results"], names, strict=True):
            told = f"{'/'.join(name)} at {where}"
            if how := study.wrong(result, document):
                return f"holds a result that is {how}: {told}", "its kernel is at fault, and the tests may tell more"
            if is_timed and result["verified"] and (how := time_fault(result)):
                return f"{how}: {told}", again
        for value, theirs, own in speedups(cell):
            if not theirs or not own or not math.isclose(value, theirs / own, rel_tol=1e-6):
                return f"has a speed-up that is not of its times at {where}", again
    return None


def study_of(document: dict[str, Any]) -> Study | None:
    """Which study a file is, by the name of its schema; of torch's rows there may be several, whose files a person names."""
    return next((study for study in STUDIES if study != TORCH and str(document.get("schema")).startswith(f"rungs.{study.kept}/")), None)


def read_study(path: Path, gpu: str | None, study: Study) -> dict[str, Any]:
    """A file of a study. gpu: the folder that it lies in."""
    document = read_form(path, gpu, study.kept, study.maker)
    if why := study_fault(document, study):
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
    for study in STUDIES:
        for path in sorted(data.glob(f"*/{study.file}*.json*")):
            gpu = path.parent.name
            machine = machines.get(gpu) or alone.setdefault(gpu, Machine(gpu, []))
            try:
                getattr(machine, study.kept).append(read_study(path, gpu, study))
            except Refused as refusal:
                refusals.append(Refusal.of(f"{gpu}/{path.name}", refusal))
    for machine in (machines | alone).values():
        for study in STUDIES:  # the fewest GPUs first, then the earliest
            getattr(machine, study.kept).sort(key=lambda run: (run.get("ranks", 0), run["run"] if "run" in run else run["environment"]["began"]))

    refusals.sort(key=lambda refusal: (refusal.file, not refusal.whole_file, refusal.reason))
    for gpu, machine in (machines | alone).items():
        machine.refusals = [refusal for refusal in refusals if refusal.file.startswith(f"{gpu}/")]
    without_suite = [alone[gpu] for gpu in sorted(alone) if any(getattr(alone[gpu], study.kept) for study in STUDIES if study != BESIDE_ACROSS)]
    return Collection([machines[gpu] for gpu in sorted(machines)], refusals, rows_in, twins, faults, without_suite)
