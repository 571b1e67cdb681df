"""Runs the shipped entailment model: does the evidence support the claim, and which of its words are not supported?"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Tokenizer

from enricher.errors import SetupError
from enricher.grounding.lazy import lazy

FOLDER = Path(__file__).resolve().parent / "model"
MAX_TOKENS = 144  # claim and evidence together, as in training
MAX_CLAIM_TOKENS = 64
WORST_SHARE = 0.7  # of an answer's log odds that its worst claim decides; the rest is the mean of its claims
_SEPARATOR = 102
_MOST_LOG_ODDS = 6.0
_BATCH_TOKENS = 2048  # padded tokens a batch: more gains no speed on a CPU and only costs memory

Floats = NDArray[np.float32]
Pair = tuple[str, str]  # evidence, claim


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What the model says about one claim."""

    supported: float
    unsupported: float  # the evidence does not say it, or says only a part
    contradicted: float
    words: tuple[tuple[int, int, float], ...]  # start, end in the claim, probability that this token is not supported

    @property
    def peak(self) -> float:
        """Return the mean of the three least supported tokens, which one wrong name or number already raises."""
        worst = sorted((p for _, _, p in self.words), reverse=True)[:3]
        return sum(worst) / len(worst) if worst else 0.0


@dataclass(frozen=True, slots=True)
class _Encoded:
    ids: list[int]
    matches: list[int]
    claim_length: int  # with the first and last special token
    offsets: list[tuple[int, int]]


