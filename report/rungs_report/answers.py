"""The questions this report answers, in their order, each with its answer in a line and the page that says more."""

from functools import cache

from rungs_report import accuracy, choose, claims, compare, gains, limits, regret, words
from rungs_report.data import Machine
from rungs_report.page import Page
from rungs_report.sweeps import floors_of, mains
from rungs_report.words import code, table


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


def answered(page: Page) -> list[tuple[str, str, str]]:
    """Question, answer, where: what has no answer in this data is left out."""
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
    return [each for each in found if each[1]]


def contents(page: Page) -> list[str]:
    rows = [[f"[{question}]({where})" if where else question, answer.replace("; ", "<br>")] for question, answer, where in answered(page)]
    return [*table(["question", "answer"], rows), ""] if len(rows) > 1 else []
