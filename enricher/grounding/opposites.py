"""Tell which words say the opposite of a word, and which exclude it."""

from functools import lru_cache

from enricher.grounding.lexicon import EXCLUSIVE, OPPOSITES, read_pairs
from enricher.grounding.tokens import key_of

_SHORTEST = 3  # letters of a word that a prefix can negate
_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis")


def _antonyms() -> dict[str, set[str]]:
    table: dict[str, set[str]] = {}
    for left, right in read_pairs(OPPOSITES):
        table.setdefault(key_of(left), set()).add(key_of(right))
        table.setdefault(key_of(right), set()).add(key_of(left))
    return table


_ANTONYMS = _antonyms()
EXCLUDED = {
    key_of(word): frozenset(key_of(other) for other in line.split() if other != word)
    for line in EXCLUSIVE.strip().splitlines()
    for word in line.split()
}


@lru_cache(maxsize=50_000)
def opposites_of(key: str) -> frozenset[str]:
    """Return the keys that say the opposite: antonyms, and the word with or without a negating prefix."""
    turned = set(_ANTONYMS.get(key, ()))
    if len(key) > _SHORTEST:
        turned.update(prefix + key for prefix in _PREFIXES)
    turned.update(key[len(p) :] for p in _PREFIXES if key.startswith(p) and len(key) > len(p) + _SHORTEST)
    return frozenset(turned)
