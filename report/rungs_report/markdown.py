"""Markdown as the report writes it, as HTML: a page divided at its headings of the second level or whole, with anchors, tables and code
that scroll within their box, charts inline, and links that follow where a page went."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape, unescape
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rungs_report.page import short, slug

READER = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False}).enable("table")
LONG, SHORT = 48, 24  # characters from which a cell of a table is prose, and wraps; and from which it does so on a phone
FEW = 3  # columns of a table that is words
ID = re.compile(r'\bid="([^"]+)"')
OUTSIDE = re.compile(r"[a-z]+:")
DIFF = {"+": "add", "-": "cut", "@": "at"}


@dataclass
class Section:
    """What stands under a heading of the second level, or before the first one: that has no name."""

    name: str
    title: str  # HTML
    tokens: list[Token]
    anchors: dict[str, str] = field(default_factory=dict)  # the headings in it: from what a link in Markdown calls one to its id here

    @property
    def plain(self) -> str:
        return plain(self.title)

    @property
    def inner(self) -> list[tuple[str, str]]:
        """The headings right below its own, or the page's title: id and HTML."""
        opened = [position for position, each in enumerate(self.tokens) if each.type == "heading_open" and each.tag == "h2"]
        return [(str(self.tokens[at].attrGet("id")), inline(self.tokens[at + 1])) for at in opened]


@dataclass
class Places:
    """What a page's links lead to. Each gives None where there is nothing: then the text stands without a link."""

    link: Callable[[str], str | None]  # from a link in Markdown
    code: Callable[[str], str | None]  # from a name in a code span
    chart: Callable[[str], str | None]  # from the path of an image to its SVG


def plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


def inline(token: Token) -> str:
    return str(READER.renderer.renderInline(token.children or [], READER.options, {}))


def line(text: str) -> str:
    """A line of Markdown as HTML without a paragraph."""
    return str(READER.renderInline(text))


def whole(lines: list[str]) -> Section:
    """The page behind its title as one, its headings with their ids."""
    return sections(lines, divided=False)[0]


def sections(lines: list[str], divided: bool = True) -> list[Section]:
    """The page behind its title, divided. Headings go up by one level, for a section is a page of its own, and get their ids."""
    found = [Section("", "", [])]
    tokens = READER.parse("\n".join(lines))
    times: Counter[str] = Counter()
    names = Counter(short(tokens[at + 1].content) for at, each in enumerate(tokens) if each.type == "heading_open" and each.tag == "h2" and each.level == 0)
    skipped = 0
    for position, token in enumerate(tokens):
        if skipped:
            skipped -= 1
            continue
        if token.type == "heading_open":
            content = tokens[position + 1]
            called = slug(content.content)
            numbered = called + (f"-{times[called]}" if times[called] else "")
            times[called] += 1
            if divided and token.tag == "h2" and token.level == 0:
                name = short(content.content)
                found.append(Section(name if names[name] == 1 else numbered, inline(content), [], {numbered: ""}))
                skipped = 2
                continue
            token.attrSet("id", numbered)
            if divided:
                token.tag = tokens[position + 2].tag = f"h{max(2, int(token.tag[1]) - 1)}"
            found[-1].anchors[numbered] = numbered
        if token.type in ("html_block", "inline"):
            for anchor in ID.findall(token.content):
                found[-1].anchors[anchor] = anchor
        found[-1].tokens.append(token)
    return found


def html(section: Section, places: Places) -> str:
    return str(READER.renderer.render(list(_finished(section, places)), READER.options, {}))


def _finished(section: Section, places: Places) -> Iterator[Token]:
    tokens = section.tokens
    position, last_heading, linked = 0, section.plain, set[str]()
    while position < len(tokens):
        token = tokens[position]
        following = tokens[position + 1] if position + 1 < len(tokens) else None
        if token.type == "paragraph_open" and following is not None and (figure := _figure(following, places)):
            yield raw(figure)
            position += 3
            continue
        if token.type == "heading_open" and following is not None:
            last_heading = plain(inline(following))
        if token.type == "table_open":
            _table(tokens[position:])
            yield raw(f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(last_heading or "table")}">')
        if token.type in ("th_open", "td_open") and following is not None:
            _cell(token, tokens[position + 2], following)
        if token.type == "inline":
            token.children = list(_inline(token.children or [], places, linked))
        if token.type == "fence":
            yield raw(_code(token.content, token.info, last_heading))
        else:
            yield token
        if token.type == "table_close":
            yield raw("</div>")
        position += 1


