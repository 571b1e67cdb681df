"""Find which answers belong together: by the example they were made for, or by question and context."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from enricher.folding import folded
from enricher.judges.pairs import context_of
from enricher.trace import Item, Pair, TraceRef

Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """An answer of one side, and where a verdict on it is written."""

    item: Item
    key: str | None = None  # the example it was made for
    ref: TraceRef | None = None  # None for plain records


@dataclass(frozen=True, kw_only=True, slots=True)
class Matched:
    """Two answers that are compared."""

    pair: Pair
    champion: TraceRef | None = None
    challenger: TraceRef | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """An answer that is not compared, and why."""

    side: str  # champion, challenger, or both
    reason: str
    where: str  # trace id, example or record
    question: str = ""
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Matching:
    """What is compared, and what is not."""

    matched: tuple[Matched, ...] = ()
    unmatched: tuple[Leftover, ...] = ()
    differing: tuple[Leftover, ...] = ()  # the same question or example, but other documents
    unusable: tuple[Leftover, ...] = ()  # nothing that could be compared


def match(champion: Sequence[Candidate], challenger: Sequence[Candidate]) -> Matching:
    """Match the answers of two sides, each at most once; repeated runs of one example in their order."""
    matched: list[Matched] = []
    unmatched: list[Leftover] = []
    differing: list[Leftover] = []
    left, right = _grouped(champion, challenger)
    times: Counter[str] = Counter()
    for key in dict.fromkeys((*left, *right)):
        pairs, rest_a, rest_b = _same_context(left.get(key, []), right.get(key, []))
        for a, b in pairs:
            name = _name(key, a.item)
            times[name] += 1
            pair = Pair(id=name if times[name] == 1 else f"{name}#{times[name]}", a=a.item, b=b.item)
            matched.append(Matched(pair=pair, champion=a.ref, challenger=b.ref))
        both = min(len(rest_a), len(rest_b))
        differing += [differing_of(a, b) for a, b in zip(rest_a, rest_b, strict=False)]
        unmatched += [_alone(candidate, "champion") for candidate in rest_a[both:]]
        unmatched += [_alone(candidate, "challenger") for candidate in rest_b[both:]]
    return Matching(matched=tuple(matched), unmatched=tuple(unmatched), differing=tuple(differing))


def question_of(item: Item) -> str:
    """Return the question as it is compared."""
    return " ".join(folded(item.standalone_question or item.question or "").casefold().split())


def _grouped(
    champion: Sequence[Candidate], challenger: Sequence[Candidate]
) -> tuple[dict[Key, list[Candidate]], dict[Key, list[Candidate]]]:
    """Group both sides by example where both know theirs, and by question otherwise."""
    by_example = all(any(c.key is not None for c in side) for side in (champion, challenger))
    groups: tuple[dict[Key, list[Candidate]], dict[Key, list[Candidate]]] = (defaultdict(list), defaultdict(list))
    for group, side in zip(groups, (champion, challenger), strict=True):
        for candidate in side:
            has_key = by_example and candidate.key is not None
            # An answer without question or example is like no other.
            named = question_of(candidate.item) or f"{candidate.item.key}"
            group[("example", str(candidate.key)) if has_key else ("question", named)].append(candidate)
    return groups


def _same_context(
    left: Iterable[Candidate], right: Iterable[Candidate]
) -> tuple[list[tuple[Candidate, Candidate]], list[Candidate], list[Candidate]]:
    waiting: dict[frozenset[str], list[Candidate]] = defaultdict(list)
    for candidate in right:
        waiting[context_of(candidate.item)].append(candidate)
    pairs, rest = [], []
    for candidate in left:
        same = waiting[context_of(candidate.item)]
        if same:
            pairs.append((candidate, same.pop(0)))
        else:
            rest.append(candidate)
    return pairs, rest, [candidate for group in waiting.values() for candidate in group]


def _name(key: Key, item: Item) -> str:
    kind, name = key
    if kind == "example":
        return name
    seen = "\0".join((name, *sorted(context_of(item))))
    return sha256(seen.encode("utf-8", "replace")).hexdigest()[:16]


def _alone(candidate: Candidate, side: str) -> Leftover:
    return Leftover(
        side=side, reason="unmatched", where=_where(candidate), question=candidate.item.question or ""
    )  # fmt: skip


def differing_of(a: Candidate, b: Candidate) -> Leftover:
    """List two answers to one question that were generated from different documents."""
    ours, theirs = context_of(a.item), context_of(b.item)
    only = f"{len(ours - theirs)} only the champion's, {len(theirs - ours)} only the challenger's"
    detail = f"documents: {len(ours & theirs)} in common, {only}"
    where = f"{_where(a)} / {_where(b)}" if _where(a) != _where(b) else _where(a)
    return Leftover(
        side="both", reason="contexts_differ", where=where, question=a.item.question or "", detail=detail
    )  # fmt: skip


def _where(candidate: Candidate) -> str:
    return candidate.key or candidate.item.trace_id
