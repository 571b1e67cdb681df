"""The filter language of LangSmith: a strict reader and an evaluator over one run.

Known: `eq neq gt gte lt lte has in like search and or`, strings in either quote, numbers, `null true false`, lists.
Clauses on `feedback_*`, `metadata_*`, `input_*` and `output_*` that stand side by side in one `and` speak of the same
feedback (or metadata pair ...). `not` and `exists` belong to dataset examples only and are refused, like anything else.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
        |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
        |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
        |(?P<mark>[()\[\],]))""",
    re.VERBOSE,
)
_WORDS: Mapping[str, Any] = {"null": None, "true": True, "false": False}
_PAIRS = ("feedback", "metadata", "input", "output")
_PLAIN_FIELDS = {
    "id", "name", "run_type", "status", "error", "start_time", "end_time", "latency", "total_tokens", "prompt_tokens",
    "completion_tokens", "total_cost", "prompt_cost", "completion_cost", "tags", "trace_id", "thread_id", "is_root",
    "first_token_time", "reference_example_id",
}  # fmt: skip
_PAIR_FIELDS = frozenset(
    {"feedback_key", "feedback_score"} | {f"{p}_{q}" for p in _PAIRS[1:] for q in ("key", "value")}
)
_COMPARATORS = {"eq", "neq", "gt", "gte", "lt", "lte", "has", "in", "like"}


class FilterError(ValueError):
    """The expression is not of the language."""


@dataclass(frozen=True)
class Clause:
    """One comparison of a field with a value."""

    comparator: str
    field: str
    value: Any

    @property
    def pair(self) -> str | None:
        """Name the kind of pair the clause speaks of, if any."""
        return self.field.partition("_")[0] if self.field in _PAIR_FIELDS else None


@dataclass(frozen=True)
class Group:
    """`and` or `or` over clauses and groups."""

    word: str
    parts: tuple["Clause | Group", ...]


Expression = Clause | Group


@dataclass(frozen=True)
class Facts:
    """What an expression can see of a run."""

    fields: Mapping[str, Any]  # plain fields, with `latency` in seconds
    feedback: Iterable[Mapping[str, Any]] = ()
    text: str = ""  # what `search` looks through
    pairs: Callable[[str], Iterable[tuple[str, Any]]] = lambda _kind: ()


def parse(text: str) -> Expression:
    """Read an expression, or raise FilterError with the place where it breaks the language."""
    reader = _Reader(text)
    expression = reader.expression()
    reader.end()
    return expression


def matches(expression: Expression, facts: Facts) -> bool:
    """Tell whether a run meets an expression."""
    if isinstance(expression, Clause):
        if expression.pair:
            return any(_meets_pair([expression], one) for one in _candidates(expression.pair, facts))
        return _meets(expression, facts)
    if expression.word == "or":
        return any(matches(part, facts) for part in expression.parts)
    return _all(expression.parts, facts)


def clauses(expression: Expression) -> Iterator[Clause]:
    """Yield every comparison in an expression."""
    if isinstance(expression, Clause):
        yield expression
    else:
        for part in expression.parts:
            yield from clauses(part)


def trace_ids_named(expression: Expression) -> set[str] | None:
    """Return the only trace ids that can match, when the expression narrows them; None when it doesn't."""
    if isinstance(expression, Group):
        narrowed = [ids for part in expression.parts if (ids := trace_ids_named(part)) is not None]
        return set.intersection(*narrowed) if narrowed and expression.word == "and" else None
    if expression.field == "trace_id" and expression.comparator in ("eq", "in"):
        value = expression.value
        return {str(v) for v in value} if isinstance(value, list) else {str(value)}
    return None


def _all(parts: Iterable[Expression], facts: Facts) -> bool:
    paired: dict[str, list[Clause]] = {}
    for part in parts:
        if isinstance(part, Clause) and part.pair:
            paired.setdefault(part.pair, []).append(part)
        elif not matches(part, facts):
            return False
    return all(any(_meets_pair(group, one) for one in _candidates(kind, facts)) for kind, group in paired.items())


def _candidates(kind: str, facts: Facts) -> Iterable[Mapping[str, Any]]:
    if kind == "feedback":
        return [{"feedback_key": f.get("key"), "feedback_score": f.get("score")} for f in facts.feedback]
    return [{f"{kind}_key": key, f"{kind}_value": value} for key, value in facts.pairs(kind)]


def _meets_pair(group: Iterable[Clause], candidate: Mapping[str, Any]) -> bool:
    return all(_compare(one.comparator, candidate.get(one.field), one.value) for one in group)


