"""The results of the judges that work claim by claim: faithfulness and consistency."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self, cast

from pydantic import Field

from enricher.printing import number_of
from enricher.results.evidence import Certainty, Citation, Judged, Noun, Part, Quote, Standing, shortened


class ClaimVerdict(StrEnum):
    """How a claim stands to the documents."""

    SUPPORTED = "SUPPORTED"
    PARTIAL = "PARTIAL"  # faithfulness only
    UNSUPPORTED = "UNSUPPORTED"
    CONTRADICTED = "CONTRADICTED"
    SOURCE_CONFLICT = "SOURCE_CONFLICT"  # consistency only: some documents support it, others contradict it


class Outcome(StrEnum):
    """Whether every claim can be relied on."""

    PASS = "PASS"
    FAIL = "FAIL"


_STANDINGS = {verdict: Standing(verdict.value.lower()) for verdict in ClaimVerdict}


class Claim(Part):
    """One atomic claim of the answer; `explanation` is the note on what is missing or clashes."""

    claim_id: str  # "c1"
    text: str
    verdict: ClaimVerdict
    sentence_id: str | None = None  # the sentence of the answer that makes it
    start: int | None = None  # offsets into the answer of the words it is drawn from
    end: int | None = None
    in_answer: bool = True  # False when the answer never made it; then it does not count
    sites: tuple[str, ...] = ()  # of a finding: the sensitive places it concerns, such as dates; see SITES

    @property
    def key(self) -> str:
        """Identify the claim within its result."""
        return self.claim_id

    @property
    def statement(self) -> str:
        """Return the claim."""
        return self.text

    @property
    def standing(self) -> Standing:
        """Return how it stands to the documents."""
        return _STANDINGS[self.verdict]

    @property
    def is_finding(self) -> bool:
        """Tell whether a person should look at it."""
        return self.in_answer and self.verdict is not ClaimVerdict.SUPPORTED


def counted(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims that the answer made."""
    return tuple(claim for claim in claims if claim.in_answer)


def supported_claims(claims: Sequence[Claim]) -> float | None:
    """Return the share of the answer's claims that are supported; None when there are none."""
    made = counted(claims)
    if not made:
        return None
    return sum(claim.verdict is ClaimVerdict.SUPPORTED for claim in made) / len(made)


class FaithfulnessResult(Judged):
    """Which claims of the answer can be relied on."""

    kind: Literal["faithfulness"] = "faithfulness"
    claims: tuple[Claim, ...]
    most_dangerous_error: str | None = None
    faithful_probability: float | None = None  # that the whole answer is faithful, if the engine knows one
    judge_score: float | None = None  # what the judge itself stated; recorded, never written
    citations: tuple[Citation, ...] = ()

    @property
    def score(self) -> float | None:
        """Compute supported / all claims that the answer made."""
        return supported_claims(self.claims)

    @property
    def outcome(self) -> Outcome:
        """Compute PASS unless a claim is unsupported or contradicted."""
        return Outcome.FAIL if self.unsupported_claims else Outcome.PASS

    @property
    def unsupported_claims(self) -> tuple[str, ...]:
        """Return the texts of the claims that nobody should rely on."""
        failing = (ClaimVerdict.UNSUPPORTED, ClaimVerdict.CONTRADICTED)
        return tuple(claim.text for claim in counted(self.claims) if claim.verdict in failing)

    @property
    def label(self) -> str:
        """Return pass, fail or no_claims."""
        return self.outcome.lower() if counted(self.claims) else "no_claims"

    @property
    def parts(self) -> tuple[Claim, ...]:
        """Return the claims."""
        return self.claims

    def with_parts(self, parts: Sequence[Part]) -> Self:
        """Return the result with these claims."""
        claims = cast(tuple[Claim, ...], tuple(parts))
        update = {"claims": claims, "summary": claims_summary(claims), "most_dangerous_error": most_dangerous(claims)}
        return self.model_copy(update=update)


class SourceConflict(Noun):
    """Documents that disagree: shown, never resolved."""

    description: str  # what they disagree on, with both values
    passages: tuple[Quote, ...]  # at least one of each side, verbatim
    dates: dict[str, str] = Field(default_factory=dict)  # document id to its date or version, where known
    recommendation: str = ""
    claim_id: str | None = None  # None: the answer does not touch it

    @property
    def document_ids(self) -> tuple[str, ...]:
        """Return the documents that disagree."""
        return tuple(dict.fromkeys(q.document_id for q in self.passages if q.document_id is not None))


