"""Read the raw reply of a model: exactly one JSON object, or a status that says why there is none.

Forgiven are wrappings that change nothing (fences, prose, a BOM, reasoning blocks, trailing commas, an object inside a
JSON string). Never forgiven is anything that would need a guess: a cut reply is not closed, of two verdicts none is
chosen, a label of another judge is not translated. Failure texts never carry words of the reply: they go to logs.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import json_repair

from enricher.verdict import Status

E = TypeVar("E", bound=StrEnum)

_REASONING = re.compile(r"\s*<(think|thinking|reasoning|reflection)>.*?</\1>", re.S | re.I)
_OPEN_REASONING = re.compile(r"\s*<(?:think|thinking|reasoning|reflection)>", re.I)
_CLOSE_REASONING = re.compile(r"</(?:think|thinking|reasoning|reflection)>", re.I)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final(?:\s*<\|constrain\|>\w+)?<\|message\|>")
_STRUCTURE = re.compile(r'["{}\[\]]|\\.', re.S)
_OBJECT_START = re.compile(r"\{(?=\s*(?:[\"'“}]|//|/\*))")
_REFUSAL = re.compile(
    r"""\W*(?:(?:i['’]?m|i\s+am|we['’]?re)\s+(?:very\s+|really\s+)?(?:sorry|afraid|unable|not\s+able)\b
    |(?:i|we)\s+(?:can['’]?t|can\s?not|won['’]?t|will\s+not|must\s+decline|decline|refuse|am\s+not\s+comfortable)\b
    |(?:sorry|apologies|unfortunately)\b[^{]{0,40}\b(?:can['’]?t|cannot|unable|not\s+able|won['’]?t)\b
    |as\s+an?\s+(?:ai|language\s+model)\b|(?:this|the)\s+(?:request|content)\s+(?:violates|goes\s+against|was\s+blocked)
    |(?:es\s+tut\s+mir\s+leid|leider\s+kann\s+ich|ich\s+kann\s+(?:\w+\s+){0,6}nicht|dabei\s+kann\s+ich)\b
    |(?:je\s+(?:suis\s+désolé|ne\s+(?:peux|suis)\s+pas)|désolé)|(?:lo\s+siento|no\s+puedo)\b
    |(?:mi\s+dispiace|non\s+posso)\b|(?:desculpe|não\s+posso|sinto\s+muito)\b|(?:извините|я\s+не\s+могу)
    |(?:抱歉|对不起|很抱歉|我无法|我不能|申し訳|すみません|お手伝いできません|죄송|عذرا|آسف))""",
    re.I | re.X,
)
_LABEL = re.compile(r"[A-Z]{1,12}(?:_[A-Z]{1,12}){0,2}")
_FIGURE = re.compile(r"[-+]?\d{1,6}(?:[./,]\d{1,6})?%?")
_ID = re.compile(r"(?:[a-z]{0,8}[-_]?\d{1,4})(?:\.s\d{1,4})?")
_NO_VERDICT = frozenset({"", "N/A", "NA", "NULL", "UNKNOWN", "NOT_APPLICABLE", "NOT APPLICABLE", "-", "-1"})


class ReplyObject(NamedTuple):
    """The one JSON object of a reply; `is_repaired` when strict JSON reading alone would not have found it."""

    value: Mapping[str, Any]
    is_repaired: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Unusable:
    """Why a reply holds no verdict; `problem` is also what the model is told as PREVIOUS_ERROR."""

    status: Status
    problem: str
    missing: tuple[str, ...] = ()  # segments without a verdict, when the status is JUDGE_INCOMPLETE
    flags: tuple[str, ...] = ()
    is_broken_off: bool = False  # in the middle, although the model says that it had ended


class _Conflict(ValueError):
    """One key given twice with different values."""


def read_object(
    content: str | None,
    *,
    keys: Collection[str],
    finish_reason: str | None = "stop",
    refusal: str | None = None,
) -> ReplyObject | Unusable:
    """Return the one object of a reply that has one of the `keys` of a verdict, or why there is none."""
    if refusal:
        return Unusable(status=Status.JUDGE_REFUSED, problem="the model refused to judge")
    if finish_reason == "length":
        return Unusable(status=Status.JUDGE_TRUNCATED, problem="the reply was cut off at the token limit")
    if finish_reason == "content_filter":
        return Unusable(status=Status.JUDGE_REFUSED, problem="a content filter withheld the reply")
    text = (content or "").lstrip("\ufeff \t\r\n").rstrip()
    if not text:
        return Unusable(status=Status.JUDGE_EMPTY, problem="the reply is empty")
    try:
        return _only_verdict(text, keys)
    except _Conflict:
        return Unusable(status=Status.JUDGE_INVALID, problem="one key is given twice with different values")


def label(value: Any, labels: type[E]) -> E | None:
    """Read a label whatever its case, spaces, hyphens or final stop; never a label that merely resembles it."""
    if not isinstance(value, str):
        return None
    members = labels.__members__
    if (exact := members.get(value)) is not None:
        return exact
    name = re.sub(r"[\s_-]+", "_", value.strip().strip(".:;,*`\"'").strip()).upper()
    return members.get(name)


def is_no_verdict(value: Any) -> bool:
    """Tell whether a label says that there is none: null, -1, "n/a"."""
    return value is None or value == -1 or (isinstance(value, str) and value.strip().upper() in _NO_VERDICT)


def stated_score(value: Any) -> tuple[float | None, bool]:
    """Read a score that the judge stated; the second value tells whether it is unusable (NaN, text, off the scale)."""
    if value is None:
        return None, False
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None, True
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None, True
    return (float(value), False) if 0 <= value <= 1 else (None, True)


def score_flags(value: Any, computed: float | None) -> tuple[float | None, tuple[str, ...]]:
    """Compare a stated score with the computed one; return it for the record and the flags it earns."""
    stated, is_invalid = stated_score(value)
    if is_invalid:
        return None, ("judge_score_invalid",)
    is_off = stated is not None and (computed is None or abs(stated - computed) > 0.005)
    return stated, ("judge_score_inconsistent",) if is_off else ()


def shown(value: Any) -> str:
    """Describe a value of the reply without repeating words that may be personal: labels, figures and ids only."""
    if isinstance(value, bool) or value is None or isinstance(value, int | float):
        return json.dumps(value) if not isinstance(value, float) or math.isfinite(value) else "a number that is none"
    if isinstance(value, str):
        harmless = _LABEL.fullmatch(value) or _FIGURE.fullmatch(value) or _ID.fullmatch(value)
        return f'"{value}"' if harmless else f"a text of {len(value)} characters"
    return f"a {'list' if isinstance(value, list) else 'nested object'}"


def one_text(value: Any, limit: int = 2000) -> str:
    """Read a text for people; anything else counts as none."""
    return clean(value.strip()[:limit]) if isinstance(value, str) else ""


def clean(text: str) -> str:
    """Replace what no database or HTTP body takes: lone surrogates and NUL."""
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    return whole.replace("\0", "")


def _only_verdict(text: str, keys: Collection[str]) -> ReplyObject | Unusable:
    whole = _strict(text)
    if isinstance(whole, str):  # an object inside a JSON string
        inner = _strict(whole.strip())
        return _chosen([inner], keys, whole, is_repaired=True) if isinstance(inner, dict) else _no_object(whole)
    if isinstance(whole, dict):
        return _chosen([whole], keys, text, is_repaired=False)
    visible = _without_reasoning(text)
    if visible is None:
        return Unusable(status=Status.JUDGE_EMPTY, problem="the reply holds nothing but reasoning")
    spans = list(_spans(visible))
    if spans and not spans[-1][1]:
        problem = "the JSON object has no end"
        return Unusable(status=Status.JUDGE_PARSE_ERROR, problem=problem, is_broken_off=True)
    read = [_loads(visible[start:end]) for start, end in spans]
    values = [value for value, _ in read]
    chosen = _chosen(values, keys, visible, is_repaired=any(repaired for _, repaired in read))
    # A broken object beside a whole one may be the real verdict, and the whole one a quotation from the answer.
    broken = (visible[start:end] for (start, end), value in zip(spans, values, strict=True) if value is None)
    if isinstance(chosen, ReplyObject) and any(key in piece for piece in broken for key in keys):
        return _ambiguous(2)
    return chosen


def _chosen(found: list[Any], keys: Collection[str], text: str, *, is_repaired: bool) -> ReplyObject | Unusable:
    verdicts = [_unwrapped(value, keys) for value in found if isinstance(value, dict)]
    verdicts = [value for value in verdicts if _is_verdict(value, keys)]
    if len(verdicts) > 1:
        return _ambiguous(len(verdicts))
    if verdicts:
        return ReplyObject(verdicts[0], is_repaired)
    if any(value == {} for value in found):
        return Unusable(status=Status.JUDGE_EMPTY, problem="the reply is an empty object")
    if any(isinstance(value, dict) for value in found):
        wanted = "', '".join(sorted(keys))
        return Unusable(status=Status.JUDGE_PARSE_ERROR, problem=f"the JSON object has no '{wanted}'")
    if any(value is None for value in found):
        return Unusable(status=Status.JUDGE_PARSE_ERROR, problem="the JSON object is malformed")
    return _no_object(text)


def _ambiguous(number: int) -> Unusable:
    problem = f"the reply holds {number} verdict objects; exactly one is allowed"
    return Unusable(status=Status.JUDGE_AMBIGUOUS, problem=problem, flags=("injection_suspected",))


def _no_object(text: str) -> Unusable:
    if _REFUSAL.match(text):
        return Unusable(status=Status.JUDGE_REFUSED, problem="the model refused to judge")
    problem = f"there is no JSON object in the reply of {len(text)} characters"
    return Unusable(status=Status.JUDGE_PARSE_ERROR, problem=problem)


def _is_verdict(value: Mapping[str, Any], keys: Collection[str]) -> bool:
    # A schema has the same words inside its properties, so that an echo of it is recognised by its own keys.
    return any(key in value for key in keys) and not ("properties" in value and "type" in value)


def _unwrapped(value: dict[str, Any], keys: Collection[str]) -> dict[str, Any]:
    if len(value) == 1 and not _is_verdict(value, keys):
        (inner,) = value.values()
        if isinstance(inner, dict) and _is_verdict(inner, keys):
            return inner
    return value


def _without_reasoning(text: str) -> str | None:
    """Cut off reasoning that comes before the reply; None if there is nothing else."""
    if final := list(_FINAL_CHANNEL.finditer(text)):
        text = text[final[-1].end() :]
    while match := _REASONING.match(text):
        text = text[match.end() :]
    if _OPEN_REASONING.match(text):
        return None
    # Some chat templates open the block in the prompt, so that only its end is in the reply.
    spans = list(_spans(text))
    for closing in reversed(list(_CLOSE_REASONING.finditer(text))):
        if not any(start <= closing.start() < end for start, end in spans):
            text = text[closing.end() :]
            break
    return text if text.strip() else None


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each outermost object begins and ends; an object that never ends, ends at 0 and is the last."""
    at = 0
    while match := _OBJECT_START.search(text, at):
        at = _balanced_end(text, match.start())
        yield match.start(), at
        if not at:
            return


def _balanced_end(text: str, start: int) -> int:
    depth, in_string = 0, False
    for match in _STRUCTURE.finditer(text, start):
        mark = match.group()
        if mark[0] == "\\":
            continue
        if mark == '"':
            in_string = not in_string
        elif not in_string:
            depth += 1 if mark in "{[" else -1
            if depth <= 0:
                return match.end()
    return 0


def _loads(piece: str) -> tuple[Any, bool]:
    value = _strict(piece)
    if value is not None:
        return value, False
    try:
        repaired = json_repair.loads(piece, skip_json_loads=True)
    except RecursionError:
        return None, True
    if isinstance(repaired, dict) and _skeleton(piece) == _skeleton(json.dumps(repaired, ensure_ascii=False)):
        # A second reading refuses what the repair may have let through: NaN, and one key given twice.
        return _strict(json.dumps(repaired)), True
    return None, True


def _skeleton(text: str) -> str:
    # What a repair must neither add nor lose: letters and digits in their order.
    decoded = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    decoded = re.sub(r"\\[nrtbf]", "", decoded).replace("None", "null")
    return "".join(char for char in decoded.casefold() if char.isalnum())


def _strict(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=str, object_pairs_hook=_unique)
    except _Conflict:
        raise
    except (ValueError, RecursionError):
        return None


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _Conflict(key)
        found[key] = value
    return found
