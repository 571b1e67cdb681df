"""Verify evidence: quotes must stand verbatim in their documents, and verdicts may rest only on those that do."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from enricher.folding import Haystack, folded
from enricher.trace import Document, Item
from enricher.verdict import (
    AlignmentStatus,
    Claim,
    ClaimVerdict,
    ConsistencyResult,
    Hallucination,
    HalvesResult,
    IssueType,
    Opinion,
    Part,
    Quote,
    QuoteCheck,
    Segment,
    SourceConflict,
    Stance,
    Standing,
    Verdict,
)
from enricher.wording import addresses_judge, may_address_judge, reverses, states_absence

_ELLIPSIS = re.compile(r"\s*(?:\[\s*\.{3,}\s*\]|\(\s*\.{3,}\s*\)|\.{3,}|\. \. \.)\s*")
_OUTER_QUOTES = re.compile(r"'(.+)'", re.S)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]|\n\s*\n")
_NOT_EVIDENCE = (QuoteCheck.NOT_VERIFIED, QuoteCheck.MISATTRIBUTED)
_ANSWER_ONLY = "found only in the answer"
_BLENDED = "conflict_blended"


def verify(verdict: Verdict, item: Item) -> Verdict:
    """Check all evidence of a verdict, downgrade what rests on none, fill in span ids, flag suspected injections."""
    checked = verify_evidence(verdict, item)
    suspicions = flag_injection(item)
    return checked.model_copy(update={"flags": _merged(checked.flags, suspicions)}) if suspicions else checked


def verify_evidence(verdict: Verdict, item: Item) -> Verdict:
    """Check all evidence of a verdict, as `verify` does, but not whether a text of the item addresses its judge."""
    result = verdict.result
    if result is None or isinstance(result, HalvesResult):
        return verdict
    library = _Library(item.documents, item.answer)
    parts = tuple(_checked(part, item, library) for part in result.parts)
    raised = [flag for flag in ("evidence_not_verified", "misattributed") if any(flag in p.flags for p in parts)]
    result = result.with_parts(parts)
    if isinstance(result, ConsistencyResult):
        conflicts = (_checked_conflict(conflict, library) for conflict in result.conflicts)
        result = result.model_copy(update={"conflicts": tuple(c for c in conflicts if len(c.document_ids) > 1)})
    return verdict.model_copy(update={"result": result, "flags": _merged(verdict.flags, raised)})


def verify_part(part: Part, item: Item) -> Part:
    """Check the evidence of one statement, as `verify` does for all of a verdict."""
    return _checked(part, item, _Library(item.documents, item.answer))


def verify_quote(quote: Quote, documents: Sequence[Document], answer: str = "") -> Quote:
    """Return the quote with its check: VERIFIED with offsets into the original text, MISATTRIBUTED or NOT_VERIFIED."""
    return _verify_quote(quote, _Library(documents, answer))


def flag_injection(item: Item) -> tuple[str, ...]:
    """Flag each text of the item that addresses the judge; a security manual may do so, so it is only a flag."""
    texts = [*((d.id, d.text) for d in item.documents), ("answer", item.answer), ("question", item.question or "")]
    if not may_address_judge("\n".join(text for _, text in texts)):
        return ()
    return tuple(f"injection_suspected:{name}" for name, text in texts if addresses_judge(text))


class _Library:
    """The documents of one item, each folded at most once however many quotes are looked up."""

    def __init__(self, documents: Sequence[Document], answer: str) -> None:
        self.documents = tuple(documents)
        self._stacks = {d.id: Haystack(d.text) for d in documents}
        self._names: dict[str, Document] = {}
        for document in documents:
            for name in (document.id, *document.aliases):
                self._names.setdefault(name, document)
        self.answer = Haystack(answer)

    def named(self, name: str | None) -> Document | None:
        """Return the document of that id or alias; brackets round an id are forgiven."""
        if name is None:
            return None
        return self._names.get(name) or self._names.get(name.strip().strip("[]()"))

    def stack(self, document: Document) -> Haystack:
        """Return the document's text, ready to be searched."""
        return self._stacks[document.id]


