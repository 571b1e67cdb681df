"""Lay an item out for a prompt: untrusted texts between fences, numbered sentences, ids that lead back to the trace."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from enricher.judges.reply import clean
from enricher.trace import Document, Item, Sentence

_SHORT_ID = re.compile(r"[A-Za-z][\w-]{0,15}")
_OUR_TAG = re.compile(r"<(?=/?\s*(?:documents?|question|answer|context|system|task)\b)", re.I)
_OUR_ID = re.compile(r"\[((?:[\w-]{1,16}\.)?s\d{1,4}|-)\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """The texts of one request, and what the ids in it stand for."""

    fence: str
    documents: str
    question: str
    answer: str
    labels: Mapping[str, Document]  # as the prompt names them
    sentences: Mapping[str, tuple[Document, Sentence]]  # "d2.s4" and what it stands for

    @property
    def variables(self) -> dict[str, str]:
        """Return what the shared part of every prompt needs."""
        return {
            "fence": self.fence,
            "documents": self.documents,
            "question": self.question,
            "answer": self.answer,
        }


def lay_out(
    item: Item, documents: Sequence[Document], sentences: Sequence[Sentence], *, fence: str, is_numbered: bool
) -> Material:
    """Lay out the item with these documents and sentences of the answer: all of them or, in a window, some."""
    names = document_labels(item.documents)
    labels = {names[document.id]: document for document in documents}
    known: dict[str, tuple[Document, Sentence]] = {}
    blocks = []
    for label, document in labels.items():
        if is_numbered:
            written, is_plain = list[str](), _is_plain(document.text)
            for sentence in document.sentences:
                name = f"{label}.s{_number(sentence)}"
                known[name] = (document, sentence)
                written.append(f"[{name}] {sentence.text if is_plain else _in_one_line(sentence.text)}")
            body = "\n".join(written)
        else:
            body = harmless(document.text)
        source = "" if document.id == label else f' source="{_attribute(document.id)}"'
        blocks.append(f'<document-{fence} id="{label}"{source}>\n{body}\n</document-{fence}>')
    lines = (f"[{s.id if s.is_checkable else '-'}] {_in_one_line(s.text)}" for s in sentences)
    text = item.answer if len(sentences) == len(item.sentences) else item.answer[sentences[0].start : sentences[-1].end]
    return Material(
        fence=fence,
        documents="\n".join(blocks) or "(no documents)",
        question=harmless(item.standalone_question or item.question or "(not recorded)"),
        answer="\n".join(lines) if is_numbered else harmless(text),
        labels=labels,
        sentences=known,
    )


def fence_for(item: Item, salt: bytes) -> str:
    """Derive the code of the item's tags: the same for all judges of one run, unforeseeable for who wrote the texts."""
    texts = [item.answer, item.question or "", item.standalone_question or "", *(d.text for d in item.documents)]
    content = hashlib.blake2b(key=salt[:64], digest_size=16)
    for text in texts:
        content.update(text.encode("utf-8", "replace") + b"\0")
    for number in count():
        code = hashlib.blake2b(content.digest() + number.to_bytes(4, "big"), digest_size=5).hexdigest()
        if not any(code in text for text in texts):
            return code
    raise AssertionError("unreachable")


def document_labels(documents: Sequence[Document]) -> dict[str, str]:
    """Return how the prompt names each document, by its id: short ids as they are, otherwise d1, d2 ... for all."""
    ids = [document.id for document in documents]
    if all(_SHORT_ID.fullmatch(name) for name in ids) and len({name.lower() for name in ids}) == len(ids):
        return {name: name for name in ids}
    return {name: f"d{number}" for number, name in enumerate(ids, 1)}


def harmless(text: str) -> str:
    """Escape what looks like a tag of ours; a reader unescapes it, so that quotes still verify."""
    return clean(_OUR_TAG.sub("&lt;", text) if "<" in text else text)


def _in_one_line(text: str) -> str:
    # On one line no text can pretend to be the next numbered sentence.
    if _is_plain(text):
        return text.strip(" ")  # nearly every sentence
    line = " ".join(text.split())
    return harmless(_OUR_ID.sub(r"(\1)", line) if "[" in line else line)


def _is_plain(text: str) -> bool:
    """Tell whether a text, and so each sentence of it, goes into a prompt as it is."""
    return text.isascii() and text.isprintable() and "  " not in text and "[" not in text and "<" not in text


def _attribute(text: str) -> str:
    return re.sub(r"[^\w.:/?=&@ -]", "_", text)[:80]


def _number(sentence: Sentence) -> str:
    return sentence.id.rpartition(".s")[2]
