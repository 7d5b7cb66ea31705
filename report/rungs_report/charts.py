"""The charts: one Vega-Lite description each, drawn as SVG for Markdown and for the interactive page.

Backgrounds are transparent and inks are mid-tones, so a chart reads on a light page and on a dark one. A variant has one
colour, mark and dash everywhere, the colours are Okabe and Ito's for colour-blind readers.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert
from altair.utils import schemapi

from rungs_report import compare, words
from rungs_report.data import Cell, Machine, Variant
from rungs_report.svg import small

INK = "#7a7f87"  # 4:1 against white and against GitHub's dark page alike
FAINT = "#8a8f97"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#9467BD")
CUB_COLOUR, YARDSTICK_COLOUR, CEILING_COLOUR = "#D55E00", "#9A7B64", INK
MARKS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
DASHES = ((1, 0), (6, 3), (2, 2))
WIDTH, HEIGHT, LABEL_PIXELS = 640, 330, 13


schemapi.disable_debug_mode()  # which holds each part of a chart against Vega-Lite's schema when it is made
_grammar_checked = False


def check_grammar(whether: bool) -> None:
    """Whether each finished chart is held against Vega-Lite's schema, which takes longer than all else of a page. Off until asked for: the
    tests of the committed pages do."""
    global _grammar_checked
    _grammar_checked = whether


def grammar_checked() -> bool:
    return _grammar_checked


@dataclass(frozen=True)
class Style:
    colour: str
    mark: str
    dash: tuple[int, ...]


@dataclass(frozen=True)
class HeatMap:
    """Rates by name and count, and how a rate is written."""

    title: str
    counted: str  # what the counts count
    points: list[tuple[str, int, float]]
    written: Callable[[float | None], str]


@dataclass(frozen=True)
class Chart:
    name: str
    title: str  # says what is seen, for the page and for who cannot see it
    spec: dict[str, Any]


def styles(machines: Iterable[Machine]) -> dict[Variant, Style]:
    """A look for every variant of every GPU at once, so that it is the same on all pages. CUB owns its colour."""
    numbers: dict[Variant, int] = {}
    for machine in machines:
        for variant, entry in machine.variants.items():
            numbers.setdefault(variant, entry.get("number", -1))
    looks: dict[Variant, Style] = {}
    counts: dict[str, int] = {}
    # The rungs of a ladder in their order: neighbours, which charts compare most, get the most different looks. Each ladder
    # counts for itself, hand-written before cluster, so that no other ladder changes how it looks.
    for variant in sorted(numbers, key=lambda v: (v.family == "cluster", v.family, v.ladder, numbers[v], v.rung)):
        kind = "cub" if compare.is_cub(variant) else "yardstick" if variant.family == compare.YARDSTICKS else f"ours/{variant.ladder}"
        position = counts.get(kind, 0)
        counts[kind] = position + 1
        if kind.startswith("ours"):
            # 6 colours x 6 marks pass before both recur: the mark moves on by one more with every round,
            # and the dashes go from dotted to solid, since the last rungs are the ones drawn most.
            around = position // len(COLOURS)
            looks[variant] = Style(
                COLOURS[position % len(COLOURS)], MARKS[(position + around) % len(MARKS)], DASHES[(2 - around) % len(DASHES)]
            )
        else:
            colour = CUB_COLOUR if kind == "cub" else YARDSTICK_COLOUR
            looks[variant] = Style(colour, MARKS[position % len(MARKS)], DASHES[position % len(DASHES)])
    return looks


def key(machine: Machine, variant: Variant) -> str:
    """What tells the variants of a chart apart; the part after the second slash is what the reader sees."""
    return f"{variant.family}/{variant.ladder}/{machine.labels[variant]}"


CONFIG = alt.Config(
    aria=False,  # an image is described by the line of Markdown that shows it
    background="transparent",
    font=FONT,
    padding={"left": 20, "right": 36, "top": 8, "bottom": 6},  # fonts wider than the one that was measured run over the sides
    view=alt.ViewConfig(stroke=None),
    axis=alt.AxisConfig(
        labelColor=INK, titleColor=INK, domainColor=INK, tickColor=INK, gridColor=INK, gridOpacity=0.18,
        labelFontSize=11, titleFontSize=12, titleFontWeight="normal", labelFontWeight="normal",
    ),
    text=alt.MarkConfig(color=INK, fontSize=11),
    legend=alt.LegendConfig(labelColor=INK, titleColor=INK),
)  # fmt: skip


# What all charts have but their layers and height.
TOP = {name: part for name, part in alt.layer(alt.Chart().mark_point(), config=CONFIG, width=WIDTH).to_dict(validate=False).items() if name in ("config", "width", "$schema")}


class Drawing:
    """One chart in the making. Its rows stay out of Altair, which would check and copy every one of them, and are put
    into the finished description instead."""

    def __init__(self) -> None:
        self.datasets: dict[str, list[dict[str, Any]]] = {}

    def values(self, rows: Sequence[dict[str, Any]]) -> alt.NamedData:
        name = f"rows_{len(self.datasets)}"
        # Five digits are more than a pixel; shorter numbers keep the committed charts small and their diffs readable.
        self.datasets[name] = [{k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows]
        return alt.NamedData(name=name)

    def finish(
        self, name: str, title: str, layers: Sequence[alt.Chart], height: int = HEIGHT, independent: bool = False
    ) -> Chart:
        # Put together by hand, because a layered chart of Altair's copies all of its layers several times.
        drawn = [layer.to_dict(validate=False, context={"top_level": False}) for layer in layers]
        data = [layer["data"] for layer in drawn]
        spec = {**TOP, "height": height}
        if all(own == data[0] for own in data):
            spec |= {"data": data[0]}
            drawn = [{name: part for name, part in layer.items() if name != "data"} for layer in drawn]
        if independent:
            spec |= {"resolve": {"scale": {"color": "independent"}}}
        spec |= {"layer": drawn}
        if _grammar_checked:
            alt.LayerChart.validate(spec)
        return Chart(name, title, {**spec, "datasets": self.datasets})


def _n_axis(cells: Sequence[Cell]) -> alt.X:
    """Number of items on a log scale, ticks at the powers of four, written 16 Mi."""
    return _count_axis([cell.items for cell in cells if cell.items], "number of items")


def _count_axis(counts: Sequence[int], title: str) -> alt.X:
    low, high = math.floor(math.log2(min(counts))), math.ceil(math.log2(max(counts)))
    ticks = [2**exponent for exponent in range(low + low % 2, high + 1, 2)]
    labels = " : ".join(f"datum.value == {tick} ? '{words.size(tick)}'" for tick in ticks) + " : ''"
    return alt.X(
        "items:Q",
        title=title,
        scale=alt.Scale(type="log", base=2, domain=[2 ** (low - 0.4), 2 ** (max(high, low + 1) + 0.2)], nice=False),
        axis=alt.Axis(values=ticks, labelExpr=labels, labelOverlap="greedy"),
    )


def _rate_axis(domain: tuple[float, float]) -> alt.Y:
    scale = alt.Scale(type="log", domain=list(domain), nice=False)
    return alt.Y("rate:Q", title="GB/s", scale=scale, axis=alt.Axis(values=[10**e for e in range(-6, 7)], format=",~r"))


def _looks(keys: dict[str, Style], legend: alt.Legend | None = None) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """A variant's colour, mark and dash by its key."""

    def scale(values: Iterable[Any]) -> alt.Scale:
        return alt.Scale(domain=list(keys), range=list(values))

    return (
        alt.Color("key:N", legend=legend, scale=scale(look.colour for look in keys.values())),
        alt.Shape("key:N", legend=legend, scale=scale(look.mark for look in keys.values())),
        alt.StrokeDash("key:N", legend=legend, scale=scale(list(look.dash) for look in keys.values())),
    )


