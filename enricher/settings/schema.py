"""The config as a JSON schema, so that editors complete keys, explain them and mark what is wrong.

Types and limits come from the settings; what each key means comes from the comments of `config/default.yaml`, which is
the reference, or from the description of the field where that file can't show the key.
"""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import SecretStr
from pydantic.json_schema import GenerateJsonSchema

from enricher.settings.judging import JudgeChoice
from enricher.settings.root import Settings
from enricher.settings.rules import SpanRule
from enricher.settings.values import Section, sections_in
from enricher.trace import SpanKind

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DURATION = {"type": "string", "pattern": r"^(\d+(\.\d+)?\s*[smhdw])+$"}
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
Described = dict[tuple[str, str], str]  # by section and key


def schema(reference: Path) -> dict[str, Any]:
    """Return the JSON schema of a config file.

    Args:
        reference: `config/default.yaml`.
    """
    found = Settings.model_json_schema(schema_generator=_AsWritten)
    text = reference.read_text(encoding="utf-8")
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)  # a test loads the file
    described: Described = {}
    _describe(node, [Settings], text.splitlines(), described)
    for section in _all_sections(Settings):
        _finish(section, found if section is Settings else found["$defs"][section.__name__], described)
    _as_people_write(found["$defs"])
    return {"$schema": _DIALECT, **found, "title": "Config of Trace Enricher"}


class _AsWritten(GenerateJsonSchema):
    """Writes durations as a config does."""

    def timedelta_schema(self, schema: Any) -> dict[str, Any]:
        return dict(_DURATION)

    def encode_default(self, dft: Any) -> Any:
        return _spelled(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def _spelled(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    size, unit = next(pair for pair in _UNITS if seconds % pair[0] == 0)
    return f"{seconds // size}{unit}"


def _finish(section: type[Section], part: dict[str, Any], described: Described) -> None:
    """Take out secrets, and defaults that are long and say nothing; put in what the keys mean."""
    keys = part["properties"]
    for name, field in section.model_fields.items():
        key = field.alias or name
        if SecretStr in get_args(field.annotation):
            keys[key] = {"type": "null", "description": "filled from an environment variable; refused in the file"}
            continue
        about = described.get((section.__name__, key))
        if about:
            keys[key]["description"] = about
        keys[key].pop("title", None)
        if isinstance(keys[key].get("default"), dict | list) and keys[key]["default"]:
            del keys[key]["default"]
    part["description"] = " ".join((section.__doc__ or "").split())


def _as_people_write(definitions: dict[str, Any]) -> None:
    """Allow the short forms that the settings read besides the long ones."""
    choice = definitions[JudgeChoice.__name__]
    when = choice["properties"]["when"]
    choice["properties"]["when"] = {
        "description": when["description"],
        "anyOf": [when["items"], {"type": "array", "items": when["items"]}],
    }
    names, about = choice["properties"]["judge"]["enum"], choice.pop("description")
    definitions[JudgeChoice.__name__] = {"description": about, "anyOf": [{"enum": names}, choice]}
    kinds = definitions[SpanKind.__name__]["enum"]
    kinds += [kind.lower() for kind in kinds]


def _all_sections(section: type[Section]) -> set[type[Section]]:
    below = [found for field in section.model_fields.values() for found in sections_in(field.annotation)]
    return {section}.union(*map(_all_sections, below))


def _describe(node: yaml.Node, sections: list[type[Section]], lines: list[str], described: Described) -> None:
    if isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            _describe(entry, sections, lines, described)
    if not isinstance(node, yaml.MappingNode):
        return
    kind = next((value.value for key, value in node.value if key.value == "kind"), None)
    for key, value in node.value:
        owners = [s for s in sections if key.value in s.model_fields and _is_of_kind(s, kind)]
        if not owners:  # a name of the user's choice
            _describe(value, sections, lines, described)
        for owner in owners:
            if comment := _comment(key, value, lines):
                described.setdefault((owner.__name__, key.value), comment)
            _describe(value, sections_in(owner.model_fields[key.value].annotation), lines, described)


def _is_of_kind(section: type[Section], kind: str | None) -> bool:
    field = section.model_fields.get("kind")
    return field is None or section is SpanRule or kind in get_args(field.annotation)


def _comment(key: yaml.Node, value: yaml.Node, lines: list[str]) -> str:
    is_block = isinstance(value, yaml.CollectionNode) and not value.flow_style
    mark = key.end_mark if is_block else value.end_mark
    found = re.match(r":?\s*#\s*(.+)", lines[mark.line][mark.column :])
    return found[1].strip() if found else ""
