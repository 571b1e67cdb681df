"""Read the answers of one side: from traces of a platform, or pairs from plain records."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from enricher.compare.matching import Candidate, Leftover, Matched, Matching, differing_of
from enricher.judges.pairs import context_of
from enricher.progress import Reporter
from enricher.seams import Connector
from enricher.steps.extraction import ExtractionPaths, extract
from enricher.steps.redaction import RedactionRules, redact, redact_item
from enricher.steps.validation import cleaned, validate
from enricher.trace import Item, Pair, RawTrace, Rejection, SpanId, TraceQuery

_PAGE = 50  # traces that are pulled together
ReadItem = Callable[[Mapping[str, Any]], Item]


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where the answers of one side are."""

    name: str  # as people named it
    connector: Connector
    query: TraceQuery
    examples: Mapping[str, str] = field(default_factory=dict)  # trace id to the example it was made for
    metadata_key: str | None = None  # the metadata of the root span that names the example
    only_examples: bool = False  # leave out traces that were made for no example


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """The answers of one side, and the traces that hold none."""

    candidates: tuple[Candidate, ...] = ()
    unusable: tuple[Leftover, ...] = ()


async def load_side(
    source: Source, side: str, *, paths: ExtractionPaths, redaction: RedactionRules, progress: Reporter
) -> Loaded:
    """Pull all traces of a source and read them as the pipeline does.

    Raises:
        SetupError, TryAgain, BadReply: half a side would be compared as if it were all of it.
    """
    progress.stage(f"reading {source.name}")
    refs = [ref async for ref in source.connector.find(source.query)]
    if source.only_examples:
        refs = [ref for ref in refs if ref.trace_id in source.examples]
    candidates: list[Candidate] = []
    unusable: list[Leftover] = []
    for at in range(0, len(refs), _PAGE):
        async for pulled in source.connector.pull(refs[at : at + _PAGE]):
            progress.advance()
            if isinstance(pulled, Rejection):
                unusable.append(_rejected(pulled, side))
            elif pulled.still_running:
                unusable.append(Leftover(side=side, reason="still_running", where=pulled.ref.trace_id))
            else:
                found, rejected = _read(pulled, source, side, paths, redaction)
                candidates += found
                unusable += rejected
    missing = source.examples.keys() - {ref.trace_id for ref in refs}
    unusable += [Leftover(side=side, reason="trace_gone", where=trace_id) for trace_id in sorted(missing)]
    return Loaded(candidates=tuple(candidates), unusable=tuple(unusable))


def _read(
    trace: RawTrace, source: Source, side: str, paths: ExtractionPaths, redaction: RedactionRules
) -> tuple[list[Candidate], list[Leftover]]:
    extraction = redact(validate(extract(trace, paths), trace), trace, redaction)
    key = source.examples.get(trace.ref.trace_id)
    if source.metadata_key is not None:
        key = metadata_value(trace, source.metadata_key) or key
    found = []
    for number, item in enumerate(extraction.items, 1):
        own = key if key is None or len(extraction.items) == 1 else f"{key}/{number}"
        found.append(Candidate(item=item, key=own, ref=trace.ref))
    return found, [_rejected(rejection, side) for rejection in extraction.rejections]


def metadata_value(trace: RawTrace, key: str) -> str | None:
    """Return what the metadata of the root span says under a key, wherever the platform keeps metadata."""
    root = next((span for span in trace.spans if span.parent_id is None), None)
    if root is None:
        return None
    value = next((root.attributes[name] for name in (f"metadata.{key}", key) if name in root.attributes), None)
    if value is None:
        metadata = root.attributes.get("metadata")
        if isinstance(metadata, str):
            try:
                metadata = json.loads(metadata)
            except (ValueError, RecursionError):
                metadata = None
        value = metadata.get(key) if isinstance(metadata, Mapping) else None
    return None if value is None or isinstance(value, dict | list) else str(value)


def _rejected(rejection: Rejection, side: str) -> Leftover:
    return Leftover(side=side, reason=str(rejection.reason), where=rejection.trace_id, detail=rejection.detail)


def read_pairs(lines: Iterable[tuple[int, str]], item_of: ReadItem, *, redaction: RedactionRules) -> Matching:
    """Read records `{id, question, documents, answer_a, answer_b}`; A is the champion's answer, B the challenger's.

    `documents_a` and `documents_b` take the place of `documents` where each side retrieved its own.
    """
    matched: list[Matched] = []
    unusable: list[Leftover] = []
    differing: list[Leftover] = []
    seen: dict[str, int] = {}
    for number, line in lines:
        try:
            pair = pair_of(json.loads(line), number, item_of, redaction)
        except (ValueError, RecursionError) as error:
            unusable.append(Leftover(side="both", reason="unreadable", where=f"line {number}", detail=str(error)))
            continue
        seen[pair.id] = seen.get(pair.id, 0) + 1
        if seen[pair.id] > 1:
            pair = replace(pair, id=f"{pair.id}#{seen[pair.id]}")
        if context_of(pair.a) != context_of(pair.b):
            differing.append(differing_of(*(Candidate(item=item, key=pair.id) for item in (pair.a, pair.b))))
            continue
        matched.append(Matched(pair=pair))
    return Matching(matched=tuple(matched), differing=tuple(differing), unusable=tuple(unusable))


def pair_of(record: Any, number: int, item_of: ReadItem, redaction: RedactionRules) -> Pair:
    """Read one record.

    Raises:
        ValueError: names the field that is missing or of the wrong type.
    """
    if not isinstance(record, Mapping):
        raise ValueError("it is no JSON object")
    name = str(record.get("id") or f"line-{number}")
    items = []
    for side in ("a", "b"):
        documents = record.get(f"documents_{side}", record.get("documents"))
        if f"answer_{side}" not in record:
            raise ValueError(f"there is no answer_{side}")
        own = {**record, "documents": documents, "answer": record[f"answer_{side}"]}
        item = redact_item(cleaned(item_of(own)), redaction)
        # The same id on both sides would make one item of two.
        items.append(replace(item, annotate_span_id=SpanId(side)))
    return Pair(id=name, a=items[0], b=items[1])