class EntailmentModel:
    """The model of one process; nothing is loaded before the first claim. Not for use by two threads at a time."""

    def __init__(self, folder: Path = FOLDER, *, threads: int = 1) -> None:
        self._folder = folder
        self._threads = threads

    @lazy
    def version(self) -> str:
        """Name the weights by the first digits of their hash."""
        return _digest(self._file("entailment.onnx"))[:12]

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Return (supported, unsupported, contradicted) probabilities, one row a pair of evidence and claim."""
        readings = self.read(pairs)
        table = [(r.supported, r.unsupported, r.contradicted) for r in readings]
        return np.array(table, dtype=np.float32).reshape(-1, 3)

    def read(self, pairs: Sequence[Pair]) -> list[Reading]:
        """Read pairs of evidence and claim, in batches of similar length; the results keep the order of the pairs."""
        encoded = [self._encode(evidence, claim) for evidence, claim in pairs]
        results: list[Reading | None] = [None] * len(encoded)
        for batch in _batches([len(e.ids) for e in encoded]):
            verdicts, tokens = self._run([encoded[i] for i in batch])
            for row, i in enumerate(batch):
                results[i] = _reading(verdicts[row], tokens[row], encoded[i])
        return [r for r in results if r is not None]

    @lazy
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._file("tokenizer.json")))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @lazy
    def _session(self) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena keeps the largest batch for ever
        return onnxruntime.InferenceSession(
            str(self._file("entailment.onnx")), options, providers=["CPUExecutionProvider"]
        )

    def _file(self, name: str) -> Path:
        path = self._folder / name
        if not path.is_file():
            raise SetupError(f"the model file '{name}' is missing from this installation; reinstall trace-enricher")
        return path

    def _encode(self, evidence: str, claim: str) -> _Encoded:
        first = self._tokenizer.encode(claim)
        ids, offsets = first.ids[:-1][: MAX_CLAIM_TOKENS + 1], first.offsets[:-1][: MAX_CLAIM_TOKENS + 1]
        second = self._tokenizer.encode(evidence, add_special_tokens=False).ids[: MAX_TOKENS - len(ids) - 2]
        found = [0, *matches(ids[1:], second), 0, *matches(second, ids[1:]), 0]
        return _Encoded([*ids, _SEPARATOR, *second, _SEPARATOR], found, len(ids) + 1, offsets)

    def _run(self, batch: Sequence[_Encoded]) -> tuple[Floats, Floats]:
        length = max(len(e.ids) for e in batch)
        ids = np.zeros((len(batch), length), dtype=np.int64)
        mask = np.zeros_like(ids)
        types = np.ones_like(ids)
        found = np.zeros_like(ids)
        for row, e in enumerate(batch):
            ids[row, : len(e.ids)] = e.ids
            mask[row, : len(e.ids)] = 1
            types[row, : e.claim_length] = 0
            found[row, : len(e.ids)] = e.matches
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "match_ids": found}
        verdicts, tokens = self._session.run(["verdict", "token"], feed)
        return verdicts, tokens


def matches(tokens: Sequence[int], others: Sequence[int]) -> list[int]:
    """Tell for each token how it recurs in the other text: 0 not at all, 1 alone, 2 with a neighbour, 3 with both.

    The model gets this as an input, because finding copies by itself is what a small encoder learns last.
    """
    if not tokens:
        return []
    single, double = set(others), set(pairwise(others))
    after = [pair in double for pair in pairwise(tokens)] + [False]
    before = [False, *after[:-1]]
    return [
        1 + left + right if token in single else 0 for token, left, right in zip(tokens, before, after, strict=True)
    ]


class SupportHead:
    """Joins what the model says with word overlap into one calibrated probability that a claim is supported."""

    def __init__(self, folder: Path = FOLDER) -> None:
        data = json.loads((folder / "head.json").read_text(encoding="utf-8"))
        self._weights: list[float] = data["weights"]
        self._bias: float = data["bias"]
        self._answer: dict[str, float] = data["answer"]

    def probability(self, reading: Reading, overlap: Sequence[float]) -> float:
        """Return the probability that the claim is fully supported; `overlap` comes from windows.overlap_features."""
        features = [*model_features(reading), *overlap]
        return _sigmoid(self._bias + sum(w * x for w, x in zip(self._weights, features, strict=True)))

    def answer_probability(self, claims: Sequence[float]) -> float:
        """Return the probability that a whole answer is faithful, from those of its claims (at least one)."""
        odds = [_log_odds(p) for p in claims]
        total = WORST_SHARE * min(odds) + (1 - WORST_SHARE) * sum(odds) / len(odds)
        return _sigmoid(self._answer["scale"] * total + self._answer["bias"])


def model_features(reading: Reading) -> list[float]:
    """Return what the head reads of the model, in its order: the verdicts, the worst tokens and the mean doubt."""
    doubts = [p for _, _, p in reading.words]
    mean = sum(doubts) / len(doubts) if doubts else 0.0
    return [_log_odds(reading.supported), _log_odds(reading.contradicted), _log_odds(reading.peak), mean]


def recorded_digest(folder: Path = FOLDER) -> str:
    """Return the SHA-256 of the weights as the model's hash file names it."""
    return (folder / "entailment.sha256").read_text(encoding="utf-8").split()[0]


def _log_odds(probability: float) -> float:
    """Return log odds within a range in which no feature can outweigh all others."""
    p = min(max(probability, 1e-6), 1 - 1e-6)
    return min(max(math.log(p / (1 - p)), -_MOST_LOG_ODDS), _MOST_LOG_ODDS)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Group pairs of similar length, so that little is padded and no batch exceeds the token budget."""
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[i] <= _BATCH_TOKENS:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _reading(verdict: Floats, token: Floats, encoded: _Encoded) -> Reading:
    shifted = np.exp(verdict - verdict.max())
    supported, unsupported, contradicted = (float(p) for p in shifted / shifted.sum())
    doubts = 1.0 / (1.0 + np.exp(-token[: len(encoded.offsets)].astype(np.float64)))
    words = tuple(
        (start, end, float(doubt)) for (start, end), doubt in zip(encoded.offsets, doubts, strict=True) if end > start
    )
    return Reading(supported=supported, unsupported=unsupported, contradicted=contradicted, words=words)
