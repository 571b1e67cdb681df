"""Text on its way to people: what could hide or turn other text round is made visible, and counts have their word."""

import re

# What changes the look of other text without being seen: control characters but white space, marks of direction,
# joiners that hide in words, tags, and what is no character at all.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return a text in which every invisible character is named, such as ⟦U+202E⟧; nothing else is changed."""
    return _UNSEEN.sub(lambda found: f"⟦U+{ord(found.group()):04X}⟧", text)


def plural(count: int, one: str, many: str = "") -> str:
    """Return the word for so many: "trace" for one, "traces" (or what is given) for any other count."""
    return one if count == 1 else many or f"{one}s"


def number_of(count: int, one: str, many: str = "") -> str:
    """Say how many: "1 trace", "2,000 traces"."""
    return f"{count:,} {plural(count, one, many)}"


def masked(text: str) -> str:
    """Return a text of the same length in which every invisible character is a replacement mark."""
    return _UNSEEN.sub("\ufffd", text)
