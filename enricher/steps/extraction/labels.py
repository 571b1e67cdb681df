"""What people group items by: the application's model, prompt and retrievers, and the metadata it set itself."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from enricher.steps.extraction.payloads import plain_text
from enricher.steps.extraction.reading import METADATA, Node
from enricher.steps.extraction.trees import Scope
from enricher.trace import SpanKind

_MODEL = (
    "gen_ai.response.model", "llm.model_name", "gen_ai.request.model", "ai.response.model", "ai.model.id",
    "metadata.ls_model_name",
)  # fmt: skip
_PROMPT_VERSION = (
    "llm.prompt_template.version", "prompt.version", "langfuse.observation.prompt.version", "metadata.prompt_version",
    "metadata.lc_hub_commit_hash",
)  # fmt: skip
_PROMPT_NAME = ("llm.prompt_template.name", "prompt.name", "langfuse.observation.prompt.name", "metadata.prompt_name",
                "metadata.lc_hub_repo")  # fmt: skip
# What frameworks note of themselves says nothing about the application.
_NOISE = ("ls_", "lc_", "langgraph_", "checkpoint_", "__", "run_id", "thread_ts")
_MOST = 30  # keys of the metadata


def labels_of(scope: Scope) -> dict[str, Any]:
    """Return the application's model, prompt version and retrievers where the trace names them, and its metadata."""
    own: dict[str, Any] = {}
    # The innermost span says it best.
    for node in reversed([*filter(None, [scope.root]), *scope.wrapping]):
        own |= {key: value for key, value in node.metadata.items() if not key.startswith(_NOISE)}
        if tags := _tags(node.span.attributes):
            own["tags"] = tags
    model = scope.final_model or (scope.models[-1] if scope.models else None)
    retrievers = sorted({node.span.name for node in scope.of_kind(SpanKind.RETRIEVER) if node.span.name})
    found = {"model": _first(model, _MODEL), "prompt": _prompt(scope), "retriever": ", ".join(retrievers)}
    return {**dict(list(own.items())[:_MOST]), **{name: value for name, value in found.items() if value}}


def _prompt(scope: Scope) -> str | None:
    """Name the prompt as the trace does; else, where it keeps the template, by a digest of it."""
    nodes = [*reversed(scope.models), *filter(None, [scope.root])]
    for node in nodes:
        name, version = _first(node, _PROMPT_NAME), _first(node, _PROMPT_VERSION)
        if name or version:
            return "@".join(filter(None, [name, version]))
    for node in nodes:
        if template := plain_text(node.span.attributes.get("llm.prompt_template.template")):
            return f"template {hashlib.sha256(template.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return None


def _first(node: Node | None, keys: Sequence[str]) -> str | None:
    if node is None:
        return None
    for key in keys:
        is_noted = key.startswith(METADATA)
        value = node.metadata.get(key.removeprefix(METADATA)) if is_noted else node.span.attributes.get(key)
        if value is not None and value != "" and isinstance(value, str | int):
            return str(value)
    return None


def _tags(attributes: Mapping[str, Any]) -> list[str]:
    tags = attributes.get("tag.tags")
    return [str(tag) for tag in tags] if isinstance(tags, list | tuple) else []
