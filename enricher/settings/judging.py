"""Which judges look at an item, who looks again at what they found, and how pairs are compared."""

from typing import Literal, get_args

from pydantic import Field, field_validator, model_validator

from enricher.settings.rules import RiskLevel
from enricher.settings.values import Section, Share

JudgeName = Literal["diff", "faithfulness", "halves", "consistency"]
Condition = Literal["always", "two_documents", "reported", "diff_finds", "high_risk"]
FocusSite = Literal["clause_numbers", "dates", "amounts", "names", "quantifiers", "modals"]
DimensionName = Literal["faithfulness", "citation_accuracy", "completeness", "source_conflict_handling"]
EngineName = Literal["local", "openai", "hub"]


class JudgeChoice(Section):
    """A judge of a job, when it runs, and what is particular to it."""

    judge: JudgeName
    when: tuple[Condition, ...] = ()  # all must hold; empty: always, and consistency from two documents on
    engine: EngineName | None = None  # None: the engine of the config
    prompt: str | None = None  # None: openai.prompts
    focus: tuple[FocusSite, ...] = get_args(FocusSite)  # faithfulness: what it looks at hard

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, given: object) -> object:
        return {"judge": given} if isinstance(given, str) else given

    @field_validator("when", mode="before")
    @classmethod
    def _one_or_more(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given


class SecondCheck(Section):
    """Who looks again at what a model found."""

    by: tuple[Literal["local", "model"], ...] = ("local",)  # empty: nobody
    model: str | None = None  # of the check by a model; None: openai.model
    prompt: str = "faithfulness@v2"  # of the check by a model
    stricter_wins: bool = True  # where two models disagree, the stricter reading counts
    require_agreement: bool = False  # only findings that a second check confirms are written as confirmed


class PromptNames(Section):
    """Which prompt each judge uses on a model."""

    diff: str = "diff@v2"
    faithfulness: str = "faithfulness@v2"
    halves: str = "halves@v1"
    consistency: str = "consistency@v1"
    pairwise: str = "pairwise@v1"


class Compare(Section):
    """How two answers from the same context are compared."""

    engine: Literal["local", "openai"] | None = None  # None: the engine of the config
    dimensions: tuple[DimensionName, ...] = Field(default=get_args(DimensionName), min_length=1)
    both_orders: Share = 0.2  # share of the pairs that are judged in both orders
    min_confidence: Share = 0.7  # below it people decide
    attempts: int = Field(default=3, ge=2, le=3)  # of an invalid verdict, before people decide
    risk_level: RiskLevel = "normal"
    additional_constraints: str = ""
    examples: str = ""
