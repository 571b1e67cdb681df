"""The nouns that pass between the stages of the engine."""

from dataclasses import dataclass, field

from enricher.grounding.reading import Reading
from enricher.verdict import AlignmentStatus, IssueType

Range = tuple[int, int]  # offsets into the text of a claim


@dataclass(frozen=True, slots=True)
class Question:
    """What the answer answers; a claim may leave out what the question said."""

    reading: Reading
    keys: frozenset[str]


@dataclass(slots=True)
class Decision:
    """How a claim stands, why, and on which sentences that rests (best first)."""

    status: AlignmentStatus
    issue: IssueType
    explanation: str
    places: list[int]
    share: float  # of the claim that the evidence covers
    is_certain: bool  # False where the words alone had to decide
    flags: list[str] = field(default_factory=list)
    is_of_words: bool = False  # decided by words and comparers alone
    is_open: bool = False  # what it lacks may be there in other words
    lacks: list[Range] = field(default_factory=list)  # where the claim departs from the evidence; none: all over
