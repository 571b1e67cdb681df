"""Where findings come from: the documents, retrievers, prompts, models and questions they have in common."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from enricher.reporting.nouns import Fix, Group, Systemic
from enricher.reporting.topics import topics_of
from enricher.store.facts import CRITICAL
from enricher.trace import Document, Item
from enricher.verdict import FailingHalf, QuoteCheck, Verdict

_SHOWN = 10  # groups of a kind
_EXAMPLES = 3  # traces of a group
_BEGINNING = 80  # characters by which a document is recognised
_TITLES = ("title", "name", "source", "file_name", "filename", "url", "path")
_MADE_UP = re.compile(r"d\d+$")  # ids that extraction gives where the trace has none say nothing across traces
_NONE = "(not named)"
_TELLING = 1.2  # times the share of all answers with a finding
_ALIKE = 0.6  # share of words that two notes must have in common
_QUOTED = re.compile(r"'[^']*'|“[^”]*”|\"[^\"]*\"|\d+")


@dataclass(kw_only=True, slots=True)
class Answer:
    """One judged answer, as far as what it has in common with others goes."""

    trace_id: str
    span_id: str
    project: str
    is_reported: bool
    question: str | None = None
    standings: list[str] = field(default_factory=list)  # the worst one of each judge that found something
    documents: dict[str, Document] = field(default_factory=dict)  # key to one with that text
    evidence: list[str] = field(default_factory=list)  # keys of the documents that findings rest on
    labels: Mapping[str, object] = field(default_factory=dict)
    half: FailingHalf | None = None
    fix_note: str = ""
    probability: float | None = None  # that the answer is faithful
    score: float | None = None

    @property
    def has_finding(self) -> bool:
        """Tell whether some judge found something that nothing refuted."""
        return bool(self.standings)

    @property
    def is_critical(self) -> bool:
        """Tell whether a document says otherwise."""
        return any(standing in CRITICAL for standing in self.standings)


def document_key(document: Document) -> str:
    """Identify a document across traces: by its id where the trace has one, else by how it begins."""
    return f"“{_beginning(document)}”" if _MADE_UP.match(document.id) else document.id


def document_name(document: Document) -> str:
    """Name a document as people know it."""
    title = next((value for key in _TITLES if isinstance(value := document.metadata.get(key), str) and value), None)
    return title or document_key(document)


def evidence_keys(verdict: Verdict, item: Item) -> list[str]:
    """Return, once a finding, the documents whose passages it rests on."""
    by_id = {document.id: document_key(document) for document in item.documents}
    found: list[str] = []
    for finding in verdict.result.findings if verdict.result is not None else ():
        named = {quote.document_id for quote in finding.evidence if quote.check is QuoteCheck.VERIFIED}
        found += [by_id[name] for name in by_id if name in named]
    return found


def systemic(answers: Sequence[Answer], left_out: int) -> Systemic:
    """Group the answers of a run in every way that could show a cause."""
    topics = topics_of([answer.question for answer in answers])
    halves: dict[str, int] = {}
    for answer in answers:
        if answer.half is not None:
            halves[str(answer.half)] = halves.get(str(answer.half), 0) + 1
    return Systemic(
        looked_at=len(answers),
        left_out=left_out,
        halves=halves,
        documents=_documents(answers),
        retrievers=_by_label(answers, "retriever"),
        prompts=_by_label(answers, "prompt"),
        models=_by_label(answers, "model"),
        projects=_groups(answers, lambda _number, answer: [answer.project]),
        topics=_groups(answers, lambda number, _answer: [topics[number]]),
        fixes=_fixes(answers),
    )


def _by_label(answers: Sequence[Answer], label: str) -> tuple[Group, ...]:
    found = _groups(answers, lambda _number, answer: [str(answer.labels.get(label) or _NONE)])
    # Where no trace names any, there is nothing to show.
    return () if [group.name for group in found] == [_NONE] else found


def _documents(answers: Sequence[Answer]) -> tuple[Group, ...]:
    """Rank documents by the findings that rest on them, then by the answers with findings that had them."""
    known = {key: document for answer in answers for key, document in answer.documents.items()}
    overall = sum(answer.has_finding for answer in answers) / len(answers) if answers else 0.0
    rests: dict[str, int] = {}
    for answer in answers:
        for key in answer.evidence:
            rests[key] = rests.get(key, 0) + 1
    groups = _groups(answers, lambda _number, answer: answer.documents, most=None)
    named = [
        group.model_copy(
            update={
                "name": document_name(known[group.name]),
                "note": _beginning(known[group.name]),
                "evidence": rests.get(group.name, 0),
            }
        )
        for group in groups
        # A document that most answers had, whatever became of them, is no cause.
        if group.findings and (rests.get(group.name) or group.share > _TELLING * overall)
    ]
    return tuple(sorted(named, key=lambda group: (-group.evidence, -group.findings, group.name))[:_SHOWN])


def _groups(
    answers: Sequence[Answer], names: Callable[[int, Answer], Iterable[str]], *, most: int | None = _SHOWN
) -> tuple[Group, ...]:
    """Sum answers up by name, those with most findings first."""
    members: dict[str, list[Answer]] = {}
    for number, answer in enumerate(answers):
        for name in names(number, answer):
            members.setdefault(name, []).append(answer)
    groups = [_group(name, found) for name, found in members.items()]
    return tuple(sorted(groups, key=lambda group: (-group.findings, -group.answers, group.name))[:most])


def _group(name: str, answers: Sequence[Answer]) -> Group:
    flagged = [answer for answer in answers if answer.has_finding]
    halves = [answer.half for answer in flagged if answer.half is not None]
    return Group(
        name=name,
        answers=len(answers),
        findings=len(flagged),
        critical=sum(answer.is_critical for answer in flagged),
        retrieval=sum(half.includes_retrieval for half in halves),
        generation=sum(half.includes_generation for half in halves),
        traces=tuple(dict.fromkeys(answer.trace_id for answer in flagged))[:_EXAMPLES],
    )


def _fixes(answers: Sequence[Answer]) -> tuple[Fix, ...]:
    """Put next steps together that say nearly the same but for what they quote."""
    heads: list[tuple[frozenset[str], list[Answer]]] = []
    for answer in answers:
        if not answer.fix_note:
            continue
        words = frozenset(re.findall(r"\w+", _QUOTED.sub("", answer.fix_note).lower()))
        for head, members in heads:
            if len(words & head) >= _ALIKE * len(words | head):
                members.append(answer)
                break
        else:
            heads.append((words, [answer]))
    fixes = [
        Fix(
            note=members[0].fix_note,
            half=str(members[0].half or ""),
            count=len(members),
            traces=tuple(dict.fromkeys(answer.trace_id for answer in members))[:_EXAMPLES],
        )
        for _, members in heads
    ]
    return tuple(sorted(fixes, key=lambda fix: -fix.count)[:_SHOWN])


def _beginning(document: Document) -> str:
    text = " ".join(document.text[: 4 * _BEGINNING].split())
    return text if len(text) <= _BEGINNING else text[: _BEGINNING - 1].rsplit(" ", 1)[0] + "…"
