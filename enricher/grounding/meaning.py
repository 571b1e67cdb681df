"""Tell how near a claim is in meaning to sentences of the documents: other words for the same are no invention.

A small sentence encoder (`training/CARD.md` names its origin and hash) turns each text into a vector for every token
and one for the whole. A claim is near when each of its words has a near one in some sentence, and when one sentence as
a whole is near. The encoder speaks English; nothing else is asked of it.
"""

import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from enricher.errors import SetupError
from enricher.grounding.tokens import is_function_word
from enricher.lazy import lazy

if TYPE_CHECKING:  # a run that compares nothing by meaning, with a model say, does without these 30 MB
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    Floats = NDArray[np.float32]
    Halves = NDArray[np.float16]

FOLDER = Path(__file__).resolve().parent / "model"
WEIGHTS = "encoder.onnx"
MAX_TOKENS = 128  # of one text; what stands behind them is not read
_REMEMBERED = 256  # texts, about 30 kB each: the judges of an item share its documents, and so do its claims
_SMALL_WORD = 0.15  # what a word without content counts
_WORD = re.compile(r"\w")


class Closeness(NamedTuple):
    """How near a claim is to sentences, each within -1 and 1."""

    words: float  # mean over its words of the nearest word in any sentence
    whole: float  # of the nearest sentence


class Encoded(NamedTuple):
    """A text as the encoder reads it; all vectors have unit length."""

    tokens: "Halves"  # (tokens, width), the special ones left out
    weights: "Floats"  # (tokens,)
    whole: "Floats"  # (width,)


class Encoder:
    """The weights of one process, loaded with the first text. Threads may share it."""

    def __init__(self, folder: Path = FOLDER, *, threads: int = 1) -> None:
        _settle_packages()
        self._folder = folder
        self._threads = threads
        self._known: OrderedDict[str, Encoded] = OrderedDict()
        self._lock = Lock()

    def encode(self, texts: Sequence[str]) -> dict[str, Encoded]:
        """Encode texts, each once; the latest are remembered.

        Raises SetupError when the installation lacks the weights.
        """
        wanted = dict.fromkeys(texts)
        with self._lock:
            found = {text: self._known[text] for text in wanted if text in self._known}
        found.update({text: self._computed(text) for text in wanted if text not in found})
        with self._lock:
            for text in wanted:
                self._known[text] = found[text]
                self._known.move_to_end(text)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found

    @lazy
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._file("tokenizer.json")))
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @lazy
    def _session(self) -> Any:
        import onnxruntime  # type: ignore[import-untyped]

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena keeps the largest batch for ever
        return onnxruntime.InferenceSession(str(self._file(WEIGHTS)), options, providers=["CPUExecutionProvider"])

    def _file(self, name: str) -> Path:
        path = self._folder / name
        if not path.is_file():
            raise SetupError(f"the model file '{name}' is missing from this installation; reinstall trace-enricher")
        return path

    def _computed(self, text: str) -> Encoded:
        import numpy as np

        # One text at a time: in int8, what is read together would change one another's last digits, and a verdict must
        # not depend on what was judged before. Batches would save a sixth of the time.
        read = self._tokenizer.encode(text.encode("utf-8", "replace").decode())  # it takes no lone surrogate
        ids = np.array([read.ids], dtype=np.int64)
        tokens, wholes = self._session.run(["tokens", "text"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        weights = np.array([_weight(token) for token in read.tokens[1:-1]], dtype=np.float32)
        return Encoded(tokens[0, 1:-1].astype(np.float16), weights, wholes[0].copy())


def _settle_packages() -> None:
    """Tell the packages of the encoder, which read it as they are loaded and never again, how to behave."""
    # From 1.29 on the runtime reports what it runs to its maker.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # Its matrices are small: further threads of numpy's only wait for one another, and keep all cores busy with it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@lru_cache(maxsize=1)
def shipped_encoder() -> Encoder:
    """Return the encoder of this installation; its weights are loaded once a process."""
    return Encoder()


def closeness(claim: Encoded, sentences: Sequence[Encoded]) -> Closeness | None:
    """Return how near a claim is to the nearest of the sentences; None when either side has no words."""
    import numpy as np

    known = [s for s in sentences if len(s.tokens)]
    total = float(claim.weights.sum())
    if not known or total == 0.0:
        return None
    words = np.concatenate([s.tokens for s in known]).astype(np.float32)
    nearest = (claim.tokens.astype(np.float32) @ words.T).max(axis=1)
    return Closeness(
        words=float(nearest @ claim.weights) / total, whole=max(float(claim.whole @ s.whole) for s in known)
    )


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _weight(token: str) -> float:
    return _SMALL_WORD if is_function_word(token) or not _WORD.search(token) else 1.0
