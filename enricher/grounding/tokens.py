"""Cut a text into words and reduce each to a key under which it can be found again, whatever its form or language."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from threading import Lock
from typing import NamedTuple

import snowballstemmer  # type: ignore[import-untyped]  # ships no type information

from enricher.grounding.lexicon import FUNCTION_WORDS, IRREGULAR, LIGHT_WORDS, read_concepts, read_mapping, read_phrases


class Token(NamedTuple):
    """A word of a text: where it is, how it reads in lower case, the key it is compared by, what it weighs."""

    start: int
    end: int
    word: str
    key: str
    weight: float  # 0 for function words, below 1 for words that say little
    is_name: bool  # written like a name: a capital letter, or letters mixed with digits


_Row = tuple[str, str, float, bool]  # a token without its place
FULL, LIGHT, NOTHING = 1.0, 0.3, 0.0
_BIGRAM_WEIGHT = 0.5  # scripts without spaces are read as overlapping pairs of characters
# Signs within a word that Python counts as no letters: vowels of Indian scripts, vowel signs of Arabic.
SIGNS_IN_WORDS = (
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d"
)
SIGNS_IN_WORDS += "\u0a81-\u0a83\u0abc-\u0acd\u0b82\u0bbe-\u0bcd\u0c00-\u0c03\u0c3e-\u0c56\u064b-\u065f\u0670"
_LETTERS = rf"(?:[^\W_][{SIGNS_IN_WORDS}]*)"
_TOKEN = re.compile(rf"{_LETTERS}+(?:['’](?:[^\W\d_][{SIGNS_IN_WORDS}]*)+)*")
# Scripts that write no spaces: Thai to Myanmar, Khmer, kana, Han (Hangul has spaces).
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_HIRAGANA_ONLY = re.compile("[\u3040-\u309f\u30fc]+$")
_DIGITS = re.compile(r"\d")
_MEMORY = 20_000  # words whose reading is remembered: some 5 MB; ids and numbers never end

_SHORTEST_STEMMED = 3
# English rules for every language: they are only asked to give the forms of one word the same key.
_stem_word = snowballstemmer.stemmer("english").stemWord
_stem_hindi = snowballstemmer.stemmer("hindi").stemWord
_stem_arabic = snowballstemmer.stemmer("arabic").stemWord  # takes off article and clitics, levels the forms of alef
_ARABIC = re.compile("[\u0621-\u064a]")
_DEVANAGARI = re.compile("[\u0900-\u097f]")
_ARABIC_SHAPES = str.maketrans("آأإٱىئؤ", "اااايوو", "\u0640")  # tatweel only stretches a word
_IS_MARK = re.compile("[\u0300-\u036f\u064b-\u065f\u0670]")  # accents, Arabic vowel signs


def fold(word: str) -> str:
    """Return a word in lower case, in compatibility form and without accents."""
    if word.isascii():
        return word.casefold()
    word = unicodedata.normalize("NFKC", word).casefold()
    if word.isascii():
        return word
    word = word.translate(_ARABIC_SHAPES) if _ARABIC.search(word) else word
    return _IS_MARK.sub("", unicodedata.normalize("NFKD", word))


def lowered(text: str) -> str:
    """Return a text in lower case with every character in its place: patterns that ignore case take several times as
    long as those that needn't.
    """
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


_IRREGULAR = {fold(form): fold(word) for form, word in read_mapping(IRREGULAR).items()}


_stemming = Lock()  # a stemmer keeps the word it is at: two threads at once get an error, or each other's stems


def stem(word: str) -> str:
    """Return the stem of a folded word."""
    word = _IRREGULAR.get(word, word)
    if len(word) <= _SHORTEST_STEMMED:
        return word
    stem_own = _stem_word
    if not word.isascii():
        stem_own = _stem_arabic if _ARABIC.match(word) else _stem_hindi if _DEVANAGARI.match(word) else _stem_word
    with _stemming:
        return str(stem_own(word))


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
# "down 6%" says that something decreased; "up to 3 days" says nothing of the kind.
_DIRECTIONS = {"up": key_of("increase"), "down": key_of("decrease")}
_DEPENDENT = _SECOND_WORDS | _DIRECTIONS.keys()  # words that are read together with those beside them
_BY_A_NUMBER = re.compile(r"\s+(?:by\s+|from\s+|about\s+|around\s+|nearly\s+|over\s+)?[€$£]?\d")


def is_function_word(word: str) -> bool:
    """Tell whether a word in lower case says nothing by itself."""
    return word in _FUNCTION


def is_concept(key: str) -> bool:
    """Tell whether a key stands for a concept whose words in other languages are known."""
    return key in _NAMED_CONCEPTS


def _read(raw: str) -> _Row:
    """Return the word, its key, its weight and whether it is written like a name."""
    folded = fold(raw).replace("’", "'")
    is_name = raw[:1].isupper()
    if folded in _FUNCTION:
        return folded, folded, NOTHING, is_name
    if folded.endswith("'s"):
        folded = folded[:-2]
    folded = folded.replace("'", "")
    if _DIGITS.search(folded):
        return folded, folded, FULL, is_name
    stemmed = stem(folded)
    weight = LIGHT if stemmed in _LIGHT or len(folded) == 1 else FULL
    return folded, _CONCEPTS.get(stemmed, stemmed), weight, is_name


class _Read(dict[str, _Row]):
    """Remembers how words are read. A dictionary answers several times as fast as `functools.lru_cache`."""

    def __missing__(self, raw: str) -> _Row:
        if len(self) >= _MEMORY:
            self.clear()
        found = self[raw] = _read(raw)
        return found


_reading_of = _Read().__getitem__
# Building a named tuple through its own constructor takes twice as long, and this is the busiest loop of the engine.
_token = partial(tuple.__new__, Token)
# Keeps letters, digits and apostrophes, of which some stand within a word; all else is space between words.
_APART = bytes(code if code < 128 and (chr(code).isalnum() or code == ord("'")) else 32 for code in range(256))


def _written(text: str) -> list[str]:
    """Return the words of a text as they are written, in order."""
    if not text.isascii():
        return _TOKEN.findall(text)
    # As the pattern does, in a fraction of its time.
    runs = text.encode("ascii").translate(_APART).decode("ascii").split()
    if "'" not in text:
        return runs
    return [*chain.from_iterable(_TOKEN.findall(run) if "'" in run else (run,) for run in runs)]


class Words:
    """The words of a text. Where they stand is found out when first asked for: most sentences are only searched."""

    __slots__ = ("_text", "_tokens", "keys", "spelled")

    def __init__(self, text: str) -> None:
        self._text = text
        rows = [*map(_reading_of, _written(text))]
        self.spelled = [row[0] for row in rows]
        # The keys of the words with content, each once. A view keeps the order of the words, on which the order of
        # equally good evidence may depend.
        self.keys = {key: None for _, key, weight, _ in rows if weight}.keys()
        self._tokens: tuple[Token, ...] | None = None
        if not text.isascii() and _UNSPACED.search(text):
            self._tokens = tuple(_unspaced_tokens(text))
        elif not _DEPENDENT.isdisjoint(self.spelled) and _has_dependent(rows):
            self._tokens = tuple(self._dependent())
        if self._tokens is not None:
            self.spelled = [token.word for token in self._tokens]
            self.keys = {token.key: None for token in self._tokens if token.weight}.keys()

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Return the words in order, with character offsets into the text."""
        if self._tokens is None:
            self._tokens = tuple(self._placed())
        return self._tokens

    @property
    def unplaced(self) -> list[_Row]:
        """Return the words in order, without where they stand; quicker, as long as that isn't known."""
        if self._tokens is None:
            return [*map(_reading_of, _written(self._text))]
        return [token[2:] for token in self._tokens]

    def _placed(self) -> list[Token]:
        end, find = 0, self._text.find
        # Between two words stands nothing that a word could begin with.
        return [
            _token((start := find(raw, end), end := start + len(raw), *_reading_of(raw)))
            for raw in _written(self._text)
        ]

    def _dependent(self) -> list[Token]:
        """Read words whose meaning depends on those beside them."""
        tokens: list[Token] = []
        for token in self._placed():
            start, end, word, key, weight, is_name = token
            if word in _SECOND_WORDS and tokens and (meaning := _PHRASES.get((tokens[-1].key, word))):
                tokens[-1] = tokens[-1]._replace(key=meaning, weight=max(tokens[-1].weight, LIGHT))
                weight = NOTHING
            if word in _DIRECTIONS and _BY_A_NUMBER.match(self._text, end):
                key, weight = _DIRECTIONS[word], FULL
            tokens.append(_token((start, end, word, key, weight, is_name)))
        return tokens


