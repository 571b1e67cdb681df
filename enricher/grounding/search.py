"""Find the sentences of the documents that speak of what a claim speaks of."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain, islice, takewhile
from typing import Generic, NamedTuple, TypeVar

from enricher.grounding.instructions import addresses_the_judge
from enricher.grounding.opposites import opposites_of
from enricher.grounding.reading import Reading, read
from enricher.grounding.recent import Recent
from enricher.grounding.scope import is_heading
from enricher.grounding.statements import is_name, statements
from enricher.grounding.structure import Field, Structure, read_structure
from enricher.grounding.tokens import fold
from enricher.lazy import lazy
from enricher.trace import Document, Item, Sentence


class Source(NamedTuple):
    """A sentence of a document, two joined across the seam of two chunks, or what a field of a record says."""

    document: Document
    start: int  # offsets into the document's text
    end: int
    reading: Reading
    follows: int | None  # index of the sentence before it in the same document
    continues: int | None = None  # index of the sentence in the next document that completes it
    heading: Reading | None = None  # what stands above it and is said of it too

    @property
    def text(self) -> str:
        """Return the exact text of the document."""
        return self.document.text[self.start : self.end]


_TERMINAL = tuple(".!?…。！？।؟:;\"'”’»)|")
_LANGUAGE_SAMPLE = 12  # sentences that tell the language of the documents
_NEIGHBOUR_CREDIT = 0.8  # a word in the sentence before counts almost as much: it may be the subject
_MOST_WANTED = 8  # sentences that share most with a claim
_PREFIX = 5  # letters that two forms of a word must share at least
_NOTHING: frozenset[str] = frozenset()
_SHARED_PART = 0.7  # of the longer form

V = TypeVar("V")


class _Remembered(dict[str, V], Generic[V]):
    """Computes what is not yet there."""

    def __init__(self, compute: Callable[[str], V]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: str) -> V:
        value = self[key] = self._compute(key)
        return value


class Evidence:
    """The sentences of an item's documents, indexed by the words in them. Text that instructs the judge is left out."""

    def __init__(self, item: Item) -> None:
        self.sources: list[Source] = []
        self._documents = item.documents
        self.headings: set[int] = set()
        self.instructing: list[str] = []  # ids of documents that address the judge
        self._said_by_records: set[int] = set()
        self.fields: list[tuple[Field, int]] = []  # of structured documents, with their places; -1 without a value
        self._index: dict[str, list[int]] = {}  # the places of each key
        self._prefixes: dict[str, list[str]] = {}
        self._ranked: dict[tuple[tuple[str, float], ...], list[int]] = {}
        self._pools: dict[int, dict[str, float]] = {}
        # The keys in the documents that look like other forms of a key's word, and those that say its opposite: asked
        # for all the time, so that a function in Python would tell; and without a way back to the evidence, which
        # would then wait for the garbage collector.
        self.variants = _Remembered(partial(_find_variants, self._index, self._prefixes)).__getitem__
        self.opposites = _Remembered(partial(_find_opposites, self._index)).__getitem__
        for document in item.documents:
            first = len(self.sources)
            self._read_document(document)
            if 0 < first < len(self.sources):
                self._mark_seam(first - 1)
        index = defaultdict[str, list[int]](list)
        for place, source in enumerate(self.sources):
            for key in source.reading.all_keys:
                index[key].append(place)
        self._index.update(index)
        self.rarity: Mapping[str, float] = _Remembered(partial(_rarity, self._index, len(self.sources)))

    def _read_document(self, document: Document) -> None:
        structure = read_structure(document.text)
        if structure is None or not structure.is_whole:
            self._read_prose(document, document.sentences)
        else:
            self._read_prose(document, [s for s in document.sentences if s.end <= structure.start])
            self._read_record(document, structure)
            self._read_prose(document, [s for s in document.sentences if s.start >= structure.end])
        if structure is not None:
            self._note_fields(document, structure)

    def _read_record(self, document: Document, structure: Structure) -> None:
        """Read the fields of a structured document as statements; the name of a record stands above all of them."""
        names = {f.record: read(str(f.value)) for f in reversed(structure.fields) if is_name(f)}
        for said in statements(document.text, structure):
            reading = read(said.text)
            if addresses_the_judge(said.text, reading.spelled):
                if document.id not in self.instructing:
                    self.instructing.append(document.id)
                continue
            place = len(self.sources)
            follows = place - 1 if said.follows and self.sources else None
            heading = names.get(said.record)
            self._said_by_records.add(place)
            self.sources.append(Source(document, said.start, said.end, reading, follows, None, heading))

    def _note_fields(self, document: Document, structure: Structure) -> None:
        """Note where each field is said: in the first source that holds its end."""
        places = [place for place, source in enumerate(self.sources) if source.document is document]
        for field in structure.fields:
            holds = (p for p in places if self.sources[p].start < field.end and field.value_start < self.sources[p].end)
            place = -1 if field.value is None else next(holds, -2)
            if place > -2:
                self.fields.append((field, place))

    def _read_prose(self, document: Document, sentences: Sequence[Sentence]) -> None:
        previous: int | None = None
        heading: Reading | None = None
        title: int | None = 0  # where the title at the start of the document begins, as long as it goes on
        for sentence in sentences:
            # Kept here and not by `read`: a context has more sentences than are worth remembering after it.
            reading = Reading(sentence.text)
            if addresses_the_judge(sentence.text, reading.spelled):
                if document.id not in self.instructing:
                    self.instructing.append(document.id)
                previous = title = None
                continue
            place = len(self.sources)
            self.sources.append(Source(document, sentence.start, sentence.end, reading, previous, None, heading))
            if is_heading(sentence.text, reading, is_first=title is not None):
                heading = reading if title is None else read(document.text[title : sentence.end])
                self.headings.add(place)
            else:
                title = None
            previous = place

    def _mark_seam(self, place: int) -> None:
        """Note if a document breaks off and the next goes on: a sentence cut in two by chunking."""
        here, following = self.sources[place], self.sources[place + 1]
        if here.document is following.document or here.text.endswith(_TERMINAL):
            return
        if following.follows is None and following.text[:1].islower():
            self.sources[place] = here._replace(continues=place + 1)

    def is_foreign_to(self, language: str | None) -> bool:
        """Tell whether the documents are written in other languages than the given one."""
        if language is None:
            return False
        # What was put into words here, "no take out", tells nothing, nor does an address on the web.
        said = (s for n, s in enumerate(self.sources) if n not in self._said_by_records and "://" not in s.text)
        is_known = False
        for source in islice(said, _LANGUAGE_SAMPLE):
            if source.reading.language == language:
                return False
            is_known = is_known or source.reading.language is not None
        return is_known

    @lazy
    def pairs(self) -> set[tuple[str, str]]:
        """Return all pairs of neighbouring words in the documents."""
        return set(chain.from_iterable([source.reading.pairs for source in self.sources]))

    @lazy
    def is_of_records(self) -> bool:
        """Tell whether the documents are mostly records, whose words are those of a schema."""
        return 2 * len(self._said_by_records) > len(self.sources)

    def window(self, place: int) -> tuple[AbstractSet[str], AbstractSet[str], AbstractSet[str]]:
        """Return the keys of a sentence and those of both its neighbours in the document."""
        source = self.sources[place]
        follows_it = place + 1 < len(self.sources) and self.sources[place + 1].follows == place
        return (
            source.reading.all_keys,
            self.sources[source.follows].reading.all_keys if source.follows is not None else _NOTHING,
            self.sources[place + 1].reading.all_keys if follows_it else _NOTHING,
        )

    @lazy
    def _names(self) -> set[str]:
        return {name for d in self._documents for name in (d.id, *d.aliases)}

    def is_citation(self, text: str) -> bool:
        """Tell whether a text in brackets names documents and nothing else."""
        return all(part.strip() in self._names for part in re.split("[,;]", text))

    def begins_word(self, start: str) -> bool:
        """Tell whether a word of the documents begins so: a cut answer may have been about to say it."""
        start = fold(start)
        return any(word.startswith(start) for source in self.sources for word in source.reading.words)

    def holds(self, key: str) -> bool:
        """Tell whether any document holds the key."""
        return key in self._index

    def knows(self, key: str) -> bool:
        """Tell whether any document holds the key or another form of its word."""
        return key in self._index or bool(self.variants(key))

    def pool(self, place: int) -> dict[str, float]:
        """Return what a sentence holds, with the sentence before and its continuation across a seam, and its credit."""
        pool = self._pools.get(place)
        if pool is None:
            source = self.sources[place]
            pool = dict.fromkeys(source.heading.all_keys, _NEIGHBOUR_CREDIT) if source.heading else {}
            if source.follows is not None and not _are_enumerated(self.sources[source.follows].reading, source.reading):
                pool.update(dict.fromkeys(self.sources[source.follows].reading.all_keys, _NEIGHBOUR_CREDIT))
            if source.continues is not None:
                pool.update(dict.fromkeys(self.sources[source.continues].reading.all_keys, 1.0))
            pool.update(dict.fromkeys(source.reading.all_keys, 1.0))
            self._pools[place] = pool
        return pool

    def best(self, keys: Mapping[str, float], limit: int) -> list[int]:
        """Return the places of the sentences that share most with the keys, best first; never more than eight.

        Each key weighs more than nothing.
        """
        asked = tuple(keys.items())
        ranked = self._ranked.get(asked)
        if ranked is None:
            ranked = self._ranked[asked] = self._rank(keys)
        return ranked[:limit]

    def _rank(self, keys: Mapping[str, float]) -> list[int]:
        index, rarity = self._index, self.rarity
        scores = [0.0] * len(self.sources)
        for key, weight in keys.items():
            places = index.get(key)
            if places is None:
                variants = self.variants(key)
                if not variants:
                    continue
                key = variants[0]
                places = index[key]
            gain = weight * rarity[key]
            for place in places:
                scores[place] += gain
        places = [place for place, score in enumerate(scores) if score]
        return sorted(places, key=scores.__getitem__, reverse=True)[:_MOST_WANTED]  # of equal ones the first


