"""The page of histograms: what no other topic has to say. A histogram costs what its samples are, so every kind of sample and
number of bins is a problem of its own, each distribution a column, and one rung is recommended for whoever does not know."""

from dataclasses import replace
from functools import partial

from rungs_report import charts, compare, data, topics, words
from rungs_report.charts import HeatMap
from rungs_report.circumstances import banners
from rungs_report.compare import Ratio, Recommended
from rungs_report.data import YARDSTICKS, Cell, Fault, Machine, Variant
from rungs_report.ladders import FORETOLD, details, edge, estimates, ladder_groups, ladder_title, stopped
from rungs_report.page import Page, briefly, cubs_time, flags, fold, interval, marked, over_cub, over_each, over_headers, verdict
from rungs_report.sweeps import matrix
from rungs_report.words import code, columns, section, spaced, table, text

EVEN, RANGE, MULTI = "histogram_even", "histogram_range", "multi_histogram_even"
# Samples and bins that have a ladder, and those that are swept over n: the cells the targets are set for.
LADDERS = (("u8", 256), ("i32", 256), ("f32", 256))
HEADS = (*LADDERS, ("i32", 4096), ("i32", 16384), ("i32", 65536))
TYPES = ("u8", "i8", "u16", "i16", "i32", "u32", "f32", "f64", "f16")
TWICE = 2.0  # how much more than its best distribution a rung's worst may cost, up to MANY bins
MANY = 65536


def place(cell: Cell) -> tuple[int, int, int, str]:
    """Samples in the order of TYPES, then bins, then n."""
    known = TYPES.index(cell.input_type) if cell.input_type in TYPES else len(TYPES)
    return (known, cell.sizes.get("bins", 0), cell.items, cell.distribution)


def cells(machine: Machine, operation: str, mode: str, distribution: str = "uniform") -> list[Cell]:
    found = (each.get(distribution) for each in compare.settings(machine, operation, mode).values())
    return sorted((cell for cell in found if cell), key=place)


def heads(machine: Machine, mode: str, wanted: tuple[tuple[str, int], ...] = HEADS) -> list[Cell]:
    """The uniform problems among these samples and bins, at no particular size, in their order."""
    found: dict[tuple[str, int], Cell] = {}
    for cell in cells(machine, EVEN, mode):
        found.setdefault((cell.input_type, cell.sizes.get("bins", 0)), cell.problem)
    return [found[each] for each in wanted if each in found]


def kind(cell: Cell) -> str:
    return f"{cell.input_type}, {cell.sizes.get('bins', 0):,} bins"


# ---- one rung for whoever does not know the distribution


def choices(machine: Machine, several: bool = True) -> list[Recommended]:
    """What is recommended at each (samples, bins, n); several: only where more than one distribution was measured."""
    found = [compare.recommended(machine, setting) for setting in compare.settings(machine, EVEN)]
    kept = [each for each in found if each and (len(each.times) > 1 or not several)]
    return sorted(kept, key=lambda each: place(each.setting))


def named(each: Recommended) -> str:
    return f"{kind(each.setting)}, {words.size(each.setting.items)}"


def headline(page: Page) -> list[str]:
    """In a few sentences: how the recommended rungs stand against CUB, and what the distribution costs them."""
    found = choices(page.machine)
    judged = [ratio for each in found for ratio in each.ratios.values()]
    if not judged:
        return []
    verdicts = [ratio.verdict for ratio in judged]
    worst = min((each for each in found if each.worst), key=lambda each: each.worst.value)
    lines = spaced(
        f"**Histograms, one rung for each kind of samples, number of bins and n, chosen without knowing the distribution: over"
        f" {words.plural(len(found), 'choice')} and {words.plural(len(judged), 'distribution')} in all it is faster than CUB in"
        f" {verdicts.count('FASTER')}, level in {verdicts.count('SAME')}, slower in {verdicts.count('SLOWER')}"
        + (f", undecided in {verdicts.count('AMBIGUOUS')}" if "AMBIGUOUS" in verdicts else "")
        + f".** Its lowest speed-up is {words.ratio(worst.worst.value)} ({named(worst)}).",
    )
    within = [(compare.spread(each.times), each) for each in found if each.setting.sizes.get("bins", 0) <= MANY]
    if within:
        quotient, each = max(within, key=lambda pair: pair[0])
        said = "stays within" if quotient <= TWICE else "exceeds"
        lines[-2] += (
            f" Up to {MANY:,} bins its worst distribution costs at most {words.ratio(quotient)} the time of its best"
            f" ({named(each)}), which {said} {TWICE:g}x."
        )
    return lines


