"""Read the diff judge's verdict object into segments, or say what is wrong with it.

Two shapes: literal quotes (`diff@v1`), where the text of a segment says what it is about, and references (`diff@v2`),
where ids do and the exact texts are taken from the trace.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from enricher.folding import Haystack
from enricher.judges.evidence import Wrong, quoted, referred
from enricher.judges.material import Material
from enricher.judges.reply import Unusable, is_no_verdict, label, one_text, shown
from enricher.trace import Item, Sentence
from enricher.verdict import AlignmentStatus, IssueType, Quote, Segment, Status
from enricher.wording import states_absence

KEYS = ("segments",)
_WORD = re.compile(r"[^\W_]+")
_DENSE = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_IMPLIED = {
    AlignmentStatus.FULLY_SUPPORTED: IssueType.NONE,
    AlignmentStatus.PARTIALLY_SUPPORTED: IssueType.NONE,
    AlignmentStatus.UNSUPPORTED: IssueType.ADDED,
    AlignmentStatus.CONTRADICTED: IssueType.CONTRADICTED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a reply says; `missing` names the sentences it says nothing about."""

    segments: tuple[Segment, ...] = ()
    omissions: tuple[Segment, ...] = ()
    missing: tuple[str, ...] = ()
    stated_score: Any = None
    flags: tuple[str, ...] = ()


def read_references(
    value: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]
) -> Reading | Unusable:
    """Read the shape of `diff@v2`: ids and labels; all texts come from the trace."""
    try:
        entries = _entries(value, wanted)
        own, asked = {s.id for s in item.sentences}, {s.id: s for s in wanted}
        found: dict[str, Segment] = {}
        omissions, flags = _omissions(value.get("omissions"), material)
        for entry in entries:
            name = _id(entry.get("id"))
            if not name and label(entry.get("issue"), IssueType) is IssueType.OMITTED:
                extra, more = _omissions([entry], material)
                omissions, flags = (*omissions, *extra), [*flags, *more]
            elif name not in own:
                raise Wrong(Status.JUDGE_INVALID, f"the answer has no sentence {shown(entry.get('id'))}")
            elif name in asked and (segment := _referring(entry, asked[name], material)):
                _add(found, segment, flags)
        missing = tuple(name for name in asked if name not in found)
        return Reading(
            segments=tuple(found[name] for name in asked if name in found),
            omissions=_numbered(omissions),
            missing=missing,
            flags=tuple(dict.fromkeys(flags)),
        )
    except Wrong as wrong:
        return wrong.unusable


def read_quotes(
    value: Mapping[str, Any], item: Item, material: Material, wanted: Sequence[Sentence]
) -> Reading | Unusable:
    """Read the shape of `diff@v1`: segments located in the answer by their text, evidence quoted literally."""
    try:
        entries = _entries(value, wanted, stated=value.get("faithfulness_score"))
        haystack, flags = Haystack(item.answer), list[str]()
        taken: set[tuple[int, int]] = set()
        found: dict[str, Segment] = {}
        omissions: list[Segment] = []
        unjudged: list[str] = []
        for number, entry in enumerate(entries, 1):
            name = _id(entry.get("segment_id")) or f"s{number}"
            if "trace_event_references" in entry or "span_id" in entry:
                flags.append("judge_span_id_ignored")
            if _is_omission(entry):
                omissions.append(_omitted(name, entry, material))
                continue
            start, end = _located(name, entry, item, haystack, taken)
            touched = [s for s in item.sentences if s.is_checkable and s.start < end and start < s.end]
            if not touched:
                flags.append("not_checkable_ignored")
            elif not any(s in wanted for s in touched):
                continue
            elif segment := _quoting(name, entry, (start, end), item, material):
                _add(found, segment, flags)
                taken.add((start, end))
            else:
                unjudged += [s.id for s in touched]
        spans = [(s.start or 0, s.end or 0) for s in found.values()]
        bare = [s.id for s in wanted if s.id in unjudged or _has_gap(s, spans, item.answer)]
        return Reading(
            segments=tuple(sorted(found.values(), key=lambda s: (s.start or 0, s.end or 0))),
            omissions=tuple(omissions),
            missing=tuple(bare),
            stated_score=value.get("faithfulness_score"),
            flags=tuple(dict.fromkeys(flags)),
        )
    except Wrong as wrong:
        return wrong.unusable


