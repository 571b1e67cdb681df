"""Find the places of a statement where an error does most harm: amounts, dates, clause numbers, modals and the like."""

import re
from collections.abc import Sequence

from enricher.grounding.engine import LOW_CONFIDENCE, assess_all
from enricher.trace import Item
from enricher.verdict import Segment, Standing

# In falling order of the harm that an error does there; `docs/reference.md` states it.
_SITES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "amounts",
        re.compile(
            r"[€$£¥₹]\s?\d|\d[\d.,  ]*\s?(?:[%€$£¥円元]"
            r"|(?:usd|eur|gbp|chf|jpy|euros?|dollars?|percent|prozent|mg|kg|g|ml|l|km|m|cm|mm)\b)",
            re.I,
        ),
    ),
    (
        "dates",
        re.compile(
            r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b(?:19|20)\d{2}\b|\d+\s?(?:年|月|日|週間|天|个月|か月|ヶ月)"
            r"|\b(?:days?|weeks?|months?|years?|hours?|tage?n?|wochen?|monate?n?|jahre?n?|jours?|mois|ans?|días?|meses|años?)\b"
            r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b",
            re.I,
        ),
    ),
    (
        "clause_numbers",
        re.compile(
            r"(?:§+|\b(?:clause|section|article|paragraph|annex|schedule|ziffer|artikel|absatz|clausula|cláusula|art)\.?)\s*\d",
            re.I,
        ),
    ),
    (
        "modals",
        re.compile(
            r"\b(?:must|shall|may|might|can|cannot|should|not|never|no|muss|müssen|darf|dürfen|kann|können|soll|nicht"
            r"|kein\w*|doit|doivent|peut|peuvent|pas|debe|deben|puede|pueden|nunca)\b|ない|不|必须|必ず",
            re.I,
        ),
    ),
    (
        "quantifiers",
        re.compile(
            r"\b(?:all|every|each|any|some|most|only|none|always|at least|at most|up to|alle|jede\w*|einige|nur"
            r"|mindestens|höchstens|tous|toutes|chaque|seulement|todos|todas|cada|sólo|solo)\b|すべて|全て|所有|只",
            re.I,
        ),
    ),
    ("names", re.compile(r"(?<=\s)[A-ZÄÖÜ][\w-]+(?:\s+[A-ZÄÖÜ][\w-]+)*")),
)
SITES = tuple(name for name, _ in _SITES)


def sites_in(text: str) -> tuple[str, ...]:
    """Return the kinds of sensitive places that a statement holds, the most dangerous first."""
    return tuple(name for name, pattern in _SITES if pattern.search(text))


def mismatches(statements: Sequence[str], focus: Sequence[str], item: Item) -> dict[int, tuple[str, Segment]]:
    """Compare statements that somebody calls supported; return, by place, the site and what certainly clashes."""
    watched = [
        (number, site)
        for number, text in enumerate(statements)
        if (site := next((name for name in sites_in(text) if name in focus), None)) is not None
    ]
    segments = assess_all([statements[number] for number, _ in watched], item)
    return {
        number: (site, segment)
        for (number, site), segment in zip(watched, segments, strict=True)
        if segment.standing is Standing.CONTRADICTED and LOW_CONFIDENCE not in segment.flags
    }
