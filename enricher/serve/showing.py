"""Print what traces hold without believing any of it: escaped, with invisible characters made visible, and cut."""

from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from enricher.printing import plural
from enricher.printing import visible as visible  # pages print by it

_HERE = Path(__file__).resolve().parent
STATIC = _HERE / "static"


def shown(value: Any) -> Any:
    """Make every printed text visible; what is marked as HTML already is left alone."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@lru_cache(maxsize=1)  # compiled once, whoever asks
def environment() -> Environment:
    """Make the templates of the pages; they escape everything and refuse names that nobody gave."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"moment": moment, "words": words, "percent": percent, "count": thousands}
    made.filters |= {"plural": plural, "sign": sign, "glyph": glyph, "cut": cut}
    made.globals["static"] = static
    return made


@lru_cache
def static(name: str) -> str:
    """Return the address of a file of ours; it changes with the contents, so that browsers may keep the file."""
    digest = sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def moment(value: datetime | None) -> Markup:
    """Print an instant for people and for machines, in UTC."""
    if value is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(
        value.isoformat(timespec="seconds"), f"{value:%Y-%m-%d %H:%M} UTC"
    )


def ago(value: datetime, now: datetime) -> str:
    """Say how long something has waited, in one unit."""
    waited = max(now - value, timedelta())
    if waited >= timedelta(days=2):
        return f"{waited.days} days"
    hours, minutes = divmod(int(waited.total_seconds()) // 60, 60)
    if hours:
        return f"{hours} h"
    return f"{minutes} min" if minutes else "now"


def words(code: object) -> str:
    """Print a code, such as score_below_threshold, as words."""
    return str(code).replace("_", " ").lower()


# How a statement or a verdict stands: the sign that says so beside the word and the colour.
_GLYPHS = {
    "supported": "✓",
    "partial": "◐",
    "unsupported": "+",
    "contradicted": "✗",
    "source_conflict": "⇄",
    "omitted": "…",
}
_SIGNS = {
    *_GLYPHS,
    *("faithful", "pass", "fail", "consistent", "no_claims", "failed"),
    *("yes", "no", "none", "generation", "retrieval", "both"),
}


def sign(word: object) -> str:
    """Return the class that shows how something stands; what has none of its own is a failure to judge."""
    return str(word) if str(word) in _SIGNS else "failed"


def glyph(standing: object) -> str:
    """Return the sign of a standing."""
    return _GLYPHS.get(str(standing), "?")


def cut(text: object, length: int = 2000) -> str:
    """Print no more than so many characters of a text, and say that there are more."""
    whole = str(text)
    return whole if len(whole) <= length else f"{whole[:length]} … ({len(whole) - length:,} more characters)"


def percent(share: float | None) -> str:
    """Print a share; a dash where there is none, which is not zero."""
    return "–" if share is None else f"{share:.0%}"


def thousands(number: int) -> str:
    """Print a count with separators."""
    return f"{number:,}"