def merged(first: Reading, second: Reading) -> Reading:
    """Complete a reading by one of the sentences it missed."""
    names = {segment.segment_id for segment in first.segments}
    extra = (
        segment
        if segment.segment_id not in names
        else segment.model_copy(update={"segment_id": f"{segment.segment_id}+"})
        for segment in second.segments
    )
    segments = sorted((*first.segments, *extra), key=lambda s: (s.start or 0, s.end or 0))
    return replace(
        first,
        segments=tuple(segments),
        missing=tuple(name for name in second.missing if name in first.missing),
        stated_score=None,
        flags=tuple(dict.fromkeys((*first.flags, *second.flags))),
    )


def _entries(value: Mapping[str, Any], wanted: Collection[Sentence], *, stated: Any = None) -> list[Mapping[str, Any]]:
    entries = value.get("segments")
    if not isinstance(entries, list):
        raise Wrong(Status.JUDGE_PARSE_ERROR, "there is no 'segments' array in the object")
    if not all(isinstance(entry, dict) for entry in entries):
        raise Wrong(Status.JUDGE_PARSE_ERROR, "an entry of 'segments' is not an object")
    if not entries and wanted and stated is not None:
        # A score over no segments contradicts itself; an empty list alone is merely incomplete.
        raise Wrong(Status.JUDGE_INVALID, f"{len(wanted)} checkable segments, 0 verdicts, and yet a score")
    return entries


def _id(value: Any) -> str:
    return value.strip().strip("[]").strip() if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _add(found: dict[str, Segment], segment: Segment, flags: list[str]) -> None:
    name = segment.segment_id
    if (before := found.get(name)) is None:
        twin = next((s for s in found.values() if (s.start, s.end) == (segment.start, segment.end)), None)
        if twin is None:
            found[name] = segment
            return
        before = twin
    labels = (before.start, before.end, before.alignment_status, before.issue_type)
    if labels != (segment.start, segment.end, segment.alignment_status, segment.issue_type):
        raise Wrong(Status.JUDGE_INVALID, f"duplicate segment {shown(name)} with different verdicts")
    flags.append("duplicate_segment")


def _labels(name: str, status: Any, issue: Any) -> tuple[AlignmentStatus, IssueType, tuple[str, ...]] | None:
    """Read both labels of a segment; None when the judge gave no verdict on it."""
    if is_no_verdict(status):
        return None
    if not isinstance(status, str) or not (issue is None or isinstance(issue, str)):
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"a label of segment {shown(name)} is not a text")
    alignment = label(status, AlignmentStatus)
    if alignment is None:
        raise Wrong(Status.JUDGE_INVALID, f"segment {shown(name)}: {shown(status.strip())} is no alignment status")
    kind = label(issue, IssueType)
    if kind is None and not is_no_verdict(issue):
        raise Wrong(Status.JUDGE_INVALID, f"segment {shown(name)}: {shown(str(issue).strip())} is no issue type")
    if kind is None:
        return alignment, _IMPLIED[alignment], ("issue_type_inferred",)
    if alignment is AlignmentStatus.FULLY_SUPPORTED and kind is not IssueType.NONE:
        raise Wrong(Status.JUDGE_INVALID, f"segment {shown(name)} is FULLY_SUPPORTED and yet has the issue {kind}")
    is_odd = kind is IssueType.NONE and alignment in (AlignmentStatus.UNSUPPORTED, AlignmentStatus.CONTRADICTED)
    return alignment, _IMPLIED[alignment] if is_odd else kind, ("issue_type_inferred",) if is_odd else ()


def _require_evidence(name: str, alignment: AlignmentStatus, evidence: Sequence[Quote], text: str) -> None:
    if evidence or alignment is AlignmentStatus.UNSUPPORTED:
        return
    if alignment is AlignmentStatus.FULLY_SUPPORTED and states_absence(text):
        return
    problem = f"segment {shown(name)} is {alignment} without evidence"
    raise Wrong(Status.JUDGE_INVALID, problem, "missing_evidence")


