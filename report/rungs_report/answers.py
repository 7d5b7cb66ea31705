"""The questions this report answers, in their order, each with its answer in a line and where more is said."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from rungs_report import accuracy, against_cub, choose, claims, compare, errors, gains, limits, regret, topics, torch_rows, words
from rungs_report.data import Machine
from rungs_report.page import Page, slug
from rungs_report.sweeps import floors_of, mains
from rungs_report.topics import Topic
from rungs_report.words import code, spaced, table

# The titles of the sections that answer them.
CHOICE, REGRET = "Which variant to use", "How far the front door is from the best"
LIMITS, GAINS, ACCURACY = "How far from the limit", "What each rung gained, and why", "Error against speed"


class Answer(NamedTuple):
    """A question, what is said of it, and where more is said."""

    question: str
    says: str
    links: tuple[tuple[str, str], ...] = ()  # label and link; no label where there is one place only
    drawn: str = ""  # what the charts are called that it stands on


def file_of(topic: Topic) -> str:
    """The page of a topic; the studies share one."""
    return f"{topics.COSTS if topic.name in topics.STUDIES else topic.name}.md"


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
        counts = [f"CUB wins {each['SLOWER']:,} of {each.total():,}, {each['SAME']:,} tied, {each['AMBIGUOUS']:,} undecided" for each in (free, kept)]
        told.append(f"{topic.name}, against the best rung of any workspace: {counts[0]} (noise floor {floors_of(machine, topic).split(',')[0]})")
        if kept != free:
            told[-1] += f"; against the best that keeps CUB's workspace contract: {counts[1]}"
    return "; ".join(told)


@cache
def held(machine: Machine) -> str:
    told = [claims.answer(claim, machine).verdict for own in (*claims.of(machine).values(), claims.PITFALLS) for claim in own]
    known = [verdict for verdict in told if verdict != claims.UNMEASURED]
    if not known:
        return ""
    kinds = ((claims.HOLDS, "hold"), (claims.FAILS, "do not"), (claims.FALSE, "are false as stated"), (claims.CANNOT, "cannot be measured here"))
    return f"of {words.plural(len(known), 'claim')} looked into " + words.listed([f"{known.count(kind)} {says}" for kind, says in kinds])


def by_topic(page: Page, briefly: Callable[[Page], str], title: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What is said of each topic, and where its page says more."""
    told = [(topic, said) for topic in page.topics if (said := briefly(replace(page, topics=[topic])))]
    return "; ".join(said for _, said in told), tuple((topic.name, f"{file_of(topic)}#{slug(title)}") for topic, _ in told)


def answered(page: Page) -> list[Answer]:
    """What has no answer in this data is left out."""
    machine = page.machine
    if not machine.device:
        return []

    def on_front(title: str) -> tuple[tuple[str, str], ...]:
        return (("", f"index.md#{slug(title)}"),)

    door = against_cub.measured(machine)
    slower = against_cub.slower(page) if door else []
    found = [
        Answer("How fast is each call beside CUB's?", against_cub.brief_calls(machine), (("", "front_door.md"),)),
        Answer("Which calls are slower than CUB's, and where?", against_cub.brief_losses(slower) if slower else "none that was measured" if door else "", (("", f"front_door.md#{slug(against_cub.LOSSES)}"),)),
        Answer("How much workspace does each call ask for?", against_cub.brief_workspace(machine) if door else "", (("", "front_door.md#workspace"),)),
        Answer("Which variant should I use?", choose.briefly(machine, page.topics), on_front(CHOICE)),
        Answer("How far from the best is what the front door chooses?", regret.briefly(page), on_front(REGRET) if regret.measured(machine) else ()),
        Answer("How far from the limit is it?", *by_topic(page, limits.briefly, LIMITS), "limit_"),
        Answer("What did each rung gain, and why?", *by_topic(page, gains.briefly, GAINS), "waterfall_"),
        Answer("Where does CUB win, and where is it a tie?", wins(page), on_front("Where CUB wins, and where it is a tie"), "headline"),
        Answer("How accurate, how repeatable, at what price?", *by_topic(page, accuracy.briefly, ACCURACY), "pareto_"),
        Answer("What does an exact sum cost?", errors.briefly(machine), (("", "accuracy.md#exact-sums-at-every-size"),)),
        Answer("Are operations on rows faster than torch's?", torch_rows.briefly(machine), (("", "torch.md"),)),
        Answer("Is this chip different from that one?", comparing(page), (("", "../chips.md"),) if page.others else ()),
        Answer("Did the texts' claims hold?", held(machine), (("", "claims.md"),)),
    ]
    return [each for each in found if each.says]


def asked(each: Answer) -> str:
    """The question as a link, or links behind it."""
    links = [(label, link.removeprefix("index.md")) for label, link in each.links]
    if len(links) == 1:
        return f"[{each.question}]({links[0][1]})"
    return "<br>".join([each.question, *[f"[{label}]({link})" for label, link in links]])


def contents(page: Page) -> list[str]:
    rows = [[asked(each), each.says.replace("; ", "<br>")] for each in answered(page)]
    return spaced(table(["question", "answer"], rows)) if len(rows) > 1 else []
