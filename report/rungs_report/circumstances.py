"""What stands around the numbers: environment, ceilings, noise, accuracy, claims, and what was left out."""

import re
from collections import Counter
from typing import Any

from rungs_report import claims, compare, words
from rungs_report.data import Machine, Refusal, Run, Variant
from rungs_report.page import Page, fold, notes_of, quoted
from rungs_report.topics import name_of
from rungs_report.words import code, columns, section, spaced, table, text

FLOATS = ("f16", "bf16", "f32", "f64")
FEW_SKIPPED = 6  # as many lines a page shows
CORRECTED = re.compile(r"its commit was corrected from (\S+): .*")


def banner(run: Run, said: str) -> str:
    """A run's own note as a sentence."""
    if found := CORRECTED.fullmatch(said):
        commit = code(run.document["commit"])
        return f"Run {code(run.name)} was built from the sources of commit {commit} shortly before they were committed; its file had said {code(found[1])}."
    return f"Run {code(run.name)}: {text(said)}."


def banners(page: Page) -> list[str]:
    machine, notes = page.machine, []
    for run in page.machine.runs:
        notes += [banner(run, said) for said in run.context["banners"]]
        notes += notes_of(run.name, run.document["commit"], run.document["complete"], "case")
    for variant, entry in machine.variants.items():
        if entry.get("deterministic") and variant in machine.unsteady:
            notes.append(f"{code(variant.rung)} of {text(variant.ladder)} is declared deterministic but did not repeat bit for bit.")
    refused = [refusal for refusal in machine.refusals if not refusal.expected]
    if refused:
        notes.append(f"{words.plural(len(refused), 'finding')} led to refusals; they are listed under Refused in `index.md`.")
    return quoted(notes)


def caveats(page: Page) -> list[str]:
    """How steady the instrument was, once: it is the same for every page."""
    machine, notes = page.machine, []
    twins = [twin for run in machine.runs for twin in run.document["twins"]]
    if different := sum(twin["different"] for twin in twins):
        told = f"{words.number(different)} of {words.plural(len(twins), 'cell')}"
        notes.append(f"CUB was timed twice in a cell, as if it were two contenders: beyond the noise floor they differed in {told}.")
    ceilings = [entry for run in machine.runs for entry in run.document["ceilings"]]
    if marked := sum(bool(entry.get("marked")) for entry in ceilings):
        told = f"{words.number(marked)} of {words.plural(len(ceilings), 'ceiling')}"
        notes.append(f"Ceilings were measured before and after the cases they bound: {told} drifted by more than 2 % in between.")
    return quoted(notes)


def which_cards(machine: Machine) -> str:
    if machine.card:
        return f"Card: {code(machine.card)} in all runs, the first digits of its UUID"
    told = [code(card) for card in machine.cards if card]
    known = f"{words.plural(len(told), 'card')} ({words.listed(told)}: the first digits of their UUIDs)" if told else ""
    unknown = "not recorded" if not told else "not recorded in some runs" if None in machine.cards else ""
    return f"Cards: {', '.join(filter(None, [known, unknown]))}; cards of one model may differ by 2 % and more, so compare within one run"


