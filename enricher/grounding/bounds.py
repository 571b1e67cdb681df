"""Read what a value limits: "at least 18", "over 18", "within 30 days", "before 5 May"."""

import re
from enum import StrEnum

from enricher.grounding.lexicon import word_set


class Bound(StrEnum):
    """What a value limits: "at least 18" is AT_LEAST, "over 18" MORE_THAN, "within 30 days" WITHIN."""

    EXACT = "exactly"
    ABOUT = "about"
    AT_LEAST = "at least"
    MORE_THAN = "more than"
    AT_MOST = "at most"
    LESS_THAN = "less than"
    WITHIN = "within"


# All three are matched against a text in lower case.
_BEFORE = re.compile(
    r"""(?:(?P<about>about|around|approximately|approx\.?|roughly|circa|ca\.?|c\.|some|nearly|almost|close\s+to|an\s+estimated|
        estimated(?:\s+at)?|etwa|ungefähr|rund|zirka|knapp|environ|unos|unas|aproximadamente|cerca\s+de|alrededor\s+de|quasi|[~≈約约])
    |(?P<not_over>(?:not|no|never|n['’]t)\s+(?!only\b|just\b)(?:\w+\s+){0,5}?(?:more|greater|higher|longer|later|older)\s+than|(?:must|may|shall|can|should|do(?:es)?)?\s*
        not\s+(?:to\s+)?exceed(?:ing)?|at\s+most|at\s+the\s+most|up\s+to|(?:a\s+)?max(?:imum|\.)?(?:\s+of)?|maximal|höchstens|bis\s+zu|
        as\s+(?:long|much|many|far|high|late|old)\s+as|au\s+(?:plus|maximum)|jusqu['’]à|como\s+máximo|hasta|no\s+más\s+de|al\s+massimo|
        fino\s+a|limited\s+to|capped\s+at|nicht\s+mehr\s+als|ne\s+dépass\w+\s+pas|[≤⩽]|<=|最多|不超过|最大)
    |(?P<not_under>(?:not|no)\s+(?:less|fewer|lower|earlier|younger|sooner|shorter)\s+than|at\s+(?:the\s+)?least|
        (?:a\s+)?min(?:imum|\.)?(?:\s+of)?|mindestens|wenigstens|nicht\s+weniger\s+als|au\s+(?:moins|minimum)|al\s+menos|por\s+lo\s+menos|
        como\s+mínimo|almeno|minimal|starting\s+(?:at|from)|as\s+(?:little|few|low|early)\s+as|[≥⩾]|>=|至少|最少|最低)
    |(?P<over>more\s+than|over|above|exceed(?:s|ing|ed)?|greater\s+than|higher\s+than|longer\s+than|older\s+than|beyond|
        in\s+excess\s+of|mehr\s+als|über|länger\s+als|älter\s+als|plus\s+de|más\s+de|mayor\s+de|più\s+di|oltre|>|超过)
    |(?P<under>less\s+than|fewer\s+than|under|below|lower\s+than|shorter\s+than|younger\s+than|weniger\s+als|unter|
        kürzer\s+als|jünger\s+als|moins\s+de|menos\s+de|menor\s+de|meno\s+di|<|低于|未満)
    |(?P<within>within|inside|innerhalb(?:\s+von)?|binnen|in\s+less\s+than|dans\s+(?:les|un\s+délai\s+de)|sous|dentro\s+de|
        en\s+un\s+plazo\s+de|entro))
    \s*(?:the\s+|a\s+|an\s+|first\s+|de\s+|of\s+)?(?:us|ca|au)?[$€£¥]?\s*(?:eur|usd|gbp|chf)?\s*$""",
    re.X,
)
_AFTER = re.compile(
    r"""[\s,]*(?:\(?(?P<not_under>or\s+(?:more|older|over|above|longer|higher|greater|later)|and\s+(?:over|above|older|up|more)|minimum|
        at\s+(?:the\s+)?(?:least|minimum)|plus\b|upwards?|oder\s+(?:mehr|älter|länger)|ou\s+plus|o\s+más|以上|\+)
    |(?P<not_over>or\s+(?:less|fewer|younger|under|below|shorter|lower|earlier)|and\s+under|maximum|at\s+(?:the\s+)?(?:most|maximum)|
        oder\s+weniger|ou\s+moins|o\s+menos|以内|以下|max\b))""",
    re.X,
)
_BEFORE_DATE = re.compile(
    r"""\b(?:(?P<under>before|prior\s+to|vor|avant|antes\s+(?:de|del))|(?P<not_over>by|until|till|up\s+to|no\s+later\s+than|
        not\s+later\s+than|through|bis(?:\s+zum)?|spätestens(?:\s+am)?|jusqu['’](?:à|au)|hasta(?:\s+el)?|at\s+the\s+latest)
    |(?P<over>after|nach(?:\s+dem)?|après(?:\s+le)?|después\s+del?)|(?P<not_under>since|from|as\s+of|starting(?:\s+on|\s+from)?|
        effective|ab(?:\s+dem)?|seit|depuis|à\s+partir\s+du|desde|a\s+partir\s+del?))\s*(?:the\s+|dem\s+|le\s+|el\s+)?$""",
    re.X,
)
_BOUND_OF_GROUP = {
    "about": Bound.ABOUT, "not_over": Bound.AT_MOST, "not_under": Bound.AT_LEAST, "over": Bound.MORE_THAN,
    "under": Bound.LESS_THAN, "within": Bound.WITHIN,
}  # fmt: skip
_LOOK_BACK = _LOOK_AHEAD = 48
_LAST_WORDS = 4
# A bound ends with one of these; looking for them first saves most of the work.
_HINTS = word_set(
    """about around approximately approx approx. roughly circa ca. c. ca some nearly almost to estimated at etwa
    ungefähr rund zirka knapp environ unos unas aproximadamente de quasi than exceed exceeding exceeds exceeded most
    max max. maximum maximal höchstens zu as plus jusqu'à jusqu’à máximo hasta massimo als pas least min min.
    minimum mindestens wenigstens moins menos mínimo almeno minimal from over above beyond of über unter under below
    within inside innerhalb von binnen les sous entro più oltre di"""
)
_SIGNS = frozenset("~≈約约≤⩽<>≥⩾=多过大少低未満")


def bound_before(text: str, start: int) -> Bound:
    """Return the bound that the words before a value give it."""
    before = text[max(0, start - _LOOK_BACK) : start].lower()
    if _HINTS.isdisjoint(before.split()[-_LAST_WORDS:]) and _SIGNS.isdisjoint(before[-_LAST_WORDS:]):
        return Bound.EXACT
    return _named(_BEFORE.search(before))


def bound_after(text: str, end: int) -> Bound:
    """Return the bound that the words after a value give it: "18 or older"."""
    return _named(_AFTER.match(text[end : end + _LOOK_AHEAD].lower()))


def bound_of_date(text: str, start: int) -> Bound:
    """Return the bound that the words before a date give it; "by 5 May" is AT_MOST, "since 2019" AT_LEAST."""
    return _named(_BEFORE_DATE.search(text[max(0, start - _LOOK_BACK) : start].lower()))


def _named(match: re.Match[str] | None) -> Bound:
    return _BOUND_OF_GROUP[match.lastgroup] if match and match.lastgroup else Bound.EXACT
