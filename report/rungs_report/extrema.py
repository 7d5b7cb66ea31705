"""The least and the greatest item of one call: what one read saves over two."""

from rungs_report import compare, words
from rungs_report.data import Cell, Machine, Variant
from rungs_report.page import Page
from rungs_report.words import spaced, table, text

OPERATION, BOTH = "arg_extremum", "both"
ONE, DOOR, DOOR_OF_BOTH = "minimum", "front_door", "front_door_of_both"


def cells(machine: Machine) -> list[Cell]:
    """Cold ones of floats, by size."""
    return [cell for cell in sorted(machine.cells) if (cell.operation, cell.operator, cell.input_type, cell.mode) == (OPERATION, BOTH, "f32", "cold")]


def columns(machine: Machine, found: list[Cell]) -> list[Variant]:
    """Who has a time in any of them, the front door first, then the rungs, then the libraries."""
    variants = {variant for cell in found for variant in compare.contenders(machine, cell)}
    return sorted(variants, key=lambda variant: (not compare.is_door(variant), variant.family == "library_baselines", machine.order[variant]))


def one_alone(machine: Machine, cell: Cell) -> float | None:
    """The front door's time for the least item alone."""
    alone = cell._replace(operator=ONE)
    door = next((v for v in compare.contenders(machine, alone) if v.rung == DOOR), None) if alone in machine.cells else None
    return compare.figure(machine, alone, door, "median_us") if door else None


def both(page: Page) -> list[str]:
    """Size by size: the front door, the rung, the libraries, and the front door's call for one of the two."""
    machine = page.machine
    found = cells(machine) if page.topic and OPERATION in page.topic.operations else []
    if not found:
        return []
    variants = columns(machine, found)
    rows = []
    for cell in found:
        times = [compare.figure(machine, cell, variant, "median_us") for variant in variants]
        door = next((time for variant, time in zip(variants, times, strict=True) if variant.rung == DOOR_OF_BOTH), None)
        alone = one_alone(machine, cell)
        rows.append([words.size(cell.items), *map(words.time, times), words.time(alone), words.ratio(2 * alone / door if alone and door else None)])
    headers = [">n", *(f">{page.label(variant)}" for variant in variants), ">the least alone", ">over two such calls"]
    about = "Cold. The least alone: the front door's `ArgMin` at the same n. Over two such calls: twice that time over the time of both at once, by the front door."
    return spaced(f"## {text('Both at once: one read instead of two')}", about, table(headers, rows))