def distributions(page: Page) -> list[str]:
    """The recommended rung's time by distribution, and CUB's below it."""
    machine = page.machine
    found = choices(machine)
    if not found:
        return []
    seen = [d for d in charts.DISTRIBUTIONS if any(d in each.times for each in found)]
    seen += sorted({d for each in found for d in each.times} - set(seen))
    broken = {(f.cell._replace(distribution=""), f.cell.distribution): f for f in faults(machine)}
    rows, others, slower = [], [], []
    sizes = {each.setting.items for each in found}
    shown = {compare.LADDER_ITEMS} if compare.LADDER_ITEMS in sizes else sizes
    for each in found:
        setting = each.setting

        def ours(distribution: str, each: Recommended = each) -> str:
            if distribution not in each.times:
                return words.UNKNOWN
            ratio = each.ratios.get(distribution)
            return words.time(each.times[distribution]) + (f" ({marked(ratio)})" if ratio else "")

        def theirs(distribution: str, each: Recommended = each) -> str:
            if distribution in each.cub:
                return words.time(each.cub[distribution])
            fault = broken.get((each.setting, distribution))
            return fault.kind if fault else words.UNKNOWN

        rung = [code(machine.labels[each.variant]), *map(ours, seen), words.ratio(compare.spread(each.times))]
        cub = ["CUB", *map(theirs, seen), words.ratio(compare.spread(each.cub))]
        (rows if setting.items in shown else others).extend(([kind(setting), words.size(setting.items), *rung], ["", "", *cub]))
        slower += [
            [kind(setting), words.size(setting.items), page.label(each.variant), charts.distribution(d), over_cub(r), interval(r)]
            for d, r in each.ratios.items()
            if r.verdict == "SLOWER"
        ]
    headers = ["samples", ">n", "", *[f">{charts.distribution(d)}" for d in seen], ">worst / best"]
    lines = spaced(
        "## Each distribution a column",
        "Who does not know the distribution of the samples has to choose one rung for all. Recommended for a kind of samples, a number of"
        " bins and an n is, of the rungs measured there with the most distributions, the one whose lowest speed-up over CUB among them is"
        " highest (where CUB has no time, the one whose longest time is least). Its times, in parentheses the speed-up over CUB"
        " (= is a tie, ? undecided, − CUB wins), and CUB's fastest entry below.",
        table(headers, rows),
        fold("Other sizes", table(headers, others)),
    )
    if slower:
        shown = table(["samples", ">n", "recommended", "distribution", ">over CUB", "interval"], slower)
        lines += spaced("CUB is faster than the recommended rung here:", shown)
    else:
        lines += spaced("CUB is faster than the recommended rung in none of them.")
    return lines


# ---- the ladders


def ladders(page: Page) -> list[str]:
    """The whole ladder at one size for three kinds of samples, spread over all bins beside all in one."""
    machine = page.machine
    lines: list[str] = []
    sizes: set[int] = set()
    for problem in heads(machine, page.main.mode, LADDERS):
        cell = compare.ladder_cell(machine, problem)
        sizes.add(cell.items)
        other = cell._replace(distribution="constant")
        beside = other if compare.contenders(machine, other) else None
        named = f"{text(kind(cell))}, {words.size(cell.items)} samples"
        own = spaced(f"### {named}")
        own += page.drawn(charts.ladder_beside, (cell, beside), f"{cell.input_type}_{cell.sizes['bins']}")
        for (family, name), variants in ladder_groups(page, cell).items():
            own += ladder_table(page, cell, beside, family, name, variants)
        lines += fold(named, own) if lines else own
    said = f" at {words.listed([words.size(n) for n in sorted(sizes)])} samples"
    told = [f"The ceiling is {page.topic.roof}."] if machine.device else []
    told.append(
        "A gain is the time of the rung that a rung's source compares it with (against) over its own, within a run. Counts have no error: every"
        " counter of every row is compared with an independent count, before, after and on changed samples."
    )
    return section(f"## The ladders{said}", lines, " ".join(told))


