"""One trace from end to end, one line a step. Read this first.

select ─► pull ─► extract ─► validate ─► redact ─► judge ─► verify ─► check ─► decide ─► render ─► settle ─► deliver ...
└─── run.py ──┘   └────────────────────────────── this module ───────────────────────────────┘   └───── run.py ────┘
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from enricher.grounding.citations import check_citations
from enricher.judges.deadline import one_trace
from enricher.seams import Judge, SecondCheck, Unwatched, Watch
from enricher.steps.confirmation import Confirmation, Hold
from enricher.steps.decision import PolicyRule, decide, held, strictest
from enricher.steps.extraction import ExtractionPaths, extract
from enricher.steps.redaction import RedactionRules, redact, redact_annotations, redact_ref, redact_verdict
from enricher.steps.rendering import render
from enricher.steps.segmentation import split_item
from enricher.steps.transfer import FLAG as FROM_ANOTHER_TRACE
from enricher.steps.validation import validate
from enricher.steps.verification import verify, verify_evidence
from enricher.trace import Extraction, Item, RawTrace, Rejection, TraceRef
from enricher.verdict import Annotation, Decision, DiffResult, FaithfulnessResult, Provenance, Usage, Verdict

_PIECE = 2000  # bytes

# Looks up a final verdict of the same judge version on the same input, given with its digest; None when it has to be
# judged.
Recall = Callable[[TraceRef, Item, str, Provenance], Awaitable[Verdict | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """One item under one judge, ready to be settled."""

    item: Item
    input_hash: str  # of everything the judge saw of the item
    verdict: Verdict
    decision: Decision
    annotations: tuple[Annotation, ...]
    is_recalled: bool = False  # the verdict was known; no judge was called
    hold: Hold | None = None  # why no finding of it counts as confirmed without a person


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """All that came of one trace."""

    ref: TraceRef
    is_deferred: bool = False  # it still runs; looked at again by the next run
    rejections: tuple[Rejection, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    crash: str | None = None  # a bug of ours on this trace; the others go on


@dataclass(frozen=True, kw_only=True, slots=True)
class Judging:
    """A judge and when it runs."""

    judge: Judge
    when: tuple[str, ...] = ()  # conditions of `settings.Condition`, all of which must hold

    def is_due(self, item: Item, ref: TraceRef, risk_level: str, so_far: Sequence[Judgement]) -> bool:
        """Tell whether the item is to be judged, given what the judges before said of it."""
        holds = {
            "always": True,
            "two_documents": len(item.documents) >= 2,
            "reported": bool(ref.reports),
            "high_risk": risk_level == "high",
            "diff_finds": any(
                made.verdict.result is not None and made.verdict.result.kind == "diff" and made.verdict.result.findings
                for made in so_far
            ),
        }
        return all(holds[condition] for condition in self.when)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pipeline:
    """What a job does to each trace; everything it needs is given, nothing is looked up."""

    judges: Sequence[Judging]
    recall: Recall
    second: SecondCheck | None = None  # looks again at what a model found
    confirmation: Confirmation = field(default_factory=Confirmation)  # whether a second check's agreement counts
    policy: PolicyRule = field(default_factory=PolicyRule)
    rule_policies: Mapping[str, PolicyRule] = field(default_factory=dict)  # of rules that have one of their own
    paths: ExtractionPaths = field(default_factory=ExtractionPaths)
    redaction: RedactionRules = field(default_factory=RedactionRules)
    watch: Watch = field(default_factory=Unwatched)
    annotation_prefix: str = ""
    report_url: str | None = None
    citation_base: int | None = None  # number of the first document in the answers' markers; None infers it
    deadline_s: float | None = None  # for all calls to models about one trace

    async def enrich(self, trace: RawTrace) -> Outcome:
        """Take one pulled trace to verdicts and intended annotations; nothing is written yet."""
        if trace.still_running:
            return Outcome(ref=trace.ref, is_deferred=True)
        extraction = self.read(trace)
        items = [split_item(item) for item in extraction.items]
        ref = redact_ref(trace.ref, self.redaction)
        with one_trace(trace.ref.trace_id, self.deadline_s):
            judgements = [made for item in items for made in await self._judgements(item, ref)]
        return Outcome(ref=trace.ref, rejections=extraction.rejections, judgements=tuple(judgements))

    async def estimate(self, item: Item, ref: TraceRef) -> Usage:
        """Sum up what models would cost for an item that was read; the judges must have been made to rehearse.

        A judge that runs only on the findings of another one is left out: nobody knows of them yet.
        """
        item, total = split_item(item), Usage()
        digest = input_hash(item)
        for judging in self.judges:
            judge = judging.judge
            if judge.provenance.engine != "openai" or not judging.is_due(item, ref, self.policy.risk_level, ()):
                continue
            if await self.recall(ref, item, digest, self._provenance(judge.provenance)) is None:
                total += (await judge.judge(item)).usage
        return total

    def read(self, trace: RawTrace) -> Extraction:
        """Find question, context and answer in the spans, reject what can't be judged, mask what nobody may see."""
        return redact(validate(extract(trace, self.paths), trace), trace, self.redaction)

    async def _judgements(self, item: Item, ref: TraceRef) -> list[Judgement]:
        made: list[Judgement] = []
        digest = input_hash(item)
        for judging in self.judges:
            if judging.is_due(item, ref, self.policy.risk_level, made):
                made.append(await self._judge(item, digest, judging.judge, ref))
        return made

    async def _judge(self, item: Item, digest: str, judge: Judge, ref: TraceRef) -> Judgement:
        known = await self.recall(ref, item, digest, self._provenance(judge.provenance))
        verdict, hold = known or await self._examined(item, judge), None
        if known is None or FROM_ANOTHER_TRACE in known.flags:  # what is recorded of this very item stays as it is
            verdict, hold = self.confirmation.applied(verdict)
        policy = self._policy(ref)
        decision = decide(verdict, policy)
        annotations = render(
            held(verdict, policy), decision, item, ref, prefix=self.annotation_prefix, report_url=self.report_url
        )  # fmt: skip
        return Judgement(
            item=item,
            input_hash=digest,
            verdict=verdict,
            decision=decision,
            annotations=redact_annotations(annotations, item, self.redaction),
            is_recalled=known is not None,
            hold=hold,
        )

    async def _examined(self, item: Item, judge: Judge) -> Verdict:
        with self.watch.judging(item, judge.provenance) as tell:
            verdict = await examine(item, judge, self.second, citation_base=self.citation_base)
            verdict = redact_verdict(verdict, item, self.redaction)
            tell(verdict)
        return verdict

    def _policy(self, ref: TraceRef) -> PolicyRule:
        """Return the strictest policy among those of the rules that chose the trace; without one, the job's."""
        own = strictest(self.rule_policies[rule] for rule in ref.rules if rule in self.rule_policies)
        return own or self.policy

    def _provenance(self, provenance: Provenance) -> Provenance:
        """Name the second check in what a model's verdict rests on; the embedded engine does not check itself."""
        return _with_second(provenance, self.second)