def raw(content: str) -> Token:
    return Token("html_block", "", 0, content=content + "\n")


def _table(tokens: list[Token]) -> None:
    """A table of few columns and without numbers is words: all of it wraps on a phone. tokens: from its beginning on."""
    own = tokens[: next(at for at, each in enumerate(tokens) if each.type == "table_close")]
    heads = [each for each in own if each.type == "th_open"]
    if len(heads) <= FEW and not any("right" in str(each.attrGet("style")) for each in heads):
        own[0].attrSet("class", "words")


def _cell(opened: Token, closed: Token, content: Token) -> None:
    style = opened.attrs.pop("style", "")
    kinds = ["r"] if "right" in str(style) else []
    if opened.tag == "th":
        if content.content:
            opened.attrSet("scope", "col")
        else:
            opened.tag = closed.tag = "td"
    # Where a line breaks by itself, each part counts.
    longest = max(map(len, re.split(r"<br>", plain_cell(content.content))), default=0)
    if longest > SHORT:
        kinds.append("long" if longest > LONG else "mid")
    if kinds:
        opened.attrSet("class", " ".join(kinds))


def plain_cell(text: str) -> str:
    """A cell without what is not seen of it."""
    return re.sub(r"\]\([^)]*\)", "]", text)


def _figure(token: Token, places: Places) -> str | None:
    """A paragraph that is an image and nothing else."""
    children = token.children or []
    if len(children) != 1 or children[0].type != "image":
        return None
    image = children[0]
    source = str(image.attrGet("src"))
    drawn = places.chart(source)
    return figure(drawn, PurePosixPath(source).stem, image.content) if drawn else None


def figure(drawn: str, name: str, title: str) -> str:
    """A chart with its title, Markdown, under it."""
    caption = f"caption_{name}"
    marked = drawn.replace("<svg ", f'<svg role="img" aria-labelledby="{caption}" ', 1)
    return (
        f'<figure><div class="scroll chart" role="group" tabindex="0" aria-labelledby="{caption}">{marked}</div>'
        f'<figcaption id="{caption}">{line(title)}</figcaption></figure>'
    )


def _inline(children: list[Token], places: Places, linked: set[str]) -> Iterator[Token]:
    """Links led to where their pages went, addresses outside as code; names of rungs linked to their sources, each once in a section."""
    within: list[str] = []  # the addresses of the links that are open, empty for those that became text
    outside = ""
    for child in children:
        if child.type == "link_open":
            address = str(child.attrGet("href"))
            where = places.link(address)
            within.append(where or "")
            if where is None:
                outside = address if OUTSIDE.match(address) else ""
                continue
            child.attrSet("href", where)
        elif child.type == "link_close":
            if not within.pop():
                if outside:
                    yield from (Token("text", "", 0, content=" ("), Token("code_inline", "code", 0, content=outside), Token("text", "", 0, content=")"))
                continue
        elif child.type == "code_inline" and not any(within) and child.content not in linked and (where := places.code(child.content)):
            linked.add(child.content)
            opened = Token("link_open", "a", 1, attrs={"href": where})
            yield from (opened, child, Token("link_close", "a", -1))
            continue
        yield child


def _code(content: str, language: str, heading: str) -> str:
    """Lines of code, those of a difference each by its kind."""
    told = []
    for each in content.rstrip("\n").split("\n"):
        kind = DIFF.get(each[:1]) if language == "diff" else None
        told.append(f'<span class="{kind}">{escape(each, quote=False)}</span>' if kind else escape(each, quote=False))
    label = "difference" if language == "diff" else escape(f"code: {heading}" if heading else "code")
    return f'<pre class="scroll" tabindex="0" role="group" aria-label="{label}"><code>{chr(10).join(told)}</code></pre>'
