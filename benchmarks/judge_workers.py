"""`enricher judge` on one core and on several: how much sooner is it done, and what do the further processes cost?

    python benchmarks/judge_workers.py [--records 1000] [--workers 2] [--repeat 3]

Both run as commands over the same file of records of 5 x 120 words, in turn, and must write the same rows. Of --repeat
the best counts. Where the machine is shared, the clock says little; then `at best` tells: the ratio that the CPU time
of both allows if every worker has a core of its own.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.judge_speed import record

_ENRICHER = Path(sys.executable).parent / "enricher"


def write_records(path: Path, count: int) -> None:
    """Write so many records, no two alike."""
    chance = random.Random(5)
    with path.open("w") as file:
        for number in range(count):
            item = record(chance, number)
            documents = [{"id": document.id, "text": document.text} for document in item.documents]
            row = {"id": item.trace_id, "question": item.question, "documents": documents, "answer": item.answer}
            file.write(json.dumps(row) + "\n")


def judge(source: Path, output: Path, workers: int) -> tuple[float, float]:
    """Run the command; return the seconds by the clock and of CPU."""
    before, began = _children(), time.perf_counter()
    subprocess.run([_ENRICHER, "judge", source, "-o", output, "--workers", str(workers)], check=True, cwd=source.parent)
    return time.perf_counter() - began, _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    best: dict[int, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, outputs = Path(folder) / "in.jsonl", {}
        write_records(source, options.records)
        for _ in range(options.repeat):
            for workers in (1, options.workers):
                outputs[workers] = Path(folder) / f"out{workers}.jsonl"
                took = judge(source, outputs[workers], workers)
                known = best.get(workers, took)
                best[workers] = (min(took[0], known[0]), min(took[1], known[1]))
        if outputs[1].read_text() != outputs[options.workers].read_text():
            raise SystemExit("the rows differ")
    print(f"{'workers':>8} {'wall s':>8} {'CPU s':>8} {'times faster':>13} {'at best':>8}")
    for workers, (wall, cpu) in best.items():
        ratio, possible = best[1][0] / wall, workers * best[1][1] / cpu
        print(f"{workers:>8} {wall:>8.2f} {cpu:>8.2f} {ratio:>13.2f} {possible:>8.2f}")


if __name__ == "__main__":
    main()