def _verify_quote(quote: Quote, library: _Library) -> Quote:
    document = library.named(quote.document_id)
    unknown = quote.document_id is not None and document is None
    flags = _merged(quote.flags, ("unknown_document_id",) if unknown else ())
    if document is not None and _is_exact_slice(quote, document):
        place = (quote.start, quote.end, max(1, quote.occurrences))
        return _verified(quote, document, place, flags)
    needle = folded(quote.text)
    if document is not None and (hit := _look_up(needle, library.stack(document))):
        start, end, occurrences, elided = hit
        return _verified(quote, document, (start, end, occurrences), _merged(flags, elided))
    if reason := _too_short(needle):
        return _failed(quote, reason, flags)
    holders = [d for d in library.documents if d is not document and _look_up(needle, library.stack(d))]
    if quote.document_id is None and holders:
        start, end, occurrences, elided = _look_up(needle, library.stack(holders[0])) or (0, 0, 0, ())
        return _verified(quote, holders[0], (start, end, occurrences), _merged(flags, elided, ("document_id_filled",)))
    if holders:
        found_in = tuple(d.id for d in holders)
        reason = f"stands in {', '.join(found_in)}, not in the named document"
        return _failed(quote, reason, flags, check=QuoteCheck.MISATTRIBUTED, found_in=found_in)
    if document is not None and (gap := _reversed_gap(needle, library.stack(document))):
        return _failed(quote, gap, flags)
    in_answer = _look_up(needle, library.answer) is not None
    return _failed(quote, _ANSWER_ONLY if in_answer else "not verbatim in any document", flags)


def _is_exact_slice(quote: Quote, document: Document) -> bool:
    # Evidence by reference arrives with offsets; that is proof enough, and cheap.
    start, end = quote.start, quote.end
    return start is not None and end is not None and start < end and document.text[start:end] == quote.text


def _verified(
    quote: Quote, document: Document, place: tuple[int | None, int | None, int], flags: Iterable[str]
) -> Quote:
    return quote.model_copy(
        update={
            "document_id": document.id,
            "start": place[0],
            "end": place[1],
            "occurrences": place[2],
            "check": QuoteCheck.VERIFIED,
            "reason": None,
            "found_in": (),
            "flags": tuple(flags),
            "span_id": document.span_id,
        }
    )


def _failed(
    quote: Quote,
    reason: str,
    flags: Iterable[str],
    *,
    check: QuoteCheck = QuoteCheck.NOT_VERIFIED,
    found_in: tuple[str, ...] = (),
) -> Quote:
    update = {"check": check, "reason": reason, "found_in": found_in, "flags": tuple(flags), "span_id": None}
    return quote.model_copy(update={**update, "start": None, "end": None, "occurrences": 0})


def _look_up(needle: str, stack: Haystack) -> tuple[int, int, int, tuple[str, ...]] | None:
    """Find a folded quote: as it is, without quotation marks put round it, or with an honest ellipsis."""
    if _too_short(needle) and needle != stack.folded.text.strip():
        return None
    bare = _OUTER_QUOTES.fullmatch(needle)
    for candidate in (needle, bare.group(1).strip() if bare else ""):
        if candidate and (place := stack.find(candidate)):
            return place.start, place.end, place.occurrences, ()
    fragments = _fragments(needle)
    if fragments is None:
        return None
    places = [(first, last) for first, last, gaps in _chains(fragments, stack) if not any(map(_is_meaningful, gaps))]
    if not places:
        return None
    first, last = places[0]
    return stack.folded.starts[first], stack.folded.ends[last - 1], len(places), ("elided",)


def _fragments(needle: str) -> list[str] | None:
    """Cut a folded quote at its ellipses; None when it has none or a piece is too small to mean anything."""
    pieces = _ELLIPSIS.split(needle)
    kept = [piece for piece in pieces if piece]
    if len(pieces) < 2 or not kept or any(_letters(piece) < 2 for piece in kept):
        return None
    return None if _too_short(" ".join(kept)) else kept


