"""Show what would be judged: extraction and validation alone, on exported traces in files."""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from connectors.formats import raw_trace, read_file
from enricher.errors import BadReply
from enricher.privacy import rules_without_store
from enricher.settings import Settings
from enricher.steps.extraction import ExtractionPaths, extract
from enricher.steps.redaction import redact
from enricher.steps.validation import validate
from enricher.trace import Extraction, Item


def extract_files(settings: Settings, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Read exported traces and yield one row an item or rejection."""
    jobs = list(settings.jobs.values())
    paths = ExtractionPaths(**jobs[0].paths.model_dump()) if jobs else ExtractionPaths()
    redaction = rules_without_store(settings)
    for file in files:
        try:
            groups = read_file(file)
        except OSError as error:
            yield _unread(file, "unreadable", error.strerror or str(error))
            continue
        except (BadReply, EOFError, UnicodeError, RecursionError, zlib.error) as error:
            yield _unread(file, "unreadable", str(error))
            continue
        if not groups:
            yield _unread(file, "unreadable", "there is no span in it")
        for trace in map(raw_trace, groups):
            raw = extract(trace, paths)
            extraction = redact(validate(raw, trace), trace, redaction)
            raw = redact(raw, trace, redaction)
            for number, item in enumerate(extraction.items):
                yield {"file": str(file), "valid": True, "reject_reason": None, **_read(item, extraction, number)}
            for rejection in extraction.rejections:
                found = _unread(file, str(rejection.reason), rejection.detail)
                found |= {"trace_id": rejection.trace_id, "annotate_span_id": rejection.span_id}
                # What was found all the same, so that a person can see what is missing.
                for number, item in enumerate(raw.items):
                    if item.annotate_span_id == rejection.span_id:
                        found |= _read(item, raw, number)
                yield found


def _read(item: Item, extraction: Extraction, number: int) -> dict[str, Any]:
    sources = [source for source in extraction.found_in if source.item == number]
    return {
        "trace_id": item.trace_id,
        "question": item.question,
        "documents": [{"id": d.id, "text": d.text, "span_id": d.span_id} for d in item.documents],
        "answer": item.answer or None,
        "answer_span_id": item.answer_span_id,
        "annotate_span_id": item.annotate_span_id,
        "flags": list(item.flags),
        "found_in": [{"part": s.part, "span_id": s.span_id, "field": s.field} for s in sources],
    }


def _unread(file: Path, reason: str, detail: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("trace_id", "question", "answer", "answer_span_id", "annotate_span_id"))
    found = {"file": str(file), "valid": False, "reject_reason": reason, "detail": detail}
    return {**found, **nothing, "documents": [], "flags": [], "found_in": []}
