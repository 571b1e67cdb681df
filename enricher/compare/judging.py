"""Judge matched pairs: what is known is not asked again, and every verdict is kept before the next one counts."""

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from enricher.compare.matching import Matched
from enricher.pipeline import input_hash
from enricher.progress import Reporter
from enricher.seams import Executor, PairJudge
from enricher.steps.confirmation import Confirmation
from enricher.steps.redaction import RedactionRules, redact_verdict
from enricher.steps.segmentation import split_item
from enricher.steps.verification import flag_injection
from enricher.store.pairs import PairBook, PairRecord, pair_record_id
from enricher.trace import Pair
from enricher.trust import Setting
from enricher.verdict import Certainty, PairwiseResult, Preference, Side, Status, Verdict

POSITION_BIAS = "position_bias"
UNCONFIRMED = "unconfirmed"  # the judge disagrees with people, or is not the calibrated one
# What keeps a preference from being accepted without a person. Orders that disagree are a tie, which is accepted.
_HELD_BY_FLAG = ("dimensions_inconsistent", "no_context", "flag_misplaced")


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One pair with its verdict."""

    matched: Matched
    verdict: Verdict
    reasons: tuple[str, ...] = ()  # why people should look at it
    record: PairRecord | None = None
    is_recalled: bool = False  # the verdict was known; no judge was called

    @property
    def pair(self) -> Pair:
        """Return the answers."""
        return self.matched.pair

    @property
    def result(self) -> PairwiseResult | None:
        """Return which answer is better; None when there is no verdict."""
        result = self.verdict.result
        return result if isinstance(result, PairwiseResult) else None

    @property
    def is_accepted(self) -> bool:
        """Tell whether the preference counts without a person having looked at it."""
        return self.result is not None and all(reason == POSITION_BIAS for reason in self.reasons)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparing:
    """How the pairs of one comparison are judged."""

    name: str  # under which its verdicts are kept
    champion: str
    challenger: str
    judge: PairJudge
    executor: Executor
    min_confidence: float
    confirmation: Confirmation = field(default_factory=Confirmation)  # whether preferences count without a person
    book: PairBook | None = None  # None keeps nothing
    redaction: RedactionRules

    async def run(self, matched: Sequence[Matched], progress: Reporter) -> list[Compared]:
        """Judge all pairs, some at a time; return them in the order given."""
        progress.stage("comparing answers", len(matched))

        async def numbered() -> AsyncIterator[tuple[int, Matched]]:
            for entry in enumerate(matched):
                yield entry

        async def one(entry: tuple[int, Matched]) -> tuple[int, Compared]:
            return entry[0], await self.compare(entry[1])

        found: dict[int, Compared] = {}
        async for number, compared in self.executor.map(one, numbered()):
            found[number] = compared
            progress.advance()
        return [found[number] for number in sorted(found)]

    async def compare(self, matched: Matched) -> Compared:
        """Judge one pair, or recall what is known of it."""
        pair = Pair(id=matched.pair.id, a=split_item(matched.pair.a), b=split_item(matched.pair.b))
        digest = pair_hash(pair)
        if self.book is not None:
            key = pair_record_id(self.name, pair.id, self.judge.provenance.version, digest)
            known = await self.book.known(key)
            if known is not None and self.judge.is_enough(pair, known.verdict):
                reasons = self._reasons(known.verdict)
                record = replace(known, review=reasons)
                return Compared(
                    matched=matched, verdict=known.verdict, reasons=reasons, record=record, is_recalled=True
                )
        verdict = _suspected(await self.judge.judge_pair(pair), pair)
        both = replace(pair.a, answer=f"{pair.a.answer}\n{pair.b.answer}")
        verdict = redact_verdict(verdict, both, self.redaction)
        reasons = self._reasons(verdict)
        record = PairRecord(
            comparison=self.name,
            champion=self.champion,
            challenger=self.challenger,
            pair=pair,
            input_hash=digest,
            verdict=verdict,
            review=reasons,
        )
        is_kept = self.book is not None and await self.book.keep(record)
        return Compared(matched=matched, verdict=verdict, reasons=reasons, record=record if is_kept else None)

    def _reasons(self, verdict: Verdict) -> tuple[str, ...]:
        reasons = review_reasons(verdict, self.min_confidence)
        is_held = verdict.result is not None and self.confirmation.hold(Setting.of(verdict.provenance)) is not None
        return (*reasons, UNCONFIRMED) if is_held else reasons


def pair_hash(pair: Pair) -> str:
    """Digest everything a judge sees of a pair."""
    seen = [input_hash(pair.a), input_hash(pair.b)]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:32]


def review_reasons(verdict: Verdict, min_confidence: float) -> tuple[str, ...]:
    """Return the codes of what a person should look at; empty when the preference is accepted as it is."""
    result = verdict.result
    if not isinstance(result, PairwiseResult):
        is_for_people = verdict.status not in (Status.SKIPPED, Status.BUDGET_EXCEEDED)
        return (f"judge_failed:{verdict.status}",) if is_for_people else ()
    reasons = []
    if result.has_position_bias:
        reasons.append(POSITION_BIAS)
    elif result.confidence is None or result.confidence < min_confidence:
        reasons.append("low_confidence")
    if _rests_on_refuted_flags(result):
        reasons.append("disputed")
    reasons += [flag for flag in _HELD_BY_FLAG if flag in verdict.flags]
    if any(flag.startswith("injection_suspected") for flag in verdict.flags):
        reasons.append("injection_suspected")
    return tuple(reasons)


def _rests_on_refuted_flags(result: PairwiseResult) -> bool:
    """Tell whether everything that is held against the loser is something the engine does not see."""
    if result.preferred is Preference.TIE:
        return False
    loser: Side = "B" if result.preferred is Preference.A else "A"
    held = [flag for flag in result.hallucinations if flag.answer == loser]
    doubted = (Certainty.REFUTED, Certainty.DISPUTED)
    return bool(held) and all(flag.certainty in doubted for flag in held)


def _suspected(verdict: Verdict, pair: Pair) -> Verdict:
    """Flag texts that speak to the judge; those of the answers by their side."""
    names = {"A": pair.a, "B": pair.b}
    found: dict[str, None] = {}
    for side, item in names.items():
        for flag in flag_injection(item):
            kind, _, where = flag.partition(":")
            found[f"{kind}:answer_{side.lower()}" if where == "answer" else flag] = None
    return verdict.model_copy(update={"flags": tuple(dict.fromkeys((*verdict.flags, *found)))}) if found else verdict
