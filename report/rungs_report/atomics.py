"""The study of atomics: operations per second by the number of addresses, the mechanism, the type and the operator. There is no
CUB to compare with and nothing is read; what is found is said in sentences made from the rows."""

from collections import Counter
from collections.abc import Callable
from functools import cache

from rungs_report import charts, compare, words
from rungs_report.charts import HeatMap
from rungs_report.data import Cell, Machine, Variant
from rungs_report.page import Page, study_findings, study_ideas
from rungs_report.words import code, spaced, table, text

ATOMICS, PLAIN = "atomics", "global"
WORD, SUM = "u32", "plus"
TYPES = ("u32", "i32", "u64", "f32", "f64", "f16x2", "bf16x2")
OPERATORS = ("plus", "minus", "increment", "minimum", "maximum", "bit_and", "bit_or", "bit_xor", "exchange")
ALIKE = 0.05  # times within so much of each other count as the same


def problem(operator: str = SUM, input_type: str = WORD, addresses: int = 1, items: int = 0) -> Cell:
    return Cell(ATOMICS, operator, input_type, input_type, input_type, f"addresses={addresses}", "uniform", "cold", items)


def addresses(cell: Cell) -> int:
    return cell.sizes.get("addresses", 0)


def cells(machine: Machine) -> list[Cell]:
    return [cell for cell in machine.cells if cell.operation == ATOMICS and cell.mode == "cold" and machine.is_problem(cell)]


def main_items(machine: Machine) -> int | None:
    """The number of operations at which most was measured, the largest of equals."""
    counts = Counter(cell.items for cell in cells(machine) for _ in compare.contenders(machine, cell))
    return max(counts, key=lambda items: (counts[items], items), default=None)


def in_order(found: set[str], known: tuple[str, ...]) -> list[str]:
    return [each for each in known if each in found] + sorted(found - set(known))


class Study:
    """The rows at one number of operations."""

    def __init__(self, machine: Machine, items: int | None = None) -> None:
        self.machine = machine
        self.items = items or main_items(machine)
        self.cells = [cell for cell in cells(machine) if cell.items == self.items]
        self.addresses = sorted({addresses(cell) for cell in self.cells})
        self.types = in_order({cell.input_type for cell in self.cells}, TYPES)
        present = {variant for cell in self.cells for variant in compare.contenders(machine, cell)}
        self.mechanisms = sorted(present, key=machine.order.__getitem__)

    def find(self, name: str) -> Variant | None:
        return next((variant for variant in self.mechanisms if variant.rung == name), None)

    def operators(self, input_type: str) -> list[str]:
        return in_order({cell.operator for cell in self.cells if cell.input_type == input_type}, OPERATORS)

    def time(self, name: str, count: int, operator: str = SUM, input_type: str = WORD) -> float | None:
        variant = self.find(name)
        cell = problem(operator, input_type, count, self.items or 0)
        return compare.figure(self.machine, cell, variant, "median_us") if variant else None

    def rate(self, name: str, count: int, operator: str = SUM, input_type: str = WORD) -> float | None:
        """Operations per second."""
        took = self.time(name, count, operator, input_type)
        return self.items * 1e6 / took if took and self.items else None

    def shared(self, *asked: tuple[str, str, str]) -> list[int]:
        """The numbers of addresses at which all of these (mechanism, operator, type) were measured."""
        return [count for count in self.addresses if all(self.time(name, count, op, kind) for name, op, kind in asked)]

    def slower(self, slow: str, fast: str, count: int, operator: str = SUM, input_type: str = WORD) -> float | None:
        """time(slow) / time(fast), within runs."""
        numerator, denominator = self.find(slow), self.find(fast)
        if numerator is None or denominator is None:
            return None
        return compare.within_runs(self.machine, problem(operator, input_type, count, self.items or 0), numerator, denominator)


@cache
def study_of(machine: Machine) -> Study:
    return Study(machine)


def per_second(rate: float | None) -> str:
    """58.1 G, 330 M: operations a second."""
    if rate is None:
        return words.UNKNOWN
    for unit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if rate >= unit:
            return f"{words.significant(rate / unit)} {suffix}"
    return words.significant(rate)


def on(count: int) -> str:
    return "one address" if count == 1 else f"{count:,} addresses"


# ---- findings, each a sentence or nothing