def _chains(fragments: Sequence[str], stack: Haystack) -> Iterator[tuple[int, int, list[str]]]:
    """Yield where the fragments stand in order, with the texts that the ellipses leave out."""
    for first, last in stack.places(fragments[0], 0):
        gaps: list[str] = []
        for fragment in fragments[1:]:
            following = next(stack.places(fragment, last), None)
            if following is None:
                return
            gaps.append(stack.folded.text[last : following[0]])
            last = following[1]
        yield first, last, gaps


def _is_meaningful(gap: str) -> bool:
    # Over a sentence end the ellipsis stitches two statements together; over a negation it turns one round.
    return bool(_SENTENCE_END.search(gap) or reverses(gap))


def _reversed_gap(needle: str, stack: Haystack) -> str | None:
    for _, _, gaps in _chains(_fragments(needle) or ["\0"], stack):
        if any(reverses(gap) for gap in gaps):
            return "omission removes a negation"
        if any(_SENTENCE_END.search(gap) for gap in gaps):
            return "ellipsis joins separate sentences"
    return None


def _letters(text: str) -> int:
    return sum(char.isalnum() for char in text)


def _too_short(needle: str) -> str | None:
    if not needle:
        return "empty"
    letters = _letters(needle)
    if any(char >= "\u0e00" for char in needle if char.isalnum()):
        return None if letters >= 2 else "too short"
    is_one_word = " " not in needle and not any(char.isdigit() for char in needle)
    return "too short" if letters < 4 or (is_one_word and letters < 6) else None


def _checked(part: Part, item: Item, library: _Library) -> Part:
    evidence = _evidence(part.evidence, library)
    verified = [quote for quote in evidence if quote.check is QuoteCheck.VERIFIED]
    flags = list(part.flags)
    if any(quote.check is QuoteCheck.MISATTRIBUTED for quote in evidence):
        flags.append("misattributed")
    known = _known_spans(item) if part.trace_event_references else set()
    stated = [reference for reference in part.trace_event_references if reference in known]
    if len(stated) < len(part.trace_event_references):
        flags.append("unknown_span_id")
    own = item.answer_span_id or item.annotate_span_id  # empty for a plain record
    spans = _merged((q.span_id for q in verified if q.span_id), [own] if own else (), stated)
    update: dict[str, object] = {"evidence": (*verified, *(q for q in evidence if q.check in _NOT_EVIDENCE))}
    if part.opinions:
        update["opinions"] = tuple(_checked_opinion(opinion, library) for opinion in part.opinions)
    if _lacks_evidence(part, verified):
        flags.append("evidence_not_verified")
        update |= _downgrade(part, verified)
    return part.model_copy(update={**update, "flags": _merged(flags), "trace_event_references": spans})


def _checked_opinion(opinion: Opinion, library: _Library) -> Opinion:
    """Keep of what a second check names only passages that stand where it says; those checked already stay."""
    unchecked = [quote for quote in opinion.evidence if quote.check is QuoteCheck.UNCHECKED]
    if not unchecked:
        return opinion
    known = [quote for quote in opinion.evidence if quote.check is QuoteCheck.VERIFIED]
    found = [quote for quote in _evidence(unchecked, library) if quote.check is QuoteCheck.VERIFIED]
    return opinion.model_copy(update={"evidence": (*known, *found)})


def _checked_conflict(conflict: SourceConflict, library: _Library) -> SourceConflict:
    """Keep the passages of a conflict that stand where they are said to stand."""
    verified = [quote for quote in _evidence(conflict.passages, library) if quote.check is QuoteCheck.VERIFIED]
    return conflict.model_copy(update={"passages": tuple(verified)})


def _evidence(quotes: Iterable[Quote], library: _Library) -> list[Quote]:
    """Verify quotes; one that runs over a chunk boundary becomes two, and a misattributed one gains its true source."""
    checked: list[Quote] = []
    for quote in quotes:
        result = _verify_quote(quote, library)
        checked.append(result)
        if result.check is QuoteCheck.NOT_VERIFIED:
            halves = _over_boundary(quote, library)
            if halves:
                checked[-1:] = halves
        elif result.check is QuoteCheck.MISATTRIBUTED:
            moved = quote.model_copy(update={"document_id": result.found_in[0], "start": None, "end": None})
            found = _verify_quote(moved, library)
            checked.append(found.model_copy(update={"flags": _merged(found.flags, ("reattributed",))}))
    return checked


