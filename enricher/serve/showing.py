"""Print what traces hold without believing any of it: escaped, with invisible characters made visible, and cut."""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_HERE = Path(__file__).resolve().parent
STATIC = _HERE / "static"

# What changes the look of other text without being seen: control characters but white space, marks of direction,
# joiners that hide in words, tags, and what is no character at all.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return a text in which every invisible character is named, such as ⟦U+202E⟧; nothing else is changed."""
    return _UNSEEN.sub(lambda found: f"⟦U+{ord(found.group()):04X}⟧", text)


def shown(value: Any) -> Any:
    """Make every printed text visible; what is marked as HTML already is left alone."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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


def percent(share: float | None) -> str:
    """Print a share; a dash where there is none, which is not zero."""
    return "–" if share is None else f"{share:.0%}"


def thousands(number: int) -> str:
    """Print a count with separators."""
    return f"{number:,}"
