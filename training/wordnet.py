"""Reads WordNet's database files (Debian package `wordnet-base`) for synonyms, antonyms, hypernyms and co-hyponyms."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path("/usr/share/wordnet")
_PARTS = {"noun": "n", "verb": "v", "adj": "a"}


@dataclass(slots=True)
class _Synset:
    words: list[str]
    hypernyms: list[str] = field(default_factory=list)
    antonyms: list[tuple[int, str, int]] = field(default_factory=list)


class WordNet:
    """Looks up single words by their most frequent sense; words with many senses are refused where that matters."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._synsets: dict[str, _Synset] = {}
        self._senses: dict[tuple[str, str], list[str]] = {}
        self._children: dict[str, list[str]] = defaultdict(list)
        self._irregular: set[str] = set()
        for name, part in _PARTS.items():
            self._read_data(folder / f"data.{name}", part)
            self._read_index(folder / f"index.{name}", part)
            for line in (folder / f"{name}.exc").read_text().splitlines():
                self._irregular.update(line.split()[1:])

    def is_irregular(self, lemma: str) -> bool:
        """Tell whether a word has irregular forms, so that endings can't simply be added."""
        return lemma in self._irregular

    def synonyms(self, lemma: str, part: str, *, most_senses: int = 3) -> list[str]:
        """Return other words of the first sense, if the word is not too ambiguous."""
        keys = self._senses.get((lemma, part), [])
        if not keys or len(keys) > most_senses:
            return []
        return [w for w in self._words(keys[0]) if w != lemma]

    def related(self, lemma: str, other: str) -> bool:
        """Tell whether a verb form looks like a synonym of a verb in any of its senses."""
        found = {w for key in self._senses.get((lemma, "v"), []) for w in self._words(key)}
        found |= {
            w
            for key in self._senses.get((lemma, "v"), [])
            for p in self._synsets[key].hypernyms
            for w in self._words(p)
        }
        return any(other.startswith(w.removesuffix("e")) for w in found if len(w) > 2)

    def antonyms(self, lemma: str, part: str) -> list[str]:
        """Return the direct opposites of the first two senses."""
        found = []
        for key in self._senses.get((lemma, part), [])[:2]:
            synset = self._synsets[key]
            for source, target, position in synset.antonyms:
                if source and synset.words[source - 1] != lemma:
                    continue
                other = self._synsets.get(target)
                if other and 0 < position <= len(other.words):
                    found.append(other.words[position - 1])
        return [w for w in found if "_" not in w]

    def hypernyms(self, lemma: str, part: str) -> list[str]:
        """Return the more general words of the first sense."""
        keys = self._senses.get((lemma, part), [])
        if not keys or len(keys) > 3:
            return []
        return [w for parent in self._synsets[keys[0]].hypernyms for w in self._words(parent)]

    def siblings(self, lemma: str, part: str) -> list[str]:
        """Return words that share the parent of the first sense and are not its synonyms."""
        keys = self._senses.get((lemma, part), [])
        if not keys:
            return []
        own = set(self._synsets[keys[0]].words)
        found = []
        for parent in self._synsets[keys[0]].hypernyms[:1]:
            for child in self._children[parent][:60]:
                found.extend(w for w in self._words(child)[:1] if w not in own and len(self._senses[w, part]) < 6)
        return found

    def _words(self, key: str) -> list[str]:
        return [w for w in self._synsets[key].words if "_" not in w and w.islower() and w.isalpha()]

    def _read_data(self, path: Path, part: str) -> None:
        for line in path.read_text().splitlines():
            if line.startswith("  "):
                continue
            cells = line.split("|")[0].split()
            count = int(cells[3], 16)
            synset = _Synset([w.split("(")[0] for w in cells[4 : 4 + 2 * count : 2]])
            key = part + cells[0]
            pointers = cells[5 + 2 * count :]
            for i in range(int(cells[4 + 2 * count])):
                symbol, offset, kind, places = pointers[4 * i : 4 * i + 4]
                target = ("a" if kind == "s" else kind) + offset
                if symbol in ("@", "@i"):
                    synset.hypernyms.append(target)
                    self._children[target].append(key)
                elif symbol == "!":
                    synset.antonyms.append((int(places[:2], 16), target, int(places[2:], 16)))
            self._synsets[key] = synset

    def _read_index(self, path: Path, part: str) -> None:
        for line in path.read_text().splitlines():
            if line.startswith("  "):
                continue
            cells = line.split()
            count = int(cells[2])
            self._senses[cells[0], part] = [part + offset for offset in cells[-count:]]
