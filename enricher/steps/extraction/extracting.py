"""The extraction step: find every question of a trace with the context and the answer that belong to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from enricher.steps.extraction.items import CONTEXT_PROBLEMS, Draft, draft_of
from enricher.steps.extraction.paths import ExtractionPaths, overridden
from enricher.steps.extraction.payloads import folded
from enricher.steps.extraction.reading import Node
from enricher.steps.extraction.trees import Scope, trees_of
from enricher.trace import Document, Extraction, RawTrace, Source, SpanKind

NO_PATHS = ExtractionPaths()


@dataclass(frozen=True)
class _Found:
    """One item with the spans it was made from."""

    draft: Draft
    nodes: tuple[Node, ...]


def extract(trace: RawTrace, paths: ExtractionPaths = NO_PATHS) -> Extraction:
    """Return the items of a trace as far as it shows them; nothing is judged or rejected here.

    An item that lacks something comes with what there is: an empty answer, no question, documents without text. Flags
    say what was noticed, by the words of `RejectReason` where context is missing; `enricher.steps.validation` decides
    what must not be judged.
    """
    trees = trees_of(trace.spans)
    found = [
        _Found(_overridden(draft_of(scope, tree.trace_id), scope, paths), scope.nodes)
        for tree in trees
        for scope in tree.scopes()
    ]
    drafts = [entry.draft for entry in _joined(found)]
    for tree in trees:
        tree.fell()
    sources = (
        Source(part=part, span_id=span_id, field=field, item=number)
        for number, draft in enumerate(drafts)
        for part, span_id, field in draft.sources
    )
    return Extraction(items=tuple(draft.item for draft in drafts), found_in=tuple(sources))


def _overridden(draft: Draft, scope: Scope, paths: ExtractionPaths) -> Draft:
    if paths == NO_PATHS:
        return draft
    item, places = overridden(draft.item, scope.nodes, paths)
    parts = {part for part, _, _ in places}
    if "documents" in parts:
        item = replace(item, flags=tuple(flag for flag in item.flags if flag not in CONTEXT_PROBLEMS))
    kept = tuple(source for source in draft.sources if source[0] not in parts)
    return Draft(item, (*kept, *((part, node.span.span_id, field) for part, node, field in places)))


def _joined(found: list[_Found]) -> list[_Found]:
    """Join what one request left in several traces: a retrieval of its own, and the call that got its documents."""
    if len(found) < 2:
        return found
    donors = [entry for entry in found if _is_only_context(entry)]
    taken: set[int] = set()
    joined = []
    for entry in found:
        if entry in donors or _is_void(entry):
            continue
        given = [d for d in donors if id(d) not in taken and _was_given(d.draft.item.documents, entry.nodes)]
        taken |= {id(donor) for donor in given}
        joined.append(_merged(entry, given) if given else entry)
    left = [donor for donor in donors if id(donor) not in taken]
    return (joined + left) or found[:1]


def _is_only_context(entry: _Found) -> bool:
    item = entry.draft.item
    return bool(item.documents) and not item.answer and not any(n.kind is SpanKind.LLM for n in entry.nodes)


def _is_void(entry: _Found) -> bool:
    """Tell whether a trace says nothing at all, such as the one in which an agent is only defined."""
    item = entry.draft.item
    is_model_call = any(n.kind is SpanKind.LLM for n in entry.nodes)
    return not (item.question or item.answer or item.documents or is_model_call)


def _was_given(documents: Sequence[Document], nodes: Sequence[Node]) -> bool:
    prompts = [node.prompt_folded for node in nodes if node.kind is SpanKind.LLM]
    return any(folded(d.text) in prompt for d in documents if d.text.strip() for prompt in prompts)


def _merged(entry: _Found, donors: Sequence[_Found]) -> _Found:
    dropped = {*CONTEXT_PROBLEMS, "context_from_prompt"}
    item = entry.draft.item
    documents = [document for donor in donors for document in donor.draft.item.documents]
    flags = (*(flag for flag in item.flags if flag not in dropped), "split_traces")
    numbered = tuple(replace(d, citation_numbers=(n,)) for n, d in enumerate(documents, start=1))
    sources = [source for source in entry.draft.sources if source[0] != "documents"]
    sources += [source for donor in donors for source in donor.draft.sources if source[0] == "documents"]
    draft = Draft(replace(item, documents=numbered, flags=flags), tuple(sources))
    return _Found(draft, (*entry.nodes, *(node for donor in donors for node in donor.nodes)))
