"""Read of which date or version a document is: from its metadata, or from what it says of itself."""

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from enricher.grounding.dates import Date
from enricher.grounding.reading import read
from enricher.trace import Document

# Metadata keys that say when a document holds or was written, the most telling first.
_DATE_KEYS = (
    *("effective_date", "effective_from", "effective", "valid_from", "valid_since", "in_force_since", "as_of"),
    *("version_date", "revision_date", "updated_at", "updated", "last_updated", "last_modified", "modified_at"),
    *("modified", "date_modified", "published_at", "published", "publication_date", "date_published", "publish_date"),
    *("issued_at", "issued", "issue_date", "date", "document_date", "created_at", "created", "timestamp", "year"),
)
_VERSION_KEYS = ("version", "revision", "edition", "release", "rev", "doc_version", "document_version")
_OUTDATED_VALUES = frozenset({"superseded", "obsolete", "outdated", "deprecated", "archived", "withdrawn", "expired"})
_STATUS_KEYS = ("status", "state", "lifecycle")
_OPENING = 240  # characters in which a document says of itself what it is
_RULES = (
    r"policy|policies|terms|rules?|regulations?|guidelines?|guide|handbook|manual|procedure|standard|specification"
    r"|data\s*sheet|price\s+list|tariff|notice|faq|edition|version|revision|release|agreement|contract|leaflet|brochure"
    r"|richtlinie|ordnung|handbuch|fassung|ausgabe|stand|preisliste|politique|règlement|édition|política|edición"
)
_NUMBERED = re.compile(
    r"\b(?:version|rev(?:ision)?\.?|release|edition|v|fassung|ausgabe|versión|versione)\s*(?P<number>\d+(?:\.\d+)*)\b",
    re.I,
)
_STATED = re.compile(
    r"""\b(?:effective(?:\s+(?:from|as\s+of|date))?|valid\s+(?:from|since|as\s+of)|in\s+force\s+(?:from|since)|as\s+of
      |(?:last\s+)?(?:updated|revised|modified|amended|reviewed)(?:\s+on)?|published(?:\s+on)?|issued(?:\s+on)?|dated?
      |stand|gültig\s+(?:ab|seit)|aktualisiert(?:\s+am)?|en\s+vigueur\s+(?:depuis|dès)|mis\s+à\s+jour(?:\s+le)?
      |vigente\s+desde|actualizado(?:\s+el)?)\s*:?\s*(?:the\s+|am\s+|le\s+|el\s+)?$""",
    re.I | re.X,
)
_TITLED = re.compile(rf"\b(?:{_RULES})(?:\s+(?:of|for|from|on|as\s+of|in|vom|von|de|du)(?:\s+\w+)?)?[\s,(–-]*$", re.I)
_TITLED_AFTER = re.compile(rf"^\s+(?:\w+\s+){{0,2}}?(?:{_RULES})\b", re.I)
_REPLACES = re.compile(
    r"""\b(?:replac\w+|supersed\w+|overrid\w+)\s+(?:all\s+|any\s+|the\s+)?(?:\w+\s+){0,2}?(?:earlier|previous|prior|older
      |existing|former|version|edition|polic(?:y|ies)|guidelines?)
    |\bersetzt\s+(?:alle\s+|die\s+)?(?:früher\w*|vorherig\w*|bisherig\w*|ältere\w*)
    |\bremplace\s+(?:toutes?\s+)?(?:les\s+)?(?:versions?\s+)?(?:précédent\w*|antérieur\w*|anciennes?)?
    |\b(?:sustituye|reemplaza)\s+(?:a\s+)?(?:todas\s+)?(?:las\s+)?(?:versiones\s+)?(?:anterior\w*)?""",
    re.I | re.X,
)
_OUTDATED = re.compile(
    r"\b(?:superseded|no\s+longer\s+(?:valid|in\s+force|applies|applicable)|obsolete|outdated|withdrawn|archived\s+version"
    r"|außer\s+kraft|veraltet|abrogée?|derogad[oa])\b",
    re.I,
)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_YEAR = re.compile(r"(?:19|20)\d{2}")


