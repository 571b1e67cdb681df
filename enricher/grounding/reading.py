"""Read a sentence once for all comparisons: its words, clauses, values, names and language."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise

from enricher.grounding.lexicon import word_set
from enricher.grounding.measures import Quantity
from enricher.grounding.polarity import Marks, read_marks
from enricher.grounding.quantities import find_quantities, may_hold_value
from enricher.grounding.tokens import FULL, LIGHT, Token, Words, fold, lowered
from enricher.lazy import lazy

_LANGUAGE_WORDS = {
    "en": "the of and is are was to in that it with for as on at by from this be or an which have has not you",
    "de": "der die das und ist sind nicht von mit dem den des ein eine zu im für auf werden wird sich bei oder als",
    "fr": "le les est et des une du dans pour que qui sur pas avec au sont par ne aux cette ce il elle",
    "es": "el los las es y del una que por con para se su al lo como más son no está",
    "it": "il di che è un per con del della sono gli non una nel alla dei si le anche",
    "pt": "o os um uma e do da em para com não que se dos das ao por mais é são",
    "nl": "het een van en is niet op te dat voor met zijn aan de worden naar ook bij",
}
_LANGUAGE_SETS = {code: frozenset(fold(word) for word in words.split()) for code, words in _LANGUAGE_WORDS.items()}
_TELLING = frozenset().union(*_LANGUAGE_SETS.values())
_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
)
_CONTINENTAL = frozenset({"de", "fr", "es", "it", "pt", "nl", "ru"})  # write a decimal comma
# A colon is no break: "Expiry: 2024-03-05" and a pair of JSON are one statement.
_BREAK = re.compile(r"[;—–()\[\]|\n,](?:(?<!,)|(?=[\s\"'{]))")
_ASCII_BREAK = re.compile(r"[;()\[\]|\n,](?:(?<!,)|(?=[\s\"'{]))")
_DASH = re.compile(r"\s-\s")
_CONJUNCTIONS = frozenset(
    map(
        fold,
        word_set(
            """and but or while whereas although though because which who whose if unless when where so plus und
            aber oder sondern während weil wenn et mais ou tandis y e pero sino mientras ma mentre except"""
        ),
    )
)
_CITATION = re.compile(
    r"\[\^?(?:(?:id|doc(?:ument)?|source|ref|quelle)\s*[:#]?\s*)?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]"
    r"|【[^】]{1,40}】|\[(?:d|docs?|s|src|source|ref|chunk|passage)[-_#:. ]?\d{1,4}"
    r"(?:\s*[,;]\s*(?:d|docs?|s|src|source|ref|chunk|passage)?[-_#:. ]?\d{1,4})*\]",
    re.I,
)
_REMEMBERED = 1024  # readings; an item is read several times while it is judged
_TITLE_SHARE = 0.85  # of capitals among the words with content, from which they mean nothing
_RUN_LENGTH = 3  # a run of capitals so long is a title, not names


class Clause:
    """A stretch of a sentence between commas, conjunctions and the like, with what it asserts."""

    __slots__ = ("_marks", "_plain", "end", "keys", "quantities", "start", "text", "tokens", "weight")

    def __init__(
        self,
        text: str,
        tokens: tuple[Token, ...],
        plain: tuple[Token, ...],
        quantities: tuple[Quantity, ...],
        keys: dict[str, float],
    ) -> None:
        self.tokens = tokens
        self._plain = plain  # the tokens outside of values
        self.quantities = quantities
        ends = tokens or quantities
        self.start, self.end = (ends[0].start, ends[-1].end) if ends else (0, 0)  # marks alone hold no word
        if quantities and tokens:
            self.start, self.end = min(self.start, quantities[0].start), max(self.end, quantities[-1].end)
        self.text = text[self.start : self.end]
        self.keys = keys
        self.weight = sum(self.keys.values()) + sum(LIGHT if q.is_weak else FULL for q in quantities)
        self._marks: Marks | None = None

    @property
    def marks(self) -> Marks:
        """Negation, modality and the like, read when first asked for; "May 2024" permits nothing."""
        if self._marks is None:
            self._marks = read_marks(self._plain, self.text)
        return self._marks


class Reading:
    """A sentence as the engine sees it. Everything but the words is read when first asked for."""

    def __init__(self, text: str) -> None:
        # Blanks of the same length keep all offsets: a citation is no statement, and its number no value.
        self.text = _CITATION.sub(lambda found: " " * len(found.group()), text) if "[" in text or "【" in text else text
        self._words = Words(self.text)
        self.all_keys = self._words.keys

    @lazy
    def lower(self) -> str:
        """Return the text in lower case, with the same offsets."""
        return lowered(self.text)

    @lazy
    def tokens(self) -> tuple[Token, ...]:
        """Return the words in order."""
        return self._words.tokens

    @property
    def spelled(self) -> Sequence[str]:
        """Return the words in order, folded."""
        return self._words.spelled

    @property
    def unplaced(self) -> Sequence[tuple[str, str, float, bool]]:
        """Return the words in order as tokens are, without where they stand."""
        return self._words.unplaced

    @lazy
    def words(self) -> set[str]:
        """Return the words, folded."""
        return set(self.spelled)

    @property
    def pairs(self) -> Iterable[tuple[str, str]]:
        """Return the pairs of neighbouring words."""
        return pairwise(self.spelled)

    @lazy
    def language(self) -> str | None:
        """Return the code of the language, as far as function words or script tell."""
        return guess_language(self.text, self.words)

    @lazy
    def quantities(self) -> tuple[Quantity, ...]:
        """Return the values named in the sentence."""
        if not may_hold_value(self.text, self.words):
            return ()
        comma = None if self.language is None else self.language in _CONTINENTAL
        return find_quantities(self.text, self.tokens, self.words, decimal_comma=comma)

    @lazy
    def _in_values(self) -> frozenset[int]:
        """Return the offsets of the words that are part of a value."""
        if not self.quantities:
            return frozenset()
        return frozenset([t.start for q in self.quantities for t in self.tokens if q.start <= t.start < q.end])

    @lazy
    def clauses(self) -> tuple[Clause, ...]:
        """Return the clauses; the words and values of each belong to no other."""
        cuts = self._cuts()
        if not cuts and (self.tokens or self.quantities):
            return (self.whole,) if self.whole.weight else ()
        return tuple(_clauses(self.text, self.tokens, self.quantities, self._in_values, cuts))

    def _cuts(self) -> list[int]:
        """Return the offsets at which a clause ends and another begins, in order."""
        text = self.text
        cuts = [m.start() for m in (_ASCII_BREAK if text.isascii() else _BREAK).finditer(text)]
        if "-" in text:
            cuts += [m.start() for m in _DASH.finditer(text)]
        if self.quantities:
            cuts = [cut for cut in cuts if not any(q.start <= cut < q.end for q in self.quantities)]
        if not _CONJUNCTIONS.isdisjoint(self.words):
            joints = [t.start for t in self.plain if t.word in _CONJUNCTIONS]
            cuts += [start for start in joints if text[start] not in "éè"]
        return sorted(cuts)

    @lazy
    def whole(self) -> Clause:
        """Return the sentence as one clause."""
        return Clause(self.text, self.tokens, self.plain, self.quantities, self.keys)

    @lazy
    def plain(self) -> tuple[Token, ...]:
        """Return the words outside of values: "May" in a date is no verb."""
        in_values = self._in_values
        return tuple([t for t in self.tokens if t.start not in in_values]) if in_values else self.tokens

    @lazy
    def keys(self) -> dict[str, float]:
        """Return the weight of each content key, words inside values left out."""
        return weights_of(self.plain)

    @lazy
    def weight(self) -> float:
        """Return what there is to support: the weights of words and values together."""
        return sum(self.keys.values()) + sum(LIGHT if q.is_weak else FULL for q in self.quantities)

    @lazy
    def marks(self) -> Marks:
        """Return the marks of the sentence as a whole."""
        return read_marks(self.tokens, self.text)

    @lazy
    def names(self) -> frozenset[str]:
        """Return the keys of words written as names; none where capitals mean nothing (German, titles)."""
        inner = [t for t in self.tokens[1:] if t.weight and not t.word.isdigit()]
        capitals = sum(t.is_name for t in inner)
        if self.language == "de" or (len(inner) > _RUN_LENGTH and capitals > _TITLE_SHARE * len(inner)):
            return frozenset()
        first = self.tokens[0] if self.tokens else None
        leading = (
            [first]
            if first and first.weight >= FULL and first.is_name and len(self.tokens) > 1 and self.tokens[1].is_name
            else []
        )
        return frozenset(t.key for t in leading + [t for t in inner if t.is_name] if t.start not in self._in_values)


@lru_cache(maxsize=_REMEMBERED)
def read(text: str) -> Reading:
    """Return the reading of a sentence; recent ones are remembered."""
    return Reading(text)


def guess_language(text: str, words: AbstractSet[str]) -> str | None:
    """Guess the language of a text by script, then by its function words; None when too little tells."""
    if not text.isascii():
        for code, script in _SCRIPTS:
            if script.search(text) and len(script.findall(text)) * 3 > sum(c.isalpha() for c in text):
                return code
    best, most = None, 0
    telling = words & _TELLING
    for code, known in _LANGUAGE_SETS.items():
        score = len(telling & known)
        if score > most:  # of equal ones the language listed first
            best, most = code, score
    return best


def weights_of(tokens: Iterable[Token]) -> dict[str, float]:
    """Return the weight of each content key among the tokens."""
    keys: dict[str, float] = {}
    for _, _, _, key, weight, _ in tokens:
        if weight and weight > keys.get(key, 0.0):
            keys[key] = weight
    return keys


def _clauses(
    text: str,
    tokens: tuple[Token, ...],
    quantities: tuple[Quantity, ...],
    in_values: frozenset[int],
    cuts: Sequence[int],
) -> Iterable[Clause]:
    starts = [t.start for t in tokens]
    at_token = at_value = 0
    for cut in [*cuts, len(text) + 1]:
        last = bisect_left(starts, cut, at_token)
        inside = tokens[at_token:last]
        at_token = last
        last = at_value
        while last < len(quantities) and quantities[last].start < cut:
            last += 1
        values = quantities[at_value:last]
        at_value = last
        if inside or values:
            plain = tuple(t for t in inside if t.start not in in_values) if values else inside
            clause = Clause(text, inside, plain, values, weights_of(plain))
            if clause.weight:
                yield clause
