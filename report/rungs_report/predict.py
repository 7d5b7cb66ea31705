"""What one chip's tables are worth on another. Of two chips that were measured, the front door's tables are made from one's runs and asked for
the other's problems: as they are, and with their sizes multiplied by how much more the other chip has of something. The regret is the
time of the rung that they name over that of the fastest candidate. What serves chips that were never measured rests on this page."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import NamedTuple

from rungs_report import front_door, regret, tune, words
from rungs_report.data import Collection, Machine
from rungs_report.words import spaced, table, text

FAMILIES = {
    "reductions": (("reduce",), tune.REDUCE),
    "scans": (("inclusive_scan", "exclusive_scan"), tune.SCAN),
    "histograms": (("histogram_even", "histogram_range"), tune.HISTOGRAM),
}


class Rule(NamedTuple):
    says: str
    of: Callable[[Machine], float | None]  # what sizes are proportional to


def launch_us(machine: Machine) -> float | None:
    """The time of an empty kernel in a stream."""
    floors = [entry["median_us"] for run in machine.runs for entry in run.document["floors"] if (entry["mode"], entry["kind"]) == ("cold", "empty")]
    return words.median(floors) if floors else None


def _product(*parts: Callable[[Machine], float | None]) -> Callable[[Machine], float | None]:
    def of(machine: Machine) -> float | None:
        product = 1.0
        for part in parts:
            value = part(machine)
            if not value:
                return None
            product *= value
        return product

    return of


def of_device(name: str) -> Callable[[Machine], float | None]:
    return lambda machine: machine.device.get(name)


RULES = (
    Rule("multiprocessors", of_device("multiprocessors")),
    Rule("launch overhead", launch_us),
    Rule("L2", of_device("l2_bytes")),
    Rule("bandwidth", of_device("peak_gb_per_s")),
    Rule("bandwidth times launch overhead", _product(of_device("peak_gb_per_s"), launch_us)),
)


class Regrets(NamedTuple):
    """Of the problems of one family."""

    values: list[float]  # 1 where nothing is faster
    unknown: int  # problems at which the rung that the tables name was not measured


def suite(machine: Machine) -> Machine:
    """Without its grids, which another chip need not have."""
    return replace(machine, grids={})


@cache
def tables(machine: Machine) -> dict[str, str]:
    """What `report/run tune` would write from this machine alone."""
    return tune.files(Collection([suite(machine)], [], 0, 0))


@cache
def points(machine: Machine, older: bool = False) -> dict[str, list[tune.Times]]:
    """Every cold problem's times; older: of the rungs alone that run on chips below all that were measured."""
    return {
        family: tune.times(machine, [cell for cell in machine.cells if cell.operation in operations and cell.mode == "cold"], tune.on_least(machine, candidates) if older else candidates)
        for family, (operations, candidates) in FAMILIES.items()
    }


def asked(made: dict[str, str], known: dict[str, list[tune.Times]], capability: int, factor: float = 1.0) -> dict[str, Regrets]:
    """Tables whose sizes are multiplied by the factor: they are asked for as many items fewer."""
    found = {}
    for family, measured in known.items():
        values, unknown = [], 0
        for each in measured:
            cell = each.cell
            items = max(1, round(cell.items / factor))
            rung = front_door.chosen(made[front_door.TABLES[cell.operation]], cell.operation, cell.operator, cell.input_type, items, cell.sizes.get("bins"), capability)
            if rung in each.of:
                values.append(each.of[rung] / min(each.of.values()))
            else:
                unknown += 1
        found[family] = Regrets(values, unknown)
    return found


def factor(rule: Rule, source: Machine, target: Machine) -> float | None:
    here, there = rule.of(source), rule.of(target)
    return there / here if here and there else None


def _told(found: dict[str, Regrets]) -> list[str]:
    return [part for each in found.values() for part in ((regret.lag(tune.middle(each.values)), regret.lag(max(each.values))) if each.values else (words.UNKNOWN, words.UNKNOWN))]