class ConsistencyResult(Judged):
    """Whether the documents agree with the answer and with one another."""

    kind: Literal["consistency"] = "consistency"
    claims: tuple[Claim, ...]
    conflicts: tuple[SourceConflict, ...] = ()
    judge_score: float | None = None  # what the judge itself stated; recorded, never written

    @property
    def score(self) -> float | None:
        """Compute supported / all claims that the answer made."""
        return supported_claims(self.claims)

    @property
    def counts(self) -> dict[str, int]:
        """Count the claims of the answer by status."""
        made = counted(self.claims)
        verdicts = [verdict for verdict in ClaimVerdict if verdict is not ClaimVerdict.PARTIAL]
        return {str(verdict): sum(claim.verdict is verdict for claim in made) for verdict in verdicts}

    @property
    def label(self) -> str:
        """Return the worst of source_conflict, contradicted, unsupported; else consistent."""
        made = {claim.verdict for claim in counted(self.claims)}
        for verdict in (ClaimVerdict.SOURCE_CONFLICT, ClaimVerdict.CONTRADICTED, ClaimVerdict.UNSUPPORTED):
            if verdict in made:
                return verdict.lower()
        return "consistent" if made else "no_claims"

    @property
    def parts(self) -> tuple[Claim, ...]:
        """Return the claims."""
        return self.claims

    def with_parts(self, parts: Sequence[Part]) -> Self:
        """Return the result with these claims."""
        claims = cast(tuple[Claim, ...], tuple(parts))
        return self.model_copy(update={"claims": claims, "summary": claims_summary(claims)})


_WORDS = {
    ClaimVerdict.SOURCE_CONFLICT: "on which the documents disagree",
    ClaimVerdict.CONTRADICTED: "contradicted",
    ClaimVerdict.UNSUPPORTED: "unsupported",
    ClaimVerdict.PARTIAL: "only partly supported",
}
_ORDER = (
    ClaimVerdict.CONTRADICTED,
    ClaimVerdict.SOURCE_CONFLICT,
    ClaimVerdict.UNSUPPORTED,
    ClaimVerdict.PARTIAL,
)
# Where an error does most harm, in falling order: whoever relies on a wrong amount pays it.
SITES = ("amounts", "dates", "names", "negation", "modals", "quantifiers", "clause_numbers")


def danger(claim: Claim) -> tuple[int, int]:
    """Rank a finding for sorting, the most dangerous first: by verdict, then by the place it concerns."""
    places = [SITES.index(site) for site in claim.sites if site in SITES]
    return _ORDER.index(claim.verdict), min(places, default=len(SITES))


def most_dangerous(claims: Sequence[Claim]) -> str | None:
    """Name the claim that does most harm to whoever relies on it; None when all of them can be relied on.

    Of findings that rank alike, the first one of the answer; what a second check refuted comes into question last.
    """
    findings = [claim for claim in claims if claim.is_finding]
    findings = [claim for claim in findings if claim.certainty is not Certainty.REFUTED] or findings
    if not findings:
        return None
    worst = min(findings, key=danger)
    site = next((site for site in SITES if site in worst.sites), None)
    where = f" ({site.replace('_', ' ')})" if site else ""
    return f"{_WORDS[worst.verdict].capitalize()}{where}: {_detail(worst)}"


def claims_summary(claims: Sequence[Claim]) -> str:
    """Say in one plain sentence how the claims stand: the worst one, with the passage beside it."""
    made = counted(claims)
    if not made:
        return "The answer makes no claim that could be checked."
    total = number_of(len(made), "claim")
    for verdict in _ORDER:
        found = [claim for claim in made if claim.verdict is verdict]
        if found:
            return f"{len(found)} of {total} {_WORDS[verdict]}: {_detail(min(found, key=danger))}"
    return f"All {total} are supported." if len(made) > 1 else "The one claim is supported."


def _detail(claim: Claim) -> str:
    said = f"answer says '{shortened(claim.text)}'"
    beside = "; ".join(f"{quote.document_id} says '{shortened(quote.text)}'" for quote in claim.verified[:2])
    if beside:
        return f"{said}, {beside}"
    return f"{said}: {shortened(claim.explanation)}" if claim.explanation else said
