"""Tell from words, values and names whether documents hold what a question asks, and whether an answer answers it."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from enricher.grounding.absence import question_parts, read_absence
from enricher.grounding.reading import Reading, read
from enricher.grounding.scope import is_clause
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import FULL

_CANDIDATES = 6  # sentences looked at for each part of a question
_STATED = 0.75  # of a question's words in one place, from which it is what was asked for
_FOCUSED = 0.5  # enough where the word that the question turns on is among them
_TOUCHED = 0.5  # of the words: the documents speak of it, but not of what is asked
_NEAR = 0.34
_COUNTS = 0.5  # weight of a word with content; a pair of characters where no spaces are written has as much
_COVERED = 0.8  # of the words within a few sentences, one of which says something
_BESIDE = 2  # sentences on each side
_TITLE = 8  # words; a longer line is more than a title
_INNER = (",", ":", "，", "：", "、")  # marks that titles seldom have
_LONG = 40  # words; so long an answer that takes the subject up answers something of it
_MENTIONED = 0.6  # of the question's words in an answer
_SHORT = 12  # words; so short an answer need not repeat the question
_DECLINES = re.compile(
    r"""\b(?:i|we)\s+(?:do\s+not|don['’]?t|can\s*not|can['’]?t|could\s+not|couldn['’]?t|am\s+unable|are\s+unable|am\s+not\s+able)
        \s+(?:\w+\s+){0,3}?(?:know|find|answer|determine|tell|say|provide|to\s+(?:answer|find|determine|provide|say))\b
    |\b(?:unable|not\s+able|not\s+possible|impossible)\s+to\s+(?:answer|determine|say|tell)\b
    |\b(?:no|not\s+enough|insufficient)\s+(?:\w+\s+)?information\b
    |\b(?:ich\s+weiß\s+(?:es\s+)?nicht|kann\s+(?:\w+\s+){0,4}?nicht\s+(?:beantwort|sagen)\w*|keine\s+(?:angaben?|information\w*))
    |\bje\s+ne\s+(?:sais|peux|trouve)\s+pas\b|\bno\s+(?:lo\s+)?s[eé]\b|\bno\s+(?:puedo|encuentro)\b|\bnão\s+(?:sei|posso|encontr\w+)\b
    |\bnon\s+(?:lo\s+)?so\b|\bnon\s+posso\b|不知道|无法(?:回答|确定)|わかりません|分かりません|لا\s+أعرف""",
    re.I | re.X,
)
_HOW_TO = re.compile(
    r"\b(?:how|where|when|why|can|could|may|must|should|wie|wo|kann|darf|comment|cómo|como)\s+(?:do|does|can|could|should|to|did|may|"
    r"must|kann|darf)?\s*(?:i|we|you|one|customers?|users?|people|ich|wir|man|je|nous|on)?\s*",
    re.I,
)
_HEAD = re.compile(
    r"^\W*(?:what|which|was|welche[rsn]?|quel(?:le)?s?|cuál(?:es)?|qual)(?:['’]s|\s+(?:is|are|was|were|will\s+be|ist|sind|war|est|sont|"
    r"es|son|é))\s+(?P<phrase>.+?)(?=\s+(?:of|for|in|on|at|to|from|by|with|per|when|if|that|under|von|für|bei|im|de|du|pour|para|por)\b|[?,;]|$)",
    re.I,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had|ist|sind|darf|kann|muss|gibt|est-ce)\b",
    re.I,
)
_SAYS_SO = re.compile(r"\W*(?:yes|no|ja|nein|oui|non|sí|si|sim|não)\b", re.I)
_AMOUNT = re.compile(
    r"\bhow\s+(?:many|much|long|old|far|often|tall|high|big|large|heavy|fast|wide|deep|late|early)\b|\bwie\s+(?:viel\w*|lange|hoch|oft|"
    r"alt|weit|gro(?:ß|ss))\b|\bcombien\b|\bcuánt\w+|\bquant[oai]s?\b|[是要]?(?:多[久少长大高远]|几[天年个月次])|(?:は|が)?(?:いくら|いくつ|何[日年月時個人]|どのくらい)",
    re.I,
)
_NAMES_A_THING = re.compile(
    r"^\W*(?:what|which|where|when|was|welche[rsn]?|wo|wann|où|quand|quel\w*|dónde|cuándo|cuál\w*|quale?|onde|quando|dove)\b",
    re.I,
)
# What an answer of the kind does not repeat: "The door is red" says which colour it has.
_KIND = re.compile(
    r"\b(?:what|which|welche[rsn]?)\s+(?:colou?r|year|date|day|month|time|hour|city|country|town|place|name|kind|type|sort|language|"
    r"farbe|jahr|datum|tag|uhrzeit|stadt|land|ort|sport|profession|occupation|nationality|genre)\b|\bwhen\b|\bwhere\b|\bwann\b|\bwo\b",
    re.I,
)
_WHO = re.compile(r"^\W*(?:who|whom|whose|wer|wem|wessen|qui|quién(?:es)?|quem|chi)\b", re.I)


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextRelevance:
    """Whether the documents hold what a question asks for; nobody has looked at an answer."""

    value: int  # 0 no, 1 partial, 2 yes
    places: tuple[int, ...]  # in `Evidence.sources`: what answers or comes nearest, best first
    missing: tuple[str, ...]  # the question's own words that the documents lack
    is_certain: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerRelevance:
    """Whether an answer answers the question, whatever the documents say."""

    value: int
    missing: tuple[str, ...]  # the question's own words that the answer does not take up
    is_abstention: bool
    is_certain: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    value: int
    place: int | None
    share: float
    lacking: frozenset[str]


def context_relevance(question: str, evidence: Evidence) -> ContextRelevance:
    """Judge the documents against the question alone."""
    parts = _parts(question)
    if not parts:
        return ContextRelevance(value=2 if evidence.sources else 0, places=(), missing=(), is_certain=False)
    found = [_look(part, evidence) for part in parts]
    values = [one.value for one in found]
    value = 2 if min(values) == 2 else 1 if max(values) >= 1 else 0
    lacking = frozenset().union(*(one.lacking for one in found if one.value < 2))
    places = [one.place for one in sorted(found, key=lambda one: -one.share) if one.place is not None and one.value]
    is_foreign = evidence.is_foreign_to(read(question).language)
    is_clear = all(one.share >= _STATED if one.value == 2 else one.share < _NEAR for one in found)
    return ContextRelevance(
        value=value,
        places=tuple(dict.fromkeys(places)),
        missing=_as_written(parts, lacking),
        is_certain=is_clear and not is_foreign,
    )


def answer_relevance(question: str, answer: Sequence[str]) -> AnswerRelevance:
    """Judge the sentences of an answer against the question alone."""
    readings = [read(text) for text in answer]
    told = [r for r in readings if not _declines(r)]
    parts = _parts(question)
    if not any(_content(r) or r.quantities or _SAYS_SO.match(r.text) for r in told):
        missing = _as_written(parts, frozenset().union(*(set(_content(p)) for p in parts)))
        return AnswerRelevance(value=0, missing=missing, is_abstention=len(told) < len(readings), is_certain=True)
    if not parts:
        return AnswerRelevance(value=2, missing=(), is_abstention=False, is_certain=False)
    held = {key for r in told for key in r.all_keys}
    shares = [_share(_content(part), held) for part in parts]
    grades = [_grade(part, share, told) for part, share in zip(parts, shares, strict=True)]
    value = 2 if min(grades) == 2 else 1 if max(grades) >= 1 else 0
    if value == 2 and len(told) < len(readings):
        value = 1  # it answers a part, and says of another that it can't
    lacking = frozenset(key for part in parts for key in _content(part) if value < 2 and not _holds(key, held))
    is_certain = (value == 2 and min(shares) >= _MENTIONED) or (value == 0 and max(shares) == 0)
    return AnswerRelevance(
        value=value, missing=_as_written(parts, lacking), is_abstention=False, is_certain=is_certain
    )  # fmt: skip


def _parts(question: str) -> list[Reading]:
    """Return the questions in a question that have content; where no spaces are written it is read as one."""
    parts = question_parts(question) or [read(question)]
    return [part for part in parts if _content(part)]


def _look(part: Reading, evidence: Evidence) -> _Found:
    """Find where a part of a question is answered, or what comes nearest."""
    keys, focus = _content(part), _focus(part)
    total = sum(keys.values())
    best, most, answer, surest = None, 0.0, None, 0.0
    for place in evidence.best(keys, _CANDIDATES):
        pool = evidence.pool(place)
        share = sum(w * _credit(key, pool, evidence) for key, w in keys.items()) / total
        if share > most:
            best, most = place, share
        around = _around(place, evidence)
        near = sum(w for key, w in keys.items() if _credit(key, around, evidence)) / total
        has_focus = focus is not None and _credit(focus, pool, evidence) > 0
        is_enough = share >= _STATED or (share >= _FOCUSED and has_focus) or (near >= _COVERED and share >= _NEAR)
        if is_enough and share > surest and _is_told(part, place, evidence):
            answer, surest = place, share
    lacking = frozenset(key for key in keys if not evidence.knows(key))
    if answer is not None:
        return _Found(value=2, place=answer, share=surest, lacking=lacking)
    if not lacking:  # all words are somewhere, but not together, or without the kind of thing that is asked for
        lacking = frozenset(keys) - set(evidence.pool(best)) if best is not None else frozenset(keys)
        lacking = lacking or frozenset({focus} if focus else keys)
    return _Found(value=1 if most >= _TOUCHED else 0, place=best, share=most, lacking=lacking)


def _around(place: int, evidence: Evidence) -> dict[str, float]:
    """Return what the sentences beside a sentence hold, in the same document."""
    document = evidence.sources[place].document
    near = evidence.sources[max(0, place - _BESIDE) : place + _BESIDE + 1]
    return dict.fromkeys((key for one in near if one.document is document for key in one.reading.all_keys), 1.0)


def _is_told(part: Reading, place: int, evidence: Evidence) -> bool:
    """Tell whether a sentence says something of the kind that is asked for, and more than the question does."""
    source = evidence.sources[place].reading
    if not _is_statement(source):
        return False
    if _AMOUNT.search(part.text):
        return any(not q.is_weak for q in source.quantities)
    if _WHO.search(part.text):
        return bool(source.names - part.all_keys)
    return any(weight >= FULL and key not in part.keys for key, weight in source.keys.items()) or any(
        not q.is_weak for q in source.quantities
    )


def _is_statement(source: Reading) -> bool:
    """Tell whether a sentence states something, and does not only name its subject as a title does."""
    has_value = any(not q.is_weak and not q.dimension.startswith(("label", "ordinal")) for q in source.quantities)
    return has_value or len(source.tokens) > _TITLE or is_clause(source) or any(mark in source.text for mark in _INNER)


def _grade(part: Reading, share: float, told: Sequence[Reading]) -> int:
    """Grade how an answer meets one part of the question: by the kind of thing asked for, and by its words."""
    words = sum(len(r.tokens) for r in told)
    held = {key for r in told for key in r.all_keys}
    focus = _focus(part)
    is_on_it = share >= _MENTIONED or (share > 0 and (focus is None or _holds(focus, held)))
    if words > _LONG and share >= _NEAR:
        return 2
    if _AMOUNT.search(part.text):
        has_kind, is_elliptic = any(r.quantities for r in told), True
    elif _WHO.search(part.text):
        has_kind, is_elliptic = any(r.names - part.all_keys for r in told) or words > _SHORT, True
    elif _YES_NO.search(part.text):
        has_kind, is_elliptic = share > 0 or any(_SAYS_SO.match(r.text) for r in told), True
    else:
        has_kind, is_elliptic = True, bool(_NAMES_A_THING.search(part.text)) and not any(is_clause(r) for r in told)
    if not has_kind:
        return 1 if share >= _MENTIONED else 0
    # "30 days." answers "How long is the notice?" without a word of it.
    if is_on_it or (words <= _SHORT and is_elliptic):
        return 2
    return 1 if share > 0 or words > _SHORT else 0


def _declines(reading: Reading) -> bool:
    return bool(_DECLINES.search(reading.text)) or read_absence(reading.text, reading.words) is not None


def _content(reading: Reading) -> dict[str, float]:
    """Return the words that say what a text is about; "how long" says of what kind the answer is."""
    content = {key: weight for key, weight in reading.keys.items() if weight >= _COUNTS}
    if found := _AMOUNT.search(reading.text) or _KIND.search(reading.text):
        asking = {t.key for t in reading.tokens if t.start < found.end() and t.end > found.start()}
        content = {key: weight for key, weight in content.items() if key not in asking} or content
    return content


def _credit(key: str, pool: Mapping[str, float], evidence: Evidence) -> float:
    return pool.get(key) or max((pool.get(other, 0.0) for other in evidence.variants(key)), default=0.0)


def _share(keys: Mapping[str, float], held: AbstractSet[str]) -> float:
    return sum(w for key, w in keys.items() if _holds(key, held)) / sum(keys.values())


def _holds(key: str, held: AbstractSet[str]) -> bool:
    return key in held or (len(key) > 5 and any(other.startswith(key[:5]) for other in held))


def _focus(part: Reading) -> str | None:
    """Return the key of the word that a question turns on: the action of "how do I", the head of "what is the"."""
    content = _content(part)
    if found := _HEAD.search(part.text):
        start, end = found.span("phrase")
        inside = [t.key for t in part.tokens if start <= t.start < end and t.key in content]
        if inside:
            return inside[-1]
    if found := _HOW_TO.search(part.text):
        return next((t.key for t in part.tokens if t.start >= found.end() and t.key in content), None)
    return next(iter(content)) if len(content) == 1 else None


def _as_written(parts: Sequence[Reading], keys: frozenset[str]) -> tuple[str, ...]:
    """Return the question's own words for some keys, in order."""
    words = [t for part in parts for t in part.tokens if t.key in keys]
    return tuple(dict.fromkeys(t.word for t in words))