def environment(page: Page) -> list[str]:
    machine = page.machine
    lines = spaced("## What was measured on what")
    device = machine.device
    if device:
        lines += [
            f"- Executed on: {text(machine.name)}, compute capability {capability(device.get('compute_capability'))},"
            f" {words.number(device.get('multiprocessors'))} multiprocessors, {words.byte_size(device.get('l2_bytes'))} L2,"
            f" {words.byte_size(device.get('memory_bytes'))} memory, peak {words.number(device.get('peak_gb_per_s'))} GB/s by clock and bus width",
            f"- {which_cards(machine)}",
        ]
    else:
        lines.append(f"- Executed on: {text(machine.name)} (no GPU)")
    host = machine.runs[-1].context["host"]
    lines.append(
        f"- Host: {text(host.get('cpu'))}, {words.number(host.get('cores'))} cores, {words.byte_size(host.get('memory_bytes'))} memory,"
        f" kernel {text(host.get('kernel'))}"
    )
    compiled = sorted({str(a) for run in machine.runs for a in run.context["versions"].get("architectures") or []})
    lines += spaced(f"- Compiled for: {words.listed([f'sm_{text(a)}' for a in compiled]) or 'no GPU architecture'}")

    def card_of(run: Run) -> str:
        card = (run.context["device"] or {}).get("card")
        return code(card) if card else words.UNKNOWN

    def version(run: Run, name: str) -> str:
        return text(run.context["versions"].get(name) or words.UNKNOWN)

    lines += table(
        ["run", "commit", "card", "complete", ">seconds", ">rows", ">refused", "CCCL", "runtime", "driver", "nvcc", "compiler", "build", "arguments"],
        [[code(run.name), code(run.document["commit"]), card_of(run), words.yes_no(run.document["complete"]), words.number(run.document["seconds"]),
          f"{len(run.rows):,}", f"{run.rows_in - run.twins_in - len(run.rows):,}", version(run, "cccl"), version(run, "cuda_runtime"),
          version(run, "driver"), version(run, "nvcc"), version(run, "compiler"), version(run, "build_type"),
          code(" ".join(map(str, run.document["arguments"])))] for own in (machine, *machine.grids.values()) for run in own.runs],
    )  # fmt: skip
    lines.append("")

    readings = {}
    for run in machine.runs:
        for moment in ("before", "after"):
            values = run.context["environment"].get(moment)
            if isinstance(values, dict):
                readings[run.name, moment] = values
    names = list(dict.fromkeys(name for values in readings.values() for name in values))
    names = [name for name in names if any(values.get(name) not in (None, [], "") for values in readings.values())]
    if device and readings and names:
        told = table(
            ["run", "", *[f">{text(name.replace('_', ' '))}" for name in names]],
            [[code(run), moment, *[reading(values.get(name)) for name in names]] for (run, moment), values in readings.items()],
        )
        lines += fold("The GPU before and after each run", told)
    variables = sorted({f"{k}={v}" for run in machine.runs for k, v in (run.context.get("variables") or {}).items()})
    if variables:
        lines += spaced(f"Environment variables that change behaviour: {words.listed([code(v) for v in variables])}.")
    return lines


def capability(value: object) -> str:
    return f"{value // 10}.{value % 10}" if isinstance(value, int) else words.UNKNOWN


