"""Put masks over what the config says nobody may see: before the judge, and again before anything is written back.

A mask has the length of what it covers, so that every offset stays one into the original text, and what is verified,
shown or counted on the masked text holds for the original as well. Equal values get equal masks and different ones
different masks, however they are written: an answer that names another address than its document still contradicts it.
A mask is a tag, a code derived from the value by a keyed digest, and blanks: "TEL7KFXQ        ". It can't be read back.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from enricher.steps.personal import Hit, find, same_phone
from enricher.trace import Document, Extraction, Item, RawTrace, TraceRef, UserReport
from enricher.verdict import Annotation, Verdict

REDACTED = "redacted_by_rule"

_TAGS = {"iban": "IBAN", "card": "CARD", "national_id": "NID", "email": "MAIL", "phone": "TEL"}
# Ids are looked up by people; of a number in one nobody can tell whether it is a telephone's.
_KINDS_IN_IDS = ("email",)
_FIRST = "23456789"
_CODE = "23456789BCDFGHJKLMNPQRSTVWXZ"  # no vowels, which would make words
_SHORTEST_VALUE = 3  # characters of a field's value that is looked for in texts
_ID = re.compile(r"(?:^|_)ids?$")
# Fields of results and annotations that hold the product's own words, and ids of traces and documents.
_OURS = re.compile(
    r"(?:^|_)ids?$|^(?:locator|name|kind|provenance|judge|check|flags|found_in|trace_event_references|supported_by"
    r"|references|review|chosen_by)$"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RedactionRules:
    """What is masked. Nothing is, unless something is named."""

    kinds: tuple[str, ...] = ()  # of `personal.KINDS`
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)  # by a name, which becomes the tag
    fields: tuple[str, ...] = ()  # attributes of spans, fields of metadata; dotted, `*` stands for anything
    keys: tuple[str, ...] = ()  # in metadata at any depth, and before a value in the texts
    secret: bytes = b""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is masked."""
        return not (self.kinds or self.patterns or self.fields or self.keys)


NOTHING = RedactionRules()


def redact(extraction: Extraction, trace: RawTrace, rules: RedactionRules) -> Extraction:
    """Mask the items that were read from a trace; what is masked carries the flag `redacted_by_rule`."""
    if rules.is_empty or not extraction.items:
        return extraction
    values = tuple(_values_of_fields(trace, rules.fields))
    return replace(extraction, items=tuple(redact_item(item, rules, values) for item in extraction.items))


def redact_item(item: Item, rules: RedactionRules, values: Sequence[str] = ()) -> Item:
    """Mask one item that is not yet cut into sentences; `values` are masked wherever they stand."""
    if rules.is_empty:
        return item
    values = (*values, *_values_of_metadata(item, rules.fields))
    mask = _Mask(rules, values, tuple(_texts(item)))
    masked = replace(
        item,
        question=mask.optional(item.question),
        answer=mask.text(item.answer),
        standalone_question=mask.optional(item.standalone_question),
        history=tuple(map(mask.text, item.history)),
        documents=tuple(_document(document, mask) for document in item.documents),
        metadata=mask.tree(item.metadata, rules.fields),
    )
    return item if masked == item else replace(masked, flags=tuple(dict.fromkeys((*masked.flags, REDACTED))))


def redact_ref(ref: TraceRef, rules: RedactionRules) -> TraceRef:
    """Mask what users reported of a trace, and who they are where that shows."""
    if rules.is_empty or not (ref.reports or ref.stratum):
        return ref
    mask = _Mask(rules)
    return replace(ref, reports=tuple(_report(r, mask) for r in ref.reports), stratum=mask.optional(ref.stratum))


def redact_verdict(verdict: Verdict, item: Item, rules: RedactionRules) -> Verdict:
    """Mask what a judge said of its own accord; what it repeats of the masked item stays as it is."""
    if rules.is_empty:
        return verdict
    mask = _Mask(rules, known="\0".join(_texts(item)), ours=_OURS)
    said = verdict.model_dump(mode="python", include={"result", "failure", "raw_replies"})
    flags = verdict.flags if REDACTED not in item.flags else tuple(dict.fromkeys((*verdict.flags, REDACTED)))
    masked = mask.tree(said)
    if masked == said:
        return verdict if flags == verdict.flags else verdict.model_copy(update={"flags": flags})
    return Verdict.model_validate({**verdict.model_dump(mode="python"), **masked, "flags": flags})


def redact_annotations(annotations: Sequence[Annotation], item: Item, rules: RedactionRules) -> tuple[Annotation, ...]:
    """Mask explanations and metadata on their way out, whatever put personal data there."""
    if rules.is_empty:
        return tuple(annotations)
    mask = _Mask(rules, known="\0".join(_texts(item)), ours=_OURS)
    return tuple(
        annotation.model_copy(
            update={"explanation": mask.text(annotation.explanation), "metadata": mask.tree(annotation.metadata)}
        )
        for annotation in annotations
    )