class Version(NamedTuple):
    """What is known of a document's age; `text` is how people read it."""

    text: str
    when: tuple[int, int, int] | None = None  # year, month, day; 0 where open
    number: tuple[int, ...] | None = None
    replaces: bool = False  # it says that it replaces earlier ones
    is_outdated: bool = False  # it is said not to hold any more
    spans: tuple[tuple[int, int], ...] = ()  # where the text says so


def version_of(document: Document) -> Version | None:
    """Return the date or version of a document, or None when neither metadata nor text tell."""
    opening = document.text[:_OPENING]
    stated = _stated(opening)
    when_text, when = _dated(document.metadata)
    number_text = _first(document.metadata, _VERSION_KEYS)
    number = _number(number_text) if number_text else stated.number
    replaces = bool(_REPLACES.search(opening))
    status = (_first(document.metadata, _STATUS_KEYS) or "").strip().lower()
    is_outdated = status in _OUTDATED_VALUES or bool(_OUTDATED.search(opening))
    texts = [when_text or (stated.text if stated.when else ""), number_text or ("" if when_text else stated.text)]
    text = ", ".join(dict.fromkeys(part for part in texts if part))
    if not (text or replaces or is_outdated):
        return None
    return Version(
        text or ("replaces earlier versions" if replaces else "no longer in force"),
        when or stated.when,
        number,
        replaces,
        is_outdated,
        stated.spans,
    )


def is_older(left: Version | None, right: Version | None) -> bool:
    """Tell whether the first document is certainly the older one."""
    if left is None or right is None:
        return bool(left and left.is_outdated) or bool(right and right.replaces and left is None)
    if left.is_outdated != right.is_outdated:
        return left.is_outdated
    if left.when and right.when:
        order = _order(left.when, right.when)
        if order:
            return order < 0
    if left.number and right.number and left.number != right.number:
        return left.number < right.number
    return right.replaces and not left.replaces and not (left.when and right.when)


def dates_of_itself(document: Document, start: int, end: int) -> bool:
    """Tell whether a date at this place of a document says of which version it is, not when something happened."""
    return any(a <= start and end <= b for a, b in _stated(document.text[:_OPENING]).spans)


def _order(left: tuple[int, int, int], right: tuple[int, int, int]) -> int:
    for ours, theirs in zip(left, right, strict=True):
        if not (ours and theirs):
            return 0
        if ours != theirs:
            return -1 if ours < theirs else 1
    return 0


@lru_cache(maxsize=256)
def _stated(opening: str) -> Version:
    """Read what the first words say: "Policy 2024", "Version 2.1", "effective 1 March 2024"."""
    spans, text, when = [], "", None
    for quantity in read(opening).quantities:
        if quantity.dimension != "date" or not quantity.dates or quantity.dates[0].year is None:
            continue
        before = opening[: quantity.start]
        if _STATED.search(before) or _TITLED.search(before) or _TITLED_AFTER.match(opening[quantity.end :]):
            spans.append((quantity.start, quantity.end))
            if when is None:
                text, when = quantity.text, _when(quantity.dates[0])
    number = None
    for found in _NUMBERED.finditer(opening):
        if not _YEAR.fullmatch(found["number"]):
            spans.append(found.span())
            number = number or _number(found["number"])
            text = text or found.group()
    return Version(text, when, number, spans=tuple(spans))


def _when(found: Date) -> tuple[int, int, int]:
    return found.year or 0, found.month or 0, found.day or 0


def _dated(metadata: Mapping[str, Any]) -> tuple[str, tuple[int, int, int] | None]:
    text = _first(metadata, _DATE_KEYS)
    if text is None:
        return "", None
    if (iso := _ISO.match(text)) and _is_date(*map(int, iso.groups())):
        return iso.group(), (int(iso[1]), int(iso[2]), int(iso[3]))
    for quantity in read(text).quantities:
        if quantity.dates and quantity.dates[0].year is not None:
            return text, _when(quantity.dates[0])
    return text, (int(text), 0, 0) if _YEAR.fullmatch(text) else None


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _first(metadata: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    known = {str(key).lower().replace("-", "_").rpartition(".")[2]: value for key, value in metadata.items()}
    for name in names:
        value = known.get(name)
        if isinstance(value, (str, int, float, date)) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()[:40]
    return None


def _number(text: str) -> tuple[int, ...] | None:
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else None
