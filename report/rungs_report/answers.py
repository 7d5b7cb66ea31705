"""The questions this report answers, in their order, each with its answer in a line and the page that says more."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

from rungs_report import accuracy, choose, claims, compare, gains, limits, places, regret, words
from rungs_report.data import Machine
from rungs_report.page import Page
from rungs_report.sweeps import floors_of, mains
from rungs_report.words import code, table


class Answer(NamedTuple):
    """A question, what is said of it, the whole page that says more, and where that stands on the committed ones."""

    question: str
    says: str
    where: str
    links: tuple[tuple[str, str], ...]  # label and link; no label where there is one place only


def comparing(page: Page) -> str:
    """What there is to compare with, and how: of two GPUs, and of two runs on one."""
    here = page.machine.gpu
    gpus = (
        f"other GPUs are in this report: {words.listed([code(f'report/run compare {here} {other}') for other in page.others])} says what changed winner"
        if page.others
        else f"no other GPU is in this report yet: `bench/run` measures one, and `report/run compare {here} OTHER` then says what changed winner"
    )
    return (
        f"{gpus}, each GPU against its own ceilings; of two runs on one GPU, `report/run compare RUN RUN`, by their names in `report/data` or their"
        " files, says what is slower, faster or the same by interval and noise floor, with exit code 1 for a regression"
    )


def wins(page: Page) -> str:
    machine, told = page.machine, []
    for topic, _ in mains(machine, page.topics):
        free, kept = (compare.verdicts(machine, topic, contract) for contract in (False, True))
        told.append(
            f"{topic.name}, against the best rung of any workspace: CUB wins {free['SLOWER']:,} of {free.total():,}, {free['SAME']:,} tied,"
            f" {free['AMBIGUOUS']:,} undecided (noise floor {floors_of(machine, topic).split(',')[0]})"
        )
        if kept != free:
            told[-1] += (
                f"; against the best that keeps CUB's workspace contract: CUB wins {kept['SLOWER']:,} of {kept.total():,}, {kept['SAME']:,} tied,"
                f" {kept['AMBIGUOUS']:,} undecided"
            )
    return "; ".join(told)


@cache
def held(machine: Machine) -> str:
    told = [claims.answer(claim, machine).verdict for own in claims.CLAIMS.values() for claim in own]
    told += [claims.answer(claim, machine).verdict for claim in claims.PITFALLS]
    known = [verdict for verdict in told if verdict != claims.UNMEASURED]
    if not known:
        return ""
    kinds = ((claims.HOLDS, "hold"), (claims.FAILS, "do not"), (claims.FALSE, "are false as stated"), (claims.CANNOT, "cannot be measured here"))
    return f"of {words.plural(len(known), 'claim')} looked into " + words.listed([f"{known.count(kind)} {says}" for kind, says in kinds])


def committed(page: Page, where: str) -> tuple[tuple[str, str], ...]:
    """Where on the committed pages the contents of a whole page stand: on those of the topics of which anything is told."""
    told = {
        "limits.md": lambda own: limits.briefly(own.machine, own.topics),
        "gains.md": gains.briefly,
        "accuracy.md": accuracy.briefly,
    }
    if where in told:
        found = [topic for topic in page.topics if told[where](replace(page, topics=[topic]))]
        return tuple((topic.name, f"{places.file_of(topic)}#{places.slug(places.OF_TOPIC[where])}") for topic in found)
    if where in places.OF_FRONT:
        return (("", f"{places.FRONT}#{places.slug(places.OF_FRONT[where])}"),)
    return (("", where if where.endswith(".md") else f"{places.FRONT}{where}"),) if where else ()


def answered(page: Page) -> list[Answer]:
    """What has no answer in this data is left out."""
    machine = page.machine
    if not machine.device:
        return []
    found = [
        ("Which variant should I use?", choose.briefly(machine, page.topics), "choose.md"),
        ("How far from the best is what the front door chooses?", regret.briefly(page), "regret.md" if regret.measured(machine) else ""),
        ("How far from the limit is it?", limits.briefly(machine, page.topics), "limits.md"),
        ("What did each rung gain, and why?", gains.briefly(page), "gains.md"),
        ("Where does CUB win, and where is it a tie?", wins(page), "#where-cub-wins-and-where-it-is-a-tie"),
        ("How accurate, how repeatable, at what price?", accuracy.briefly(page), "accuracy.md"),
        ("Is this chip different from that one?", comparing(page), ""),
        ("Did the texts' claims hold?", held(machine), "claims.md"),
    ]
    return [Answer(*each, committed(page, each[2])) for each in found if each[1]]


def asked(page: Page, each: Answer) -> str:
    """The question as a link, or links behind it."""
    if not each.where:
        return each.question
    if not page.brief:
        return f"[{each.question}]({each.where})"
    links = [(label, link.removeprefix(places.FRONT)) for label, link in each.links]
    if len(links) == 1:
        return f"[{each.question}]({links[0][1]})"
    return "<br>".join([each.question, *[f"[{label}]({link})" for label, link in links]])


def contents(page: Page) -> list[str]:
    rows = [[asked(page, each), each.says.replace("; ", "<br>")] for each in answered(page)]
    return [*table(["question", "answer"], rows), ""] if len(rows) > 1 else []
