"""A chart as Vega draws it, made small: the same picture in about a quarter of the bytes, and the same bytes for the same picture."""

import re
from collections import Counter
from xml.etree import ElementTree

NUMBER = re.compile(r"-?(?:\d*\.\d+|\d+(?=e))(?:e-?\d+)?")
TRANSLATE = re.compile(r"translate\(([^,()]+),([^,()]+)\)")
RGB = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")
INHERITED = ("fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor")
# What an image says to nobody, and what is so without being said.
MUTE = ("class", "role", "pointer-events", "version")
DEFAULTS = {"opacity": "1", "x1": "0", "x2": "0", "y1": "0", "y2": "0", "transform": "translate(0,0)"}
SEEN = {"path", "line", "rect"}  # nothing without a fill or a stroke


def rounded(number: re.Match[str]) -> str:
    """To a tenth of a pixel."""
    return f"{round(float(number[0]), 1) or 0:g}"


def brief(element: ElementTree.Element) -> None:
    """An element's attributes without what says nothing."""
    for name in {"transform", "d"} & element.attrib.keys():
        element.set(name, NUMBER.sub(rounded, element.attrib[name]))
    if "stroke" not in element.attrib:
        element.attrib.pop("stroke-width", None)
    for name, value in list(element.attrib.items()):
        if name in MUTE or name.startswith("aria-") or DEFAULTS.get(name) == value:
            del element.attrib[name]
        elif colour := RGB.fullmatch(value):
            element.set(name, "#" + "".join(f"{int(part):02x}" for part in colour.groups()))


def unseen(element: ElementTree.Element) -> bool:
    if element.tag == "g":
        return len(element) == 0
    return element.get("display") == "none" or (element.tag in SEEN and not {"fill", "stroke"} & element.attrib.keys())


def pruned(element: ElementTree.Element) -> None:
    """Without what is not seen, and without groups that group nothing; what all members of a group have is said of the group."""
    kept: list[ElementTree.Element] = []
    for child in element:
        brief(child)
        pruned(child)
        if not unseen(child):
            kept += child if child.tag == "g" and not child.attrib else [child]
    element[:] = kept
    if element.tag == "g" and len(kept) > 1:
        for name in INHERITED:
            values = {child.get(name) for child in kept}
            if len(values) == 1 and None not in values and name not in element.attrib:
                element.set(name, values.pop() or "")
                for child in kept:
                    del child.attrib[name]


def clipped_once(root: ElementTree.Element) -> list[ElementTree.Element]:
    """One clip path for all that clip alike, numbered anew: Vega numbers them over the life of the process."""
    known: dict[str, ElementTree.Element] = {}
    renamed: dict[str, str] = {}
    for each in root.iter("clipPath"):
        content = "".join(ElementTree.tostring(child, encoding="unicode") for child in each)
        first = known.setdefault(content, each)
        renamed[f"url(#{each.get('id')})"] = first.get("id") or ""
    ids = {each.get("id"): f"c{position}" for position, each in enumerate(known.values())}
    for each in root.iter():
        if (clip := each.get("clip-path")) in renamed:
            each.set("clip-path", f"url(#{ids[renamed[clip]]})")
    for each in known.values():
        each.set("id", ids[each.get("id")] or "")
    return list(known.values())


def drawn_once(root: ElementTree.Element) -> list[ElementTree.Element]:
    """The shapes that stand at several places: told once, and used."""
    shapes = Counter(each.get("d", "") for each in root.iter("path") if TRANSLATE.fullmatch(each.get("transform", "")))
    known = {shape: f"s{position}" for position, shape in enumerate(shape for shape, count in shapes.items() if count > 1)}
    for each in root.iter("path"):
        at = TRANSLATE.fullmatch(each.get("transform", ""))
        if at and each.get("d") in known:
            rest = {key: value for key, value in each.attrib.items() if key not in ("d", "transform")}
            each.tag, each.attrib = "use", {"href": f"#{known[each.get('d', '')]}", "x": at[1], "y": at[2], **rest}
    return [ElementTree.Element("path", {"id": known[shape], "d": shape}) for shape in known]


def small(drawn: str) -> str:
    root = ElementTree.fromstring(re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", drawn).replace("xlink:href", "href"))
    brief(root)
    clips = clipped_once(root)
    for parent in list(root.iter()):
        for defs in parent.findall("defs"):
            parent.remove(defs)
    pruned(root)
    defs = ElementTree.Element("defs")
    defs.extend([*clips, *drawn_once(root)])
    if len(defs):
        root.insert(0, defs)
    root.attrib = {"xmlns": "http://www.w3.org/2000/svg", **root.attrib}
    for each in root.iter():  # an element a line, so that a change of one shows as one
        each.tail = "\n"
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