def _document(document: Document, mask: "_Mask") -> Document:
    return replace(
        document,
        id=mask.identity(document.id),
        aliases=tuple(map(mask.identity, document.aliases)),
        text=mask.text(document.text),
        metadata=mask.tree(document.metadata, mask.rules.fields),
    )


def _report(report: UserReport, mask: "_Mask") -> UserReport:
    return replace(
        report,
        label=mask.optional(report.label),
        comment=mask.optional(report.comment),
        author=mask.optional(report.author),
    )


def _texts(item: Item) -> Iterator[str]:
    yield item.answer
    yield from (text for text in (item.question, item.standalone_question, *item.history) if text)
    yield from (document.text for document in item.documents)


# fields: where their values are


def _values_of_fields(trace: RawTrace, fields: Sequence[str]) -> Iterator[str]:
    if not fields:
        return
    for span in trace.spans:
        native = {"inputs": span.inputs, "outputs": span.outputs}
        for tree in (span.attributes, native, *(event.attributes for event in span.events)):
            yield from (text for name, text in _leaves(tree) if _is_named(name, fields))


def _values_of_metadata(item: Item, fields: Sequence[str]) -> Iterator[str]:
    if fields:
        for metadata in (item.metadata, *(document.metadata for document in item.documents)):
            yield from (text for name, text in _leaves(metadata) if _is_named(name, fields))


