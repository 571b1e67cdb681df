"""Nouns of trust: under which setting a judge was compared with people, and what that gave."""

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from enricher.results.evidence import Noun
from enricher.verdict import Provenance


class Setting(Noun):
    """What makes verdicts comparable with people's labels: the judge, its prompt, and the model that answered."""

    judge: str
    engine: str
    prompt: str | None = None
    prompt_hash: str | None = None
    model: str | None = None
    snapshot: str | None = None  # as the server reported it

    @classmethod
    def of(cls, provenance: Provenance) -> Self:
        """Return the setting of a verdict."""
        return cls(
            judge=provenance.judge,
            engine=provenance.engine,
            prompt=provenance.prompt,
            prompt_hash=provenance.prompt_hash,
            model=provenance.model,
            snapshot=provenance.model_snapshot,
        )

    @property
    def name(self) -> str:
        """Name it in one line."""
        reported = f" ({self.snapshot})" if self.snapshot not in (None, self.model) else ""
        return f"{self.prompt or self.judge} on {self.model or self.engine}{reported}"


class Calibration(Noun):
    """How far a judge agreed with people when it was last compared with enough of their labels."""

    setting: Setting
    made_at: datetime
    labels: int
    agreement: float  # share of the labels that are the same, 0 to 1
    kappa: float | None = None  # None where it is not defined
    figures: dict[str, Any] = Field(default_factory=dict)  # all of them, as `enricher calibrate --json` tells


class Standing(Noun):
    """How a judge stands as it is configured now."""

    judge: str
    setting: str
    calibrated: str  # when, and how it did; or that it never was
    held: str | None = None  # why no finding of it is confirmed without a person
