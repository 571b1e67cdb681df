"""Measure the embedded judge on sets with human labels, against what word overlap alone reaches.

    python benchmarks/quality.py FOLDER... [--set NAME ...] [--limit 300] [--jobs 2] [--json]
                                 [--out NOW.json] [--against BEFORE.json] [--predictions FOLDER] [--operating-points]

FOLDER holds sets as JSON Lines, plain or gzip, in rows `{id, question, documents, answer, labels: {faithful, spans,
claims}}` or `{id, premise, hypothesis, label}`; files of the same name are one set. The scorer `score.py` lies in the
first folder or in the one above it. A set whose sentences are labelled has a second line, "NAME claims": each labelled
claim judged as an answer of its own.

The columns, in per cent, are area under the ROC curve, balanced accuracy, F1 of the class "not faithful" (all of them
of `faithful_probability`, at 0.5), F1 of the flagged characters, and expected calibration error over ten bins. The
floor is a logistic regression over word overlap, fitted on all the other sets, never on the one it is shown for.

`--operating-points` adds what happens at the points `balanced` and `strict`, where an answer is questioned whose
probability is below one half: the share of the questioned answers that are unfaithful (precision), the share of the
unfaithful ones that are questioned (recall), the share of the faithful ones that are questioned (false alarms), for
each line and in the mean over the lines. An answer in which nothing is checkable is never questioned.
"""

import argparse
import gzip
import importlib.util
import json
import math
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

# Read by numpy as it is loaded: the processes of --jobs take the cores, further threads would wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from enricher.judges.local import LocalDiffJudge
from enricher.records import item_of, row
from enricher.steps.segmentation import split_item
from enricher.steps.validation import cleaned
from enricher.verdict import DiffResult, Verdict

Row = dict[str, Any]
MEASURES = ("auroc", "balanced_accuracy", "f1", "span_f1", "calibration_error")
HEADINGS = ("AUROC", "bal.acc", "F1", "span F1", "ECE")
CLAIMS = " claims"
POINTS = {"balanced": "normal", "strict": "high"}  # name of an operating point, risk level of the job
_CLAIMS_PER_ROW = 4  # of the limit: so many claims are judged of a set at most
_BINS = 10
_FLAGGED_OVERLAP = 0.45  # a sentence that overlaps less is what the floor flags
_RIDGE, _STEPS = 1.0, 25  # of the floor's logistic regression
_CHUNK = 8
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


@dataclass(slots=True)
class Line:
    """A line of the table: gold rows, the engine's predictions by id, and what the floor sees of each row."""

    name: str
    gold: list[Row]
    predictions: dict[str, Row] = field(default_factory=dict)
    overlap: dict[str, list[float]] = field(default_factory=dict)  # features of the floor
    flagged: dict[str, list[Row]] = field(default_factory=dict)  # the sentences that the floor flags


def main() -> int:
    """Judge the sets and print the table."""
    parser = argparse.ArgumentParser(description="Measure the embedded judge on sets with human labels.")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--set", action="append", dest="sets", metavar="NAME", help="only this set; may be repeated")
    parser.add_argument("--limit", type=int, default=300, help="rows a set, drawn evenly; 0 takes all (default 300)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--out", type=Path, help="write the JSON here too")
    parser.add_argument("--against", type=Path, help="an earlier --out: show by how much each figure moved")
    parser.add_argument("--predictions", type=Path, help="write what was judged here, one file a line")
    parser.add_argument("--operating-points", action="store_true", help="print precision and recall of both points too")
    options = parser.parse_args()
    if not options.folders:
        print("skipped: it needs a folder of labelled sets; see python benchmarks/quality.py --help")
        return 0
    score = _scorer(options.folders[0])
    lines = list(_lines(score, options.folders, options.sets, options.limit))
    if not lines:
        print(f"no labelled set in {', '.join(map(str, options.folders))}", file=sys.stderr)
        return 2
    _judge(lines, options.jobs)
    report = {line.name: _report(score, line, [o for o in lines if _set(o) != _set(line)]) for line in lines}
    text = json.dumps(report, indent=1)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.predictions:
        _write(options.predictions, lines)
    before = json.loads(options.against.read_text(encoding="utf-8")) if options.against else None
    print(text if options.json else _table(report, before))
    if options.operating_points and not options.json:
        print("\n" + _points_table(report))
    return 0