def contention(study: Study) -> str | None:
    counts = study.shared((PLAIN, SUM, WORD))
    if len(counts) < 2:
        return None
    rates = {count: study.rate(PLAIN, count) for count in counts}
    least, most = min(rates, key=rates.get), max(rates, key=rates.get)
    return (
        f"`{PLAIN}` adds {WORD} at {per_second(rates[least])} operations a second on {on(least)} and at {per_second(rates[most])} on"
        f" {on(most)}: {words.ratio(rates[most] / rates[least])} between them."
    )


def against(name: str, other: str, what: str, operator: str = SUM, input_type: str = WORD) -> Callable[[Study], str | None]:
    """How one mechanism stands to another over the addresses that both have."""

    def told(study: Study) -> str | None:
        counts = study.shared((name, operator, input_type), (other, operator, input_type))
        times = {count: study.slower(name, other, count, operator, input_type) for count in counts}
        times = {count: value for count, value in times.items() if value}
        if not times:
            return None
        slower = [count for count, value in times.items() if value > 1 + ALIKE]
        faster = [count for count, value in times.items() if value < 1 - ALIKE]
        about = f"{what} (`{name}` against `{other}`, {input_type} {operator.replace('_', ' ')})"
        if not slower and not faster:
            return f"{about} costs nothing: within {ALIKE * 100:g} % at every number of addresses measured, {on(counts[0])} to {on(counts[-1])}."
        said = []
        if faster:
            best = min(faster, key=times.get)
            said.append(f"is faster at {len(faster)} of {words.plural(len(times), 'point')}, by up to {words.ratio(1 / times[best])} on {on(best)}")
        if slower:
            worst = max(slower, key=times.get)
            said.append(f"is slower at {len(slower)} of {words.plural(len(times), 'point')}, by up to {words.ratio(times[worst])} on {on(worst)}")
        return f"{about} {'; it '.join(said)}."

    return told


def types_apart(study: Study) -> str | None:
    counts = study.shared((PLAIN, SUM, WORD))
    if not counts:
        return None
    said = []
    for count in dict.fromkeys((counts[0], counts[-1])):
        rates = {t: rate for t in study.types if (rate := study.rate(PLAIN, count, SUM, t))}
        if len(rates) < 2:
            continue
        least, most = min(rates, key=rates.get), max(rates, key=rates.get)
        said.append(
            f"on {on(count)} {most} is the fastest type to add ({per_second(rates[most])}) and {least} the slowest"
            f" ({per_second(rates[least])}, {words.ratio(rates[most] / rates[least])} apart)"
        )
    return f"By type, {'; '.join(said)}." if said else None


def operators_apart(study: Study) -> str | None:
    counts = study.shared((PLAIN, SUM, WORD))
    said = []
    for count in dict.fromkeys((counts[0], counts[-1])) if counts else ():
        rates = {op: rate for op in study.operators(WORD) if (rate := study.rate(PLAIN, count, op))}
        if len(rates) < 2:
            continue
        least, most = min(rates, key=rates.get), max(rates, key=rates.get)
        apart = rates[most] / rates[least]
        if apart < 1 + 2 * ALIKE:
            said.append(f"on {on(count)} all {len(rates)} operators on {WORD} cost the same, within {words.ratio(apart)}")
        else:
            said.append(
                f"on {on(count)} `{most}` is the fastest operator on {WORD} ({per_second(rates[most])}) and `{least}` the slowest"
                f" ({per_second(rates[least])}, {words.ratio(apart)} apart)"
            )
    return f"By operator, {'; '.join(said)}." if said else None


FINDINGS: tuple[Callable[[Study], str | None], ...] = (
    contention,
    against("returning", PLAIN, "Asking for the value that was there before"),
    against("system_scope", PLAIN, "Asking for the scope of the whole system"),
    against("warp_aggregated", PLAIN, "Joining the lanes of a warp that go to one address"),
    against("one_per_block", PLAIN, "Joining all of a block's operations and sending one atomic"),
    against("shared", PLAIN, "Counting in shared memory first"),
    against("shared_returning", "shared", "Asking for what was there before in shared memory"),
    against("compare_and_swap", PLAIN, "A compare-and-swap loop in place of the hardware's own addition"),
    against("compare_and_swap", PLAIN, "A compare-and-swap loop in place of the hardware's own addition", SUM, "f32"),
    against("ordered_bits", "compare_and_swap", "The maximum of floats through the order of their bits", "maximum", "f32"),
    types_apart,
    operators_apart,
)