def ladder_table(page: Page, cell: Cell, other: Cell | None, family: str, name: str, variants: list) -> list[str]:
    machine = page.machine
    climbing = family != YARDSTICKS and not name.startswith(compare.FRONT_DOOR)
    compared = any(compare.headline(machine, cell, variant) for variant in variants)
    both = [(cell, charts.distribution(cell.distribution))]
    both += [(other, charts.distribution(other.distribution))] if other else []
    headers = ["rung", "idea"] + ["against"] * climbing
    foretold = {each: estimates(machine, each, family, name) for each, _ in both}
    for _, called in both:
        headers += [f">{called}: time"] + [">% of ceiling"] * bool(machine.device)
        headers += [">gain"] * climbing + [f">{compare.over_main(machine)}", "verdict"] * compared
    rows = []
    for variant in sorted({*variants, *(long for own in foretold.values() for long in own)}, key=machine.order.__getitem__):
        row = [page.label(variant), text(machine.variants[variant]["idea"])]
        row += edge(page, cell, variant, foretold[cell])[:1] * climbing
        for each, _ in both:
            take = partial(compare.figure, machine, each, variant)
            row.append(f"≈{words.time(foretold[each][variant])}" if variant in foretold[each] else words.time(take("median_us")))
            if machine.device:
                row.append(words.percent(take("percent_of_ceiling")))
            if climbing:
                row.append(edge(page, each, variant, foretold[each])[1])
            if compared:
                ratio = compare.told(machine, each).get(variant)
                row += [over_cub(ratio), "" if compare.is_cub(variant) else verdict(ratio)]
        rows.append(row)
    lines = spaced(f"#### {ladder_title(family, name)}", table(headers, rows), details(page, cell, variants))
    if any(foretold.values()):
        lines += spaced(FORETOLD)
    if left := stopped(machine, cell, family, name):
        lines += spaced(f"Not run here: {words.listed(left)}.")
    return lines


# ---- every kind of samples and number of bins


def contests(page: Page, found: list[Cell]) -> list[str]:
    """A line a cell: CUB, the best rung, the speed-up with its interval and verdict, and how near the ceiling that is."""
    machine = page.machine
    broken: dict[Cell, str] = {fault.cell: fault.kind for fault in faults(machine)}
    rows = [
        [cell.input_type, f"{cell.sizes.get('bins', 0):,}", words.size(cell.items), cubs_time(machine, cell) if compare.fastest_cub(machine, cell) else broken.get(cell, words.UNKNOWN)]
        + [page.label(each.variant), words.time(each.median_us), words.percent(each.percent_of_ceiling), *over_each(machine, each.all_ratios)]
        + [interval(each.ratio), verdict(each.ratio), ", ".join(flags(machine, each.variant))]
        for cell in found
        if (each := compare.best(machine, cell))
    ]
    headers = ["samples", ">bins", ">n", ">CUB", "best rung", ">time", ">% of ceiling", *over_headers(machine), "interval", "verdict", "asks for"]
    return table(headers, rows)


