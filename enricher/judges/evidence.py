"""Read the evidence of a reply: ids of numbered sentences, or passages that are quoted."""

import re
from collections.abc import Mapping
from typing import Any

from enricher.judges.material import Material
from enricher.judges.reply import Unusable, shown
from enricher.verdict import Quote, QuoteCheck, Status


class Wrong(Exception):
    """Why a reply holds no verdict; raised inside a reader and returned by it as `Unusable`."""

    def __init__(self, status: Status, problem: str, *flags: str) -> None:
        super().__init__(problem)
        self.unusable = Unusable(status=status, problem=problem, flags=flags)


def referred(value: Any, material: Material) -> tuple[Quote, ...]:
    """Turn ids of document sentences into quotes with offsets; an unknown id makes the reply unusable."""
    if value is None:
        return ()
    references = re.split(r"[,\s]+", value) if isinstance(value, str) else value
    if not isinstance(references, list) or not all(isinstance(reference, str) for reference in references):
        raise Wrong(Status.JUDGE_PARSE_ERROR, "'evidence' is not a list of ids")
    quotes: dict[str, Quote] = {}
    for reference in references:
        name = reference.strip().strip("[]").strip()
        if not name:
            continue
        if name not in material.sentences:
            raise Wrong(Status.JUDGE_INVALID, f"the documents have no sentence {shown(name)}")
        document, sentence = material.sentences[name]
        quotes[name] = Quote(
            document_id=document.id,
            text=sentence.text,
            start=sentence.start,
            end=sentence.end,
            check=QuoteCheck.UNCHECKED,
            occurrences=1,
            span_id=document.span_id,
        )
    return tuple(quotes.values())


def quoted(entry: Mapping[str, Any], material: Material, text_key: str = "supporting_context") -> tuple[Quote, ...]:
    """Read a passage that is quoted under `text_key`, and the `document_id` beside it."""
    text, source = entry.get(text_key), entry.get("document_id")
    if not (text is None or isinstance(text, str)) or not (source is None or isinstance(source, str)):
        raise Wrong(Status.JUDGE_PARSE_ERROR, f"'{text_key}' or 'document_id' is not a text")
    if text is None or not text.strip():
        return ()
    document = material.labels.get(source.strip()) if source else None
    return (Quote(document_id=document.id if document else source or None, text=text.strip()),)
