"""Take a rendered RAG prompt apart: where the context stands, where the question, and which texts the context holds."""

import re
from typing import NamedTuple

from enricher.steps.extraction.passages import Passage, texts_in
from enricher.steps.extraction.payloads import decode, is_redacted, plain_text

_QUESTION_WORDS = (
    r"question|query|q|user[ _]question|user[ _]query|user[ _]input|user|new task|task|current task|frage|pregunta"
)
_CONTEXT_WORDS = (
    r"context|context information|documents?|sources?|passages?|excerpts?|knowledge(?: base)?|search results"
    r"|retrieved (?:context|documents?|passages?)|reference(?:s| material)?|background|evidence|kontext|contexte"
)
_LABEL = r"^[ \t]*(?:#+[ \t]*|\*\*|\[\[ ## )?(?:{})\b(?:[ \t]+(?:information|below|is below|sections?))*{}"
_AFTER = r"[ \t]*(?:\*\*)?[ \t]*(?::(?:\*\*)?|\.?[ \t]*$| ## \]\])[ \t]*"
_QUESTION = re.compile(_LABEL.format(_QUESTION_WORDS, _AFTER), re.I | re.M)
_CONTEXT = re.compile(_LABEL.format(_CONTEXT_WORDS, _AFTER), re.I | re.M)
_ANSWER = re.compile(
    r"^[ \t]*(?:#+[ \t]*|\*\*)?(?:(?:helpful |refined |final |your )?answer|assistant|response|antwort)"
    r"(?:\*\*)?[ \t]*:.*\Z|^Respond with the corresponding output fields.*\Z|^\[\[ ## \w+ ## \]\].*\Z",
    re.I | re.M | re.S,
)
# "Use the following pieces of context to answer the question at the end.", then the context without a label.
_ANNOUNCED = re.compile(r"^[^\n]*\b(?:following|below|these|this)\b[^\n]*\b(?:context|documents?|sources?|passages?"
                        r"|excerpts?|information|articles?)\b[^\n]*[:.][ \t]*\n", re.I | re.M)  # fmt: skip
_TAGGED = re.compile(r"<(context|documents|sources|passages|retrieved_\w+|knowledge\w*)>\s*(.*?)\s*</\1>", re.I | re.S)
_TAGGED_QUESTION = re.compile(r"<(question|query|user_query|user_question)>\s*(.*?)\s*</\1>", re.I | re.S)
_ELEMENT = re.compile(
    r"<(document|doc|source|passage|chunk|excerpt|item|article|snippet|result)\b([^>]*)>(.*?)</\1>", re.I | re.S
)
_ELEMENT_ID = re.compile(r"\b(?:id|doc_?id|document_id|name|index|key)\s*=\s*[\"']?([^\"'\s>]+)", re.I)
_ELEMENT_BODY = re.compile(r"<(document_content|content|text|body)>\s*(.*?)\s*</\1>", re.I | re.S)
_MARKED = re.compile(
    r"^[ \t]*(?:\[(?P<label>[^\]\n]{1,60})\](?!\()[ \t]*:?"
    r"|(?:source|document|doc|passage|chunk|excerpt|context|result)[ \t]*#?(?P<number>\d+)[ \t]*[:.)-]"
    r"|[=#*-]{2,}[ \t]*(?:source|document|doc|passage|chunk|result)[ \t]*#?(?P<ruled>\d+)[ \t]*:?[ \t]*[=#*-]{2,}"
    r"|(?P<item>\d{1,3})[.)](?=\s))[ \t]*\n?",
    re.I | re.M,
)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})[ \t]*$", re.M)
_BLANK = re.compile(r"\n[ \t]*\r?\n\s*")
_HEADING = re.compile(r"\s*(?:[^\n]{1,60}:)?\s*")  # "Retrieved documents:" above the first
_HEADER = re.compile(r"(?:[a-z][\w.-]*: \S[^\n]{0,200}\n?)+")
_PREFIX = re.compile(rf"^\s*(?:{_QUESTION_WORDS}|answer)[ \t]*:[ \t]*", re.I)


class PromptParts(NamedTuple):
    """What a prompt says; None for what it has no place for."""

    context: str | None
    question: str | None