def _scorer(folder: Path) -> ModuleType:
    path = next((p for p in (folder / "score.py", folder.parent / "score.py") if p.is_file()), None)
    spec = importlib.util.spec_from_file_location("score", path) if path else None
    if spec is None or spec.loader is None:
        raise SystemExit(f"there is no score.py in {folder} or above it")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _lines(score: ModuleType, folders: Sequence[Path], wanted: Sequence[str] | None, limit: int) -> Iterator[Line]:
    sets: dict[str, list[Row]] = {}
    for path in sorted(path for folder in folders for path in folder.glob("*.jsonl*")):
        name = path.name.split(".")[0]
        if wanted is None or name in wanted:
            sets.setdefault(name, []).extend(_read(path))
    for name, rows in sets.items():
        gold = [score.as_answer_row(r) for r in rows if "answer" in r or "premise" in r]
        labelled = [r for r in gold if r["labels"].get("faithful") is not None and r["documents"]]
        if len({r["labels"]["faithful"] for r in labelled}) == 2:
            yield Line(name, _drawn(labelled, limit))
        claims = [claim for r in labelled for claim in _claims(r)]
        is_whole = all(c["answer"] == r["answer"] for r in labelled for c in _claims(r))  # the answer is its one claim
        if not is_whole and len({c["labels"]["faithful"] for c in claims}) == 2:
            yield Line(name + CLAIMS, _drawn(claims, limit * _CLAIMS_PER_ROW))