def _against_one(drawing: Drawing, rows: list[dict[str, Any]], x: alt.X, y: alt.Y, colour: alt.Color, shape: alt.Shape, size: int) -> list[alt.Chart]:
    """Where CUB is, the intervals, and the points: hollow where nobody is faster for certain."""
    base, certain = alt.Chart(drawing.values(rows)), "datum.verdict == 'FASTER' || datum.verdict == 'SLOWER'"
    level = alt.Chart(drawing.values([{"speedup": 1}])).mark_rule(color=CUB_COLOUR, strokeDash=[5, 4], strokeWidth=1.5)
    low = alt.Y("low:Q", scale=y["scale"], title="speed-up over CUB")
    told = {"x": x, "y": y, "color": colour, "shape": shape}
    return [
        level.encode(y=y),
        base.mark_rule(strokeWidth=1.5).encode(x=x, y=low, y2=alt.Y2("high:Q"), color=colour),
        base.transform_filter(certain).mark_point(filled=True, size=size, opacity=1).encode(**told),
        base.transform_filter(f"!({certain})").mark_point(filled=False, size=size, opacity=1, strokeWidth=1.8).encode(**told),
    ]


def _spread(points: list[tuple[float, Any]], low: float, high: float, log: bool, height: int = HEIGHT) -> dict[Any, float]:
    """Heights for direct labels, in data units, at least a line's height apart and inside the chart."""
    forward = math.log if log else float
    back = math.exp if log else float
    bottom, top = forward(low), forward(high)
    gap = LABEL_PIXELS * (top - bottom) / height
    ordered = sorted(points, key=lambda point: (point[0], str(point[1])))
    upward, downward = [], []
    for value, _ in ordered:
        upward.append(max(forward(value), upward[-1] + gap if upward else -math.inf))
    for value, _ in reversed(ordered):
        downward.append(min(forward(value), downward[-1] - gap if downward else math.inf))
    # Both passes keep the gap, so their mean does too, and it sits in the middle of what it labels.
    centres = [(up + down) / 2 for up, down in zip(upward, reversed(downward), strict=True)]
    shift = min(0.0, top - centres[-1]) if centres else 0.0
    shift = max(shift, bottom - centres[0]) if centres else 0.0
    placed = {name: centre + shift for (_, name), centre in zip(ordered, centres, strict=True)}
    return {name: back(value) for name, value in placed.items()}


def _highlighted(machine: Machine, problem: Cell) -> list[Variant]:
    """Whom a sweep names: what wins somewhere, and CUB. Everything else stays visible, in grey."""
    winners = {found.variant for found in compare.bests(machine, problem)}
    present = {variant for cell in compare.sizes(machine, problem) for variant in compare.contenders(machine, cell)}
    named = winners | {variant for variant in present if compare.is_cub(variant)}
    if not winners:
        named = present
    return sorted(named, key=machine.order.__getitem__)


def _told(ratio: compare.Ratio) -> dict[str, Any]:
    return {"speedup": ratio.value, "low": ratio.low, "high": ratio.high, "verdict": ratio.verdict}