def _has_dependent(rows: Sequence[_Row]) -> bool:
    """Tell whether a word changes its meaning beside another: most that could, such as "in", don't."""
    places = [place for place, row in enumerate(rows) if row[0] in _DEPENDENT]
    return any(
        rows[place][0] in _DIRECTIONS or (place and (rows[place - 1][1], rows[place][0]) in _PHRASES)
        for place in places
    )


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the words of a text in order, with character offsets into it."""
    return Words(text).tokens


def _unspaced_tokens(text: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        yield from _unspaced(found.group(), found.start())


def _unspaced(run: str, offset: int) -> Iterator[Token]:
    """Read a run that mixes unspaced script with other letters: pairs of characters, and ordinary words between."""
    at = 0
    for found in _UNSPACED.finditer(run):
        yield from _ordinary(run[at : found.start()], offset + at)
        part, start = found.group(), offset + found.start()
        for index in range(max(1, len(part) - 1)):
            pair = part[index : index + 2]
            weight = LIGHT / 2 if _HIRAGANA_ONLY.match(pair) else _BIGRAM_WEIGHT
            yield Token(start + index, start + index + len(pair), pair, pair, weight, False)
        at = found.end()
    yield from _ordinary(run[at:], offset + at)


def _ordinary(raw: str, start: int) -> Iterator[Token]:
    if raw:
        yield Token(start, start + len(raw), *_reading_of(raw))
