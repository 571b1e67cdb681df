"""Published detectors of unsupported statements, loaded from a model hub or a folder.

Three forms are known. `entailment`: a classifier of pairs (evidence, statement) with a label for entailment, such as an
NLI cross-encoder. `score`: a classifier of pairs with one output (HHEM) or two (MiniCheck), the higher the better
supported. `tokens`: a classifier of the tokens of an answer read behind its context (LettuceDetect), which marks the
unsupported ones. Foreign code and downloads happen only when the config says so.
"""

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from enricher.errors import SetupError

Form = Literal["entailment", "score", "tokens"]

_ENTAILED = ("entail", "support", "consistent", "faithful", "factual", "attributable", "grounded")
_DENIED = ("not_entail", "non_entail", "not-entail", "unsupport", "inconsistent", "unfaithful", "hallucin", "refut")
_CONTRADICTED = "contradict"
_UNBOUNDED = 100_000  # what tokenizers without a limit give as their limit is longer
_SPARE = 8  # tokens that mark the ends of the parts


class Support(NamedTuple):
    """What a detector says of a statement beside a piece of evidence."""

    supported: float  # probability
    contradicted: float = 0.0  # probability, of detectors that tell


@dataclass(frozen=True, kw_only=True, slots=True)
class HubOptions:
    """Which detector, and how it is read."""

    model: str  # a name on the hub, or a folder
    revision: str | None = None
    form: Form | None = None  # None: told by its config
    threshold: float = 0.5  # probability from which a statement counts as supported
    max_tokens: int = 512  # of one reading: evidence and statement together
    batch: int = 8
    download: bool = False  # else only what is on this machine
    run_code: bool = False  # of the model's repository, which some detectors need


class Detector:
    """A detector in memory. Not for several threads at once."""

    def __init__(self, options: HubOptions) -> None:
        self.options = options
        hub = _transformers()
        where: dict[str, Any] = {
            "revision": options.revision,
            "local_files_only": not options.download,
            "trust_remote_code": options.run_code,
        }
        config = _loaded(options, hub.AutoConfig, where)
        self.form: Form = options.form or _form_of(config)
        kind = hub.AutoModelForTokenClassification if self.form == "tokens" else hub.AutoModelForSequenceClassification
        self._tokenizer = _loaded(options, hub.AutoTokenizer, where)
        self._model = _loaded(options, kind, where)
        self._model.eval()
        self._torch = importlib.import_module("torch")
        self._labels = [str(config.id2label[number]).lower() for number in range(len(config.id2label))]
        self.snapshot = str(getattr(config, "_commit_hash", None) or options.revision or "") or None
        self.room = min(options.max_tokens, _limit(self._tokenizer, config))

    def length(self, text: str) -> int:
        """Return how many tokens a text has."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def evidence_room(self, statement: str) -> int:
        """Return how many tokens of evidence fit beside a statement."""
        return max(self.room // 4, self.room - self.length(statement) - _SPARE)

    def read_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """Return, for pairs of evidence and statement, how far the evidence supports the statement."""
        found: list[Support] = []
        for batch in _batches(pairs, self.options.batch):
            inputs = self._tokenizer(
                [evidence for evidence, _ in batch],
                [statement for _, statement in batch],
                truncation="only_first",
                max_length=self.room,
                padding=True,
                return_tensors="pt",
            )
            with self._torch.no_grad():
                logits = self._model(**inputs).logits
            found += [self._support(row) for row in logits]
        return found

    def _support(self, logits: Any) -> Support:
        if len(logits) == 1:
            return Support(float(self._torch.sigmoid(logits)[0]))
        shares = [float(share) for share in self._torch.softmax(logits, dim=-1)]
        contradicted = next((s for s, name in zip(shares, self._labels, strict=True) if _CONTRADICTED in name), 0.0)
        return Support(shares[_supported_label(self._labels)], contradicted)

    def read_answer(self, context: str, answer: str) -> list[tuple[int, int, float]]:
        """Return the tokens of an answer, read behind a context: offsets and the probability of being unsupported."""
        inputs = self._tokenizer(
            context,
            answer,
            truncation="only_first",
            max_length=self.room,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = inputs.pop("offset_mapping")[0].tolist()
        parts = inputs.sequence_ids(0)
        with self._torch.no_grad():
            shares = self._torch.softmax(self._model(**inputs).logits[0], dim=-1)
        label = next((n for n, name in enumerate(self._labels) if name.startswith(("halluc", "unsupp"))), 1)
        return [
            (start, end, float(share[label]))
            for (start, end), part, share in zip(offsets, parts, shares, strict=True)
            if part == 1 and end > start
        ]


def _transformers() -> Any:
    try:
        importlib.import_module("torch")
        return importlib.import_module("transformers")
    except ImportError as error:
        raise SetupError(f"engine hub needs {error.name}: pip install 'trace-enricher[hub]'") from error


def _loaded(options: HubOptions, kind: Any, where: dict[str, Any]) -> Any:
    try:
        return kind.from_pretrained(options.model, **where)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        if "trust_remote_code" in str(error):
            advice = "it brings code of its own; set hub.run_code if you trust it"
        elif options.download:
            advice = f"it could not be loaded: {reason}"
        else:
            advice = f"it is not on this machine, or no detector; name a folder, or set hub.download ({reason})"
        raise SetupError(f"hub.model '{options.model}': {advice}") from error


def _form_of(config: Any) -> Form:
    architectures = " ".join(getattr(config, "architectures", None) or ())
    if "TokenClassification" in architectures:
        return "tokens"
    labels = " ".join(str(label).lower() for label in config.id2label.values())
    if "SequenceClassification" not in architectures:
        named = architectures or "of no known kind"
        raise SetupError(f"hub.form: the model is {named}; say whether it is entailment, score or tokens")
    return "entailment" if "entail" in labels else "score"


def _supported_label(labels: Sequence[str]) -> int:
    """Return which output means supported; of outputs without names the last one, as in MiniCheck."""
    for number, name in enumerate(labels):
        if any(word in name for word in _ENTAILED) and not any(word in name for word in _DENIED):
            return number
    return len(labels) - 1


def _limit(tokenizer: Any, config: Any) -> int:
    known = [tokenizer.model_max_length, getattr(config, "max_position_embeddings", None)]
    return min((limit for limit in known if isinstance(limit, int) and 0 < limit < _UNBOUNDED), default=_UNBOUNDED)


def _batches(pairs: Sequence[tuple[str, str]], size: int) -> Iterator[Sequence[tuple[str, str]]]:
    for at in range(0, len(pairs), size):
        yield pairs[at : at + size]