def _row(machine: Machine, variant: Variant, items: int, n: str, **more: Any) -> dict[str, Any]:
    return {"items": items, "n": n, "rung": machine.labels[variant], "key": key(machine, variant), **more}


def _rows(machine: Machine, cells: Iterable[Cell], figures: Callable[[Cell, Variant], dict[str, Any] | None]) -> list[dict[str, Any]]:
    """A point for each variant at each n that has these figures."""
    found = []
    for cell in cells:
        for variant in compare.contenders(machine, cell) if cell.items else []:
            figure = figures(cell, variant) if variant.ladder != compare.SWEEP_OF_LAUNCHES else None
            if figure:
                found.append(_row(machine, variant, cell.items, words.size(cell.items), **figure))
    return found


def _of(machine: Machine, column: str, name: str) -> Callable[[Cell, Variant], dict[str, Any] | None]:
    def figure(cell: Cell, variant: Variant) -> dict[str, Any] | None:
        value = compare.figure(machine, cell, variant, column)
        return {name: value} if value else None

    return figure


def _lines(
    drawing: Drawing,
    machine: Machine,
    looks: dict[Variant, Style],
    named: list[Variant],
    rows: list[dict[str, Any]],
    x: alt.X,
    y: alt.Y,
    column: str,
    domain: tuple[float, float],
    log: bool,
) -> list[alt.Chart]:
    """Grey lines for all, the named ones on top in their own look, each with its name at its right-hand end."""
    keys = {key(machine, variant): looks[variant] for variant in named}
    colour, shape, dash = _looks(keys)
    bright = [row for row in rows if row["key"] in keys]
    dim = [row for row in rows if row["key"] not in keys]
    layers = []
    if dim:
        grey = alt.Chart(drawing.values(dim)).encode(x=x, y=y, detail=alt.Detail("key:N"))
        layers.append(grey.mark_line(color=FAINT, strokeWidth=1, opacity=0.45, clip=True))
        inside = alt.Chart(drawing.values([row for row in dim if domain[0] <= row[column] <= domain[1]]))
        layers.append(inside.mark_circle(color=FAINT, size=14, opacity=0.5).encode(x=x, y=y))
    base = alt.Chart(drawing.values(bright))
    layers.append(base.mark_line(strokeWidth=2, clip=True).encode(x=x, y=y, color=colour, strokeDash=dash, detail=alt.Detail("key:N")))
    shown = alt.Chart(drawing.values([row for row in bright if domain[0] <= row[column] <= domain[1]]))
    layers.append(shown.mark_point(filled=True, size=46, opacity=1).encode(x=x, y=y, color=colour, shape=shape))

    ends: dict[str, dict[str, Any]] = {}
    for row in bright:
        if domain[0] <= row[column] <= domain[1] and row["items"] >= ends.get(row["key"], row)["items"]:
            ends[row["key"]] = row
    last = max((row["items"] for row in rows), default=1)
    # One column of labels at the edge, also for lines that end before it: among the lines a label could not be read.
    edge = _spread([(row[column], own) for own, row in ends.items()], *domain, log)
    furthest = {own: max(row["items"] for row in bright if row["key"] == own) for own in ends}

    def said(own: str, row: dict[str, Any]) -> str:
        if row["items"] == last:
            return row["rung"]
        return f"{row['rung']}, {'to' if row['items'] == furthest[own] else 'lower after'} {row['n']}"

    labels = [{**row, column: edge[own], "items": last, "label": said(own, row)} for own, row in sorted(ends.items())]
    if labels:
        layers.append(
            alt.Chart(drawing.values(labels)).mark_text(align="left", dx=9, fontSize=11, clip=False)
            .encode(x=x, y=y, text=alt.Text("label:N"), color=colour)
        )  # fmt: skip
    return layers


