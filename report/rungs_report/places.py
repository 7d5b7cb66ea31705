"""Where things stand. Sections link to the whole pages that `report/run site` writes; the committed ones are fewer and shorter,
and here is what stands where on them."""

import re

from rungs_report.topics import ATOMICS, COSTS, HISTOGRAMS, STUDIES, Topic

SITE = "report/site"
FRONT = "index.md"
# A whole page and the title of its section: on the page of each topic, or on the front.
OF_TOPIC = {
    "limits.md": "How far from the limit",
    "gains.md": "What each rung gained, and why",
    "accuracy.md": "Error against speed",
    "crossover.md": "When a cluster beats a grid",
}
OF_FRONT = {"choose.md": "Which variant to use", "regret.md": "How far the front door is from the best"}
OF_STUDY = {ATOMICS: "Atomics", COSTS: "Collectives, barriers and launches"}
CONTENTS = "the ladder, how far from the limit, what each rung gained, error, clusters, where CUB wins, other types and modes"
COUNTED = "a ladder, how far from the limit, what each rung gained, clusters, samples and bins, each distribution, what CUB cannot count"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((\w+\.md)(#[^)]*)?\)")


def slug(heading: str) -> str:
    """What GitHub calls a heading in a link."""
    plain = re.sub(r"\\(.)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def file_of(topic: Topic) -> str:
    """The committed page of a topic; the studies share one."""
    return f"{COSTS if topic.name in STUDIES else topic.name}.md"


def of_topics(found: list[Topic]) -> list[tuple[str, str]]:
    """The committed pages of topics, each once, with what they hold."""
    files = dict.fromkeys(map(file_of, found))
    studied = [topic.contents for topic in found if topic.name in STUDIES]
    return [(file, {f"{COSTS}.md": "; ".join(studied), f"{HISTOGRAMS}.md": COUNTED}.get(file, CONTENTS)) for file in files]


def moved(line: str, gpu: str, here: str) -> str:
    """A line of a committed page, its links to whole pages turned to where their contents stand."""

    def link(found: re.Match[str]) -> str:
        label, file, anchor = found[1], found[2], found[3] or ""
        if file in OF_FRONT:
            file, anchor = FRONT, anchor or f"#{slug(OF_FRONT[file])}"
        elif file == f"{ATOMICS}.md":
            file, anchor = f"{COSTS}.md", f"#{slug(OF_STUDY[ATOMICS])}"
        elif file.endswith("_tables.md") or file in OF_TOPIC:
            place = f"`{SITE}/{gpu}/{file}`"
            return place if label == file else f"{label} ({place})"
        return f"[{label}]({'' if file == here and anchor else file}{anchor})"

    return LINK.sub(link, line)


def abridged(lines: list[str], whole: str) -> list[str]:
    """Lines without what is folded in them; in its place its summaries, and the whole page that has it."""
    kept: list[str] = []
    left: list[str] = []
    depth = 0

    def told() -> None:
        if left:
            kept.extend([f"Only in `{whole}`: {'; '.join(left)}.", ""])
            left.clear()

    for line in lines:
        if line == "<details>":
            depth += 1
        elif line == "</details>":
            depth -= 1
        elif depth == 0 and (line or not left):
            told()
            kept.append(line)
        elif depth == 1 and line.startswith("<summary>"):
            left.append(line.removeprefix("<summary>").removesuffix("</summary>"))
    told()
    return kept


def headings(lines: list[str], level: int = 2) -> list[tuple[str, str]]:
    """The headings down to a level, each with its anchor: GitHub numbers those that come again."""
    found, seen = [], {}
    for line in lines:
        if match := re.match(r"(#{1,6}) (.+)", line):
            called = slug(match[2])
            times = seen[called] = seen.get(called, -1) + 1
            if 2 <= len(match[1]) <= level:
                found.append((match[2], called + (f"-{times}" if times else "")))
    return found