def _leaves(tree: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _leaves(value, name)
    elif isinstance(tree, str | int | float) and not isinstance(tree, bool):
        yield name, str(tree)


def _is_named(name: str, fields: Sequence[str]) -> bool:
    bare = name.removeprefix("metadata.")
    return any(fnmatchcase(name, pattern) or fnmatchcase(bare, pattern.removeprefix("metadata.")) for pattern in fields)


# masks


class _Stretch(NamedTuple):
    start: int
    end: int
    tag: str
    value: str


class _Mask:
    """Masks the texts of one item.

    It reads them first: a value that stands behind a key in one of them is masked wherever else it stands, and a
    telephone number is the same number with and without its country code.
    """

    def __init__(
        self,
        rules: RedactionRules,
        values: Sequence[str] = (),
        texts: Sequence[str] = (),
        *,
        known: str = "",
        ours: re.Pattern[str] | None = None,
    ) -> None:
        self.rules = rules
        self._known = known
        self._ours = ours
        self._keys = _pattern_of_keys(rules.keys)
        self._is_mask = _pattern_of_masks((*_TAGS.values(), "FIELD", *map(_tag, rules.patterns)))
        keyed = (stretch.value for text in texts for stretch in self._behind_keys(text))
        self._values = _pattern_of(tuple(sorted({*values, *keyed}, key=lambda value: (-len(value), value))))
        numbers = (hit.value for text in texts for hit in find(text, ("phone",))) if "phone" in rules.kinds else ()
        self._phones = sorted(number for number in numbers if number.startswith("+"))

    def optional(self, text: str | None) -> str | None:
        """Mask a text, if there is one."""
        return None if text is None else self.text(text)

    def text(self, text: str) -> str:
        """Mask a text; a text that was masked before has nothing more to hide."""
        if not text or (self._known and text in self._known):
            return text
        return self._masked(text, self.rules.kinds)

    def identity(self, text: str) -> str:
        """Mask what an id gives away."""
        return self._masked(text, [kind for kind in self.rules.kinds if kind in _KINDS_IN_IDS])

    def _masked(self, text: str, kinds: Sequence[str]) -> str:
        masked = _covered(text, self._stretches(text, self._found(text, kinds)), self.rules.secret)
        # Again, because a mask may set free what was glued to the value it covers.
        while masked != text and (freed := self._stretches(masked, self._personal(masked, kinds))):
            masked = _covered(masked, freed, self.rules.secret)
        return masked

    def tree(self, tree: Any, fields: Sequence[str] = (), name: str = "") -> Any:
        """Mask the texts of a nested value, and as a whole the values of the named fields and keys."""
        if isinstance(tree, Mapping):
            return {
                key: self._branch(value, fields, f"{name}.{key}" if name else str(key)) for key, value in tree.items()
            }
        if isinstance(tree, list | tuple):
            return type(tree)(self.tree(value, fields, name) for value in tree)
        return self.text(tree) if isinstance(tree, str) else tree

    def _branch(self, value: Any, fields: Sequence[str], name: str) -> Any:
        key = name.rpartition(".")[2]
        if key.casefold() in map(str.casefold, self.rules.keys) or _is_named(name, fields):
            return _hidden(value, self.rules.secret)
        if self._ours is not None and self._ours.search(key):
            return value
        return self.identity(value) if isinstance(value, str) and _ID.search(key) else self.tree(value, fields, name)

    def _stretches(self, text: str, found: Iterator[_Stretch]) -> list[_Stretch]:
        taken: list[_Stretch] = []
        for stretch in found:
            is_free = all(stretch.end <= other.start or stretch.start >= other.end for other in taken)
            if is_free and not self._is_mask.fullmatch(text, stretch.start, stretch.end):
                taken.append(stretch)
        return sorted(taken)

    def _found(self, text: str, kinds: Sequence[str]) -> Iterator[_Stretch]:
        """Yield what is to be masked; what comes first has the precedence."""
        yield from self._behind_keys(text)
        if self._values is not None:
            for found in self._values.finditer(text):
                yield _Stretch(*found.span(), "FIELD", _plain(found.group()))
        for name, pattern in self.rules.patterns.items():
            for found in pattern.finditer(text):
                group = 1 if pattern.groups and found[1] is not None else 0
                if found[group]:
                    yield _Stretch(*found.span(group), _tag(name), _plain(found[group]))
        yield from self._personal(text, kinds)

    def _personal(self, text: str, kinds: Sequence[str]) -> Iterator[_Stretch]:
        for hit in find(text, kinds):
            yield _Stretch(hit.start, hit.end, _TAGS[hit.kind], self._one_way(hit))

    def _behind_keys(self, text: str) -> Iterator[_Stretch]:
        for found in self._keys.finditer(text) if self._keys else ():
            group = found.lastgroup or "plain"
            value = found[group].rstrip().rstrip(".")
            yield _Stretch(found.start(group), found.start(group) + len(value), "FIELD", _plain(value))

    def _one_way(self, hit: Hit) -> str:
        if hit.kind != "phone" or hit.value.startswith("+"):
            return hit.value
        return next((phone for phone in self._phones if same_phone(phone, hit.value)), hit.value)


def _covered(text: str, stretches: Sequence[_Stretch], secret: bytes) -> str:
    parts, at = [], 0
    for start, end, tag, value in stretches:
        parts += [text[at:start], mask_for(tag, value, end - start, secret)]
        at = end
    return "".join((*parts, text[at:])) if parts else text


def mask_for(tag: str, value: str, length: int, secret: bytes = b"") -> str:
    """Make the mask of a value: where there is room a tag, then a code, then blanks up to the length."""
    digest = int.from_bytes(hmac.digest(secret or b"trace-enricher", f"{tag}:{value}".encode(), "sha256"))
    # Seven characters always fit what can be written in more than one way, so that all its masks read the same.
    size = 7 if tag == "TEL" else len(tag) + 6
    head = tag if length >= size else _letter(digest)
    code = ""
    while len(head) + len(code) < min(length, size):
        digest, rest = divmod(digest, len(_CODE if code else _FIRST))
        code += (_CODE if code else _FIRST)[rest]
    return (head + code)[:length].ljust(length)


def _letter(digest: int) -> str:
    return _CODE[8:][(digest >> 200) % len(_CODE[8:])]


def _hidden(value: Any, secret: bytes) -> Any:
    if isinstance(value, Mapping):
        return {key: _hidden(each, secret) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_hidden(each, secret) for each in value)
    return (
        value
        if value is None or isinstance(value, bool)
        else mask_for("FIELD", _plain(str(value)), len(str(value)), secret)
    )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


@lru_cache(maxsize=64)
def _tag(name: str) -> str:
    return re.sub(r"[^A-Z]", "", name.upper())[:6] or "X"


@lru_cache(maxsize=256)
def _pattern_of(values: tuple[str, ...]) -> re.Pattern[str] | None:
    words = [value.split() for value in values if len(value.strip()) >= _SHORTEST_VALUE]
    if not words:
        return None
    written = "|".join(r"\s+".join(map(re.escape, each)) for each in words)
    return re.compile(rf"(?<!\w)(?:{written})(?!\w)", re.I)


@lru_cache(maxsize=16)
def _pattern_of_masks(tags: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(tags)})[{_FIRST}][{_CODE}]{{3,5}}\s*[\"',;]?")


@lru_cache(maxsize=16)
def _pattern_of_keys(keys: tuple[str, ...]) -> re.Pattern[str] | None:
    if not keys:
        return None
    names = "|".join(map(re.escape, keys))
    return re.compile(
        rf"(?<![\w])[\"']?(?:{names})[\"']?\s*[:=]\s*"
        r"(?:\"(?P<double>(?:[^\"\\\n]|\\.)+)\"|'(?P<single>[^'\n]+)'|(?P<plain>[^\s,;\"'{}\[\]][^\n,;{}\[\]]*))",
        re.I,
    )


def secret_of(text: str) -> bytes:
    """Turn what the operator set as secret into a key."""
    return hashlib.sha256(text.encode()).digest() if text else b""
