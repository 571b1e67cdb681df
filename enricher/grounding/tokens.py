"""Cut a text into words and reduce each to a key under which it can be found again, whatever its form or language."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import snowballstemmer

from enricher.grounding.lexicon import FUNCTION_WORDS, IRREGULAR, LIGHT_WORDS, read_concepts, read_mapping, read_phrases


class Token(NamedTuple):
    """A word of a text: where it is, how it reads in lower case, the key it is compared by, what it weighs."""

    start: int
    end: int
    word: str
    key: str
    weight: float  # 0 for function words, below 1 for words that say little
    is_name: bool  # written like a name: a capital letter, or letters mixed with digits


FULL, LIGHT, NOTHING = 1.0, 0.3, 0.0
_BIGRAM_WEIGHT = 0.5  # scripts without spaces are read as overlapping pairs of characters
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
# Scripts that write no spaces: Thai to Myanmar, Khmer, kana, Han (Hangul has spaces).
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_HIRAGANA_ONLY = re.compile("[\u3040-\u309f\u30fc]+$")
_DIGITS = re.compile(r"\d")
_MEMORY = 200_000  # words whose reading is remembered

_SHORTEST_STEMMED = 3
# English rules for every language: they are only asked to give the forms of one word the same key.
_stem_word = snowballstemmer.stemmer("english").stemWord


def fold(word: str) -> str:
    """Return a word in lower case, in compatibility form and without accents."""
    word = word.casefold() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not "\u0300" <= c <= "\u036f")


_IRREGULAR = {fold(form): fold(word) for form, word in read_mapping(IRREGULAR).items()}


def stem(word: str) -> str:
    """Return the stem of a folded word."""
    word = _IRREGULAR.get(word, word)
    return str(_stem_word(word)) if len(word) > _SHORTEST_STEMMED else word


def _concepts() -> dict[str, str]:
    table: dict[str, str] = {}
    for group in read_concepts():
        name = stem(fold(group[0]))
        for word in group:
            table.setdefault(stem(fold(word)), name)
    return table


_CONCEPTS = _concepts()
_NAMED_CONCEPTS = frozenset(_CONCEPTS.values())
_FUNCTION = frozenset(fold(word) for word in FUNCTION_WORDS.split())
_LIGHT = frozenset(stem(fold(word)) for word in LIGHT_WORDS.split())


def key_of(word: str) -> str:
    """Return the key of a word as written: its concept if the lexicon knows it, else its stem."""
    stemmed = stem(fold(word))
    return _CONCEPTS.get(stemmed, stemmed)


_PHRASES = {(key_of(first), second): key_of(meaning) for first, second, meaning in read_phrases()}
_SECOND_WORDS = frozenset(second for _, second in _PHRASES)


def is_concept(key: str) -> bool:
    """Tell whether a key stands for a concept whose words in other languages are known."""
    return key in _NAMED_CONCEPTS


@lru_cache(maxsize=_MEMORY)
def _read(word: str) -> tuple[str, str, float]:
    folded = fold(word).replace("’", "'")
    if folded in _FUNCTION:
        return folded, folded, NOTHING
    if folded.endswith("'s"):
        folded = folded[:-2]
    folded = folded.replace("'", "")
    if _DIGITS.search(folded):
        return folded, folded, FULL
    stemmed = stem(folded)
    return folded, _CONCEPTS.get(stemmed, stemmed), LIGHT if stemmed in _LIGHT or len(folded) == 1 else FULL


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the words of a text in order, with character offsets into it."""
    tokens: list[Token] = []
    spaced = text.isascii() or not _UNSPACED.search(text)
    for found in _TOKEN.finditer(text):
        raw = found.group()
        if not spaced and _UNSPACED.search(raw):
            tokens.extend(_unspaced(raw, found.start()))
            continue
        word, key, weight = _read(raw)
        if word in _SECOND_WORDS and tokens and (meaning := _PHRASES.get((tokens[-1].key, word))):
            tokens[-1] = tokens[-1]._replace(key=meaning, weight=max(tokens[-1].weight, LIGHT))
            weight = NOTHING
        tokens.append(Token(found.start(), found.end(), word, key, weight, raw != word and raw[:1].isupper()))
    return tuple(tokens)


def _unspaced(run: str, offset: int) -> list[Token]:
    """Read a run that mixes unspaced script with other letters: pairs of characters, and ordinary words between."""
    tokens: list[Token] = []
    at = 0
    for found in _UNSPACED.finditer(run):
        tokens.extend(_ordinary(run[at : found.start()], offset + at))
        part, start = found.group(), offset + found.start()
        for index in range(max(1, len(part) - 1)):
            pair = part[index : index + 2]
            weight = LIGHT / 2 if _HIRAGANA_ONLY.match(pair) else _BIGRAM_WEIGHT
            tokens.append(Token(start + index, start + index + len(pair), pair, pair, weight, False))
        at = found.end()
    tokens.extend(_ordinary(run[at:], offset + at))
    return tokens


def _ordinary(raw: str, start: int) -> list[Token]:
    if not raw:
        return []
    word, key, weight = _read(raw)
    return [Token(start, start + len(raw), word, key, weight, raw != word and raw[:1].isupper())]
