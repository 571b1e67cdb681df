"""Read what an answer says about its sources: that they differ, that they agree, who says what."""

import re
from collections.abc import Sequence
from dataclasses import replace

from enricher.grounding.engine import assess_all
from enricher.grounding.reading import read
from enricher.grounding.tokens import FULL
from enricher.trace import Document, Item
from enricher.verdict import Standing

_SOURCES = (
    r"(?:sources?|documents?|reports?|studies|papers|articles|texts?|policies|data\s*sheets?|manuals?|quellen?"
    r"|dokumente?|unterlagen|documents|sources|fuentes?|documentos?|fonti)"
)
_SAYS_SO = re.compile(
    rf"""\b(?:however|whereas|disagree\w*|differ(?:s|ed|ing|ent\s+(?:values?|figures?|numbers?|sources?))?|conflict\w*
      |contradict\w*|inconsisten\w*|discrepan\w*|diverg\w*|on\s+the\s+other\s+hand|not\s+(?:agree|consistent)
      |(?:another|the\s+other|one)\s+{_SOURCES}|while\s+(?:the\s+)?(?:other|another|d\d)|jedoch|hingegen|dagegen
      |widersprech\w*|abweich\w*|uneinheitlich|cependant|tandis\s+que|contredi\w*|sin\s+embargo|mientras\s+que
      |discrepa\w*|contradic\w*)\b|一方|しかし|但是|然而|不一致|矛盾""",
    re.I | re.X,
)
_ALL = r"(?:all|both|every|each|the\s+two|alle|beide|sämtliche|tous|toutes|les\s+deux|todas?|todos|ambos|ambas)"
_COUNTED = r"(?:\s+(?:of\s+)?(?:the\s+|les\s+|las\s+|los\s+)?(?:(?P<number>two|three|four|five|\d)\s+)?(?:\w+\s+)?)?"
_AGREE = (
    r"(?:agree\w*|concur\w*|say|says|state|states|confirm\w*|report|reports|give|gives|indicate\w*|show|shows|list|lists"
    r"|are\s+(?:unanimous|consistent|in\s+agreement)|stimmen|bestätigen|nennen|s'accordent|indiquent|coinciden|indican)"
)
_CONSENSUS = re.compile(
    rf"""\b{_ALL}{_COUNTED}\s*{_SOURCES}\b|\b{_SOURCES}\s+(?:all\s+|both\s+)?(?:agree|concur|unanimously|consistently)\b
      |\b(?:unanimous(?:ly)?|consensus|without\s+exception|übereinstimmend|einhellig|unánime\w*|unanime\w*)\b
      |\bthere\s+is\s+(?:full\s+|general\s+|broad\s+)?agreement\b""",
    re.I | re.X,
)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5}
_ANY_COUNT = _COUNTED.replace("?P<number>", "?:")
_DOCUMENT_NAME = r"(?:\[?[a-z]{0,6}[-_]?\d{1,3}\]?)"
_FRAME = re.compile(
    rf"""^\W*(?:(?:{_ALL}{_ANY_COUNT}|the|these)\s*{_SOURCES}\s+(?:\w+ly\s+|all\s+|both\s+)?{_AGREE}
      (?:\s+(?:on\s+this|überein|darin))?\s*[,:]?\s*(?:that|dass|que)?\s+
    |according\s+to\s+(?:{_ALL}{_ANY_COUNT}|the\s+)?\s*(?:{_SOURCES}|{_DOCUMENT_NAME})\s*,?\s+
    |(?:{_SOURCES}\s+)?{_DOCUMENT_NAME}\s+(?:says|states|gives|reports)\s+(?:that\s+)?
    |there\s+is\s+(?:\w+\s+)?(?:agreement|consensus)\s+that\s+
    |(?:laut|gemäß|selon|según)\s+(?:{_ALL}\s+|den\s+|les\s+|las\s+)?{_SOURCES}\s*,?\s+)""",
    re.I | re.X,
)
_COMBINES = re.compile(
    r"""\b(?:therefore|thus|hence|consequently|accordingly|combined|together|taken\s+together|in\s+combination|on\s+average
      |which\s+means|this\s+means|it\s+follows|implies|overall|as\s+a\s+result|in\s+conclusion|so\s+that|daher|folglich
      |somit|insgesamt|zusammen|durchschnitt\w*|donc|ainsi|ensemble|por\s+(?:lo\s+)?tanto|juntos|quindi)\b|因此|所以|したがって""",
    re.I | re.X,
)
_SHORTEST = 8  # characters that a statement without its frame must have


def says_so(answer: str) -> bool:
    """Tell whether an answer says that its sources differ."""
    return bool(_SAYS_SO.search(answer))


def claims_consensus(statement: str) -> bool:
    """Tell whether a statement says that the sources agree."""
    return bool(_CONSENSUS.search(statement)) and not says_so(statement)


def demanded_sources(statement: str, count: int) -> int:
    """Return how many documents have to say what a statement claims all of them to say."""
    found = _CONSENSUS.search(statement)
    number = found["number"] if found else None
    stated = _NUMBERS.get(number.lower(), 0) or (int(number) if number.isdigit() else 0) if number else 0
    # Documents that are silent do not disagree; but two at least have to say it.
    return max(2, min(stated, count))


def combines(statement: str) -> bool:
    """Tell whether a statement draws a conclusion or puts things together."""
    return bool(_COMBINES.search(statement))


def without_frame(statement: str) -> str:
    """Return what a statement says, without who is said to say it: "All sources agree that ..."."""
    rest = statement
    while (frame := _FRAME.match(rest)) and len(rest) - frame.end() >= _SHORTEST:
        rest = rest[frame.end() :]
    return rest


def documents_saying(statement: str, item: Item) -> set[str]:
    """Return the ids of the documents that each say all of a statement."""
    text = without_frame(statement)
    alone = {d.id: assess_all([text], replace(item, documents=(d,)))[0] for d in item.documents}
    return {name for name, segment in alone.items() if segment.standing is Standing.SUPPORTED}


def is_drawn_from_several(statement: str, documents: Sequence[Document]) -> bool:
    """Tell whether words of a statement come from two documents of which neither holds those of the other."""
    words = {key for key, worth in read(statement).keys.items() if worth >= FULL}
    held = [words & {key for s in document.sentences for key in read(s.text).all_keys} for document in documents]
    return any(one - other and other - one for n, one in enumerate(held) for other in held[n + 1 :])