def _referring(entry: Mapping[str, Any], sentence: Sentence, material: Material) -> Segment | None:
    read = _labels(sentence.id, entry.get("status"), entry.get("issue"))
    if read is None:
        return None
    alignment, issue, flags = read
    evidence = referred(entry.get("evidence"), material)
    _require_evidence(sentence.id, alignment, evidence, sentence.text)
    return Segment(
        segment_id=sentence.id,
        start=sentence.start,
        end=sentence.end,
        generated_text=sentence.text,
        alignment_status=alignment,
        issue_type=issue,
        evidence=evidence,
        explanation=one_text(entry.get("explanation")),
        flags=flags,
    )


def _omissions(value: Any, material: Material) -> tuple[tuple[Segment, ...], list[str]]:
    found, flags = [], list[str]()
    for entry in value if isinstance(value, list) else ():
        evidence = referred(entry.get("evidence"), material) if isinstance(entry, dict) else ()
        if evidence:
            found.append(_omission("o", evidence, one_text(entry.get("explanation"))))
        else:
            flags.append("omission_without_evidence")
    return tuple(found), flags


def _omission(name: str, evidence: tuple[Quote, ...], explanation: str) -> Segment:
    return Segment(
        segment_id=name,
        generated_text=None,
        alignment_status=AlignmentStatus.UNSUPPORTED,
        issue_type=IssueType.OMITTED,
        evidence=evidence,
        explanation=explanation,
    )


def _numbered(omissions: Sequence[Segment]) -> tuple[Segment, ...]:
    return tuple(s.model_copy(update={"segment_id": f"o{number}"}) for number, s in enumerate(omissions, 1))


def _is_omission(entry: Mapping[str, Any]) -> bool:
    text = entry.get("generated_text")
    is_blank = text is None or (isinstance(text, str) and not text.strip())
    return is_blank and label(entry.get("issue_type"), IssueType) is IssueType.OMITTED


def _omitted(name: str, entry: Mapping[str, Any], material: Material) -> Segment:
    return _omission(name, quoted(entry, material), one_text(entry.get("explanation")))


def _located(
    name: str, entry: Mapping[str, Any], item: Item, haystack: Haystack, taken: Collection[tuple[int, int]]
) -> tuple[int, int]:
    text = entry.get("generated_text")
    if text is not None and not isinstance(text, str):
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"'generated_text' of segment {shown(name)} is not a text")
    if text is None or not text.strip():
        if sentence := next((s for s in item.sentences if s.id == name), None):
            return sentence.start, sentence.end
        raise Wrong(Status.JUDGE_INVALID, f"segment {shown(name)} has no text and is no sentence of the answer")
    spans = list(haystack.spans(text))
    if not spans:
        raise Wrong(Status.JUDGE_INVALID, f"'generated_text' of segment {shown(name)} is not copied from the answer")
    # Of a sentence that occurs twice, the second entry means the second place, unless it names the first again.
    stated = next((s for s in item.sentences if s.id == name), None)
    own = [span for span in spans if stated and span[0] < stated.end and stated.start < span[1]]
    return (own or [span for span in spans if span not in taken] or spans)[0]


def _quoting(
    name: str, entry: Mapping[str, Any], span: tuple[int, int], item: Item, material: Material
) -> Segment | None:
    read = _labels(name, entry.get("alignment_status"), entry.get("issue_type"))
    if read is None:
        return None
    alignment, issue, flags = read
    text = item.answer[span[0] : span[1]]
    evidence = quoted(entry, material)
    _require_evidence(name, alignment, evidence, text)
    return Segment(
        segment_id=name,
        start=span[0],
        end=span[1],
        generated_text=text,
        alignment_status=alignment,
        issue_type=issue,
        evidence=evidence,
        explanation=one_text(entry.get("explanation")),
        flags=flags,
    )


def _has_gap(sentence: Sentence, spans: Collection[tuple[int, int]], answer: str) -> bool:
    """Tell whether a part of the sentence that could state something lies in no segment."""
    if not any(start < sentence.end and sentence.start < end for start, end in spans):
        return True
    at = sentence.start
    for start, end in [*sorted(spans), (sentence.end, sentence.end)]:
        if start > at and _states_something(answer[at : min(start, sentence.end)]):
            return True
        at = max(at, min(end, sentence.end))
    return False


def _states_something(gap: str) -> bool:
    words = _WORD.findall(gap)
    return len(words) >= 3 or any(char.isdigit() for char in gap) or len(_DENSE.findall(gap)) >= 4