def reading(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return words.yes_no(value)
    if isinstance(value, list):
        return text(", ".join(map(str, value))) or "none"
    return words.number(value) if isinstance(value, (int, float)) else text(value)


def ceilings(page: Page) -> list[str]:
    runs = compare.main_runs(page.machine)
    kinds = sorted({entry["kind"] for run in runs for entry in run.document["ceilings"]})
    lines: list[str] = []
    for mode in sorted({entry["mode"] for run in runs for entry in run.document["ceilings"]}, key=lambda m: (m != "cold", m)):
        known = [entry for run in runs for entry in run.document["ceilings"] if entry["mode"] == mode and entry["gb_per_s"] is not None]
        rates = words.grouped(known, lambda entry: (entry["bytes"], entry["kind"]), lambda entry: entry["gb_per_s"])
        drifts = words.grouped(known, lambda entry: entry["bytes"], lambda entry: abs(entry.get("drift_percent") or 0.0))
        footprints = sorted(drifts)
        told = {">footprint": words.byte_size}
        told |= {f">{text(kind)}": lambda f, kind=kind: words.number(words.median(rates.get((f, kind), []))) for kind in kinds}
        shown = columns(footprints, told | {">largest drift": lambda f: f"{max(drifts[f]):.1f} %"})
        lines += fold(f"In GB/s, bytes read and written, {words.html(mode)}", shown)
    known = [entry for run in runs for entry in run.document["floors"] if entry["median_us"] is not None]
    floors = words.grouped(known, lambda entry: (entry["mode"], entry["kind"]), lambda entry: entry["median_us"])
    if floors:
        said = [
            f"{words.time(words.median(values))} {text(mode)} ({text(kind)})" for (mode, kind), values in sorted(floors.items())
        ]
        lines += spaced(f"Launch floor: {words.listed(said)}. No time below can be less.")
    if not lines:
        return []
    intro = "The ceiling of a row is the roof measured at its footprint in the same process, before and after its group"
    which = [f"for {topic.name} {topic.roof}" for topic in page.topics if topic.roof]
    return spaced("## Ceilings", ": ".join(filter(None, (intro, words.listed(which)))) + ".", lines)


def accuracy(page: Page) -> list[str]:
    machine, topic = page.machine, page.topic
    if topic is None:
        return []
    rows = [row for run in machine.runs for row in run.rows if row.cell.operation in topic.operations]
    measured = {row.cell.input_type for row in rows}
    types = [t for t in FLOATS if t in measured]
    worst: dict[tuple[Variant, str], float] = {}
    steady: dict[Variant, bool] = {}
    for row in rows:
        steady[row.variant] = steady.get(row.variant, True) and row.repeatable == "yes"
        if row.error is not None and row.cell.input_type in types and row.cell.operator == "plus":
            worst[row.variant, row.cell.input_type] = max(row.error, worst.get((row.variant, row.cell.input_type), 0.0))
    variants = [v for v in machine.variants if v.ladder != compare.SWEEP_OF_LAUNCHES and any((v, t) in worst for t in types)]
    if not variants:
        return []
    told = {"rung": page.label} | {f">{t} error": lambda v, t=t: words.number(worst.get((v, t))) for t in types}
    told |= {"repeats": lambda v: words.yes_no(steady[v]), "promised": lambda v: words.yes_no(machine.variants[v].get("deterministic"))}
    return spaced(
        "## Accuracy and repeatability",
        f"For sums, at the worst of all sizes and runs, {topic.error}; whether 20 runs gave the same bits in every case, of every type and"
        " operator; and whether the variant promises that.",
        columns(variants, told),
    )


def noise(page: Page) -> list[str]:
    every = [(number, twin) for number, run in enumerate(page.machine.runs, 1) for twin in run.document["twins"]]
    by_mode = words.grouped(every, lambda pair: pair[1]["mode"], lambda pair: pair[1])
    twins_of = words.grouped(every, lambda pair: (pair[0], pair[1]["mode"]), lambda pair: pair[1])
    headers = [">cells", ">twins apart, median", ">at most", ">noise floor", ">called different"]
    return section(
        "## Noise",
        "CUB is entered twice in every cell; how far it lies from itself is the noise. A cell's floor comes from the twins of the other cells of"
        " like shape and footprint, and a difference below it is a tie.",
        table(["mode", *headers], [[text(mode), *_apart(twins)] for mode, twins in sorted(by_mode.items())]),
        fold("By run", table([">run", "mode", *headers], [[str(number), text(mode), *_apart(twins)] for (number, mode), twins in sorted(twins_of.items())])),
    )


def _apart(twins: list[dict]) -> list[str]:
    apart = sorted(abs(twin["ratio"] - 1) * 100 for twin in twins if twin["ratio"] is not None)
    floors = sorted(twin["noise_floor"] * 100 for twin in twins if twin["noise_floor"] is not None)
    return [
        str(len(twins)),
        f"{words.median(apart):.2f} %" if apart else words.UNKNOWN,
        f"{apart[-1]:.2f} %" if apart else words.UNKNOWN,
        f"{floors[0]:.2f} to {floors[-1]:.2f} %" if floors else words.UNKNOWN,
        str(sum(twin["different"] for twin in twins)),
    ]


def beside_texts(machine: Machine, told: tuple[claims.Claim, ...]) -> list[str]:
    """The table of these claims."""
    rows = []
    for claim in told:
        measured, verdict, ratio = claims.answer(claim, machine)
        figures = [text(each) or words.UNKNOWN for each in (claim.figure, claim.chip)]
        rows.append([claim.identity, text(claim.says), *figures, text(measured), words.ratio(ratio), f"**{verdict}**" if verdict == claims.FAILS else verdict])
    return table(["", "the text says", "figure", "chip", "measured here", ">ours over theirs", "verdict"], rows)


def claimed_across(page: Page) -> list[str]:
    """What the texts say of several GPUs, on their page: a GPU without the suite has no other."""
    return spaced("## What a text says", beside_texts(page.machine, claims.ACROSS))


def claimed(page: Page) -> list[str]:
    machine = page.machine
    lines = spaced(
        f"Five texts about GPU reductions, scans and histograms stand behind the ladders: {claims.TEXTS}. They quote other chips; what they say is"
        f" given in our words, with their figure and its chip, beside {text(machine.name)}. Where a figure is a ratio, ours over theirs is the last"
        " number: 1.00x would be full agreement. A letter and a number, such as C8, name the text and its claim.",
        "How a verdict is reached:",
        claims.rules(),
    )
    measured = {topic.name for topic in page.topics}
    for name, told in claims.of(machine).items():
        lines += spaced(f"## {name[0].upper()}{name[1:]}")
        if name in claims.CLAIMS and name not in measured:
            lines += spaced(f"No {name} were measured in these runs.")
            continue
        lines += spaced(beside_texts(machine, told))
    pitfalls = []
    for claim in claims.PITFALLS:
        found = claims.answer(claim, machine)
        pitfalls.append([claim.identity, text(claim.says), text(found.measured), found.verdict])
    return spaced(
        lines,
        "## Pitfalls and errors in the texts",
        table(["", "the text says or relies on", "what is so", "verdict"], pitfalls),
        "## Not on this page",
        table(["", "where it is, or why it is not here"], [[identity, why] for identity, why in claims.lacking(machine).items()]),
    )


def shared(reasons: set[str]) -> str:
    """What these reasons have in common, word by word: one sample takes … at … items."""
    split = [reason.split() for reason in sorted(reasons)]
    if len({len(words_of) for words_of in split}) > 1:
        return split[0][0] + " …"
    return " ".join(column[0] if len(set(column)) == 1 else "…" for column in zip(*split, strict=True))


def omissions(page: Page) -> list[str]:
    """What the benchmark left out, cases alike but for their numbers in one line. A topic's page tells what belongs to the
    topic, the front what belongs to no page."""
    machine = page.machine
    own = {topic.name for topic in page.topics}
    skipped: dict[tuple[Variant, str], list[tuple[str, dict[str, Any]]]] = {}
    for run in machine.runs:
        for variant, entry in run.skipped:
            name = name_of(str(entry.get("operation") or ""))
            if name == page.topic.name if page.topic else name not in own:
                kind = re.sub(r"[\d.]+\S*", "…", entry["reason"])
                skipped.setdefault((variant, kind), []).append((run.name, entry))
    several = page.topic is None or len(page.topic.operations) > 1
    named = Counter(rung for _, rung in {(v.family, v.rung) for v, _ in skipped})
    rows = []
    for (variant, _), found in sorted(skipped.items(), key=lambda item: (item[0][0].rung, item[0])):
        entries = [entry for _, entry in found]
        counts = sorted({entry["items"] for entry in entries if entry.get("items")})
        ends = list(dict.fromkeys(words.size(count) for count in (counts[0], counts[-1]))) if counts else [words.UNKNOWN]
        keys = ("operation",) * several + ("input_type", "operator", "shape", "mode")
        what = sorted({" ".join(str(e[key]).replace("_", " ") for key in keys if e.get(key)) for e in entries})
        cases = {
            (name, *(str(e.get(key)) for key in ("operation", "operator", "input_type", "items", "shape", "distribution", "mode")))
            for name, e in found
        }
        reason = shared({entry["reason"] for entry in entries})
        of = ", ".join(what[:4]) + (" …" if len(what) > 4 else "")
        called = variant.rung if named[variant.rung] == 1 else f"{variant.family}: {variant.rung}"
        rows.append([code(called), text(reason), f"{len(cases):,}", " to ".join(ends), text(of)])
    if not rows:
        return []
    shown = spaced(table(["rung", "reason", ">cases", ">n", "of"], rows))
    lines = fold(f"Every rung and reason: {len(rows)}", shown) if len(rows) > FEW_SKIPPED else shown
    return spaced("## Skipped by the benchmark", lines)


def refused(page: Page) -> list[str]:
    return section("## Refused", "This report uses none of these:", refusal_table(page.machine.refusals))


def refusal_table(refusals: list[Refusal]) -> list[str]:
    return table(["file", "reason", ">rows"], [[code(r.file), text(r.reason), f"{r.rows:,}"] for r in refusals])


def reading_guide(page: Page) -> list[str]:
    fewest = min((row.samples for run in page.machine.runs for row in run.rows), default=0)
    return spaced(
        "## How to read this",
        f"Every time is the median of {fewest} samples or more with its 95 % interval, of calls verified before, after and on changed input. Cold: the data comes"
        " from memory. GB/s counts each input byte once and each output byte once. A verdict compares with CUB's fastest entry: faster and CUB wins need"
        " an interval clear of 1 and a difference above the noise floor, anything else is a tie or undecided."
        ' "Asks for" lists what a variant needs beyond CUB\'s contract: a workspace zeroed once before its first use, the host to wait, blocks that are'
        " assumed to run side by side.",
        f"Raw results: `report/data/{page.machine.gpu}/`.",
    )