def _meets(clause: Clause, facts: Facts) -> bool:
    if clause.comparator == "search":
        return str(clause.value).lower() in facts.text.lower()
    actual = facts.fields.get(clause.field)
    if clause.field == "tags":
        held = clause.value in (actual or ())
        return held if clause.comparator in ("has", "eq") else not held
    wanted = _seconds(clause.value) if clause.field == "latency" else clause.value
    return _compare(clause.comparator, actual, wanted)


def _compare(comparator: str, actual: Any, wanted: Any) -> bool:
    if comparator in ("eq", "has"):
        return _same(actual, wanted)
    if comparator == "neq":
        return not _same(actual, wanted)
    if comparator == "in":
        return any(_same(actual, one) for one in wanted)
    if comparator == "like":
        pattern = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in str(wanted))
        return actual is not None and re.fullmatch(pattern, str(actual), re.DOTALL | re.IGNORECASE) is not None
    if actual is None or wanted is None:
        return False  # a missing score is never below anything
    left, right = (actual, wanted) if _is_number(actual) and _is_number(wanted) else (str(actual), str(wanted))
    return bool({"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[comparator])


def _same(actual: Any, wanted: Any) -> bool:
    if actual is None or wanted is None:
        return actual is wanted
    if isinstance(wanted, bool) or isinstance(actual, bool):
        return _as_text(actual) == _as_text(wanted)
    if _is_number(actual) and _is_number(wanted):
        return float(actual) == float(wanted)
    return _as_text(actual) == _as_text(wanted)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seconds(value: Any) -> Any:
    if isinstance(value, str) and (found := re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", value)):
        return float(found[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[found[2]]
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tokens = list(self._cut())
        self._next = 0

    def _cut(self) -> Iterator[tuple[str, str]]:
        while self._text[self._at :].strip():
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                raise FilterError(f"Invalid filter at position {self._at}: {self._text[self._at : self._at + 20]!r}")
            self._at = found.end()
            kind = str(found.lastgroup)
            yield kind, found[kind]

    def _take(self, expected: str | None = None) -> tuple[str, str]:
        if self._next >= len(self._tokens):
            raise FilterError(f"Invalid filter: it ends where {expected or 'something'} is expected")
        token = self._tokens[self._next]
        if expected is not None and token[1] != expected:
            raise FilterError(f"Invalid filter: {expected!r} expected, {token[1]!r} found")
        self._next += 1
        return token

    def _peek(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def end(self) -> None:
        if self._next < len(self._tokens):
            raise FilterError(f"Invalid filter: {self._peek()!r} after its end")

    def expression(self) -> Expression:
        kind, word = self._take()
        if kind != "name":
            raise FilterError(f"Invalid filter: a comparator is expected, {word!r} found")
        self._take("(")
        if word in ("and", "or"):
            parts = [self.expression()]
            while self._peek() == ",":
                self._take(",")
                parts.append(self.expression())
            self._take(")")
            return Group(word, tuple(parts))
        clause = self._clause(word)
        self._take(")")
        return clause

    def _clause(self, word: str) -> Clause:
        if word == "search":
            return Clause("search", "", self._string("search"))
        if word not in _COMPARATORS:
            raise FilterError(f"Invalid filter: unknown comparator {word!r}")
        kind, field = self._take()
        if kind != "name" or field not in _PLAIN_FIELDS | _PAIR_FIELDS:
            raise FilterError(f"Invalid filter: unknown attribute {field!r}")
        self._take(",")
        value = self._value()
        if (word == "in") != isinstance(value, list):
            raise FilterError(f"Invalid filter: {word} does not take {value!r}")
        if word == "has" and field not in ("tags", "feedback_key", "metadata_key", "input_key", "output_key"):
            raise FilterError(f"Invalid filter: has does not apply to {field!r}")
        return Clause(word, field, value)

    def _string(self, word: str) -> str:
        kind, text = self._take()
        if kind != "string":
            raise FilterError(f"Invalid filter: {word} takes a string, {text!r} found")
        return _unquote(text)

    def _value(self) -> Any:
        kind, text = self._take()
        if kind == "string":
            return _unquote(text)
        if kind == "number":
            return float(text) if any(c in text for c in ".eE") else int(text)
        if kind == "name" and text in _WORDS:
            return _WORDS[text]
        if text == "[":
            values = []
            while self._peek() != "]":
                values.append(self._value())
                if self._peek() == ",":
                    self._take(",")
            self._take("]")
            return values
        raise FilterError(f"Invalid filter: a value is expected, {text!r} found")


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unquote(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else _ESCAPED.get(m[1], m[1]), text[1:-1])
