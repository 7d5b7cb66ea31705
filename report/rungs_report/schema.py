"""What a file of results has to look like: report/schema.json, asked of the jsonschema package, and told in words."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators

DOCUMENT: dict[str, Any] = json.loads(Path(__file__).parents[1].joinpath("schema.json").read_text(encoding="utf-8"))
DEFINITIONS: dict[str, Any] = DOCUMENT["$defs"]
COLUMNS: tuple[str, ...] = tuple(DEFINITIONS["row"]["required"])
# bench writes no 1.0 for a count.
_STRICT = validators.extend(
    Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
)


def inlined(schema: Any) -> Any:
    """With definitions in place of references, which the package looks up at every value."""
    if isinstance(schema, list):
        return [inlined(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    own = {name: inlined(part) for name, part in schema.items() if name not in ("$ref", "$defs")}
    return {**inlined(DEFINITIONS[schema["$ref"].removeprefix("#/$defs/")]), **own} if "$ref" in schema else own


def form(value: Any) -> Any:
    """What the schema's answer to a value depends on. Numbers of one type and sign get one answer, for all bounds of the schema are 0; so do
    lists of the same forms, for the schema asks of none how long it is, but for an empty one."""
    kind = type(value)
    if kind is float or kind is int:
        return kind, (value > 0) - (value < 0)
    if kind is dict:
        return kind, *((name, form(own)) for name, own in value.items())
    if kind is list:
        return kind, *dict.fromkeys(map(form, value))
    return kind, value


def brief(value: Any) -> Any:
    """A value with one of each form in its lists, which gets the same answer."""
    if isinstance(value, list):
        return list({form(own): brief(own) for own in value}.values())
    return {name: brief(own) for name, own in value.items()} if isinstance(value, dict) else value


class Records:
    """Objects of one schema, asked column by column: a result file has thousands of rows, and few answers that differ."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.required = tuple(schema.get("required", ()))
        self.columns: dict[str, tuple[Any, dict[Any, bool]]] = {name: (_STRICT(inlined(own)), {}) for name, own in schema["properties"].items()}

    def fault(self, record: dict[str, Any], where: str = "", lacks: str = "") -> str | None:
        """The first field that is missing or wrong, in words. where and lacks: what stands before its name there."""
        if missing := next((name for name in self.required if name not in record), None):
            return f"lacks {lacks or where}{missing}"
        for name, value in record.items():
            if name not in self.columns:
                continue
            validator, known = self.columns[name]
            kind = type(value)
            # Text stands for itself and a type for its positive numbers: most of a row, without a form being made.
            asked = value if kind is str else kind if (kind is float or kind is int) and value > 0 else form(value)
            if asked not in known:
                known[asked] = validator.is_valid(brief(value))
            if not known[asked]:
                return said(next(validator.iter_errors(value)), where + name)
        return None


def said(error: ValidationError, where: str) -> str:
    """A fault in words. where: the path of what was asked."""
    path = where + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
    path, value = path.removeprefix("."), error.instance
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in value)
        return f"lacks {path}.{missing}".replace(" .", " ")
    if error.validator == "const":
        return f"has {path} {value!r}; this generator reads {error.validator_value!r}"
    if error.validator == "enum":
        return f"has {path} {value!r}, which is none of {', '.join(sorted(filter(None, error.validator_value)))}"
    if error.validator == "type" and error.validator_value == "object":
        return f"has {path}, which is no object"
    title = error.schema.get("title")
    if title is None or isinstance(value, (dict, list)):
        return f"has {path} of the wrong kind"
    return f"has {path} {value!r}, which is no {title}"


ROWS = Records(DEFINITIONS["row"])
TIMED = Records({**DEFINITIONS["row"], "properties": {**DEFINITIONS["row"]["properties"], **DEFINITIONS["timed"]["properties"]}})


def row_fault(row: dict[str, Any]) -> str | None:
    """What is wrong with the form of a row, the columns first."""
    return (TIMED if row.get("verified") == "yes" else ROWS).fault(row, lacks="the column ")


def _split(schema: dict[str, Any]) -> tuple[Any, dict[str, Records]]:
    """What asks all of a document but what is in its lists of records, and what asks these."""
    schema = inlined(schema)
    lists = {name: own["items"] for name, own in schema["properties"].items() if own.get("type") == "array"}
    records = {name: Records(item) for name, item in lists.items() if item.get("type") == "object"}
    plain = {name: {"type": "array"} for name in records}
    return _STRICT({**schema, "properties": {**schema["properties"], **plain}}), records


_SPLIT = {name: _split(DEFINITIONS.get(name, DOCUMENT)) for name in ("results", "sass", "profile", "counters", "accuracy", "torch", "across", "across_torch", "by_key", "others", "inference")}
del _SPLIT["results"][1]["rows"]  # asked one by one, for a bad row leaves the others sound


def fault(document: dict[str, Any], of: str) -> str | None:
    """The first thing that is wrong with the form of a document: of results (but for its rows), sass, counters, torch, across, by_key or inference."""
    whole, lists = _SPLIT[of]
    if errors := list(whole.iter_errors(document)):
        return said(min(errors, key=lambda error: error.validator != "const"), "")  # another schema, before what it lacks
    for name, records in lists.items():
        for position, record in enumerate(document[name]):
            if not isinstance(record, dict):
                return f"has {name}[{position}], which is no object"
            if fault := records.fault(record, f"{name}[{position}]."):
                return fault
    return None
