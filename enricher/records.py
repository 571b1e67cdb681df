"""Judge plain records `{id, question, documents: [{id, text}], answer}` without any platform."""

import asyncio
import gzip
import json
import logging
import re
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from enricher.errors import EnricherError, SetupError
from enricher.logs import describe
from enricher.pipeline import examine
from enricher.seams import Judge, SecondCheck
from enricher.steps.redaction import NOTHING, RedactionRules, redact_item, redact_verdict
from enricher.steps.rendering import details, made_by
from enricher.steps.segmentation import split_item
from enricher.steps.validation import cleaned
from enricher.trace import Document, Item, SpanId, TraceId
from enricher.verdict import DiffResult, Quote, Segment, Status, Stretch, Verdict

log = logging.getLogger(__name__)

_ENCODING = "utf-8-sig"
_ERRORS = "surrogateescape"  # a line that is not UTF-8 must not cost the others theirs
_BROKEN_BYTE = re.compile("[\udc80-\udcff]")  # what it becomes


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield numbered non-blank lines of a JSON Lines file, plain or gzip; `-` reads standard input.

    Raises:
        SetupError: the file can't be opened, or is damaged; the lines before the damage have been yielded.
    """
    number = 0
    with _opened(path) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line
        except (OSError, EOFError, zlib.error) as error:
            raise SetupError(f"{path} can't be read after line {number}: {error}") from error


def _opened(path: Path) -> IO[str]:
    if str(path) == "-":
        return open(0, encoding=_ENCODING, errors=_ERRORS, closefd=False)
    try:
        if path.suffix == ".gz":
            return cast(IO[str], gzip.open(path, "rt", encoding=_ENCODING, errors=_ERRORS))
        return path.open(encoding=_ENCODING, errors=_ERRORS)
    except OSError as error:
        raise SetupError(f"{path} can't be read: {error.strerror}") from error


async def judge_records(
    lines: Iterable[tuple[int, str]],
    judge: Judge,
    second: SecondCheck | None = None,
    *,
    concurrency: int = 1,
    redaction: RedactionRules = NOTHING,
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield one row a record, in the order of the input, with at most `concurrency` under way."""
    under_way: deque[asyncio.Task[dict[str, Any]]] = deque()
    try:
        for number, line in lines:
            under_way.append(asyncio.ensure_future(judge_record(number, line, judge, second, redaction)))
            if len(under_way) >= concurrency:
                yield await under_way.popleft()
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()


async def judge_record(
    number: int,
    line: str,
    judge: Judge,
    second: SecondCheck | None = None,
    redaction: RedactionRules = NOTHING,
) -> dict[str, Any]:
    """Judge one line; whatever is wrong with it is said in its row, and the next one is judged all the same."""
    try:
        record = _parsed(line)
        item = cleaned(item_of(record))
    except ValueError as error:
        return _refused(None, Status.INVALID_TRACE, "unreadable", f"line {number} can't be read: {error}")
    if not item.answer.strip():
        return _refused(record.get("id"), Status.INVALID_TRACE, "no_answer", "there is no answer text")
    if not item.documents:
        return _refused(record.get("id"), Status.SKIPPED, "empty_retrieval", "there is no document with text")
    try:
        item = split_item(redact_item(item, redaction))
        verdict = redact_verdict(await examine(item, judge, second), item, redaction)
    except EnricherError:
        raise
    except Exception as error:
        log.exception("line %d can't be judged", number)
        return _refused(record.get("id"), "BUG", "bug", describe(error))
    return {"id": record.get("id"), **row(verdict)}


