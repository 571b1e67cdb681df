"""Read statements about what the documents lack, and tell whether a question could have been answered from them."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from enricher.grounding.decision import decide
from enricher.grounding.lexicon import word_set
from enricher.grounding.measures import Quantity
from enricher.grounding.outcome import Decision, Question
from enricher.grounding.reading import Reading, read
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import FULL
from enricher.verdict import AlignmentStatus, IssueType

_SOURCE = (
    r"(?:(?:the|these|those|this|my|your|any(?:\s+of\s+the)?)\s+)?(?:(?:provided|given|supplied|available|retrieved|above|attached|"
    r"search|source|context)\s+)*(?:documents?|context|texts?|sources?|passages?|information|excerpts?|results?|material|articles?|"
    r"content|snippets?|knowledge\s+base)"
)
_TELL = (
    r"(?:say|tell|specify|mention|state|contain|provide|include|indicate|address|cover|give|describe|list|discuss|refer\s+to|answer|"
    r"explain|disclose|define|name)"
)
_TOLD = (
    r"(?:mentioned|specified|stated|provided|given|included|described|discussed|addressed|disclosed|covered|listed|indicated|found|"
    r"available|explained|defined)"
)
_NEWS = r"(?:information|mention|reference|details?|data|indication|statement|evidence|answer|facts?)"
_PATTERNS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_SOURCE}\s+(?:(?:provided|given|above|available)\s+)?(?:do(?:es)?|did)\s*(?:not|n['’]?t)\s+(?:\w+ly\s+)?{_TELL}\b"
        rf"(?:\s+(?:any|an?|the|some))?(?:\s+(?:{_NEWS}))?(?:\s+(?:about|on|of|for|regarding|concerning|as\s+to|to))?",
        rf"{_SOURCE}\s+(?:contains?|provides?|gives?|has|have|includes?|makes?)\s+no\s+{_NEWS}"
        r"(?:\s+(?:about|on|of|for|regarding|concerning|as\s+to))?",
        rf"{_SOURCE}\s+(?:is|are)\s+silent(?:\s+(?:about|on|as\s+to|regarding))?",
        rf"there\s+(?:is|are|was|were)\s+(?:no|not\s+any|n['’]t\s+any)\s+(?:(?:specific|explicit|clear)\s+)?{_NEWS}"
        rf"(?:\s+(?:in|within|from)\s+{_SOURCE})?(?:\s+(?:about|on|of|for|regarding|concerning|as\s+to|that))?",
        rf"\b(?:no|not\s+any)\s+{_NEWS}\s+(?:about|on|of|for|regarding|concerning)(?=.*\b(?:{_TOLD})\b)",
        rf"(?<!\w)no\s+(?=\w+(?:\s+\w+){{0,5}}\s+(?:is|are|was|were)\s+(?:\w+ly\s+)?"
        rf"(?:{_TOLD}\s+(?:in|by)\s+{_SOURCE}|mentioned|specified|stated|disclosed|discussed|addressed)\b)",
        rf"\b(?:is|are|was|were)\s*(?:not|n['’]?t)\s+(?:\w+ly\s+)?(?:mentioned|specified|stated|disclosed|discussed|addressed)\b"
        rf"(?:\s+(?:in|by|within|anywhere\s+in)\s+{_SOURCE})?",
        rf"\b(?:is|are|was|were)\s*(?:not|n['’]?t)\s+(?:\w+ly\s+)?{_TOLD}\s+(?:in|by|within|anywhere\s+in)\s+{_SOURCE}\b",
        r"(?:die\s+dokumente|die\s+unterlagen|der\s+(?:text|kontext)|das\s+dokument|die\s+quellen?)\s+(?:erwähn\w+|nenn\w+|enth[aä]lt\w*|"
        r"sag\w+)\s+(?:kein\w*|nichts)(?:\s+(?:angaben?|informationen))?(?:\s+(?:zu[rm]?|über))?",
        r"(?:les\s+documents|le\s+(?:texte|contexte|document))\s+ne\s+(?:mentionne|précise|contien|indique)\w*\s+(?:pas|aucun\w*)",
        r"(?:los\s+documentos|el\s+(?:texto|contexto|documento))\s+no\s+(?:menciona|indica|contiene|especifica)\w*",
    )
)
_DENIALS = word_set("no not don't doesn't didn't isn't aren't wasn't weren't silent kein keine keinen nichts ne no")
_LEFT_OVER = re.compile(rf"\b(?:is|are|was|were)\s+(?:\w+ly\s+)?{_TOLD}\b|\b(?:in|by|within)\s+{_SOURCE}\W*$", re.I)
_OWN_VOICE = re.compile(r"\b(?:i|we|ich|wir|je|yo)\b", re.I)
# Where a sentence passes on from what the documents lack: before a conjunction, or behind its first clause.
_BESIDE = re.compile(
    r"[,;]?\s+(?:but|however|yet|although|though|while|whereas|aber|jedoch|obwohl|mais|pero|aunque|mas|embora|ma)\b,?|;"
    r"|(?<=\w),(?=\s+(?:the|it|they|this|der|die|das|le|la|el|o|a)\s)",
    re.I,
)
_ANSWERED = 0.75  # of the question's words in one place
_MANY = 3
_AMOUNT = re.compile(
    r"\b(?:how\s+(?:many|much|long|old|far|often|tall|high|big|large|heavy|fast|wide|deep|late|early)|what\s+(?:time|year|date|price|"
    r"percentage|number|amount|age|size|is\s+the\s+(?:\w+\s+){0,3}(?:price|fee|cost|rate|number|amount|deadline|limit|age|date|total|"
    r"deposit|salary|population|revenue))|when|wie\s+(?:viel|lange|hoch|oft|alt|weit|groß)|wann|combien|quand|cuánt\w+|cuándo|quanto|quando)\b",
    re.I,
)
_WHO = re.compile(r"^\W*(?:who|whom|whose|wer|qui|quién|chi)\b", re.I)
_PART = re.compile(
    r"\?\s*|[,;]?\s+(?:and|und|et|y)\s+(?=(?:how|what|when|where|who|why|which|can|could|do|does|is|are|should|will|may|must|was|were|"
    r"wie|was|wann|wo|wer|warum|kann|comment|quand|cómo|cuándo)\b)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Absence:
    """A statement that the documents lack something; without topic it means the answer to the question."""

    topic: Reading | None


def read_absence(text: str, words: AbstractSet[str]) -> Absence | None:
    """Return what a sentence (and its folded words) says the documents lack, or None."""
    if _DENIALS.isdisjoint(words):
        return None
    return _match(text)


def _match(text: str) -> Absence | None:
    for pattern in _PATTERNS:
        if found := pattern.search(text):
            rest = _LEFT_OVER.sub(" ", text[: found.start()] + " " + text[found.end() :]).strip(" .!,;")
            topic = read(rest)
            has_topic = any(weight >= FULL for weight in topic.keys.values()) and not _OWN_VOICE.search(
                text[: found.start()]
            )
            return Absence(topic if has_topic else None)
    return None


def beside_absence(text: str, words: AbstractSet[str]) -> tuple[str, list[str]] | None:
    """Part a sentence into its statement of absence and what else it says; None if it says nothing else."""
    if _DENIALS.isdisjoint(words):
        return None
    parts = [part.strip(" ,;") for part in _BESIDE.split(text) if part and part.strip(" ,;.")]
    lacking = [part for part in parts if _match(part) is not None]
    others = [part for part in parts if part not in lacking]
    return (lacking[0], others) if len(lacking) == 1 and others else None


def decide_absence(absence: Absence, claim: Reading, evidence: Evidence, question: Question | None) -> Decision | None:
    """Decide a statement of absence; None when it only says that the question can't be answered, and it can't."""
    if absence.topic is not None:
        keys = {key: weight for key, weight in absence.topic.keys.items() if weight >= FULL}
        place, share = _best_place(keys, evidence)
        needed = 0.99 if len(keys) < _MANY else 0.8
        if place is not None and share >= needed:
            if evidence.sources[place].reading.marks.is_negated:
                # The documents may say just this: "No fee is specified."
                as_stated = decide(claim, evidence, question)
                if as_stated.status is AlignmentStatus.FULLY_SUPPORTED:
                    return as_stated
            return _contradicted(place, evidence)
        return Decision(
            AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, "the documents indeed lack it", [], 1.0, share < 0.6
        )
    if question is not None and (answer := find_answer(question.reading, evidence)) is not None:
        return _contradicted(answer, evidence)
    return None


def _contradicted(place: int, evidence: Evidence) -> Decision:
    source = evidence.sources[place]
    text = f"{source.document.id} does say: '{source.text}'"
    return Decision(AlignmentStatus.CONTRADICTED, IssueType.CONTRADICTED, text, [place], 0.0, True)


def _best_place(keys: Mapping[str, float], evidence: Evidence) -> tuple[int | None, float]:
    best, most = None, 0.0
    total = sum(keys.values())
    for place in evidence.best(keys, 4) if total else ():
        source = evidence.sources[place]
        held = set(source.reading.all_keys)
        own = held & keys.keys()
        if source.follows is not None:
            held |= evidence.sources[source.follows].reading.all_keys
        share = sum(w for key, w in keys.items() if key in held or not held.isdisjoint(evidence.variants(key))) / total
        if share > most and own:
            best, most = place, share
    return best, most


def find_answer(question: Reading, evidence: Evidence) -> int | None:
    """Return the sentence that answers a question, if one holds its words and the kind of thing it asks for."""
    keys = {key: weight for key, weight in question.keys.items() if weight >= FULL}
    place, share = _best_place(keys, evidence)
    if place is None or share < _ANSWERED or place in evidence.headings:
        return None
    source = evidence.sources[place].reading
    if _AMOUNT.search(question.text):
        return place if any(_is_amount(q) for q in source.quantities) else None
    if _WHO.search(question.text):
        return place if source.names - question.all_keys else None
    adds = any(_is_amount(q) for q in source.quantities) or any(
        weight >= FULL and key not in keys for key, weight in source.keys.items()
    )
    return place if adds else None


def _is_amount(quantity: Quantity) -> bool:
    return not quantity.is_weak and not quantity.dimension.startswith(("label", "ordinal"))


def question_parts(question: str) -> list[Reading]:
    """Return the questions that a question consists of."""
    parts = [part.strip(" ?,;") for part in _PART.split(question)]
    return [read(part) for part in parts if any(weight >= FULL for weight in read(part).keys.values())]
