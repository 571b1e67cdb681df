"""Choose the few sentences of the documents that are read beside a claim."""

from enricher.grounding.reading import Reading
from enricher.grounding.search import Evidence
from enricher.grounding.tokens import LIGHT

_MOST_SENTENCES = 3
_MOST_WORDS = 70
_MOST_OF_ONE = 45  # words; of a longer sentence the part that shares most with the claim is read
_OWN = 0.25  # of what a sentence holds counts although others hold it too
_CANDIDATES = 8


def window(claim: Reading, evidence: Evidence) -> list[str]:
    """Return sentences of the documents that together hold most of a claim, in their order; none if none holds any.

    Each next sentence is the one that adds most to those already taken.
    """
    missing = {key: claim.keys.get(key, LIGHT) for key in claim.all_keys if claim.keys.get(key) or key.isdigit()}
    wanted = dict(missing)
    chosen: list[int] = []
    size = 0
    while missing and len(chosen) < _MOST_SENTENCES:
        candidates = [p for p in evidence.best(missing, _CANDIDATES) if p not in chosen]
        if not candidates:
            break
        place = max(candidates, key=lambda p: _gain(p, missing, evidence) + _OWN * _gain(p, wanted, evidence))
        length = min(_MOST_OF_ONE, evidence.sources[place].text.count(" ") + 1)
        if chosen and size + length > _MOST_WORDS:
            break
        held = evidence.sources[place].reading.all_keys
        if chosen and missing.keys().isdisjoint(held):
            break
        chosen.append(place)
        size += length
        missing = {key: weight for key, weight in missing.items() if key not in held}
    return [_excerpt(evidence.sources[place].text, wanted, evidence, place) for place in sorted(chosen)]


def _gain(place: int, keys: dict[str, float], evidence: Evidence) -> float:
    held = evidence.sources[place].reading.all_keys
    return sum([weight * evidence.rarity[key] for key, weight in keys.items() if key in held])


def _excerpt(text: str, keys: dict[str, float], evidence: Evidence, place: int) -> str:
    """Return a sentence, or of a long one the stretch that shares most with the claim."""
    words = text.split()
    if len(words) <= _MOST_OF_ONE:
        return " ".join(words)
    reading = evidence.sources[place].reading
    held = [token.start for token in reading.tokens if token.key in keys]
    offsets = [0]
    for word in words:  # where each word begins, white space as the text has it
        offsets.append(text.index(word, offsets[-1]) + len(word))
    best, most = 0, -1
    for first in range(0, len(words) - _MOST_OF_ONE + 1, 5):
        inside = sum(offsets[first] <= start < offsets[first + _MOST_OF_ONE] for start in held)
        if inside > most:
            best, most = first, inside
    return " ".join(words[best : best + _MOST_OF_ONE])