async def examine(
    item: Item, judge: Judge, second: SecondCheck | None = None, *, citation_base: int | None = None
) -> Verdict:
    """Judge one item, and check what the judge said: its quotes, the answer's citations, its findings."""
    verdict = _cited(verify(await judge.judge(item), item), item, citation_base)
    provenance = _with_second(verdict.provenance, second)
    if second is None or provenance.second is None:
        return verdict
    verdict = verdict.model_copy(update={"provenance": provenance})
    checked = await second.check(verdict, item)
    # What a second model names as evidence is no more believed than what the first one named.
    return verdict if checked is verdict else verify_evidence(checked, item)


def _with_second(provenance: Provenance, second: SecondCheck | None) -> Provenance:
    if second is None or provenance.engine == "local":
        return provenance
    return provenance.model_copy(update={"second": second.name})


def _cited(verdict: Verdict, item: Item, base: int | None) -> Verdict:
    """Add what the answer cites, and what is wrong with that, to the verdicts that look for it."""
    result = verdict.result
    if not isinstance(result, DiffResult | FaithfulnessResult):
        return verdict
    citations = check_citations(item, base=base)
    if not citations:
        return verdict
    return verdict.model_copy(update={"result": result.model_copy(update={"citations": citations})})


def input_hash(item: Item) -> str:
    """Digest everything the judge sees of an item; the same input under the same judge version is judged once."""
    seen = [item.question, item.answer, [(document.id, document.text) for document in item.documents], item.flags]
    content = json.dumps(seen, ensure_ascii=True).encode()
    digest = hashlib.sha256()
    # For a larger piece hashlib lets go of the interpreter, and a thread that takes it keeps it for a millisecond.
    for start in range(0, len(content), _PIECE):
        digest.update(content[start : start + _PIECE])
    return digest.hexdigest()[:32]
