"""The GPU record, tests/gpu_record.json: an entry for every record of the catalog that needs a GPU. It says how many cases passed
on which GPU, and bears a hash of the sources of that run. So kernels cannot change without being run again. An entry is one line;
entries stand in the catalog's order."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Tuple

from sources import hash_of

SCHEMA = "rungs.gpu_record/1"
IDENTITY = ("family", "ladder", "rung", "operation", "operator", "input_type", "accumulator_type")
MACHINE = ("gpu", "driver", "toolkit")  # empty while an entry is pending

Entry = Dict[str, Any]  # IDENTITY, "hash" of the sources and the flags, "outcome" ("passed" or "pending"), "cases", MACHINE


def identity(entry: Entry) -> Tuple[str, ...]:
    return tuple(entry[key] for key in IDENTITY)


def name(entry: Entry) -> str:
    """As the test of it is called after "catalog."."""
    family, ladder, rung, operation, operator, input_type, accumulator_type = identity(entry)
    types = input_type if accumulator_type in ("", input_type) else f"{input_type}_{accumulator_type}"
    return "/".join(filter(None, (family, ladder, rung, "" if operation == "reduce" else operation, operator, types)))


def to_json(entries: List[Entry]) -> str:
    lines = [json.dumps(entry, separators=(",", ":"), ensure_ascii=False) for entry in entries]
    return f'{{"schema": "{SCHEMA}", "records": [' + ",".join("\n" + line for line in lines) + "\n]}\n"


def from_json(text: str, file: str) -> List[Entry]:
    """Raises ValueError naming the file and what is wrong with it."""
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise ValueError(f"unknown schema {document['schema']}")
        entries, seen = [], set()
        for found in document["records"]:
            entry = {key: found[key] for key in (*IDENTITY, "hash", "outcome", "cases", *MACHINE)}
            if not all(isinstance(value, int if key == "cases" else str) for key, value in entry.items()):
                raise ValueError(f"a value of another type in {entry}")
            if entry["outcome"] not in ("passed", "pending"):
                raise ValueError(f"outcome '{entry['outcome']}' of {name(entry)}")
            if entry["outcome"] == "passed" and (entry["cases"] <= 0 or not entry["gpu"]):
                raise ValueError(f"{name(entry)} passed no cases, or on no GPU")
            if identity(entry) in seen:
                raise ValueError(f"{name(entry)} is there twice")
            seen.add(identity(entry))
            entries.append(entry)
        return entries
    except KeyError as problem:
        raise ValueError(f"{file}: no {problem}") from None
    except (ValueError, TypeError) as problem:
        raise ValueError(f"{file}: {problem}") from None


def read(file: Path) -> List[Entry]:
    """A file that does not exist holds no entries."""
    return from_json(file.read_text(encoding="utf-8"), str(file)) if file.exists() else []


def write(file: Path, entries: List[Entry]) -> None:
    """Written aside and renamed."""
    part = Path(f"{file}.part")
    part.write_text(to_json(entries), encoding="utf-8")
    os.replace(part, file)


def listed(program: Path) -> Dict[str, Any]:
    """What rungs_gpu_tests says of the catalog, or rungs_across_tests of the rungs across GPUs, without a GPU: the "compile_flags", and "records" with IDENTITY and "source"."""
    ended = subprocess.run([str(program), "--list-records"], stdout=subprocess.PIPE)
    if ended.returncode != 0:
        raise ValueError(f"{program} --list-records ended with {ended.returncode}")
    listing = json.loads(ended.stdout.decode())
    if not listing["records"]:
        raise ValueError("the catalog is empty")
    return dict(listing)


def subjects(root: Path, program: Path) -> List[Entry]:
    """What the tree holds now, in the catalog's order: IDENTITY and "hash"."""
    listing = listed(program)
    return [
        {**{key: listed_record[key] for key in IDENTITY}, "hash": hash_of(root, listed_record["source"], listing["compile_flags"])}
        for listed_record in listing["records"]
    ]


def pending(subject: Entry) -> Entry:
    return {**subject, "outcome": "pending", "cases": 0, **dict.fromkeys(MACHINE, "")}


State = Dict[str, List[str]]  # names of entries, by what is said of them
KINDS = ("passed", "pending", "stale", "missing", "not built any more")


def compare(entries: List[Entry], now: List[Entry]) -> State:
    known = {identity(entry): entry for entry in entries}
    state: State = {kind: [] for kind in KINDS}
    for subject in now:
        entry = known.pop(identity(subject), None)
        kind = "missing" if entry is None else entry["outcome"] if entry["hash"] == subject["hash"] else "stale"
        state[kind].append(name(subject))
    state["not built any more"] += map(name, known.values())
    return state


def is_good(state: State) -> bool:
    return not (state["stale"] or state["missing"] or state["not built any more"])


def with_pending(entries: List[Entry], now: List[Entry]) -> List[Entry]:
    """Missing and stale ones become pending, superfluous ones leave; what passed stays. In the order of `now`."""
    known = {(*identity(entry), entry["hash"]): entry for entry in entries}
    return [known.get((*identity(subject), subject["hash"])) or pending(subject) for subject in now]


def runs_in(summary: Dict[str, Any]) -> Dict[str, int]:
    """The catalog's tests in what rungs_gpu_tests writes with --summary: how many cases passed, by the names of their records; 0 where
    one failed. What was skipped is not among them."""
    return {
        test["name"][len("catalog.") :]: 0 if "failures" in test else test["cases"]
        for suite in summary["testsuites"]
        for test in suite["testsuite"]
        if test["name"].startswith("catalog.") and "skipped" not in test
    }


def totals(summaries: List[Dict[str, Any]]) -> Dict[str, int]:
    """What came of all tests in several summaries."""
    sums = {key: sum(summary[key] for summary in summaries) for key in ("tests", "failures", "skipped")}
    return {**sums, "passed": sums["tests"] - sums["failures"] - sums["skipped"]}


def merged(summaries: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Several summaries as one, with the first one's machine."""
    suites = [suite for summary in summaries for suite in summary["testsuites"]]
    return summaries[0] if len(summaries) == 1 else {**summaries[0], **totals(summaries), "testsuites": suites}


def with_runs(entries: List[Entry], now: List[Entry], runs: Dict[str, int], machine: Dict[str, str]) -> List[Entry]:
    """Enters a run: passed ones with this machine; failed ones become pending; those not run stay as they were."""
    known = {identity(entry): entry for entry in entries}
    result = []
    for subject in now:
        cases, old = runs.get(name(subject)), known.get(identity(subject))
        if cases is None:
            result += [old] if old else []
        elif cases:
            result.append({**subject, "outcome": "passed", "cases": cases, **{key: machine[key] for key in MACHINE}})
        else:
            result.append(pending(subject))
    return result
