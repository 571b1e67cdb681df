"""Group questions by a word that they share: no more is claimed than that.

Each round takes the word that most questions without a topic have, until no word joins enough of them.
"""

from collections import Counter
from collections.abc import Sequence

from enricher.grounding.tokens import LIGHT, tokenize

OTHER = "other questions"
_SMALLEST = 3  # questions that make a topic
_MOST = 12  # topics
_TOO_COMMON = 0.9  # a word of more questions than that tells nothing apart
_SHORTEST = 3  # letters


def topics_of(questions: Sequence[str | None]) -> list[str]:
    """Name the topic of each question: the commonest form of the word that it shares with others, or OTHER."""
    words = [_words(question or "") for question in questions]
    spread = Counter(key for each in words for key in each)
    most = max(_SMALLEST, round(_TOO_COMMON * len(questions)))
    usable = {key for key, count in spread.items() if _SMALLEST <= count <= most}
    topics = [OTHER] * len(questions)
    left = set(range(len(questions)))
    for _ in range(_MOST):
        # Of words that join as many questions, the rarer one over all says more.
        counts = Counter(key for number in left for key in words[number] if key in usable)
        key = max(counts, key=lambda key: (counts[key], -spread[key], key), default="")
        if counts[key] < _SMALLEST:
            break
        members = [number for number in sorted(left) if key in words[number]]
        name = Counter(words[number][key] for number in members).most_common(1)[0][0]
        for number in members:
            topics[number] = name
        left -= set(members)
    return topics


def _words(question: str) -> dict[str, str]:
    """Return the words with a meaning of their own: key to how it is written."""
    found: dict[str, str] = {}
    for token in tokenize(question):
        written = question[token.start : token.end]
        # Scripts without spaces are read as pairs of characters.
        is_long = len(written) >= _SHORTEST or not written.isascii()
        if token.weight > LIGHT and is_long and not written.isdigit():
            found.setdefault(token.key, written.lower())
    return found
