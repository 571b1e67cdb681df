"""Chooses the few context sentences that the entailment model reads beside a claim, and measures their overlap."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at to for from by with and or but as is are was were be been being it its this that these "
        "those he she they them his her their him you your we our i my me do does did has have had will would "
        "can could may might shall should there here which who whom what when where while than then so if not no also "
        "into over about after before between such any some all more most other some very just only out up down",
    )
)
MAX_SENTENCES = 3
MAX_WORDS = 70
MAX_SENTENCE_WORDS = 45
FEATURES = (
    "coverage", "window", "best_sentence", "neighbours", "pairs", "unknown_numbers", "unknown_names", "length"
)  # fmt: skip


def words(text: str) -> list[str]:
    """Return the lower-case words and numbers of text; scripts without spaces come as single characters."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        found.extend(word if _CJK.search(word) else [word.removesuffix("'s")])
    return found


def stem(word: str) -> str:
    """Strip common English endings, so that 'signed' meets 'signs'."""
    for ending in ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def terms(text: str) -> list[str]:
    """Return the stemmed content words of text; all words when there is no content word."""
    found = words(text)
    return [stem(w) for w in found if w not in _STOP] or [stem(w) for w in found]


def pieces(sentence: str) -> list[str]:
    """Cut a long sentence into equal parts, as in training, so that one sentence can't fill a window."""
    found = sentence.split()
    count = max(1, -(-len(found) // MAX_SENTENCE_WORDS))
    size = max(1, -(-len(found) // count))
    return [" ".join(found[i : i + size]) for i in range(0, len(found), size)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The sentences of all documents with what the search needs to know about them."""

    sentences: list[str]
    bags: list[frozenset[str]]
    pairs: frozenset[tuple[str, str]]
    weights: dict[str, float]
    numbers: frozenset[str]
    vocabulary: frozenset[str]


def index(sentences: Sequence[str]) -> Context:
    """Index sentences once; the cost is linear in their length."""
    lists = [[stem(w) for w in words(s)] for s in sentences]
    bags = [frozenset(found) for found in lists]
    frequency = Counter(term for bag in bags for term in bag)
    weights = {t: math.log(1 + (len(bags) + 0.5) / (n + 0.5)) for t, n in frequency.items()}
    pairs = frozenset(p for found in lists for p in pairwise(found))
    numbers = frozenset(w for s in sentences for w in words(s) if w[0].isdigit())
    return Context(
        sentences=list(sentences),
        bags=bags,
        pairs=pairs,
        weights=weights,
        numbers=numbers,
        vocabulary=frozenset(frequency),
    )


def choose(context: Context, claim: str, *, without: frozenset[int] = frozenset()) -> list[int]:
    """Return the indices of up to four sentences that together cover the claim best, in document order."""
    wanted = frozenset(terms(claim))
    gain = _gains(context, wanted)
    base = {
        i: sum(gain[t] for t in wanted & bag) / (1 + 0.006 * len(bag))
        for i, bag in enumerate(context.bags)
        if i not in without and not wanted.isdisjoint(bag)
    }
    chosen: list[int] = []
    missing, size = set(wanted), 0
    while len(chosen) < MAX_SENTENCES:
        best, best_value = -1, 0.0
        for i, own in base.items():
            if i in chosen:
                continue
            value = sum(gain[t] for t in missing & context.bags[i]) + 0.25 * own
            if i - 1 in chosen:
                value *= 1.05  # the sentence after a good one often resolves what it refers to
            if value > best_value:
                best, best_value = i, value
        if best < 0:
            break
        length = len(context.sentences[best].split())
        if chosen and size + length > MAX_WORDS:
            break
        chosen.append(best)
        missing -= context.bags[best]
        size += length
    if not chosen:
        chosen = [i for i in range(len(context.bags)) if i not in without][:1]
    return sorted(chosen)


def window(context: Context, chosen: Sequence[int]) -> str:
    """Join the chosen sentences as the model reads them."""
    return " ".join(context.sentences[i] for i in chosen)


def overlap_features(context: Context, claim: str, chosen: Sequence[int]) -> list[float]:
    """Measure word overlap, in the order of FEATURES: coverage, word pairs, unknown numbers and names, length."""
    content = frozenset(terms(claim))
    gain = _gains(context, content)
    total = sum(gain.values()) or 1.0
    near: set[str] = set()
    for i in chosen:
        near |= context.bags[i]
    best = max((len(content & context.bags[i]) for i in chosen), default=0) / (len(content) or 1)
    beside = max((len(content & (a | b)) for a, b in pairwise(context.bags)), default=0) / (len(content) or 1)
    everything = sum(gain[t] for t in content if t in context.vocabulary) / total
    nearby = sum(gain[t] for t in content & near) / total
    found = [stem(w) for w in words(claim)]
    pairs = set(pairwise(found))
    known_pairs = len(pairs & context.pairs) / (len(pairs) or 1)
    numbers = {w for w in words(claim) if w[0].isdigit()}
    unknown_numbers = len(numbers - context.numbers)
    names = {stem(w.lower()) for w in re.findall(r"(?<=[\w,;] )[A-Z][\w'’]+", claim)}
    unknown_names = len({n for n in names if n not in context.vocabulary})
    return [
        everything,
        nearby,
        best,
        max(beside, best),
        known_pairs,
        min(unknown_numbers, 3) / 3,
        min(unknown_names, 3) / 3,
        min(len(found), 60) / 60,
    ]


def _gains(context: Context, wanted: frozenset[str]) -> dict[str, float]:
    unseen = math.log(1 + len(context.bags) + 0.5)
    return {t: context.weights.get(t, unseen) for t in wanted}
