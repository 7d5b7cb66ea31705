"""The charts: one Vega-Lite description each, drawn as SVG for Markdown and for the interactive page.

Backgrounds are transparent and inks are mid-tones, so a chart reads on a light page and on a dark one. A variant has one
colour, mark and dash everywhere, the colours are Okabe and Ito's for colour-blind readers.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import vl_convert

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


# Holds each finished chart against Vega-Lite's schema, which takes longer than all else of a page: the tests of the committed pages set it.
check_grammar: Callable[[dict[str, Any]], Any] | None = None


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


Spec = dict[str, Any]
KINDS = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}
# What all charts have but their layers and height. An image is described by the line of Markdown that shows it (aria); fonts wider than the
# one that was measured run over the sides (padding).
TOP: Spec = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.4.1.json",
    "width": WIDTH,
    "config": {
        "aria": False, "background": "transparent", "font": FONT, "padding": {"left": 20, "right": 36, "top": 8, "bottom": 6},
        "view": {"continuousWidth": 300, "continuousHeight": 300, "stroke": None},
        "axis": {"labelColor": INK, "titleColor": INK, "domainColor": INK, "tickColor": INK, "gridColor": INK, "gridOpacity": 0.18,
                 "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelFontWeight": "normal"},
        "text": {"color": INK, "fontSize": 11},
        "legend": {"labelColor": INK, "titleColor": INK},
    },
}  # fmt: skip


def field(named: str, **more: Any) -> Spec:
    """A channel of a layer: "rate:Q" is the column rate, a quantity."""
    name, _, kind = named.partition(":")
    return {"field": name, "type": KINDS[kind], **more}


LABEL, COLOUR = field("label:N"), field("colour:N", scale=None)
DASHED = {"type": "rule", "strokeDash": [4, 4], "strokeWidth": 1.5}
SPEEDUP_AXIS = {"format": ".2~f", "tickCount": 8}
CUB_RULE = {"type": "rule", "color": CUB_COLOUR, "strokeDash": [5, 4], "strokeWidth": 1.5}
CUB_NAME = {"type": "text", "align": "left", "dx": 9, "color": CUB_COLOUR}


class Drawing:
    """One chart in the making."""

    def __init__(self) -> None:
        self.datasets: dict[str, list[Spec]] = {}
        self.named: list[tuple[list[Spec], str]] = []

    def values(self, rows: list[Spec]) -> str:
        """The name of these rows among the chart's."""
        if (known := next((name for own, name in self.named if own is rows), None)) is not None:
            return known
        name = f"rows_{len(self.datasets)}"
        # Five digits are more than a pixel; shorter numbers keep the committed charts small and their diffs readable.
        self.datasets[name] = [{k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows]
        self.named.append((rows, name))
        return name

    def layer(self, rows: list[Spec], mark: Spec, where: str = "", **channels: Spec) -> Spec:
        """where: which of the rows."""
        filtered = {"transform": [{"filter": where}]} if where else {}
        return {"data": {"name": self.values(rows)}, "mark": mark, "encoding": channels, **filtered}

    def finish(self, name: str, title: str, layers: Sequence[Spec], height: int = HEIGHT, **more: Any) -> Chart:
        spec = {**TOP, "height": height, **more, "layer": list(layers)}
        if all(layer["data"] == layers[0]["data"] for layer in layers):
            spec |= {"data": layers[0]["data"], "layer": [{part: own for part, own in layer.items() if part != "data"} for layer in layers]}
        if check_grammar:
            check_grammar(spec)
        return Chart(name, title, {**spec, "datasets": self.datasets})


def _count_axis(counts: Iterable[int], title: str = "number of items") -> Spec:
    """Counts on a log scale, ticks at the powers of four, written 16 Mi."""
    known = [count for count in counts if count]
    low, high = math.floor(math.log2(min(known))), math.ceil(math.log2(max(known)))
    ticks = [2**exponent for exponent in range(low + low % 2, high + 1, 2)]
    labels = " : ".join(f"datum.value == {tick} ? '{words.size(tick)}'" for tick in ticks) + " : ''"
    scale = {"type": "log", "base": 2, "domain": [2 ** (low - 0.4), 2 ** (max(high, low + 1) + 0.2)], "nice": False}
    return field("items:Q", title=title, scale=scale, axis={"values": ticks, "labelExpr": labels, "labelOverlap": "greedy"})


def _decades(exponents: range, *steps: int, **more: Any) -> Spec:
    """An axis of powers of ten and of what lies between them."""
    return {"values": [step * 10**e for e in exponents for step in steps], "format": ",~r", **more}


def _linear(low: float, high: float) -> Spec:
    return {"domain": [low, high], "nice": False}


def _log(low: float, high: float) -> Spec:
    return {"type": "log", **_linear(low, high)}


def _rungs(rows: list[Spec]) -> Spec:
    """The names of rungs at the left, as they come."""
    axis = {"labelExpr": "split(datum.value, '/')[2]", "labelLimit": 260, "ticks": False, "domain": False, "grid": False}
    return field("key:N", sort=[row["key"] for row in rows], title=None, axis=axis)


def _looks(keys: dict[str, Style], legend: Spec | None = None) -> tuple[Spec, Spec, Spec]:
    """A variant's colour, mark and dash by its key."""
    looks = ([look.colour for look in keys.values()], [look.mark for look in keys.values()], [list(look.dash) for look in keys.values()])
    colour, mark, dash = (field("key:N", legend=legend, scale={"domain": list(keys), "range": own}) for own in looks)
    return colour, mark, dash


def _against_one(drawing: Drawing, rows: list[Spec], x: Spec, y: Spec, colour: Spec, shape: Spec, size: int) -> list[Spec]:
    """Where CUB is, the intervals, and the points: hollow where nobody is faster for certain."""
    certain = "datum.verdict == 'FASTER' || datum.verdict == 'SLOWER'"
    told = {"x": x, "y": y, "color": colour, "shape": shape}
    low = field("low:Q", scale=y["scale"], title="speed-up over CUB")
    return [
        drawing.layer([{"speedup": 1}], CUB_RULE, y=y),
        drawing.layer(rows, {"type": "rule", "strokeWidth": 1.5}, x=x, y=low, y2={"field": "high"}, color=colour),
        drawing.layer(rows, {"type": "point", "filled": True, "size": size, "opacity": 1}, certain, **told),
        drawing.layer(rows, {"type": "point", "filled": False, "size": size, "opacity": 1, "strokeWidth": 1.8}, f"!({certain})", **told),
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
    return {name: back(centre + shift) for (_, name), centre in zip(ordered, centres, strict=True)}


def _highlighted(machine: Machine, cells: Sequence[Cell]) -> list[Variant]:
    """Whom a sweep names: what wins somewhere, and CUB. Everything else stays visible, in grey."""
    winners = {found.variant for cell in cells if (found := compare.best(machine, cell))}
    present = {variant for cell in cells for variant in compare.contenders(machine, cell)}
    named = winners | {variant for variant in present if compare.is_cub(variant)} if winners else present
    return sorted(named, key=machine.order.__getitem__)


def _told(ratio: compare.Ratio) -> Spec:
    return {"speedup": ratio.value, "low": ratio.low, "high": ratio.high, "verdict": ratio.verdict}


def _row(machine: Machine, variant: Variant, items: int, n: str, **more: Any) -> Spec:
    return {"items": items, "n": n, "rung": machine.labels[variant], "key": key(machine, variant), **more}


def _rows(machine: Machine, cells: Iterable[Cell], figures: Callable[[Cell, Variant], Spec | None]) -> list[Spec]:
    """A point for each variant at each n that has these figures."""
    return [
        _row(machine, variant, cell.items, words.size(cell.items), **figure)
        for cell in cells
        for variant in (compare.contenders(machine, cell) if cell.items else [])
        if variant.ladder != compare.SWEEP_OF_LAUNCHES and (figure := figures(cell, variant))
    ]


def _of(machine: Machine, column: str, name: str) -> Callable[[Cell, Variant], Spec | None]:
    return lambda cell, variant: {name: value} if (value := compare.figure(machine, cell, variant, column)) else None


def _is_sweep(rows: list[Spec]) -> bool:
    return len({row["items"] for row in rows}) > 1


def _lines(
    drawing: Drawing, machine: Machine, looks: dict[Variant, Style], named: list[Variant], rows: list[Spec], x: Spec, y: Spec, domain: tuple[float, float], log: bool
) -> list[Spec]:
    """Grey lines for all, the named ones on top in their own look, each with its name at its right-hand end."""
    keys = {key(machine, variant): looks[variant] for variant in named}
    colour, shape, dash = _looks(keys)
    column, each = y["field"], field("key:N")
    bright = [row for row in rows if row["key"] in keys]
    dim = [row for row in rows if row["key"] not in keys]
    layers = []
    if dim:
        layers.append(drawing.layer(dim, {"type": "line", "color": FAINT, "strokeWidth": 1, "opacity": 0.45, "clip": True}, x=x, y=y, detail=each))
        inside = [row for row in dim if domain[0] <= row[column] <= domain[1]]
        layers.append(drawing.layer(inside, {"type": "circle", "color": FAINT, "size": 14, "opacity": 0.5}, x=x, y=y))
    layers.append(drawing.layer(bright, {"type": "line", "strokeWidth": 2, "clip": True}, x=x, y=y, color=colour, strokeDash=dash, detail=each))
    shown = [row for row in bright if domain[0] <= row[column] <= domain[1]]
    layers.append(drawing.layer(shown, {"type": "point", "filled": True, "size": 46, "opacity": 1}, x=x, y=y, color=colour, shape=shape))

    ends: dict[str, Spec] = {}
    for row in shown:
        if row["items"] >= ends.get(row["key"], row)["items"]:
            ends[row["key"]] = row
    last = max((row["items"] for row in rows), default=1)
    # One column of labels at the edge, also for lines that end before it: among the lines a label could not be read.
    edge = _spread([(row[column], own) for own, row in ends.items()], *domain, log)
    furthest = {own: max(row["items"] for row in bright if row["key"] == own) for own in ends}

    def said(own: str, row: Spec) -> str:
        if row["items"] == last:
            return row["rung"]
        return f"{row['rung']}, {'to' if row['items'] == furthest[own] else 'lower after'} {row['n']}"

    labels = [{**row, column: edge[own], "items": last, "label": said(own, row)} for own, row in sorted(ends.items())]
    if labels:
        layers.append(drawing.layer(labels, {"type": "text", "align": "left", "dx": 9, "fontSize": 11, "clip": False}, x=x, y=y, text=LABEL, color=colour))
    return layers


def _rates(
    drawing: Drawing, machine: Machine, looks: dict[Variant, Style], cells: Sequence[Cell], rows: list[Spec], x: Spec, limits: list[float]
) -> tuple[Spec, list[Spec]]:
    """The axis of rates and the lines: limits have their room, too."""
    named = _highlighted(machine, cells)
    bright = {key(machine, variant) for variant in named}
    slowest = min(row["rate"] for row in rows if row["key"] in bright or not bright)
    domain = (slowest / 2, max([row["rate"] for row in rows] + limits) * 1.35)
    y = field("rate:Q", title="GB/s", scale=_log(*domain), axis=_decades(range(-6, 7), 1))
    return y, _lines(drawing, machine, looks, named, rows, x, y, domain, True)


def sweep_rate(machine: Machine, looks: dict[Variant, Style], problem: Cell, name: str) -> Chart | None:
    """GB/s over n, both logarithmic, the measured ceiling drawn in."""
    drawing, cells = Drawing(), compare.sizes(machine, problem)
    rows = _rows(machine, cells, _of(machine, "gb_per_s", "rate"))
    if not _is_sweep(rows):
        return None
    ceiling = [{"items": cell.items, "rate": limit} for cell in cells if cell.items and (limit := compare.ceiling(machine, cell))]
    x = _count_axis(cell.items for cell in cells)
    y, layers = _rates(drawing, machine, looks, cells, rows, x, [point["rate"] for point in ceiling])
    if ceiling:
        layers.insert(0, drawing.layer(ceiling, {**DASHED, "type": "line", "color": CEILING_COLOUR}, x=x, y=y))
        first = [{**ceiling[len(ceiling) // 2], "label": "measured ceiling"}]
        layers.append(drawing.layer(first, {"type": "text", "align": "right", "dx": -8, "dy": -8, "color": CEILING_COLOUR}, x=x, y=y, text=LABEL))
    return drawing.finish(name, f"GB/s over the number of items: {describe(problem)}", layers)


def sweep_bins(machine: Machine, looks: dict[Variant, Style], cells: list[Cell], name: str) -> Chart | None:
    """GB/s over the number of bins, all else alike: what wins somewhere and CUB named, the rest grey."""
    drawing, first = Drawing(), cells[0]
    rows = [
        _row(machine, variant, cell.sizes["bins"], f"{cell.sizes['bins']:,} bins", rate=rate)
        for cell in cells
        for variant in compare.contenders(machine, cell)
        if (rate := compare.figure(machine, cell, variant, "gb_per_s"))
    ]
    if not _is_sweep(rows):
        return None
    limit = words.median(compare.ceiling(machine, cell) for cell in cells)
    x = _count_axis((row["items"] for row in rows), "number of bins")
    y, layers = _rates(drawing, machine, looks, cells, rows, x, [limit or 0])
    if limit:
        layers.insert(0, drawing.layer([{"rate": limit}], {**DASHED, "color": CEILING_COLOUR}, y=y))
    about = ", ".join(filter(None, (first.input_type, "" if first.distribution == "uniform" else distribution(first.distribution), first.mode)))
    return drawing.finish(name, f"GB/s over the number of bins at {words.size(first.items)} samples: {about}", layers)


def sweep_speedup(machine: Machine, looks: dict[Variant, Style], problem: Cell, name: str) -> Chart | None:
    """Speed-up over CUB over n, with intervals, a rule where both are level."""
    drawing, cells = Drawing(), compare.sizes(machine, problem)
    rows = _rows(machine, cells, lambda cell, variant: _told(ratio) if (ratio := compare.told(machine, cell).get(variant)) else None)
    if not _is_sweep(rows):
        return None
    named = _highlighted(machine, cells)
    keys = {key(machine, variant): looks[variant] for variant in named}
    bright = [row for row in rows if row["key"] in keys]
    # Losers far below are cut off: at 0.01x they would press everything of interest into one line.
    domain = (0.5, max([row["high"] for row in bright] + [1.1]) * 1.04)
    over = f"speed-up {compare.over_main(machine)}"
    x, y = _count_axis(cell.items for cell in cells), field("speedup:Q", title=over, scale=_linear(*domain), axis=SPEEDUP_AXIS)
    low, colour = field("low:Q", title=over, scale=_linear(*domain)), _looks(keys)[0]
    band = drawing.layer(bright, {"type": "area", "opacity": 0.18, "clip": True, "line": False}, x=x, y=low, y2={"field": "high"}, color=colour, detail=field("key:N"))
    level = drawing.layer([{"speedup": 1}], {"type": "rule", "color": INK, "strokeDash": [4, 4]}, y=y)
    layers = [level, band, *_lines(drawing, machine, looks, named, rows, x, y, domain, False)]
    return drawing.finish(name, f"{over[0].upper()}{over[1:]} over the number of items: {describe(problem)}", layers)


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
    counts = [each.cell.items for each in found]
    rows = [
        {
            "items": each.cell.items,
            "key": key(machine, each.variant),
            **_told(each.ratio),
            "label": "" if crowded else words.ratio(each.ratio.value) if each.ratio.verdict in ("FASTER", "SLOWER") else "tie",
        }
        for each, crowded in zip(found, _crowded(counts), strict=True)
    ]
    scale = _linear(min(0.9, *(row["low"] for row in rows)) * 0.97, max(1.1, *(row["high"] for row in rows)) * 1.06)
    x, y = _count_axis(counts), field("speedup:Q", title="speed-up over CUB", scale=scale, axis=SPEEDUP_AXIS)
    legend = {
        "title": None, "orient": "top", "symbolSize": 70, "labelFontSize": 11, "columns": 5, "labelExpr": "split(datum.label, '/')[2]", "symbolStrokeWidth": 1.5,
    }  # fmt: skip
    colour, shape, _ = _looks({key(machine, each.variant): looks[each.variant] for each in found}, legend)
    level, *points = _against_one(drawing, rows, x, y, colour, shape, 75)
    layers = [
        level,
        drawing.layer([{"speedup": 1, "items": rows[-1]["items"], "label": "CUB"}], CUB_NAME, x=x, y=y, text=LABEL),
        drawing.layer(rows, {"type": "line", "color": FAINT, "strokeWidth": 1.2, "opacity": 0.7}, x=x, y=y),
        *points,
        drawing.layer(rows, {"type": "text", "dy": -9}, x=x, y=field("high:Q", scale=scale, title="speed-up over CUB"), text=LABEL),
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
    if not _is_sweep(rows):
        return None
    labels = [label for label, _ in series]
    low, high = min(0.9, *(row["low"] for row in rows)) * 0.97, max(1.1, *(row["high"] for row in rows)) * 1.04
    scale, axis = (_log(low, high), _decades(range(-2, 4), 1, 2, 5)) if log else (_linear(low, high), SPEEDUP_AXIS)
    x, y = _count_axis(row["items"] for row in rows), field("speedup:Q", title="speed-up over CUB", scale=scale, axis=axis)
    ranges = (list(COLOURS[: len(labels)]), list(MARKS[: len(labels)]), [[[1, 0], [5, 4]][place % 2] for place, _ in enumerate(labels)])
    colour, shape, dash = (field("series:N", legend=None, scale={"domain": labels, "range": own}) for own in ranges)
    last = max(row["items"] for row in rows)
    ends = {row["series"]: row for row in sorted(rows, key=lambda row: (labels.index(row["series"]), row["items"]))}
    heights = _spread([(row["speedup"], label) for label, row in ends.items()] + [(1.0, "CUB")], low, high, log, 280)
    level, *points = _against_one(drawing, rows, x, y, colour, shape, 60)
    named = [{"items": last, "speedup": heights[label], "series": label} for label in ends]
    layers = [
        level,
        drawing.layer(rows, {"type": "line", "strokeWidth": 2}, x=x, y=y, color=colour, strokeDash=dash),
        *points,
        drawing.layer([{"items": last, "speedup": heights["CUB"], "label": "CUB"}], CUB_NAME, x=x, y=y, text=LABEL),
        drawing.layer(named, {"type": "text", "align": "left", "dx": 9, "fontSize": 12}, x=x, y=y, text=field("series:N"), color=colour),
    ]
    return drawing.finish(name, title, layers, height=280)


def headline(machine: Machine, looks: dict[Variant, Style], series: list[tuple[str, Cell]], name: str) -> Chart | None:
    """The README's chart: a line for each topic."""
    said = words.listed([f"{label} ({describe(problem)})" for label, problem in series])
    return _several(machine, series, name, f"Best rung against CUB on {machine.name}: {said}; 1.0 is CUB, hollow marks are ties", log=True)


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
    rows: list[Spec] = []
    for variant in compare.contenders(machine, cell):
        rate = compare.figure(machine, cell, variant, "gb_per_s")
        if rate and variant.ladder != compare.SWEEP_OF_LAUNCHES:
            rows.append({"key": key(machine, variant), "rate": rate, "label": words.significant(rate), "colour": looks[variant].colour})
            if other and (beside := compare.figure(machine, other, variant, "gb_per_s")):
                rows[-1]["beside"] = beside
    if len(rows) < 2:
        return None
    limit = compare.ceiling(machine, cell)
    top = max([max(row["rate"], row.get("beside", 0)) for row in rows] + [limit or 0]) * 1.1
    for row in rows:
        # A label that the ceiling's rule would cross stands behind the rule.
        row["end"] = limit if limit and row["rate"] <= limit < row["rate"] + top * 0.08 else row["rate"]
    scale, y = _linear(0, top), _rungs(rows)
    x = field("rate:Q", title="GB/s", scale=scale, axis={"tickCount": 6, "format": ",d"})
    end, tick = (field(f"{column}:Q", scale=scale, title="GB/s") for column in ("end", "beside"))
    layers = [
        drawing.layer(rows, {"type": "bar", "height": {"band": 0.7}}, x=x, y=y, color=COLOUR),
        drawing.layer(rows, {"type": "text", "align": "left", "dx": 5}, x=end, y=y, text=LABEL),
    ]
    ticks = [row for row in rows if "beside" in row]
    if ticks:
        layers.append(drawing.layer(ticks, {"type": "tick", "color": INK, "thickness": 3, "height": 17}, x=tick, y=y))
    if limit:
        rule = [{"rate": limit, "label": "measured ceiling", "colour": CEILING_COLOUR}]
        layers.append(drawing.layer(rule, DASHED, x=x, color=COLOUR))
        layers.append(drawing.layer(rule, {"type": "text", "align": "right", "dx": -4, "y": -6}, x=x, text=LABEL, color=COLOUR))
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
    x = field("count:O", title=about.counted, sort=across, axis={"labelAngle": -35 if crowded else 0, "labelFontSize": 9, "ticks": False})
    y = field("name:N", title=None, sort=names, axis={"labelLimit": 260, "ticks": False, "domain": False})
    scale = {"type": "log", "domain": [min(rates), max(rates) * 1.0001], "range": ["#2c3e70", "#2f8f8b", "#f2d95c"]}
    layers = [
        drawing.layer(rows, {"type": "rect"}, x=x, y=y, color=field("rate:Q", scale=scale, legend=None)),
        drawing.layer(rows, {"type": "text", "fontSize": 9}, x=x, y=y, text=LABEL, color=field("ink:N", scale=None)),
    ]
    # Each layer has colours of its own: fields by rate, letters as they are given.
    return drawing.finish(name, about.title, layers, height=max(90, 26 * len(names)), resolve={"scale": {"color": "independent"}})


GAIN_COLOUR, LOSS_COLOUR = COLOURS[0], COLOURS[4]  # of a step's bar; the sign stands beside it too


def limit(machine: Machine, looks: dict[Variant, Style], problem: Cell, name: str) -> Chart | None:
    """Per cent of the measured ceiling over n: every variant a line, and how much of the ceiling's own time is the launch."""
    drawing, cells = Drawing(), compare.sizes(machine, problem)
    rows = _rows(machine, cells, _of(machine, "percent_of_ceiling", "share"))
    if not _is_sweep(rows):
        return None
    floors = [{"items": cell.items, "launch": min(floor, 100.0), "none": 0.0} for cell in cells if (floor := compare.floor_share(machine, cell))]
    domain = (0.0, 112.0)
    about = {"title": "% of the measured ceiling", "scale": _linear(*domain), "axis": {"values": list(range(0, 101, 20))}}
    x, y = _count_axis(cell.items for cell in cells), field("share:Q", **about)
    layers = []
    if len(floors) > 1:
        area = {"type": "area", "color": FAINT, "opacity": 0.2, "line": False}
        layers.append(drawing.layer(floors, area, x=x, y=field("launch:Q", **about), y2={"field": "none"}))
        grey = [{**floors[0], "share": 5.0, "label": "grey: the launch's share of the ceiling's time"}]
        layers.append(drawing.layer(grey, {"type": "text", "align": "left", "dx": 4, "color": FAINT}, x=x, y=y, text=LABEL))
    layers.append(drawing.layer([{"share": 100.0}], {**DASHED, "color": CEILING_COLOUR}, y=y))
    left, right = (pick(row["items"] for row in rows) for pick in (min, max))
    for items, align, label in ((left, "left", "launch floor"), (right, "right", "ceiling of the memory")):
        ends = [{"items": items, "share": 106.0, "label": label}]
        layers.append(drawing.layer(ends, {"type": "text", "align": align, "color": CEILING_COLOUR}, x=x, y=y, text=LABEL))
    layers += _lines(drawing, machine, looks, _highlighted(machine, cells), rows, x, y, domain, False)
    return drawing.finish(name, f"Per cent of the measured ceiling over the number of items: {describe(problem)}", layers)


def waterfall(machine: Machine, looks: dict[Variant, Style], about: tuple[Cell, list[Variant]], name: str) -> Chart | None:
    """One ladder at one size: each bar reaches from the time of the rung before to its own, the ratio beside it, CUB a rule."""
    cell, variants = about
    times = [(variant, compare.figure(machine, cell, variant, "median_us")) for variant in variants]
    if len(times) < 2:
        return None
    drawing = Drawing()
    rows: list[Spec] = []
    for position, (variant, time) in enumerate(times):
        previous, before = times[position - 1] if position else (variant, time)
        ratio = compare.within_runs(machine, cell, previous, variant) if position else None
        label, colour = words.ratio(ratio) if ratio else words.time(time), LOSS_COLOUR if ratio and ratio < 1 else GAIN_COLOUR
        rows.append({"key": key(machine, variant), "before": before, "after": time, "end": max(before, time), "label": label, "colour": colour})
    ends = [row[end] for row in rows for end in ("before", "after")]
    cub = compare.fastest_cub(machine, cell)
    scale = _log(min([*ends, *([cub[1]] if cub else [])]) / 1.25, max(ends) * 1.6)
    axis = _decades(range(-1, 6), 1, 2, 5, labelOverlap="greedy")
    x, after, end = (field(f"{at}:Q", title="µs, from the rung before to this one", scale=scale, axis=axis) for at in ("before", "after", "end"))
    y = _rungs(rows)
    layers = []
    if cub:
        rule = [{"before": cub[1], "label": "CUB"}]
        layers.append(drawing.layer(rule, CUB_RULE, x=x))
        layers.append(drawing.layer(rule, {"type": "text", "color": CUB_COLOUR, "y": -6}, x=x, text=LABEL))
    layers += [
        drawing.layer(rows, {"type": "bar", "height": {"band": 0.6}}, x=x, x2={"field": "after"}, y=y, color=COLOUR),
        drawing.layer(rows, {"type": "tick", "thickness": 3, "height": 15}, x=after, y=y, color=COLOUR),
        drawing.layer(rows, {"type": "text", "align": "left", "dx": 6}, x=end, y=y, text=LABEL),
    ]
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
    times, most = [row["micros"] for row in rows], max(row["error"] for row in rows)
    x = field("micros:Q", title="µs", scale=_log(min(times) / 1.15, max(times) * 1.6), axis=_decades(range(-1, 7), 1, 2, 5, labelOverlap="greedy"))
    ticks = [0, *[step * 10**e for e in range(0, 12) for step in (1, 3) if step * 10**e <= most * 1.6]]
    scale = {"type": "symlog", **_linear(0, max(1.0, most * 1.4))}
    y = field("error:Q", title="error, in units of the last place", scale=scale, axis={"values": ticks, "format": ",~r"})
    front = sorted((row for row in rows if row["front"] == "yes"), key=lambda row: row["micros"])
    stairs = [point for row, after in zip(front, [*front[1:], None], strict=True) for point in ([row, {**after, "error": row["error"]}] if after else [row])]
    path = [{"micros": row["micros"], "error": row["error"], "place": place} for place, row in enumerate(stairs)]
    point = {"type": "point", "size": 60, "opacity": 1}
    layers = [
        drawing.layer(path, {"type": "line", "color": COLOURS[0], "strokeWidth": 1.3, "strokeDash": [3, 3]}, x=x, y=y, order=field("place:Q")),
        drawing.layer(rows, {**point, "filled": True}, "datum.repeats == 'yes'", x=x, y=y, color=COLOUR),
        drawing.layer(rows, {**point, "filled": False, "strokeWidth": 1.8}, "datum.repeats == 'no'", x=x, y=y, color=COLOUR),
        drawing.layer(rows, {"type": "text", "align": "left", "dx": 8, "dy": -7, "angle": 345}, x=x, y=y, text=LABEL, color=COLOUR),
    ]
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
