"""The workload of the model benchmarks: RAG traces of one shape, no two alike.

A trace has a question, 5 documents of about 120 words and an answer of 6 sentences and about 120 words, all with a tag
REF-00000 by which the model server knows it; every fourth is unfaithful.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

_WORDS = """the controller archive regional record store period policy transfer board request review agent notice member
    account service window payment order region update clause section annual report limit staff office budget
    contract vendor keeps sends holds moves files checks grants lists marks opens closes signs reads counts after
    before within under each every fixed normal written public internal final second third early late"""
_VOCABULARY = tuple(_WORDS.split())
_DOCUMENTS, _SENTENCES, _ANSWER_SENTENCES = 5, 7, 6


@dataclass(frozen=True)
class Case:
    """One question with its documents and its answer."""

    tag: str
    question: str
    documents: tuple[str, ...]
    answer: str


def is_faithful(tag: str) -> bool:
    """Tell what the model server says of the case with this tag."""
    return int(tag[4:]) % 4 != 3


def cases(count: int, seed: int = 7) -> Iterator[Case]:
    """Yield so many cases, always the same."""
    chance = random.Random(seed)
    for number in range(count):
        yield case(number, chance)


def case(number: int, chance: random.Random) -> Case:
    """Make one case."""
    tag = tag_of(number)
    documents = tuple(f"{tag} " + " ".join(_sentence(chance, 17) for _ in range(_SENTENCES)) for _ in range(_DOCUMENTS))
    question = f"What does {tag} say about the regional archive policy and its review period?"
    answer = " ".join(f"{tag} " + _sentence(chance, 19) for _ in range(_ANSWER_SENTENCES))
    return Case(tag, question, documents, answer)


def tag_of(number: int) -> str:
    """Name a case."""
    return f"REF-{number:05d}"


def _sentence(chance: random.Random, words: int) -> str:
    chosen = chance.choices(_VOCABULARY, k=words)
    return f"{chosen[0].capitalize()} {' '.join(chosen[1:])}."