def _over_boundary(quote: Quote, library: _Library) -> list[Quote]:
    """Split a quote that begins at the end of one document and goes on at the start of the next."""
    needle = folded(quote.text)
    if _too_short(needle):
        return []
    for first, second in zip(library.documents, library.documents[1:], strict=False):
        head, tail = library.stack(first).folded, library.stack(second).folded
        left, right = head.text.rstrip(), tail.text.lstrip()
        skipped = len(tail.text) - len(right)
        for cut in _overlaps(needle, left, right):
            ahead = needle[cut:].lstrip()
            begin = head.starts[len(left) - len(needle[:cut].rstrip())]
            until = tail.ends[skipped + len(ahead) - 1]
            places = ((first, begin, head.ends[len(left) - 1]), (second, tail.starts[skipped], until))
            return [
                _verified(
                    quote.model_copy(update={"text": document.text[start:end]}),
                    document,
                    (start, end, 1),
                    _merged(quote.flags, ("joined",)),
                )
                for document, start, end in places
            ]
    return []


def _overlaps(needle: str, left: str, right: str) -> Iterator[int]:
    for cut in range(1, len(needle)):
        if needle[cut - 1].isalnum() and needle[cut].isalnum():
            continue
        before, after = needle[:cut].rstrip(), needle[cut:].lstrip()
        if before and after and left.endswith(before) and right.startswith(after):
            at = len(left) - len(before)
            starts_word = at == 0 or not (left[at - 1].isalnum() and before[0].isalnum())
            ends_word = len(right) == len(after) or not (right[len(after)].isalnum() and after[-1].isalnum())
            if starts_word and ends_word:
                yield cut


def _lacks_evidence(part: Part, verified: Sequence[Quote]) -> bool:
    """Tell whether the verdict on a statement rests on a passage that could not be verified."""
    if isinstance(part, Hallucination):
        return False  # that nothing supports it needs no passage
    if part.standing is Standing.SOURCE_CONFLICT:
        if _BLENDED in part.flags:  # no document says it, and each says something else
            return len({quote.document_id for quote in verified}) < 2
        return not {Stance.SUPPORTS, Stance.CONTRADICTS} <= {quote.stance for quote in verified}
    if verified:
        return False
    if part.standing in (Standing.OMITTED, Standing.CONTRADICTED):
        return True
    if part.standing is Standing.SUPPORTED:
        return bool(part.evidence) or not states_absence(part.statement)
    return part.standing is Standing.PARTIAL and bool(part.evidence)


def _downgrade(part: Part, verified: Sequence[Quote]) -> Mapping[str, object]:
    if part.standing is Standing.OMITTED:
        return {}
    if isinstance(part, Segment):
        labels = {"alignment_status": AlignmentStatus.UNSUPPORTED, "issue_type": IssueType.ADDED}
        was = str(part.alignment_status)
    elif isinstance(part, Claim):
        labels, was = {"verdict": _without_conflict(verified)}, str(part.verdict)
    else:
        return {}
    why = f"The judge said {was}, but its evidence could not be verified."
    return {**labels, "explanation": f"{why} {part.explanation}".strip(), "score": None}


def _without_conflict(verified: Sequence[Quote]) -> ClaimVerdict:
    # Of a conflict with one verified side, that side stands.
    stances = {quote.stance for quote in verified}
    if Stance.SUPPORTS in stances:
        return ClaimVerdict.SUPPORTED
    return ClaimVerdict.CONTRADICTED if Stance.CONTRADICTS in stances else ClaimVerdict.UNSUPPORTED


def _known_spans(item: Item) -> set[str]:
    spans = {item.annotate_span_id, item.answer_span_id, item.question_span_id, *(d.span_id for d in item.documents)}
    return {span for span in spans if span}


def _merged(*groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(groups)))