_RECENT: Recent[tuple[Document, ...], Evidence] = Recent(4)  # some megabytes each where contexts are long


def evidence_of(item: Item) -> Evidence:
    """Return the sentences of an item's documents, read once for all judges that come one after the other."""
    return _RECENT.of(item.documents, lambda: Evidence(item))


def _are_enumerated(before: Reading, here: Reading) -> bool:
    """Tell whether two sentences are entries of one list, "Clause 12.3 ... Clause 12.4 ...", of which none goes on."""
    numbers = _numbers(before.spelled), _numbers(here.spelled)
    return all(numbers) and numbers[0] != numbers[1] and before.tokens[0].key == here.tokens[0].key


def _numbers(words: Sequence[str]) -> list[str]:
    """Return the numbers behind the first word."""
    return [*takewhile(lambda word: word[:1].isdigit(), words[1:])]


def _rarity(index: Mapping[str, list[int]], count: int, key: str) -> float:
    return 1.0 + math.log(count / len(index[key]))


def _find_variants(index: Mapping[str, list[int]], prefixes: dict[str, list[str]], key: str) -> tuple[str, ...]:
    if len(key) < _PREFIX or not key.isalpha():
        return ()
    if not prefixes:
        made = defaultdict[str, list[str]](list)
        for known in index:
            made[known[:_PREFIX]].append(known)
        prefixes.update(made)  # at once: another thread may look
    others = prefixes.get(key[:_PREFIX])
    return tuple([other for other in others if other != key and _are_forms(key, other)]) if others else ()


def _find_opposites(index: Mapping[str, list[int]], key: str) -> tuple[str, ...]:
    opposites = opposites_of(key)
    return () if index.keys().isdisjoint(opposites) else tuple(sorted(index.keys() & opposites))


def _are_forms(left: str, right: str) -> bool:
    shared = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= _SHARED_PART * max(len(left), len(right))
