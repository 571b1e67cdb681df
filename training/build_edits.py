"""Makes pairs for one question: is this evidence restated, or was something exchanged, added, negated, misattributed?

    PYTHONPATH=.:training python training/build_edits.py JUDGE_DATA OUT.jsonl.gz [--seed 21]

Every line is {"e": evidence, "c": claim, "y": 0 supported, 1 unsupported, 2 contradicted, -1 one of the last two, "b":
broken ranges of the claim or null, "k": kind, "f": fold of the source, "d": data set}. Only `train/` is read, and of it
no row that shares a document or question with a dev set. Errors are made in rewordings as often as rewordings are left
as they are, so that the traces of rewording tell nothing.
"""

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from build_dataset import SENTENCES_A_DOCUMENT, Builder, Pair, _key
from edits import SUPPORTED, UNSUPPORTED, Claim
from judge_data import Row, fold, group_of, training_rows

SENTENCES_A_DOCUMENT.update(news=45, dialogue=2, web=20)


class EditBuilder(Builder):
    """Makes claims about sentences of the documents and about what people wrote."""

    def about_documents(self) -> Iterator[tuple[str, Pair]]:
        """Reword sentences, break as many rewordings, join sentences, and hide a few."""
        for key, docs in self.parsed.items():
            around = self.around(key)
            for doc in docs:
                for _ in range(2 if self.sort[key] == "news" else 1):
                    claim = self.editor.reword(doc)
                    base = self.parse(claim if self.rng.random() < 0.8 else doc.text)
                    yield key, self.pair(key, base.text, SUPPORTED, "reworded", source=doc.text)
                    if broken := self.editor.break_(base, around):
                        yield key, self.pair(key, broken, broken.label, broken.kind, source=doc.text)
                    if self.rng.random() < 0.06:
                        yield key, self.pair(key, claim, UNSUPPORTED, "dropped", source=doc.text, drop=True)
            for _ in range(len(docs) // 5):
                one, two = self.rng.sample(docs, 2)
                first, second = (self.parse(self.editor.reword(d)) for d in (one, two))
                broken = self.editor.break_(second, around) if self.rng.random() < 0.5 else None
                link = self.rng.choice((", and ", "; ", ". ", ", while "))
                head = first.text.rstrip(" .!?") + link
                text = head + (broken.text if broken else second.text)
                if len(text.split()) >= 50:
                    continue
                label, kind = (broken.label, f"joined_{broken.kind}") if broken else (SUPPORTED, "joined")
                made = self.pair(key, text, label, kind, source=one.text)
                made["b"] = [[a + len(head), b + len(head)] for a, b in broken.broken] if broken else []
                yield key, made

    def about_people(self) -> Iterator[tuple[Row, Pair]]:
        """Use the labelled claims, and break and reword the supported ones."""
        for row, claim, label, marks in self._labelled():
            key = _key(row)
            made = Claim(text=claim, label=label, broken=tuple(marks)) if marks else claim
            yield row, self.pair(key, made, label, f"human_{row['dataset']}")
            if label != SUPPORTED or not 4 <= len(claim.split()) <= 45:
                continue
            doc, around = self.parse(claim), self.around(key)
            for _ in range(3 if row["dataset"].startswith("bump") else 2):
                if wrong := self.editor.break_(doc, around):
                    yield row, self.pair(key, wrong, wrong.label, f"human+{wrong.kind}")
            yield row, self.pair(key, self.editor.reword(doc), SUPPORTED, "human+reworded")


def main() -> None:
    """Write the pairs, shuffled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=21)
    args = parser.parse_args()
    rows = training_rows(args.data)
    builder = EditBuilder(rows, args.seed)
    folds = {_key(row): fold(group_of(row)) for row in rows}
    sets = {_key(row): row["dataset"] for row in rows}
    pairs = []
    for key, pair in builder.about_documents():
        pairs.append({**pair, "f": folds[key], "d": sets[key]})
    for row, pair in builder.about_people():
        pairs.append({**pair, "f": fold(group_of(row)), "d": row["dataset"]})
    random.Random(args.seed).shuffle(pairs)
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        for pair in pairs:
            out.write(json.dumps(pair, ensure_ascii=False) + "\n")
    print(Counter((p["y"], p["d"][:5]) for p in pairs), len(pairs))
    for kind, count in sorted(Counter(p["k"] for p in pairs).items()):
        print(f"{kind:32}{count}")


if __name__ == "__main__":
    main()