def every_kind(page: Page) -> list[str]:
    """Uniform samples: the cells the targets are set for in full, all others by their speed-up and folded."""
    machine = page.machine
    if not machine.device:
        return []
    found = cells(machine, EVEN, page.main.mode)
    problems = list(dict.fromkeys(cell.problem for cell in found))
    swept = heads(machine, page.main.mode)
    first = [cell for cell in found if cell.problem in swept]
    rest = [cell for cell in found if cell.problem not in swept]
    lines: list[str] = []
    if len(swept) > 1:
        lines += page.drawn(charts.kinds, [(kind(problem), problem) for problem in swept])
    if shown := contests(page, first):
        lines += spaced(shown)
    if shown := contests(page, rest):
        lines += fold(f"Other samples and numbers of bins: {len(rest)}", shown)
    if overview := matrix(machine, problems):
        lines += spaced("The best rung's speed-up over CUB; = is a tie, ? undecided, − CUB wins.", overview)
    return section("## Samples, bins and n", "Uniform samples, even bins.", lines)


def ranges_and_channels(page: Page) -> list[str]:
    machine = page.machine
    if not machine.device:
        return []
    lines: list[str] = []
    for title, operation, about in (
        ("Ranges", RANGE, "The edges are given one by one and are not even; a sample's bin has to be searched."),
        ("Several channels", MULTI, "Samples come in pixels of four channels, of which three are counted; bytes count all four."),
    ):
        for name in charts.DISTRIBUTIONS:
            shown = contests(page, cells(machine, operation, page.main.mode, name))
            first = f"## {title}" not in lines
            if shown and first:
                lines += spaced(f"## {title}", about)
            if shown:
                told = spaced(f"{charts.distribution(name).capitalize()}:", shown)
                lines += told if first else fold(charts.distribution(name), told)
    return lines


# ---- what CUB cannot count


def faults(machine: Machine) -> list[Fault]:
    """Every case of CUB that was wrong or refused, once."""
    found = {(f.cell, f.variant): f for run in machine.runs for f in run.faults if compare.is_cub(f.variant)}
    return [found[key] for key in sorted(found)]


def uncounted(page: Page) -> list[str]:
    """The cells that CUB refuses or gets wrong, and who counts them."""
    machine = page.machine
    found = [each for each in faults(machine) if page.topic and each.cell.operation in page.topic.operations]
    if not found:
        return []
    grouped = words.grouped(found, lambda each: (each.variant, each.cell.operation, each.cell.input_type, each.cell.shape, each.kind))
    rows = []
    for (variant, _, _, _, what), cases in sorted(grouped.items(), key=lambda item: (machine.order[item[0][0]], place(item[1][0].cell))):
        of = cases[0].cell
        counts = [words.size(n) for n in sorted({each.cell.items for each in cases})]
        seen = [charts.distribution(d) for d in dict.fromkeys(each.cell.distribution for each in cases)]
        right = sorted({machine.labels[best.variant] for each in cases if (best := compare.best(machine, each.cell))})
        rows.append(
            [
                page.label(variant),
                text(charts.describe(of._replace(distribution="uniform", mode=""))),
                ", ".join(seen),
                ", ".join(counts),
                what,
                text(cases[0].defect),
                ", ".join(map(code, right)) or words.UNKNOWN,
            ]
        )
    headers = ["call", "of", "samples", "n", "", "what was seen, in the first case", "counted right by"]
    return spaced(
        "## What CUB refuses or gets wrong",
        "These calls have no time, and beating them is no win: a ratio exists only where CUB's counts are right.",
        table(headers, rows),
    )


# ---- the whole grid


def of_best(machine: Machine) -> dict[Cell, tuple[Variant, Ratio]]:
    """The best rung's speed-up over CUB, by cell; none where CUB has no time."""
    found = ((cell, compare.best(machine, cell)) for each in compare.settings(machine, EVEN).values() for cell in each.values())
    return {cell: (each.variant, each.ratio) for cell, each in found if each and each.ratio}


def of_recommended(machine: Machine) -> dict[Cell, tuple[Variant, Ratio]]:
    """The same of the one rung for all distributions."""
    return {
        each.setting._replace(distribution=name): (each.variant, ratio)
        for each in choices(machine, several=False)
        for name, ratio in each.ratios.items()
    }