def take_apart(text: str) -> PromptParts:
    """Find the context section of a prompt and the question that it asks."""
    asked = _TAGGED_QUESTION.search(text)
    tagged = _TAGGED.search(text)
    if tagged or _ELEMENT.search(text):
        start, end = tagged.span() if tagged else _outermost(text)
        # The last closing tag counts: a document may hold one of its own.
        inner_end = text.lower().rfind(f"</{tagged.group(1).lower()}>") if tagged else end
        context = text[tagged.start(2) if tagged else start : inner_end]
        around = text[:start] + "\n" + text[max(end, inner_end) :]
        return PromptParts(context.strip(), asked.group(2) if asked else _bare_question(around))
    context_at = _CONTEXT.search(text)
    questions = list(_QUESTION.finditer(text))
    last = questions[-1] if questions else None
    if context_at is None and last and (announced := _ANNOUNCED.search(text)) and announced.end() < last.start():
        context_at = announced
    question = asked.group(2) if asked else None
    if context_at is None:
        return PromptParts(None, question or _after(text, last))
    if last is None or last.start() < context_at.start():
        body = _ANSWER.sub("", text[context_at.end() :])
        return PromptParts(_fenced(body), question or _after(text[: context_at.start()], last))
    return PromptParts(_fenced(text[context_at.end() : last.start()]), question or _after(text, last))


def question_of(text: str) -> str:
    """Return the question that a user turn asks, without the context and labels around it."""
    parts = take_apart(text)
    if parts.question:
        return parts.question
    if parts.context and not _CONTEXT.match(text.lstrip()):
        return text.strip()
    if parts.context:  # the context first, then a blank line, then the bare question
        head, _, tail = text.strip().rpartition("\n\n")
        return tail.strip() if head and "?" in tail else text.strip()
    return without_label(text)


def without_label(text: str) -> str:
    """Drop a leading "Question:", "New task:" or the like."""
    return _PREFIX.sub("", text).strip()


def pieces(context: str) -> list[Passage]:
    """Split a context section into its texts, by the clearest separator that it uses."""
    context = context.strip()
    listed = _listed(context)
    if listed:
        return listed
    if elements := _ELEMENT.findall(context):
        return [_element(attributes, body) for _, attributes, body in elements if body.strip()]
    marks = list(_MARKED.finditer(context))
    if marks and _is_list(marks) and _HEADING.fullmatch(context[: marks[0].start()]):
        return _marked(context, marks)
    parts = _RULE.split(context) if _RULE.search(context) else _BLANK.split(context)
    return [Passage(part) for part in _with_headers([part.strip("\r\n") for part in parts if plain_text(part)])]


def _with_headers(parts: list[str]) -> list[str]:
    """Keep a text together with the lines of metadata that LlamaIndex writes above it."""
    whole: list[str] = []
    header = ""
    for part in parts:
        if _HEADER.fullmatch(part) and part is not parts[-1]:
            header += part + "\n\n"
        else:
            whole.append(header + part)
            header = ""
    return whole


def _is_list(marks: list[re.Match[str]]) -> bool:
    """Tell whether numbers count up, so that they number the texts and are no part of them."""
    numbers = [int(n) for mark in marks for n in (mark.group("number"), mark.group("ruled"), mark.group("item")) if n]
    return not numbers or numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _listed(context: str) -> list[Passage]:
    if context[:1] not in "[{":
        return []
    value = decode(context)
    return [p for p in texts_in(value) or () if p.text] if isinstance(value, list | dict) else []


def _element(attributes: str, body: str) -> Passage:
    inner = _ELEMENT_BODY.search(body)
    named = _ELEMENT_ID.search(attributes)
    return Passage((inner.group(2) if inner else body).strip(), named.group(1) if named else None)


def _marked(context: str, marks: list[re.Match[str]]) -> list[Passage]:
    ends = [mark.start() for mark in marks[1:]] + [len(context)]
    found = []
    for mark, end in zip(marks, ends, strict=True):
        text = context[mark.end() : end].strip()
        label = mark.group("label")
        name = label if label and not label.isdigit() else None
        if text:
            quoted = text[0] == "«" and text[-1] == "»"
            found.append(Passage(text[1:-1] if quoted else text, name))
    return found


def _outermost(text: str) -> tuple[int, int]:
    """Return the stretch from the first tagged element to the end of the last."""
    elements = list(_ELEMENT.finditer(text))
    return elements[0].start(), elements[-1].end()


def _bare_question(around: str) -> str | None:
    """Find the question in what stands around the tagged context: by its label, else the last line that asks."""
    if found := list(_QUESTION.finditer(around)):
        return _after(around, found[-1])
    lines = [re.sub(r"</?\w+>", "", line).strip() for line in around.splitlines()]
    return next((line for line in reversed(lines) if line.endswith("?")), None)


def _after(text: str, label: re.Match[str] | None) -> str | None:
    if label is None:
        return None
    question = _ANSWER.sub("", text[label.end() :]).strip()
    return plain_text(question)


def _fenced(section: str) -> str | None:
    """Cut a section at the rule that closes it, if a rule opened it."""
    section = section.strip("\r\n")
    opening = _RULE.match(section.lstrip())
    if opening:
        section = section.lstrip()[opening.end() :]
        closing = _RULE.search(section)
        section = section[: closing.start()] if closing else section
    return None if is_redacted(section) or not section.strip() else section.strip()
