"""Split an answer into atomic claims; where a split is not plain, the whole sentence is the claim."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from enricher.trace import Sentence

_VERB = (
    r"(?:is|are|was|were|has|have|had|will|shall|must|may|might|can|could|should|would|does|do|did|includes?|covers?"
    r"|requires?|applies|apply|expires?|ends?|starts?|begins?|costs?|weighs?|lasts?|opens?|closes?|contains?|amounts?"
    r"|ist|sind|war|waren|wird|werden|hat|haben|muss|müssen|kann|können|darf|dürfen|soll|sollen|gilt|gelten|endet|enden"
    r"|beginnt|beginnen|kostet|kosten|dauert|dauern|beträgt|betragen|umfasst|enthält"
    r"|est|sont|était|étaient|a|ont|sera|seront|doit|doivent|peut|peuvent|coûte|coûtent|dure|durent"
    r"|es|son|era|eran|tiene|tienen|será|serán|debe|deben|puede|pueden|cuesta|cuestan|dura|duran)"
)
_SUBJECT = (
    r"(?:the|a|an|it|they|he|she|we|you|this|that|these|those|its|their|his|her|our|your|there|no|all|each|every|both"
    r"|der|die|das|ein|eine|es|er|sie|wir|dieser|diese|dieses|sein|seine|ihr|ihre"
    r"|le|la|les|l'|un|une|il|elle|ils|elles|ce|cette|el|los|las|una)"
)
_JOINT = re.compile(r"\s*;\s+|,?\s+(?:and|but|while|whereas|und|aber|während|et|mais|y|pero|mientras)\s+(?=\w)", re.I)
_HAS_VERB = re.compile(rf"\b{_VERB}\b|\b[a-z]{{3,}}(?:ed|es|s)\b", re.I)
_OWN_SUBJECT = re.compile(rf"{_SUBJECT}\b", re.I)
_OWN_VERB = re.compile(rf"{_VERB}\b", re.I)
_LEADING_SUBJECT = re.compile(rf"((?:[\w'’.-]+\s+){{1,7}}?)(?={_VERB}\s)", re.I)


@dataclass(frozen=True, kw_only=True, slots=True)
class AtomicClaim:
    """One claim; its text may begin with the subject of a claim before it, its offsets are those of its own words."""

    text: str
    sentence_id: str
    start: int  # offsets into the answer
    end: int


def split_claims(sentences: Sequence[Sentence]) -> list[AtomicClaim]:
    """Split the checkable sentences of an answer."""
    return [claim for sentence in sentences if sentence.is_checkable for claim in _claims_of(sentence)]


def _claims_of(sentence: Sentence) -> Iterator[AtomicClaim]:
    subject = ""
    for start, end in _pieces(sentence.text):
        piece = sentence.text[start:end]
        text = f"{subject}{piece}" if subject and _OWN_VERB.match(piece) else piece
        if found := _LEADING_SUBJECT.match(text):
            subject = found[1]
        yield AtomicClaim(
            text=text, sentence_id=sentence.id, start=sentence.start + start, end=sentence.start + end
        )  # fmt: skip


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for joint in _JOINT.finditer(text):
        left, right = text[begin : joint.start()], text[joint.end() :]
        ahead = _JOINT.split(right, maxsplit=1)[0]
        if _stands_alone(left) and _HAS_VERB.search(ahead) and _opens_claim(ahead, left, is_hard=";" in joint[0]):
            yield begin, joint.start()
            begin = joint.end()
    yield begin, len(text.rstrip())


def _stands_alone(piece: str) -> bool:
    return len(piece.split()) >= 2 and bool(_HAS_VERB.search(piece))


def _opens_claim(piece: str, left: str, *, is_hard: bool) -> bool:
    """Tell whether what follows a joint says something of its own, with its own subject or that of what went before."""
    if is_hard:
        return True
    if subject := _OWN_SUBJECT.match(piece):
        # A determiner alone opens a list too: the verb has to come within its phrase.
        return bool(re.match(rf"(?:\s*[\w'’.-]+){{0,6}}?\s*\b{_VERB}\b", piece[subject.end() :], re.I))
    return bool(_OWN_VERB.match(piece)) and bool(_LEADING_SUBJECT.match(left))
