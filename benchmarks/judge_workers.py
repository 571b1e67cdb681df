"""`enricher judge`, or with --run a whole `enricher run`, on one core and on several: how much sooner is it done?

    python benchmarks/judge_workers.py [--run] [--records 1000] [--workers 2] [--repeat 3]

Both run as commands over the same file of records of 5 x 120 words, in turn, and must write the same rows; a run with
several workers writes them as they come. Of --repeat the best counts. Where the machine is shared, the clock says
little; then `at best` tells: the ratio that the CPU time of both allows if every worker has a core of its own.
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


def judge(source: Path, output: Path, workers: int) -> list[str]:
    """Return the command that judges the records."""
    return ["judge", str(source), "-o", str(output), "--workers", str(workers)]


def run(source: Path, output: Path, workers: int) -> list[str]:
    """Return the command that runs a job over the records, from a new store."""
    config = output.with_suffix(".yaml")
    store = output.with_suffix(".db")
    for file in (output, store):
        file.unlink(missing_ok=True)
    files = {"kind": "files", "paths": [str(source)], "output": str(output)}
    job = {"connection": "files", "projects": "all", "rules": [{"name": "all"}]}
    document = {"store": f"sqlite:///{store}", "workers": workers, "connections": {"files": files}}
    config.write_text(json.dumps({**document, "jobs": {"all": job}}))
    return ["run", "--config", str(config)]


def measured(command: list[str]) -> tuple[float, float]:
    """Run a command; return the seconds by the clock and of CPU."""
    before, began = _children(), time.perf_counter()
    subprocess.run([_ENRICHER, *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began, _children() - before


def rows(output: Path, *, in_order: bool) -> list[str]:
    """Return what was written, but not when."""
    found = [{**json.loads(line), "written_at": None} for line in output.read_text().splitlines()]
    lines = [json.dumps(row, sort_keys=True) for row in found]
    return lines if in_order else sorted(lines)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="a whole run with its store, not enricher judge")
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
                took = measured((run if options.run else judge)(source, outputs[workers], workers))
                known = best.get(workers, took)
                best[workers] = (min(took[0], known[0]), min(took[1], known[1]))
        alone, shared = (rows(outputs[workers], in_order=not options.run) for workers in (1, options.workers))
        if alone != shared:
            raise SystemExit("the rows differ")
    print(f"{'workers':>8} {'wall s':>8} {'CPU s':>8} {'times faster':>13} {'at best':>8}")
    for workers, (wall, cpu) in best.items():
        ratio, possible = best[1][0] / wall, workers * best[1][1] / cpu
        print(f"{workers:>8} {wall:>8.2f} {cpu:>8.2f} {ratio:>13.2f} {possible:>8.2f}")


if __name__ == "__main__":
    main()
