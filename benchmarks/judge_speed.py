"""Measure how many answers a second of CPU the embedded judge takes, and whether its memory stays flat.

    python benchmarks/judge_speed.py --records 100000
    python benchmarks/judge_speed.py --long           # 15 to 120 documents of 400 words, and how the time grows
    python benchmarks/judge_speed.py --processes 2    # so many at once, each on a core of its own where there is one
    python benchmarks/judge_speed.py --judges         # what each further judge of the same items costs
    python benchmarks/judge_speed.py --start          # what it costs until the first verdict of a new process

A record has 5 documents of 120 words and an answer of 120 words in 6 sentences; no two are the same. The floor is what
plain tokenising of the same texts with one regular expression costs in the same run. CPU time of this one process is
counted, so that other work on the machine matters less; `chrt -r 1 taskset -c 0 python ...` keeps it off the core.
"""

import argparse
import gc
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

from enricher.judges.local import LocalDiffJudge
from enricher.judges.local_consistency import LocalConsistencyJudge
from enricher.judges.local_faithfulness import LocalFaithfulnessJudge
from enricher.judges.local_halves import LocalHalvesJudge
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
_LONG_SENTENCES, _LONG_DOCUMENTS, _LONG_RECORDS = 20, (15, 30, 60, 120), 20
_STARTS = 5  # of each kind, of which the median is told
_ENGINE_STARTS = {
    "python": "pass",
    "and the engine": "import enricher.judges.local",
    "and its weights": "import enricher.judges.local\nfrom enricher.grounding.meaning import shipped_encoder\n"
    "shipped_encoder().encode(['One sentence.'])",
}
_WORD = re.compile(r"\w+")


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description="Measure the embedded judge.")
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true", help="records of 15 to 120 documents of 400 words")
    parser.add_argument("--processes", type=int, default=1, help="so many at once, each with --records records")
    parser.add_argument("--judges", action="store_true", help="four judges on the same items")
    parser.add_argument("--start", action="store_true", help="from nothing to the first verdict")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    if options.long:
        _measure_long(chance)
    elif options.start:
        _measure_start(chance)
    elif options.judges:
        _measure_judges(chance, min(options.records, 200))
    elif options.processes > 1:
        _measure_processes(options.processes, options.records)
    else:
        _measure(chance, options.records)


def _measure(chance: random.Random, records: int) -> None:
    judge = LocalDiffJudge()
    # As `enricher judge` does.
    gc.set_threshold(50_000, 20, 20)
    gc.freeze()
    _judge(judge, record(chance, 0))  # tables and caches are filled by the first record
    started, judged, floor = _memory(), 0.0, 0.0
    for number in range(records):
        item = record(chance, number)
        made = time.process_time()
        _judge(judge, item)
        done = time.process_time()
        _tokenize(item)
        floor += time.process_time() - done
        judged += done - made
        if records >= 10 and (number + 1) % (records // 10) == 0:
            print(
                f"{number + 1:>8} records  {(number + 1) / judged:7.1f} answers/s of CPU  {_memory():6.1f} MB",
                flush=True,
            )
    print(f"judge  {judged / records * 1000:7.3f} ms a record  {records / judged:9.1f} answers/s of CPU")
    times = f"the judge takes {judged / floor:.0f} times that"
    print(f"floor  {floor / records * 1000:7.3f} ms a record for plain tokenising; {times}")
    print(f"memory {started:.1f} MB after the first record, {_memory():.1f} MB at the end, {_peak():.1f} MB at most")


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
    print(f"memory {_peak():.1f} MB at most")


def _measure_processes(processes: int, records: int) -> None:
    """Judge in several processes at once; all begin together, and the slowest one ends the clock."""
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(_one_of, range(processes), [0] * processes))  # starts, and loads the weights
        begun = time.perf_counter()
        spent = list(pool.map(_one_of, range(processes), [records] * processes))
        took = time.perf_counter() - begun
    every = processes * records
    print(
        f"{processes} processes  {every / took:7.1f} answers/s by the clock, {every / sum(spent):7.1f} a second of CPU"
    )


def _one_of(number: int, records: int) -> float:
    """Judge records on one core; return the CPU seconds. Without records, only get ready."""
    chance, judge = random.Random(number), LocalDiffJudge()
    if not records:
        if hasattr(os, "sched_setaffinity"):
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {cores[number % len(cores)]})
        _judge(judge, record(chance, 0))
        time.sleep(0.5)  # the pool hands the next call to whoever is free: nobody shall take two
        return 0.0
    items = [record(chance, n) for n in range(records)]
    made = time.process_time()
    for item in items:
        _judge(judge, item)
    return time.process_time() - made


def _measure_judges(chance: random.Random, records: int) -> None:
    """Let four judges look at each item, one after the other, as the pipeline does."""
    judges = (LocalDiffJudge(), LocalFaithfulnessJudge(), LocalHalvesJudge(), LocalConsistencyJudge())
    for documents, sentences, count in ((_DOCUMENTS, _SENTENCES, records), (60, _LONG_SENTENCES, _LONG_RECORDS)):
        spent = dict.fromkeys((judge.provenance.judge for judge in judges), 0.0)
        for number in range(count):
            item = split_item(record(chance, number, documents=documents, sentences=sentences))
            for judge in judges:
                made = time.process_time()
                judge.verdict(item)
                spent[judge.provenance.judge] += time.process_time() - made
        told = ", ".join(f"{name} {seconds / count * 1000:.1f}" for name, seconds in spent.items())
        print(f"{documents:>3} documents: ms of CPU a record  {told}; {_memory():.1f} MB")


def _measure_start(chance: random.Random) -> None:
    """Start processes: the parts of the engine one after the other, then the command with one record."""
    for name, code in _ENGINE_STARTS.items():
        _tell_start(name, [sys.executable, "-c", code])
    item = record(chance, 0)
    row = {"id": "1", "question": item.question, "answer": item.answer}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.jsonl"
        texts = [{"id": document.id, "text": document.text} for document in item.documents]
        path.write_text(json.dumps({**row, "documents": texts}) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "enricher.cli", "judge", str(path), "-o", str(Path(folder) / "out.jsonl")]
        _tell_start("enricher judge", command)


def _tell_start(name: str, command: list[str]) -> None:
    found: list[tuple[float, float]] = []
    for _ in range(_STARTS):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took))
    cpu, clock = median(c for c, _ in found), median(t for _, t in found)
    print(f"{name:<16} {cpu:6.2f} s of CPU  {clock:6.2f} s by the clock")


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
    return _peak()


def _peak() -> float:
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