def of_door(machine: Machine) -> dict[Cell, tuple[Variant, Ratio]]:
    """The same of what the front door chooses, of the samples that it was measured with."""
    doors = [variant for variant in machine.variants if variant.ladder == f"{compare.FRONT_DOOR}{topics.HISTOGRAMS}"]
    found = ((cell, variant, compare.headline(machine, cell, variant)) for cell in machine.cells for variant in doors)
    return {cell: (variant, ratio) for cell, variant, ratio in found if ratio}


def standing(called: str, found: dict[Cell, tuple[Variant, Ratio]]) -> str:
    """How many cells it wins, ties and loses, and where it stands worst."""
    verdicts = [ratio.verdict for _, ratio in found.values()]
    cell, (_, worst) = min(found.items(), key=lambda item: item[1][1].value)
    undecided = f", undecided in {verdicts.count('AMBIGUOUS')}" if "AMBIGUOUS" in verdicts else ""
    return (
        f"{called} is faster than CUB in {verdicts.count('FASTER'):,} of {words.plural(len(found), 'cell')}, level in {verdicts.count('SAME'):,},"
        f" slower in {verdicts.count('SLOWER'):,}{undecided}; its lowest speed-up is {words.ratio(worst.value)} ({kind(cell)}, {charts.distribution(cell.distribution)},"
        f" {words.size(cell.items)})."
    )


def below(page: Page, found: dict[Cell, tuple[Variant, Ratio]]) -> list[str]:
    """Every cell in which CUB's time is the lesser one, whatever the verdict."""
    lost = sorted(((cell, *each) for cell, each in found.items() if each[1].value < 1), key=lambda each: place(each[0]))
    rows = [
        [cell.input_type, f"{cell.sizes['bins']:,}", words.size(cell.items), charts.distribution(cell.distribution), page.label(variant)]
        + [over_cub(ratio), interval(ratio), verdict(ratio)]
        for cell, variant, ratio in lost
    ]
    return table(["samples", ">bins", ">n", "distribution", "rung", ">over CUB", "interval", "verdict"], rows)


def grid_tables(machine: Machine, best: dict[Cell, tuple[Variant, Ratio]], one: dict[Cell, tuple[Variant, Ratio]]) -> list[str]:
    """A table a kind of samples, each distribution a column."""
    broken = {fault.cell: fault.kind for fault in faults(machine)}
    lines: list[str] = []
    for input_type in TYPES:
        own = sorted((s for s in compare.settings(machine, EVEN) if s.input_type == input_type), key=place)
        own += [s for s in sorted({c._replace(distribution="") for c in broken if c.input_type == input_type}, key=place) if s not in own]
        rows = []
        for setting in sorted(own, key=place):
            told = []
            for name in charts.DISTRIBUTIONS:
                cell = setting._replace(distribution=name)
                if cell in best:
                    told.append(" / ".join(words.ratio(found[cell][1].value) if cell in found else words.UNKNOWN for found in (best, one)))
                else:
                    told.append(f"CUB {broken[cell]}" if cell in broken else words.UNKNOWN)
            rows.append([f"{setting.sizes['bins']:,}", words.size(setting.items), *told])
        if rows:
            headers = [">bins", ">n", *[f">{charts.distribution(name)}" for name in charts.DISTRIBUTIONS]]
            lines += fold(f"{input_type}: the best rung's speed-up / the recommended one's", table(headers, rows))
    return lines


def grid_maps(page: Page, one: dict[Cell, tuple[Variant, Ratio]]) -> list[str]:
    """A map an n: samples down, bins across, the recommended rung's lowest speed-up over all distributions."""
    lines: list[str] = []
    for items in sorted({cell.items for cell in one}):
        lowest: dict[tuple[str, int], float] = {}
        for cell, (_, ratio) in sorted(one.items(), key=lambda item: place(item[0])):
            if cell.items == items:
                key = (cell.input_type, cell.sizes["bins"])
                lowest[key] = min(lowest.get(key, ratio.value), ratio.value)
        title = f"{words.size(items)} samples: the recommended rung's speed-up over CUB, the lowest of all distributions"
        points = [(name, bins, value) for (name, bins), value in lowest.items()]
        lines += page.drawn(charts.heat_map, HeatMap(title, "bins", points, words.ratio), f"grid_{items}")
    return lines