def sweep_rate(machine: Machine, looks: dict[Variant, Style], problem: Cell, name: str) -> Chart | None:
    """GB/s over n, both logarithmic, the measured ceiling drawn in."""
    drawing = Drawing()
    rows = _rows(machine, compare.sizes(machine, problem), _of(machine, "gb_per_s", "rate"))
    if len({row["items"] for row in rows}) < 2:
        return None
    cells = compare.sizes(machine, problem)
    ceiling = [
        {"items": cell.items, "rate": limit}
        for cell in cells
        if cell.items and (limit := compare.ceiling(machine, cell))
    ]
    rates = [row["rate"] for row in rows + ceiling]
    named = _highlighted(machine, problem)
    slowest = min(row["rate"] for row in rows if row["key"] in {key(machine, variant) for variant in named})
    domain = (slowest / 2, max(rates) * 1.35)
    x = _n_axis(cells)
    y = _rate_axis(domain)
    layers = _lines(drawing, machine, looks, named, rows, x, y, "rate", domain, True)
    if ceiling:
        limit = alt.Chart(drawing.values(ceiling))
        layers.insert(
            0,
            limit.mark_line(color=CEILING_COLOUR, strokeDash=[4, 4], strokeWidth=1.5).encode(x=x, y=y),
        )
        first = alt.Chart(drawing.values([{**ceiling[len(ceiling) // 2], "label": "measured ceiling"}]))
        layers.append(first.mark_text(align="right", dx=-8, dy=-8, color=CEILING_COLOUR).encode(x=x, y=y, text=alt.Text("label:N")))
    title = f"GB/s over the number of items: {describe(problem)}"
    return drawing.finish(name, title, layers)


def sweep_bins(machine: Machine, looks: dict[Variant, Style], cells: list[Cell], name: str) -> Chart | None:
    """GB/s over the number of bins, all else alike: what wins somewhere and CUB named, the rest grey."""
    drawing = Drawing()
    rows = [
        _row(machine, variant, cell.sizes["bins"], f"{cell.sizes['bins']:,} bins", rate=rate)
        for cell in cells
        for variant in compare.contenders(machine, cell)
        if (rate := compare.figure(machine, cell, variant, "gb_per_s"))
    ]
    if len({row["items"] for row in rows}) < 2:
        return None
    winners = {found.variant for cell in cells if (found := compare.best(machine, cell))}
    present = {variant for cell in cells for variant in compare.contenders(machine, cell)}
    named = sorted(winners | {v for v in present if compare.is_cub(v)}, key=machine.order.__getitem__)
    bright = {key(machine, variant) for variant in named}
    limit = words.median(compare.ceiling(machine, cell) for cell in cells)
    slowest = min(row["rate"] for row in rows if row["key"] in bright or not bright)
    domain = (slowest / 2, max([row["rate"] for row in rows] + [limit or 0]) * 1.35)
    x = _count_axis([row["items"] for row in rows], "number of bins")
    y = _rate_axis(domain)
    layers = _lines(drawing, machine, looks, named, rows, x, y, "rate", domain, True)
    if limit:
        rule = alt.Chart(drawing.values([{"rate": limit}]))
        layers.insert(0, rule.mark_rule(color=CEILING_COLOUR, strokeDash=[4, 4], strokeWidth=1.5).encode(y=y))
    first = cells[0]
    about = ", ".join(
        filter(None, (first.input_type, "" if first.distribution == "uniform" else distribution(first.distribution), first.mode))
    )
    return drawing.finish(name, f"GB/s over the number of bins at {words.size(first.items)} samples: {about}", layers)


def sweep_speedup(machine: Machine, looks: dict[Variant, Style], problem: Cell, name: str) -> Chart | None:
    """Speed-up over CUB over n, with intervals, a rule where both are level."""
    drawing = Drawing()

    def speedup(cell: Cell, variant: Variant) -> dict[str, Any] | None:
        ratio = compare.told(machine, cell).get(variant)
        return _told(ratio) if ratio else None

    rows = _rows(machine, compare.sizes(machine, problem), speedup)
    if len({row["items"] for row in rows}) < 2:
        return None
    named = _highlighted(machine, problem)
    keys = {key(machine, variant): looks[variant] for variant in named}
    bright = [row for row in rows if row["key"] in keys]
    top = max([row["high"] for row in bright] + [1.1]) * 1.04
    # Losers far below are cut off: at 0.01x they would press everything of interest into one line.
    domain = (0.5, top)
    x = _n_axis(compare.sizes(machine, problem))
    scale = alt.Scale(domain=list(domain), nice=False)
    over = compare.over_main(machine)
    y = alt.Y("speedup:Q", title=f"speed-up {over}", scale=scale, axis=alt.Axis(format=".2~f", tickCount=8))
    colour, _, _ = _looks(keys)
    band = (
        alt.Chart(drawing.values(bright)).mark_area(opacity=0.18, clip=True, line=False)
        .encode(x=x, y=alt.Y("low:Q", scale=scale, title=f"speed-up {over}"), y2=alt.Y2("high:Q"), color=colour, detail=alt.Detail("key:N"))
    )  # fmt: skip
    level = alt.Chart(drawing.values([{"speedup": 1}])).mark_rule(color=INK, strokeDash=[4, 4]).encode(y=y)
    layers = [level, band, *_lines(drawing, machine, looks, named, rows, x, y, "speedup", domain, False)]
    return drawing.finish(name, f"Speed-up {over} over the number of items: {describe(problem)}", layers)


def _crowded(counts: Sequence[int]) -> list[bool]:
    """Which labels to leave out, lest they print over the one before."""
    out, last = [], -math.inf
    for count in counts:
        out.append(math.log2(count) - last < 0.9)
        last = last if out[-1] else math.log2(count)
    return out


def best_of_all(machine: Machine, looks: dict[Variant, Style], problem: Cell, name: str) -> Chart | None:
    """A topic's headline: at each n the best rung's speed-up over CUB, ties drawn hollow."""
    drawing = Drawing()
    found = [each for each in compare.bests(machine, problem) if each.ratio and each.cell.items]
    if len(found) < 2:
        return None
    rows = [
        {
            "items": each.cell.items,
            "key": key(machine, each.variant),
            **_told(each.ratio),
            "label": "" if crowded else words.ratio(each.ratio.value) if each.ratio.verdict in ("FASTER", "SLOWER") else "tie",
        }
        for each, crowded in zip(found, _crowded([each.cell.items for each in found]), strict=True)
    ]
    keys = {key(machine, each.variant): looks[each.variant] for each in found}
    low = min(0.9, *(row["low"] for row in rows)) * 0.97
    high = max(1.1, *(row["high"] for row in rows)) * 1.06
    x = _n_axis([each.cell for each in found])
    scale = alt.Scale(domain=[low, high], nice=False)
    y = alt.Y("speedup:Q", title="speed-up over CUB", scale=scale, axis=alt.Axis(format=".2~f", tickCount=8))
    legend = alt.Legend(
        title=None, orient="top", symbolSize=70, labelFontSize=11, columns=5, labelExpr="split(datum.label, '/')[2]", symbolStrokeWidth=1.5
    )
    colour, shape, _ = _looks(keys, legend)
    base = alt.Chart(drawing.values(rows))
    cub = alt.Chart(drawing.values([{"speedup": 1, "items": rows[-1]["items"], "label": "CUB"}]))
    level, *points = _against_one(drawing, rows, x, y, colour, shape, 75)
    layers = [
        level,
        cub.mark_text(align="left", dx=9, color=CUB_COLOUR).encode(x=x, y=y, text=alt.Text("label:N")),
        base.mark_line(color=FAINT, strokeWidth=1.2, opacity=0.7).encode(x=x, y=y),
        *points,
        base.mark_text(dy=-9).encode(x=x, y=alt.Y("high:Q", scale=scale, title="speed-up over CUB"), text=alt.Text("label:N")),
    ]
    title = f"Best rung against CUB on {machine.name}: {describe(problem)}; 1.0 is CUB, hollow marks are ties"
    return drawing.finish(name, title, layers, height=280)


def _several(machine: Machine, series: Sequence[tuple[str, Cell]], name: str, title: str, log: bool = False) -> Chart | None:
    """The best rung's speed-up over CUB, a line for each problem, named at its end; ties drawn hollow. log: where speed-ups
    differ by more than a few times."""
    drawing = Drawing()
    rows = [
        {"items": each.cell.items, "series": label, **_told(each.ratio)}
        for label, problem in series
        for each in compare.bests(machine, problem)
        if each.ratio and each.cell.items
    ]
    if len({row["items"] for row in rows}) < 2:
        return None
    labels = [label for label, _ in series]
    low = min(0.9, *(row["low"] for row in rows)) * 0.97
    high = max(1.1, *(row["high"] for row in rows)) * 1.04
    x = _n_axis([problem._replace(items=row["items"]) for row in rows for _, problem in series[:1]])
    if log:
        scale = alt.Scale(type="log", domain=[low, high], nice=False)
        axis = alt.Axis(values=[step * 10**e for e in range(-2, 4) for step in (1, 2, 5)], format=",~r")
    else:
        scale, axis = alt.Scale(domain=[low, high], nice=False), alt.Axis(format=".2~f", tickCount=8)
    y = alt.Y("speedup:Q", title="speed-up over CUB", scale=scale, axis=axis)
    colour = alt.Color("series:N", legend=None, scale=alt.Scale(domain=labels, range=list(COLOURS[: len(labels)])))
    shape = alt.Shape("series:N", legend=None, scale=alt.Scale(domain=labels, range=list(MARKS[: len(labels)])))
    patterns = [list(((1, 0), (5, 4))[position % 2]) for position, _ in enumerate(labels)]
    dash = alt.StrokeDash("series:N", legend=None, scale=alt.Scale(domain=labels, range=patterns))
    last = max(row["items"] for row in rows)
    ends = {label: max((row for row in rows if row["series"] == label), key=lambda row: row["items"], default=None) for label in labels}
    ends = {label: row for label, row in ends.items() if row}
    heights = _spread([(row["speedup"], label) for label, row in ends.items()] + [(1.0, "CUB")], low, high, log, 280)
    named = [{"items": last, "speedup": heights[label], "series": label} for label in ends]
    cub = alt.Chart(drawing.values([{"items": last, "speedup": heights["CUB"], "label": "CUB"}]))
    level, *points = _against_one(drawing, rows, x, y, colour, shape, 60)
    layers = [
        level,
        alt.Chart(drawing.values(rows)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash),
        *points,
        cub.mark_text(align="left", dx=9, color=CUB_COLOUR).encode(x=x, y=y, text=alt.Text("label:N")),
        alt.Chart(drawing.values(named)).mark_text(align="left", dx=9, fontSize=12).encode(x=x, y=y, text=alt.Text("series:N"), color=colour),
    ]
    return drawing.finish(name, title, layers, height=280)


def headline(machine: Machine, looks: dict[Variant, Style], series: list[tuple[str, Cell]], name: str) -> Chart | None:
    """The README's chart: a line for each topic."""
    said = words.listed([f"{label} ({describe(problem)})" for label, problem in series])
    return _several(machine, series, name, f"Best rung against CUB on {machine.name}: {said}; 1.0 is CUB, hollow marks are ties")


def kinds(machine: Machine, looks: dict[Variant, Style], series: list[tuple[str, Cell]], name: str) -> Chart | None:
    """A line for each kind of problem of a topic."""
    said = words.listed([label for label, _ in series])
    return _several(machine, series, name, f"Best rung against CUB: {said}; 1.0 is CUB, hollow marks are ties", log=True)


def operations(machine: Machine, looks: dict[Variant, Style], series: list[tuple[str, Cell]], name: str) -> Chart | None:
    """A line for each operation of a topic."""
    said = words.listed([describe(problem) for _, problem in series])
    return _several(machine, series, name, f"Best rung against CUB: {said}; 1.0 is CUB, hollow marks are ties")


def ladder(machine: Machine, looks: dict[Variant, Style], cell: Cell, name: str) -> Chart | None:
    """One bar a rung at one size, in ladder order, the ceiling and CUB as rules."""
    return ladder_beside(machine, looks, (cell, None), name)


def ladder_beside(machine: Machine, looks: dict[Variant, Style], about: tuple[Cell, Cell | None], name: str) -> Chart | None:
    """The same, with the rate at the second cell as a tick on each bar."""
    cell, other = about
    drawing = Drawing()
    rows = []
    for variant in compare.contenders(machine, cell):
        rate = compare.figure(machine, cell, variant, "gb_per_s")
        if rate and variant.ladder != compare.SWEEP_OF_LAUNCHES:
            rows.append(
                {
                    "key": key(machine, variant),
                    "rate": rate,
                    "label": words.significant(rate),
                    "colour": looks[variant].colour,
                }
            )
            if other and (beside := compare.figure(machine, other, variant, "gb_per_s")):
                rows[-1]["beside"] = beside
    if len(rows) < 2:
        return None
    limit = compare.ceiling(machine, cell)
    top = max([max(row["rate"], row.get("beside", 0)) for row in rows] + [limit or 0]) * 1.1
    for row in rows:
        # A label that the ceiling's rule would cross stands behind the rule.
        row["end"] = limit if limit and row["rate"] <= limit < row["rate"] + top * 0.08 else row["rate"]
    y = alt.Y(
        "key:N",
        sort=[row["key"] for row in rows],
        title=None,
        axis=alt.Axis(labelExpr="split(datum.value, '/')[2]", labelLimit=260, ticks=False, domain=False, grid=False),
    )
    scale = alt.Scale(domain=[0, top], nice=False)
    x = alt.X("rate:Q", title="GB/s", scale=scale, axis=alt.Axis(tickCount=6, format=",d"))
    base = alt.Chart(drawing.values(rows))
    layers = [
        base.mark_bar(height={"band": 0.7}).encode(
            x=x, y=y, color=alt.Color("colour:N", scale=None)
        ),
        base.mark_text(align="left", dx=5).encode(x=alt.X("end:Q", scale=scale, title="GB/s"), y=y, text=alt.Text("label:N")),
    ]
    ticks = [row for row in rows if "beside" in row]
    if ticks:
        mark = alt.Chart(drawing.values(ticks)).mark_tick(color=INK, thickness=3, height=17)
        layers.append(mark.encode(x=alt.X("beside:Q", scale=scale, title="GB/s"), y=y))
    rules = []
    if limit:
        rules.append({"rate": limit, "label": "measured ceiling", "colour": CEILING_COLOUR})
    if rules:
        drawn = alt.Chart(drawing.values(rules))
        layers.append(drawn.mark_rule(strokeDash=[4, 4], strokeWidth=1.5).encode(x=x, color=alt.Color("colour:N", scale=None)))
        layers.append(
            drawn.mark_text(align="right", dx=-4, y=-6).encode(x=x, text=alt.Text("label:N"), color=alt.Color("colour:N", scale=None))
        )
    title = f"GB/s of every rung at {words.size(cell.items)} items: {describe(cell.problem)}"
    if ticks and other:
        title += f"; the ticks are the same samples, {distribution(other.distribution)}"
    return drawing.finish(name, title, layers, height=max(120, 21 * len(rows)))


def heat_map(machine: Machine, looks: dict[Variant, Style], about: HeatMap, name: str) -> Chart | None:
    """Names down, counts across, a rate's logarithm as colour and the rate in the field."""
    counts = sorted({count for _, count, _ in about.points})
    names = list(dict.fromkeys(name for name, _, _ in about.points))
    if len(counts) < 2:
        return None
    rates = [rate for _, _, rate in about.points]
    middle = math.sqrt(min(rates) * max(rates))
    drawing = Drawing()
    rows = [
        {"name": own, "count": words.size(count), "rate": rate, "label": about.written(rate), "ink": "#111" if rate > middle else "#fff"}
        for own, count, rate in about.points
    ]
    across = [words.size(count) for count in counts]
    crowded = len(across) * max(map(len, across)) > 90
    axis = alt.Axis(labelAngle=-35 if crowded else 0, labelFontSize=9, ticks=False)
    x = alt.X("count:O", title=about.counted, sort=across, axis=axis)
    y = alt.Y("name:N", title=None, sort=names, axis=alt.Axis(labelLimit=260, ticks=False, domain=False))
    scale = alt.Scale(type="log", domain=[min(rates), max(rates) * 1.0001], range=["#2c3e70", "#2f8f8b", "#f2d95c"])
    base = alt.Chart(drawing.values(rows))
    layers = [
        base.mark_rect().encode(x=x, y=y, color=alt.Color("rate:Q", scale=scale, legend=None)),
        base.mark_text(fontSize=9).encode(x=x, y=y, text=alt.Text("label:N"), color=alt.Color("ink:N", scale=None)),
    ]
    # Each layer has colours of its own: fields by rate, letters as they are given.
    return drawing.finish(name, about.title, layers, height=max(90, 26 * len(names)), independent=True)


GAIN_COLOUR, LOSS_COLOUR = COLOURS[0], COLOURS[4]  # of a step's bar; the sign stands beside it too


def limit(machine: Machine, looks: dict[Variant, Style], problem: Cell, name: str) -> Chart | None:
    """Per cent of the measured ceiling over n: every variant a line, and how much of the ceiling's own time is the launch."""
    drawing = Drawing()
    sizes = compare.sizes(machine, problem)
    rows = _rows(machine, sizes, _of(machine, "percent_of_ceiling", "share"))
    floors = [
        {"items": cell.items, "launch": min(floor, 100.0), "none": 0.0} for cell in sizes if (floor := compare.floor_share(machine, cell))
    ]
    if len({row["items"] for row in rows}) < 2:
        return None
    domain = (0.0, 112.0)
    x = _n_axis(compare.sizes(machine, problem))
    scale = alt.Scale(domain=list(domain), nice=False)
    axis = alt.Axis(values=list(range(0, 101, 20)))
    y = alt.Y("share:Q", title="% of the measured ceiling", scale=scale, axis=axis)
    named = _highlighted(machine, problem)
    layers = []
    if len(floors) > 1:
        launch = alt.Y("launch:Q", scale=scale, axis=axis, title="% of the measured ceiling")
        area = alt.Chart(drawing.values(floors))
        layers.append(area.mark_area(color=FAINT, opacity=0.2, line=False).encode(x=x, y=launch, y2=alt.Y2("none:Q")))
        ends = [{**floors[0], "share": 5.0, "label": "grey: the launch's share of the ceiling's time"}]
        layers.append(alt.Chart(drawing.values(ends)).mark_text(align="left", dx=4, color=FAINT).encode(x=x, y=y, text=alt.Text("label:N")))
    layers.append(alt.Chart(drawing.values([{"share": 100.0}])).mark_rule(color=CEILING_COLOUR, strokeDash=[4, 4], strokeWidth=1.5).encode(y=y))
    left, right = (pick(row["items"] for row in rows) for pick in (min, max))
    for items, align, label in ((left, "left", "launch floor"), (right, "right", "ceiling of the memory")):
        ends = alt.Chart(drawing.values([{"items": items, "share": 106.0, "label": label}]))
        layers.append(ends.mark_text(align=align, color=CEILING_COLOUR).encode(x=x, y=y, text=alt.Text("label:N")))
    layers += _lines(drawing, machine, looks, named, rows, x, y, "share", domain, False)
    return drawing.finish(name, f"Per cent of the measured ceiling over the number of items: {describe(problem)}", layers)


def waterfall(machine: Machine, looks: dict[Variant, Style], about: tuple[Cell, list[Variant]], name: str) -> Chart | None:
    """One ladder at one size: each bar reaches from the time of the rung before to its own, the ratio beside it, CUB a rule."""
    cell, variants = about
    times = [(variant, compare.figure(machine, cell, variant, "median_us")) for variant in variants]
    if len(times) < 2:
        return None
    drawing = Drawing()
    rows: list[dict[str, Any]] = []
    for position, (variant, time) in enumerate(times):
        before = times[position - 1][1] if position else time
        ratio = compare.within_runs(machine, cell, times[position - 1][0], variant) if position else None
        rows.append(
            {
                "key": key(machine, variant),
                "before": before,
                "after": time,
                "end": max(before, time),
                "label": words.ratio(ratio) if ratio else words.time(time),
                "colour": LOSS_COLOUR if ratio and ratio < 1 else GAIN_COLOUR,
            }
        )
    ends = [row[end] for row in rows for end in ("before", "after")]
    cub = compare.fastest_cub(machine, cell)
    low, high = min([*ends, *([cub[1]] if cub else [])]) / 1.25, max(ends) * 1.6
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=[step * 10**e for e in range(-1, 6) for step in (1, 2, 5)], format=",~r", labelOverlap="greedy")
    x = alt.X("before:Q", title="µs, from the rung before to this one", scale=scale, axis=axis)
    y = alt.Y(
        "key:N",
        sort=[row["key"] for row in rows],
        title=None,
        axis=alt.Axis(labelExpr="split(datum.value, '/')[2]", labelLimit=260, ticks=False, domain=False, grid=False),
    )
    base = alt.Chart(drawing.values(rows))
    colour = alt.Color("colour:N", scale=None)
    layers = []
    if cub:
        rule = alt.Chart(drawing.values([{"before": cub[1], "label": "CUB"}]))
        layers.append(rule.mark_rule(color=CUB_COLOUR, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x))
        layers.append(rule.mark_text(color=CUB_COLOUR, y=-6).encode(x=x, text=alt.Text("label:N")))
    layers += [
        base.mark_bar(height={"band": 0.6}).encode(x=x, x2=alt.X2("after:Q"), y=y, color=colour),
        base.mark_tick(thickness=3, height=15).encode(x=alt.X("after:Q", scale=scale, axis=axis, title="µs, from the rung before to this one"), y=y, color=colour),
        base.mark_text(align="left", dx=6).encode(x=alt.X("end:Q", scale=scale, axis=axis, title="µs, from the rung before to this one"), y=y, text=alt.Text("label:N")),
    ]  # fmt: skip
    title = f"What each rung gained: {describe(cell.problem)}, {words.size(cell.items)} items; blue is a gain, orange a loss"
    return drawing.finish(name, title, layers, height=max(110, 22 * len(rows)))


def pareto(machine: Machine, looks: dict[Variant, Style], about: tuple[Cell, list[dict[str, Any]]], name: str) -> Chart | None:
    """Error over time; what nothing else beats in both is joined and named, what does not repeat is hollow."""
    cell, points = about
    if len(points) < 2:
        return None
    drawing = Drawing()
    rows = [
        {
            "micros": each["time"],
            "error": each["error"],
            "repeats": "yes" if each["repeats"] else "no",
            "front": "yes" if each["front"] else "no",
            "colour": CUB_COLOUR if compare.is_cub(each["variant"]) else COLOURS[0] if each["front"] else FAINT,
            "label": machine.labels[each["variant"]] if each["front"] or compare.is_cub(each["variant"]) else "",
        }
        for each in points
    ]
    # CUB has several entries, apart by less than their names: its fastest is named.
    named = min((row for row in rows if row["colour"] == CUB_COLOUR), key=lambda row: row["micros"], default=None)
    for row in rows:
        if row["colour"] == CUB_COLOUR and row["front"] == "no" and row is not named:
            row["label"] = ""
    last = 0.0
    for row in sorted(rows, key=lambda row: (row["micros"], -row["error"])):
        if row["label"]:
            row["label"], last = (row["label"], row["micros"]) if row["micros"] > last * 1.1 or row is named else ("", last)
    times = [row["micros"] for row in rows]
    scale = alt.Scale(type="log", domain=[min(times) / 1.15, max(times) * 1.6], nice=False)
    axis = alt.Axis(values=[step * 10**e for e in range(-1, 7) for step in (1, 2, 5)], format=",~r", labelOverlap="greedy")
    x = alt.X("micros:Q", title="µs", scale=scale, axis=axis)
    most = max(row["error"] for row in rows)
    ticks = [0, *[step * 10**e for e in range(0, 12) for step in (1, 3) if step * 10**e <= most * 1.6]]
    y = alt.Y("error:Q", title="error, in units of the last place", scale=alt.Scale(type="symlog", domain=[0, max(1.0, most * 1.4)], nice=False), axis=alt.Axis(values=ticks, format=",~r"))  # fmt: skip
    base = alt.Chart(drawing.values(rows))
    front = sorted((row for row in rows if row["front"] == "yes"), key=lambda row: row["micros"])
    stairs = [point for row, after in zip(front, [*front[1:], None], strict=True) for point in ([row, {**after, "error": row["error"]}] if after else [row])]
    path = [{"micros": row["micros"], "error": row["error"], "place": place} for place, row in enumerate(stairs)]
    colour = alt.Color("colour:N", scale=None)
    layers = [
        alt.Chart(drawing.values(path)).mark_line(color=COLOURS[0], strokeWidth=1.3, strokeDash=[3, 3]).encode(x=x, y=y, order=alt.Order("place:Q")),
        base.transform_filter("datum.repeats == 'yes'").mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour),
        base.transform_filter("datum.repeats == 'no'").mark_point(filled=False, size=60, opacity=1, strokeWidth=1.8).encode(x=x, y=y, color=colour),
        base.mark_text(align="left", dx=8, dy=-7, angle=345).encode(x=x, y=y, text=alt.Text("label:N"), color=colour),
    ]  # fmt: skip
    title = f"Error over time: {describe(cell.problem)}, {words.size(cell.items)} items; joined is what nothing beats in both, hollow does not repeat"
    return drawing.finish(name, title, layers)


DISTRIBUTIONS = {
    "uniform": "uniform", "constant": "all in one bin", "eight_hot": "eight hot bins", "zipf": "Zipf", "sorted": "sorted",
    "runs": "runs", "out_of_range": "half out of range",
}  # fmt: skip


def distribution(name: str) -> str:
    return DISTRIBUTIONS.get(name, name.replace("_", " "))


def describe_histogram(problem: Cell) -> str:
    """u8 histogram, 256 bins, cold. Even bins, one channel and uniform samples stay unsaid."""
    sizes = problem.sizes
    said = [f"{problem.input_type} histogram"]
    if "bins" in sizes:
        uneven = "uneven " if problem.operation == "histogram_range" else ""
        said.append(f"{sizes['bins']:,} {uneven}bins")
    if "channels" in sizes:
        said.append(f"{sizes.get('active', sizes['channels'])} of {sizes['channels']} channels")
    if problem.distribution not in ("", "uniform"):
        said.append(distribution(problem.distribution))
    return ", ".join(filter(None, (*said, problem.mode)))


def describe(problem: Cell) -> str:
    """f32 sum, cold; f32 inclusive sum, cold. What is ordinary (one type, uniform data) stays unsaid."""
    if "histogram" in problem.operation:
        return describe_histogram(problem)
    if problem.operation == "arg_extremum":
        of = "places of the minimum and the maximum" if problem.operator == "both" else f"place of the {problem.operator}"
        return ", ".join(filter(None, (f"{problem.input_type} {of}", problem.mode)))
    if problem.operation == "select_if":
        chosen = f"{problem.sizes['percent']} % chosen" if "percent" in problem.sizes else ""
        return ", ".join(filter(None, (f"{problem.input_type} selection", chosen, problem.mode)))
    if problem.operation == "top_k" and "k" in problem.sizes:
        sizes = problem.sizes
        return ", ".join(filter(None, (f"{problem.input_type} top {sizes['k']:,} of {sizes['rows']:,} x {sizes['columns']:,}", problem.mode)))
    types = [t for t in (problem.input_type, problem.accumulator_type, problem.output_type) if t]
    named = " to ".join(dict.fromkeys(types))
    operator = {"plus": "sum", "compose": "composition"}.get(problem.operator, problem.operator)
    operation = "" if problem.operation == "reduce" else problem.operation.removesuffix("_scan")
    said = [" ".join(filter(None, (named, operation, operator)))]
    said += [
        part for part in (problem.shape, "" if problem.distribution == "uniform" else problem.distribution, problem.mode) if part
    ]
    return ", ".join(said).replace("_", " ")


def svg(chart: Chart) -> str:
    return small(vl_convert.vegalite_to_svg(chart.spec, allowed_base_urls=[]))
