"""Compose the next step when a half of the pipeline failed: it names the document, the fact or the instruction."""

import re
from collections.abc import Mapping, Sequence

from enricher.verdict import Quote

_QUOTED = 160
_WORD = re.compile(r"[^\W_]{4,}")
_PART = re.compile(r"\b(?:retriev|chunk|index|embed|prompt|instruct|generat|context|answer|cit)\w*", re.I)
_GENERAL = frozenset(
    re.findall(
        r"\w+",
        """retrieval retriever retrieve retrieving retrieved retrieves chunk chunks chunking prompt prompts generation
        generator generate generated context contexts documents document passage passages answer answers question
        questions improve better more that relevant quality model fix nothing with from should please this ensure make
        sure have need needs tune system pipeline which there into about faithful faithfulness relevance half both good
        result results text texts source sources information fact facts missing contain contains contained holds hold
        state states stated asked give given only what when where will does them their they""",
    )
)


def is_concrete(note: str, texts: Sequence[str], document_ids: Sequence[str]) -> bool:
    """Tell whether a note names a document or something of this question, and a part of the pipeline to change."""
    if not _PART.search(note):
        return False
    if any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", note) for name in document_ids):
        return True
    known = {word.casefold() for text in texts for word in _WORD.findall(text)} - _GENERAL
    return any(word.casefold() in known for word in _WORD.findall(note))


def retrieval_note(question: str, missing: str, nearest: Quote | None, *, is_partial: bool) -> str:
    """Say what the retriever should have found."""
    wanted = missing or "what the question asks for"
    if is_partial and nearest is not None:
        return (
            f"Retrieval or chunking: {nearest.document_id} comes nearest ('{_cut(nearest.text)}') but does not state "
            f"{wanted}; retrieve more passages for '{_cut(question)}', or cut larger chunks."
        )
    return (
        f"Retrieval: no retrieved document states {wanted}; check that the index holds a passage on it and that the "
        f"retriever finds it for '{_cut(question)}'."
    )


def contradiction_note(said: str, passage: Quote | None) -> str:
    """Say which statement the generator turned round."""
    beside = f"{passage.document_id} says '{_cut(passage.text)}'" if passage else "the context says otherwise"
    return f"Generation prompt: have values and conditions copied from the context; {beside}, not '{_cut(said)}'."


def addition_note(said: str) -> str:
    """Say which statement the generator added."""
    return f"Generation prompt: allow only what the context states; nothing in it bears out '{_cut(said)}'."


def abstention_note(passage: Quote | None) -> str:
    """Say what the generator should have answered with."""
    holds = f"{passage.document_id} says '{_cut(passage.text)}'" if passage else "the context holds the answer"
    return f"Generation prompt: have it answer whenever the context holds the answer; {holds}, and the answer declines."


def irrelevance_note(missing: str, passage: Quote | None) -> str:
    """Say what the generator should have spoken of."""
    lacking = f"the answer does not speak of {missing}" if missing else "the answer is about something else"
    use = f"; {passage.document_id} says '{_cut(passage.text)}'" if passage else ""
    return f"Generation prompt: have it answer the very question that was asked; {lacking}{use}."


def joined(retrieval: str, generation: str) -> str:
    """Put the steps for both halves in order: no prompt makes up for a context without the answer."""
    notes = [note.strip() for note in (retrieval, generation) if note.strip()]
    return " Then: ".join(notes)


def with_ids(text: str, labels: Mapping[str, str]) -> str:
    """Write real document ids where a text has the short names of the prompt."""
    renamed = {label: name for label, name in labels.items() if label != name}
    if not renamed or not text:
        return text
    pattern = "|".join(map(re.escape, sorted(renamed, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{pattern})(?!\w|-\w)", lambda found: renamed[found.group()], text)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTED else text[: _QUOTED - 1].rsplit(" ", 1)[0] + "…"