def _parsed(line: str) -> dict[str, Any]:
    if _BROKEN_BYTE.search(line):
        raise ValueError("it is not UTF-8")
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    return record


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def item_of(record: Mapping[str, Any]) -> Item:
    """Read a record.

    Raises:
        ValueError: names the field that is missing or of the wrong type.
    """
    answer, documents = record.get("answer"), record.get("documents")
    if answer is not None and not isinstance(answer, str):
        raise ValueError("answer must be a text")
    if not isinstance(documents, list) or not all(isinstance(d, (dict, str)) for d in documents):
        raise ValueError("documents must be a list of {id, text}")
    read = [d if isinstance(d, dict) else {"text": d} for d in documents]
    if any(not isinstance(d.get("text"), (str, type(None))) for d in read):
        raise ValueError("the text of a document must be a text")
    return Item(
        trace_id=TraceId(str(record.get("id", ""))),
        question=record.get("question") or None,
        documents=tuple(
            Document(
                id=str(d.get("id") or f"d{n}"),
                text=d.get("text") or "",
                citation_numbers=(n,),
                metadata=d["metadata"] if isinstance(d.get("metadata"), dict) else {},
            )
            for n, d in enumerate(read, 1)
        ),
        answer=answer or "",
        annotate_span_id=SpanId(""),
    )


def _refused(identity: Any, status: str, reason: str, explanation: str) -> dict[str, Any]:
    said = {"id": identity, "status": str(status), "reason": reason, "explanation": explanation}
    return {**said, "faithfulness_score": None, "segments": []}


def row(verdict: Verdict) -> dict[str, Any]:
    """Return the output line of a verdict: result fields, then what produced it."""
    result = verdict.result
    found: dict[str, Any] = {"status": str(verdict.status), "faithfulness_score": verdict.score}
    if isinstance(result, DiffResult):
        if result.faithful_probability is not None:
            found["faithful_probability"] = round(result.faithful_probability, 4)
        found |= {"segments": [segment_row(s) for s in result.segments], "summary": result.summary}
        if result.citations:
            found["citations"] = [citation.model_dump(mode="json") for citation in result.citations]
    elif result is not None:
        found |= details(result) | {"summary": result.summary}
    else:
        found |= {"segments": [], "summary": verdict.failure or ""}
    return found | made_by(verdict)


def segment_row(segment: Segment) -> dict[str, Any]:
    """Return one segment as `enricher judge` writes it; the best quote stands beside it.

    A finding that lies in a part of its sentence is written as that part: as the longest, where it lies in several, all
    of which are in `lacking`. `sentence` is what it was taken from.
    """
    best: Quote | None = segment.evidence[0] if segment.evidence else None
    found: dict[str, Any] = {
        "segment_id": segment.segment_id,
        "start": segment.start,
        "end": segment.end,
        "generated_text": segment.generated_text,
        "alignment_status": str(segment.alignment_status),
        "issue_type": str(segment.issue_type),
        "supporting_context": best.text if best else None,
        "document_id": best.document_id if best else None,
        "context_start": best.start if best else None,
        "context_end": best.end if best else None,
        "explanation": segment.explanation,
    }
    if (part := segment.narrowed) is not None and segment.start is not None and segment.generated_text is not None:
        text, start = segment.generated_text, segment.start
        found |= _stretch_row(part, text, start, "generated_text")
        found["lacking"] = [_stretch_row(each, text, start, "text") for each in segment.lacking]
        found["sentence"] = {"start": start, "end": segment.end, "text": text}
    if segment.score is not None:
        found["score"] = round(segment.score, 4)
    if segment.probabilities is not None:
        found["probabilities"] = segment.probabilities.model_dump()
    if len(segment.evidence) > 1:
        found["further_evidence"] = [
            {"document_id": q.document_id, "text": q.text, "start": q.start, "end": q.end} for q in segment.evidence[1:]
        ]
    if segment.flags:
        found["flags"] = list(segment.flags)
    if segment.certainty is not None:
        found["certainty"] = str(segment.certainty)
        found["opinions"] = [opinion.model_dump(mode="json", exclude_none=True) for opinion in segment.opinions]
    return found


def _stretch_row(part: Stretch, sentence: str, start: int, name: str) -> dict[str, Any]:
    return {"start": part.start, "end": part.end, name: sentence[part.start - start : part.end - start]}