def pairs(collection: Collection) -> list[tuple[Machine, Machine]]:
    """Chips of one compute capability: their tables name the same rungs."""
    measured = [machine for machine in collection.machines if machine.device and all(points(machine).values())]
    return [(a, b) for a, b in permutations(measured, 2) if a.device["compute_capability"] == b.device["compute_capability"]]


def of_rules(found: list[tuple[Machine, Machine]]) -> list[str]:
    """The regret of every rule, in each direction."""
    rows = []
    for source, target in found:
        made, known = tables(source), points(target)
        capability = int(target.device["compute_capability"])
        way = f"{text(source.name)} on {text(target.name)}"
        rows.append([way, "tables of its own", words.ratio(1.0), *_told(asked(tables(target), known, capability))])
        rows.append([way, "**copied**", words.ratio(1.0), *_told(asked(made, known, capability))])
        for rule in RULES:
            if scale := factor(rule, source, target):
                rows.append([way, rule.says, words.ratio(scale), *_told(asked(made, known, capability, scale))])
    headers = ["tables of", "sizes by", ">factor", *[f">{family}, {what}" for family in FAMILIES for what in ("mean", "worst")]]
    return table(headers, rows)


def of_older(found: list[tuple[Machine, Machine]]) -> list[str]:
    """The regret of the rows for chips below all that were measured: derived, and those that know no chip."""
    rows = []
    for source, target in found:
        made, known = tables(source), points(target, older=True)
        for says, capability in (("**derived**", tune.LEAST), ("not measured", 0)):
            rows.append([f"{text(source.name)} on {text(target.name)}", says, *_told(asked(made, known, capability))])
    return table(["tables of", "rows", *[f">{family}, {what}" for family in FAMILIES for what in ("mean", "worst")]], rows)


def sentence(source: Machine, target: Machine) -> str:
    copied = asked(tables(source), points(target), int(target.device["compute_capability"]))
    told = words.listed([f"{family} {regret.lag(tune.middle(each.values))}" for family, each in copied.items()])
    most = max(tune.middle(each.values) for each in copied.values())
    kept = "all under" if most < 1 + regret.THRESHOLD else "not all under"
    return f"The tables of {text(source.name)} on {text(target.name)}, copied: {told} behind the fastest in the geometric mean, {kept} the {regret.THRESHOLD * 100:.0f} % that was set."


def alike(found: list[tuple[Machine, Machine]]) -> list[str]:
    if len({machine.device["multiprocessors"] for machine, _ in found}) > 1:
        return []
    return spaced(
        "These chips have as many multiprocessors. So the lines can refute a rule that moves sizes by what the chips differ in, and cannot prove one by"
        " multiprocessors. The front door copies sizes, and derives which rungs they are for.",
    )


def contents(collection: Collection) -> list[str]:
    found = pairs(collection)
    if not found:
        return []
    measured = list(dict.fromkeys(machine.name for machine, _ in found))
    return [
        "## What one chip's tables are worth on another",
        "",
        "The front door's tables are made from each chip's runs alone, and asked for the other's problems (cold, of the suite). The regret is how much"
        " longer the rung that they name takes than the fastest candidate of the front door. `sizes by`: all sizes of the tables were multiplied by"
        " how much more of it the other chip has. A launch's overhead is the time of an empty kernel.",
        "",
        *[f"- {sentence(source, target)}" for source, target in found],
        "",
        *of_rules(found),
        "",
        *alike(found),
        f"Chips below all that were measured take rows of compute capability {tune.LEAST}. They are derived from a measured chip's times of the rungs that run"
        " there. Here they are asked for the other chip's problems, beside the fastest of those rungs; and so are the rows for what was not measured, which served"
        " those chips before:",
        "",
        *of_older(found),
        "",
        f"- Measured: {words.listed(list(map(text, measured)))}.",
        "- Copied: chips of their compute capability or above.",
        "- Derived: chips below. No such chip has run these tables; for them all is compiled only.",
        "",
    ]
