"""Tell which parts of an answer the claims on it are about, where in it a claim is made, and whether it is at all."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from enricher.folding import Haystack
from enricher.grounding.comparison import Likeness, compare
from enricher.grounding.reading import read
from enricher.trace import Item, Sentence

_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+")
_DENSE = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_JOINTS = r"and|but|or|while|whereas|und|aber|oder|während|et|mais|ou|y|pero|o|e|ma|en|maar"
_BREAK = re.compile(rf"[,;:]\s+|\s[–—-]\s|[、，；]|\s+(?=(?:{_JOINTS})\s)", re.I)
_LEADING = re.compile(rf"(?:{_JOINTS})\s+", re.I)
# Parts that say where something is said, or lead over to it, and state nothing themselves.
_LEADS_OVER = re.compile(
    r"""\W*(?:according\s+to|based\s+on|as\s+(?:stated|described|mentioned|noted|specified|outlined|set\s+out|per|follows|you)
    |in\s+(?:summary|short|conclusion|addition|other\s+words|general|fact|contrast|particular)|for\s+(?:example|instance)
    |on\s+the\s+other\s+hand|of\s+course|please\s+note|note\s+that|however|therefore|additionally|furthermore|moreover
    |specifically|similarly|finally|laut|gemäß|zum\s+beispiel|selon|d['’]après|par\s+exemple|según|por\s+ejemplo|secondo
    |ad\s+esempio|volgens|bijvoorbeeld)\b[^\d]*$""",
    re.I | re.X,
)
_ENOUGH = 0.5  # of the words of a part that a claim must hold
_SHORTEST = 4  # letters of a word that says something; short ones in capitals do too


def uncovered_parts(sentence: str, claims: Iterable[str]) -> list[str]:
    """Return the parts of a sentence that no claim is about, without the conjunction that joins them."""
    said = [set(words_of(claim)) for claim in claims]
    parts = parts_of(sentence)
    words = [words_of(sentence[start:end]) for start, end in parts]
    missing = []
    for number, (start, end) in enumerate(parts):
        elsewhere = {word for other, theirs in enumerate(words) if other != number for word in theirs}
        own = [word for word in words[number] if word not in elsewhere]
        if _states_something(sentence[start:end], words[number]) and not _is_covered(words[number], own, said):
            missing.append(sentence[start:end].rstrip(" .!。"))
    return missing


def parts_of(text: str) -> list[tuple[int, int]]:
    """Cut a text at commas, dashes and conjunctions, which belong to no part; offsets are those of the text."""
    parts, at = [], 0
    for joint in _BREAK.finditer(text):
        parts.append((at, joint.start()))
        at = joint.end()
    parts.append((at, len(text.rstrip())))
    trimmed = []
    for start, end in parts:
        leading = _LEADING.match(text, start, end)
        start = leading.end() if leading else start
        if start < end:
            trimmed.append((start, end))
    return trimmed


def located(claim: str, sentence: Sentence) -> tuple[int, int]:
    """Return where the answer makes a claim, as offsets into it: the parts it takes up, else the whole sentence."""
    if verbatim := next(Haystack(sentence.text).spans(claim.rstrip(" .!。")), None):
        return sentence.start + verbatim[0], sentence.start + verbatim[1]
    said = set(words_of(claim))
    parts = [(part, words) for part in parts_of(sentence.text) if (words := words_of(sentence.text[slice(*part)]))]
    taken = [part for part, words in parts if share(words, said) >= _ENOUGH]
    if not taken:
        return sentence.start, sentence.end
    end = sentence.end if taken[-1] == parts[-1][0] else sentence.start + taken[-1][1]
    return sentence.start + taken[0][0], end


def sentence_of(claim: str, name: Any, sentences: Sequence[Sentence]) -> Sentence | None:
    """Return the sentence that makes a claim: the one of that id, else the one that shares most; None if none does."""
    named = next((s for s in sentences if isinstance(name, str) and s.id == name.strip().strip("[]")), None)
    if named is not None:
        return named
    words = words_of(claim)
    best = max(sentences, key=lambda sentence: share(words, words_of(sentence.text)), default=None)
    return best if best is not None and share(words, words_of(best.text)) >= _ENOUGH else None


def is_made(claim: str, item: Item) -> bool:
    """Tell whether the answer, read with its question, makes a claim: it holds most of its words and all its values."""
    asked = item.standalone_question or item.question or ""
    known = {*words_of(item.answer), *words_of(asked)}
    words = words_of(claim)
    if share(words, known) < _ENOUGH:
        return False
    strange = [word for word in words if word[0].isdigit() and word not in known]
    return not strange or _has_same_values(claim, f"{item.answer}\n{asked}")


def words_of(text: str) -> list[str]:
    """Return figures and words that carry meaning; scripts without spaces are cut into pairs of characters."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        if token[0].isdigit():
            found.append(re.sub(r"[.,](?=\d{3}\b)", "", token))
        elif _DENSE.search(token):
            found += [token[at : at + 2] for at in range(max(1, len(token) - 1))]
        elif len(token) >= _SHORTEST or (len(token) > 1 and token.isupper()):
            found.append(token.casefold())
    return found


def share(words: Collection[str], others: Iterable[str]) -> float:
    """Return which share of the words is among others; inflected forms count as the same word."""
    if not words:
        return 1.0
    others = set(others)
    stems = {other[:5] for other in others}
    return sum(word in others if word[0].isdigit() else word[:5] in stems for word in words) / len(words)


def _states_something(part: str, words: Sequence[str]) -> bool:
    has_figure = any(word[0].isdigit() for word in words)
    return (len(words) >= 2 or has_figure) and not _LEADS_OVER.match(part)


def _is_covered(words: Sequence[str], own: Sequence[str], said: Sequence[Collection[str]]) -> bool:
    figures = {word for word in words if word[0].isdigit()}
    together = {word for claim in said for word in claim}
    # One claim has to be about the part; words that it shares with other parts of the sentence tell nothing.
    return figures <= together and any(share(words, claim) >= _ENOUGH <= share(own, claim) for claim in said)


def _has_same_values(claim: str, text: str) -> bool:
    """Tell whether the text has all values of a claim, however it writes them: "ninety days" and "90 days"."""
    values = read(text).quantities
    return all(
        any(compare(quantity, other).likeness is Likeness.SAME for other in values)
        for quantity in read(claim).quantities
        if not quantity.is_weak
    )