def findings(page: Page) -> list[str]:
    study = study_of(page.machine)
    about = f"Each from the rows at {words.size(study.items or 0)} operations; every result was verified address by address."
    return study_findings(page, about, (finding(study) for finding in FINDINGS))


def headline(page: Page) -> list[str]:
    """For the front: what contention costs."""
    sentence = contention(study_of(page.machine)) if page.machine.device else None
    return spaced(f"**Atomics: {sentence}** ([atomics](costs.md#atomics)).") if sentence else []


# ---- tables and heat maps


def grid(study: Study, rows: list[tuple[str, Callable[[int], float | None]]], first: str) -> list[str]:
    """Rows down, addresses across, operations per second; the best of each column bold. A column has two rows to compare,
    where there are two rows."""
    rows = [(name, take) for name, take in rows if any(map(take, study.addresses))]
    counts = [count for count in study.addresses if sum(bool(take(count)) for _, take in rows) >= min(2, len(rows))]
    if not rows or not counts:
        return []
    best = {count: max(rate for _, take in rows if (rate := take(count))) for count in counts}
    body = []
    for name, take in rows:
        rates = {count: take(count) for count in counts}
        body.append([name, *[f"**{per_second(r)}**" if r == best[c] and len(rows) > 1 else per_second(r) for c, r in rates.items()]])
    return spaced(table([first, *[f">{words.size(count)}" for count in counts]], body))


def heat(page: Page, study: Study, rows: list[tuple[str, Callable[[int], float | None]]], title: str, of: str) -> list[str]:
    counts = [count for count in study.addresses if sum(bool(take(count)) for _, take in rows) > 1]
    points = [(name, count, rate) for name, take in rows for count in counts if (rate := take(count))]
    return page.drawn(charts.heat_map, HeatMap(title, "addresses", points, per_second), of)


def by_mechanism(study: Study, operator: str, input_type: str) -> list[tuple[str, Callable[[int], float | None]]]:
    return [(v.rung, lambda count, n=v.rung: study.rate(n, count, operator, input_type)) for v in study.mechanisms]


def overviews(page: Page) -> list[str]:
    """Addresses across; down the mechanisms, then the types, then the operators."""
    study = study_of(page.machine)
    if not study.cells or not page.machine.device:
        return []
    mechanisms = by_mechanism(study, SUM, WORD)
    types = [(t, lambda count, t=t: study.rate(PLAIN, count, SUM, t)) for t in study.types]
    operators = [(op.replace("_", " "), lambda count, op=op: study.rate(PLAIN, count, op)) for op in study.operators(WORD)]
    lines: list[str] = []
    for title, rows, first, of in (
        (f"Mechanisms: {WORD} {SUM}", mechanisms, "mechanism", "mechanisms"),
        (f"Types: {SUM}, `{PLAIN}`", types, "type", "types"),
        (f"Operators: {WORD}, `{PLAIN}`", operators, "operator", "operators"),
    ):
        named = [(code(name) if of == "mechanisms" else text(name), take) for name, take in rows]
        if shown := grid(study, named, first):
            called = f"Operations per second by number of addresses: {title.lower().replace('`', '')}"
            lines += spaced(f"## {title}", heat(page, study, rows, called, of), shown)
        if of == "mechanisms":
            lines += more_operations(page, study, first)
    if not lines:
        return []
    intro = f"Operations per second by the number of distinct addresses, {words.size(study.items or 0)} operations, best of each column bold."
    return spaced(intro, lines)


def more_operations(page: Page, study: Study, first: str) -> list[str]:
    """The same at other numbers of operations, where a launch weighs less or more."""
    lines: list[str] = []
    for items in sorted({cell.items for cell in cells(page.machine)} - {study.items}):
        other = Study(page.machine, items)
        rows = [(code(name), take) for name, take in by_mechanism(other, SUM, WORD)]
        if shown := grid(other, rows, first):
            lines += spaced(f"At {words.size(items)} operations:", shown)
    return lines


ideas = study_ideas("The mechanisms", "mechanism", lambda machine: study_of(machine).mechanisms)