def whole_grid(page: Page) -> list[str]:
    """Every kind of samples with every number of bins and distribution: bench/run --grid=histograms."""
    if not page.machine.device:
        return []
    machine = page.machine.grids.get(data.HISTOGRAMS)
    lines = spaced("## The whole grid")
    if machine is None:
        return spaced(lines, "Not measured yet: `bench/run --grid=histograms` measures it.")
    own = replace(page, machine=machine)
    best, one = of_best(machine), of_recommended(machine)
    if not best or not one:
        return spaced(lines, "CUB has no time in any of its cells.")
    runs = words.listed([f"{code(run.name)} (CCCL {text(run.cccl)})" for run in machine.runs])
    lines += spaced(
        banners(own),
        f"Every kind of samples with every number of bins and distribution, measured by {runs}. In each cell are CUB's entries, the front door, and"
        " the four rungs that a pilot call found fastest there. Where samples cannot tell so many bins apart, they are uniform only.",
        "Recommended is one rung for each kind of samples, number of bins and n, without knowing the distribution.",
    )
    for called, found in (("the best rung", best), ("the recommended rung", one), ("the front door", of_door(machine))):
        if found:
            shown = below(own, found)
            end = f"CUB's time is {'less here:' if shown else 'nowhere less.'}"
            lines += spaced(f"{standing(called.capitalize(), found)} {end}", shown, [""] if shown else [])
    without = [fault for fault in faults(machine) if fault.cell not in best]
    if without:
        counted = {kind_of: len({f.cell for f in without if f.kind == kind_of}) for kind_of in sorted({f.kind for f in without})}
        said = words.listed([f"{count} {kind_of}" for kind_of, count in counted.items()])
        lines += spaced(f"Where CUB has no right result there is no speed-up, and no win: {said}, as the tables say.")
    return [*lines, *grid_maps(own, one), *grid_tables(machine, best, one)]


# ---- sweeps


def sweeps(page: Page) -> list[str]:
    """Rates over n, a chart for each of the headline cells, and over the number of bins."""
    machine = page.machine
    if not machine.device:
        return []
    lines: list[str] = []
    for problem in heads(machine, page.main.mode):
        if len(compare.sizes(machine, problem)) > 1:
            lines += page.drawn(charts.sweep_rate, problem, f"{problem.input_type}_{problem.sizes['bins']}")
    over_n = section("## The sweep over n", lines, "Coloured are CUB and whatever wins somewhere; grey is everything else that was measured.")
    lines, tables = [], []
    for input_type in TYPES:
        for name in ("uniform", "constant"):
            found = [c for c in cells(machine, EVEN, page.main.mode, name) if c.input_type == input_type]
            counts = {c.items: sum(each.items == c.items for each in found) for c in found}
            # 16 Mi where three numbers of bins or more have it; else there is no line to draw.
            if counts.get(compare.LADDER_ITEMS, 0) > 2:
                at = [c for c in found if c.items == compare.LADDER_ITEMS]
                lines += page.drawn(charts.sweep_bins, at, f"{input_type}_{name}")
                tables += bins_table(page, at)
    over_bins = spaced("## The sweep over the number of bins", lines, tables) if lines else []
    return [*over_n, *over_bins]


def bins_table(page: Page, at: list[Cell]) -> list[str]:
    """CUB and the best rung at each number of bins."""
    told = {
        ">bins": lambda best: f"{best.cell.sizes['bins']:,}",
        ">CUB": lambda best: cubs_time(page.machine, best.cell),
        ">best rung": lambda best: words.time(best.median_us),
        ">GB/s": lambda best: words.number(best.gb_per_s),
        "which": lambda best: page.label(best.variant),
        ">over CUB": lambda best: briefly(best.ratio),
    }
    about = f"{at[0].input_type}, {charts.distribution(at[0].distribution)}, {words.size(at[0].items)} samples"
    return fold(words.html(about), columns(filter(None, (compare.best(page.machine, cell) for cell in at)), told))
