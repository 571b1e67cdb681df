"""The embedded engine: judge every checkable sentence of an answer against the documents, without model or network."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from enricher.grounding.absence import beside_absence, decide_absence, read_absence
from enricher.grounding.confidence import WEAK_LANGUAGE, across_languages, doubted, is_weak, towards_middle, trust_in
from enricher.grounding.conflicts import contested
from enricher.grounding.decision import decide
from enricher.grounding.facts import record_probability, weigh_facts
from enricher.grounding.frames import without_frames
from enricher.grounding.locating import located
from enricher.grounding.meaning import Closeness
from enricher.grounding.nearness import nearness_of, read_closeness, settle
from enricher.grounding.omissions import find_omissions
from enricher.grounding.outcome import Decision, Question
from enricher.grounding.probability import faithful_probability, label_probabilities, read_signals, strictly
from enricher.grounding.reading import Reading, read
from enricher.grounding.recent import Recent
from enricher.grounding.scope import is_clause
from enricher.grounding.search import Evidence, evidence_of
from enricher.grounding.tokens import FULL
from enricher.trace import Item, Sentence
from enricher.verdict import AlignmentStatus, IssueType, Quote, QuoteCheck, Segment

VERSION = "grounding-5"  # raised whenever the same item may be judged otherwise

LOW_CONFIDENCE = "low_confidence"
SOURCE_CONFLICT = "source_conflict"
CONTEXT_TRUNCATED = "context_truncated"
TRUNCATED_ANSWER = "truncated_answer"
_CUT_CONTEXT = frozenset({CONTEXT_TRUNCATED, "dropped_attributes", "truncated_attributes"})
_MAX_QUOTES = 3
_READ_TOGETHER = 0.5  # of a short answer and its question that the evidence must cover
_SHORT = 4  # words; a shorter answer is read with its question
_YES = re.compile(r"\W*(?:yes|yep|yeah|correct|true|right|ja|oui|sí|si|sim|sì|はい|是的?|对)\b[\s,.!:–—-]*", re.I)
_NO = re.compile(r"\W*(?:no|nope|incorrect|false|wrong|nein|non|não|いいえ|不是?)\b(?!\s*[.:]?\s*\d)[\s,.!:–—-]*", re.I)
_YES_OR_NO = re.compile(
    r"\W*(?:yes|no|nope|ja|nein|oui|non|sí|sì|sim|não|нет|да|نعم|لا)\s*[,.!:;–—]\s*(?=\D\w*\s+\w)", re.I
)
_BRACKETED = re.compile(r"[\[(]([^\[\]()]{1,80})[\])]")
_LAST_WORD = re.compile(r"\w+$")
_SEVERITY = {
    AlignmentStatus.FULLY_SUPPORTED: 0,
    AlignmentStatus.PARTIALLY_SUPPORTED: 1,
    AlignmentStatus.UNSUPPORTED: 2,
    AlignmentStatus.CONTRADICTED: 3,
}
_TABLE_CELL = re.compile(r"\|")


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounding:
    """What the engine found in one item."""

    segments: tuple[Segment, ...]  # judged sentences in order, then omissions
    faithful_probability: float | None  # None when nothing was checkable
    flags: tuple[str, ...] = ()


_RECENT: Recent[Item, Grounding] = Recent(32)  # traces under way: diff, faithfulness and halves ask for the same


def ground(item: Item, *, is_strict: bool = False) -> Grounding:
    """Judge an item whose answer and documents are cut into sentences; strictly, fewer answers pass as faithful."""
    found = _RECENT.of(item, lambda: _ground(item))
    if is_strict and found.faithful_probability is not None:
        return replace(found, faithful_probability=strictly(found.faithful_probability))
    return found


def _ground(item: Item) -> Grounding:
    evidence = evidence_of(item)
    question = _question(item)
    sentences: list[Sentence] = []
    readings: list[Reading] = []
    decisions: list[Decision] = []
    for sentence in item.sentences:
        reading = _reading(sentence, item, evidence)
        decision = _decide(sentence, reading, evidence, question)
        if decision is None:
            continue
        sentences.append(sentence)
        readings.append(reading)
        decisions.append(decision)
    near = read_closeness(readings, decisions, evidence)
    settle(decisions, near)
    segments = [
        _segment(sentence, reading, decision, evidence, item, close)
        for sentence, reading, decision, close in zip(
            sentences, readings, decisions, near or repeat(None), strict=False
        )
    ]
    segments = [
        _beside_conflict(segment, reading, decision, evidence, item)
        for segment, reading, decision in zip(segments, readings, decisions, strict=True)
    ]
    omitted = [] if _has_contradicted_abstention(decisions) else find_omissions(item.question, _said(item), evidence)
    segments += [_omission(number, place, evidence) for number, place in enumerate(omitted, 1)]
    probability = _probability(readings, decisions, near, evidence) if decisions else None
    flags = tuple(f"injection_suspected:{document_id}" for document_id in evidence.instructing)
    return Grounding(segments=tuple(segments), faithful_probability=probability, flags=flags)


def assess(text: str, item: Item, *, segment_id: str = "claim") -> Segment:
    """Judge any claim against the documents of an item."""
    return assess_all([text], item)[0].model_copy(update={"segment_id": segment_id})


def assess_all(texts: Sequence[str], item: Item, *, by_meaning: bool = False) -> list[Segment]:
    """Judge claims against the documents of an item, in order: the second check of another judge's findings.

    By words alone, which is quick and needs no weights in memory, unless they are to be heard by meaning too.
    """
    evidence = evidence_of(item)
    question = _question(item)
    claims = [Sentence(id=f"c{number}", start=0, end=len(text), text=text) for number, text in enumerate(texts, 1)]
    readings = [_reading(claim, item, evidence) for claim in claims]
    decisions = [
        _decide(claim, reading, evidence, question) or _nothing_claimed()
        for claim, reading in zip(claims, readings, strict=True)
    ]
    near = read_closeness(readings, decisions, evidence) if by_meaning else None
    settle(decisions, near)
    return [
        _segment(claim, reading, decision, evidence, item, close).model_copy(
            update={"start": None, "end": None, "lacking": ()}
        )
        for claim, reading, decision, close in zip(claims, readings, decisions, near or repeat(None), strict=False)
    ]


def _nothing_claimed() -> Decision:
    note = "this says only that the documents don't answer the question, and they don't"
    return Decision(AlignmentStatus.FULLY_SUPPORTED, IssueType.NONE, note, [], 1.0, False)


def _probability(
    readings: list[Reading], decisions: list[Decision], near: list[Closeness] | None, evidence: Evidence
) -> float:
    if evidence.is_of_records:
        found = record_probability(decisions)
    elif (across := across_languages(decisions)) is not None:
        found = across
    else:
        nearness = nearness_of(near) if near is not None else None
        found = faithful_probability(read_signals(readings, decisions, evidence), nearness)
    trusts = [trust_in(reading, decision) for reading, decision in zip(readings, decisions, strict=True)]
    return towards_middle(found, sum(trusts) / len(trusts))


def _question(item: Item) -> Question | None:
    text = item.standalone_question or item.question
    if not text:
        return None
    reading = read(text)
    return Question(reading, frozenset(reading.all_keys))


def _reading(sentence: Sentence, item: Item, evidence: Evidence) -> Reading:
    """Read a sentence as a claim: without table bars, names of its sources, and a last word that was cut off.

    Blanks take the place of what is left out, so that offsets stay.
    """
    text = sentence.text
    if text.lstrip().startswith("|"):
        text = _TABLE_CELL.sub(" ", text)
    if found := _YES_OR_NO.match(text):
        text = _blank(found.group()) + text[found.end() :]  # what follows says what was meant
    if "[" in text or "(" in text:
        text = _BRACKETED.sub(lambda found: _blank(found.group()) if evidence.is_citation(found[1]) else found[0], text)
    if _is_cut(sentence, item) and (last := _LAST_WORD.search(text)) and evidence.begins_word(last.group()):
        text = text[: last.start()].rstrip()
    return read(without_frames(text))


def _blank(text: str) -> str:
    return " " * len(text)


def _is_cut(sentence: Sentence, item: Item) -> bool:
    return TRUNCATED_ANSWER in item.flags and sentence.end == len(item.answer.rstrip())


def _said(item: Item) -> list[Reading]:
    return [read(sentence.text) for sentence in item.sentences]


def _decide(sentence: Sentence, reading: Reading, evidence: Evidence, question: Question | None) -> Decision | None:
    """Decide one sentence; None when there is nothing to check in it."""
    absence = read_absence(sentence.text, reading.words)
    if absence is not None and (absence.topic is None or sentence.is_checkable):
        if sentence.is_checkable and (parts := beside_absence(reading.text, reading.words)):
            return _decide_beside(*parts, evidence, question)
        return decide_absence(absence, reading, evidence, question)
    if not sentence.is_checkable:
        return None
    if question is not None and (decision := _decide_short(sentence.text, reading, evidence, question)):
        return decision
    decision = _decided(reading, evidence, question)
    decision.is_of_words = not evidence.fields
    return decision


def _decide_beside(lacking: str, others: list[str], evidence: Evidence, question: Question | None) -> Decision:
    """Decide a sentence that says what the documents lack and something else: the worse of the two counts."""
    claim = read(lacking)
    absence = read_absence(lacking, claim.words)
    lack = decide_absence(absence, claim, evidence, question) if absence else None
    said = [_decided(read(other), evidence, question) for other in others if read(other).weight]
    found = [decision for decision in (*said, lack) if decision is not None]
    worst = max(found, key=lambda decision: _SEVERITY[decision.status], default=None)
    if worst is None:
        return decide(claim, evidence, question)
    if worst.status is AlignmentStatus.UNSUPPORTED and lack is not None:
        return replace(worst, status=AlignmentStatus.PARTIALLY_SUPPORTED)
    return worst


def _decided(reading: Reading, evidence: Evidence, question: Question | None = None) -> Decision:
    decision = decide(reading, evidence, question)
    return weigh_facts(reading, decision, evidence) if evidence.fields else decision


def _decide_short(text: str, reading: Reading, evidence: Evidence, question: Question) -> Decision | None:
    """Decide an answer of a few words, which is a claim only together with its question."""
    for pattern, is_yes in ((_YES, True), (_NO, False)):
        if (found := pattern.match(text)) and not any(w >= FULL for w in read(text[found.end() :]).keys.values()):
            asked = _decided(read(question.reading.text.rstrip(" ?？")), evidence)
            return asked if is_yes else _denied(asked)
    if len(reading.tokens) > _SHORT or question.keys & reading.all_keys or not reading.weight:
        return None
    if is_clause(reading):
        return None
    own = _decided(reading, evidence)
    if own.status in (AlignmentStatus.UNSUPPORTED, AlignmentStatus.CONTRADICTED):
        return own
    whole = _decided(read(f"{text.rstrip(' .!')} — {question.reading.text.rstrip(' ?？')}"), evidence)
    if whole.status is AlignmentStatus.CONTRADICTED or whole.share < _READ_TOGETHER:
        if whole.status is not AlignmentStatus.CONTRADICTED:
            whole.status, whole.issue = AlignmentStatus.UNSUPPORTED, IssueType.ADDED
            whole.explanation = "the documents don't say this of what was asked"
        return whole
    return own


def _denied(asked: Decision) -> Decision:
    """Turn the decision on what was asked into the decision on "No"."""
    status = asked.status
    if status is AlignmentStatus.CONTRADICTED:
        return replace(asked, status=AlignmentStatus.FULLY_SUPPORTED, issue=IssueType.NONE, explanation="", share=1.0)
    if status is AlignmentStatus.FULLY_SUPPORTED:
        text = "the documents say yes to what was asked"
        return replace(
            asked, status=AlignmentStatus.CONTRADICTED, issue=IssueType.CONTRADICTED, explanation=text, share=0.0
        )
    return replace(asked, status=AlignmentStatus.UNSUPPORTED, issue=IssueType.ADDED, is_certain=False)


def _has_contradicted_abstention(decisions: list[Decision]) -> bool:
    """Tell whether the answer says that the documents lack what they hold; that is what it leaves out."""
    return any(decision.status is AlignmentStatus.CONTRADICTED and not decision.share for decision in decisions)


def _segment(
    sentence: Sentence,
    reading: Reading,
    decision: Decision,
    evidence: Evidence,
    item: Item,
    close: Closeness | None = None,
) -> Segment:
    flags = [*decision.flags, WEAK_LANGUAGE] if is_weak(reading) else list(decision.flags)
    explanation = decision.explanation
    if not decision.is_certain:
        flags.append(LOW_CONFIDENCE)
        if decision.status is AlignmentStatus.UNSUPPORTED:
            explanation = f"{explanation}; the words alone don't settle it"
    if _is_cut(sentence, item):
        flags.append(TRUNCATED_ANSWER)
    if decision.status is AlignmentStatus.UNSUPPORTED and _CUT_CONTEXT.intersection(item.flags):
        flags.append(CONTEXT_TRUNCATED)
        explanation = f"{explanation}; not final, because the context was recorded incompletely"
    probabilities = doubted(label_probabilities(decision, close), trust_in(reading, decision))
    return Segment(
        segment_id=sentence.id,
        start=sentence.start,
        end=sentence.end,
        generated_text=sentence.text,
        alignment_status=decision.status,
        issue_type=decision.issue,
        lacking=located(decision, sentence.text, sentence.start),
        evidence=tuple(quote_of(place, evidence) for place in _quoted_places(decision)),
        explanation=explanation,
        score=probabilities.supported,
        probabilities=probabilities,
        flags=tuple(flags),
    )


def _beside_conflict(segment: Segment, reading: Reading, decision: Decision, evidence: Evidence, item: Item) -> Segment:
    """Say of a supported sentence if another document disagrees with what bears it out."""
    if decision.status is not AlignmentStatus.FULLY_SUPPORTED:
        return segment
    conflict = contested(reading, _quoted_places(decision), evidence, item)
    if conflict is None:
        return segment
    told = f"the documents disagree: {conflict.described(item).description}"
    return segment.model_copy(update={"flags": (*segment.flags, SOURCE_CONFLICT), "explanation": told})


def _quoted_places(decision: Decision) -> list[int]:
    return list(dict.fromkeys(decision.places))[:_MAX_QUOTES]


def quote_of(place: int, evidence: Evidence) -> Quote:
    """Return a sentence of the documents as a quote."""
    source = evidence.sources[place]
    document = source.document
    return Quote(
        document_id=document.id,
        text=source.text,
        start=source.start,
        end=source.end,
        check=QuoteCheck.VERIFIED,
        occurrences=document.text.count(source.text),
        span_id=document.span_id,
    )


def _omission(number: int, place: int, evidence: Evidence) -> Segment:
    return Segment(
        segment_id=f"o{number}",
        generated_text=None,
        alignment_status=AlignmentStatus.UNSUPPORTED,
        issue_type=IssueType.OMITTED,
        evidence=(quote_of(place, evidence),),
        explanation="the question asks for this and the answer leaves it out",
    )
