"""Cut a context that does not fit the model into windows, and merge what is said of each segment in each of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from enricher.judges.segments import Reading
from enricher.trace import Document, Item, Sentence
from enricher.verdict import AlignmentStatus, Segment

# Supported anywhere is supported; of the rest, what is most certain to be wrong.
_STRONGEST = (
    AlignmentStatus.FULLY_SUPPORTED,
    AlignmentStatus.CONTRADICTED,
    AlignmentStatus.PARTIALLY_SUPPORTED,
    AlignmentStatus.UNSUPPORTED,
)
_PER_SENTENCE = 10  # tokens of a sentence's id and line break


def tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too many than too few."""
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return int(plain / 3.3 + (len(text) - plain) * 0.9) + 1


def cut_documents(documents: Sequence[Document], budget: int) -> list[tuple[Document, ...]]:
    """Pack the documents into windows of at most `budget` tokens, in order, cutting between sentences where needed."""
    windows: list[list[Document]] = [[]]
    left = budget
    for document in documents:
        costs = [(sentence, tokens(sentence.text) + _PER_SENTENCE) for sentence in _sentences(document, budget)]
        whole = sum(cost for _, cost in costs) + 2 * _PER_SENTENCE
        if whole > left and windows[-1]:
            windows.append([])
            left = budget
        if whole <= left:
            windows[-1].append(document)
            left -= whole
            continue
        part: list[Sentence] = []
        for sentence, cost in costs:
            if cost > left and part:
                windows[-1].append(_part(document, part))
                windows.append([])
                # The last sentence opens the next window too, for what is said over the cut.
                again = part[-1:] if tokens(part[-1].text) < budget // 4 else []
                part, left = again, budget - sum(tokens(s.text) + _PER_SENTENCE for s in again)
            part.append(sentence)
            left -= cost
        windows[-1].append(_part(document, part))
    return [tuple(window) for window in windows]


def cut_sentences(sentences: Sequence[Sentence], budget: int) -> list[tuple[Sentence, ...]]:
    """Pack the sentences of an answer into parts of at most `budget` tokens."""
    parts: list[list[Sentence]] = [[]]
    left = budget
    for sentence in sentences:
        cost = tokens(sentence.text) + _PER_SENTENCE
        if cost > left and parts[-1]:
            parts.append([])
            left = budget
        parts[-1].append(sentence)
        left -= cost
    return [tuple(part) for part in parts]


def merge_windows(readings: Sequence[Reading], wanted: Sequence[Sentence], item: Item) -> Reading:
    """Merge what the windows say of the same sentences."""
    heard: dict[str, list[Segment]] = {sentence.id: [] for sentence in wanted}
    for reading in readings:
        for segment in _by_sentence(reading, wanted, item):
            heard[segment.segment_id].append(segment)
    omissions = {tuple(q.text for q in omission.evidence): omission for r in readings for omission in r.omissions}
    flags = dict.fromkeys(("windowed", *(flag for reading in readings for flag in reading.flags)))
    segments = tuple(_strongest(opinions) for opinions in heard.values() if opinions)
    if any("source_conflict" in segment.flags for segment in segments):
        flags["source_conflict"] = None
    return Reading(
        segments=segments,
        omissions=tuple(
            omission.model_copy(update={"segment_id": f"o{number}"})
            for number, omission in enumerate(omissions.values(), 1)
        ),
        missing=tuple(name for name, opinions in heard.items() if not opinions),
        flags=tuple(flags),
    )


def _strongest(opinions: Sequence[Segment]) -> Segment:
    ranked = sorted(opinions, key=lambda segment: _STRONGEST.index(segment.alignment_status))
    best = ranked[0]
    statuses = [segment.alignment_status for segment in opinions]
    if best.alignment_status is AlignmentStatus.FULLY_SUPPORTED and AlignmentStatus.CONTRADICTED in statuses:
        other = next(s for s in ranked if s.alignment_status is AlignmentStatus.CONTRADICTED)
        return best.model_copy(
            update={
                "evidence": (*best.evidence, *other.evidence),
                "explanation": f"The sources conflict. {other.explanation}".strip(),
                "flags": (*best.flags, "source_conflict"),
            }
        )
    if statuses.count(AlignmentStatus.PARTIALLY_SUPPORTED) > 1 and best.alignment_status is ranked[1].alignment_status:
        # Its parts may be supported by different windows, which none of them can see.
        evidence = tuple(quote for segment in ranked for quote in segment.evidence)
        return best.model_copy(update={"evidence": evidence, "flags": (*best.flags, "context_truncated")})
    return best


def _by_sentence(reading: Reading, wanted: Sequence[Sentence], item: Item) -> Iterator[Segment]:
    """Yield one segment a sentence, whatever way this window's reply cut the answer."""
    for sentence in wanted:
        own = [s for s in reading.segments if (s.start or 0) < sentence.end and sentence.start < (s.end or 0)]
        if not own:
            continue
        worst = max(own, key=lambda segment: _STRONGEST.index(segment.alignment_status))
        evidence = {(q.document_id, q.text): q for segment in own for q in segment.evidence}
        yield worst.model_copy(
            update={
                "segment_id": sentence.id,
                "start": sentence.start,
                "end": sentence.end,
                "generated_text": item.answer[sentence.start : sentence.end],
                "evidence": tuple(evidence.values()),
            }
        )


def _sentences(document: Document, budget: int) -> Iterator[Sentence]:
    for sentence in document.sentences or (_whole(document),):
        if tokens(sentence.text) + _PER_SENTENCE <= budget:
            yield sentence
        else:
            yield from _pieces(sentence, budget)


def _pieces(sentence: Sentence, budget: int) -> Iterator[Sentence]:
    """Cut a sentence that alone does not fit, between words where there are any."""
    size, at, number = max(16, (budget - _PER_SENTENCE) // 2), 0, 1
    while at < len(sentence.text):
        end = min(len(sentence.text), at + size)
        if end < len(sentence.text):
            end = max(sentence.text.rfind(" ", at + 1, end), at) + 1 if " " in sentence.text[at + 1 : end] else end
        text = sentence.text[at:end]
        yield Sentence(id=f"{sentence.id}p{number}", start=sentence.start + at, end=sentence.start + end, text=text)
        at, number = end, number + 1


def _whole(document: Document) -> Sentence:
    return Sentence(id=f"{document.id}.s1", start=0, end=len(document.text), text=document.text)


def _part(document: Document, sentences: Sequence[Sentence]) -> Document:
    text = document.text[sentences[0].start : sentences[-1].end]
    return replace(document, text=text, sentences=tuple(sentences))