def _read(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _claims(gold: Row) -> Iterator[Row]:
    for number, claim in enumerate(gold["labels"].get("claims") or []):
        if claim.get("label") is not None:
            documents = [d for d in gold["documents"] if not claim.get("docs") or d["id"] in claim["docs"]]
            labels = {"faithful": claim["label"] == "supported", "spans": None, "claims": None}
            own = {"id": f"{gold['id']}#c{number}", "answer": claim["text"], "documents": documents, "labels": labels}
            yield {**gold, **own}


def _drawn(rows: list[Row], limit: int) -> list[Row]:
    """Return at most `limit` rows, the same ones at every call."""
    return rows if not limit or len(rows) <= limit else random.Random(1).sample(rows, limit)


def _set(line: Line) -> str:
    return line.name.removesuffix(CLAIMS)


# ------------------------------------------------------------------ judging
def _judge(lines: Sequence[Line], jobs: int) -> None:
    tasks = [(line, gold) for line in lines for gold in line.gold]
    with ProcessPoolExecutor(jobs) as pool:
        found = pool.map(_judged, [gold for _, gold in tasks], chunksize=_CHUNK)
        for (line, gold), (prediction, overlap, flagged) in zip(tasks, found, strict=True):
            line.predictions[gold["id"]] = prediction
            line.overlap[gold["id"]], line.flagged[gold["id"]] = overlap, flagged


def _judged(gold: Row) -> tuple[Row, list[float], list[Row]]:
    """Judge one row with the engine, and look at it as the floor does."""
    documents = gold["documents"]
    if gold.get("join_documents"):
        documents = [{"id": "d1", "text": "\n".join(d["text"] for d in documents)}]
    record = {"id": gold["id"], "question": gold.get("question"), "documents": documents, "answer": gold["answer"]}
    item = split_item(cleaned(item_of(record)))
    said = [LocalDiffJudge(risk_level=level).verdict(item) for level in POINTS.values()]
    questioned = {name: _is_questioned(verdict) for name, verdict in zip(POINTS, said, strict=True)}
    prediction = {"id": gold["id"], **row(said[0]), "questioned": questioned}
    return prediction, *_overlap(gold["answer"], [d["text"] for d in documents])


def _is_questioned(verdict: Verdict) -> bool:
    probability = verdict.result.faithful_probability if isinstance(verdict.result, DiffResult) else None
    return probability is not None and probability < 0.5


def _overlap(answer: str, texts: Sequence[str]) -> tuple[list[float], list[Row]]:
    """Return the floor's features of an answer, each 0 at best, and the sentences it flags."""
    known, pairs, windows = set[str](), set[tuple[str, str]](), list[frozenset[str]]()
    for text in texts:
        words = _words(text)
        known.update(words)
        pairs.update(pairwise(words))
        sentences = [frozenset(_words(found)) for found in _SENTENCE.findall(text)]
        windows += [one | two for one, two in zip(sentences, [*sentences[1:], frozenset[str]()], strict=True)]
    words = _words(answer)
    names = [w for w in _WORD.findall(answer) if w[:1].isupper()]
    overlaps, flagged = [], []
    for found in _SENTENCE.finditer(answer):
        own = frozenset(_words(found.group()))
        if own:
            overlaps.append(max((len(own & window) / len(own) for window in windows), default=0.0))
            if overlaps[-1] < _FLAGGED_OVERLAP:
                flagged.append({"start": found.start(), "end": found.end(), "alignment_status": "UNSUPPORTED"})
    features = [
        _missing(words, known),
        _missing(list(pairwise(words)), pairs),
        1.0 - min(overlaps, default=0.0),
        1.0 - sum(overlaps) / max(1, len(overlaps)),
        _missing([w for w in words if w[0].isdigit()], known),
        _missing([name.lower() for name in names], known),
        math.log1p(len(words)) / 5,
    ]
    return features, flagged


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _missing(things: Sequence[Any], known: set[Any]) -> float:
    return sum(thing not in known for thing in things) / len(things) if things else 0.0


# ------------------------------------------------------------------ figures
def _report(score: ModuleType, line: Line, others: Sequence[Line]) -> Row:
    return {
        "n": len(line.gold),
        "faithful_share": sum(r["labels"]["faithful"] for r in line.gold) / len(line.gold),
        "local": _figures(score, line.gold, line.predictions),
        "floor": _figures(score, line.gold, _floor(line, others)) if others else dict.fromkeys(MEASURES),
        "operating_points": {name: _point(line, name) for name in POINTS},
    }


def _point(line: Line, name: str) -> Row:
    """Return precision, recall and share of false alarms of an operating point; None where nothing tells."""
    counts = Counter((line.predictions[r["id"]]["questioned"][name], r["labels"]["faithful"]) for r in line.gold)
    rightly, wrongly = counts[True, False], counts[True, True]
    return {
        "precision": _share(rightly, rightly + wrongly),
        "recall": _share(rightly, rightly + counts[False, False]),
        "false_alarms": _share(wrongly, wrongly + counts[False, True]),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _figures(score: ModuleType, gold: list[Row], predictions: dict[str, Row]) -> Row:
    found = score.faithfulness(gold, predictions, rounds=0)
    by, spans = found["by_probability"], found["spans"]
    has_spans = spans is not None and spans["gold_characters"]
    return {
        "auroc": found["auroc"],
        "balanced_accuracy": by["balanced_accuracy_gaps_wrong"],
        "f1": by["f1"],
        "span_f1": spans["f1"] if has_spans else None,
        "calibration_error": _calibration_error(gold, predictions),
        "coverage": found["coverage"],
        "precision": by["precision"],
        "recall": by["recall"],
        "by_segments": found["by_segments"]["balanced_accuracy"],
        "said_faithful": by["said_faithful"],
    }


def _calibration_error(gold: Iterable[Row], predictions: dict[str, Row]) -> float | None:
    """Return the mean gap between stated probability and share of faithful answers, over bins of equal width."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for r in gold:
        said = predictions[r["id"]].get("faithful_probability")
        if said is not None:
            bins.setdefault(min(int(said * _BINS), _BINS - 1), []).append((said, r["labels"]["faithful"]))
    total = sum(map(len, bins.values()))
    gaps = [abs(sum(p for p, _ in inside) - sum(y for _, y in inside)) for inside in bins.values()]
    return sum(gaps) / total if total else None


def _floor(line: Line, others: Sequence[Line]) -> dict[str, Row]:
    """Return what word overlap predicts; each of the other lines has the same weight in the fit."""
    x = np.array([o.overlap[r["id"]] for o in others for r in o.gold])
    y = np.array([float(r["labels"]["faithful"]) for o in others for r in o.gold])
    weights = np.array([1000.0 / len(o.gold) for o in others for _ in o.gold])
    x = np.column_stack([x, np.ones(len(x))])
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS):  # Newton
        p = 1 / (1 + np.exp(-x @ beta))
        slope = x.T @ (weights * (p - y)) + _RIDGE * beta
        beta -= np.linalg.solve((x.T * (weights * p * (1 - p))) @ x + _RIDGE * np.eye(len(beta)), slope)
    own = np.column_stack([np.array([line.overlap[r["id"]] for r in line.gold]), np.ones(len(line.gold))])
    return {
        r["id"]: {"id": r["id"], "faithful_probability": float(p), "segments": line.flagged[r["id"]]}
        for r, p in zip(line.gold, 1 / (1 + np.exp(-own @ beta)), strict=True)
    }


# ------------------------------------------------------------------ output
def _table(report: Row, before: Row | None) -> str:
    """Draw the table: the engine's figures, the floor's behind a slash, what moved in brackets."""
    width = max(map(len, report))
    rows = [f"{'set':<{width}} {'n':>5} {'true':>5}" + "".join(f"{name:>19}" for name in HEADINGS)]
    for name, found in report.items():
        cells = [_cell(found, (before or {}).get(name), measure) for measure in MEASURES]
        share = f"{100 * found['faithful_share']:.1f}"
        rows.append(f"{name:<{width}} {found['n']:>5} {share:>5}" + "".join(f"{cell:>19}" for cell in cells))
    legend = "engine/floor in per cent" + ("; in brackets what moved since" if before else "")
    return "\n".join([*rows, legend])


def _points_table(report: Row) -> str:
    """Draw what happens at the operating points, a line each and their mean."""
    width = max(map(len, report))
    titles = [f"{point} {name}" for point in POINTS for name in ("precision", "recall", "alarms")]
    rows = [f"{'set':<{width}}" + "".join(f"{title:>20}" for title in titles)]
    found = {name: [v for p in line["operating_points"].values() for v in p.values()] for name, line in report.items()}
    known = [[v for v in column if v is not None] for column in zip(*found.values(), strict=True)]
    found["mean"] = [sum(column) / len(column) if column else None for column in known]
    rows += [f"{name:<{width}}" + "".join(f"{_per_cent(v):>20}" for v in values) for name, values in found.items()]
    return "\n".join([*rows, "in per cent; alarms are the faithful answers that are questioned"])


def _cell(found: Row, before: Row | None, measure: str) -> str:
    own, floor = found["local"][measure], found["floor"][measure]
    moved = ""
    if before and own is not None and before["local"].get(measure) is not None:
        moved = f" ({100 * (own - before['local'][measure]):+.1f})"
    return f"{_per_cent(own)}/{_per_cent(floor)}{moved}" if own is not None else "-"


def _per_cent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _write(folder: Path, lines: Iterable[Line]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for line in lines:
        rows = [{**line.predictions[r["id"]], "gold": r["labels"]["faithful"]} for r in line.gold]
        text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
        (folder / f"{line.name.replace(' ', '_')}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
