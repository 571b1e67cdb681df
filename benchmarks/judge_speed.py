"""Measure how many answers a second of CPU the embedded judge takes, and whether its memory stays flat.

    python benchmarks/judge_speed.py --records 100000
    python benchmarks/judge_speed.py --long           # 60 documents of 400 words, and how the time grows up to there

A record has 5 documents of 120 words and an answer of 120 words in 6 sentences; no two are the same. The floor is what
plain tokenising of the same texts with one regular expression costs in the same run. CPU time of this one process is
counted, so that other work on the machine doesn't matter.
"""

import argparse
import gc
import random
import re
import resource
import time
from pathlib import Path

from enricher.judges.local import LocalDiffJudge
from enricher.steps.segmentation import split_item
from enricher.trace import Document, Item, SpanId, TraceId


def _words(table: str) -> list[str]:
    return table.split()


def _phrases(table: str) -> list[str]:
    return [phrase.strip() for phrase in table.split("|")]


_SUBJECTS = _words(
    """supplier customer tenant landlord employee patient station museum library engine battery contract policy
    licence committee hospital pharmacy airline passenger student teacher council court ministry factory
    warehouse router server database firewall module sensor camera turbine reactor vaccine therapy protein
    enzyme river glacier forest harvest"""
)
_VERBS = _phrases(
    """must deliver|may terminate|should inspect|has replaced|will renew|
    cannot transfer|accepts|rejects|monitors|protects|
    reduces|increases|requires|supports|stores|
    releases|publishes|repairs|covers|measures"""
)
_OBJECTS = _words(
    """shipment invoice deposit warranty account report dosage temperature pressure schedule permit insurance
    voucher password certificate signal voltage sample mixture surface coating boundary pipeline bridge tunnel
    archive manuscript budget subsidy tariff quota refund penalty objection appeal hearing verdict statute
    amendment protocol interface channel"""
)
_ADJECTIVES = _words(
    """annual monthly written electronic additional original regional national seasonal temporary permanent damaged
    certified external internal primary secondary sterile digital hydraulic thermal chemical organic historic
    public private"""
)
_TAILS = _phrases(
    """within {n} days|before {day} March {year}|for {n} EUR|at {n} percent|in {city}|
    after {n} months|if the {o} is {a}|unless the {s} objects|at least {n} km away|between {n} and {m} hours|
    since {year}|by the {s} of {city}"""
)
_CITIES = _words(
    """Oslo Lisbon Turin Gdansk Leipzig Bergen Porto Ghent Malmo Graz Bilbao Tartu Aarhus Brno Lyon Cork"""
)
_ADVERBS = _words("""directly carefully usually together again there afterwards locally abroad online partly fully""")
_DOCUMENTS, _SENTENCES, _SENTENCE_WORDS, _WITH_VALUE = 5, 6, 20, 0.5
_LONG_SENTENCES, _LONG_DOCUMENTS, _LONG_RECORDS = 20, (15, 30, 60), 20
_WORD = re.compile(r"\w+")


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description="Measure the embedded judge.")
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true", help="records of 15, 30 and 60 documents of 400 words")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    if options.long:
        _measure_long(chance)
        return
    judge = LocalDiffJudge()
    # As `enricher judge` does.
    gc.set_threshold(50_000, 20, 20)
    gc.freeze()
    _judge(judge, record(chance, 0))  # tables and caches are filled by the first record
    started, judged, floor = _memory(), 0.0, 0.0
    for number in range(options.records):
        item = record(chance, number)
        made = time.process_time()
        _judge(judge, item)
        done = time.process_time()
        _tokenize(item)
        floor += time.process_time() - done
        judged += done - made
        if options.records >= 10 and (number + 1) % (options.records // 10) == 0:
            print(
                f"{number + 1:>8} records  {(number + 1) / judged:7.1f} answers/s of CPU  {_memory():6.1f} MB",
                flush=True,
            )
    print(
        f"judge  {judged / options.records * 1000:7.3f} ms a record  {options.records / judged:9.1f} answers/s of CPU"
    )
    times = f"the judge takes {judged / floor:.0f} times that"
    print(f"floor  {floor / options.records * 1000:7.3f} ms a record for plain tokenising; {times}")
    print(f"memory {started:.1f} MB after the first record, {_memory():.1f} MB at the end")


def _measure_long(chance: random.Random) -> None:
    """Show what a record costs as its context grows; linear growth is a steady cost for a thousand words."""
    judge = LocalDiffJudge()
    _judge(judge, record(chance, 0))
    for documents in _LONG_DOCUMENTS:
        items = [record(chance, n, documents=documents, sentences=_LONG_SENTENCES) for n in range(_LONG_RECORDS)]
        made = time.process_time()
        for item in items:
            _judge(judge, item)
        spent = (time.process_time() - made) / _LONG_RECORDS
        thousands = documents * _LONG_SENTENCES * _SENTENCE_WORDS / 1000
        print(
            f"{documents:>3} documents of 400 words  {spent * 1000:7.1f} ms  {1 / spent:6.1f} answers/s of CPU  "
            f"{spent * 1000 / thousands:5.2f} ms a thousand words  {_memory():6.1f} MB"
        )


def _judge(judge: LocalDiffJudge, item: Item) -> None:
    judge.verdict(split_item(item))


def _tokenize(item: Item) -> int:
    return sum(len(_WORD.findall(text)) for text in (item.answer, *(document.text for document in item.documents)))


def _memory() -> float:
    """Return the resident memory in MB: now where /proc tells, else the peak."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def record(chance: random.Random, number: int, *, documents: int = _DOCUMENTS, sentences: int = _SENTENCES) -> Item:
    """Make one record; no two are the same."""
    texts = [_text(chance, sentences) for _ in range(documents)]
    said = [sentence for text in texts for sentence in text]
    answer = [_answer_sentence(chance, said) for _ in range(_SENTENCES)]
    return Item(
        trace_id=TraceId(f"r{number}"),
        question=f"What does the {chance.choice(_SUBJECTS)} do about the {chance.choice(_OBJECTS)}?",
        documents=tuple(Document(id=f"d{n}", text=" ".join(text)) for n, text in enumerate(texts, 1)),
        answer=" ".join(answer),
        annotate_span_id=SpanId("root"),
    )


def _text(chance: random.Random, sentences: int) -> list[str]:
    return [_sentence(chance) for _ in range(sentences)]


def _sentence(chance: random.Random) -> str:
    """Return a sentence of 20 words; every second one names a value."""
    tail = (
        _tail(chance)
        if chance.random() < _WITH_VALUE
        else f"for the {chance.choice(_ADJECTIVES)} {chance.choice(_OBJECTS)}"
    )
    words = (
        f"The {chance.choice(_ADJECTIVES)} {chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} the {_thing(chance)} "
        f"{tail}, "
        f"and the {chance.choice(_SUBJECTS)} of {chance.choice(_CITIES)} {chance.choice(_VERBS)} the {_thing(chance)}"
    ).split()
    while len(words) < _SENTENCE_WORDS:
        words.append(chance.choice(_ADVERBS))
    return " ".join(words[:_SENTENCE_WORDS]) + "."


def _thing(chance: random.Random) -> str:
    return f"{chance.choice(_ADJECTIVES)} {chance.choice(_OBJECTS)}"


def _tail(chance: random.Random) -> str:
    low = chance.randrange(2, 90)
    return chance.choice(_TAILS).format(
        n=low,
        m=low + chance.randrange(1, 30),
        day=chance.randrange(1, 28),
        year=chance.randrange(1990, 2026),
        city=chance.choice(_CITIES),
        o=chance.choice(_OBJECTS),
        a=chance.choice(_ADJECTIVES),
        s=chance.choice(_SUBJECTS),
    )


def _answer_sentence(chance: random.Random, sentences: list[str]) -> str:
    """Return a sentence of the documents: as it is, with another value, shortened, or a new one."""
    source = chance.choice(sentences)
    kind = chance.randrange(4)
    if kind == 0:
        return source
    if kind == 1:
        return re.sub(r"\d+", lambda found: str(int(found.group()) + 1), source, count=1)
    if kind == 2:
        return source.replace(", and ", ", while ").replace(" must ", " may ")
    return _sentence(chance)


if __name__ == "__main__":
    main()
